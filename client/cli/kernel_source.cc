#include "client/cli/kernel_source.h"

#include <filesystem>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/launch/abseil_text.h"
#include "client/launch/manifest.h"
#include "core/checker/text.h"

namespace samebits::cli {
namespace {

constexpr char kRegisteredPrefix[] = "kernels/";
constexpr size_t kDigestDigits = 64;

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

bool IsRegisteredName(const std::string& text) {
  const size_t prefix = sizeof kRegisteredPrefix - 1;
  return text.starts_with(kRegisteredPrefix) && text.size() == prefix + kDigestDigits &&
         text.find_first_not_of("0123456789abcdef", prefix) == std::string::npos;
}

// "KERNEL", "KERNEL@LAUNCH" where no file has the whole as its name, "-", or a registered name.
KernelSource SourceFromArgument(const std::string& argument) {
  KernelSource source;
  source.id = argument;
  const size_t at = argument.rfind('@');
  const bool has_launch = at != std::string::npos && at > 0 && !Exists(argument);
  const std::string kernel = has_launch ? argument.substr(0, at) : argument;
  (IsRegisteredName(kernel) ? source.kernel_name : source.path) = kernel;
  std::optional<std::string> launch_path;
  if (has_launch) launch_path = argument.substr(at + 1);
  if (!has_launch && source.kernel_name.empty()) launch_path = launch::FindSidecar(kernel);
  if (!launch_path) return source;
  absl::StatusOr<launch::LaunchSpec> spec = launch::ReadLaunchFile(*launch_path);
  source.status = spec.status();
  if (spec.ok()) source.spec = *std::move(spec);
  return source;
}

KernelSource SourceFromRow(const launch::ManifestRow& row) {
  KernelSource source;
  source.id = row.id;
  source.path = row.path;
  source.spec = row.spec;
  source.status = row.status;
  return source;
}

absl::StatusOr<std::vector<KernelSource>> SourcesFromManifest(const CommandLine& line) {
  absl::StatusOr<std::vector<launch::ManifestRow>> rows = launch::ReadManifest(line.manifest);
  if (!rows.ok()) return rows.status();
  std::vector<KernelSource> sources;
  if (line.kernels.empty()) {
    for (const launch::ManifestRow& row : *rows) sources.push_back(SourceFromRow(row));
    return sources;
  }
  std::unordered_map<std::string, const launch::ManifestRow*> by_id;
  for (const launch::ManifestRow& row : *rows) by_id.emplace(row.id, &row);
  for (const std::string& id : line.kernels) {
    const auto at = by_id.find(id);
    if (at == by_id.end()) {
      return absl::NotFoundError(absl::StrCat(line.manifest, ": no row has the id '", id, "'"));
    }
    sources.push_back(SourceFromRow(*at->second));
  }
  return sources;
}

absl::Status CheckDistinct(const std::vector<KernelSource>& sources, bool ids_must_differ) {
  std::unordered_set<std::string> ids;
  bool stdin_used = false;
  for (const KernelSource& source : sources) {
    if (!ids.insert(source.id).second && ids_must_differ && source.status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(source.id, ": given twice; name each kernel once"));
    }
    if (source.path == "-" && std::exchange(stdin_used, true)) {
      return absl::InvalidArgumentError("-: standard input can be read only once");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PrefixStatus(const absl::Status& status, const std::string& what) {
  if (launch::Standard(status.message()).starts_with(what + ":")) return status;
  absl::Status out(status.code(), absl::StrCat(what, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) { out.SetPayload(url, payload); });
  return out;
}

checker::TextIsa LanguageOf(const CommandLine& line) {
  if (line.language.empty()) return checker::TextIsa::kDetect;
  return line.language == "amdgcn" ? checker::TextIsa::kAmdgcn : checker::TextIsa::kPtx;
}

absl::StatusOr<std::vector<KernelSource>> ListSources(const CommandLine& line) {
  std::vector<KernelSource> sources;
  if (!line.manifest.empty()) {
    absl::StatusOr<std::vector<KernelSource>> rows = SourcesFromManifest(line);
    if (!rows.ok()) return rows.status();
    sources = *std::move(rows);
  } else {
    for (const std::string& argument : line.kernels) sources.push_back(SourceFromArgument(argument));
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    sources[i].language = LanguageOf(line);
    sources[i].server_reads = !line.local && line.command != Command::kInspect;
    sources[i].spec = launch::Overlay(std::move(sources[i].spec), line.launch);
    if (line.pairs.empty() && i < line.side_launch.size()) {
      sources[i].spec = launch::Overlay(std::move(sources[i].spec), line.side_launch[i]);
    }
    if (line.symbolic) sources[i].spec = launch::WithoutSizes(std::move(sources[i].spec));
  }
  const bool is_batch = line.command == Command::kPartition || line.command == Command::kSignature ||
                        line.command == Command::kVerify || !line.pairs.empty();
  if (absl::Status status = CheckDistinct(sources, is_batch); !status.ok()) return status;
  return sources;
}

absl::StatusOr<Kernel> LoadKernel(const KernelSource& source, const DescribeRegistered& describe) {
  const std::string& shown = source.path.empty() ? source.id : source.path;
  if (!source.status.ok()) return source.status;
  Kernel kernel;
  kernel.id = source.id;
  kernel.kernel_name = source.kernel_name;
  const checker::Limits limits;
  if (source.text != nullptr) {
    kernel.text = *source.text;
  } else if (kernel.kernel_name.empty()) {
    absl::StatusOr<std::string> text = launch::ReadFile(source.path, limits.max_text_bytes);
    if (absl::IsNotFound(text.status()) && source.path.starts_with(kRegisteredPrefix))
      return absl::NotFoundError(absl::StrCat(source.path, ": no such file, and not the name of a registered kernel, which is ",
                                              kRegisteredPrefix, " and ", kDigestDigits, " digits (0-9, a-f) as register prints it"));
    if (!text.ok()) return text.status();
    kernel.text = *std::move(text);
  }
  if (source.language != checker::TextIsa::kDetect && source.server_reads && kernel.kernel_name.empty() &&
      checker::IsaOf(kernel.text) != source.language)
    return absl::InvalidArgumentError(absl::StrCat(shown, ": a server tells the language by the text's content, which is not what --language says; add --local"));
  absl::StatusOr<launch::ResolvedLaunch> launch =
      launch::Resolve(source.spec, [&]() -> absl::StatusOr<checker::TextInfo> {
        if (!kernel.kernel_name.empty()) return describe(kernel.kernel_name);
        return checker::DescribeTextAs(kernel.text, limits, source.language);
      });
  if (!launch.ok()) return PrefixStatus(launch.status(), shown);
  kernel.launch = *std::move(launch);
  return kernel;
}

}  // namespace samebits::cli
