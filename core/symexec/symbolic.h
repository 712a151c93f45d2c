#ifndef SAMEBITS_CORE_SYMEXEC_SYMBOLIC_H_
#define SAMEBITS_CORE_SYMEXEC_SYMBOLIC_H_

// The part of an integer that lanes share and the launch leaves open: a value per block of the class under execution
// (grid known), plus an affine form over atoms (unknown scalars, block indices of an open grid).

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/expr/node.h"

namespace samebits::symexec {

using expr::SymbolicId;
using AtomId = uint32_t;

// Atoms: 1, 2, 3 are the block indices of an open grid (divided by the launch's residues), 16 + i is parameter i, from
// kFirstDerivedAtom on expressions over other atoms.
inline constexpr AtomId kFirstParamAtom = 16, kFirstDerivedAtom = 1u << 20;

// What is known of an atom, the same for every launch: `key` identifies it in signatures.
struct Atom {
  Digest128 key;
  int64_t lo = INT64_MIN, hi = INT64_MAX;  // least and largest value, under the assumptions of open sizes
  std::vector<AtomId> factors;             // of a product of two or more atoms, ascending; else empty
  uint32_t dimensions = 0;                 // bit d: depends on block index d + 1
  // Of a lane atom: array `lanes` times atom `of`, another value in each lane; else 0.
  uint32_t lanes = 0;
  AtomId of = 0;
};

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
  bool HasLaneAtoms(SymbolicId id) const {
    for (const auto& [atom, factor] : entries_[id].terms)
      if (const auto it = atoms_.find(atom); it != atoms_.end() && it->second.lanes != 0) return true;
    return false;
  }
  int64_t At(SymbolicId id, size_t block) const { return entries_[id].table.empty() ? 0 : entries_[id].table[block]; }

  Sum FromTable(std::vector<int64_t> table);
  Sum FromAtom(AtomId atom);
  Sum FromAtom(AtomId id, Atom atom);  // an atom with what is known of it
  // The atom of a derived expression, one per key.
  AtomId Derive(Atom atom);
  // Null where nothing is known.
  const Atom* atom(AtomId id) const {
    const auto it = atoms_.find(id);
    return it == atoms_.end() ? nullptr : &it->second;
  }
  // The same without its terms.
  Sum WithoutTerms(SymbolicId a);
  // Of a value whose table and factors are multiples of `divisor`.
  Sum DivideExactly(SymbolicId a, int64_t divisor);
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
  std::unordered_map<AtomId, Atom> atoms_;
  std::map<Digest128, AtomId> derived_;
};

}  // namespace samebits::symexec

#endif  // SAMEBITS_CORE_SYMEXEC_SYMBOLIC_H_
