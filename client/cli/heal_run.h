#ifndef SAMEBITS_CLIENT_CLI_HEAL_RUN_H_
#define SAMEBITS_CLIENT_CLI_HEAL_RUN_H_

// What the commands `heal ...` share.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/command_line.h"
#include "samebits/v1/numerics.pb.h"

namespace samebits::cli {

// Before a job that may take hours: the folder that --output names exists and takes files. Nothing without the option.
absl::Status PrepareOutput(const CommandLine& line);
// Names and texts, into that folder; nothing without the option.
absl::Status WriteOutput(const CommandLine& line, const std::vector<std::pair<std::string, std::string>>& files);

// Has a worker of the server do it, with progress. Nothing where the command does not wait: the job's name is printed.
// Errors: the service's, and the operation's own with its name.
absl::StatusOr<std::optional<v1::NumericsResult>> RunOnServer(const CommandLine& line, const v1::NumericsRequest& request);

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_HEAL_RUN_H_
