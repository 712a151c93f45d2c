#include "core/gemm/black_box.h"

#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/gemm/operand.h"

namespace samebits::gemm {
namespace {

constexpr const char* kLayouts[] = {"TN", "NN", "NT", "TT"};

constexpr std::pair<const char*, int64_t Algorithm::*> kFields[] = {
    {"id", &Algorithm::id},           {"tile", &Algorithm::tile},       {"stages", &Algorithm::stages},
    {"splits", &Algorithm::splits},   {"reduction", &Algorithm::reduction}, {"swizzle", &Algorithm::swizzle},
    {"custom", &Algorithm::custom},   {"inner", &Algorithm::inner},     {"cluster", &Algorithm::cluster},
    {"workspace", &Algorithm::workspace_bytes}};

}  // namespace

std::string ToText(Layout layout) { return kLayouts[static_cast<int>(layout)]; }

absl::StatusOr<Layout> ParseLayout(std::string_view text) {
  for (int i = 0; i < 4; ++i) {
    if (text == kLayouts[i]) return static_cast<Layout>(i);
  }
  return absl::InvalidArgumentError(absl::StrCat("layout: '", absl::string_view(text.data(), text.size()),
                                                 "' is none of TN, NN, NT, TT"));
}

std::string TypesText(const GemmProblem& p) {
  GemmDesc desc;
  desc.a_type = p.a_type, desc.b_type = p.b_type, desc.accumulate_type = p.accumulate_type, desc.output_type = p.output_type;
  const std::string text = ToText(desc);  // "gemm/1 types=... "
  const size_t begin = text.find("types=") + 6;
  return text.substr(begin, text.find(' ', begin) - begin);
}

absl::Status ParseTypes(std::string_view text, GemmProblem* problem) {
  if (text.find(' ') != std::string_view::npos) return absl::InvalidArgumentError("types: a space");
  const bool scalar = text.starts_with("f32") || text.starts_with("f64");
  const absl::StatusOr<GemmDesc> desc = ParseGemmDesc(absl::StrCat(
      "gemm/1 types=", absl::string_view(text.data(), text.size()), scalar ? " instruction=fma" : " instruction=mma:16"));
  if (!desc.ok()) return desc.status();
  problem->a_type = desc->a_type, problem->b_type = desc->b_type;
  problem->accumulate_type = desc->accumulate_type, problem->output_type = desc->output_type;
  return absl::OkStatus();
}

std::string ToText(const Algorithm& algorithm) {
  std::string text;
  for (const auto& [name, field] : kFields) {
    absl::StrAppend(&text, text.empty() ? "" : " ", name, "=", algorithm.*field);
  }
  return text;
}

absl::StatusOr<Algorithm> ParseAlgorithm(std::string_view text) {
  Algorithm algorithm;
  std::set<absl::string_view> seen;
  for (absl::string_view word : absl::StrSplit(absl::string_view(text.data(), text.size()), ' ', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(word, absl::MaxSplits('=', 1));
    bool known = false;
    for (const auto& [name, field] : kFields) {
      if (parts.first != name) continue;
      known = seen.insert(parts.first).second && absl::SimpleAtoi(parts.second, &(algorithm.*field)) &&
              algorithm.*field >= 0;
    }
    if (!known) return absl::InvalidArgumentError(absl::StrCat("algorithm: '", word, "' is not understood"));
  }
  return algorithm;
}

absl::StatusOr<int64_t> MatrixBytes(int64_t rows, int64_t columns, FormatId type) {
  int64_t elements = 0, bytes = 0;
  const bool large = __builtin_mul_overflow(rows, columns, &elements) || __builtin_mul_overflow(elements, BytesOf(type), &bytes);
  if (!large && bytes <= int64_t{1} << 46) return bytes;
  return absl::ResourceExhaustedError(absl::StrCat("a matrix of ", rows, " x ", columns, " elements is more than a device holds"));
}

absl::StatusOr<Algorithm> BlackBox::Choose(const GemmProblem&) {
  return absl::UnimplementedError("this library does not tell what it would run");
}

}  // namespace samebits::gemm
