#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/ci/baseline.h"
#include "client/ci/kernel_set.h"
#include "client/ci/report.h"
#include "client/cli/commands.h"
#include "client/cli/progress.h"
#include "client/cli/terminal.h"
#include "client/cli/version.h"
#include "client/launch/manifest.h"

namespace samebits::cli {
namespace {

using ci::Finding;
using ci::Outcome;

// One side: its kernels' signatures, and their sources where they are at hand.
struct Build {
  std::vector<ci::SignedKernel> kernels;
  std::vector<KernelSource> sources;
};

bool IsSignatureFile(const std::string& path) { return std::filesystem::path(path).extension() == ".json"; }

ci::BaselineOptions BaselineOptionsOf(const CommandLine& line) {
  return {line.ignore_signed_zero, line.strict_contraction, line.symbolic};
}

// The kernel's launch; flags fill what it leaves open, the block only where the text does not demand one.
launch::LaunchSpec SpecOf(const ci::SetKernel& kernel, const CommandLine& line) {
  launch::LaunchSpec flags = line.launch;
  if (kernel.text != nullptr && kernel.text->find(".reqntid") != std::string::npos) flags.block.reset();
  launch::LaunchSpec spec = launch::Overlay(std::move(flags), kernel.spec);
  return line.symbolic ? launch::WithoutSizes(std::move(spec)) : spec;
}

KernelSource SourceOf(const ci::SetKernel& kernel, const CommandLine& line) {
  KernelSource source;
  source.id = kernel.path;
  source.path = kernel.path;
  source.text = kernel.text;
  source.status = kernel.status;
  source.spec = SpecOf(kernel, line);
  return source;
}

// Reads the kernels of a folder or file and computes their signatures.
absl::StatusOr<Build> CheckBuild(const CommandLine& line, const std::string& path, Backend* backend) {
  absl::StatusOr<std::vector<ci::SetKernel>> set = ci::ReadKernelSet(path);
  if (!set.ok()) return set.status();
  Build build;
  for (const ci::SetKernel& kernel : *set) {
    build.sources.push_back(SourceOf(kernel, line));
    build.kernels.push_back({kernel.key, kernel.path, kernel.digest});
  }
  Progress progress(build.kernels.size(), line.quiet, line.verbose);
  const absl::Status status =
      backend->ComputeSignatures(build.sources, [&](size_t index, absl::StatusOr<checker::Signature> signature) {
        build.kernels[index].signature = std::move(signature);
        progress.Step(VerboseLine(build.kernels[index].key, build.kernels[index].signature));
      });
  if (!status.ok()) return status;
  return build;
}

absl::StatusOr<Build> ReadBaselineBuild(const CommandLine& line, Backend* backend) {
  const std::string& path = line.ci.baseline;
  if (!IsSignatureFile(path)) return CheckBuild(line, path, backend);
  std::error_code error;
  if (line.ci.update_baseline && !std::filesystem::exists(path, error)) return Build{};
  constexpr uint64_t kMaxBaselineBytes = 1ull << 30;
  const absl::StatusOr<std::string> text = launch::ReadFile(path, kMaxBaselineBytes);
  if (!text.ok()) return text.status();
  absl::StatusOr<std::vector<ci::SignedKernel>> kernels = ci::ReadBaseline(*text, BaselineOptionsOf(line), path);
  if (kernels.ok()) return Build{*std::move(kernels), {}};
  if (line.ci.update_baseline && absl::IsFailedPrecondition(kernels.status())) return Build{};
  return kernels.status();
}

// Fills in where the first changed kernels part.
void ExplainChanges(const CommandLine& line, const Build& baseline, const Build& candidate, Backend* backend,
                    std::vector<Finding>* findings) {
  int left = line.ci.explain;
  const auto none = [](const std::string& name) { return absl::NotFoundError(name); };
  for (Finding& finding : *findings) {
    if (finding.outcome != Outcome::kChanged || baseline.sources.empty() || left-- <= 0) continue;
    const absl::StatusOr<Kernel> a = LoadKernel(baseline.sources[*finding.baseline], none);
    const absl::StatusOr<Kernel> b = LoadKernel(candidate.sources[*finding.candidate], none);
    if (!a.ok() || !b.ok()) continue;
    absl::StatusOr<checker::Comparison> comparison = backend->Explain(*a, *b);
    if (comparison.ok()) finding.difference = std::move(comparison->difference);
  }
}

std::array<bool, ci::kOutcomes> FailingOutcomes(const std::vector<std::string>& words) {
  std::array<bool, ci::kOutcomes> fails{};
  for (int i = 0; i < ci::kOutcomes; ++i) {
    const std::string name(ci::OutcomeName(static_cast<Outcome>(i)));
    fails[i] = std::find(words.begin(), words.end(), name) != words.end();
  }
  return fails;
}

std::string Painted(const ci::Report& report, const Finding& finding, const Style& style) {
  const std::string word = Fit(std::string(ci::OutcomeName(finding.outcome)), 8);
  if (finding.outcome == Outcome::kEqual) return style.Green(word);
  return ci::Fails(report, finding) ? style.Red(word) : style.Yellow(word);
}

std::string HumanFindings(const CommandLine& line, const ci::Report& report) {
  const Layout layout = OutputLayout(line);
  std::string out;
  for (const Finding& finding : report.findings) {
    if (finding.outcome == Outcome::kEqual && !line.verbose) continue;
    absl::StrAppend(&out, Painted(report, finding, layout.style), "  ", layout.style.Bold(OneLine(finding.id)), "\n");
    for (const std::string& fact : ci::Lines(report, finding))
      for (const std::string& row : WrapLines(fact, std::max(layout.width - 10, 20))) absl::StrAppend(&out, "          ", row, "\n");
  }
  const ci::Counts counts = ci::CountOutcomes(report.findings);
  for (int i = 0; i < ci::kOutcomes; ++i)
    absl::StrAppend(&out, i == 0 ? "" : ", ", counts[i], " ", std::string(ci::OutcomeName(static_cast<Outcome>(i))));
  return out + "\n";
}

absl::Status WriteReports(const CommandLine& line, const ci::Report& report) {
  for (const auto& [path, write] : {std::pair{&line.ci.json, &ci::JsonReport}, std::pair{&line.ci.junit, &ci::JunitReport},
                                    std::pair{&line.ci.sarif, &ci::SarifReport}}) {
    if (path->empty()) continue;
    if (absl::Status status = WriteFile(*path, write(report)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

ExitCode ExitCodeOfReport(const ci::Report& report) {
  ExitCode code = ExitCode::kEquivalent;
  for (const Finding& finding : report.findings) {
    if (!ci::Fails(report, finding)) continue;
    if (finding.outcome != Outcome::kUnknown) return ExitCode::kNotEquivalent;
    code = ExitCode::kUnknown;
  }
  return code;
}

// Two files with one kernel each are meant to be compared, whatever they are called.
Build PairedByPlace(const CommandLine& line, const Build& baseline, Build candidate) {
  const auto is_file = [](const std::string& path) {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error) && !IsSignatureFile(path) && std::filesystem::path(path).extension() != ".jsonl";
  };
  const bool single = baseline.kernels.size() == 1 && candidate.kernels.size() == 1;
  if (single && is_file(line.ci.baseline) && is_file(line.ci.candidate)) candidate.kernels[0].key = baseline.kernels[0].key;
  return candidate;
}

ExitCode Answer(const CommandLine& line, const Build& baseline, const Build& candidate, Backend* backend) {
  std::vector<Finding> findings = ci::FindChanges(baseline.kernels, candidate.kernels);
  ExplainChanges(line, baseline, candidate, backend, &findings);
  const ci::Report report{findings, baseline.kernels, candidate.kernels, FailingOutcomes(line.ci.fail_on), kVersion};
  if (const absl::Status status = WriteReports(line, report); !status.ok()) return ReportError(line, status);
  if (line.ci.update_baseline) {
    const std::string text = ci::WriteBaseline(candidate.kernels, BaselineOptionsOf(line));
    if (const absl::Status status = WriteFile(line.ci.baseline, text); !status.ok()) return ReportError(line, status);
  }
  PrintText(FormatOf(line) == Format::kJson ? ci::JsonReport(report) : HumanFindings(line, report));
  return line.ci.update_baseline ? ExitCode::kEquivalent : ExitCodeOfReport(report);
}

}  // namespace

ExitCode RunCiCheck(const CommandLine& line) {
  if (line.ci.update_baseline && !IsSignatureFile(line.ci.baseline)) {
    return ReportError(line, absl::InvalidArgumentError("--update-baseline writes signatures into a file; name it with --baseline FILE.json"));
  }
  absl::StatusOr<std::unique_ptr<Backend>> backend = MakeBackend(line);
  if (!backend.ok()) return ReportError(line, backend.status());
  const absl::StatusOr<Build> baseline = ReadBaselineBuild(line, backend->get());
  if (!baseline.ok()) return ReportError(line, baseline.status());
  absl::StatusOr<Build> candidate = CheckBuild(line, line.ci.candidate, backend->get());
  if (!candidate.ok()) return ReportError(line, candidate.status());
  return Answer(line, *baseline, PairedByPlace(line, *baseline, *std::move(candidate)), backend->get());
}

}  // namespace samebits::cli
