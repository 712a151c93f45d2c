#ifndef SAMEBITS_SERVER_RPC_JOB_RPC_H_
#define SAMEBITS_SERVER_RPC_JOB_RPC_H_

#include <atomic>
#include <cstdint>

#include "server/auth/authenticator.h"
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
  const Log* audit = nullptr;      // for a line about each change
  Authenticator* tokens = nullptr;  // null: no caller needs one
  std::atomic<uint32_t>* followers = nullptr;  // calls that wait for an operation or watch it
  uint32_t max_followers = 0;
  VerifyLimits verify_limits;
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_RPC_JOB_RPC_H_
