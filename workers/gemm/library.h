#ifndef SAMEBITS_WORKERS_GEMM_LIBRARY_H_
#define SAMEBITS_WORKERS_GEMM_LIBRARY_H_

// Libraries of matrix products that can be studied on this machine.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/gemm/profile.h"
#include "core/gemm/survey.h"

namespace samebits::workers {

struct GemmLibraryOptions {
  std::string library;  // a name of kGemmLibraries
  int device = 0;       // of its backend
  int64_t workspace_bytes = 32 << 20;
  std::string device_name, driver = "unknown";  // what the identity says where the library does not tell it
};

struct GemmLibrary {
  gemm::OpenLibrary open;
  gemm::ArchProfile identity;  // device, library and its version
};

// The simulated ones need no device: two versions of a made-up library.
inline constexpr const char* kGemmLibraries[] = {"cublaslt", "cublas", "hipblaslt", "simulated", "simulated-2"};
bool IsGemmLibrary(std::string_view name);

// Whether the files of its code are there; of hipBLASLt: whether it opens.
bool HasGemmLibrary(std::string_view name);

// UNAVAILABLE where this build or machine lacks it.
absl::StatusOr<GemmLibrary> FindGemmLibrary(const GemmLibraryOptions& options);

// The same on a worker's device, "cpu:...", "cuda:N" or "rocm:N"; INVALID_ARGUMENT for other words.
absl::StatusOr<GemmLibrary> FindGemmLibraryOn(const std::string& device, GemmLibraryOptions options);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_GEMM_LIBRARY_H_
