// Stands in for libcublas.so and libcublasLt.so, version 13.1.0; see plain_product.h. 8-bit and 16-bit accumulators are
// not supported. With SAMEBITS_FAKE_CUBLAS_FAILS in the environment, products fail.

#include <cublasLt.h>
#include <cublas_v2.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/support/fake_gpu/plain_product.h"

namespace {

using samebits::fake_gpu::Matrix;
using samebits::softfloat::Format;

const Format* FormatOf(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_16F:
      return &samebits::softfloat::kF16;
    case CUDA_R_16BF:
      return &samebits::softfloat::kBf16;
    case CUDA_R_32F:
      return &samebits::softfloat::kF32;
    case CUDA_R_64F:
      return &samebits::softfloat::kF64;
    default:
      return nullptr;
  }
}

bool Supported(cublasComputeType_t compute, cudaDataType_t a, cudaDataType_t b, cudaDataType_t d) {
  return (compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_64F) && FormatOf(a) && FormatOf(b) && FormatOf(d);
}

// Alpha must be 1 and beta 0, of the accumulator's type.
bool ScalarsFit(bool wide, const void* alpha, const void* beta) {
  if (wide) return *static_cast<const double*>(alpha) == 1 && *static_cast<const double*>(beta) == 0;
  return *static_cast<const float*>(alpha) == 1 && *static_cast<const float*>(beta) == 0;
}

cublasStatus_t Multiply(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b, bool wide, const void* alpha,
                        const void* beta, void* d, const Format& format, int64_t leading) {
  if (std::getenv("SAMEBITS_FAKE_CUBLAS_FAILS") != nullptr) return CUBLAS_STATUS_EXECUTION_FAILED;
  const bool fits = a.leading >= (a.transposed ? k : m) && b.leading >= (b.transposed ? n : k) && leading >= m;
  if (!fits || !ScalarsFit(wide, alpha, beta)) return CUBLAS_STATUS_INVALID_VALUE;
  samebits::fake_gpu::PlainProduct(m, n, k, a, b, wide, d, format, leading);
  return CUBLAS_STATUS_SUCCESS;
}

// What the pointers of cuBLASLt's descriptors point to.
struct Operation {
  cublasComputeType_t compute;
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
};
struct Layout {
  cudaDataType_t type;
  int64_t rows, columns, leading;
};

const Operation& OperationOf(cublasLtMatmulDesc_t handle) { return *reinterpret_cast<const Operation*>(handle); }
const Layout& LayoutOf(cublasLtMatrixLayout_t handle) { return *reinterpret_cast<const Layout*>(handle); }

struct Classic {
  cudaStream_t stream = nullptr;
  bool workspace = false;  // of the caller; setting a stream takes it away
};

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  return *handle = reinterpret_cast<cublasHandle_t>(new Classic), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  return delete reinterpret_cast<Classic*>(handle), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) { return *version = 130100, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return *reinterpret_cast<Classic*>(handle) = {stream, false}, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  reinterpret_cast<Classic*>(handle)->workspace = workspace != nullptr && bytes > 0;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t mode) {
  return mode == CUBLAS_DEFAULT_MATH ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t a_operation, cublasOperation_t b_operation, int64_t m,
                               int64_t n, int64_t k, const void* alpha, const void* a, cudaDataType a_type,
                               int64_t a_leading, const void* b, cudaDataType b_type, int64_t b_leading,
                               const void* beta, void* d, cudaDataType d_type, int64_t d_leading,
                               cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  const Classic& classic = *reinterpret_cast<const Classic*>(handle);
  if (classic.stream == nullptr || !classic.workspace) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (algorithm != CUBLAS_GEMM_DEFAULT || !Supported(compute, a_type, b_type, d_type)) return CUBLAS_STATUS_NOT_SUPPORTED;
  return Multiply(m, n, k, {a, FormatOf(a_type), a_leading, a_operation == CUBLAS_OP_T},
                  {b, FormatOf(b_type), b_leading, b_operation == CUBLAS_OP_T}, compute == CUBLAS_COMPUTE_64F, alpha, beta,
                  d, *FormatOf(d_type), d_leading);
}
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t a_operation, cublasOperation_t b_operation, int m, int n,
                            int k, const void* alpha, const void* a, cudaDataType a_type, int a_leading, const void* b,
                            cudaDataType b_type, int b_leading, const void* beta, void* d, cudaDataType d_type,
                            int d_leading, cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  return cublasGemmEx_64(handle, a_operation, b_operation, m, n, k, alpha, a, a_type, a_leading, b, b_type, b_leading, beta,
                         d, d_type, d_leading, compute, algorithm);
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  return *handle = reinterpret_cast<cublasLtHandle_t>(new Classic), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return delete reinterpret_cast<Classic*>(handle), CUBLAS_STATUS_SUCCESS;
}
size_t cublasLtGetVersion() { return 130100; }
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation, cublasComputeType_t compute, cudaDataType_t) {
  return *operation = reinterpret_cast<cublasLtMatmulDesc_t>(new Operation{compute}), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  return delete reinterpret_cast<Operation*>(operation), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  if (bytes != sizeof(cublasOperation_t)) return CUBLAS_STATUS_INVALID_VALUE;
  Operation& own = *reinterpret_cast<Operation*>(operation);
  std::memcpy(attribute == CUBLASLT_MATMUL_DESC_TRANSA ? &own.a : &own.b, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows, uint64_t columns,
                                          int64_t leading) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Layout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), leading});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return delete reinterpret_cast<Layout*>(layout), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Classic), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return delete reinterpret_cast<Classic*>(preference), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t, const void*,
                                                    size_t bytes) {
  return bytes == sizeof(uint64_t) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t* results,
                                              int* count) {
  if (!Supported(OperationOf(operation).compute, LayoutOf(a).type, LayoutOf(b).type, LayoutOf(d).type)) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  results[0] = {};
  results[0].algo.data[0] = 66;
  return *count = 1, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void* value, size_t bytes, size_t* written) {
  std::memset(value, 0, bytes);
  if (attribute == CUBLASLT_ALGO_CONFIG_ID) std::memcpy(value, algo->data, std::min<size_t>(bytes, 4));
  return *written = bytes, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void*, cublasLtMatrixLayout_t, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo, void*, size_t,
                              cudaStream_t) {
  if (algo->data[0] != 66) return CUBLAS_STATUS_INVALID_VALUE;
  const Operation& own = OperationOf(operation);
  const Layout &first = LayoutOf(a_layout), &second = LayoutOf(b_layout), &result = LayoutOf(d_layout);
  const int64_t k = own.a == CUBLAS_OP_T ? first.rows : first.columns;
  return Multiply(result.rows, result.columns, k, {a, FormatOf(first.type), first.leading, own.a == CUBLAS_OP_T},
                  {b, FormatOf(second.type), second.leading, own.b == CUBLAS_OP_T}, own.compute == CUBLAS_COMPUTE_64F, alpha,
                  beta, d, *FormatOf(result.type), result.leading);
}

}  // extern "C"
