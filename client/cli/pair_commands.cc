#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/json_report.h"
#include "client/cli/version.h"
#include "client/render/report.h"

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

// Whether a check failed for want of shared memory that the launch does not give.
bool LacksSharedMemory(const checker::Signature& signature, const Kernel& kernel) {
  return signature.reason_code == "ADDRESS_BOUNDS" && kernel.launch.launch.shared_bytes == 0 &&
         signature.reason.find("shared-memory access") != std::string::npos;
}

// What to try next, empty where there is nothing.
std::string Hint(const CommandLine& line, const checker::Comparison& comparison, const Kernel& a, const Kernel& b) {
  switch (comparison.verdict) {
    case checker::Verdict::kDifferent:
    case checker::Verdict::kDistinct:
      if (line.command == Command::kExplain) return "";
      return "where they part: the same command with explain in place of compare";
    case checker::Verdict::kUnknown: {
      const auto is_open = [](const Kernel& kernel) {
        return !kernel.launch.launch.args || !kernel.launch.launch.grid;
      };
      if (LacksSharedMemory(comparison.a, a) || LacksSharedMemory(comparison.b, b))
        return "a launch gives no dynamic shared memory: add --shared BYTES (Triton: kernel.metadata.shared)";
      if (!is_open(a) && !is_open(b)) return "";
      return "a launch is open: bounds and loops often need the arguments (--arg) and the grid (--grid)";
    }
    case checker::Verdict::kEquivalent:
    case checker::Verdict::kNondeterministic:
      break;
  }
  return "";
}

void PrintComparison(const CommandLine& line, const checker::Comparison& comparison, const Kernel& a,
                     const Kernel& b) {
  if (FormatOf(line) == Format::kJson) return PrintLine(JsonComparison(comparison, a.id, b.id));
  const Layout layout = OutputLayout(line);
  PrintText(HumanComparison(comparison, a.id, b.id, layout));
  if (comparison.difference) PrintText(HumanDifference(*comparison.difference, a.id, b.id, layout));
  const std::string hint = Hint(line, comparison, a, b);
  if (!hint.empty()) PrintText(absl::StrCat("  ", layout.style.Dim(hint), "\n"));
}

// The files that the command line asks for.
absl::Status WriteReports(const CommandLine& line, const checker::Comparison& comparison, const Kernel& a, const Kernel& b) {
  if (line.svg.empty() && line.html.empty()) return absl::OkStatus();
  const render::Report report{comparison,
                              {a.id, render::LaunchRows(a.launch.launch)},
                              {b.id, render::LaunchRows(b.launch.launch)},
                              Meaning(comparison.verdict),
                              kVersion};
  if (!line.svg.empty())
    if (absl::Status status = WriteFile(line.svg, render::SvgReport(report)); !status.ok()) return status;
  return line.html.empty() ? absl::OkStatus() : WriteFile(line.html, render::HtmlReport(report));
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
  if (const absl::Status status = WriteReports(line, *comparison, a, b); !status.ok()) return ReportError(line, status);
  PrintComparison(line, *comparison, a, b);
  return ExitCodeOf(comparison->verdict);
}

}  // namespace samebits::cli
