// With fake_hip_device.cc stands in for libamdhip64.so: devices whose memory is the host's, and which run no kernels. Numbers
// are those of HIP's documentation.

#include <cstddef>
#include <cstdlib>
#include <cstring>

extern "C" {

int hipMalloc(void** pointer, size_t bytes) { return *pointer = std::malloc(bytes), *pointer == nullptr ? 2 : 0; }
int hipFree(void* pointer) { return std::free(pointer), 0; }
int hipMemset(void* to, int value, size_t bytes) { return std::memset(to, value, bytes), 0; }
int hipMemcpy(void* to, const void* from, size_t bytes, int kind) {
  if (kind != 1 && kind != 2) return 21;
  return std::memcpy(to, from, bytes), 0;
}
int hipMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, int kind) {
  if (width > to_pitch || width > from_pitch) return 12;
  for (size_t row = 0; row < height; ++row) {
    const int error = hipMemcpy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch,
                                width, kind);
    if (error != 0) return error;
  }
  return 0;
}
int hipDeviceSynchronize() { return 0; }

constexpr int kNotSupported = 801;
int hipModuleLoadData(void**, const void*) { return kNotSupported; }
int hipModuleUnload(void*) { return kNotSupported; }
int hipModuleGetFunction(void**, void*, const char*) { return kNotSupported; }
int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**) {
  return kNotSupported;
}

}  // extern "C"
