#ifndef SAMEBITS_WORKERS_HEAL_NUMERICS_TASK_H_
#define SAMEBITS_WORKERS_HEAL_NUMERICS_TASK_H_

// A task of numerics, in a child process, so that a crash or hang of a device or its driver harms nothing else.

#include <atomic>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "samebits/worker/v1/worker_sessions.pb.h"
#include "workers/runner/unit_task.h"

namespace samebits::workers {

using NumericsLimits = UnitTaskLimits;  // the program calls NumericsChildMain
using NumericsEvents = UnitTaskEvents;

// Runs the lease's task on "cpu:..." or "cuda:N" (an instruction mix: with tools, on no device), all but the units that
// the lease brings. `model`: path of the weights
// where the request names a model of this worker; empty for synthetic ones. Events come on the calling thread. Errors:
// those of the job (INVALID_ARGUMENT, ...); RESOURCE_EXHAUSTED for memory; ABORTED where the process died or fell silent,
// for another attempt, which goes on from the units, may end otherwise; CANCELLED soon after `cancelled` is set;
// DEADLINE_EXCEEDED.
absl::StatusOr<worker::v1::NumericsTaskResult> RunNumericsTask(
    const std::string& device, const std::string& model, const worker::v1::UpdateWorkerSessionResponse::Leased& lease,
    const NumericsLimits& limits, absl::Time deadline, const std::atomic<bool>& cancelled, const NumericsEvents& events);

// The first argument by which a program knows that it is such a child.
inline constexpr char kNumericsChildCommand[] = "run-numerics";

// The device of tasks that compute nothing themselves but run tools.
inline constexpr char kToolsDevice[] = "tools";

// The child: device, memory limit and path of the model as arguments, the lease on standard input, frames on standard
// output. Returns the exit code.
int NumericsChildMain(int argc, char** argv);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_HEAL_NUMERICS_TASK_H_
