#ifndef SAMEBITS_WORKERS_CUDA_CUBLAS_API_H_
#define SAMEBITS_WORKERS_CUDA_CUBLAS_API_H_

// cuBLAS's classic interface, opened at run time.

#include <cublas_v2.h>

#include <memory>

#include "absl/status/statusor.h"

namespace samebits::workers {

// libcublas.so; the variable SAMEBITS_CUBLAS names another. Thread-safe as it is.
struct CublasApi {
#define SAMEBITS_CLASSIC_FUNCTIONS(X)                                                                      \
  X(cublasCreate_v2) X(cublasDestroy_v2) X(cublasGetVersion_v2) X(cublasSetStream_v2) X(cublasSetWorkspace_v2) \
  X(cublasSetMathMode)
#define SAMEBITS_CLASSIC_DECLARE(name) decltype(&::name) name = nullptr;
  SAMEBITS_CLASSIC_FUNCTIONS(SAMEBITS_CLASSIC_DECLARE)
#undef SAMEBITS_CLASSIC_DECLARE
  // Named by hand: the first is overloaded in C++, and versions before 12 lack the second (then null).
  decltype(&::cublasGemmEx_64) cublasGemmEx_64 = nullptr;
  cublasStatus_t (*cublasGemmEx)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                                 const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                                 cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t) = nullptr;

  // UNAVAILABLE, naming the library or function that is missing.
  static absl::StatusOr<std::shared_ptr<const CublasApi>> Load();
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_CUDA_CUBLAS_API_H_
