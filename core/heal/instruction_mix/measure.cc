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

struct Part {
  std::string key;
  Module module;
};

// What the sources give together, and how far they are.
class Tally {
 public:
  Tally(MixEvents& events, size_t sources) : events_(events), total_(static_cast<int64_t>(sources)) {}

  // A source turned out to have so many parts.
  void Opened(size_t parts) { total_ += static_cast<int64_t>(parts) - 1; }

  // What is known of a part, with the kernels' module as it is called now.
  bool Find(const std::string& key, const std::string& module, DisassemblyMixes* out) {
    const DisassemblyMixes* known = events_.Find(key);
    if (known == nullptr) return false;
    *out = *known;
    for (KernelMix& kernel : out->kernels) kernel.module = module;
    Done(module, *out);
    return true;
  }
  absl::Status Add(const std::string& key, const std::string& module, const DisassemblyMixes& mixes) {
    if (absl::Status status = events_.OnPart(key, mixes); !status.ok()) return status;
    Done(module, mixes);
    return absl::OkStatus();
  }

 private:
  void Done(const std::string& module, const DisassemblyMixes& mixes) {
    ++done_;
    found_ += mixes.kernels.size();
    events_.OnProgress(done_, total_, absl::StrCat(done_, " of ", total_, " modules, ", found_, " kernels: ", module));
  }

  MixEvents& events_;
  int64_t done_ = 0, total_;
  size_t found_ = 0;
};

void Append(DisassemblyMixes mixes, MixReport* report) {
  report->kernels_seen += mixes.kernels_seen;
  std::move(mixes.kernels.begin(), mixes.kernels.end(), std::back_inserter(report->kernels));
}

// Parts of one file, several at a time; results in their order.
class Measurement {
 public:
  Measurement(const MixRequest& request, const MixFilter& filter, const std::vector<Part>& parts, Tally& tally)
      : request_(request), filter_(filter), parts_(parts), tally_(tally), results_(parts.size()) {}

  absl::Status Run(MixReport* report) {
    const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
    const int jobs = request_.jobs > 0 ? request_.jobs : static_cast<int>(processors);
    const int threads = static_cast<int>(std::min<size_t>(std::min(jobs, kMostJobs), parts_.size()));
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back([this] { Work(); });
    Work();
    for (std::thread& thread : others) thread.join();
    if (!status_.ok()) return status_;
    for (DisassemblyMixes& result : results_) Append(std::move(result), report);
    return absl::OkStatus();
  }

 private:
  void Work() {
    for (size_t i = next_++; i < parts_.size() && !failed_; i = next_++) {
      const absl::Status status = Measure(i);
      if (status.ok()) continue;
      const std::lock_guard<std::mutex> lock(mutex_);
      if (status_.ok()) status_ = status;
      failed_ = true;
    }
  }

  absl::Status Measure(size_t i) {
    const Part& part = parts_[i];
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (tally_.Find(part.key, part.module.name, &results_[i])) return CheckNumber(i);
    }
    absl::StatusOr<DisassemblyMixes> mixes = MixesOf(part.module, filter_);
    if (!mixes.ok()) return mixes.status();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (failed_) return absl::OkStatus();
    results_[i] = *std::move(mixes);
    if (absl::Status status = CheckNumber(i); !status.ok()) return status;
    return tally_.Add(part.key, part.module.name, results_[i]);
  }

  absl::Status CheckNumber(size_t i) {
    found_ += results_[i].kernels.size();
    if (found_ <= kMostKernels) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat("more than ", kMostKernels, " kernels: name fewer (--match)"));
  }

  const MixRequest& request_;
  const MixFilter& filter_;
  const std::vector<Part>& parts_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;  // guards the rest
  Tally& tally_;
  std::vector<DisassemblyMixes> results_;
  absl::Status status_;
  size_t found_ = 0;
};

