#include <algorithm>
#include <iterator>
#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/json_report.h"
#include "client/cli/version.h"
#include "client/launch/manifest.h"
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
        const checker::Launch& launch = kernel.launch.launch;
        return !launch.args || !launch.grid ||
               std::any_of(launch.args->begin(), launch.args->end(), [](const checker::Argument& a) { return a.kind == checker::Argument::Kind::kUnknown; });
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

absl::StatusOr<checker::Comparison> Ask(const CommandLine& line, Backend* backend, const Kernel& a, const Kernel& b) {
  return line.command == Command::kExplain ? backend->Explain(a, b) : backend->Compare(a, b);
}

// The two ids of a line of the file of pairs.
absl::StatusOr<std::array<std::string, 2>> IdsOf(const std::string& text, size_t number) {
  const auto row = nlohmann::json::parse(text, nullptr, false);
  if (!row.is_object() || !row.contains("a") || !row.contains("b") || !row["a"].is_string() || !row["b"].is_string())
    return absl::InvalidArgumentError(absl::StrCat("line ", number, " of the pairs: expected {\"a\": ID, \"b\": ID}"));
  return std::array<std::string, 2>{row["a"], row["b"]};
}

// One line of the file of pairs.
absl::StatusOr<ExitCode> AnswerPair(const CommandLine& line, Backend* backend, const std::map<std::string, KernelSource>& sources,
                        const std::array<std::string, 2>& ids) {
  const auto describe = [&](const std::string& name) { return backend->Describe(name); };
  std::vector<Kernel> kernels;
  for (const std::string& id : ids) {
    const auto it = sources.find(id);
    if (it == sources.end()) return absl::NotFoundError(absl::StrCat("the manifest has no '", id, "'"));
    absl::StatusOr<Kernel> kernel = LoadKernel(it->second, describe);
    if (!kernel.ok()) return kernel.status();
    kernels.push_back(*std::move(kernel));
  }
  const auto comparison = Ask(line, backend, kernels[0], kernels[1]);
  if (!comparison.ok()) return comparison.status();
  PrintComparison(line, *comparison, kernels[0], kernels[1]);
  return ExitCodeOf(comparison->verdict);
}

// The code of a batch that has pairs of both: failures and bad input first, then what is not decided, then what differs.
ExitCode Worse(ExitCode a, ExitCode b) {
  const auto rank = [](ExitCode code) {
    static constexpr ExitCode kOrder[] = {ExitCode::kEquivalent, ExitCode::kNotEquivalent, ExitCode::kUnknown,
                                          ExitCode::kBadInput, ExitCode::kFailure};
    return std::find(std::begin(kOrder), std::end(kOrder), code) - std::begin(kOrder);
  };
  return rank(a) < rank(b) ? b : a;
}

// Answers pair by pair; a pair that cannot be answered gets an error and does not end the batch.
ExitCode RunPairs(const CommandLine& line, Backend* backend) {
  const absl::StatusOr<std::vector<KernelSource>> listed = ListSources(line);
  if (!listed.ok()) return ReportError(line, listed.status());
  std::map<std::string, KernelSource> sources;
  for (const KernelSource& source : *listed) sources[source.id] = source;
  constexpr uint64_t kMaxPairsBytes = 256u << 20;
  const absl::StatusOr<std::string> text = launch::ReadFile(line.pairs, kMaxPairsBytes);
  if (!text.ok()) return ReportError(line, text.status());
  ExitCode code = ExitCode::kEquivalent;
  size_t number = 0;
  for (size_t at = 0; at < text->size();) {
    const size_t end = std::min(text->find('\n', at), text->size());
    const std::string row = text->substr(at, end - at);
    at = end + 1;
    ++number;
    if (row.find_first_not_of(" \t\r") == std::string::npos) continue;
    const auto ids = IdsOf(row, number);
    const absl::StatusOr<ExitCode> answer = ids.ok() ? AnswerPair(line, backend, sources, *ids) : ids.status();
    code = Worse(code, answer.ok() ? *answer : ReportError(line, answer.status()));
    std::fflush(stdout);
  }
  return code;
}

}  // namespace

ExitCode RunPair(const CommandLine& line) {
  absl::StatusOr<std::unique_ptr<Backend>> backend = MakeBackend(line);
  if (!backend.ok()) return ReportError(line, backend.status());
  if (!line.pairs.empty()) return RunPairs(line, backend->get());
  absl::StatusOr<std::pair<Kernel, Kernel>> pair = LoadPair(line, backend->get());
  if (!pair.ok()) return ReportError(line, pair.status());
  const auto& [a, b] = *pair;
  const absl::StatusOr<checker::Comparison> comparison = Ask(line, backend->get(), a, b);
  if (!comparison.ok()) return ReportError(line, comparison.status());
  if (const absl::Status status = WriteReports(line, *comparison, a, b); !status.ok()) return ReportError(line, status);
  PrintComparison(line, *comparison, a, b);
  return ExitCodeOf(comparison->verdict);
}

}  // namespace samebits::cli
