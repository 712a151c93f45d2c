#include "client/cli/commands.h"
#include "core/heal/instruction_mix/instruction_mix.h"

namespace samebits::cli {

ExitCode RunHealInstructionMix(const CommandLine& line) {
  const HealOptions& o = line.heal;
  heal::MixRequest request;
  request.files = o.files;
  request.target = o.target;
  request.match = o.match;
  request.jobs = line.jobs;
  const auto grouping = o.group.empty() ? absl::StatusOr<std::function<std::string(std::string_view)>>(nullptr)
                                        : heal::CompileGrouping(o.group);
  if (!grouping.ok()) return ReportError(line, grouping.status());
  const absl::StatusOr<heal::MixReport> report = heal::MeasureInstructionMix(request);
  if (!report.ok()) return ReportError(line, report.status());
  const std::vector<heal::MixRow> rows = heal::MakeRows(report->kernels, [&](const heal::KernelMix& kernel) {
    const std::string name = heal::ReadableName(kernel.kernel);
    return *grouping == nullptr ? name : (*grouping)(name);
  });
  if (FormatOf(line) == Format::kJson) {
    PrintLine(heal::MixJson(rows, o.all_kernels ? report->kernels : std::vector<heal::KernelMix>()));
  } else {
    PrintText(heal::MixTable(rows));
  }
  return ExitCode::kEquivalent;
}

}  // namespace samebits::cli
