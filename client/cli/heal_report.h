#ifndef SAMEBITS_CLIENT_CLI_HEAL_REPORT_H_
#define SAMEBITS_CLIENT_CLI_HEAL_REPORT_H_

#include <string>

#include "client/cli/human_report.h"
#include "core/heal/jobs/result.h"
#include "samebits/v1/numerics.pb.h"

namespace samebits::cli {

// What a job of numerics found, as tables for people.
std::string HumanNumerics(const v1::NumericsResult& result, const Layout& layout);
std::string HumanNumerics(const heal::JobResult& result, const Layout& layout);

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_HEAL_REPORT_H_
