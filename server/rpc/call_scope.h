#ifndef SAMEBITS_SERVER_RPC_CALL_SCOPE_H_
#define SAMEBITS_SERVER_RPC_CALL_SCOPE_H_

#include <string>
#include <utility>

#include <grpcpp/server_context.h>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/auth/authenticator.h"
#include "server/log/log.h"
#include "server/metrics/metrics.h"
#include "server/rpc/call_gate.h"
#include "server/rpc/job_rpc.h"

namespace samebits::server {

// Accounts for one call: time, metrics, log line, request id. Used by one thread at a time.
class CallScope {
 public:
  // Enters the gate, which End leaves. Without tokens the server lets everyone call everything.
  CallScope(Method method, grpc::CallbackServerContext* context, const JobRpc& rpc);

  // Why the call may not go on, which is what to end it with: the server is stopping, or the caller is not allowed.
  const absl::Status& refusal() const { return refusal_; }
  // Who calls; "anonymous" where the server asks for no tokens.
  const Identity& identity() const { return identity_; }
  // What a call that changes something is about, by name, for the audit log.
  void set_resource(std::string name) { resource_ = std::move(name); }

  // The client's `x-request-id` if it sent a usable one, else a new one; made on first use.
  const std::string& request_id();
  // Counts and logs the end of the call, and returns what to finish it with. Once, before the call is finished.
  // Answers from memory are logged at level debug: there may be tens of thousands a second.
  grpc::Status End(const absl::Status& status, bool from_memory = false);

 private:
  void LogEnd(const absl::Status& status, absl::Duration latency, bool from_memory);
  void Audit(const absl::Status& status);

  const Method method_;
  grpc::CallbackServerContext* const context_;
  CallGate* const gate_;
  Metrics* const metrics_;
  const Log* const log_;
  const Log* const audit_;
  const bool admitted_;  // by the gate
  const int64_t start_nanos_;
  std::string request_id_, resource_;
  Identity identity_;
  absl::Status refusal_;
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_RPC_CALL_SCOPE_H_
