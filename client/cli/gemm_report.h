#ifndef SAMEBITS_CLIENT_CLI_GEMM_REPORT_H_
#define SAMEBITS_CLIENT_CLI_GEMM_REPORT_H_

// Results of jobs about single matrix products as text. Pure.

#include <string>

#include "client/cli/exit_code.h"

namespace samebits::v1 {
class EmulateGemmOnWorkerResponse;
class RecoverGemmsResponse;
}  // namespace samebits::v1

namespace samebits::cli {

std::string HumanRecovery(const v1::RecoverGemmsResponse& response);
std::string HumanEmulation(const v1::EmulateGemmOnWorkerResponse& response);

// As of `gemm probe` for one shape; of several the worst: unexplained, then a defect, then what the library does not have.
ExitCode ExitCodeOf(const v1::RecoverGemmsResponse& response);

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_GEMM_REPORT_H_
