#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/gemm/profile_build.h"
#include "workers/gemm/library.h"
#include "workers/profile/profile_task.h"
#include "workers/runner/child_streams.h"
#include "workers/runner/process.h"

namespace samebits::workers {
namespace {

using Leased = worker::v1::UpdateWorkerSessionResponse::Leased;

constexpr int kMostThreads = 16;
constexpr size_t kMostTextBytes = 32 << 20;

absl::StatusOr<gemm::ProfileBuildOptions> OptionsOf(const v1::ReconstructArchProfileRequest& request, bool is_cpu) {
  gemm::ProfileBuildOptions options;
  for (const auto& kind : request.kinds()) {
    gemm::GemmProblem& problem = options.kinds.emplace_back();
    if (absl::Status status = gemm::ParseTypes(kind.types(), &problem); !status.ok()) return status;
    const absl::StatusOr<gemm::Layout> layout = gemm::ParseLayout(kind.layout().empty() ? "TN" : kind.layout());
    if (!layout.ok()) return layout.status();
    problem.layout = *layout;
  }
  options.random_shapes = request.random_shapes();
  options.models = !request.skip_models();
  if (request.most_m() > 0) options.most_m = request.most_m();
  if (request.most_k() > 0) options.most_k = request.most_k();
  options.survey.seed = request.seed();
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  options.survey.threads = is_cpu ? 1 : static_cast<int>(std::clamp<long>(cores, 1, kMostThreads));
  return options;
}

absl::StatusOr<GemmLibrary> LibraryFor(const v1::ReconstructArchProfileRequest& request, const std::string& device) {
  GemmLibraryOptions options{request.library()};
  if (request.workspace_bytes() > 0) options.workspace_bytes = request.workspace_bytes();
  options.device_name = request.device_name();
  if (!request.driver().empty()) options.driver = request.driver();
  return FindGemmLibraryOn(device, options);
}

absl::StatusOr<std::string> Compute(const std::string& device, const Leased& lease) {
  const v1::ReconstructArchProfileRequest& request = lease.profile().request();
  const absl::StatusOr<gemm::ProfileBuildOptions> options = OptionsOf(request, device.starts_with("cpu"));
  if (!options.ok()) return options.status();
  const absl::StatusOr<GemmLibrary> library = LibraryFor(request, device);
  if (!library.ok()) return library.status();
  gemm::RuleBook book;
  if (!lease.profile().rules().empty()) {
    const absl::StatusOr<gemm::ArchProfile> earlier = gemm::ParseArchProfile(lease.profile().rules());
    if (!earlier.ok()) return earlier.status();
    for (const auto& [kind, entry] : earlier->entries) book.Suggest(kind, entry.rules);
  }
  UnitReporter reporter;
  gemm::BuildParts parts;
  for (const worker::v1::TaskUnit& unit : lease.units()) parts.done[unit.index()] = unit.body();
  parts.keep = [&](int64_t number, std::string record) { reporter.Unit(number, std::move(record)); };
  const auto profile = gemm::BuildProfile(library->open, library->identity, *options, &book,
                                          [&](const gemm::BuildProgress& progress, const gemm::SurveyedShape&) {
                                            reporter.Progress(progress.done, progress.total);
                                            return true;
                                          },
                                          parts);
  if (!profile.ok()) return profile.status();
  std::string text = gemm::ToText(*profile);
  if (text.size() <= kMostTextBytes) return text;
  return absl::ResourceExhaustedError("the profile has more than 32 MiB; study fewer kinds or shapes at a time");
}

int Run(const std::string& device) {
  std::string bytes;
  Leased lease;
  if (!ReadRequest(&bytes) || !lease.ParseFromString(bytes)) return 2;
  bytes.clear();
  SendResult(Compute(device, lease));
  if (!device.starts_with("cpu")) _exit(0);  // the driver's teardown may hang after a fault
  return 0;
}

}  // namespace

int ProfileChildMain(int argc, char** argv) {
  uint64_t memory_bytes = 0;
  if (argc != 4 || !absl::SimpleAtoi(argv[3], &memory_bytes)) return 2;
  mallopt(M_ARENA_MAX, 2);  // arenas of many threads would use up the address space
  Confine(std::string(argv[2]).starts_with("cpu"), memory_bytes);
  try {
    return Run(argv[2]);
  } catch (const std::bad_alloc&) {
    return kOutOfMemoryExit;
  }
}

}  // namespace samebits::workers
