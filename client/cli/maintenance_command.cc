#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/terminal.h"
#include "server/maintenance/maintenance.h"

namespace samebits::cli {
namespace {

using storage::sqlite::CheckReport;
using storage::sqlite::Finding;

std::string Contents(const CheckReport& report) {
  std::string text = absl::StrCat(report.kernels, " kernels, ", report.signatures, " signatures, ", report.jobs, " jobs, ",
                                  report.reproducers, " reproducers, ", report.profiles, " profiles, schema ", report.schema_version);
  if (report.schema_version != report.latest_version)
    absl::StrAppend(&text, " (the next server migrates it to ", report.latest_version, ")");
  return text;
}

std::string HumanFinding(const Finding& finding, const Style& style) {
  return absl::StrCat(style.Red(finding.check), "  ", finding.count, " ", finding.what, ", first: ",
                      OneLine(finding.example), "\n  remedy: ", finding.remedy, "\n");
}

std::string JsonReport(const std::string& path, const CheckReport& report) {
  nlohmann::ordered_json out = {{"path", path},
                                {"whole", report.findings.empty()},
                                {"schema_version", report.schema_version},
                                {"latest_version", report.latest_version},
                                {"kernels", report.kernels},
                                {"signatures", report.signatures},
                                {"jobs", report.jobs},
                                {"tasks", report.tasks},
                                {"reproducers", report.reproducers},
                                {"workers", report.workers},
                                {"profiles", report.profiles},
                                {"findings", nlohmann::json::array()}};
  for (const Finding& finding : report.findings)
    out["findings"].push_back({{"check", finding.check}, {"count", finding.count}, {"what", finding.what},
                               {"example", finding.example}, {"remedy", finding.remedy}});
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// `done` is what happened, for people.
ExitCode Print(const CommandLine& line, const std::string& path, const CheckReport& report, const std::string& done) {
  if (FormatOf(line) == Format::kJson) {
    PrintLine(JsonReport(path, report));
  } else {
    for (const Finding& finding : report.findings) PrintText(HumanFinding(finding, OutputLayout(line).style));
    PrintLine(absl::StrCat(done, report.findings.empty() ? ": whole, " : ": NOT WHOLE, ", Contents(report)));
  }
  return report.findings.empty() ? ExitCode::kEquivalent : ExitCode::kNotEquivalent;
}

// What a file is wrong for is the user's to mend, whatever the store calls it.
ExitCode Report(const CommandLine& line, const absl::Status& status) {
  const ExitCode code = ReportError(line, status);
  return absl::IsNotFound(status) || absl::IsAlreadyExists(status) || absl::IsFailedPrecondition(status)
             ? ExitCode::kBadInput
             : code;
}

}  // namespace

ExitCode RunBackup(const CommandLine& line) {
  const absl::StatusOr<std::string> database = ExistingDatabase(line.serve);
  if (!database.ok()) return ReportError(line, database.status());
  const absl::StatusOr<CheckReport> report = server::BackUp(*database, line.maintenance.file);
  if (!report.ok()) return Report(line, report.status());
  return Print(line, line.maintenance.file, *report, absl::StrCat(*database, " copied to ", line.maintenance.file));
}

ExitCode RunRestore(const CommandLine& line) {
  const absl::StatusOr<std::string> database = ExistingDatabase(line.serve);
  if (!database.ok()) return ReportError(line, database.status());
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(*database).parent_path(), error);
  if (error) return ReportError(line, absl::InvalidArgumentError(absl::StrCat(*database, ": ", error.message())));
  const absl::StatusOr<server::Restored> restored =
      server::Restore(line.maintenance.file, *database, line.maintenance.replace);
  if (absl::IsAlreadyExists(restored.status()))
    return Report(line, absl::AlreadyExistsError(absl::StrCat(restored.status().message(), "; --replace moves it aside")));
  if (!restored.ok()) return Report(line, restored.status());
  std::string done = absl::StrCat(*database, " restored");
  if (!restored->aside.empty()) absl::StrAppend(&done, ", the former one is ", restored->aside);
  return Print(line, *database, restored->report, done);
}

ExitCode RunFsck(const CommandLine& line) {
  absl::StatusOr<std::string> database = line.maintenance.file;
  if (database->empty()) database = ExistingDatabase(line.serve);
  if (!database.ok()) return ReportError(line, database.status());
  const absl::StatusOr<CheckReport> report = server::CheckDatabase(*database);
  if (!report.ok()) return Report(line, report.status());
  return Print(line, *database, *report, *database);
}

}  // namespace samebits::cli
