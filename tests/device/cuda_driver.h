#ifndef SAMEBITS_TESTS_DEVICE_CUDA_DRIVER_H_
#define SAMEBITS_TESTS_DEVICE_CUDA_DRIVER_H_

// The few calls of the CUDA driver that the recorder needs, found at run time.

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace samebits::device_test {

// One context on device 0. Not thread-safe. Every method fails with a message in error().
class CudaDriver {
 public:
  // nullptr where there is no driver or no device; *why says which.
  static std::unique_ptr<CudaDriver> Open(std::string* why) {
    auto driver = std::unique_ptr<CudaDriver>(new CudaDriver());
    if (driver->Load()) return driver;
    *why = driver->error_;
    return nullptr;
  }

  int compute_capability() const { return capability_; }
  const std::string& error() const { return error_; }

  uint64_t Allocate(const std::vector<uint8_t>& bytes) {
    uint64_t address = 0;
    if (Ok(mem_alloc_(&address, bytes.size()), "cuMemAlloc")) Ok(copy_in_(address, bytes.data(), bytes.size()), "copy");
    return address;
  }
  bool ReadBack(uint64_t address, std::vector<uint8_t>& bytes) {
    return Ok(copy_out_(bytes.data(), address, bytes.size()), "copy");
  }
  void Free(uint64_t address) { mem_free_(address); }

  // Compiles `text`, runs `entry` and waits.
  bool Launch(const std::string& text, const std::string& entry, const uint32_t (&grid)[3], const uint32_t (&block)[3],
              uint32_t shared_bytes, std::vector<std::vector<uint8_t>> args) {
    void* module = nullptr;
    void* function = nullptr;
    std::string log(8192, '\0');
    int options[] = {5, 6};  // error log buffer and its size
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
    if (!Ok(module_load_(&module, text.c_str(), 2, options, values), log.c_str())) return false;
    bool ok = Ok(get_function_(&function, module, entry.c_str()), "cuModuleGetFunction");
    if (ok && shared_bytes > 48 * 1024) ok = Ok(set_attribute_(function, 8, static_cast<int>(shared_bytes)), "shared");
    std::vector<void*> pointers;
    for (auto& arg : args) pointers.push_back(arg.data());
    ok = ok && Ok(launch_(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared_bytes, nullptr,
                          pointers.data(), nullptr),
                  "cuLaunchKernel");
    ok = ok && Ok(synchronize_(), "cuCtxSynchronize");
    unload_(module);
    return ok;
  }

 private:
  using Result = int;

  template <typename T>
  bool Find(T& function, const char* name) {
    function = reinterpret_cast<T>(dlsym(library_, name));
    if (function == nullptr) error_ = std::string("driver lacks ") + name;
    return function != nullptr;
  }

  bool Load() {
    library_ = dlopen("libcuda.so.1", RTLD_NOW);
    if (library_ == nullptr) {
      error_ = "no NVIDIA driver";
      return false;
    }
    Result (*init)(unsigned) = nullptr;
    Result (*get_device)(int*, int) = nullptr;
    Result (*attribute)(int*, int, int) = nullptr;
    Result (*create)(void**, unsigned, int) = nullptr;
    if (!Find(init, "cuInit") || !Find(get_device, "cuDeviceGet") || !Find(attribute, "cuDeviceGetAttribute") ||
        !Find(create, "cuCtxCreate_v2") || !Find(mem_alloc_, "cuMemAlloc_v2") || !Find(mem_free_, "cuMemFree_v2") ||
        !Find(copy_in_, "cuMemcpyHtoD_v2") || !Find(copy_out_, "cuMemcpyDtoH_v2") ||
        !Find(module_load_, "cuModuleLoadDataEx") || !Find(unload_, "cuModuleUnload") ||
        !Find(get_function_, "cuModuleGetFunction") || !Find(set_attribute_, "cuFuncSetAttribute") ||
        !Find(launch_, "cuLaunchKernel") || !Find(synchronize_, "cuCtxSynchronize")) {
      return false;
    }
    int device = 0, major = 0, minor = 0;
    if (!Ok(init(0), "cuInit") || !Ok(get_device(&device, 0), "cuDeviceGet") ||
        !Ok(attribute(&major, 75, device), "attribute") || !Ok(attribute(&minor, 76, device), "attribute") ||
        !Ok(create(&context_, 0, device), "cuCtxCreate")) {
      return false;
    }
    capability_ = major * 10 + minor;
    return true;
  }

  bool Ok(Result result, const char* what) {
    if (result == 0) return true;
    error_ = "driver error " + std::to_string(result) + ": " + what;
    return false;
  }

  void* library_ = nullptr;
  void* context_ = nullptr;
  int capability_ = 0;
  std::string error_;
  Result (*mem_alloc_)(uint64_t*, size_t) = nullptr;
  Result (*mem_free_)(uint64_t) = nullptr;
  Result (*copy_in_)(uint64_t, const void*, size_t) = nullptr;
  Result (*copy_out_)(void*, uint64_t, size_t) = nullptr;
  Result (*module_load_)(void**, const void*, unsigned, int*, void**) = nullptr;
  Result (*unload_)(void*) = nullptr;
  Result (*get_function_)(void**, void*, const char*) = nullptr;
  Result (*set_attribute_)(void*, int, int) = nullptr;
  Result (*launch_)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                    void**) = nullptr;
  Result (*synchronize_)() = nullptr;
};

}  // namespace samebits::device_test

#endif  // SAMEBITS_TESTS_DEVICE_CUDA_DRIVER_H_
