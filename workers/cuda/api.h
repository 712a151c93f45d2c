#ifndef SAMEBITS_WORKERS_CUDA_API_H_
#define SAMEBITS_WORKERS_CUDA_API_H_

// CUDA's libraries, opened at run time, so that one binary serves machines with and without them.

#include <cublasLt.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <nvrtc.h>

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace samebits::workers {

// libcudart.so, libcublasLt.so and libcuda.so.1; the variables SAMEBITS_CUDART, SAMEBITS_CUBLASLT and
// SAMEBITS_CUDA_DRIVER name others. Thread-safe as they are.
struct CudaApi {
#define SAMEBITS_CUDA_FUNCTIONS(X)                                                                                   \
  X(cudaSetDevice) X(cudaDeviceGetAttribute) X(cudaMalloc) X(cudaFree) X(cudaMallocHost) X(cudaFreeHost)            \
  X(cudaMemcpyAsync) X(cudaMemsetAsync) X(cudaStreamCreateWithFlags) X(cudaStreamDestroy) X(cudaStreamSynchronize)  \
  X(cudaGetErrorString) X(cudaGetLastError) X(cudaMemGetInfo) X(cudaEventCreateWithFlags)                                               \
  X(cudaEventDestroy) X(cudaEventRecord) X(cudaEventSynchronize) X(cudaEventElapsedTime) X(cudaStreamBeginCapture)  \
  X(cudaStreamEndCapture) X(cudaGraphInstantiate) X(cudaGraphLaunch) X(cudaGraphExecDestroy) X(cudaGraphDestroy)
#define SAMEBITS_DRIVER_FUNCTIONS(X)                                                                                 \
  X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunction) X(cuLaunchKernel) X(cuDeviceGet) X(cuDeviceGetName)
#define SAMEBITS_BLAS_FUNCTIONS(X)                                                                                   \
  X(cublasLtCreate) X(cublasLtDestroy) X(cublasLtGetVersion) X(cublasLtMatmul) X(cublasLtMatmulDescCreate)          \
  X(cublasLtMatmulDescDestroy) X(cublasLtMatmulDescSetAttribute) X(cublasLtMatrixLayoutCreate)                      \
  X(cublasLtMatrixLayoutDestroy) X(cublasLtMatmulPreferenceCreate) X(cublasLtMatmulPreferenceDestroy)               \
  X(cublasLtMatmulPreferenceSetAttribute) X(cublasLtMatmulAlgoGetHeuristic) X(cublasLtMatmulAlgoConfigGetAttribute)
#define SAMEBITS_DECLARE(name) decltype(&::name) name = nullptr;
  SAMEBITS_CUDA_FUNCTIONS(SAMEBITS_DECLARE)
  SAMEBITS_DRIVER_FUNCTIONS(SAMEBITS_DECLARE)
  SAMEBITS_BLAS_FUNCTIONS(SAMEBITS_DECLARE)

  // UNAVAILABLE, naming the library or function that is missing.
  static absl::StatusOr<std::shared_ptr<const CudaApi>> Load();

  // INTERNAL with the library's own words; RESOURCE_EXHAUSTED for memory; UNIMPLEMENTED for what cuBLASLt does not do.
  absl::Status Cuda(cudaError_t error, const char* what) const;
  static absl::Status Driver(CUresult result, const char* what);
  static absl::Status Blas(cublasStatus_t status, const char* what);
};

// libnvrtc.so, which compiles CUDA C++; SAMEBITS_NVRTC names another. Thread-safe as it is.
struct NvrtcApi {
#define SAMEBITS_NVRTC_FUNCTIONS(X)                                                                              \
  X(nvrtcCreateProgram) X(nvrtcCompileProgram) X(nvrtcDestroyProgram) X(nvrtcGetCUBINSize) X(nvrtcGetCUBIN)      \
  X(nvrtcGetProgramLogSize) X(nvrtcGetProgramLog) X(nvrtcGetErrorString) X(nvrtcVersion)
  SAMEBITS_NVRTC_FUNCTIONS(SAMEBITS_DECLARE)
#undef SAMEBITS_DECLARE

  static absl::StatusOr<std::shared_ptr<const NvrtcApi>> Load();
};

// Memory of the device or, pinned, of the host. Grows; a large one is given back where far less is needed.
class CudaBuffer {
 public:
  CudaBuffer(const CudaApi* api, bool host) : api_(api), host_(host) {}
  ~CudaBuffer() { Free(); }
  CudaBuffer(CudaBuffer&& other) noexcept;
  CudaBuffer& operator=(CudaBuffer&&) = delete;

  uint8_t* data() const { return static_cast<uint8_t*>(data_); }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  int64_t capacity() const { return capacity_; }
  absl::Status Reserve(int64_t bytes);  // the content is lost where its size changes
  absl::Status Grow(int64_t bytes) { return bytes <= capacity_ ? absl::OkStatus() : Reserve(bytes); }
  void Free();

 private:
  static constexpr int64_t kLarge = int64_t{1} << 30;

  const CudaApi* api_;
  bool host_;
  void* data_ = nullptr;
  int64_t capacity_ = 0;
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_CUDA_API_H_
