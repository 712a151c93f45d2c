#include "core/heal/numerics/configuration.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace samebits::heal {
namespace {

constexpr char kKnown[] =
    "bf16, fp16, tf32, fp32, heal-base, heal+, heal++:K, heal++:@LAYERS, heal-full, heal-full:K, heal-full:@LAYERS, "
    "paper-heal+, paper-heal++:K, paper-heal-full:K, trunc:K (K: a number of layers, for trunc 3 to 22 bits; LAYERS: "
    "as 2,5,7-9)";
constexpr int kMostLayers = 1024;
constexpr size_t kMostBytes = 8192;

absl::Status Bad(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("configuration '", text, "': ", why, "; there are ", kKnown));
}

struct Plain {
  const char* name;
  Boundary boundary;
  GemmInput gemm;
  AttentionMode attention;
};
constexpr Plain kPlain[] = {
    {"bf16", Boundary::kBf16, GemmInput::kBf16, AttentionMode::kBf16},
    {"fp16", Boundary::kF16, GemmInput::kF16, AttentionMode::kF16},
    {"tf32", Boundary::kF32, GemmInput::kTf32, AttentionMode::kF32},
    {"fp32", Boundary::kF32, GemmInput::kF32, AttentionMode::kF32},
    {"heal-base", Boundary::kF32, GemmInput::kF16, AttentionMode::kF16},
    {"heal+", Boundary::kF32, GemmInput::kF16, AttentionMode::kInt16},
    {"heal-full", Boundary::kF32, GemmInput::kF16Compensated, AttentionMode::kInt16},
};

const Plain* Find(absl::string_view name) {
  for (const Plain& plain : kPlain) {
    if (name == plain.name) return &plain;
  }
  return nullptr;
}

constexpr absl::string_view kPaper = "paper-";

bool IsProtected(const Plain& plain) { return plain.attention == AttentionMode::kInt16; }

Configuration Make(const Plain& plain) {
  Configuration result;
  result.whole_attention_output = IsProtected(plain);
  result.boundary = plain.boundary;
  result.gemm = plain.gemm;
  result.attention = plain.attention;
  return result;
}

std::optional<int> ParseCount(absl::string_view text, int most) {
  int value = 0;
  if (text.empty() || !absl::ascii_isdigit(text[0]) || !absl::SimpleAtoi(text, &value) || value > most) return {};
  return value;
}

// "5" or "7-9".
bool AddRange(absl::string_view text, std::vector<int>* layers) {
  const std::pair<absl::string_view, absl::string_view> ends = absl::StrSplit(text, absl::MaxSplits('-', 1));
  const std::optional<int> first = ParseCount(ends.first, kMostLayers - 1);
  const bool single = ends.first.size() == text.size();
  const std::optional<int> last = single ? first : ParseCount(ends.second, kMostLayers - 1);
  if (!first || !last || *last < *first) return false;
  for (int layer = *first; layer <= *last; ++layer) layers->push_back(layer);
  return true;
}

// "11" (the first 11) or "@2,5,7-9"; ascending, each layer once.
std::optional<std::vector<int>> ParseLayers(absl::string_view text) {
  std::vector<int> layers;
  if (text.empty() || text[0] != '@') {
    const std::optional<int> count = ParseCount(text, kMostLayers);
    if (!count) return {};
    for (int layer = 0; layer < *count; ++layer) layers.push_back(layer);
    return layers;
  }
  int parts = 0;
  for (absl::string_view part : absl::StrSplit(text.substr(1), ',')) {
    if (++parts > kMostLayers || !AddRange(part, &layers)) return {};
  }
  std::sort(layers.begin(), layers.end());
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  return layers;
}

std::string LayersText(const std::vector<int>& layers) {
  const int count = static_cast<int>(layers.size());
  if (layers.back() == count - 1) return absl::StrCat(count);
  std::string text = "@";
  for (int begin = 0; begin < count;) {
    int end = begin + 1;
    while (end < count && layers[end] == layers[end - 1] + 1) ++end;
    absl::StrAppend(&text, begin == 0 ? "" : ",", layers[begin]);
    if (end - begin > 1) absl::StrAppend(&text, "-", layers[end - 1]);
    begin = end;
  }
  return text;
}

bool Contains(const std::vector<int>& layers, int layer) {
  return std::binary_search(layers.begin(), layers.end(), layer);
}

absl::StatusOr<Configuration> ParseTruncation(absl::string_view text, absl::string_view argument) {
  const std::optional<int> bits = ParseCount(argument, 22);
  if (!bits || *bits < 3) return Bad(text, "3 to 22 significand bits are expected after 'trunc:'");
  Configuration result;
  result.boundary = Boundary::kTruncated;
  result.significand_bits = *bits;
  return result;
}

