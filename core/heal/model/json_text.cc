#include "core/heal/model/json_text.h"

#include "absl/strings/str_cat.h"

namespace samebits::heal {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostBytes = 32 << 20;
constexpr int kMostDepth = 64;

bool TooDeep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') ++i;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if ((c == '[' || c == '{') && ++depth > kMostDepth) return true;
    if (c == ']' || c == '}') --depth;
  }
  return false;
}

}  // namespace

absl::StatusOr<Json> ParseJsonObject(std::string_view text) {
  if (text.size() > kMostBytes)
    return absl::InvalidArgumentError(absl::StrCat("JSON is longer than ", kMostBytes, " bytes"));
  if (TooDeep(text)) return absl::InvalidArgumentError(absl::StrCat("JSON is nested deeper than ", kMostDepth));
  try {
    Json json = Json::parse(text);
    if (json.is_object()) return json;
    return absl::InvalidArgumentError(absl::StrCat("a JSON object is expected, not ", json.type_name()));
  } catch (const Json::exception& error) {
    const auto* parse = dynamic_cast<const Json::parse_error*>(&error);
    return absl::InvalidArgumentError(parse == nullptr ? "not JSON" : absl::StrCat("not JSON at byte ", parse->byte));
  }
}

}  // namespace samebits::heal
