#ifndef SAMEBITS_CORE_SYMEXEC_SHIFT_MEMO_H_
#define SAMEBITS_CORE_SYMEXEC_SHIFT_MEMO_H_

// Results of functions of several values whose results follow their operands: where all anchors of one group (buffer and
// symbolic part) shift by one number, so do the results'. What VectorOps remembers of one operation, for many at once, as
// the operands of a matrix instruction.

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/symexec/lanes.h"

namespace samebits::symexec {

// Not thread safe. One question at a time: Begin, all that the results depend on, Find; and Add if that finds nothing.
class ShiftMemo {
 public:
  explicit ShiftMemo(const expr::NodeManager* nodes) : nodes_(*nodes) {}

  void Begin(uint64_t function);
  void Number(uint64_t word) { key_.push_back(word); }
  // Values whose lanes have different nodes make the question one that is not remembered.
  void Operand(const Lanes& v);
  bool Find(std::vector<Lanes>* results) const;
  void Add(const std::vector<Lanes>& results);
  uint64_t memory_bytes() const { return memory_bytes_; }

 private:
  struct Group {
    expr::BufferId buffer;
    uint32_t symbolic;
    int64_t first;  // constant of its first anchor
  };
  // Anchors are relative to their group's first.
  struct Result {
    Lanes value;
    absl::InlinedVector<uint8_t, 8> groups;
  };
  int GroupOf(expr::BufferId buffer, uint32_t symbolic) const;

  const expr::NodeManager& nodes_;
  std::vector<uint64_t> key_;
  std::vector<Group> groups_;
  bool remembered_ = true;
  absl::flat_hash_map<std::vector<uint64_t>, std::vector<Result>> results_;
  uint64_t memory_bytes_ = 0;
};

}  // namespace samebits::symexec

#endif  // SAMEBITS_CORE_SYMEXEC_SHIFT_MEMO_H_
