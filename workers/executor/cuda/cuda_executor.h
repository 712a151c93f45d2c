#ifndef SAMEBITS_WORKERS_EXECUTOR_CUDA_CUDA_EXECUTOR_H_
#define SAMEBITS_WORKERS_EXECUTOR_CUDA_CUDA_EXECUTOR_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "workers/executor/cuda/assembler.h"
#include "workers/executor/executor.h"

namespace samebits::workers {

// Ran on an H200: tests/device/records/service-h200.json.

// The CUDA devices that the driver shows; the first has index `first`. NOT_FOUND without a driver.
absl::StatusOr<std::vector<DeviceInfo>> ListCudaDevices(uint32_t first);

// The driver's device `ordinal` by its primary context; UNAVAILABLE where that is not the one of `info`'s uuid (empty:
// any). Texts are assembled for the device by the driver or, where its program is named, by `assembler`. Each buffer
// lies between guard zones of 64 KiB; a launch that changes one ends in OUT_OF_RANGE. After a fault the context is
// lost: every later call fails, and the process should end.
absl::StatusOr<std::unique_ptr<Executor>> MakeCudaExecutor(int ordinal, const DeviceInfo& info,
                                                          const AssemblerOptions& assembler = {});

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_EXECUTOR_CUDA_CUDA_EXECUTOR_H_
