#ifndef SAMEBITS_WORKERS_PROFILE_PROFILE_TASK_H_
#define SAMEBITS_WORKERS_PROFILE_PROFILE_TASK_H_

// The study of a library of matrix products (core/gemm/profile_build.h) as a task, in a child process.

#include <atomic>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "samebits/worker/v1/worker_sessions.pb.h"
#include "workers/runner/unit_task.h"

namespace samebits::workers {

// Libraries that this machine has for devices of a backend ("cpu", "cuda", "rocm"), without those that profiles do not take.
std::vector<std::string> ProfiledLibraries(const std::string& backend);

// As RunUnitTask; `device` is "cpu:...", "cuda:N" or "rocm:N". Other errors: those of the study (INVALID_ARGUMENT, UNAVAILABLE where
// the library is not there, FAILED_PRECONDITION where the lease's units are of another library or device, ...).
absl::StatusOr<worker::v1::ProfileTaskResult> RunProfileTask(const std::string& device,
                                                             const worker::v1::UpdateWorkerSessionResponse::Leased& lease,
                                                             const UnitTaskLimits& limits, absl::Time deadline,
                                                             const std::atomic<bool>& cancelled, const UnitTaskEvents& events);

// The first argument by which a program knows that it is such a child.
inline constexpr char kProfileChildCommand[] = "run-profile";

// The child: device and memory limit as arguments, the lease on standard input, frames on standard output. Returns the
// exit code.
int ProfileChildMain(int argc, char** argv);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_PROFILE_PROFILE_TASK_H_
