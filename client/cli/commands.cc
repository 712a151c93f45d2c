#include "client/cli/commands.h"

#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "client/cli/json_report.h"
#include "client/cli/terminal.h"
#include "client/cli/version.h"

namespace samebits::cli {
namespace {

ExitCode Dispatch(const CommandLine& line) {
  switch (line.command) {
    case Command::kServe:
      return RunServe(line);
    case Command::kRegister:
      return RunRegister(line);
    case Command::kCompare:
    case Command::kExplain:
      return RunPair(line);
    case Command::kPartition:
      return RunPartition(line);
    case Command::kSignature:
      return RunSignature(line);
    case Command::kInspect:
      return RunInspect(line);
    case Command::kGemmCheckVectors:
      return RunGemmCheckVectors(line);
    case Command::kVersion:
      break;
  }
  return RunVersion(line);
}

}  // namespace

ExitCode RunCommand(const CommandLine& line) {
  const ExitCode code = Dispatch(line);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fputs("samebits: error: standard output cannot be written\n", stderr);
  return ExitCode::kFailure;
}

checker::Options CheckOptions(const CommandLine& line) {
  checker::Options options;
  options.ignore_signed_zero = line.ignore_signed_zero;
  options.strict_contraction = line.strict_contraction;
  return options;
}

absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(const CommandLine& line) {
  const checker::Options options = CheckOptions(line);
  if (line.local) return MakeLocalBackend(options, line.jobs);
  return MakeRemoteBackend(line, options);
}

Format FormatOf(const CommandLine& line) { return line.format.value_or(Format::kHuman); }

Layout OutputLayout(const CommandLine& line) {
  return {Style(UseColor(line.color, STDOUT_FILENO)), TerminalWidth(STDOUT_FILENO)};
}

ExitCode ReportError(const CommandLine& line, const absl::Status& status) {
  const Style style(UseColor(line.color, STDERR_FILENO));
  std::fprintf(stderr, "samebits: %s %s\n", style.Red("error:").c_str(),
               OneLine(std::string(status.message())).c_str());
  if (FormatOf(line) == Format::kJson) PrintLine(JsonError(status));
  return ExitCodeOf(status);
}

void PrintText(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void PrintLine(const std::string& text) { PrintText(text + "\n"); }

ExitCode RunVersion(const CommandLine& line) {
  if (FormatOf(line) == Format::kJson) {
    PrintLine(JsonVersion(kVersion));
  } else {
    PrintLine(absl::StrCat("samebits ", kVersion, ", signature version ", checker::SignatureVersion()));
  }
  return ExitCode::kEquivalent;
}

}  // namespace samebits::cli
