#ifndef SAMEBITS_CLIENT_CLI_PARTITION_REPORT_H_
#define SAMEBITS_CLIENT_CLI_PARTITION_REPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/exit_code.h"
#include "core/checker/checker.h"

namespace samebits::cli {

// One kernel of a batch with its outcome.
struct BatchItem {
  std::string id;
  absl::StatusOr<checker::Signature> signature = absl::UnknownError("not checked");
};

// Items of equal signature, as indices into the batch in its order.
struct PartitionClass {
  std::string digest;
  std::vector<size_t> members;
  size_t representative = 0;  // the reference where it is a member, else the first
  bool has_reference = false;
};

struct Partition {
  std::vector<PartitionClass> classes;  // the reference's first, others in order of first appearance
  std::vector<size_t> nondeterministic, unknown, errors;
  std::optional<size_t> reference;
};

// Sorts a batch into classes. `reference` is the id of an item, empty for none; INVALID_ARGUMENT where there is none
// of that id.
absl::StatusOr<Partition> BuildPartition(const std::vector<BatchItem>& items, const std::string& reference);

ExitCode ExitCodeOf(const Partition& partition);

}  // namespace samebits::cli

#endif  // SAMEBITS_CLIENT_CLI_PARTITION_REPORT_H_
