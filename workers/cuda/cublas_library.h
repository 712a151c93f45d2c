#ifndef SAMEBITS_WORKERS_CUDA_CUBLAS_LIBRARY_H_
#define SAMEBITS_WORKERS_CUDA_CUBLAS_LIBRARY_H_

// cuBLAS's cublasGemmEx as a black box. It tells no algorithm, and its enumeration of algorithms means nothing from
// sm_80 on: the default one is called.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/gemm/black_box.h"
#include "workers/cuda/cublas_api.h"
#include "workers/cuda/gemm_buffers.h"

namespace samebits::workers {

struct CublasOptions {
  int device = 0;
  int64_t workspace_bytes = 32 << 20;  // its workspace for all calls, in place of memory of its own
};

// Not thread-safe; several may be used at once, each with a handle, stream and memory of its own. Alpha is 1 and beta 0;
// leading dimensions are without padding. Sides above 2^31 - 1 need cuBLAS 12.
class CublasLibrary : public gemm::BlackBox {
 public:
  // UNAVAILABLE where a library or a device is missing.
  static absl::StatusOr<std::unique_ptr<CublasLibrary>> Open(const CublasOptions& options);
  ~CublasLibrary() override;

  int sm() const override { return buffers_->sm(); }
  bool tells_algorithm() const override { return false; }
  int multiprocessors() const { return buffers_->multiprocessors(); }
  int64_t version() const { return version_; }  // 130100 for 13.1.0

  // Says what the types alone say.
  absl::StatusOr<gemm::CallProfile> Profile(const gemm::GemmProblem& problem) override;
  absl::StatusOr<std::vector<uint64_t>> Multiply(const gemm::GemmProblem& problem, const gemm::SparseRows& a,
                                                 const gemm::SparseRows& b,
                                                 std::span<const gemm::Output> outputs) override;

 private:
  CublasLibrary(std::unique_ptr<GemmBuffers> buffers, std::shared_ptr<const CublasApi> api)
      : buffers_(std::move(buffers)), api_(std::move(api)) {}
  absl::Status Start();

  const std::unique_ptr<GemmBuffers> buffers_;
  const std::shared_ptr<const CublasApi> api_;
  cublasHandle_t handle_ = nullptr;
  int version_ = 0;
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_CUDA_CUBLAS_LIBRARY_H_
