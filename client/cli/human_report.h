#ifndef SAMEBITS_CLIENT_CLI_HUMAN_REPORT_H_
#define SAMEBITS_CLIENT_CLI_HUMAN_REPORT_H_

// Answers as text for people. Pure; each result ends with a line break.

#include <string>
#include <string_view>
#include <vector>

#include "client/cli/backend.h"
#include "client/cli/partition_report.h"
#include "client/cli/terminal.h"
#include "core/checker/checker.h"

namespace samebits::cli {

struct Layout {
  Style style{false};
  int width = 100;  // columns
};

std::string HumanComparison(const checker::Comparison& comparison, const std::string& a, const std::string& b,
                            const Layout& layout);

// The difference of an explained comparison: both sides beside each other, below each other on narrow terminals. Of
// long expressions the beginning and the surroundings of the first difference.
std::string HumanDifference(const checker::Difference& difference, const std::string& a, const std::string& b,
                            const Layout& layout);

std::string HumanPartition(const Partition& partition, const std::vector<BatchItem>& items, const Layout& layout);

// One line of a table of signatures: `id_width` columns for the id.
std::string HumanSignatureLine(const BatchItem& item, size_t id_width, const Layout& layout);

std::string HumanRegistered(const Registered& kernel, const std::string& path, const Layout& layout);

// "a.ptx: OK in 3.2 ms", for --verbose.
std::string VerboseLine(const std::string& id, const absl::StatusOr<checker::Signature>& signature);

// What a verdict says, one sentence.
const char* Meaning(checker::Verdict verdict);

// "  label       text", wrapped under the text.
std::string LabelledText(const std::string& label, std::string_view text, const Layout& layout);

// "line 12, file.py:3: add.f32 ...", empty where nothing is known.
std::string DescribePlace(const checker::Place& place);

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_HUMAN_REPORT_H_
