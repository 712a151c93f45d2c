#ifndef SAMEBITS_SERVER_REGISTRY_ERRORS_H_
#define SAMEBITS_SERVER_REGISTRY_ERRORS_H_

// Errors of the registry: an absl::Status with a reason and metadata for programs, as v1/errors.proto lists them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace samebits::server {

struct ErrorDetail {
  std::string reason;  // name of a v1.ErrorReason
  std::map<std::string, std::string> metadata;
  friend bool operator==(const ErrorDetail&, const ErrorDetail&) = default;
};

// `status`, which is not OK, with this detail in place of the one it had.
absl::Status WithDetail(absl::Status status, std::string reason, std::map<std::string, std::string> metadata);
// `status` with one more entry; unchanged where it has no detail.
absl::Status WithMetadata(absl::Status status, const std::string& key, std::string value);
std::optional<ErrorDetail> GetErrorDetail(const absl::Status& status);

absl::Status InvalidField(std::string_view field, std::string_view problem);
absl::Status KernelNotFound(std::string_view name);
// The request is over a limit for good.
absl::Status LimitExceeded(std::string_view limit, uint64_t maximum, uint64_t value);
// The server has too much to do at the moment.
absl::Status QueueFull(std::string_view limit, uint64_t maximum);
absl::Status ShuttingDown();
absl::Status Abandoned();
// An error of the store; NOT_FOUND about the kernel `name` becomes KernelNotFound.
absl::Status FromStore(const absl::Status& status, std::string_view name);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_REGISTRY_ERRORS_H_
