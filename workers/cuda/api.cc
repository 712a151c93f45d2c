#include "workers/cuda/api.h"

#include <dlfcn.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "workers/loading/cuda_libraries.h"

namespace samebits::workers {
#define SAMEBITS_FIND(api, library, function)                                          \
  api->function = reinterpret_cast<decltype(api->function)>(dlsym(library, #function)); \
  if (api->function == nullptr) missing = #function;

absl::StatusOr<std::shared_ptr<const CudaApi>> CudaApi::Load() {
  const absl::StatusOr<void*> cuda = OpenCudaRuntime();
  if (!cuda.ok()) return cuda.status();
  const absl::StatusOr<void*> blas = OpenCublasLt();
  if (!blas.ok()) return blas.status();
  const absl::StatusOr<void*> driver = OpenCudaDriver();
  if (!driver.ok()) return driver.status();
  auto api = std::make_shared<CudaApi>();
  const char* missing = nullptr;
#define SAMEBITS_FIND_CUDA(name) SAMEBITS_FIND(api, *cuda, name)
#define SAMEBITS_FIND_BLAS(name) SAMEBITS_FIND(api, *blas, name)
#define SAMEBITS_FIND_DRIVER(name) SAMEBITS_FIND(api, *driver, name)
  SAMEBITS_CUDA_FUNCTIONS(SAMEBITS_FIND_CUDA)
  SAMEBITS_DRIVER_FUNCTIONS(SAMEBITS_FIND_DRIVER)
  SAMEBITS_BLAS_FUNCTIONS(SAMEBITS_FIND_BLAS)
  if (missing != nullptr) return absl::UnavailableError(absl::StrCat(missing, " is not found"));
  return api;
}

absl::Status CudaApi::Cuda(cudaError_t error, const char* what) const {
  if (error == cudaSuccess) return absl::OkStatus();
  const std::string message = absl::StrCat(what, ": ", cudaGetErrorString(error));
  return error == cudaErrorMemoryAllocation ? absl::ResourceExhaustedError(message) : absl::InternalError(message);
}

absl::Status CudaApi::Driver(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(what, ": driver error ", result));
}

absl::Status CudaApi::Blas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) {
    return absl::UnimplementedError(absl::StrCat(what, ": not supported by the library (", status, ")"));
  }
  return absl::InternalError(absl::StrCat(what, ": status ", status));
}

absl::StatusOr<std::shared_ptr<const NvrtcApi>> NvrtcApi::Load() {
  const absl::StatusOr<void*> library = OpenNvrtc();
  if (!library.ok()) return library.status();
  auto api = std::make_shared<NvrtcApi>();
  const char* missing = nullptr;
#define SAMEBITS_FIND_NVRTC(name) SAMEBITS_FIND(api, *library, name)
  SAMEBITS_NVRTC_FUNCTIONS(SAMEBITS_FIND_NVRTC)
  if (missing != nullptr) return absl::UnavailableError(absl::StrCat(missing, " is not found"));
  return api;
}

CudaBuffer::CudaBuffer(CudaBuffer&& other) noexcept
    : api_(other.api_), host_(other.host_), data_(std::exchange(other.data_, nullptr)),
      capacity_(std::exchange(other.capacity_, 0)) {}

absl::Status CudaBuffer::Reserve(int64_t bytes) {
  bytes = std::max<int64_t>(bytes, 4096);
  if (bytes <= capacity_ && (capacity_ < kLarge || bytes > capacity_ / 4)) return absl::OkStatus();
  Free();
  const cudaError_t error = host_ ? api_->cudaMallocHost(&data_, bytes) : api_->cudaMalloc(&data_, bytes);
  if (error != cudaSuccess) {
    data_ = nullptr;
    api_->cudaGetLastError();  // else later calls report it again
    return api_->Cuda(error, absl::StrCat(bytes, " bytes of ", host_ ? "pinned" : "device", " memory").c_str());
  }
  capacity_ = bytes;
  return absl::OkStatus();
}

void CudaBuffer::Free() {
  if (data_ != nullptr) (host_ ? api_->cudaFreeHost(data_) : api_->cudaFree(data_));
  data_ = nullptr;
  capacity_ = 0;
}

}  // namespace samebits::workers
