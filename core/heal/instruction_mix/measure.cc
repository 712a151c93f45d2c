#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "core/base/sha256.h"
#include "core/heal/instruction_mix/instruction_mix.h"
#include "core/heal/instruction_mix/modules.h"

namespace samebits::heal {
namespace {

constexpr int kMostJobs = 64;

// Modules of one file, several at a time; results in their order.
class Measurement {
 public:
  Measurement(const MixRequest& request, const MixFilter& filter, const std::vector<Module>& modules)
      : request_(request), filter_(filter), modules_(modules), results_(modules.size()) {}

  absl::Status Run(MixReport* report) {
    const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
    const int jobs = request_.jobs > 0 ? request_.jobs : static_cast<int>(processors);
    const int threads = static_cast<int>(std::min<size_t>(std::min(jobs, kMostJobs), modules_.size()));
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back([this] { Work(); });
    Work();
    for (std::thread& thread : others) thread.join();
    if (!status_.ok()) return status_;
    for (DisassemblyMixes& result : results_) {
      report->kernels_seen += result.kernels_seen;
      std::move(result.kernels.begin(), result.kernels.end(), std::back_inserter(report->kernels));
    }
    return absl::OkStatus();
  }

 private:
  void Work() {
    for (size_t i = next_++; i < modules_.size() && !failed_; i = next_++) {
      absl::StatusOr<DisassemblyMixes> mixes = MixesOf(modules_[i], filter_);
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!mixes.ok()) {
        if (status_.ok()) status_ = mixes.status();
        failed_ = true;
        return;
      }
      found_ += mixes->kernels.size();
      if (found_ > kMostKernels) {
        status_ = absl::ResourceExhaustedError(absl::StrCat("more than ", kMostKernels, " kernels: name fewer (--match)"));
        failed_ = true;
        return;
      }
      const bool read = mixes->kernels_seen > 0;
      results_[i] = *std::move(mixes);
      ++done_;
      if (read && request_.on_progress) {
        request_.on_progress(absl::StrCat(done_, " of ", modules_.size(), " modules, ", found_, " kernels: ", modules_[i].name));
      }
    }
  }

  const MixRequest& request_;
  const MixFilter& filter_;
  const std::vector<Module>& modules_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;  // guards the rest
  std::vector<DisassemblyMixes> results_;
  absl::Status status_;
  size_t found_ = 0, done_ = 0;
};

// Libraries hold the same module many times, once for each of their sources: the first of each remains.
std::vector<Module> Distinct(std::vector<Module> modules) {
  if (modules.size() < 2) return modules;
  std::set<std::string> seen;
  std::vector<Module> out;
  for (Module& module : modules) {
    std::ifstream file(module.path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (seen.insert(Sha256Hex(bytes)).second) out.push_back(std::move(module));
  }
  return out;
}

absl::Status MeasureFile(const MixRequest& request, const MixFilter& filter, const std::string& file, MixReport* report) {
  const absl::StatusOr<TemporaryFolder> folder = TemporaryFolder::Make();
  if (!folder.ok()) return folder.status();
  absl::StatusOr<std::vector<Module>> modules = ModulesOf(file, request.target, folder->path());
  if (!modules.ok()) return modules.status();
  report->modules += static_cast<int64_t>(modules->size());
  const std::vector<Module> distinct = Distinct(*std::move(modules));
  report->distinct_modules += static_cast<int64_t>(distinct.size());
  return Measurement(request, filter, distinct).Run(report);
}

}  // namespace

absl::StatusOr<MixReport> MeasureInstructionMix(const MixRequest& request) {
  if (request.files.empty()) return absl::InvalidArgumentError("no file: name a cubin, a library, a code object or disassembly text");
  MixFilter filter;
  filter.target = request.target;
  if (!request.match.empty()) {
    absl::StatusOr<TextFilter> match = CompileFilter(request.match);
    if (!match.ok()) return match.status();
    filter.kernel = *std::move(match);
  }
  MixReport report;
  for (const std::string& file : request.files) {
    const absl::Status status = MeasureFile(request, filter, file, &report);
    if (!status.ok()) return status;
  }
  if (report.kernels.empty()) {
    return absl::NotFoundError(absl::StrCat("no kernel with instructions", request.match.empty() ? "" : absl::StrCat(" matches '", request.match, "'"),
                                            request.target.empty() ? "" : absl::StrCat(" for ", request.target), " in ", request.files.size(),
                                            request.files.size() == 1 ? " file" : " files"));
  }
  return report;
}

}  // namespace samebits::heal
