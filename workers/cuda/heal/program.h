#ifndef SAMEBITS_WORKERS_CUDA_HEAL_PROGRAM_H_
#define SAMEBITS_WORKERS_CUDA_HEAL_PROGRAM_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "core/heal/model/model_shape.h"
#include "core/heal/numerics/configuration.h"
#include "workers/cuda/api.h"

namespace samebits::workers {

// What is fixed when the kernels are compiled; numbers as kernels/numbers.cuh has them.
struct ProgramKey {
  int boundary = 2, gemm = 2, attention = 2, head_dim = 128, group = 1;
  friend auto operator<=>(const ProgramKey&, const ProgramKey&) = default;
};

// UNIMPLEMENTED, with what is supported, for a shape that the kernels are not made for.
absl::Status CheckSupported(const heal::ModelShape& shape);

// Of the layers under that attention.
ProgramKey KeyOf(const heal::Configuration& configuration, heal::AttentionMode attention, const heal::ModelShape& shape);

// The kernels as machine code for compute capability `sm` (90 for 9.0). Needs no device. INTERNAL with the compiler's words.
absl::StatusOr<std::string> CompileCubin(const NvrtcApi& nvrtc, int sm, const ProgramKey& key);

// The kernels, compiled for one device and one key. Launches are not thread-safe.
class Program {
 public:
  // As CompileCubin.
  static absl::StatusOr<std::unique_ptr<Program>> Compile(const CudaApi& api, const NvrtcApi& nvrtc, int sm,
                                                          const ProgramKey& key);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

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
  explicit Program(const CudaApi* api) : api_(api) {}
  absl::Status LaunchWith(const char* kernel, const Grid& grid, cudaStream_t stream, void** arguments);

  const CudaApi* const api_;
  std::string cubin_;
  CUmodule module_ = nullptr;
  std::map<std::string, CUfunction, std::less<>> functions_;
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_CUDA_HEAL_PROGRAM_H_
