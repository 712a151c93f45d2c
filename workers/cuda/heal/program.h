#ifndef SAMEBITS_WORKERS_CUDA_HEAL_PROGRAM_H_
#define SAMEBITS_WORKERS_CUDA_HEAL_PROGRAM_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "core/heal/model/model_shape.h"
#include "core/heal/numerics/configuration.h"
#include "workers/cuda/kernel_module.h"

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

  using Grid = KernelModule::Grid;
  // As KernelModule's.
  template <typename... Arguments>
  absl::Status Launch(const char* kernel, const Grid& grid, cudaStream_t stream, Arguments... arguments) {
    return module_->Launch(kernel, grid, stream, arguments...);
  }

  const std::string& cubin() const { return module_->cubin(); }

 private:
  explicit Program(std::unique_ptr<KernelModule> module) : module_(std::move(module)) {}

  const std::unique_ptr<KernelModule> module_;
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_CUDA_HEAL_PROGRAM_H_
