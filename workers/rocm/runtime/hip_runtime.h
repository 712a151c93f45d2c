#ifndef SAMEBITS_WORKERS_ROCM_RUNTIME_HIP_RUNTIME_H_
#define SAMEBITS_WORKERS_ROCM_RUNTIME_HIP_RUNTIME_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "workers/rocm/runtime/hip_declarations.h"

namespace samebits::workers {

// HIP's runtime, libamdhip64.so of ROCm 6 or 7, opened at run time; the variable SAMEBITS_HIP names another. Only ever run
// with stand-ins, never on a GPU. Thread-safe as it is.
struct HipRuntime {
  int (*hipInit)(unsigned flags) = nullptr;
  int (*hipGetDeviceCount)(int* count) = nullptr;
  int (*hipSetDevice)(int device) = nullptr;
  int (*hipDeviceGetName)(char* name, int length, int device) = nullptr;
  int (*hipDeviceGetAttribute)(int* value, int attribute, int device) = nullptr;
  int (*hipMalloc)(void** pointer, size_t bytes) = nullptr;
  int (*hipFree)(void* pointer) = nullptr;
  int (*hipMemset)(void* to, int value, size_t bytes) = nullptr;
  int (*hipMemcpy)(void* to, const void* from, size_t bytes, int kind) = nullptr;
  int (*hipMemcpy2D)(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                     int kind) = nullptr;
  int (*hipDeviceSynchronize)() = nullptr;
  int (*hipGetLastError)() = nullptr;
  const char* (*hipGetErrorString)(int error) = nullptr;
  int (*hipDeviceTotalMem)(size_t* bytes, int device) = nullptr;
  int (*hipDeviceGetUuid)(hip::Uuid* uuid, int device) = nullptr;
  int (*hipDeviceGetPCIBusId)(char* text, int length, int device) = nullptr;
  int (*hipGetDevicePropertiesR0600)(hip::Properties* properties, int device) = nullptr;
  int (*hipRuntimeGetVersion)(int* version) = nullptr;
  int (*hipModuleLoadData)(hip::Module* module, const void* code_object) = nullptr;
  int (*hipModuleUnload)(hip::Module module) = nullptr;
  int (*hipModuleGetFunction)(hip::Function* function, hip::Module module, const char* kernel) = nullptr;
  // Grid in workgroups. `parameters`: one pointer for each argument that is not hidden; HIP fills the hidden ones.
  int (*hipModuleLaunchKernel)(hip::Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                               unsigned block_y, unsigned block_z, unsigned shared_bytes, hip::Stream stream,
                               void** parameters, void** extra) = nullptr;

  // NOT_FOUND where the machine has no HIP, UNAVAILABLE where it lacks a function or SAMEBITS_HIP names none.
  static absl::StatusOr<std::shared_ptr<const HipRuntime>> Load();
  absl::Status LoadRuntime();

  // INTERNAL with the library's own words; RESOURCE_EXHAUSTED for memory.
  absl::Status Hip(int error, const char* what) const;
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_ROCM_RUNTIME_HIP_RUNTIME_H_
