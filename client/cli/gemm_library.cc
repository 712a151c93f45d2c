#include "client/cli/gemm_library.h"

#include <fstream>
#include <functional>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "core/gemm/simulated_cost_model.h"
#include "workers/rocm/hipblaslt_library.h"
#if SAMEBITS_HAS_CUDA
#include "workers/cuda/cublas_library.h"
#include "workers/cuda/cublaslt_library.h"
#endif

namespace samebits::cli {
namespace {

// How to open Library, whose identity still lacks what is particular to it.
template <typename Library, typename Options>
absl::StatusOr<GemmLibrary> Find(const GemmOptions& o, const Options& options, const char* name,
                                 const std::function<void(const Library&, gemm::ArchProfile*)>& identify) {
  const auto library = Library::Open(options);
  if (!library.ok()) return library.status();
  GemmLibrary found;
  found.identity = {.sm = (*library)->sm(),
                    .library = name,
                    .library_version = (*library)->version(),
                    .driver = o.driver,
                    .workspace_bytes = o.workspace};
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
absl::StatusOr<GemmLibrary> FindOnCuda(const GemmOptions& o, const char* name) {
  return Find<Library>(o, Options{o.device, o.workspace}, name, [](const Library& library, gemm::ArchProfile* identity) {
    identity->device = absl::StrCat("sm_", library.sm());
    identity->multiprocessors = library.multiprocessors();
  });
}

absl::StatusOr<GemmLibrary> FindCublasLt(const GemmOptions& o) {
  return FindOnCuda<workers::CublasLtLibrary, workers::CublasLtOptions>(o, "cuBLASLt");
}
absl::StatusOr<GemmLibrary> FindCublas(const GemmOptions& o) {
  return FindOnCuda<workers::CublasLibrary, workers::CublasOptions>(o, "cuBLAS");
}
#else
absl::StatusOr<GemmLibrary> FindCublasLt(const GemmOptions&) {
  return absl::UnavailableError("this build has no cuBLASLt: it was made without CUDA's headers");
}
absl::StatusOr<GemmLibrary> FindCublas(const GemmOptions&) {
  return absl::UnavailableError("this build has no cuBLAS: it was made without CUDA's headers");
}
#endif

absl::StatusOr<GemmLibrary> FindHipblasLt(const GemmOptions& o) {
  using Library = workers::HipblasLtLibrary;
  return Find<Library>(o, workers::HipblasLtOptions{o.device, o.workspace}, "hipBLASLt",
                       [](const Library& library, gemm::ArchProfile* identity) {
                         identity->device = library.device_name();
                         identity->multiprocessors = library.compute_units();
                       });
}

}  // namespace

absl::StatusOr<GemmLibrary> FindGemmLibrary(const GemmOptions& o) {
  if (o.library == "cublaslt") return FindCublasLt(o);
  if (o.library == "cublas") return FindCublas(o);
  if (o.library == "hipblaslt") return FindHipblasLt(o);
  const int version = o.library == "simulated" ? 1 : 2;
  GemmLibrary found;
  found.identity = {.device = "simulated", .sm = 90, .library = "simulated", .library_version = version, .driver = "none",
                    .workspace_bytes = o.workspace};
  found.open = [version] { return absl::StatusOr<std::unique_ptr<gemm::BlackBox>>(std::make_unique<gemm::SimulatedCostModel>(version)); };
  return found;
}

absl::StatusOr<gemm::GemmProblem> ProblemOf(const GemmOptions& o) {
  gemm::GemmProblem problem;
  if (absl::Status status = gemm::ParseTypes(o.types, &problem); !status.ok()) return status;
  const absl::StatusOr<gemm::Layout> layout = gemm::ParseLayout(o.layout);
  if (!layout.ok()) return layout.status();
  problem.layout = *layout;
  problem.m = o.m, problem.n = o.n, problem.k = o.k;
  for (const auto& [name, value] : {std::pair{"--m", o.m}, {"--n", o.n}, {"--k", o.k}}) {
    if (value < 1) return absl::InvalidArgumentError(absl::StrCat(name, ": a number from 1 on is needed"));
  }
  if (o.k > gemm::kMaxK) return absl::InvalidArgumentError("--k: at most 2^24");
  return problem;
}

absl::StatusOr<std::unique_ptr<client::ProfileClient>> ConnectProfiles(const CommandLine& line) {
  const client::ClientOptions options = Connection(line);
  auto client = client::ProfileClient::Connect(options);
  if (absl::IsUnavailable(client.status()))
    return absl::UnavailableError(absl::StrCat("no server at ", options.target, "; start one with 'samebits serve' or ",
                                               "name one with --server (", client.status().message(), ")"));
  if (!client.ok()) return NameFlags(client.status());
  return client;
}

absl::StatusOr<gemm::ArchProfile> ReadProfile(const CommandLine& line, const std::string& path) {
  if (path.starts_with("archProfiles/")) {
    const auto client = ConnectProfiles(line);
    if (!client.ok()) return client.status();
    const absl::StatusOr<std::string> stored = (*client)->Export(path);
    if (!stored.ok()) return stored.status();
    return gemm::ParseArchProfile(*stored);
  }
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in) return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read"));
  absl::StatusOr<gemm::ArchProfile> profile = gemm::ParseArchProfile(text);
  if (profile.ok()) return profile;
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", profile.status().message()));
}

}  // namespace samebits::cli
