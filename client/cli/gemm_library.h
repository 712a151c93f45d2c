#ifndef SAMEBITS_CLIENT_CLI_GEMM_LIBRARY_H_
#define SAMEBITS_CLIENT_CLI_GEMM_LIBRARY_H_

// Libraries of matrix products that commands study, and arch profiles in files.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/command_line.h"
#include "client/cpp/profile_client.h"
#include "core/gemm/profile.h"
#include "workers/gemm/library.h"

namespace samebits::cli {

// As workers::FindGemmLibrary.
absl::StatusOr<workers::GemmLibrary> FindGemmLibrary(const GemmOptions& options);

// A problem of the options' types, layout and sides. INVALID_ARGUMENT that names the option.
absl::StatusOr<gemm::GemmProblem> ProblemOf(const GemmOptions& options);

// Whether `emulate` was asked for what core/gemm's Emulate does not do.
bool NeedsBlocks(const GemmOptions& options);

// The text itself, or that of the file after '@'.
absl::StatusOr<gemm::GemmDesc> ReadDescriptor(const std::string& argument);

// The bytes of an operand's file ("-": standard input), at most what the largest type needs for the options' sides.
absl::StatusOr<std::string> ReadOperand(const GemmOptions& options, const std::string& path);

// A factor of an epilogue as a pattern of its type.
uint64_t EpilogueScalar(const gemm::GemmDesc& desc, double value);

// Of a file, or of the server where `name` begins with "archProfiles/".
absl::StatusOr<gemm::ArchProfile> ReadProfile(const CommandLine& line, const std::string& name);

absl::StatusOr<std::unique_ptr<client::ProfileClient>> ConnectProfiles(const CommandLine& line);

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_GEMM_LIBRARY_H_
