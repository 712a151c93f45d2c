#ifndef SAMEBITS_CLIENT_CLI_JOB_CONNECTION_H_
#define SAMEBITS_CLIENT_CLI_JOB_CONNECTION_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/command_line.h"
#include "client/cpp/job_client.h"

namespace samebits::cli {

// The client of jobs of the server that the command line names; errors say what to do.
absl::StatusOr<std::unique_ptr<client::JobClient>> ConnectJobClient(const CommandLine& line);

// Waits for the operation's end and shows its progress; `unit`: what its tasks count.
absl::StatusOr<v1::Operation> WatchWithProgress(const CommandLine& line, client::JobClient& client,
                                                const std::string& name, const char* unit);

// A request id that no other call has: makes a repeated call harmless.
std::string NewRequestId();

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_JOB_CONNECTION_H_
