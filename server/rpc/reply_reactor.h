#ifndef SAMEBITS_SERVER_RPC_REPLY_REACTOR_H_
#define SAMEBITS_SERVER_RPC_REPLY_REACTOR_H_

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <string>
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
  // Ends the call if it may not go on.
  bool Refused() {
    if (scope_.refusal().ok()) return false;
    Reply(scope_.refusal());
    return true;
  }
  const Identity& identity() const { return scope_.identity(); }
  void set_resource(std::string name) { scope_.set_resource(std::move(name)); }
  void Reply(const absl::Status& status) { Finish(scope_.End(status)); }
  void OnCancel() override {
    if (call_ != nullptr) call_->Cancel();
  }
  void OnDone() override { delete this; }

 private:
  CallScope scope_;
  CallHandle call_;
};

// Answers a unary call with what `work(identity)` returns, which runs on the pool and fills the response. `resource`:
// names what a call that changes something is about, for the audit log; asked when the call ends.
template <typename Work>
grpc::ServerUnaryReactor* RunOnPool(const JobRpc& rpc, Method method, grpc::CallbackServerContext* context, Work work,
                                    std::function<std::string()> resource = nullptr) {
  auto* reactor = new ReplyReactor(CallScope(method, context, rpc));
  if (reactor->Refused()) return reactor;
  const absl::Status status = rpc.pool->Submit(
      [reactor, work = std::move(work), resource = std::move(resource)](bool run) mutable {
        const absl::Status status = run ? work(reactor->identity()) : ShuttingDown();
        if (resource != nullptr) reactor->set_resource(resource());
        reactor->Reply(status);
      },
      TaskPool::Admission::kQueue);
  if (!status.ok()) reactor->Reply(status);
  return reactor;
}

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_RPC_REPLY_REACTOR_H_
