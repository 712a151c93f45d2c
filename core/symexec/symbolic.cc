#include "core/symexec/symbolic.h"

#include <algorithm>
#include <bit>

#include "core/base/hash.h"

namespace samebits::symexec {

SymbolicId SymbolicSpace::Intern(Entry entry) {
  if (entry.table.empty() && entry.terms.empty()) return 0;
  uint64_t h = TableHash(entry.terms.size(), entry.table.size());
  for (const auto& [atom, factor] : entry.terms) h = TableHash(TableHash(h, atom), static_cast<uint64_t>(factor));
  for (const int64_t v : entry.table) h = TableHash(h, static_cast<uint64_t>(v));
  const auto [first, last] = index_.equal_range(h);
  for (auto it = first; it != last; ++it) {
    const Entry& e = entries_[it->second];
    if (e.table == entry.table && e.terms == entry.terms) return it->second;
  }
  if (!entry.table.empty()) {
    const auto [lo, hi] = std::minmax_element(entry.table.begin(), entry.table.end());
    entry.min = *lo;
    entry.max = *hi;
    uint64_t all = 0;
    for (const int64_t v : entry.table) all |= static_cast<uint64_t>(v);
    entry.trailing_zeros = all == 0 ? 63 : std::countr_zero(all);
  }
  const SymbolicId id = static_cast<SymbolicId>(entries_.size());
  entries_.push_back(std::move(entry));
  index_.emplace(h, id);
  return id;
}

SymbolicSpace::Sum SymbolicSpace::FromTable(std::vector<int64_t> table) {
  const int64_t first = table[0];
  bool constant = true;
  for (int64_t& v : table) {
    v = static_cast<int64_t>(static_cast<uint64_t>(v) - static_cast<uint64_t>(first));
    constant &= v == 0;
  }
  if (constant) return {0, first};
  Entry entry;
  entry.table = std::move(table);
  return {Intern(std::move(entry)), first};
}

SymbolicSpace::Sum SymbolicSpace::FromAtom(AtomId atom) {
  Entry entry;
  entry.terms = {{atom, 1}};
  return {Intern(std::move(entry)), 0};
}

SymbolicSpace::Sum SymbolicSpace::FromAtom(AtomId id, Atom atom) {
  atoms_.try_emplace(id, std::move(atom));
  return FromAtom(id);
}

AtomId SymbolicSpace::Derive(Atom atom) {
  const AtomId next = kFirstDerivedAtom + static_cast<AtomId>(derived_.size());
  const auto [it, fresh] = derived_.try_emplace(atom.key, next);
  if (fresh) atoms_.emplace(next, std::move(atom));
  return it->second;
}

SymbolicSpace::Sum SymbolicSpace::WithoutTerms(SymbolicId a) {
  if (entries_[a].terms.empty()) return {a, 0};
  Entry entry;
  entry.table = entries_[a].table;
  return {Intern(std::move(entry)), 0};
}

SymbolicSpace::Sum SymbolicSpace::DivideExactly(SymbolicId a, int64_t divisor) {
  Entry entry;
  entry.terms = entries_[a].terms;
  for (auto& [atom, factor] : entry.terms) factor /= divisor;
  entry.table = entries_[a].table;
  for (int64_t& v : entry.table) v /= divisor;
  return {Intern(std::move(entry)), 0};
}

SymbolicSpace::Sum SymbolicSpace::Add(SymbolicId a, SymbolicId b) {
  if (a == 0) return {b, 0};
  if (b == 0) return {a, 0};
  if (b < a) std::swap(a, b);
  const uint64_t key = static_cast<uint64_t>(a) << 32 | b;
  if (const auto it = sums_.find(key); it != sums_.end()) return it->second;
  const Entry& x = entries_[a];
  const Entry& y = entries_[b];
  Entry sum;
  size_t i = 0, j = 0;
  while (i < x.terms.size() || j < y.terms.size()) {
    if (j == y.terms.size() || (i < x.terms.size() && x.terms[i].first < y.terms[j].first)) {
      sum.terms.push_back(x.terms[i++]);
    } else if (i == x.terms.size() || y.terms[j].first < x.terms[i].first) {
      sum.terms.push_back(y.terms[j++]);
    } else {
      const int64_t factor = static_cast<int64_t>(static_cast<uint64_t>(x.terms[i].second) +
                                                  static_cast<uint64_t>(y.terms[j].second));
      if (factor != 0) sum.terms.push_back({x.terms[i].first, factor});
      ++i, ++j;
    }
  }
  if (!x.table.empty() || !y.table.empty()) {
    sum.table.resize(blocks_);
    bool zero = true;
    for (size_t k = 0; k < blocks_; ++k) {
      sum.table[k] = static_cast<int64_t>(static_cast<uint64_t>(x.table.empty() ? 0 : x.table[k]) +
                                          static_cast<uint64_t>(y.table.empty() ? 0 : y.table[k]));
      zero &= sum.table[k] == 0;
    }
    if (zero) sum.table.clear();
  }
  const Sum result{Intern(std::move(sum)), 0};
  sums_.emplace(key, result);
  return result;
}

SymbolicSpace::Sum SymbolicSpace::Scale(SymbolicId a, int64_t factor) {
  if (a == 0 || factor == 0) return {0, 0};
  if (factor == 1) return {a, 0};
  Entry scaled;
  for (const auto& [atom, f] : entries_[a].terms) {
    const int64_t product = static_cast<int64_t>(static_cast<uint64_t>(f) * static_cast<uint64_t>(factor));
    if (product != 0) scaled.terms.push_back({atom, product});
  }
  bool zero = true;
  for (const int64_t v : entries_[a].table) {
    scaled.table.push_back(static_cast<int64_t>(static_cast<uint64_t>(v) * static_cast<uint64_t>(factor)));
    zero &= scaled.table.back() == 0;
  }
  if (zero) scaled.table.clear();
  return {Intern(std::move(scaled)), 0};
}

}  // namespace samebits::symexec
