#include "workers/loading/cuda_libraries.h"

#include <fstream>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

namespace samebits::workers {
namespace {

constexpr char kDriverRelease[] = "/sys/module/nvidia/version";

std::optional<std::string> DriverRelease() {
  std::ifstream file(kDriverRelease);
  std::string release;
  if (!(file >> release)) return std::nullopt;
  return release;
}

std::optional<std::string> RuntimeVersion() {
  const absl::StatusOr<void*> library = OpenCudaRuntime();
  int (*version)(int*) = nullptr;
  int value = 0;
  if (library.ok()) FunctionFinder(*library).FindOptional("cudaRuntimeGetVersion", &version);
  if (version == nullptr || version(&value) != 0) return std::nullopt;
  return absl::StrCat(value / 1000, ".", value % 1000 / 10);
}

std::optional<std::string> NvrtcVersion() {
  const absl::StatusOr<void*> library = OpenNvrtc();
  int (*version)(int*, int*) = nullptr;
  int major = 0, minor = 0;
  if (library.ok()) FunctionFinder(*library).FindOptional("nvrtcVersion", &version);
  if (version == nullptr || version(&major, &minor) != 0) return std::nullopt;
  return absl::StrCat(major, ".", minor);
}

// By enum libraryPropertyType: major, minor, patch.
std::optional<std::string> PropertyVersion(const absl::StatusOr<void*>& library, const char* function) {
  int (*property)(int, int*) = nullptr;
  if (library.ok()) FunctionFinder(*library).FindOptional(function, &property);
  if (property == nullptr) return std::nullopt;
  int parts[3] = {};
  for (int i = 0; i < 3; ++i)
    if (property(i, &parts[i]) != 0) return std::nullopt;
  return absl::StrCat(parts[0], ".", parts[1], ".", parts[2]);
}

}  // namespace

absl::StatusOr<void*> OpenCudaDriver() { return OpenSharedLibrary("SAMEBITS_CUDA_DRIVER", {"libcuda.so.1"}); }
absl::StatusOr<void*> OpenCudaRuntime() {
  return OpenSharedLibrary("SAMEBITS_CUDART", {"libcudart.so.13", "libcudart.so.12", "libcudart.so"});
}
absl::StatusOr<void*> OpenNvrtc() {
  return OpenSharedLibrary("SAMEBITS_NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                              "/usr/local/cuda/lib64/libnvrtc.so", "/usr/local/cuda/lib/libnvrtc.so"});
}
absl::StatusOr<void*> OpenCublas() {
  return OpenSharedLibrary("SAMEBITS_CUBLAS", {"libcublas.so.13", "libcublas.so.12", "libcublas.so"});
}
absl::StatusOr<void*> OpenCublasLt() {
  return OpenSharedLibrary("SAMEBITS_CUBLASLT", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"});
}

std::vector<LibraryVersion> CudaLibraryVersions() {
  std::vector<LibraryVersion> found;
  const auto add = [&](const char* name, std::optional<std::string> version) {
    if (version) found.push_back({name, *std::move(version)});
  };
  add("driver", DriverRelease());
  add("cudart", RuntimeVersion());
  add("nvrtc", NvrtcVersion());
  add("cublas", PropertyVersion(OpenCublas(), "cublasGetProperty"));
  add("cublaslt", PropertyVersion(OpenCublasLt(), "cublasLtGetProperty"));
  return found;
}

}  // namespace samebits::workers
