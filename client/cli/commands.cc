#include "client/cli/commands.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "client/cli/gemm_library.h"
#include "client/cli/json_report.h"
#include "client/cli/terminal.h"
#include "client/cli/version.h"
#include "client/cli/watch.h"

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
    case Command::kVerify:
      return RunVerify(line);
    case Command::kJobs:
      return RunJobs(line);
    case Command::kFleet:
      return RunFleet(line);
    case Command::kReproducers:
      return RunReproducers(line);
    case Command::kBackup:
      return RunBackup(line);
    case Command::kRestore:
      return RunRestore(line);
    case Command::kFsck:
      return RunFsck(line);
    case Command::kFleetEnrol:
      return RunFleetEnrol(line);
    case Command::kToken:
      return RunToken(line);
    case Command::kHealEvaluate:
    case Command::kHealAttribute:
    case Command::kHealDecompose:
    case Command::kHealSweep:
    case Command::kHealQkv:
    case Command::kHealPolicy:
    case Command::kHealServeCost:
      return RunHeal(line);
    case Command::kHealInstructionMix:
      return RunHealInstructionMix(line);
    case Command::kGemmCheckVectors:
      return RunGemmCheckVectors(line);
    case Command::kGemmDescribe:
      return line.gemm.desc.empty() ? RunGemmDescribeShape(line) : RunGemmDescribe(line);
    case Command::kGemmEmulate:
      return line.local && !NeedsBlocks(line.gemm) ? RunGemmEmulate(line) : RunGemmEmulateBlocks(line);
    case Command::kGemmSimulate:
      return RunGemmSimulate(line);
    case Command::kGemmProbe:
      return line.local ? RunGemmProbe(line) : RunGemmProbeOnWorker(line);
    case Command::kGemmInvariance:
      return RunGemmInvariance(line);
    case Command::kProfileBuild:
      return RunProfileBuild(line);
    case Command::kProfileShow:
      return RunProfileShow(line);
    case Command::kProfileDefects:
      return RunProfileDefects(line);
    case Command::kProfileDiff:
      return RunProfileDiff(line);
    case Command::kProfileImport:
    case Command::kProfileList:
    case Command::kProfileExport:
    case Command::kProfileDelete:
      return RunProfileStored(line);
    case Command::kCiCheck:
      return RunCiCheck(line);
    case Command::kCompletion:
      PrintText(CompletionScript(line.shell));
      return ExitCode::kEquivalent;
    case Command::kManual:
      PrintText(ManualPage());
      return ExitCode::kEquivalent;
    case Command::kVersion:
      break;
  }
  return RunVersion(line);
}

}  // namespace

ExitCode RunCommand(const CommandLine& line) {
  const ExitCode code = line.watch ? Watch(line, [&] { return Dispatch(line); }) : Dispatch(line);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fputs("samebits: error: standard output cannot be written\n", stderr);
  return ExitCode::kFailure;
}

checker::Options CheckOptions(const CommandLine& line) {
  checker::Options options;
  options.ignore_signed_zero = line.ignore_signed_zero;
  options.strict_contraction = line.strict_contraction;
  options.isa = LanguageOf(line);
  return options;
}

client::ClientOptions Connection(const CommandLine& line) {
  client::ClientOptions options;
  if (!line.server.empty()) options.target = line.server;
  options.tls_ca = line.tls_ca;
  options.tls_cert = line.tls_cert;
  options.tls_key = line.tls_key;
  options.token_file = line.token_file;
  options.token_over_plaintext = line.token_over_plaintext;
  options.call_timeout = absl::Seconds(line.timeout_seconds);
  return options;
}

absl::Status NameFlags(const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrReplaceAll(status.message(), {{"tls_ca", "--tls-ca"},
                                                             {"token_over_plaintext", "--token-over-plaintext"}}));
}

absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(const CommandLine& line) {
  const checker::Options options = CheckOptions(line);
  if (line.local) return MakeLocalBackend(options, line.jobs);
  return MakeRemoteBackend(Connection(line), options);
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

absl::Status WriteFile(const std::string& path, const std::string& text) {
  const auto close = [](std::FILE* file) { return file == nullptr ? 0 : std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "wb"), close);
  const bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
                       std::fflush(file.get()) == 0;
  if (written) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be written: ", std::strerror(errno)));
}

ExitCode RunVersion(const CommandLine& line) {
  if (FormatOf(line) == Format::kJson) {
    PrintLine(JsonVersion(kVersion));
  } else {
    PrintLine(absl::StrCat("samebits ", kVersion, ", signature version ", checker::SignatureVersion()));
  }
  return ExitCode::kEquivalent;
}

}  // namespace samebits::cli
