#ifndef SAMEBITS_CLIENT_CPP_STATUS_H_
#define SAMEBITS_CLIENT_CPP_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace samebits::client {

// The canonical status of a call, with the server's ErrorInfo as payload where it sent one.
absl::Status FromGrpcStatus(const grpc::Status& status);

// UNAVAILABLE, or a full queue of the server.
bool IsRetryable(const absl::Status& status);

}  // namespace samebits::client

#endif  // SAMEBITS_CLIENT_CPP_STATUS_H_
