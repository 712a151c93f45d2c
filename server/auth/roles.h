#ifndef SAMEBITS_SERVER_AUTH_ROLES_H_
#define SAMEBITS_SERVER_AUTH_ROLES_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "server/metrics/metrics.h"

namespace samebits::server {

enum class Role : uint8_t {
  kViewer,     // reads and compares
  kSubmitter,  // as viewer; also stores kernels and submits and cancels jobs
  kWorker,     // keeps a session and nothing else
  kAdmin,      // everything but being a worker
  kEnrolment,  // makes a token for a worker and nothing else
};
std::string_view RoleName(Role role);  // "viewer"
std::optional<Role> ParseRole(std::string_view name);  // not of kEnrolment, which no file of tokens gives

bool MayCall(Role role, Method method);
// Whether a call changes what others see, and belongs into the audit log.
bool IsMutation(Method method);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_AUTH_ROLES_H_
