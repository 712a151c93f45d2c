#include "core/symexec/lane_classes.h"

#include <algorithm>

namespace samebits::symexec {

using expr::Anchor;
using expr::Scalar;

void LaneClasses::Start(std::span<const Lanes* const> operands) {
  operands_.clear();
  columns_.clear();
  varying_.clear();
  classes_.clear();
  places_.clear();
  results_.clear();
  heads_.fill(-1);
  for (const Lanes* v : operands) {
    Operand o;
    if (!v->uniform()) varying_.push_back(o.nodes = space_.nodes(v->nodes & ~kMixed));
    o.first_column = static_cast<uint32_t>(columns_.size());
    for (const LaneAnchor& a : v->anchors)
      columns_.push_back({space_.array(a.array), a.symbolic & kMixed ? space_.symbolics(a.symbolic & ~kMixed) : nullptr, a.array});
    operands_.push_back(o);
  }
}

uint32_t LaneClasses::HashOf(int lane) const {
  uint64_t h = 0x51ed270b153a4d2full;
  for (const uint32_t* nodes : varying_) h = (h ^ nodes[lane]) * 0x9fb21c651e98df25ull;
  return static_cast<uint32_t>(h >> 40) % kHeads;
}

bool LaneClasses::SameNodes(int a, int b) const {
  return std::all_of(varying_.begin(), varying_.end(), [&](const uint32_t* nodes) { return nodes[a] == nodes[b]; });
}

bool LaneClasses::Shifted(const Class& c, int lane) {
  for (uint32_t p = c.first_place; p < c.first_place + c.places; ++p) {
    const Place& place = places_[p];
    const Column& column = columns_[place.column];
    const int64_t shift = column.offsets[lane] - column.offsets[c.lane];
    if (place.leads) shift_[place.group] = shift;
    if (shift_[place.group] != shift || (column.symbolics != nullptr && column.symbolics[lane] != column.symbolics[c.lane])) return false;
  }
  return true;
}

int LaneClasses::Find(int lane) {
  int tried = 0;
  for (int32_t c = heads_[HashOf(lane)]; c >= 0 && tried < kMostTried; c = classes_[c].next) {
    if (!SameNodes(classes_[c].lane, lane)) continue;
    if (Shifted(classes_[c], lane)) return c;
    ++tried;
  }
  return -1;
}

int LaneClasses::Add(int lane, std::span<const Scalar> operands, const Scalar& result, bool findable) {
  struct Group {
    expr::BufferId buffer;
    uint32_t symbolic;
    int32_t lead;
  };
  Group groups[expr::kMaxSlots];
  uint16_t count = 0;
  Class added = {static_cast<uint32_t>(places_.size()), 0, static_cast<uint32_t>(results_.size()), result.node, -1,
                 static_cast<uint16_t>(lane), result.slots};
  for (size_t o = 0; o < operands.size() && findable; ++o) {
    for (int i = 0; i < operands[o].slots && findable; ++i) {
      const Anchor& a = operands[o].anchor[i];
      const uint16_t column = static_cast<uint16_t>(operands_[o].first_column + static_cast<uint32_t>(i));
      uint16_t g = 0;
      while (g < count && (groups[g].buffer != a.buffer || groups[g].symbolic != a.symbolic)) ++g;
      findable = g < expr::kMaxSlots;
      if (!findable) break;
      places_.push_back({column, g, g == count});
      if (g == count) groups[count++] = {a.buffer, a.symbolic, column};
    }
  }
  added.places = static_cast<uint32_t>(places_.size()) - added.first_place;
  for (int i = 0; i < result.slots; ++i) {
    const Anchor& a = result.anchor[i];
    const Group* const g = std::find_if(groups, groups + count, [&](const Group& x) { return x.buffer == a.buffer && x.symbolic == a.symbolic; });
    const int32_t lead = g == groups + count ? -1 : g->lead;
    results_.push_back({a.offset - (lead < 0 ? 0 : columns_[lead].offsets[lane]), lead, a.symbolic, a.source});
  }
  const int32_t id = static_cast<int32_t>(classes_.size());
  if (findable) {
    int32_t& head = heads_[HashOf(lane)];
    added.next = head;
    head = id;
  }
  classes_.push_back(added);
  return id;
}

Lanes LaneClasses::JoinOne() {
  Lanes out;
  out.nodes = classes_[0].node;
  for (int i = 0; i < classes_[0].slots; ++i) {
    const Result& r = results_[static_cast<size_t>(i)];
    out.anchors.push_back({r.lead < 0 ? 0 : columns_[r.lead].array, r.symbolic, r.delta});
  }
  return out;
}

// Offsets and symbolic part of one anchor. Lanes that have no such anchor repeat the one before.
uint32_t LaneClasses::JoinColumn(std::span<const uint16_t> class_of, int column, int64_t* offsets) {
  const size_t n = class_of.size();
  size_t first = 0;
  while (classes_[class_of[first]].slots <= column) ++first;
  const auto at = [&](size_t l) -> const Result& { return results_[classes_[class_of[l]].first_result + static_cast<uint32_t>(column)]; };
  const auto offset = [&](size_t l) { return (at(l).lead < 0 ? 0 : columns_[at(l).lead].offsets[l]) + at(l).delta; };
  const uint32_t symbolic = at(first).symbolic;
  int64_t fill = offset(first);
  bool one = true;
  for (size_t l = 0; l < n; ++l) {
    const bool has = classes_[class_of[l]].slots > column;
    if (has) fill = offset(l);
    offsets[l] = fill;
    ids_[l] = has ? at(l).symbolic : symbolic;
    one &= ids_[l] == symbolic;
  }
  return one ? symbolic : space_.InternSymbolics(ids_.data()) | kMixed;
}

Lanes LaneClasses::Join(std::span<const uint16_t> class_of) {
  if (classes_.size() == 1) return JoinOne();
  const size_t n = class_of.size();
  Lanes out;
  int columns = 0;
  for (const Class& c : classes_) columns = std::max<int>(columns, c.slots);
  ids_.resize(n);
  bool same = true;
  for (size_t l = 0; l < n; ++l) {
    ids_[l] = classes_[class_of[l]].node;
    same &= ids_[l] == ids_[0];
  }
  out.nodes = same ? ids_[0] : space_.InternNodes(ids_.data()) | kMixed;
  // Interning moves the operands' arrays: after the last look at them.
  offsets_.resize(n * static_cast<size_t>(columns));
  for (int c = 0; c < columns; ++c)
    out.anchors.push_back({0, JoinColumn(class_of, c, &offsets_[n * static_cast<size_t>(c)]), 0});
  for (int c = 0; c < columns; ++c) {
    const auto interned = space_.InternArray(&offsets_[n * static_cast<size_t>(c)]);
    out.anchors[static_cast<size_t>(c)].array = interned.id;
    out.anchors[static_cast<size_t>(c)].constant = interned.constant;
  }
  return out;
}

}  // namespace samebits::symexec
