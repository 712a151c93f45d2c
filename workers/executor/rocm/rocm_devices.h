#ifndef SAMEBITS_WORKERS_EXECUTOR_ROCM_ROCM_DEVICES_H_
#define SAMEBITS_WORKERS_EXECUTOR_ROCM_ROCM_DEVICES_H_

#include "absl/status/statusor.h"
#include "workers/executor/executor.h"
#include "workers/rocm/runtime/hip_runtime.h"

namespace samebits::workers {

// What HIP tells of a device: all but index. UNAVAILABLE where it does not tell the processor.
absl::StatusOr<DeviceInfo> DescribeRocmDevice(const HipRuntime& hip, int ordinal);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_EXECUTOR_ROCM_ROCM_DEVICES_H_
