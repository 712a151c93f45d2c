#include "core/heal/model/json_text.h"

#include "absl/strings/str_cat.h"
#include "core/base/json_depth.h"

namespace samebits::heal {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostBytes = 32 << 20;
constexpr int kMostDepth = 64;

}  // namespace

absl::StatusOr<Json> ParseJsonObject(std::string_view text) {
  if (text.size() > kMostBytes)
    return absl::InvalidArgumentError(absl::StrCat("JSON is longer than ", kMostBytes, " bytes"));
  if (JsonNestsDeeperThan(text, kMostDepth))
    return absl::InvalidArgumentError(absl::StrCat("JSON is nested deeper than ", kMostDepth));
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
