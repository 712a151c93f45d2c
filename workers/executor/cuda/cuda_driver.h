#ifndef SAMEBITS_WORKERS_EXECUTOR_CUDA_CUDA_DRIVER_H_
#define SAMEBITS_WORKERS_EXECUTOR_CUDA_CUDA_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace samebits::workers {

// The calls of the CUDA driver API that the executor needs, found at run time in libcuda.so.1, which stays open (CUDA
// Driver API reference; names without their version suffix). Thread-safe as the driver is.
class CudaDriver {
 public:
  using Result = int;  // CUresult; 0: success

  // NOT_FOUND without a driver, UNAVAILABLE where it lacks a call or does not start.
  static absl::StatusOr<std::shared_ptr<const CudaDriver>> Load();

  Result (*init)(unsigned) = nullptr;
  Result (*driver_version)(int*) = nullptr;
  Result (*device_count)(int*) = nullptr;
  Result (*device_get)(int*, int) = nullptr;
  Result (*device_name)(char*, int, int) = nullptr;
  Result (*device_uuid)(unsigned char*, int) = nullptr;
  Result (*device_memory)(size_t*, int) = nullptr;
  Result (*device_attribute)(int*, int, int) = nullptr;
  Result (*retain_context)(void**, int) = nullptr;
  Result (*release_context)(int) = nullptr;
  Result (*set_context)(void*) = nullptr;
  Result (*load_module)(void**, const void*, unsigned, int*, void**) = nullptr;
  Result (*unload_module)(void*) = nullptr;
  Result (*get_function)(void**, void*, const char*) = nullptr;
  Result (*set_function_attribute)(void*, int, int) = nullptr;
  Result (*allocate)(uint64_t*, size_t) = nullptr;
  Result (*free)(uint64_t) = nullptr;
  Result (*set_bytes)(uint64_t, unsigned char, size_t) = nullptr;
  Result (*upload)(uint64_t, const void*, size_t) = nullptr;
  Result (*download)(void*, uint64_t, size_t) = nullptr;
  Result (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                   void**) = nullptr;
  Result (*synchronize)() = nullptr;
  Result (*error_name)(Result, const char**) = nullptr;

  // The status of a result, as Executor's errors: what the kernel did (illegal address, trap, launch out of
  // resources), what the text lacks, or the device's failure.
  absl::Status ToStatus(Result result, const char* call) const;

 private:
  CudaDriver() = default;
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_EXECUTOR_CUDA_CUDA_DRIVER_H_
