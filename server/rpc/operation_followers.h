#ifndef SAMEBITS_SERVER_RPC_OPERATION_FOLLOWERS_H_
#define SAMEBITS_SERVER_RPC_OPERATION_FOLLOWERS_H_

#include <string>

#include <grpcpp/support/server_callback.h>

#include "absl/time/time.h"
#include "server/rpc/call_scope.h"
#include "server/rpc/job_rpc.h"

namespace samebits::v1 {
class Operation;
}

namespace samebits::server {

// Answers with the operation when it has ended, or as it is after `timeout`. UNAVAILABLE where the server stops first.
// Owns itself.
grpc::ServerUnaryReactor* StartWait(const JobRpc& rpc, CallScope scope, const std::string& id, absl::Duration timeout,
                                    v1::Operation* response);

// Streams the operation as it is and after each change, until it has ended. A reader that is slow misses states between.
grpc::ServerWriteReactor<v1::Operation>* StartWatch(const JobRpc& rpc, CallScope scope, const std::string& id);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_RPC_OPERATION_FOLLOWERS_H_
