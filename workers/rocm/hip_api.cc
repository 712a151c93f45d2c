#include "workers/rocm/hip_api.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "workers/loading/return_if.h"
#include "workers/loading/shared_library.h"

namespace samebits::workers {

#define SAMEBITS_FIND(function) finder.Find(#function, &api->function)

absl::StatusOr<std::shared_ptr<const HipApi>> HipApi::Load() {
  auto api = std::make_shared<HipApi>();
  if (absl::Status status = api->LoadRuntime(); !status.ok()) return absl::UnavailableError(status.message());
  const absl::StatusOr<void*> blas =
      OpenSharedLibrary("SAMEBITS_HIPBLASLT", {"libhipblaslt.so.1", "libhipblaslt.so.0", "libhipblaslt.so"});
  if (!blas.ok()) return blas.status();
  FunctionFinder finder(*blas);
  SAMEBITS_FIND(hipblasLtCreate);
  SAMEBITS_FIND(hipblasLtDestroy);
  SAMEBITS_FIND(hipblasLtGetVersion);
  SAMEBITS_FIND(hipblasLtMatrixLayoutCreate);
  SAMEBITS_FIND(hipblasLtMatrixLayoutDestroy);
  SAMEBITS_FIND(hipblasLtMatmulDescCreate);
  SAMEBITS_FIND(hipblasLtMatmulDescDestroy);
  SAMEBITS_FIND(hipblasLtMatmulDescSetAttribute);
  SAMEBITS_FIND(hipblasLtMatmulPreferenceCreate);
  SAMEBITS_FIND(hipblasLtMatmulPreferenceDestroy);
  SAMEBITS_FIND(hipblasLtMatmulPreferenceSetAttribute);
  SAMEBITS_FIND(hipblasLtMatmulAlgoGetHeuristic);
  SAMEBITS_FIND(hipblasLtMatmul);
  SAMEBITS_RETURN_IF(finder.status());
  return api;
}

absl::Status HipApi::Blas(int status, const char* what) {
  switch (status) {
    case hip::kSuccess:
      return absl::OkStatus();
    case hip::kStatusAllocFailed:
      return absl::ResourceExhaustedError(absl::StrCat(what, ": out of memory"));
    case hip::kStatusInvalidValue:
    case hip::kStatusNotSupported:
    case hip::kStatusArchMismatch:
      return absl::UnimplementedError(absl::StrCat(what, ": not supported by the library (", status, ")"));
    default:
      return absl::InternalError(absl::StrCat(what, ": status ", status));
  }
}

absl::Status HipBuffer::Reserve(int64_t bytes) {
  bytes = std::max<int64_t>(bytes, 4096);
  if (bytes <= capacity_) return absl::OkStatus();
  Free();
  if (const int error = api_->hipMalloc(&data_, bytes); error != hip::kSuccess) {
    data_ = nullptr;
    api_->hipGetLastError();  // else later calls report it again
    return api_->Hip(error, absl::StrCat(bytes, " bytes of device memory").c_str());
  }
  capacity_ = bytes;
  return absl::OkStatus();
}

void HipBuffer::Free() {
  if (data_ != nullptr) api_->hipFree(data_);
  data_ = nullptr;
  capacity_ = 0;
}

}  // namespace samebits::workers
