#ifndef SAMEBITS_WORKERS_EXECUTOR_ROCM_ROCM_EXECUTOR_H_
#define SAMEBITS_WORKERS_EXECUTOR_ROCM_ROCM_EXECUTOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "workers/executor/executor.h"

namespace samebits::workers {

// Compiles and agrees with stand-ins of AMD's libraries; never executed on an AMD GPU.

// The AMD devices that HIP shows; the first has index `first`. NOT_FOUND without HIP; UNAVAILABLE where HIP finds no device,
// or the machine has no assembler of AMDGCN (FindAssembler, code_object.h, with `clang`).
absl::StatusOr<std::vector<DeviceInfo>> ListRocmDevices(uint32_t first, const std::string& clang = "");

// HIP's device `ordinal`; UNAVAILABLE where that is not the one of `info`'s uuid (empty: any). Texts are assembled on this
// machine for the processor that they name, which must be the device's. Each buffer lies between guard zones of 64 KiB; a
// launch that changes one ends in OUT_OF_RANGE. A fault ends the process with words that FromRuntimeAbort (hip_errors.h)
// reads, or leaves the device unusable for it.
absl::StatusOr<std::unique_ptr<Executor>> MakeRocmExecutor(int ordinal, const DeviceInfo& info, const std::string& clang = "");

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_EXECUTOR_ROCM_ROCM_EXECUTOR_H_
