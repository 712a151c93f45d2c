#ifndef SAMEBITS_WORKERS_LOADING_CUDA_LIBRARIES_H_
#define SAMEBITS_WORKERS_LOADING_CUDA_LIBRARIES_H_

// Where NVIDIA's libraries are, and which ones this machine has. Needs nothing of CUDA to build.

#include <vector>

#include "absl/status/statusor.h"
#include "workers/loading/shared_library.h"

namespace samebits::workers {

// As OpenSharedLibrary; a variable may name another file: SAMEBITS_CUDA_DRIVER, SAMEBITS_CUDART, SAMEBITS_NVRTC,
// SAMEBITS_CUBLAS, SAMEBITS_CUBLASLT.
absl::StatusOr<void*> OpenCudaDriver();
absl::StatusOr<void*> OpenCudaRuntime();
absl::StatusOr<void*> OpenNvrtc();
absl::StatusOr<void*> OpenCublas();
absl::StatusOr<void*> OpenCublasLt();

// "driver" (the kernel module's release, "580.159.04"), "cudart", "nvrtc", "cublas" and "cublaslt", as far as they are
// there, with what they say of themselves. Opens them; takes no context on a device.
std::vector<LibraryVersion> CudaLibraryVersions();

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_LOADING_CUDA_LIBRARIES_H_
