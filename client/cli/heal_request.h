#ifndef SAMEBITS_CLIENT_CLI_HEAL_REQUEST_H_
#define SAMEBITS_CLIENT_CLI_HEAL_REQUEST_H_

#include "absl/status/statusor.h"
#include "client/cli/command_line.h"
#include "samebits/v1/numerics.pb.h"

namespace samebits::cli {

// The request that the command `heal ...` asks for; reads the file of prompts. INVALID_ARGUMENT with the option, or the
// file's line; NOT_FOUND for a file that is not there.
absl::StatusOr<v1::NumericsRequest> MakeHealRequest(const CommandLine& line);

// The request of `heal instruction-mix`; reads the files.
absl::StatusOr<v1::NumericsRequest> MakeMixRequest(const CommandLine& line);

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_HEAL_REQUEST_H_
