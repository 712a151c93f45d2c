#ifndef SAMEBITS_WORKERS_CUDA_CUBLASLT_LIBRARY_H_
#define SAMEBITS_WORKERS_CUDA_CUBLASLT_LIBRARY_H_

// cuBLASLt as a black box. The libraries are found at run time (libcudart.so, libcublasLt.so; the variables
// SAMEBITS_CUDART and SAMEBITS_CUBLASLT name others), so that one binary serves machines with and without them.

#include <cstdint>
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

// The cost model's answer for one problem.
struct CublasLtAlgorithm {
  uint32_t id = 0, tile = 0, stages = 0, split_k = 0, reduction = 0, swizzle = 0, custom = 0, inner = 0, cluster = 0;
  int64_t workspace_bytes = 0;
  std::string ToString() const;
};

// Not thread-safe. Operands lie on the device as the row-major rows that the interface speaks of, which is cuBLAS's
// layout TN; alpha is 1 and beta 0. Device memory of the last problem is kept.
class CublasLtLibrary : public gemm::BlackBox {
 public:
  // UNAVAILABLE where a library or a device is missing.
  static absl::StatusOr<std::unique_ptr<CublasLtLibrary>> Open(const CublasLtOptions& options);
  ~CublasLtLibrary() override;

  int sm() const override;
  int multiprocessors() const;
  int64_t version() const;  // of cuBLASLt: 130100 for 13.1.0
  absl::StatusOr<CublasLtAlgorithm> Algorithm(const gemm::GemmProblem& problem);

  absl::StatusOr<gemm::CallProfile> Profile(const gemm::GemmProblem& problem) override;
  absl::StatusOr<std::vector<uint64_t>> Multiply(const gemm::GemmProblem& problem, const gemm::SparseRows& a,
                                                 const gemm::SparseRows& b,
                                                 std::span<const gemm::Output> outputs) override;

 private:
  class Impl;
  explicit CublasLtLibrary(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_CUDA_CUBLASLT_LIBRARY_H_
