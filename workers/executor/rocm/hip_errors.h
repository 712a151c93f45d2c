#ifndef SAMEBITS_WORKERS_EXECUTOR_ROCM_HIP_ERRORS_H_
#define SAMEBITS_WORKERS_EXECUTOR_ROCM_HIP_ERRORS_H_

#include "absl/status/status.h"
#include "workers/rocm/runtime/hip_runtime.h"

namespace samebits::workers {

// The status of a call, as Executor's errors: what the kernel did (illegal address, trap, launch out of resources), what the
// text lacks, or the device's failure.
absl::Status ToStatus(const HipRuntime& hip, int error, const char* call);

// AMD's runtime ends the process where a kernel faults, with words on standard error. `death`, which holds them, as
// Executor's errors: OUT_OF_RANGE for an access outside the device's memory, FAILED_PRECONDITION for traps and illegal
// instructions, RESOURCE_EXHAUSTED where the queue has no room; unchanged where the words are others.
absl::Status FromRuntimeAbort(absl::Status death);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_EXECUTOR_ROCM_HIP_ERRORS_H_
