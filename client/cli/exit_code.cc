#include "client/cli/exit_code.h"

namespace samebits::cli {

ExitCode ExitCodeOf(const absl::Status& error) {
  switch (error.code()) {
    case absl::StatusCode::kOk:
      return ExitCode::kEquivalent;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kAborted:
      return ExitCode::kFailure;
    default:
      return ExitCode::kBadInput;
  }
}

}  // namespace samebits::cli
