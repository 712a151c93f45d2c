#ifndef SAMEBITS_CLIENT_CLI_JOB_REPORT_H_
#define SAMEBITS_CLIENT_CLI_JOB_REPORT_H_

// Jobs, verifications and workers as text. Pure. JSON forms are the API's messages in protobuf's JSON mapping, with
// the fields' own names, on one line.

#include <string>
#include <vector>

#include "client/cli/exit_code.h"
#include "client/cli/human_report.h"

namespace google::protobuf {
class Message;
}
namespace samebits::v1 {
class Operation;
class Reproducer;
class VerifyKernelsResponse;
class Worker;
}  // namespace samebits::v1

namespace samebits::cli {

std::string JsonMessage(const google::protobuf::Message& message);

// The state in a few lines: tasks with progress and errors; without the result.
std::string HumanOperation(const v1::Operation& operation, const Layout& layout);
std::string HumanOperationLine(const v1::Operation& operation, const Layout& layout);
std::string HumanVerification(const v1::VerifyKernelsResponse& result, const Layout& layout);
// The line of a list, and what is known of one.
std::string HumanReproducerLine(const v1::Reproducer& reproducer);
std::string HumanReproducer(const v1::Reproducer& reproducer, const Layout& layout);
std::string HumanWorker(const v1::Worker& worker, const Layout& layout);

// docs/cli.md.
ExitCode ExitCodeOf(const v1::VerifyKernelsResponse& result);

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_JOB_REPORT_H_
