#ifndef SAMEBITS_SERVER_RPC_OPERATION_FOLLOWERS_H_
#define SAMEBITS_SERVER_RPC_OPERATION_FOLLOWERS_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include <grpcpp/support/server_callback.h>

#include "absl/time/time.h"
#include "server/rpc/call_scope.h"
#include "server/rpc/job_rpc.h"

namespace samebits::v1 {
class Operation;
}

namespace samebits::server {

// One of the places for calls that follow an operation, given back at the end of its life.
class FollowerPlace {
 public:
  explicit FollowerPlace(const JobRpc& rpc) : followers_(rpc.followers) {
    if (followers_->fetch_add(1) < rpc.max_followers) return;
    followers_->fetch_sub(1);
    followers_ = nullptr;
  }
  ~FollowerPlace() {
    if (followers_ != nullptr) followers_->fetch_sub(1);
  }
  FollowerPlace(FollowerPlace&& other) noexcept : followers_(std::exchange(other.followers_, nullptr)) {}
  FollowerPlace& operator=(FollowerPlace&&) = delete;
  bool taken() const { return followers_ != nullptr; }

 private:
  std::atomic<uint32_t>* followers_;
};

// Answers with the operation when it has ended, or as it is after `timeout`. UNAVAILABLE where the server stops first.
// Owns itself.
grpc::ServerUnaryReactor* StartWait(const JobRpc& rpc, CallScope scope, FollowerPlace place, const std::string& id,
                                    absl::Duration timeout, v1::Operation* response);

// Streams the operation as it is and after each change, until it has ended. A reader that is slow misses states between.
grpc::ServerWriteReactor<v1::Operation>* StartWatch(const JobRpc& rpc, CallScope scope, FollowerPlace place,
                                                   const std::string& id);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_RPC_OPERATION_FOLLOWERS_H_
