#include "client/cli/partition_report.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace samebits::cli {
namespace {

std::optional<size_t> FindItem(const std::vector<BatchItem>& items, const std::string& id) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].id == id) return i;
  }
  return std::nullopt;
}

void PutReferenceFirst(Partition* partition) {
  const size_t reference = *partition->reference;
  for (size_t i = 0; i < partition->classes.size(); ++i) {
    PartitionClass& c = partition->classes[i];
    if (std::find(c.members.begin(), c.members.end(), reference) == c.members.end()) continue;
    c.has_reference = true;
    c.representative = reference;
    std::rotate(partition->classes.begin(), partition->classes.begin() + i, partition->classes.begin() + i + 1);
    return;
  }
}

}  // namespace

absl::StatusOr<Partition> BuildPartition(const std::vector<BatchItem>& items, const std::string& reference) {
  Partition partition;
  if (!reference.empty()) {
    partition.reference = FindItem(items, reference);
    if (!partition.reference) {
      return absl::InvalidArgumentError(
          absl::StrCat("--reference ", reference, ": no kernel of the batch has this id"));
    }
  }
  std::unordered_map<std::string, size_t> class_of;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].signature.ok()) {
      partition.errors.push_back(i);
      continue;
    }
    const checker::Signature& signature = *items[i].signature;
    if (signature.status != checker::SignatureStatus::kOk) {
      const bool is_unknown = signature.status == checker::SignatureStatus::kUnknown;
      (is_unknown ? partition.unknown : partition.nondeterministic).push_back(i);
      continue;
    }
    const auto [at, is_new] = class_of.emplace(signature.digest, partition.classes.size());
    if (is_new) partition.classes.push_back({signature.digest, {}, i});
    partition.classes[at->second].members.push_back(i);
  }
  if (partition.reference) PutReferenceFirst(&partition);
  return partition;
}

ExitCode ExitCodeOf(const Partition& partition) {
  if (!partition.errors.empty()) return ExitCode::kBadInput;
  if (partition.classes.size() > 1 || !partition.nondeterministic.empty()) return ExitCode::kNotEquivalent;
  return partition.unknown.empty() ? ExitCode::kEquivalent : ExitCode::kUnknown;
}

}  // namespace samebits::cli
