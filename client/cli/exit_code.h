#ifndef SAMEBITS_CLIENT_CLI_EXIT_CODE_H_
#define SAMEBITS_CLIENT_CLI_EXIT_CODE_H_

#include "absl/status/status.h"
#include "core/checker/checker.h"

namespace samebits::cli {

// What the process returns; part of the interface (docs/cli.md).
enum class ExitCode : int {
  kEquivalent = 0,     // also: the command did what it was asked
  kNotEquivalent = 1,  // DIFFERENT, DISTINCT or NONDETERMINISTIC
  kBadInput = 2,       // usage, files, launches, texts that do not parse
  kUnknown = 3,        // not decided
  kFailure = 4,        // of the server or the system, not of the input; trying again may help
};

inline ExitCode ExitCodeOf(checker::Verdict verdict) {
  switch (verdict) {
    case checker::Verdict::kEquivalent:
      return ExitCode::kEquivalent;
    case checker::Verdict::kDifferent:
    case checker::Verdict::kDistinct:
    case checker::Verdict::kNondeterministic:
      return ExitCode::kNotEquivalent;
    case checker::Verdict::kUnknown:
      break;
  }
  return ExitCode::kUnknown;
}

// Of an error: failures of the service apart from failures of the input.
ExitCode ExitCodeOf(const absl::Status& error);

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_EXIT_CODE_H_
