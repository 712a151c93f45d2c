#include "client/cli/watch.h"

#include <cstdio>
#include <filesystem>
#include <string_view>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/commands.h"

namespace samebits::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMostFiles = 200'000;

uint64_t OfFile(const fs::path& path) {
  std::error_code error;
  const fs::file_time_type written = fs::last_write_time(path, error);
  if (error) return 0;
  const uint64_t size = fs::is_regular_file(path, error) ? fs::file_size(path, error) : 0;
  return absl::HashOf(path.native(), size, written.time_since_epoch().count());
}

// The file, its launch file after "@", and those that are looked for beside it.
void AddKernel(const std::string& kernel, std::vector<std::string>* paths) {
  const size_t at = kernel.rfind('@');
  const std::string file = kernel.substr(0, at);
  paths->push_back(file);
  if (at != std::string::npos) paths->push_back(kernel.substr(at + 1));
  fs::path beside(file);
  for (const char* suffix : {".launch.json", ".json"}) paths->push_back(beside.replace_extension().string() + suffix);
}

std::string FolderOf(const std::string& file) {
  const std::string folder = fs::path(file).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

std::vector<std::string> WatchedPaths(const CommandLine& line) {
  std::vector<std::string> paths;
  if (!line.manifest.empty()) paths.push_back(FolderOf(line.manifest));
  if (line.manifest.empty())
    for (const std::string& kernel : line.kernels)
      if (kernel != "-" && kernel.rfind("kernels/", 0) != 0) AddKernel(kernel, &paths);
  if (!line.pairs.empty() && line.pairs != "-") paths.push_back(line.pairs);
  for (const std::string& build : {line.ci.baseline, line.ci.candidate})
    if (!build.empty()) paths.push_back(fs::path(build).extension() == ".jsonl" ? FolderOf(build) : build);
  return paths;
}

uint64_t Fingerprint(const std::vector<std::string>& paths) {
  uint64_t sum = 0;  // folders list their files in any order
  int files = 0;
  for (const std::string& path : paths) {
    sum += OfFile(path);
    std::error_code error;
    fs::recursive_directory_iterator entry(path, fs::directory_options::skip_permission_denied, error);
    for (; !error && entry != fs::recursive_directory_iterator() && ++files <= kMostFiles; entry.increment(error))
      sum += OfFile(entry->path());
  }
  return sum;
}

uint64_t AwaitChange(const std::vector<std::string>& paths, uint64_t known, absl::Duration poll) {
  uint64_t last = known;
  while (true) {
    absl::SleepFor(poll);
    const uint64_t now = Fingerprint(paths);
    if (now == last && now != known) return now;
    last = now;
  }
}

ExitCode Watch(const CommandLine& line, const std::function<ExitCode()>& answer) {
  const std::vector<std::string> paths = WatchedPaths(line);
  if (paths.empty()) return ReportError(line, absl::InvalidArgumentError("--watch: nothing that is asked about is a file"));
  while (true) {
    const uint64_t known = Fingerprint(paths);
    answer();
    if (std::fflush(stdout) != 0) return ExitCode::kFailure;
    if (!line.quiet) std::fputs("samebits: waiting for a change; Ctrl-C ends\n", stderr);
    AwaitChange(paths, known, absl::Milliseconds(500));
    if (!line.quiet) std::fputs(absl::StrCat("samebits: changed at ", absl::FormatTime("%H:%M:%S", absl::Now(), absl::LocalTimeZone()), "\n").c_str(), stderr);
  }
}

}  // namespace samebits::cli
