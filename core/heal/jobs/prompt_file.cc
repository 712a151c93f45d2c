#include "core/heal/jobs/prompt_file.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace samebits::heal {
namespace {

using Json = nlohmann::json;

constexpr char kFormat[] = "samebits-prompts/1";
constexpr int64_t kMostToken = (int64_t{1} << 31) - 1;

absl::Status Wrong(const char* key, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("key \"", key, "\" ", what));
}

// A short text that may be left out.
absl::Status ReadName(const Json& json, const char* key, std::string* out) {
  const auto at = json.find(key);
  if (at == json.end()) return absl::OkStatus();
  if (!at->is_string()) return Wrong(key, "is no string");
  *out = at->get<std::string>();
  if (out->size() > kMostPromptNameBytes) return Wrong(key, absl::StrCat("is longer than ", kMostPromptNameBytes, " bytes"));
  return absl::OkStatus();
}

absl::Status ReadTokens(const Json& json, const char* key, int64_t most, int64_t vocabulary, std::vector<int32_t>* out) {
  const auto at = json.find(key);
  if (at == json.end() || !at->is_array()) return Wrong(key, "is missing or no array of token numbers");
  if (at->size() > most) return Wrong(key, absl::StrCat("has ", at->size(), " tokens, more than ", most));
  out->reserve(at->size());
  for (const Json& token : *at) {
    const int64_t value = token.is_number_integer() ? token.get<int64_t>() : -1;
    if (value < 0 || value > kMostToken) return Wrong(key, "has an element that is no token number");
    if (vocabulary > 0 && value >= vocabulary) {
      return Wrong(key, absl::StrCat("has token ", value, "; the vocabulary has ", vocabulary));
    }
    out->push_back(static_cast<int32_t>(value));
  }
  return absl::OkStatus();
}

// UTF-8 of characters up to U+00FF as the bytes that they stand for. The input is valid UTF-8.
std::optional<std::string> BytesOf(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      bytes.push_back(text[i]);
    } else if ((byte == 0xC2 || byte == 0xC3) && i + 1 < text.size()) {
      bytes.push_back(static_cast<char>((byte & 3) << 6 | (static_cast<unsigned char>(text[++i]) & 0x3F)));
    } else {
      return std::nullopt;
    }
  }
  return bytes;
}

absl::Status ReadVocabulary(const Json& json, std::vector<std::string>* out) {
  constexpr char kKey[] = "vocabulary";
  const auto at = json.find(kKey);
  if (at == json.end()) return absl::OkStatus();
  if (!at->is_array()) return Wrong(kKey, "is no array of strings");
  if (at->size() > kMostVocabulary) return Wrong(kKey, absl::StrCat("has more than ", kMostVocabulary, " tokens"));
  out->reserve(at->size());
  for (const Json& token : *at) {
    std::optional<std::string> bytes = token.is_string() ? BytesOf(token.get_ref<const std::string&>()) : std::nullopt;
    if (!bytes) return Wrong(kKey, absl::StrCat("has, at ", out->size(), ", no string of characters up to U+00FF"));
    out->push_back(*std::move(bytes));
  }
  return absl::OkStatus();
}

absl::Status ReadHeader(const Json& json, PromptSet* set) {
  const auto format = json.find("format");
  if (format == json.end() || *format != kFormat) {
    return Wrong("format", absl::StrCat("is not \"", kFormat, "\"; make the file with python -m samebits.heal.prepare"));
  }
  if (absl::Status status = ReadName(json, "name", &set->name); !status.ok()) return status;
  if (absl::Status status = ReadVocabulary(json, &set->token_bytes); !status.ok()) return status;
  return ReadTokens(json, "stop_tokens", kMostStopTokens, set->token_bytes.size(), &set->stop_tokens);
}

absl::Status ReadAnswerKey(const Json& json, char* out) {
  const auto at = json.find("answer");
  if (at == json.end()) return absl::OkStatus();
  const std::string letter = at->is_string() ? at->get<std::string>() : "";
  if (letter.size() != 1 || letter[0] < 'A' || letter[0] > 'D') return Wrong("answer", "is none of \"A\" to \"D\"");
  *out = letter[0];
  return absl::OkStatus();
}

absl::Status ReadPrompt(const Json& json, int64_t vocabulary, Prompt* prompt) {
  if (absl::Status status = ReadName(json, "id", &prompt->id); !status.ok()) return status;
  if (prompt->id.empty()) return Wrong("id", "is missing or empty");
  if (absl::Status status = ReadName(json, "domain", &prompt->domain); !status.ok()) return status;
  if (absl::Status status = ReadName(json, "use_case", &prompt->use_case); !status.ok()) return status;
  if (absl::Status status = ReadAnswerKey(json, &prompt->expected); !status.ok()) return status;
  if (absl::Status status = ReadTokens(json, "tokens", kMostContext - 1, vocabulary, &prompt->tokens); !status.ok()) return status;
  if (prompt->tokens.empty()) return Wrong("tokens", "is empty");
  return absl::OkStatus();
}

// Reads line after line into one set.
class Reader {
 public:
  absl::Status Add(std::string_view line) {
    if (line.size() > kMostPromptLineBytes) {
      return absl::InvalidArgumentError(absl::StrCat("longer than ", kMostPromptLineBytes, " bytes"));
    }
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) return absl::InvalidArgumentError("no JSON object");
    if (!has_header_) {
      has_header_ = true;
      return ReadHeader(json, &set_);
    }
    if (set_.prompts.size() == kMostPrompts) {
      return absl::InvalidArgumentError(absl::StrCat("more than ", kMostPrompts, " prompts"));
    }
    Prompt prompt;
    if (absl::Status status = ReadPrompt(json, set_.token_bytes.size(), &prompt); !status.ok()) return status;
    if (!ids_.insert(prompt.id).second) return Wrong("id", absl::StrCat("is that of an earlier line: ", prompt.id));
    tokens_ += prompt.tokens.size();
    if (tokens_ > kMostPromptTokens) {
      return absl::InvalidArgumentError(absl::StrCat("the prompts have more than ", kMostPromptTokens, " tokens together"));
    }
    set_.prompts.push_back(std::move(prompt));
    return absl::OkStatus();
  }

  absl::StatusOr<PromptSet> Take() {
    if (set_.prompts.empty()) return absl::InvalidArgumentError("there is no prompt");
    return std::move(set_);
  }

 private:
  PromptSet set_;
  std::unordered_set<std::string> ids_;
  int64_t tokens_ = 0;
  bool has_header_ = false;
};

}  // namespace

absl::StatusOr<PromptSet> ParsePrompts(std::string_view text) {
  Reader reader;
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (absl::Status status = reader.Add(line); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("line ", number, ": ", status.message()));
    }
  }
  return reader.Take();
}

absl::StatusOr<PromptSet> LoadPrompts(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": no file that can be read"));
  const int64_t size = file.tellg();
  if (size < 0 || size > kMostPromptFileBytes) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": no file of at most ", kMostPromptFileBytes, " bytes"));
  }
  std::string text(size, '\0');
  if (!file.seekg(0) || !file.read(text.data(), size)) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  absl::StatusOr<PromptSet> set = ParsePrompts(text);
  if (!set.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", set.status().message()));
  return set;
}

}  // namespace samebits::heal
