// Stands in for libcudart.so and libcuda.so.1: one device, whose memory is the host's and whose only kernels are those
// of workers/cuda/kernels/place_rows.h.

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

template <typename T>
T Argument(void** arguments, int i) {
  return *static_cast<T*>(arguments[i]);
}

uint8_t* Address(void** arguments, int i) { return reinterpret_cast<uint8_t*>(Argument<uint64_t>(arguments, i)); }

void Scatter(int64_t width, void** arguments) {
  uint8_t *to = Address(arguments, 0), *from = Address(arguments, 1);
  const int64_t* index = reinterpret_cast<const int64_t*>(Address(arguments, 2));
  const int64_t count = Argument<int64_t>(arguments, 3), k = Argument<int64_t>(arguments, 4);
  const int64_t row_stride = Argument<int64_t>(arguments, 5), k_stride = Argument<int64_t>(arguments, 6);
  for (int64_t t = 0; t < count; ++t) {
    uint8_t* place = to + (index[t / k] * row_stride + t % k * k_stride) * width;
    if (from == nullptr) {
      std::memset(place, 0, width);
    } else {
      std::memcpy(place, from + t * width, width);
    }
  }
}

void Gather(int64_t width, void** arguments) {
  uint8_t *to = Address(arguments, 0), *from = Address(arguments, 1);
  const int64_t* index = reinterpret_cast<const int64_t*>(Address(arguments, 2));
  const int64_t count = Argument<int64_t>(arguments, 3);
  for (int64_t t = 0; t < count; ++t) std::memcpy(to + t * width, from + index[t] * width, width);
}

cudaError_t Allocate(void** pointer, size_t bytes) {
  *pointer = std::malloc(bytes);
  return *pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrComputeCapabilityMajor ? 9 : attribute == cudaDevAttrMultiProcessorCount ? 132 : 0;
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** pointer, size_t bytes) { return Allocate(pointer, bytes); }
cudaError_t cudaMallocHost(void** pointer, size_t bytes) { return Allocate(pointer, bytes); }
cudaError_t cudaFree(void* pointer) { return std::free(pointer), cudaSuccess; }
cudaError_t cudaFreeHost(void* pointer) { return std::free(pointer), cudaSuccess; }
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t) {
  return std::memcpy(to, from, bytes), cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) {
  return std::memset(to, value, bytes), cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return *stream = reinterpret_cast<cudaStream_t>(std::malloc(1)), cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return std::free(stream), cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "an error of the stand-in"; }

CUresult cuModuleLoadData(CUmodule* module, const void*) { return *module = nullptr, CUDA_SUCCESS; }
CUresult cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  const std::string_view text = name;
  const uintptr_t width = text.back() - '0', kind = text.substr(0, 8) == "scatter_" ? 16 : 0;
  return *function = reinterpret_cast<CUfunction>(kind + width), CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                        void** arguments, void**) {
  const uintptr_t code = reinterpret_cast<uintptr_t>(function);
  code >= 16 ? Scatter(code - 16, arguments) : Gather(code, arguments);
  return CUDA_SUCCESS;
}

}  // extern "C"
