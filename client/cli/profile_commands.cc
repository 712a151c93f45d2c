// The commands `profile ...`, and those of `gemm ...` that ask a profile or study a library; they run in this process.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands.h"
#include "client/cli/gemm_library.h"
#include "client/cli/terminal.h"
#include "client/render/invariance_figure.h"
#include "core/gemm/defect_reproducer.h"
#include "core/gemm/model_shapes.h"
#include "core/gemm/profile_report.h"

namespace samebits::cli {
namespace {

using nlohmann::json;

// What a profile does not say is an answer about the input, not a failure.
ExitCode BadInput(const CommandLine& line, const absl::Status& status) {
  ReportError(line, status);
  return absl::IsInvalidArgument(status) || absl::IsUnavailable(status) ? ExitCode::kBadInput : ExitCode::kUnknown;
}

json ToJson(const gemm::GemmProblem& p) {
  return {{"m", p.m}, {"n", p.n}, {"k", p.k}, {"types", TypesText(p)}, {"layout", gemm::ToText(p.layout)}};
}

json ToJson(const gemm::InvarianceReport& report) {
  json runs = json::array();
  for (const gemm::InvarianceRun& run : report.runs) {
    json row = {{"first_m", run.first_m}, {"last_m", run.last_m}, {"known", run.known}};
    if (run.known) {
      row["bits"] = run.bits;
      row["descriptor"] = gemm::ToText(run.desc);
      row["summed_k"] = run.summed_k;
      row["changes"] = run.changes;
    } else {
      row["why"] = run.why;
    }
    runs.push_back(std::move(row));
  }
  return {{"n", report.problem.n}, {"k", report.problem.k}, {"types", TypesText(report.problem)},
          {"layout", gemm::ToText(report.problem.layout)}, {"kinds_of_bits", report.kinds_of_bits},
          {"unknown_m", report.unknown_m}, {"invariant", report.invariant()}, {"runs", std::move(runs)}};
}

// Libraries that tell no algorithm leave it as it is by default.
bool IsTold(const gemm::Algorithm& algorithm) { return !(algorithm == gemm::Algorithm()); }
std::string AlgorithmText(const gemm::Algorithm& algorithm) {
  return IsTold(algorithm) ? gemm::ToText(algorithm) : "not told by the library";
}
json AlgorithmJson(const gemm::Algorithm& algorithm) {
  return IsTold(algorithm) ? json(gemm::ToText(algorithm)) : json(nullptr);
}

}  // namespace

ExitCode RunProfileShow(const CommandLine& line) {
  const absl::StatusOr<gemm::ArchProfile> profile = ReadProfile(line, line.gemm.profile);
  if (!profile.ok()) return BadInput(line, profile.status());
  PrintText(gemm::Summarise(*profile));
  PrintLine(absl::StrCat("digest ", gemm::Digest(*profile)));
  return ExitCode::kEquivalent;
}

ExitCode RunProfileDefects(const CommandLine& line) {
  const absl::StatusOr<gemm::ArchProfile> profile = ReadProfile(line, line.gemm.profile);
  if (!profile.ok()) return BadInput(line, profile.status());
  const std::filesystem::path folder = line.gemm.out;
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return BadInput(line, absl::InvalidArgumentError(absl::StrCat("--out ", line.gemm.out, ": ", error.message())));
  const std::vector<gemm::ProfileDefect> defects = gemm::DefectsOf(*profile);
  for (size_t i = 0; i < defects.size(); ++i) {
    const gemm::GemmProblem& p = defects[i].problem;
    PrintLine(absl::StrFormat("%d x %d x %d, %s, layout %s: elements %d to %d are not summed", p.m, p.n, p.k, TypesText(p),
                              gemm::ToText(p.layout), defects[i].summed_k, p.k - 1));
    if (folder.empty()) continue;
    const absl::StatusOr<std::string> program = gemm::DefectReproducer(*profile, defects[i]);
    if (!program.ok()) {
      PrintLine(absl::StrCat("  ", program.status().message()));
      continue;
    }
    const std::string path = (folder / absl::StrCat("defect", i + 1, ".cc")).string();
    if (absl::Status status = WriteFile(path, *program); !status.ok()) return BadInput(line, status);
    PrintLine(absl::StrCat("  ", path));
  }
  if (defects.empty()) PrintLine("no defect is known");
  return defects.empty() ? ExitCode::kEquivalent : ExitCode::kNotEquivalent;
}

ExitCode RunProfileDiff(const CommandLine& line) {
  const absl::StatusOr<gemm::ArchProfile> before = ReadProfile(line, line.gemm.profile), after = ReadProfile(line, line.gemm.other_profile);
  if (!before.ok()) return BadInput(line, before.status());
  if (!after.ok()) return BadInput(line, after.status());
  const gemm::ProfileComparison comparison = gemm::Compare(*before, *after);
  if (FormatOf(line) == Format::kJson) {
    json differences = json::array();
    for (const gemm::ProfileDifference& d : comparison.differences) {
      json row = ToJson(d.problem);
      row["last_m"] = d.last_m;
      row["changes"] = d.changes;
      differences.push_back(std::move(row));
    }
    PrintLine(json{{"identity", comparison.identity}, {"same", comparison.same}, {"changed", comparison.changed},
                   {"unknown", comparison.unknown}, {"differences", std::move(differences)}}
                  .dump());
  } else {
    PrintText(gemm::ToText(comparison));
  }
  if (comparison.changed > 0) return ExitCode::kNotEquivalent;
  return comparison.unknown > 0 || comparison.same == 0 ? ExitCode::kUnknown : ExitCode::kEquivalent;
}

ExitCode RunProfileStored(const CommandLine& line) {
  const GemmOptions& o = line.gemm;
  const auto client = ConnectProfiles(line);
  if (!client.ok()) return ReportError(line, client.status());
  const auto print = [](const v1::ArchProfile& p) {
    PrintLine(absl::StrFormat("%s  %s, sm_%d, %s %d, %d of %d shapes explained", p.name(), OneLine(p.device()), p.architecture(),
                              OneLine(p.library()), p.library_version(), p.explained_shapes(), p.shapes()));
  };
  if (line.command == Command::kProfileImport) {
    const absl::StatusOr<gemm::ArchProfile> profile = ReadProfile(line, o.profile);
    if (!profile.ok()) return BadInput(line, profile.status());
    const absl::StatusOr<v1::ArchProfile> stored = (*client)->Import(gemm::ToText(*profile));
    if (!stored.ok()) return ReportError(line, stored.status());
    print(*stored);
  } else if (line.command == Command::kProfileList) {
    const absl::StatusOr<v1::ListArchProfilesResponse> profiles = (*client)->List();
    if (!profiles.ok()) return ReportError(line, profiles.status());
    for (const v1::ArchProfile& profile : profiles->arch_profiles()) print(profile);
  } else if (line.command == Command::kProfileExport) {
    const absl::StatusOr<std::string> text = (*client)->Export(o.profile);
    if (!text.ok()) return ReportError(line, text.status());
    if (absl::Status status = WriteFile(o.out, *text); !status.ok()) return BadInput(line, status);
  } else if (absl::Status status = (*client)->Delete(o.profile); !status.ok()) {
    return ReportError(line, status);
  }
  return ExitCode::kEquivalent;
}

ExitCode RunGemmDescribeShape(const CommandLine& line) {
  if (line.gemm.profile.empty()) return BadInput(line, absl::InvalidArgumentError("a descriptor or --profile is needed"));
  const absl::StatusOr<gemm::ArchProfile> profile = ReadProfile(line, line.gemm.profile);
  if (!profile.ok()) return BadInput(line, profile.status());
  const absl::StatusOr<gemm::GemmProblem> problem = ProblemOf(line.gemm);
  if (!problem.ok()) return BadInput(line, problem.status());
  const absl::StatusOr<gemm::ShapeDescription> d = gemm::Describe(*profile, *problem);
  if (!d.ok()) return BadInput(line, d.status());
  if (FormatOf(line) == Format::kJson) {
    json row = ToJson(*problem);
    row["descriptor"] = gemm::ToText(d->desc);
    row["description"] = gemm::Describe(d->desc);
    row["digest"] = gemm::Digest(d->desc);
    row["algorithm"] = AlgorithmJson(d->algorithm);
    row["summed_k"] = d->summed_k;
    row["studied"] = d->studied;
    row["rule_shapes"] = d->rule_shapes;
    PrintLine(row.dump());
    return ExitCode::kEquivalent;
  }
  PrintLine(gemm::ToText(d->desc));
  PrintLine(gemm::Describe(d->desc));
  PrintLine(absl::StrCat("digest      ", gemm::Digest(d->desc)));
  PrintLine(absl::StrCat("algorithm   ", AlgorithmText(d->algorithm)));
  PrintLine(absl::StrCat("known from  ", d->studied ? "fresh draws of this shape" : "",
                         d->studied && d->rule_shapes > 0 ? ", and " : "",
                         d->rule_shapes > 0 ? absl::StrCat("a rule that ", d->rule_shapes, " shapes confirm") : ""));
  if (d->summed_k != problem->k) PrintLine(absl::StrCat("DEFECT: elements ", d->summed_k, " to ", problem->k - 1, " are not summed"));
  return ExitCode::kEquivalent;
}

ExitCode RunGemmProbe(const CommandLine& line) {
  const absl::StatusOr<gemm::GemmProblem> problem = ProblemOf(line.gemm);
  if (!problem.ok()) return BadInput(line, problem.status());
  const absl::StatusOr<workers::GemmLibrary> library = FindGemmLibrary(line.gemm);
  if (!library.ok()) return BadInput(line, library.status());
  const absl::StatusOr<std::unique_ptr<gemm::BlackBox>> box = library->open();
  if (!box.ok()) return BadInput(line, box.status());
  gemm::RuleBook book;
  gemm::SurveyOptions options;
  options.seed = line.gemm.seed;
  const absl::StatusOr<gemm::SurveyedShape> s = gemm::StudyShape(box->get(), &book, *problem, options);
  if (!s.ok() || !s->supported) return BadInput(line, s.ok() ? absl::InvalidArgumentError(s->reason) : s.status());
  if (FormatOf(line) == Format::kJson) {
    json row = ToJson(*problem);
    row["explained"] = s->explained;
    row["descriptor"] = gemm::ToText(s->desc);
    row["algorithm"] = AlgorithmJson(s->algorithm);
    row["summed_k"] = s->summed_k;
    row["launches"] = s->launches;
    row["outputs"] = s->outputs;
    row["evidence"] = s->evidence;
    PrintLine(row.dump());
  } else {
    PrintLine(absl::StrCat("algorithm   ", AlgorithmText(s->algorithm)));
    for (const std::string& evidence : s->evidence) PrintLine(absl::StrCat("  ", evidence));
    PrintLine(gemm::ToText(s->desc));
    PrintLine(s->explained ? gemm::Describe(s->desc) : absl::StrCat("UNEXPLAINED, this is the closest: ", s->reason));
    PrintLine(absl::StrFormat("%d launches, %d outputs compared; at least %d single calls of the public FPRev", s->launches,
                              s->outputs, problem->k - 1));
  }
  if (!s->explained) return ExitCode::kUnknown;
  return s->defect() ? ExitCode::kNotEquivalent : ExitCode::kEquivalent;
}

ExitCode RunGemmInvariance(const CommandLine& line) {
  const absl::StatusOr<gemm::ArchProfile> profile = ReadProfile(line, line.gemm.profile);
  if (!profile.ok()) return BadInput(line, profile.status());
  GemmOptions o = line.gemm;
  o.m = o.first_m;
  std::vector<std::pair<std::string, gemm::GemmProblem>> problems;
  if (o.models) {
    for (const gemm::ModelProduct& product : gemm::ModelProducts()) {
      o.n = product.n, o.k = product.k;
      const absl::StatusOr<gemm::GemmProblem> problem = ProblemOf(o);
      if (!problem.ok()) return BadInput(line, problem.status());
      problems.emplace_back(absl::StrCat(product.model, " ", product.product), *problem);
    }
  } else {
    const absl::StatusOr<gemm::GemmProblem> problem = ProblemOf(o);
    if (!problem.ok()) return BadInput(line, problem.status());
    problems.emplace_back("", *problem);
  }
  bool all = true, some_unknown = false;
  json rows = json::array();
  std::vector<std::pair<std::string, gemm::InvarianceReport>> reports;
  for (const auto& [name, problem] : problems) {
    const absl::StatusOr<gemm::InvarianceReport> report = gemm::BatchInvariance(*profile, problem, o.first_m, o.last_m);
    if (!report.ok()) return BadInput(line, report.status());
    if (!line.gemm.out.empty()) reports.emplace_back(name, *report);
    all = all && report->kinds_of_bits <= 1;
    some_unknown = some_unknown || report->unknown_m > 0;
    if (FormatOf(line) == Format::kJson) {
      rows.push_back(ToJson(*report));
      if (!name.empty()) rows.back()["name"] = name;
    } else {
      PrintText(absl::StrCat(name, name.empty() ? "" : ": ", gemm::ToText(*report), problems.size() > 1 ? "\n" : ""));
    }
  }
  if (FormatOf(line) == Format::kJson) PrintLine(o.models ? rows.dump() : rows[0].dump());
  if (!line.gemm.out.empty())
    if (absl::Status status = WriteFile(line.gemm.out, render::InvarianceFigure(reports)); !status.ok()) return BadInput(line, status);
  if (!all) return ExitCode::kNotEquivalent;
  return some_unknown ? ExitCode::kUnknown : ExitCode::kEquivalent;
}

}  // namespace samebits::cli
