// The command `profile build`, in this process or on a worker of a server.

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/cli/commands.h"
#include "client/cli/gemm_library.h"
#include "client/cli/job_connection.h"
#include "client/cli/job_report.h"
#include "client/cli/progress.h"
#include "client/cli/terminal.h"
#include "core/gemm/profile_build.h"
#include "core/gemm/profile_report.h"

namespace samebits::cli {
namespace {

// A library that is not there is an answer about the input, not a failure.
ExitCode BadInput(const CommandLine& line, const absl::Status& status) {
  ReportError(line, status);
  return absl::IsInvalidArgument(status) || absl::IsUnavailable(status) ? ExitCode::kBadInput : ExitCode::kFailure;
}

absl::StatusOr<std::vector<gemm::GemmProblem>> ParseKinds(const std::string& text) {
  std::vector<gemm::GemmProblem> kinds;
  for (absl::string_view word : absl::StrSplit(text, ';', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(word, absl::MaxSplits(':', 1));
    gemm::GemmProblem& kind = kinds.emplace_back();
    if (absl::Status status = gemm::ParseTypes(parts.first, &kind); !status.ok()) return status;
    const absl::StatusOr<gemm::Layout> layout = gemm::ParseLayout(parts.second.empty() ? "TN" : parts.second);
    if (!layout.ok()) return layout.status();
    kind.layout = *layout;
  }
  if (kinds.empty()) return absl::InvalidArgumentError("--kinds: nothing to study");
  return kinds;
}

ExitCode BuildHere(const CommandLine& line, const std::vector<gemm::GemmProblem>& kinds) {
  const GemmOptions& o = line.gemm;
  const absl::StatusOr<workers::GemmLibrary> library = FindGemmLibrary(o);
  if (!library.ok()) return BadInput(line, library.status());
  gemm::RuleBook book;
  if (!o.profile.empty()) {
    const absl::StatusOr<gemm::ArchProfile> earlier = ReadProfile(line, o.profile);
    if (!earlier.ok()) return BadInput(line, earlier.status());
    for (const auto& [kind, entry] : earlier->entries) book.Suggest(kind, entry.rules);
  }
  gemm::ProfileBuildOptions options;
  options.kinds = kinds;
  options.random_shapes = o.shapes;
  options.models = !o.no_models;
  options.most_m = o.last_m;
  options.most_k = o.most_k;
  options.seconds = o.seconds;
  options.survey.seed = o.seed;
  options.survey.threads = o.threads;
  Progress progress(1, line.quiet, line.verbose, "shapes");
  const absl::StatusOr<gemm::ArchProfile> profile =
      gemm::BuildProfile(library->open, library->identity, options, &book, [&](const auto& built, const gemm::SurveyedShape& s) {
        if (s.supported && !s.explained && !line.quiet) {
          const gemm::GemmProblem& p = s.problem;
          progress.Hide();
          absl::FPrintF(stderr, "unexplained: %d x %d x %d, %s, layout %s: %s\n", p.m, p.n, p.k, TypesText(p),
                        gemm::ToText(p.layout), s.reason);
        }
        progress.Set(static_cast<size_t>(built.done), static_cast<size_t>(built.total));
        return true;
      });
  progress.Hide();
  if (!profile.ok()) {
    ReportError(line, profile.status());
    return ExitCode::kFailure;
  }
  if (absl::Status status = WriteFile(o.out, gemm::ToText(*profile)); !status.ok()) return BadInput(line, status);
  PrintText(gemm::Summarise(*profile));
  return ExitCode::kEquivalent;
}

v1::ReconstructArchProfileRequest RequestOf(const GemmOptions& o, const std::vector<gemm::GemmProblem>& kinds) {
  v1::ReconstructArchProfileRequest request;
  request.set_request_id(NewRequestId());
  request.set_library(o.library);
  request.set_device(o.on);
  request.set_workspace_bytes(o.workspace);
  for (const gemm::GemmProblem& problem : kinds) {
    auto* kind = request.add_kinds();
    kind->set_types(TypesText(problem));
    kind->set_layout(gemm::ToText(problem.layout));
  }
  request.set_random_shapes(o.shapes);
  request.set_skip_models(o.no_models);
  request.set_most_m(o.last_m);
  request.set_most_k(o.most_k);
  request.set_seed(o.seed);
  request.set_rules_of(o.profile);
  request.set_device_name(o.device_name);
  if (o.driver != GemmOptions().driver) request.set_driver(o.driver);
  return request;
}

ExitCode BuildOnWorker(const CommandLine& line, const std::vector<gemm::GemmProblem>& kinds) {
  const auto profiles = ConnectProfiles(line);
  if (!profiles.ok()) return ReportError(line, profiles.status());
  const auto jobs = ConnectJobClient(line);
  if (!jobs.ok()) return ReportError(line, jobs.status());
  absl::StatusOr<v1::Operation> operation = (*profiles)->Reconstruct(RequestOf(line.gemm, kinds));
  if (!operation.ok()) return ReportError(line, operation.status());
  if (line.job.no_wait) {
    PrintLine(FormatOf(line) == Format::kJson ? JsonMessage(*operation) : operation->name());
    return ExitCode::kEquivalent;
  }
  operation = WatchWithProgress(line, **jobs, operation->name(), "shapes");
  if (!operation.ok()) return ReportError(line, operation.status());
  if (!operation->has_arch_profile())
    return ReportError(line, absl::Status(static_cast<absl::StatusCode>(operation->error().code()),
                                          absl::StrCat(operation->name(), ": ", operation->error().message())));
  const std::string& name = operation->arch_profile().name();
  const absl::StatusOr<std::string> text = (*profiles)->Export(name);
  if (!text.ok()) return ReportError(line, text.status());
  if (!line.gemm.out.empty())
    if (absl::Status status = WriteFile(line.gemm.out, *text); !status.ok()) return BadInput(line, status);
  if (FormatOf(line) == Format::kJson) {
    PrintLine(JsonMessage(operation->arch_profile()));
    return ExitCode::kEquivalent;
  }
  const absl::StatusOr<gemm::ArchProfile> profile = gemm::ParseArchProfile(*text);
  if (!profile.ok()) return ReportError(line, profile.status());
  PrintText(gemm::Summarise(*profile));
  PrintLine(name);
  return ExitCode::kEquivalent;
}

}  // namespace

ExitCode RunProfileBuild(const CommandLine& line) {
  const GemmOptions& o = line.gemm;
  const absl::StatusOr<std::vector<gemm::GemmProblem>> kinds = ParseKinds(o.kinds);
  if (!kinds.ok()) return BadInput(line, kinds.status());
  if (!line.local) return BuildOnWorker(line, *kinds);
  if (o.out.empty()) return BadInput(line, absl::InvalidArgumentError("--out FILE is needed without --server"));
  return BuildHere(line, *kinds);
}

}  // namespace samebits::cli