// Libraries hold the same module many times, once for each of their sources: the first of each remains.
std::vector<Part> Distinct(std::vector<Module> modules) {
  std::set<std::string> seen;
  std::vector<Part> out;
  for (Module& module : modules) {
    std::ifstream file(module.path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::string key = absl::StrCat("sha256:", Sha256Hex(bytes));
    if (seen.insert(key).second) out.push_back({std::move(key), std::move(module)});
  }
  return out;
}

absl::Status MeasureFile(const MixRequest& request, const MixFilter& filter, const MixSource& source, Tally& tally,
                         MixReport* report) {
  const absl::StatusOr<TemporaryFolder> folder = TemporaryFolder::Make();
  if (!folder.ok()) return folder.status();
  absl::StatusOr<std::vector<Module>> modules =
      ModulesOf(source.path, source.name, request.target, folder->path(), request.most_extracted_bytes);
  if (!modules.ok()) return modules.status();
  report->modules += static_cast<int64_t>(modules->size());
  const std::vector<Part> parts = Distinct(*std::move(modules));
  report->distinct_modules += static_cast<int64_t>(parts.size());
  tally.Opened(parts.size());
  return Measurement(request, filter, parts, tally).Run(report);
}

absl::StatusOr<DisassemblyMixes> MixesOfImages(const std::vector<std::string>& images, const MixSource& source,
                                               const MixFilter& filter) {
  const absl::StatusOr<TemporaryFolder> folder = TemporaryFolder::Make();
  if (!folder.ok()) return folder.status();
  DisassemblyMixes all;
  for (const std::string& image : images) {
    const Module module{folder->path() + "/made.cubin", source.name, FileKind::kCubin};
    std::ofstream file(module.path, std::ios::binary);
    file << image;
    file.close();
    if (!file) return absl::UnavailableError(absl::StrCat(module.path, " cannot be written (TMPDIR)"));
    absl::StatusOr<DisassemblyMixes> mixes = MixesOf(module, filter);
    if (!mixes.ok()) return mixes.status();
    all.kernels_seen += mixes->kernels_seen;
    std::move(mixes->kernels.begin(), mixes->kernels.end(), std::back_inserter(all.kernels));
  }
  return all;
}

absl::Status MeasureMade(const MixFilter& filter, const MixSource& source, Tally& tally, MixReport* report) {
  const std::string key = absl::StrCat("made:", source.mark);
  DisassemblyMixes mixes;
  if (!tally.Find(key, source.name, &mixes)) {
    const absl::StatusOr<std::vector<std::string>> images = source.make();
    if (!images.ok()) return images.status();
    absl::StatusOr<DisassemblyMixes> measured = MixesOfImages(*images, source, filter);
    if (!measured.ok()) return measured.status();
    mixes = *std::move(measured);
    if (absl::Status status = tally.Add(key, source.name, mixes); !status.ok()) return status;
  }
  ++report->modules;
  ++report->distinct_modules;
  Append(std::move(mixes), report);
  return absl::OkStatus();
}

}  // namespace

MixSource FileSource(const std::string& path) { return {path, path, nullptr, ""}; }

absl::StatusOr<MixReport> MeasureInstructionMix(const MixRequest& request, MixEvents& events) {
  if (request.sources.empty()) return absl::InvalidArgumentError("no file: name a cubin, a library, a code object or disassembly text");
  MixFilter filter;
  filter.target = request.target;
  if (!request.match.empty()) {
    absl::StatusOr<TextFilter> match = CompileFilter(request.match);
    if (!match.ok()) return match.status();
    filter.kernel = *std::move(match);
  }
  MixReport report;
  Tally tally(events, request.sources.size());
  for (const MixSource& source : request.sources) {
    const absl::Status status = source.path.empty() ? MeasureMade(filter, source, tally, &report)
                                                    : MeasureFile(request, filter, source, tally, &report);
    if (!status.ok()) return status;
  }
  if (report.kernels.empty()) {
    return absl::NotFoundError(absl::StrCat("no kernel with instructions", request.match.empty() ? "" : absl::StrCat(" matches '", request.match, "'"),
                                            request.target.empty() ? "" : absl::StrCat(" for ", request.target), " in ", request.sources.size(),
                                            request.sources.size() == 1 ? " file" : " files"));
  }
  return report;
}

std::vector<MixRow> RowsOf(const MixReport& report, const std::function<std::string(std::string_view)>& group) {
  return MakeRows(report.kernels, [&](const KernelMix& kernel) {
    std::string name = ReadableName(kernel.kernel);
    if (group != nullptr) name = group(name);
    return report.engine ? absl::StrCat(kernel.module, ": ", name) : name;
  });
}

}  // namespace samebits::heal
