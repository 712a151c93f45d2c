#ifndef SAMEBITS_WORKERS_CUDA_GEMM_CALL_H_
#define SAMEBITS_WORKERS_CUDA_GEMM_CALL_H_

// A problem in the words that cuBLAS and cuBLASLt share. Both count columns first: what they compute as A * B is
// op(B) * op(A) of the problem, n x m for the row-major m x n.

#include <cublasLt.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/gemm/black_box.h"

namespace samebits::workers {

// A column-major matrix without padding: its leading dimension is `rows`.
struct GemmMatrix {
  cudaDataType_t type = CUDA_R_32F;
  int64_t rows = 0, columns = 0;
};

struct GemmCall {
  GemmMatrix b, a, d;  // in the call's order
  cublasOperation_t b_operation = CUBLAS_OP_N, a_operation = CUBLAS_OP_N;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale_type = CUDA_R_32F;
  const void* one = nullptr;  // of the scale type; static
  const void* zero = nullptr;
};

// UNIMPLEMENTED for types that the libraries have no name for.
absl::StatusOr<GemmCall> CallOf(const gemm::GemmProblem& problem);

// What is known of any call without a look at the kernels that it launches.
gemm::CallProfile UnseenProfile(const gemm::GemmProblem& problem, int sm);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_CUDA_GEMM_CALL_H_
