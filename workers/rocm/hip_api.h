#ifndef SAMEBITS_WORKERS_ROCM_HIP_API_H_
#define SAMEBITS_WORKERS_ROCM_HIP_API_H_

// HIP's runtime and hipBLASLt, opened at run time.

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "workers/rocm/hipblaslt_declarations.h"
#include "workers/rocm/runtime/hip_runtime.h"

namespace samebits::workers {

// HIP's runtime with libhipblaslt.so; the variable SAMEBITS_HIPBLASLT names another. Thread-safe as it is.
struct HipApi : HipRuntime {
  int (*hipblasLtCreate)(hip::Handle* handle) = nullptr;
  int (*hipblasLtDestroy)(hip::Handle handle) = nullptr;
  int (*hipblasLtGetVersion)(hip::Handle handle, int* version) = nullptr;
  int (*hipblasLtMatrixLayoutCreate)(hip::Descriptor* layout, int type, uint64_t rows, uint64_t columns,
                                     int64_t leading) = nullptr;
  int (*hipblasLtMatrixLayoutDestroy)(hip::Descriptor layout) = nullptr;
  int (*hipblasLtMatmulDescCreate)(hip::Descriptor* operation, int compute, int scale_type) = nullptr;
  int (*hipblasLtMatmulDescDestroy)(hip::Descriptor operation) = nullptr;
  int (*hipblasLtMatmulDescSetAttribute)(hip::Descriptor operation, int attribute, const void* value,
                                         size_t bytes) = nullptr;
  int (*hipblasLtMatmulPreferenceCreate)(hip::Descriptor* preference) = nullptr;
  int (*hipblasLtMatmulPreferenceDestroy)(hip::Descriptor preference) = nullptr;
  int (*hipblasLtMatmulPreferenceSetAttribute)(hip::Descriptor preference, int attribute, const void* value,
                                               size_t bytes) = nullptr;
  int (*hipblasLtMatmulAlgoGetHeuristic)(hip::Handle handle, hip::Descriptor operation, hip::Descriptor a,
                                         hip::Descriptor b, hip::Descriptor c, hip::Descriptor d,
                                         hip::Descriptor preference, int most, hip::HeuristicResult* results,
                                         int* count) = nullptr;
  int (*hipblasLtMatmul)(hip::Handle handle, hip::Descriptor operation, const void* alpha, const void* a,
                         hip::Descriptor a_layout, const void* b, hip::Descriptor b_layout, const void* beta,
                         const void* c, hip::Descriptor c_layout, void* d, hip::Descriptor d_layout,
                         const hip::Algo* algo, void* workspace, size_t workspace_bytes, hip::Stream stream) = nullptr;

  // UNAVAILABLE, naming the library or function that is missing.
  static absl::StatusOr<std::shared_ptr<const HipApi>> Load();

  // INTERNAL; RESOURCE_EXHAUSTED for memory; UNIMPLEMENTED for what hipBLASLt does not do.
  static absl::Status Blas(int status, const char* what);
};

// Memory of the device. Grows.
class HipBuffer {
 public:
  explicit HipBuffer(const HipApi* api) : api_(api) {}
  ~HipBuffer() { Free(); }
  HipBuffer(const HipBuffer&) = delete;
  HipBuffer& operator=(const HipBuffer&) = delete;

  uint8_t* data() const { return static_cast<uint8_t*>(data_); }
  absl::Status Reserve(int64_t bytes);  // the content is lost where its size changes

 private:
  void Free();

  const HipApi* api_;
  void* data_ = nullptr;
  int64_t capacity_ = 0;
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_ROCM_HIP_API_H_
