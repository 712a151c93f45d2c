#ifndef SAMEBITS_CLIENT_CLI_JSON_REPORT_H_
#define SAMEBITS_CLIENT_CLI_JSON_REPORT_H_

// Answers as JSON (shapes: docs/cli.md). Pure. Without a line break at the end; one line each. Bytes that are not
// UTF-8 are replaced.

#include <string>
#include <vector>

#include "client/cli/backend.h"
#include "client/cli/partition_report.h"
#include "core/checker/checker.h"

namespace samebits::cli {

std::string JsonComparison(const checker::Comparison& comparison, const std::string& a, const std::string& b);
std::string JsonPartition(const Partition& partition, const std::vector<BatchItem>& items);

// A line of `signature`. An item in error has status UNKNOWN and its error as reason.
std::string JsonSignature(const BatchItem& item);

std::string JsonRegistered(const Registered& kernel, const std::string& path);
std::string JsonMap(const std::string& id, const std::string& map);
std::string JsonVersion(const std::string& version);
std::string JsonError(const absl::Status& status);

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_JSON_REPORT_H_
