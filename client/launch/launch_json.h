#ifndef SAMEBITS_CLIENT_LAUNCH_LAUNCH_JSON_H_
#define SAMEBITS_CLIENT_LAUNCH_LAUNCH_JSON_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/launch/launch_spec.h"

namespace samebits::launch {

// One JSON object of a manifest. An object whose launch is wrong still yields its id and path.
struct JsonRow {
  std::string id, path;
  LaunchSpec spec;
  absl::Status launch_status;
};

// INVALID_ARGUMENT where `json` is no JSON object; messages begin with `origin`.
absl::StatusOr<JsonRow> ParseRowJson(std::string_view json, std::string_view origin);

}  // namespace samebits::launch

#endif  // SAMEBITS_CLIENT_LAUNCH_LAUNCH_JSON_H_
