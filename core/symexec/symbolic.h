#ifndef SAMEBITS_CORE_SYMEXEC_SYMBOLIC_H_
#define SAMEBITS_CORE_SYMEXEC_SYMBOLIC_H_

// The part of an integer that lanes share and the launch leaves open: a value per block of the class under execution
// (grid known), plus an affine form over atoms (unknown scalars, block indices of an open grid).

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/expr/node.h"

namespace samebits::symexec {

using expr::SymbolicId;
using AtomId = uint32_t;

// Values are in normal form: the table's entry for the first block is 0, the constant is the caller's.
class SymbolicSpace {
 public:
  // Blocks of the class: linear block indices of the grid.
  explicit SymbolicSpace(size_t blocks) : blocks_(blocks) { entries_.push_back({}); }

  struct Entry {
    std::vector<int64_t> table;                     // empty: 0 for every block
    std::vector<std::pair<AtomId, int64_t>> terms;  // sorted by atom, no zero coefficients
    int64_t min = 0, max = 0;                       // of the table
    int trailing_zeros = 63;                        // every table value is a multiple of 2^this
  };
  struct Sum {
    SymbolicId id = 0;
    int64_t constant = 0;
  };

  size_t blocks() const { return blocks_; }
  const Entry& operator[](SymbolicId id) const { return entries_[id]; }
  bool HasTerms(SymbolicId id) const { return !entries_[id].terms.empty(); }
  int64_t At(SymbolicId id, size_t block) const { return entries_[id].table.empty() ? 0 : entries_[id].table[block]; }

  Sum FromTable(std::vector<int64_t> table);
  Sum FromAtom(AtomId atom);
  Sum Add(SymbolicId a, SymbolicId b);
  Sum Scale(SymbolicId a, int64_t factor);
  // Pointwise op over tables (neither operand has terms), constants included.
  template <typename Op>
  Sum Map(SymbolicId a, int64_t ca, SymbolicId b, int64_t cb, Op op) {
    std::vector<int64_t> table(blocks_);
    for (size_t i = 0; i < blocks_; ++i) table[i] = op(At(a, i) + ca, At(b, i) + cb);
    return FromTable(std::move(table));
  }
  size_t size() const { return entries_.size(); }
  uint64_t memory_bytes() const { return entries_.size() * blocks_ * 8; }

 private:
  SymbolicId Intern(Entry entry);
  size_t blocks_;
  std::vector<Entry> entries_;
  std::unordered_multimap<uint64_t, SymbolicId> index_;
  std::unordered_map<uint64_t, Sum> sums_;
};

}  // namespace samebits::symexec

#endif  // SAMEBITS_CORE_SYMEXEC_SYMBOLIC_H_
