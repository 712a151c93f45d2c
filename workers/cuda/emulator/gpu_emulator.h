#ifndef SAMEBITS_WORKERS_CUDA_EMULATOR_GPU_EMULATOR_H_
#define SAMEBITS_WORKERS_CUDA_EMULATOR_GPU_EMULATOR_H_

// core/gemm/emulator.h on a CUDA device: the same arithmetic from the same text (core/softfloat/group_sum.h,
// core/gemm/output_walk.h), for whole products and many of them. f64 NaNs may have other bits than on the host.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/gemm/black_box.h"
#include "core/gemm/flat_plan.h"
#include "workers/cuda/kernel_module.h"

namespace samebits::workers {

// The kernels for a plan, as machine code for compute capability `sm`. Needs no device.
absl::StatusOr<std::string> CompileEmulator(const NvrtcApi& nvrtc, int sm, const gemm::FlatPlan& plan, gemm::FormatId type);

// Not thread-safe. Device memory of the last call is kept.
class GpuEmulator {
 public:
  // UNAVAILABLE where a library or the device is missing.
  static absl::StatusOr<std::unique_ptr<GpuEmulator>> Open(int device);
  ~GpuEmulator();
  GpuEmulator(const GpuEmulator&) = delete;
  GpuEmulator& operator=(const GpuEmulator&) = delete;

  int sm() const { return sm_; }

  // As gemm::Accumulate, of patterns: a holds rows of plan.k patterns of `problem`'s type, b too. Of the problem only the
  // types are read.
  absl::StatusOr<std::vector<uint64_t>> Accumulate(const gemm::Plan& plan, const gemm::GemmProblem& problem,
                                                   std::span<const uint64_t> a, std::span<const uint64_t> b,
                                                   std::span<const gemm::Output> outputs);
  // Of the last Accumulate or Check: of the kernel that computes outputs.
  double kernel_millis() const { return kernel_millis_; }

  // Fills the problem's operands on the device, in its layout; `draw` as that of gemm::DrawOperands.
  absl::Status Fill(const gemm::GemmProblem& problem, uint64_t seed, int draw, void* a, void* b);

  struct Differences {
    int64_t outputs = 0, different = 0;
    gemm::Output first;  // where some differ
  };
  // Compares D on the device, whole, with what the plan gives for A and B in the problem's layout, without an epilogue.
  absl::StatusOr<Differences> Check(const gemm::Plan& plan, const gemm::GemmProblem& problem, const void* a, const void* b,
                                    const void* d);

 private:
  struct Side {
    gemm::FormatId type;
    int64_t rows, row_stride, k_stride;
    const void* data;
  };
  GpuEmulator(std::shared_ptr<const CudaApi> api, std::shared_ptr<const NvrtcApi> nvrtc, int device)
      : api_(std::move(api)), nvrtc_(std::move(nvrtc)), device_(device) {}
  absl::Status Start();
  absl::StatusOr<KernelModule*> ModuleFor(const gemm::FlatPlan& plan, gemm::FormatId type);
  absl::StatusOr<const CudaBuffer*> TableFor(gemm::WalkArithmetic arithmetic, gemm::FormatId type);
  absl::Status Upload(const CudaBuffer& to, const void* from, int64_t bytes);
  absl::Status LoadPlan(const gemm::FlatPlan& plan);
  absl::Status Decode(KernelModule& module, const gemm::FlatPlan& plan, int64_t k, const Side& side, CudaBuffer* words);
  absl::Status Place(std::span<const uint64_t> patterns, gemm::FormatId type, CudaBuffer* to);
  absl::Status Timed(const std::function<absl::Status()>& launch);
  static KernelModule::Grid GridFor(int64_t threads);

  const std::shared_ptr<const CudaApi> api_;
  const std::shared_ptr<const NvrtcApi> nvrtc_;
  const int device_;
  int sm_ = 0;
  double kernel_millis_ = 0;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  std::map<std::string, std::unique_ptr<KernelModule>> modules_;  // by options
  std::map<std::pair<gemm::WalkArithmetic, gemm::FormatId>, CudaBuffer> tables_;
  std::vector<int> pairs_;
  CudaBuffer a_{api_.get(), false}, b_{api_.get(), false}, a_words_{api_.get(), false}, b_words_{api_.get(), false};
  CudaBuffer order_{api_.get(), false}, groups_{api_.get(), false}, steps_{api_.get(), false};
  CudaBuffer places_{api_.get(), false}, results_{api_.get(), false}, fills_{api_.get(), false}, pairs_at_{api_.get(), false};
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_CUDA_EMULATOR_GPU_EMULATOR_H_
