// The map of a launch whose grid is open, summed over all blocks of an endless grid. Block index i of dimension d
// moves an element's address and anchors by i times a direction, so the sum over i is a geometric series in closed
// form, 1 / (1 - r^direction), and the tile size vanishes. Two launches with equal sums write the same elements block
// index by block index from zero; docs/soundness.md says what follows for finite grids.

#include <algorithm>

#include "core/checker/map.h"

namespace samebits::checker {

using symexec::Atom;
using symexec::AtomId;
using symexec::Stop;
using symexec::StopKind;
using symexec::SymbolicId;

namespace {

Stop Problem(const char* code, std::string reason, uint32_t line) {
  Stop s;
  s.kind = StopKind::kUnknown;
  s.code = code;
  s.reason = std::move(reason);
  s.line = line;
  return s;
}

// Point of an anchor (0: the address) for one formal factor of it; no factor is the plain point.
Field FormalPoint(uint32_t slot, const std::vector<Digest128>& factors) {
  WordHasher h(factors.empty() ? 100 : 101);
  h.Add(slot);
  for (const Digest128& f : factors) h.Add(f);
  return expr::NodeManager::Weight(h.Finish());
}

Field SignedPower(Field base, int64_t exponent) {
  return exponent >= 0 ? Power(base, static_cast<uint64_t>(exponent))
                       : Inverse(Power(base, -static_cast<uint64_t>(exponent)));
}

// One step along a block index: per slot and formal factors, how far. Ordered: the first entry that is not zero tells
// whether the step leads on.
using Direction = std::map<std::pair<uint32_t, std::vector<Digest128>>, int64_t>;

}  // namespace

// Along each block index, from residue to residue, the address does not fall. A grid that ends within a period of
// residues then writes a beginning of what the whole period writes.
bool MapBuilder::Rises(const symexec::SymbolicSpace& symbolic, SymbolicId address,
                       const std::vector<uint32_t>& blocks) const {
  if (symbolic[address].table.empty()) return true;
  for (int d = 0; d < 3; ++d) {
    if (residues_[d] == 1) continue;
    const uint32_t below = d == 0 ? 1 : d == 1 ? residues_[0] : residues_[0] * residues_[1];
    std::map<uint32_t, int64_t> last;  // by the other indices
    for (size_t b = 0; b < blocks.size(); ++b) {
      const uint32_t others = blocks[b] / (below * residues_[d]) * below + blocks[b] % below;
      const int64_t at = symbolic.At(address, b);
      const auto [it, fresh] = last.try_emplace(others, at);
      if (!fresh && at < it->second) return false;
      it->second = at;
    }
  }
  return true;
}

Field MapBuilder::OpenGridFactor(const ClassResult& c, SymbolicId address, const std::vector<SymbolicId>& anchors) {
  std::vector<uint32_t> memo = {static_cast<uint32_t>(&c - first_class_), address};
  memo.insert(memo.end(), anchors.begin(), anchors.end());
  const auto [it, fresh] = open_factors_.try_emplace(std::move(memo), Field(1));
  if (!fresh) return it->second;
  const symexec::SymbolicSpace& symbolic = *c.symbolic;
  const auto fail = [this](const char* why) {
    if (open_problem_.kind == StopKind::kDone) open_problem_ = Problem("OPEN_GRID", why, 0);
    return Field(1);
  };
  if (!Rises(symbolic, address, c.blocks)) return fail("blocks of rising index write addresses out of order");
  // Dimensions that enter an expression without closed form stay formal: nothing is summed along them.
  uint32_t formal = 0;
  const auto each_term = [&](auto f) {
    for (uint32_t slot = 0; slot <= anchors.size(); ++slot)
      for (const auto& [id, factor] : symbolic[slot == 0 ? address : anchors[slot - 1]].terms)
        if (!f(slot, id, factor)) return false;
    return true;
  };
  const bool known = each_term([&](uint32_t, AtomId id, int64_t) {
    const Atom* atom = symbolic.atom(id);
    if (atom == nullptr) return false;
    if (id <= 3) return true;
    uint32_t own = 0, count = 0;
    for (const AtomId f : atom->factors)
      if (f <= 3) own |= 1u << (f - 1), ++count;
    // A product of one block index with what no block index enters is a step of another length.
    if (count <= 1) formal |= atom->dimensions & ~own;
    if (count > 1) formal |= atom->dimensions;
    return true;
  });
  if (!known) return fail("an address depends on what the launch leaves open in a way that has no name");
  Field factor(1);
  Direction directions[3];
  each_term([&](uint32_t slot, AtomId id, int64_t f) {
    const Atom& atom = *symbolic.atom(id);
    uint32_t dimension = 3;
    std::vector<Digest128> rest;
    const std::vector<AtomId> single = {id};
    for (const AtomId part : atom.factors.empty() ? single : atom.factors) {
      if (part <= 3 && (formal >> (part - 1) & 1) == 0) {
        dimension = part - 1;
      } else {
        rest.push_back(symbolic.atom(part)->key);
      }
    }
    std::sort(rest.begin(), rest.end());
    if (dimension == 3) {
      factor = factor * SignedPower(FormalPoint(slot, rest), f);
    } else {
      directions[dimension][{slot, std::move(rest)}] += f;
    }
    return true;
  });
  for (int d = 0; d < 3; ++d) {
    Field step(1);
    int sign = 0;
    for (const auto& [where, length] : directions[d]) {
      if (length == 0) continue;
      if (sign == 0) sign = length > 0 ? 1 : -1;
      step = step * SignedPower(FormalPoint(where.first, where.second), length);
    }
    if (sign < 0) return fail("an output address falls as a block index rises");
    if (sign > 0) factor = factor * Inverse(Field(1) - step);
    // The same in every block along this dimension: counted once, not once a residue.
    if (sign == 0 && residues_[d] > 1 && (formal >> d & 1) == 0) factor = factor * Inverse(Field(residues_[d]));
  }
  it->second = factor;
  return factor;
}

// A read of a buffer that the launch also writes must see the initial contents. Each address is written once, so a lane
// that reads what it itself writes later, or what its block writes after a barrier, reads before the only write.
Stop MapBuilder::CheckOpenReads(const std::vector<ClassResult>& classes, expr::BufferId buffer) {
  for (const ClassResult& c : classes) {
    struct Write {
      int lane;
      const symexec::Store* store;
    };
    std::map<std::pair<SymbolicId, int64_t>, std::vector<Write>> writes;
    for (const symexec::Store& s : c.execution.stores) {
      if (s.buffer != buffer) continue;
      const int64_t* array = space_.array(s.address.array);
      for (int l = 0; l < space_.lanes(); ++l)
        if (space_.Test(s.mask, l))
          for (int i = 0; i < s.value.bits / 8; ++i)
            writes[{s.address.symbolic, array[l] + s.address.constant + i}].push_back({l, &s});
    }
    for (const symexec::Load& load : c.execution.loads) {
      if (load.buffer != buffer) continue;
      const auto unproved = [&](const char* why) { return Problem("IN_PLACE", why, load.line); };
      if (load.bytes == 0) return unproved("a buffer that is written is read at a data-dependent address");
      if (load.async) return unproved("an asynchronous copy reads a buffer that the launch writes");
      const int64_t* array = space_.array(load.address.array);
      for (int l = 0; l < space_.lanes(); ++l) {
        if (!space_.Test(load.mask, l)) continue;
        for (uint32_t i = 0; i < load.bytes; ++i) {
          const auto at = writes.find({load.address.symbolic, array[l] + load.address.constant + i});
          if (at == writes.end()) return unproved("a buffer is read and written, at addresses that the launch leaves open");
          const auto precedes = [&](const Write& w) {
            return w.lane == l ? load.order < w.store->order : load.block_epoch < w.store->block_epoch;
          };
          bool before = false;
          for (const Write& w : at->second) {
            if (w.store->guarded && !load.guarded) continue;
            if (w.store->guarded && (w.store->guard.nodes != load.guard.nodes || w.store->guard.anchors != load.guard.anchors))
              continue;
            before |= precedes(w);
          }
          if (!before) return unproved("a buffer is read and written, and no order between the two is proved");
          for (const Write& w : at->second)
            if (!precedes(w)) return unproved("a value that this launch stored is read back");
        }
      }
    }
  }
  return Stop{};
}

}  // namespace samebits::checker
