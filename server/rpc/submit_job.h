#ifndef SAMEBITS_SERVER_RPC_SUBMIT_JOB_H_
#define SAMEBITS_SERVER_RPC_SUBMIT_JOB_H_

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "samebits/v1/operations.pb.h"
#include "server/metrics/metrics.h"
#include "server/rpc/job_rpc.h"

namespace samebits::server {

// Answers a unary call with the operation of the job that `make` asks for, given the workers that registered. The job is
// the caller's; `make` runs on the pool, and what it borrows outlives the call.
grpc::ServerUnaryReactor* SubmitJob(
    const JobRpc& rpc, Method method, grpc::CallbackServerContext* context,
    std::function<absl::StatusOr<Submission>(const std::vector<storage::WorkerRecord>& workers)> make,
    v1::Operation* response);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_RPC_SUBMIT_JOB_H_
