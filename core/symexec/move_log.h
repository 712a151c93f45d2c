#ifndef SAMEBITS_CORE_SYMEXEC_MOVE_LOG_H_
#define SAMEBITS_CORE_SYMEXEC_MOVE_LOG_H_

// Which values came to which lane from which other, and how: kept beside an execution only where an explanation asks
// for it. No part of any result.

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "core/expr/node.h"
#include "core/symexec/symbolic.h"

namespace samebits::symexec {

// The name of a value: equal for equal trees over equal addresses, whichever node manager and class they come from.
// `value` holds absolute anchors of one block, but for open terms, which `symbolic` has. 64 bits: for lookups whose
// errors would only mislead a reader.
uint64_t ValueKey(const expr::NodeManager& nodes, const expr::Scalar& value, const SymbolicSpace& symbolic);

// Likewise of an offset's open terms; 0 for none.
uint64_t TermsKey(const SymbolicSpace& symbolic, SymbolicId id);

class MoveLog {
 public:
  enum class Route : uint8_t { kOwn, kWarp, kShared };
  struct Move {
    int from = 0;       // lane
    Route route = Route::kOwn;
    uint32_t order = 0;
  };
  static constexpr int kAnyLane = -1;
  static constexpr size_t kMaxMoves = 1 << 20;  // later ones are not kept

  // Keeps moves of values whose node's digest has its low word in `wanted`; anchors are those of the class's
  // `block`th block.
  MoveLog(std::unordered_set<uint64_t> wanted, const SymbolicSpace* symbolic, size_t block)
      : wanted_(std::move(wanted)), symbolic_(symbolic), block_(block) {}

  // `value` went from lane `from` to lane `to`. What it consists of without arithmetic (packed parts, operands of a
  // sign flip or of an addition of a constant) went along.
  void Add(const expr::NodeManager& nodes, const expr::Scalar& value, int from, int to, Route route);

  // The first arrival of the value in the lane (kAnyLane: in any); null where it never moved there.
  const Move* Find(uint64_t value, int lane) const;
  const std::unordered_set<uint64_t>& wanted() const { return wanted_; }

 private:
  void AddOne(const expr::NodeManager& nodes, const expr::Scalar& value, int from, int to, Route route, int depth);

  std::unordered_set<uint64_t> wanted_;
  const SymbolicSpace* symbolic_;
  size_t block_;
  uint32_t order_ = 0;
  std::unordered_map<uint64_t, Move> moves_, first_;  // by value and lane; by value
};

}  // namespace samebits::symexec

#endif  // SAMEBITS_CORE_SYMEXEC_MOVE_LOG_H_
