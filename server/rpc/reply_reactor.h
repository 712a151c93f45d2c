#ifndef SAMEBITS_SERVER_RPC_REPLY_REACTOR_H_
#define SAMEBITS_SERVER_RPC_REPLY_REACTOR_H_

#include <grpcpp/support/server_callback.h>

#include <utility>

#include "absl/status/status.h"
#include "server/registry/call.h"
#include "server/registry/errors.h"
#include "server/registry/task_pool.h"
#include "server/rpc/call_scope.h"
#include "server/rpc/job_rpc.h"

namespace samebits::server {

// Finishes a unary call when the registry answers, and cancels the registry's call when the client gives up. Owns
// itself.
class ReplyReactor : public grpc::ServerUnaryReactor {
 public:
  explicit ReplyReactor(CallScope scope) : scope_(std::move(scope)) {}
  // Only in the method's handler: gRPC reacts to nothing before that returned.
  void Watch(CallHandle call) { call_ = std::move(call); }
  // Ends the call if the server is stopping.
  bool Refused() {
    if (scope_.admitted()) return false;
    Reply(ShuttingDown());
    return true;
  }
  void Reply(const absl::Status& status) { Finish(scope_.End(status)); }
  void OnCancel() override {
    if (call_ != nullptr) call_->Cancel();
  }
  void OnDone() override { delete this; }

 private:
  CallScope scope_;
  CallHandle call_;
};

// Answers a unary call with what `work` returns, which runs on the pool and fills the response.
template <typename Work>
grpc::ServerUnaryReactor* RunOnPool(const JobRpc& rpc, Method method, grpc::CallbackServerContext* context, Work work) {
  auto* reactor = new ReplyReactor(CallScope(method, context, rpc.gate, rpc.metrics, rpc.log));
  if (reactor->Refused()) return reactor;
  const absl::Status status = rpc.pool->Submit(
      [reactor, work = std::move(work)](bool run) mutable { reactor->Reply(run ? work() : ShuttingDown()); },
      TaskPool::Admission::kQueue);
  if (!status.ok()) reactor->Reply(status);
  return reactor;
}

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_RPC_REPLY_REACTOR_H_
