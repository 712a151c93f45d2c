#ifndef SAMEBITS_SERVER_RPC_JOB_RPC_H_
#define SAMEBITS_SERVER_RPC_JOB_RPC_H_

#include <string>

#include <grpcpp/server_context.h>

#include "server/dispatch/dispatcher.h"
#include "server/log/log.h"
#include "server/metrics/metrics.h"
#include "server/registry/task_pool.h"
#include "server/rpc/call_gate.h"
#include "server/verify/verify.h"

namespace samebits::server {

// What the services of jobs and workers share; all of it outlives them.
struct JobRpc {
  Dispatcher* dispatcher = nullptr;
  TaskPool* pool = nullptr;        // for calls that block
  CallGate* gate = nullptr;
  Metrics* metrics = nullptr;
  const Log* log = nullptr;
  VerifyLimits verify_limits;
};

// Who calls.
inline std::string PrincipalOf(const grpc::CallbackServerContext&) { return "anonymous"; }

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_RPC_JOB_RPC_H_
