#ifndef SAMEBITS_WORKERS_CUDA_CUBLASLT_LIBRARY_H_
#define SAMEBITS_WORKERS_CUDA_CUBLASLT_LIBRARY_H_

// cuBLASLt as a black box. The libraries are found at run time (libcudart.so, libcublasLt.so; the variables
// SAMEBITS_CUDART and SAMEBITS_CUBLASLT name others), so that one binary serves machines with and without them.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/gemm/black_box.h"

namespace samebits::workers {

// What decides the answer of the library's cost model besides the shape.
struct CublasLtOptions {
  int device = 0;
  int64_t workspace_bytes = 32 << 20;
};

// Not thread-safe; several may be used at once, each with a stream and memory of its own. Alpha is 1 and beta 0; leading
// dimensions are without padding. Device memory of the last problem is kept.
class CublasLtLibrary : public gemm::BlackBox {
 public:
  // UNAVAILABLE where a library or a device is missing.
  static absl::StatusOr<std::unique_ptr<CublasLtLibrary>> Open(const CublasLtOptions& options);
  ~CublasLtLibrary() override;

  int sm() const override;
  int multiprocessors() const;
  int64_t version() const;  // of cuBLASLt: 130100 for 13.1.0
  absl::StatusOr<gemm::Algorithm> Choose(const gemm::GemmProblem& problem) override;
  absl::StatusOr<gemm::CallProfile> Profile(const gemm::GemmProblem& problem) override;
  absl::StatusOr<std::vector<uint64_t>> Multiply(const gemm::GemmProblem& problem, const gemm::SparseRows& a,
                                                 const gemm::SparseRows& b,
                                                 std::span<const gemm::Output> outputs) override;

  // Matrices on the device, in the problem's layout, until the next call.
  struct WholeProduct {
    const void *a, *b, *d;
  };
  // One launch, of operands that `fill` writes to the device before it returns.
  absl::StatusOr<WholeProduct> MultiplyWhole(const gemm::GemmProblem& problem,
                                             const std::function<absl::Status(void* a, void* b)>& fill);

 private:
  class Impl;
  explicit CublasLtLibrary(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_CUDA_CUBLASLT_LIBRARY_H_
