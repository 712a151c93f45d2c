#include "core/symexec/lanes.h"

#include <algorithm>

#include "core/symexec/lane_classes.h"

namespace samebits::symexec {

using expr::Anchor;
using expr::Fn;
using expr::Scalar;

namespace {
constexpr expr::BufferId kAnyBuffer = 0xffff;
}

VectorOps::VectorOps(canonical::Builder* builder, LaneSpace* space)
    : builder_(*builder), nodes_(builder->nodes()), space_(*space) {}

VectorOps::~VectorOps() = default;

Lanes VectorOps::Const(uint64_t value, int width) {
  Lanes v;
  v.nodes = nodes_.Const(value, width);
  return v;
}

Lanes VectorOps::ConstPerLane(const std::vector<uint64_t>& values, int width) {
  std::vector<uint32_t> ids(space_.lanes());
  bool same = true;
  for (int l = 0; l < space_.lanes(); ++l) {
    ids[l] = l > 0 && values[l] == values[l - 1] ? ids[l - 1] : nodes_.Const(values[l], width);
    same &= ids[l] == ids[0];
  }
  Lanes v;
  v.nodes = same ? ids[0] : space_.InternNodes(ids.data()) | kMixed;
  return v;
}

bool VectorOps::ConstValue(const Lanes& v, uint64_t* value) const {
  return v.uniform() && nodes_.IsConst(v.nodes, value);
}

Scalar VectorOps::At(const Lanes& v, int lane) const {
  Scalar s;
  s.node = v.uniform() ? v.nodes : space_.nodes(v.nodes & ~kMixed)[lane];
  s.slots = nodes_[s.node].slots;
  for (int i = 0; i < s.slots; ++i) {
    const LaneAnchor& a = v.anchors[i];
    s.anchor[i].offset = space_.array(a.array)[lane] + a.constant;
    s.anchor[i].symbolic = a.symbolic & kMixed ? space_.symbolics(a.symbolic & ~kMixed)[lane] : a.symbolic;
    s.anchor[i].buffer = nodes_.slot_buffer(s.node, i);
    s.anchor[i].source = static_cast<uint16_t>(i);
  }
  return s;
}

Lanes VectorOps::Pack(const std::vector<Scalar>& lanes) {
  const int n = space_.lanes();
  Lanes out;
  int columns = 0;
  bool same = true;
  for (int l = 0; l < n; ++l) {
    columns = std::max<int>(columns, lanes[l].slots);
    same &= lanes[l].node == lanes[0].node;
  }
  if (same) {
    out.nodes = lanes[0].node;
  } else {
    std::vector<uint32_t> ids(n);
    for (int l = 0; l < n; ++l) ids[l] = lanes[l].node;
    out.nodes = space_.InternNodes(ids.data()) | kMixed;
  }
  std::vector<int64_t> offsets(n);
  for (int c = 0; c < columns; ++c) {
    int first = 0;
    while (lanes[first].slots <= c) ++first;
    const uint32_t symbolic = lanes[first].anchor[c].symbolic;
    bool one = true;
    int64_t fill = lanes[first].anchor[c].offset;
    for (int l = 0; l < n; ++l) {
      if (lanes[l].slots > c) {
        offsets[l] = fill = lanes[l].anchor[c].offset;
        one &= lanes[l].anchor[c].symbolic == symbolic;
      } else {
        offsets[l] = fill;
      }
    }
    LaneAnchor anchor;
    if (one) {
      anchor.symbolic = symbolic;
    } else {
      std::vector<uint32_t> ids(n);
      for (int l = 0; l < n; ++l) ids[l] = lanes[l].slots > c ? lanes[l].anchor[c].symbolic : symbolic;
      anchor.symbolic = space_.InternSymbolics(ids.data()) | kMixed;
    }
    const auto interned = space_.InternArray(offsets.data());
    anchor.array = interned.id;
    anchor.constant = interned.constant;
    out.anchors.push_back(anchor);
  }
  return out;
}

void VectorOps::Settle(Lanes* v) {
  if (v->uniform()) {
    v->nodes = builder_.Settle(v->nodes);
    return;
  }
  const uint32_t* ids = space_.nodes(v->nodes & ~kMixed);
  std::vector<uint32_t> settled(ids, ids + space_.lanes());
  bool changed = false;
  for (uint32_t& id : settled) {
    const expr::NodeId s = builder_.Settle(id);
    changed |= s != id;
    id = s;
  }
  if (changed) v->nodes = space_.InternNodes(settled.data()) | kMixed;
}

Lanes VectorOps::Permute(const Lanes& a, PermId perm) {
  if (perm == 0) return a;
  const int n = space_.lanes();
  Lanes out = a;
  if (!a.uniform()) {
    const uint32_t* ids = space_.nodes(a.nodes & ~kMixed);
    const uint16_t* source = space_.perm(perm);
    std::vector<uint32_t> moved(n);
    bool same = true;
    for (int l = 0; l < n; ++l) {
      moved[l] = ids[source[l]];
      same &= moved[l] == moved[0];
    }
    out.nodes = same ? moved[0] : space_.InternNodes(moved.data()) | kMixed;
    if (same) out.anchors.resize(nodes_[moved[0]].slots);
  }
  for (LaneAnchor& anchor : out.anchors) {
    const auto moved = space_.Permute(anchor.array, perm);
    anchor.array = moved.id;
    anchor.constant += moved.constant;
    if (anchor.symbolic & kMixed) {
      const uint32_t* ids = space_.symbolics(anchor.symbolic & ~kMixed);
      const uint16_t* source = space_.perm(perm);
      std::vector<uint32_t> next(n);
      bool same = true;
      for (int l = 0; l < n; ++l) {
        next[l] = ids[source[l]];
        same &= next[l] == next[0];
      }
      anchor.symbolic = same ? next[0] : space_.InternSymbolics(next.data()) | kMixed;
    }
  }
  return out;
}

bool VectorOps::AllUniform(std::span<const Lanes* const> operands) const {
  for (const Lanes* v : operands) {
    if (!v->uniform()) return false;
    for (const LaneAnchor& a : v->anchors)
      if (a.symbolic & kMixed) return false;
  }
  return true;
}

// One node for all lanes, if anchors that meet (same buffer and symbolic part) differ by a constant.
bool VectorOps::Uniform(Fn fn, uint64_t attr, int width, std::span<const Lanes* const> operands, Lanes* out,
                        bool* done) {
  *done = false;
  constexpr int kMaxOperands = 40;
  const LaneAnchor* all[kMaxOperands * 4];
  expr::BufferId buffers[kMaxOperands * 4];
  int n = 0;
  for (const Lanes* v : operands) {
    for (size_t i = 0; i < v->anchors.size(); ++i) {
      if (n == kMaxOperands * 4) return true;
      all[n] = &v->anchors[i];
      buffers[n] = nodes_.slot_buffer(v->nodes, static_cast<int>(i));
      // Vector nodes have many equal anchors: compare with the last few only when they are identical.
      for (int j = 0; j < n; ++j)
        if (buffers[j] == buffers[n] && all[j]->symbolic == all[n]->symbolic && all[j]->array != all[n]->array)
          return true;
      ++n;
    }
  }
  Scalar children[kMaxOperands];
  for (size_t c = 0; c < operands.size(); ++c) children[c] = At(*operands[c], 0);
  Scalar result;
  if (!builder_.Build(fn, attr, width, children, static_cast<int>(operands.size()), &result)) return false;
  out->nodes = result.node;
  out->anchors.clear();
  column_reference_.clear();
  for (int i = 0; i < result.slots; ++i) {
    const Anchor& a = result.anchor[i];
    const int c = a.source / expr::kMaxSlots, slot = a.source % expr::kMaxSlots;
    out->anchors.push_back({operands[c]->anchors[slot].array, a.symbolic, a.offset});
    column_reference_.push_back(reference_of_[operand_first_[c] + slot]);
  }
  *done = true;
  return true;
}

// mask(l) ? a : b, as Pack would leave the lanes' values.
void VectorOps::Choose(MaskId mask, const Lanes& a, const Lanes& b, Lanes* out) {
  const int n = space_.lanes();
  const Lanes* const from[2] = {&a, &b};
  const uint32_t* nodes[2] = {};
  for (int i = 0; i < 2; ++i)
    if (!from[i]->uniform()) nodes[i] = space_.nodes(from[i]->nodes & ~kMixed);
  std::vector<uint32_t> ids(n), symbolics(n);
  std::vector<uint8_t> pick(n), slots(n);
  std::vector<int64_t> offsets(n);
  bool same = true;
  size_t columns = 0;
  for (int l = 0; l < n; ++l) {
    const int i = space_.Test(mask, l) ? 0 : 1;
    pick[l] = static_cast<uint8_t>(i);
    ids[l] = nodes[i] == nullptr ? from[i]->nodes : nodes[i][l];
    slots[l] = nodes_[ids[l]].slots;
    columns = std::max<size_t>(columns, slots[l]);
    same &= ids[l] == ids[0];
  }
  out->nodes = same ? ids[0] : space_.InternNodes(ids.data()) | kMixed;
  out->anchors.clear();
  column_reference_.assign(columns, -1);
  for (size_t c = 0; c < columns; ++c) {
    const int64_t* arrays[2] = {};
    const uint32_t* mixed[2] = {};
    int64_t constants[2] = {};
    uint32_t uniform[2] = {};
    for (int i = 0; i < 2; ++i) {
      if (from[i]->anchors.size() <= c) continue;
      const LaneAnchor& anchor = from[i]->anchors[c];
      arrays[i] = space_.array(anchor.array);
      constants[i] = anchor.constant;
      uniform[i] = anchor.symbolic;
      if (anchor.symbolic & kMixed) mixed[i] = space_.symbolics(anchor.symbolic & ~kMixed);
    }
    int group = -1, first = 0;
    while (slots[first] <= c) ++first;
    const int p = pick[first];
    int64_t fill = arrays[p][first] + constants[p];
    const uint32_t symbolic = mixed[p] != nullptr ? mixed[p][first] : uniform[p];
    bool one = true;
    for (int l = 0; l < n; ++l) {
      symbolics[l] = symbolic;
      if (slots[l] > c) {
        const int i = pick[l];
        fill = arrays[i][l] + constants[i];
        symbolics[l] = mixed[i] != nullptr ? mixed[i][l] : uniform[i];
        one &= symbolics[l] == symbolic;
        const int r = reference_of_[operand_first_[i] + c];
        group = group == -1 || group == r ? r : -2;
      }
      offsets[l] = fill;
    }
    column_reference_[c] = group;
    LaneAnchor anchor;
    anchor.symbolic = one ? symbolic : space_.InternSymbolics(symbolics.data()) | kMixed;
    const auto interned = space_.InternArray(offsets.data());
    anchor.array = interned.id;
    anchor.constant = interned.constant;
    out->anchors.push_back(anchor);
  }
}

bool VectorOps::PerLane(Fn fn, uint64_t attr, int width, std::span<const Lanes* const> operands, Lanes* out) {
  const int n = space_.lanes();
  const size_t count = operands.size();
  if (classes_ == nullptr) classes_ = std::make_unique<LaneClasses>(&space_);
  classes_->Start(operands);
  class_of_.resize(static_cast<size_t>(n));
  current_.resize(count);
  constexpr int kPatience = 96;  // lanes without a like before them; then only one in a few looks for one
  for (int l = 0, alone = 0; l < n; ++l) {
    const bool looks = alone < kPatience || l % 16 == 0;
    int c = looks ? classes_->Find(l) : -1;
    if (c >= 0) {
      alone = 0;
    } else {
      Scalar result;
      for (size_t i = 0; i < count; ++i) current_[i] = At(*operands[i], l);
      if (!builder_.Build(fn, attr, width, current_.data(), static_cast<int>(count), &result)) return false;
      c = classes_->Add(l, current_, result, ++alone < kPatience || (l + 1) % 16 == 0);
    }
    class_of_[static_cast<size_t>(l)] = static_cast<uint16_t>(c);
  }
  *out = classes_->Join(class_of_);
  // The group of a column: that of the operand anchors it came from, where all lanes agree.
  column_reference_.assign(out->anchors.size(), -1);
  for (size_t column = 0; column < out->anchors.size(); ++column) {
    int& group = column_reference_[column];
    for (int c = 0; c < classes_->size() && group != -2; ++c) {
      if (classes_->slots(c) <= static_cast<int>(column)) continue;
      const int source = classes_->source(c, static_cast<int>(column));
      const int r = reference_of_[static_cast<size_t>(operand_first_[source / expr::kMaxSlots] + source % expr::kMaxSlots)];
      group = group == -1 || group == r ? r : -2;
    }
  }
  return true;
}

bool VectorOps::Remembered(Fn fn, uint64_t attr, int width, std::span<const Lanes* const> operands, MaskId blend,
                           Lanes* out) {
  // Key: the operation, nodes, and anchors relative to the first of their group. Results are covariant in each group.
  references_.clear();
  reference_of_.clear();
  operand_first_.clear();
  bool known_buffers = true;
  size_t words = 2;
  for (const Lanes* v : operands) {
    known_buffers &= v->uniform();
    words += 1 + 2 * v->anchors.size();
  }
  key_.resize(words);
  uint64_t* key = key_.data();
  *key++ = static_cast<uint64_t>(fn) | static_cast<uint64_t>(width) << 8 | static_cast<uint64_t>(operands.size()) << 16 |
           static_cast<uint64_t>(blend) << 32;
  *key++ = attr;
  for (const Lanes* v : operands) {
    operand_first_.push_back(static_cast<int>(reference_of_.size()));
    *key++ = v->nodes | static_cast<uint64_t>(v->anchors.size()) << 32;
    for (size_t i = 0; i < v->anchors.size(); ++i) {
      const LaneAnchor& a = v->anchors[i];
      const expr::BufferId buffer = known_buffers ? nodes_.slot_buffer(v->nodes, static_cast<int>(i)) : kAnyBuffer;
      const uint32_t symbolic = known_buffers ? a.symbolic : (a.symbolic & kMixed ? kMixed : a.symbolic);
      size_t r = 0;
      while (r < references_.size() && (references_[r].buffer != buffer || references_[r].symbolic != symbolic)) ++r;
      if (r == references_.size()) references_.push_back({buffer, symbolic, a.constant});
      *key++ = a.array | static_cast<uint64_t>(a.symbolic) << 32;
      *key++ = static_cast<uint64_t>(a.constant - references_[r].constant);
      reference_of_.push_back(static_cast<int>(r));
    }
  }
  // Lanes of mixed symbolic parts may meet any other group: one group then.
  bool any_mixed = false;
  for (const Reference& r : references_) any_mixed |= (r.symbolic & kMixed) != 0;
  if (any_mixed && references_.size() > 1) {
    size_t k = 2, s = 0;
    for (const Lanes* v : operands) {
      ++k;
      for (const LaneAnchor& a : v->anchors) {
        key_[k + 1] = static_cast<uint64_t>(a.constant - references_[0].constant);
        reference_of_[s++] = 0;
        k += 2;
      }
    }
  }
  const auto recall = [&](uint32_t entry) {
    const MemoEntry& e = memo_[entry];
    last_hit_ = entry;
    ++memo_hits_;
    out->nodes = e.nodes;
    out->anchors.clear();
    for (uint32_t i = 0; i < e.slots; ++i) {
      const MemoSlot& s = slot_pool_[e.first_slot + i];
      out->anchors.push_back({s.array, s.symbolic, references_[s.reference].constant + s.relative});
    }
    return true;
  };
  const auto has_key = [&](const MemoEntry& e) {
    return e.key_words == key_.size() && std::equal(key_.begin(), key_.end(), key_pool_.begin() + e.key);
  };
  // Accumulators of one matrix instruction come one after the other and differ by their references only.
  if (last_hit_ < memo_.size() && has_key(memo_[last_hit_])) return recall(last_hit_);
  // Two streams that the processor runs side by side.
  uint64_t h = 7, other = 11;
  for (size_t i = 0; i + 1 < key_.size(); i += 2) {
    h = TableHash(h, key_[i]);
    other = TableHash(other, key_[i + 1]);
  }
  h = TableHash(TableHash(h, other), key_.back());
  const size_t mask = memo_table_.size() - 1;
  size_t at = h & mask;
  for (; memo_table_[at] != 0; at = (at + 1) & mask) {
    const uint32_t entry = memo_table_[at] - 1;
    if (memo_[entry].hash == h && has_key(memo_[entry])) return recall(entry);
  }
  // Operands may alias `out`.
  Lanes result;
  bool done = false;
  if (blend == kAllLanes && AllUniform(operands))
    if (!Uniform(fn, attr, width, operands, &result, &done)) return false;
  if (blend != kAllLanes) Choose(blend, *operands[0], *operands[1], &result);
  else if (!done && !PerLane(fn, attr, width, operands, &result)) return false;
  bool covariant = true;
  for (const int r : column_reference_) covariant &= r >= 0;
  if (covariant) {
    MemoEntry entry;
    entry.hash = h;
    entry.key = static_cast<uint32_t>(key_pool_.size());
    entry.key_words = static_cast<uint32_t>(key_.size());
    entry.nodes = result.nodes;
    entry.first_slot = static_cast<uint32_t>(slot_pool_.size());
    entry.slots = static_cast<uint32_t>(result.anchors.size());
    key_pool_.insert(key_pool_.end(), key_.begin(), key_.end());
    for (size_t i = 0; i < result.anchors.size(); ++i) {
      const LaneAnchor& a = result.anchors[i];
      const int r = any_mixed ? 0 : column_reference_[i];
      slot_pool_.push_back({a.array, a.symbolic, a.constant - references_[r].constant, static_cast<uint32_t>(r)});
    }
    memo_.push_back(entry);
    memo_table_[at] = static_cast<uint32_t>(memo_.size());
    if (memo_.size() * 2 > memo_table_.size()) GrowMemo();
  }
  *out = std::move(result);
  return true;
}

void VectorOps::GrowMemo() {
  std::vector<uint32_t> bigger(memo_table_.size() * 2, 0);
  for (uint32_t i = 0; i < memo_.size(); ++i) {
    size_t at = memo_[i].hash & (bigger.size() - 1);
    while (bigger[at] != 0) at = (at + 1) & (bigger.size() - 1);
    bigger[at] = i + 1;
  }
  memo_table_.swap(bigger);
}

bool VectorOps::Apply(Fn fn, uint64_t attr, int width, std::span<const Lanes* const> operands, Lanes* out) {
  return Remembered(fn, attr, width, operands, kAllLanes, out);
}

bool VectorOps::Blend(MaskId mask, const Lanes& a, const Lanes& b, Lanes* out) {
  if (mask == kAllLanes || (a.nodes == b.nodes && a.anchors == b.anchors)) {
    *out = a;
    return true;
  }
  if (mask == kNoLanes) {
    *out = b;
    return true;
  }
  const Lanes* operands[2] = {&a, &b};
  return Remembered(Fn::kUndef, 0, 0, operands, mask, out);
}

}  // namespace samebits::symexec
