#include "workers/gemm/library.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/gemm/simulated_cost_model.h"
#include "workers/rocm/hipblaslt_library.h"
#if SAMEBITS_HAS_CUDA
#include "workers/cuda/api.h"
#include "workers/cuda/cublas_api.h"
#include "workers/cuda/cublas_library.h"
#include "workers/cuda/cublaslt_library.h"
#endif

namespace samebits::workers {
namespace {

// How to open Library, whose identity still lacks what is particular to it.
template <typename Library, typename Options>
absl::StatusOr<GemmLibrary> Find(const GemmLibraryOptions& o, const Options& options, const char* name,
                                 const std::function<void(const Library&, gemm::ArchProfile*)>& identify) {
  const auto library = Library::Open(options);
  if (!library.ok()) return library.status();
  GemmLibrary found;
  found.identity = {.sm = (*library)->sm(),
                    .library = name,
                    .library_version = (*library)->version(),
                    .driver = o.driver,
                    .workspace_bytes = o.workspace_bytes};
  identify(**library, &found.identity);
  if (!o.device_name.empty()) found.identity.device = o.device_name;
  found.open = [options]() -> absl::StatusOr<std::unique_ptr<gemm::BlackBox>> {
    auto opened = Library::Open(options);
    if (!opened.ok()) return opened.status();
    return std::unique_ptr<gemm::BlackBox>(*std::move(opened));
  };
  return found;
}

#if SAMEBITS_HAS_CUDA
template <typename Library, typename Options>
absl::StatusOr<GemmLibrary> FindOnCuda(const GemmLibraryOptions& o, const char* name) {
  return Find<Library>(o, Options{o.device, o.workspace_bytes}, name, [](const Library& library, gemm::ArchProfile* identity) {
    identity->device = absl::StrCat("sm_", library.sm());
    identity->multiprocessors = library.multiprocessors();
  });
}

absl::StatusOr<GemmLibrary> FindCublasLt(const GemmLibraryOptions& o) {
  return FindOnCuda<CublasLtLibrary, CublasLtOptions>(o, "cuBLASLt");
}
absl::StatusOr<GemmLibrary> FindCublas(const GemmLibraryOptions& o) {
  return FindOnCuda<CublasLibrary, CublasOptions>(o, "cuBLAS");
}
#else
absl::StatusOr<GemmLibrary> FindCublasLt(const GemmLibraryOptions&) {
  return absl::UnavailableError("this build has no cuBLASLt: it was made without CUDA's headers");
}
absl::StatusOr<GemmLibrary> FindCublas(const GemmLibraryOptions&) {
  return absl::UnavailableError("this build has no cuBLAS: it was made without CUDA's headers");
}
#endif

absl::StatusOr<GemmLibrary> FindHipblasLt(const GemmLibraryOptions& o) {
  using Library = HipblasLtLibrary;
  return Find<Library>(o, HipblasLtOptions{o.device, o.workspace_bytes}, "hipBLASLt",
                       [](const Library& library, gemm::ArchProfile* identity) {
                         identity->device = library.device_name();
                         identity->multiprocessors = library.compute_units();
                       });
}

}  // namespace

bool IsGemmLibrary(std::string_view name) {
  return std::find(std::begin(kGemmLibraries), std::end(kGemmLibraries), name) != std::end(kGemmLibraries);
}

bool HasGemmLibrary(std::string_view name) {
  if (name == "simulated" || name == "simulated-2") return true;
#if SAMEBITS_HAS_CUDA
  if (name == "cublaslt") return CudaApi::Load().ok();
  if (name == "cublas") return CudaApi::Load().ok() && CublasApi::Load().ok();
#endif
  return name == "hipblaslt" && FindHipblasLt({}).ok();
}

absl::StatusOr<GemmLibrary> FindGemmLibrary(const GemmLibraryOptions& o) {
  if (o.library == "cublaslt") return FindCublasLt(o);
  if (o.library == "cublas") return FindCublas(o);
  if (o.library == "hipblaslt") return FindHipblasLt(o);
  if (o.library != "simulated" && o.library != "simulated-2")
    return absl::InvalidArgumentError(absl::StrCat("library: '", o.library, "' is none of ", absl::StrJoin(kGemmLibraries, ", ")));
  const int version = o.library == "simulated" ? 1 : 2;
  GemmLibrary found;
  found.identity = {.device = "simulated", .sm = 90, .library = "simulated", .library_version = version, .driver = "none",
                    .workspace_bytes = o.workspace_bytes};
  found.open = [version] { return absl::StatusOr<std::unique_ptr<gemm::BlackBox>>(std::make_unique<gemm::SimulatedCostModel>(version)); };
  return found;
}

absl::StatusOr<GemmLibrary> FindGemmLibraryOn(const std::string& device, GemmLibraryOptions options) {
  const bool known = device.starts_with("cpu") || absl::SimpleAtoi(device.substr(device.find(':') + 1), &options.device);
  if (!known) return absl::InvalidArgumentError(absl::StrCat("device: '", device, "' is not understood"));
  return FindGemmLibrary(options);
}

}  // namespace samebits::workers
