// The command `heal instruction-mix`, in this process or on a worker of a server.

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/heal_request.h"
#include "client/cli/heal_run.h"
#include "client/cli/progress.h"
#include "client/render/heal_figures.h"
#include "core/heal/instruction_mix/instruction_mix.h"
#include "proto/convert/numerics/instruction_mix.h"
#include "proto/convert/numerics/numerics.h"
#include "workers/heal/backend/engine_mix.h"

namespace samebits::cli {
namespace {

using Grouping = std::function<std::string(std::string_view)>;

class LocalEvents : public heal::MixEvents {
 public:
  explicit LocalEvents(const CommandLine& line) : progress_(1, line.quiet, line.verbose, "modules") {}
  void OnProgress(int64_t done, int64_t total, const std::string&) override {
    progress_.Set(static_cast<size_t>(done), static_cast<size_t>(total));
  }

 private:
  Progress progress_;
};

absl::StatusOr<heal::MixReport> MeasureLocally(const CommandLine& line) {
  const HealOptions& o = line.heal;
  heal::MixRequest request;
  request.target = o.target;
  request.match = o.match;
  request.jobs = line.jobs;
  for (const std::string& file : o.files) request.sources.push_back(heal::FileSource(file));
  if (!o.engine.empty()) {
    const absl::StatusOr<v1::NumericsRequest> asked = MakeMixRequest(line);
    if (!asked.ok()) return asked.status();
    const v1::MeasureInstructionMixRequest& mix = asked->instruction_mix();
    if (absl::Status status = proto::CheckInstructionMix(mix); !status.ok()) return status;
    request.target = proto::EngineTargetOf(mix);
    auto sources = workers::EngineSources(proto::EngineConfigurationsOf(mix), *proto::EngineShapeOf(mix), request.target);
    if (!sources.ok()) return sources.status();
    request.sources = *std::move(sources);
  }
  LocalEvents events(line);
  absl::StatusOr<heal::MixReport> report = heal::MeasureInstructionMix(request, events);
  if (report.ok()) report->engine = !o.engine.empty();
  return report;
}

ExitCode Show(const CommandLine& line, const heal::MixReport& report, const Grouping& group) {
  const std::vector<heal::MixRow> rows = heal::RowsOf(report, group);
  const std::string table = heal::MixTable(rows);
  const std::string json = heal::MixJson(rows, line.heal.all_kernels ? report.kernels : std::vector<heal::KernelMix>());
  const absl::Status written = WriteOutput(line, {{"figure.svg", render::InstructionMixFigure(rows)}, {"result.json", json}, {"table.txt", table}});
  if (FormatOf(line) == Format::kJson) {
    PrintLine(json);
  } else {
    PrintText(table);
  }
  return written.ok() ? ExitCode::kEquivalent : ReportError(line, written);
}

ExitCode MeasureOnServer(const CommandLine& line, const Grouping& group) {
  const absl::StatusOr<v1::NumericsRequest> request = MakeMixRequest(line);
  if (!request.ok()) return ReportError(line, request.status());
  const auto result = RunOnServer(line, *request);
  if (!result.ok()) return ReportError(line, result.status());
  if (!result->has_value()) return ExitCode::kEquivalent;
  const absl::StatusOr<heal::JobResult> read = proto::ResultFromProto(**result);
  if (!read.ok()) return ReportError(line, read.status());
  const auto* report = std::get_if<heal::MixReport>(&*read);
  if (report == nullptr) return ReportError(line, absl::InternalError("the server answered with another job's result"));
  return Show(line, *report, group);
}

}  // namespace

ExitCode RunHealInstructionMix(const CommandLine& line) {
  const HealOptions& o = line.heal;
  if (o.files.empty() == o.engine.empty())
    return ReportError(line, absl::InvalidArgumentError("name files, or configurations of our own engine: --engine heal+,bf16 or --engine all"));
  const absl::StatusOr<Grouping> group = o.group.empty() ? absl::StatusOr<Grouping>(nullptr) : heal::CompileGrouping(o.group);
  if (!group.ok()) return ReportError(line, group.status());
  if (absl::Status status = PrepareOutput(line); !status.ok()) return ReportError(line, status);
  if (!line.local) return MeasureOnServer(line, *group);
  const absl::StatusOr<heal::MixReport> report = MeasureLocally(line);
  return report.ok() ? Show(line, *report, *group) : ReportError(line, report.status());
}

}  // namespace samebits::cli
