#ifndef SAMEBITS_CLIENT_CLI_WATCH_H_
#define SAMEBITS_CLIENT_CLI_WATCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/cli/command_line.h"
#include "client/cli/exit_code.h"

namespace samebits::cli {

// Files and folders that the answer to a command line depends on: its kernels with the launch files beside them, its
// manifest and pairs, the two builds of `ci check`. Manifests stand for their folders.
std::vector<std::string> WatchedPaths(const CommandLine& line);

// A number that changes when one of the files, or a file below one of the folders, is written, made or deleted. Looks at
// names, sizes and times of at most 200,000 files; what cannot be read counts as absent.
uint64_t Fingerprint(const std::vector<std::string>& paths);

// Returns when the fingerprint has become another than `known` and has stayed the same for one `poll`, with the new one.
uint64_t AwaitChange(const std::vector<std::string>& paths, uint64_t known, absl::Duration poll);

// Answers, and again after each change, until the process is ended. An error is an answer. INVALID_ARGUMENT as
// kBadInput where nothing that is asked about is a file.
ExitCode Watch(const CommandLine& line, const std::function<ExitCode()>& answer);

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_WATCH_H_
