#ifndef SAMEBITS_WORKERS_EXECUTOR_ENTRY_H_
#define SAMEBITS_WORKERS_EXECUTOR_ENTRY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/isa/amdgcn/program.h"
#include "core/isa/module.h"
#include "workers/executor/executor.h"

namespace samebits::workers {

// Index of the launch's entry in `module`, whose parameters have one argument each, none shorter than its parameter:
// runtimes read a whole parameter through each pointer, whatever they are given. INVALID_ARGUMENT.
absl::StatusOr<uint32_t> FindEntry(const isa::Module& module, const KernelLaunch& launch);

// UNIMPLEMENTED where the text is not of the instruction set that the backend's devices run.
absl::Status ExpectPtx(const KernelLaunch& launch);
absl::Status ExpectAmdgcn(const KernelLaunch& launch);

// INVALID_ARGUMENT where the workgroup is not the one that the text demands, or larger than it allows.
absl::Status CheckWorkgroup(const isa::amdgcn::Kernel& kernel, const KernelLaunch& launch);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_EXECUTOR_ENTRY_H_
