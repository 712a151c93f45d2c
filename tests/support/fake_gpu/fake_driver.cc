// Stands in for libcuda.so.1 as workers/executor/cuda uses it, and for what CUDA's libraries say of their versions: one
// device of sm_90, whose memory is the host's. It executes nothing: a launch of any kernel writes a digest of the loaded
// image, text or machine code, to the first 8 bytes of its second argument.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

constexpr int kInvalidImage = 200;
uint64_t loaded = 0;

// Of the bytes up to the first that is 0.
uint64_t DigestOf(const char* image) {
  uint64_t digest = 14695981039346656037u;
  for (const char c : std::string_view(image)) digest = (digest ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return digest;
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int* version) { return *version = 13010, 0; }
int cuDeviceGetCount(int* count) { return *count = 1, 0; }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, ordinal == 0 ? 0 : 101; }
int cuDeviceGetName(char* name, int length, int) { return std::strncpy(name, "Stand-in", static_cast<size_t>(length)), 0; }
int cuDeviceGetUuid(unsigned char* uuid, int) { return std::memset(uuid, 0xAB, 16), 0; }
int cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = size_t{8} << 30, 0; }
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75 ? 9 : attribute == 16 ? 132 : attribute == 13 ? 1'980'000 : attribute == 32 ? 1 : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) { return *context = &loaded, 0; }
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuModuleLoadDataEx(void** module, const void* image, unsigned, int*, void**) {
  const auto* bytes = static_cast<const char*>(image);
  if (std::strncmp(bytes, "\x7f" "ELF", 4) != 0 && std::strstr(bytes, ".version") == nullptr) return kInvalidImage;
  loaded = DigestOf(bytes);
  return *module = &loaded, 0;
}
int cuModuleUnload(void*) { return 0; }
int cuModuleGetFunction(void** function, void* module, const char*) { return *function = module, 0; }
int cuFuncSetAttribute(void*, int, int) { return 0; }
int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  *address = reinterpret_cast<uint64_t>(std::malloc(bytes));
  return *address == 0 ? 2 : 0;
}
int cuMemFree_v2(uint64_t address) { return std::free(reinterpret_cast<void*>(address)), 0; }
int cuMemsetD8_v2(uint64_t address, unsigned char value, size_t bytes) {
  return std::memset(reinterpret_cast<void*>(address), value, bytes), 0;
}
int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), 0;
}
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  return std::memcpy(to, reinterpret_cast<const void*>(from), bytes), 0;
}
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void** arguments, void**) {
  std::memcpy(reinterpret_cast<void*>(*static_cast<uint64_t*>(arguments[1])), &loaded, sizeof(loaded));
  return 0;
}
int cuCtxSynchronize() { return 0; }
int cuGetErrorName(int error, const char** name) { return *name = error == kInvalidImage ? "CUDA_ERROR_INVALID_IMAGE" : "CUDA_ERROR", 0; }

int cudaRuntimeGetVersion(int* version) { return *version = 12080, 0; }
int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 2, 0; }
int cublasGetProperty(int part, int* value) { return *value = std::array{13, 1, 4}[static_cast<size_t>(part)], 0; }
int cublasLtGetProperty(int part, int* value) { return *value = std::array{13, 2, 7}[static_cast<size_t>(part)], 0; }
}
