#ifndef SAMEBITS_SERVER_RPC_STATUS_H_
#define SAMEBITS_SERVER_RPC_STATUS_H_

#include <string>

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"

namespace samebits::server {

// The status as google.rpc.Status, with an ErrorInfo of domain "samebits" that holds the registry's detail and the
// request id. A status without detail gets the reason INTERNAL.
google::rpc::Status ToRpcStatus(const absl::Status& status, const std::string& request_id);

// The same for the end of a call.
grpc::Status ToGrpcStatus(const absl::Status& status, const std::string& request_id);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_RPC_STATUS_H_
