// The commands `heal evaluate` to `heal serve-cost`, in this process or on a worker of a server.

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/heal_journal.h"
#include "client/cli/heal_report.h"
#include "client/cli/heal_request.h"
#include "client/cli/heal_run.h"
#include "client/cli/job_report.h"
#include "client/cli/progress.h"
#include "client/render/heal_figures.h"
#include "core/heal/jobs/job.h"
#include "core/heal/model/checkpoint.h"
#include "core/heal/model/mark_of_weights.h"
#include "proto/convert/numerics/numerics.h"
#include "workers/heal/backend/backend.h"

namespace samebits::cli {
namespace {

using v1::NumericsResult;

class LocalEvents : public heal::JobEvents {
 public:
  LocalEvents(const CommandLine& line, HealJournal* journal)
      : journal_(journal), progress_(1, line.quiet, line.verbose, "parts") {}
  absl::Status OnUnit(int64_t index, const std::string& record) override {
    return journal_ == nullptr ? absl::OkStatus() : journal_->Add(index, record);
  }
  void OnProgress(int64_t done, int64_t total, const std::string&) override {
    progress_.Set(static_cast<size_t>(done), static_cast<size_t>(total));
  }

 private:
  HealJournal* const journal_;  // may be null
  Progress progress_;
};

absl::StatusOr<NumericsResult> RunLocally(const CommandLine& line, const v1::NumericsRequest& request) {
  const HealOptions& o = line.heal;
  const auto checkpoint = heal::OpenCheckpoint(o.model);
  if (!checkpoint.ok()) return checkpoint.status();
  const absl::StatusOr<heal::JobSpec> spec = proto::SpecFromProto(request, (*checkpoint)->shape());
  if (!spec.ok()) return spec.status();
  const auto backend = workers::OpenBackend(*checkpoint, o.device.empty() ? "cpu" : o.device);
  if (!backend.ok()) return backend.status();
  NumericsResult result;
  result.set_model(o.model);
  result.set_engine((*backend)->Describe());
  std::unique_ptr<HealJournal> journal;
  if (!o.journal.empty()) {
    auto opened = HealJournal::Open(o.journal, absl::StrCat(request.SerializeAsString(), "\n", result.engine(), "\n", MarkOfWeights(**checkpoint)));
    if (!opened.ok()) return opened.status();
    journal = *std::move(opened);
  }
  LocalEvents events(line, journal.get());
  const absl::StatusOr<heal::JobResult> computed =
      heal::RunJob(*spec, **backend, journal == nullptr ? heal::Records() : journal->records(), events);
  if (!computed.ok()) return computed.status();
  proto::ResultToProto(*computed, &result);
  return result;
}

// What --output asks for; nothing without it.
absl::Status WriteFiles(const CommandLine& line, const NumericsResult& result) {
  std::vector<std::pair<std::string, std::string>> files;
  if (const auto read = proto::ResultFromProto(result); read.ok())
    files.emplace_back("figure.svg", render::HealFigure(*read));
  files.emplace_back("result.json", JsonMessage(result) + "\n");
  files.emplace_back("table.txt", HumanNumerics(result, {Style(false), 200}));
  return WriteOutput(line, files);
}

ExitCode Show(const CommandLine& line, const NumericsResult& result) {
  const absl::Status written = WriteFiles(line, result);
  if (FormatOf(line) == Format::kJson) {
    PrintLine(JsonMessage(result));
  } else {
    PrintText(HumanNumerics(result, OutputLayout(line)));
  }
  return written.ok() ? ExitCode::kEquivalent : ReportError(line, written);
}

}  // namespace

ExitCode RunHeal(const CommandLine& line) {
  if (!line.heal.journal.empty() && !line.local)
    return ReportError(line, absl::InvalidArgumentError("--resume goes with --local: the server keeps what its workers finished"));
  const absl::StatusOr<v1::NumericsRequest> request = MakeHealRequest(line);
  if (!request.ok()) return ReportError(line, request.status());
  if (absl::Status status = PrepareOutput(line); !status.ok()) return ReportError(line, status);
  if (line.local) {
    const absl::StatusOr<NumericsResult> result = RunLocally(line, *request);
    return result.ok() ? Show(line, *result) : ReportError(line, result.status());
  }
  const absl::StatusOr<std::optional<NumericsResult>> result = RunOnServer(line, *request);
  if (!result.ok()) return ReportError(line, result.status());
  return result->has_value() ? Show(line, **result) : ExitCode::kEquivalent;
}

}  // namespace samebits::cli
