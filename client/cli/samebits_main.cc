#include "client/cli/command_line.h"
#include "client/cli/commands.h"

int main(int argc, char** argv) {
  using namespace samebits::cli;
  const ParsedCommandLine parsed = ParseCommandLine(argc, argv);
  const ExitCode code = parsed.command_line ? RunCommand(*parsed.command_line) : parsed.exit_code;
  return static_cast<int>(code);
}
