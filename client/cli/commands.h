#ifndef SAMEBITS_CLIENT_CLI_COMMANDS_H_
#define SAMEBITS_CLIENT_CLI_COMMANDS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/backend.h"
#include "client/cli/command_line.h"
#include "client/cli/exit_code.h"
#include "client/cli/human_report.h"
#include "client/cpp/client.h"

namespace samebits::cli {

// Does what the command line asks: answers on standard output, progress and errors on standard error.
ExitCode RunCommand(const CommandLine& line);

// One command each; RunCommand chooses.
ExitCode RunPair(const CommandLine& line);  // compare and explain
ExitCode RunPartition(const CommandLine& line);
ExitCode RunSignature(const CommandLine& line);
ExitCode RunRegister(const CommandLine& line);
ExitCode RunInspect(const CommandLine& line);
ExitCode RunCiCheck(const CommandLine& line);
ExitCode RunVerify(const CommandLine& line);
ExitCode RunJobs(const CommandLine& line);
ExitCode RunFleet(const CommandLine& line);
ExitCode RunReproducers(const CommandLine& line);
ExitCode RunFleetEnrol(const CommandLine& line);
ExitCode RunToken(const CommandLine& line);
ExitCode RunServe(const CommandLine& line);
ExitCode RunBackup(const CommandLine& line);
ExitCode RunRestore(const CommandLine& line);
ExitCode RunFsck(const CommandLine& line);
ExitCode RunVersion(const CommandLine& line);
ExitCode RunHeal(const CommandLine& line);  // evaluate to serve-cost
ExitCode RunHealInstructionMix(const CommandLine& line);
ExitCode RunGemmCheckVectors(const CommandLine& line);
ExitCode RunGemmDescribe(const CommandLine& line);
ExitCode RunGemmEmulate(const CommandLine& line);
ExitCode RunGemmSimulate(const CommandLine& line);
ExitCode RunGemmDescribeShape(const CommandLine& line);  // of a profile
ExitCode RunGemmProbe(const CommandLine& line);
ExitCode RunGemmProbeOnWorker(const CommandLine& line);
ExitCode RunGemmEmulateBlocks(const CommandLine& line);  // generated operands or chosen outputs, here or on a worker
ExitCode RunGemmInvariance(const CommandLine& line);
ExitCode RunProfileBuild(const CommandLine& line);
ExitCode RunProfileShow(const CommandLine& line);
ExitCode RunProfileDefects(const CommandLine& line);
ExitCode RunProfileDiff(const CommandLine& line);
ExitCode RunProfileStored(const CommandLine& line);  // import, list, export, delete

// The backend that the command line names.
absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(const CommandLine& line);

checker::Options CheckOptions(const CommandLine& line);

// Path of the database that `serve` would use with these options, whether it is there or not.
absl::StatusOr<std::string> ExistingDatabase(const ServeOptions& options);

// How to reach the server that the command line names.
client::ClientOptions Connection(const CommandLine& line);
// An error of the client with the command's flags in place of the options' fields.
absl::Status NameFlags(const absl::Status& status);

// Format asked for, or human.
Format FormatOf(const CommandLine& line);

// Colour and width of standard output.
Layout OutputLayout(const CommandLine& line);

// Prints an error: on standard error, and as an object on standard output where the format is JSON.
ExitCode ReportError(const CommandLine& line, const absl::Status& status);

void PrintText(const std::string& text);  // as it is
void PrintLine(const std::string& text);  // with a line break

// Replaces a file's content. INVALID_ARGUMENT with the system's reason.
absl::Status WriteFile(const std::string& path, const std::string& text);

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_COMMANDS_H_
