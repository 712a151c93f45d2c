// Stands in for libhipblaslt.so; see plain_product.h. Numbers are those of hipBLASLt's documentation, not taken from
// workers/rocm. 8-bit types are not supported. With SAMEBITS_FAKE_HIPBLASLT_FAILS in the environment, products fail.

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tests/support/fake_gpu/plain_product.h"

namespace {

using samebits::softfloat::Format;

enum Status { kSuccess = 0, kInvalidValue = 3, kExecutionFailed = 5, kNotSupported = 7 };

const Format* FormatOf(int type) {
  switch (type) {
    case 0:
      return &samebits::softfloat::kF32;
    case 1:
      return &samebits::softfloat::kF64;
    case 2:
      return &samebits::softfloat::kF16;
    case 14:
      return &samebits::softfloat::kBf16;
    default:
      return nullptr;
  }
}

struct Operation {
  int compute, scale_type;
  int32_t transpose[2] = {111, 111};
};
struct Layout {
  int type;
  int64_t rows, columns, leading;
};
struct Preference {
  uint64_t workspace_bytes = 0;
};
struct Algo {
  uint8_t data[16];
  size_t max_workspace_bytes;
};
struct Result {
  Algo algo;
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

constexpr uint8_t kAlgo[16] = {0x34, 0x12, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0};

bool ScalarsFit(int type, const void* alpha, const void* beta) {
  if (type == 1) return *static_cast<const double*>(alpha) == 1 && *static_cast<const double*>(beta) == 0;
  return type == 0 && *static_cast<const float*>(alpha) == 1 && *static_cast<const float*>(beta) == 0;
}

}  // namespace

extern "C" {

int hipblasLtCreate(void** handle) { return *handle = new int(1), kSuccess; }
int hipblasLtDestroy(void* handle) { return delete static_cast<int*>(handle), kSuccess; }
int hipblasLtGetVersion(void*, int* version) { return *version = 100000, kSuccess; }
int hipblasLtMatrixLayoutCreate(Layout** layout, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  *layout = new Layout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), leading};
  return kSuccess;
}
int hipblasLtMatrixLayoutDestroy(Layout* layout) { return delete layout, kSuccess; }
int hipblasLtMatmulDescCreate(Operation** operation, int compute, int scale_type) {
  return *operation = new Operation{compute, scale_type}, kSuccess;
}
int hipblasLtMatmulDescDestroy(Operation* operation) { return delete operation, kSuccess; }
int hipblasLtMatmulDescSetAttribute(Operation* operation, int attribute, const void* value, size_t bytes) {
  if (attribute < 0 || attribute > 1 || bytes != 4) return kInvalidValue;
  return std::memcpy(&operation->transpose[attribute], value, bytes), kSuccess;
}
int hipblasLtMatmulPreferenceCreate(Preference** preference) { return *preference = new Preference, kSuccess; }
int hipblasLtMatmulPreferenceDestroy(Preference* preference) { return delete preference, kSuccess; }
int hipblasLtMatmulPreferenceSetAttribute(Preference* preference, int attribute, const void* value, size_t bytes) {
  if (attribute != 1 || bytes != 8) return kInvalidValue;
  return std::memcpy(&preference->workspace_bytes, value, bytes), kSuccess;
}
int hipblasLtMatmulAlgoGetHeuristic(void*, const Operation* operation, const Layout* a, const Layout* b, const Layout*,
                                    const Layout* d, const Preference* preference, int most, Result* results, int* count) {
  if (most < 1) return kInvalidValue;
  if (operation->compute != 2 && operation->compute != 7) return kNotSupported;
  if (!FormatOf(a->type) || !FormatOf(b->type) || !FormatOf(d->type)) return kNotSupported;
  results[0] = {};
  std::memcpy(results[0].algo.data, kAlgo, sizeof(kAlgo));
  results[0].algo.max_workspace_bytes = preference->workspace_bytes;
  return *count = 1, kSuccess;
}
int hipblasLtMatmul(void*, const Operation* operation, const void* alpha, const void* a, const Layout* a_layout, const void* b,
                    const Layout* b_layout, const void* beta, const void*, const Layout*, void* d, const Layout* d_layout,
                    const Algo* algo, void* workspace, size_t workspace_bytes, void*) {
  if (std::getenv("SAMEBITS_FAKE_HIPBLASLT_FAILS") != nullptr) return kExecutionFailed;
  if (std::memcmp(algo->data, kAlgo, sizeof(kAlgo)) != 0 || algo->max_workspace_bytes != workspace_bytes) return kInvalidValue;
  if (workspace == nullptr || !ScalarsFit(operation->scale_type, alpha, beta)) return kInvalidValue;
  const bool a_transposed = operation->transpose[0] == 112, b_transposed = operation->transpose[1] == 112;
  const int64_t m = d_layout->rows, n = d_layout->columns, k = a_transposed ? a_layout->rows : a_layout->columns;
  const int64_t b_k = b_transposed ? b_layout->columns : b_layout->rows;
  if (b_k != k || a_layout->leading < a_layout->rows || b_layout->leading < b_layout->rows) return kInvalidValue;
  samebits::fake_gpu::PlainProduct(m, n, k, {a, FormatOf(a_layout->type), a_layout->leading, a_transposed},
                                   {b, FormatOf(b_layout->type), b_layout->leading, b_transposed}, operation->compute == 7,
                                   d, *FormatOf(d_layout->type), d_layout->leading);
  return kSuccess;
}

}  // extern "C"
