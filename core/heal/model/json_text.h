#ifndef SAMEBITS_CORE_HEAL_MODEL_JSON_TEXT_H_
#define SAMEBITS_CORE_HEAL_MODEL_JSON_TEXT_H_

#include <nlohmann/json.hpp>
#include <string_view>

#include "absl/status/statusor.h"

namespace samebits::heal {

// A JSON object of at most 32 MiB, nested at most 64 deep. INVALID_ARGUMENT with the byte that is wrong. Of equal keys
// the last one counts.
absl::StatusOr<nlohmann::json> ParseJsonObject(std::string_view text);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_MODEL_JSON_TEXT_H_
