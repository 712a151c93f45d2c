#ifndef SAMEBITS_WORKERS_GEMM_JOBS_GEMM_TASK_H_
#define SAMEBITS_WORKERS_GEMM_JOBS_GEMM_TASK_H_

// Jobs about single products (workers/gemm_jobs/gemm_work.h) as tasks, in a child process.

#include <atomic>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "samebits/worker/v1/worker_sessions.pb.h"
#include "workers/runner/unit_task.h"

namespace samebits::workers {

// As RunUnitTask, of a lease that has recover_gemms or emulate_gemm; `device` is "cpu:...", "cuda:N" or "rocm:N". On CPUs up to
// `cpu_threads` threads emulate. Sets the result's outcome. Other errors: those of the work.
absl::Status RunGemmTask(const std::string& device, const worker::v1::UpdateWorkerSessionResponse::Leased& lease, int cpu_threads,
                         const UnitTaskLimits& limits, absl::Time deadline, const std::atomic<bool>& cancelled,
                         const UnitTaskEvents& events, worker::v1::TaskResult* result);

// The first argument by which a program knows that it is such a child.
inline constexpr char kGemmChildCommand[] = "run-gemm";

// The child: device, memory limit and threads as arguments, the lease on standard input, frames on standard output.
// Returns the exit code.
int GemmChildMain(int argc, char** argv);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_GEMM_JOBS_GEMM_TASK_H_
