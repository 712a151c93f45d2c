#ifndef SAMEBITS_CLIENT_CI_REPORT_H_
#define SAMEBITS_CLIENT_CI_REPORT_H_

// Findings in the forms that CI systems read. Pure; text that comes from kernels and paths is escaped.

#include <string>
#include <vector>

#include "client/ci/check.h"

namespace samebits::ci {

struct Report {
  const std::vector<Finding>& findings;
  const std::vector<SignedKernel>& baseline;
  const std::vector<SignedKernel>& candidate;
  std::array<bool, kOutcomes> fails{};  // outcomes that fail the check; see Fails
  std::string version;                  // of the program
};

// Whether the finding fails the check: its outcome does, and where it is unknown the text is not the baseline's.
bool Fails(const Report& report, const Finding& finding);

// The reason, and what an explanation adds: the sentence, the element, both instructions; one fact a line.
std::vector<std::string> Lines(const Report& report, const Finding& finding);

// One object: counts, and a finding a kernel.
std::string JsonReport(const Report& report);
// One test case a kernel: a failure for what fails, "skipped" for what is not decided and does not fail.
std::string JunitReport(const Report& report);
// SARIF 2.1.0: a result for every finding but the equal ones, of level "error" where it fails.
std::string SarifReport(const Report& report);

}  // namespace samebits::ci

#endif  // SAMEBITS_CLIENT_CI_REPORT_H_