absl::StatusOr<Configuration> ParsePlain(absl::string_view text, absl::string_view word) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(word, absl::MaxSplits(':', 1));
  const auto& [name, argument] = parts;
  const bool bare = name.size() == word.size();
  if (name == "trunc") return ParseTruncation(text, argument);
  const Plain* plain = Find(name == "heal++" ? "heal+" : name);
  if (plain == nullptr) return Bad(text, "not known");
  Configuration result = Make(*plain);
  if (bare && name != "heal++") return result;
  if (name != "heal++" && name != "heal-full") return Bad(text, absl::StrCat("'", name, "' takes no ':'"));
  const std::optional<std::vector<int>> layers = ParseLayers(argument);
  if (!layers)
    return Bad(text, absl::StrCat("a number of layers, or @ and layers below ", kMostLayers, ", is expected"));
  (name == "heal++" ? result.unprotected_layers : result.uncompensated_layers) = *layers;
  return result;
}

absl::StatusOr<Configuration> ParseFields(absl::string_view text) {
  if (text.substr(0, kPaper.size()) != kPaper) return ParsePlain(text, text);
  absl::StatusOr<Configuration> result = ParsePlain(text, text.substr(kPaper.size()));
  if (!result.ok()) return result;
  if (result->attention != AttentionMode::kInt16) return Bad(text, "'paper-' goes before heal+, heal++ and heal-full");
  result->whole_attention_output = false;
  return result;
}

}  // namespace

AttentionMode Configuration::AttentionOf(int layer) const {
  return attention == AttentionMode::kInt16 && Contains(unprotected_layers, layer) ? AttentionMode::kF16 : attention;
}

GemmInput Configuration::GemmOf(int layer) const {
  return gemm == GemmInput::kF16Compensated && Contains(uncompensated_layers, layer) ? GemmInput::kF16 : gemm;
}

GemmInput Configuration::OutputGemmOf(int layer) const {
  const GemmInput input = GemmOf(layer);
  const bool whole = whole_attention_output && AttentionOf(layer) == AttentionMode::kInt16;
  return whole && input == GemmInput::kF16 ? GemmInput::kF16Compensated : input;
}

absl::StatusOr<Configuration> ParseConfiguration(std::string_view text) {
  if (text.size() > kMostBytes) return Bad(absl::StrCat(absl::string_view(text.data(), 40), "..."), "too long");
  std::string word(absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size())));
  absl::AsciiStrToLower(&word);
  absl::StatusOr<Configuration> result = ParseFields(word);
  if (result.ok()) result->name = ToText(*result);
  return result;
}

std::string ToText(const Configuration& configuration) {
  if (configuration.boundary == Boundary::kTruncated) return absl::StrCat("trunc:", configuration.significand_bits);
  for (const Plain& plain : kPlain) {
    if (plain.boundary != configuration.boundary || plain.gemm != configuration.gemm ||
        plain.attention != configuration.attention) {
      continue;
    }
    const absl::string_view paper = IsProtected(plain) && !configuration.whole_attention_output ? kPaper : "";
    if (!configuration.uncompensated_layers.empty()) {
      return absl::StrCat(paper, plain.name, ":", LayersText(configuration.uncompensated_layers));
    }
    if (!configuration.unprotected_layers.empty()) {
      return absl::StrCat(paper, plain.name, "+:", LayersText(configuration.unprotected_layers));
    }
    return absl::StrCat(paper, plain.name);
  }
  return configuration.name;
}

absl::Status Validate(const Configuration& configuration, int layers) {
  for (const std::vector<int>* named : {&configuration.unprotected_layers, &configuration.uncompensated_layers}) {
    if (named->empty()) continue;
    const int wrong = named->front() < 0 ? named->front() : named->back();
    if (wrong >= 0 && wrong < layers) continue;
    return absl::InvalidArgumentError(absl::StrCat("configuration '", ToText(configuration), "' names layer ", wrong,
                                                   ", but the model has layers 0 to ", layers - 1));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Configuration>> ParseConfigurations(const std::vector<std::string>& texts, int layers) {
  std::vector<Configuration> parsed;
  std::set<std::string> seen;
  for (const std::string& text : texts) {
    absl::StatusOr<Configuration> one = ParseConfiguration(text);
    if (!one.ok()) return one.status();
    if (absl::Status status = Validate(*one, layers); !status.ok()) return status;
    if (!seen.insert(one->name).second) return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is named twice"));
    parsed.push_back(*std::move(one));
  }
  return parsed;
}

}  // namespace samebits::heal
