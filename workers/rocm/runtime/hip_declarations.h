#ifndef SAMEBITS_WORKERS_ROCM_RUNTIME_HIP_DECLARATIONS_H_
#define SAMEBITS_WORKERS_ROCM_RUNTIME_HIP_DECLARATIONS_H_

// The few parts of HIP's C interface that are called, as AMD documents them for ROCm 6 and 7 (HIP runtime API reference), so
// that no header of ROCm is needed to build. Enumerations are passed as int, handles as pointers.

#include <cstddef>
#include <cstdint>

namespace samebits::workers::hip {

using Stream = void*;    // hipStream_t; null: the default one
using Module = void*;    // hipModule_t
using Function = void*;  // hipFunction_t

// hipError_t
inline constexpr int kSuccess = 0;  // also HIPBLAS_STATUS_SUCCESS
inline constexpr int kErrorInvalidValue = 1;
inline constexpr int kErrorOutOfMemory = 2;
inline constexpr int kErrorInvalidConfiguration = 9;
inline constexpr int kErrorInvalidDeviceFunction = 98;
inline constexpr int kErrorNoDevice = 100;
inline constexpr int kErrorInvalidImage = 200;
inline constexpr int kErrorNoBinaryForGpu = 209;
inline constexpr int kErrorInvalidKernelFile = 218;
inline constexpr int kErrorSharedObjectInitFailed = 303;
inline constexpr int kErrorNotFound = 500;
inline constexpr int kErrorIllegalAddress = 700;
inline constexpr int kErrorLaunchOutOfResources = 701;
inline constexpr int kErrorLaunchTimeOut = 702;
inline constexpr int kErrorAssert = 710;
inline constexpr int kErrorLaunchFailure = 719;
inline constexpr int kErrorNotSupported = 801;
inline constexpr int kErrorRuntimeMemory = 1052;

// hipMemcpyKind
inline constexpr int kCopyHostToDevice = 1;
inline constexpr int kCopyDeviceToHost = 2;

// hipDeviceAttribute_t
inline constexpr int kAttributeEccEnabled = 0;
inline constexpr int kAttributeClockKilohertz = 5;
inline constexpr int kAttributeMultiprocessorCount = 63;
inline constexpr int kAttributeMaxSharedMemoryPerBlock = 74;

// hipUUID
struct Uuid {
  char bytes[16] = {};
};

// hipDeviceProp_tR0600, of which only the processor's name ("gfx942:sramecc+:xnack-") is read: 256 bytes at 1160. The
// documented structure has 1472 bytes; the rest is room for fields of later releases.
struct Properties {
  static constexpr size_t kArchitecture = 1160, kArchitectureBytes = 256;
  alignas(8) char bytes[8192] = {};
};

}  // namespace samebits::workers::hip

#endif  // SAMEBITS_WORKERS_ROCM_RUNTIME_HIP_DECLARATIONS_H_
