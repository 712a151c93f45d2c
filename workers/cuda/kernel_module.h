#ifndef SAMEBITS_WORKERS_CUDA_KERNEL_MODULE_H_
#define SAMEBITS_WORKERS_CUDA_KERNEL_MODULE_H_

// CUDA C++ that is compiled at run time.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "workers/cuda/api.h"

namespace samebits::workers {

// `text` as machine code; `name` stands for its file in messages. Needs no device. INTERNAL with the compiler's words.
absl::StatusOr<std::string> CompileCuda(const NvrtcApi& nvrtc, const char* name, const std::string& text,
                                        const std::vector<std::string>& options);

// Kernels on the device that is current when they are loaded. Launches are not thread-safe.
class KernelModule {
 public:
  // `api` must outlive the module.
  static absl::StatusOr<std::unique_ptr<KernelModule>> Load(const CudaApi& api, std::string cubin);
  ~KernelModule();
  KernelModule(const KernelModule&) = delete;
  KernelModule& operator=(const KernelModule&) = delete;

  struct Grid {
    unsigned x = 1, y = 1, z = 1, threads = 256, shared_bytes = 0;
  };
  // Arguments must have the kernel's parameter types. Does nothing for empty grids.
  template <typename... Arguments>
  absl::Status Launch(const char* kernel, const Grid& grid, cudaStream_t stream, Arguments... arguments) {
    void* pointers[] = {static_cast<void*>(&arguments)...};
    return LaunchWith(kernel, grid, stream, pointers);
  }

  const std::string& cubin() const { return cubin_; }

 private:
  KernelModule(const CudaApi* api, std::string cubin) : api_(api), cubin_(std::move(cubin)) {}
  absl::Status LaunchWith(const char* kernel, const Grid& grid, cudaStream_t stream, void** arguments);

  const CudaApi* const api_;
  const std::string cubin_;
  CUmodule module_ = nullptr;
  std::map<std::string, CUfunction, std::less<>> functions_;
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_CUDA_KERNEL_MODULE_H_
