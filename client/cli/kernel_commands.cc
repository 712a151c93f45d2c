#include "client/cli/commands.h"
#include "client/cli/json_report.h"
#include "client/launch/manifest.h"

namespace samebits::cli {

ExitCode RunRegister(const CommandLine& line) {
  absl::StatusOr<std::unique_ptr<Backend>> backend = MakeBackend(line);
  if (!backend.ok()) return ReportError(line, backend.status());
  ExitCode code = ExitCode::kEquivalent;
  for (const std::string& path : line.kernels) {
    const absl::StatusOr<std::string> text = launch::ReadFile(path, checker::Limits{}.max_text_bytes);
    const absl::StatusOr<Registered> kernel =
        text.ok() ? (*backend)->Register(*text) : absl::StatusOr<Registered>(text.status());
    if (!kernel.ok()) {
      code = ReportError(line, PrefixStatus(kernel.status(), path));
    } else if (FormatOf(line) == Format::kJson) {
      PrintLine(JsonRegistered(*kernel, path));
    } else {
      PrintText(HumanRegistered(*kernel, path, OutputLayout(line)));
    }
  }
  return code;
}

namespace {

// The kernel of `inspect`, with its text. Only a registered kernel needs a server.
absl::StatusOr<Kernel> LoadWithText(const CommandLine& line) {
  absl::StatusOr<std::vector<KernelSource>> sources = ListSources(line);
  if (!sources.ok()) return sources.status();
  const KernelSource& source = sources->front();
  if (source.kernel_name.empty()) return LoadKernel(source, nullptr);
  absl::StatusOr<std::unique_ptr<Backend>> backend = MakeBackend(line);
  if (!backend.ok()) return backend.status();
  absl::StatusOr<Kernel> kernel =
      LoadKernel(source, [&](const std::string& name) { return (*backend)->Describe(name); });
  if (!kernel.ok()) return kernel;
  absl::StatusOr<std::string> text = (*backend)->FetchText(source.kernel_name);
  if (!text.ok()) return text.status();
  kernel->text = *std::move(text);
  return kernel;
}

}  // namespace

ExitCode RunInspect(const CommandLine& line) {
  const absl::StatusOr<Kernel> kernel = LoadWithText(line);
  if (!kernel.ok()) return ReportError(line, kernel.status());
  const absl::StatusOr<std::string> map = checker::Inspect(kernel->text, kernel->launch.launch, CheckOptions(line));
  if (!map.ok()) return ReportError(line, PrefixStatus(map.status(), kernel->id));
  if (FormatOf(line) == Format::kJson) {
    PrintLine(JsonMap(kernel->id, *map));
  } else {
    PrintText(map->ends_with('\n') ? *map : *map + "\n");
  }
  return ExitCode::kEquivalent;
}

}  // namespace samebits::cli
