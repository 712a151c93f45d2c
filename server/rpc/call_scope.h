#ifndef SAMEBITS_SERVER_RPC_CALL_SCOPE_H_
#define SAMEBITS_SERVER_RPC_CALL_SCOPE_H_

#include <string>

#include <grpcpp/server_context.h>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/log/log.h"
#include "server/metrics/metrics.h"
#include "server/rpc/call_gate.h"

namespace samebits::server {

// Accounts for one call: time, metrics, log line, request id. Used by one thread at a time.
class CallScope {
 public:
  // Enters the gate, which End leaves.
  CallScope(Method method, grpc::CallbackServerContext* context, CallGate* gate, Metrics* metrics, const Log* log);

  // False if the server is stopping: end the call with ShuttingDown().
  bool admitted() const { return admitted_; }

  // The client's `x-request-id` if it sent a usable one, else a new one; made on first use.
  const std::string& request_id();
  // Counts and logs the end of the call, and returns what to finish it with. Once, before the call is finished.
  // Answers from memory are logged at level debug: there may be tens of thousands a second.
  grpc::Status End(const absl::Status& status, bool from_memory = false);

 private:
  void LogEnd(const absl::Status& status, absl::Duration latency, bool from_memory);

  const Method method_;
  grpc::CallbackServerContext* const context_;
  CallGate* const gate_;
  Metrics* const metrics_;
  const Log* const log_;
  const bool admitted_;
  const int64_t start_nanos_;
  std::string request_id_;
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_RPC_CALL_SCOPE_H_
