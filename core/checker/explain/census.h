#ifndef SAMEBITS_CORE_CHECKER_EXPLAIN_CENSUS_H_
#define SAMEBITS_CORE_CHECKER_EXPLAIN_CENSUS_H_

// Counts over one expression, and the set of values in it.

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "core/expr/node.h"
#include "core/symexec/symbolic.h"

namespace samebits::checker {

class Census {
 public:
  static constexpr size_t kMaxValues = 200'000;  // of the set; those nearest the root are in it

  Census(const expr::NodeManager& nodes, const symexec::SymbolicSpace& symbolic, const expr::Scalar& root);

  // Operations of the node written out as a tree (what is used twice counts twice), and its loads; both saturate at 2^32 - 1.
  uint64_t operations(expr::NodeId id) const { return id < operations_.size() ? operations_[id] : 0; }
  uint64_t loads(expr::NodeId id) const { return id < loads_.size() ? loads_[id] : 0; }

  bool Holds(uint64_t value_key) const { return values_.count(value_key) != 0; }
  // Low digest words of the nodes in it.
  const std::unordered_set<uint64_t>& digests() const { return digests_; }
  // Loads below `value`, each once, in order of buffer and offset; false where there are more than `limit`.
  bool Loads(const expr::Scalar& value, size_t limit, std::vector<expr::Scalar>* out) const;

 private:
  void Count(expr::NodeId root);
  void Collect(const symexec::SymbolicSpace& symbolic, const expr::Scalar& root);
  const expr::NodeManager& nodes_;
  const symexec::SymbolicSpace& symbolic_;
  std::vector<uint32_t> operations_, loads_;  // by node
  std::unordered_set<uint64_t> values_, digests_;
};

}  // namespace samebits::checker

#endif  // SAMEBITS_CORE_CHECKER_EXPLAIN_CENSUS_H_
