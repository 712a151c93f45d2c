#include <utility>

#include "client/cli/commands.h"
#include "client/cli/json_report.h"

namespace samebits::cli {
namespace {

absl::StatusOr<std::pair<Kernel, Kernel>> LoadPair(const CommandLine& line, Backend* backend) {
  absl::StatusOr<std::vector<KernelSource>> sources = ListSources(line);
  if (!sources.ok()) return sources.status();
  const auto describe = [&](const std::string& name) { return backend->Describe(name); };
  absl::StatusOr<Kernel> a = LoadKernel((*sources)[0], describe), b = LoadKernel((*sources)[1], describe);
  if (!a.ok()) return a.status();
  if (!b.ok()) return b.status();
  return std::pair(*std::move(a), *std::move(b));
}

void PrintComparison(const CommandLine& line, const checker::Comparison& comparison, const Kernel& a, const Kernel& b) {
  if (FormatOf(line) == Format::kJson) return PrintLine(JsonComparison(comparison, a.id, b.id));
  const Layout layout = OutputLayout(line);
  PrintText(HumanComparison(comparison, a.id, b.id, layout));
  if (comparison.difference) {
    PrintText(HumanDifference(*comparison.difference, a.id, b.id, layout));
  } else if (line.command == Command::kCompare && (comparison.verdict == checker::Verdict::kDifferent ||
                                                   comparison.verdict == checker::Verdict::kDistinct)) {
    PrintText("  " + layout.style.Dim("where they part: the same command with explain in place of compare") + "\n");
  }
}

}  // namespace

ExitCode RunPair(const CommandLine& line) {
  absl::StatusOr<std::unique_ptr<Backend>> backend = MakeBackend(line);
  if (!backend.ok()) return ReportError(line, backend.status());
  absl::StatusOr<std::pair<Kernel, Kernel>> pair = LoadPair(line, backend->get());
  if (!pair.ok()) return ReportError(line, pair.status());
  const auto& [a, b] = *pair;
  const absl::StatusOr<checker::Comparison> comparison =
      line.command == Command::kExplain ? (*backend)->Explain(a, b) : (*backend)->Compare(a, b);
  if (!comparison.ok()) return ReportError(line, comparison.status());
  PrintComparison(line, *comparison, a, b);
  return ExitCodeOf(comparison->verdict);
}

}  // namespace samebits::cli
