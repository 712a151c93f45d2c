#include "core/checker/map.h"

#include <algorithm>
#include <tuple>

namespace samebits::checker {

using expr::BufferId;
using expr::Fn;
using expr::NodeId;
using expr::Scalar;
using symexec::LaneAnchor;
using symexec::Lanes;
using symexec::Stop;
using symexec::StopKind;
using symexec::Store;
using symexec::SymbolicId;

namespace {

constexpr int kAddressPoint = 0;  // anchors of slot j use point j + 1
constexpr uint64_t kMaxElements = 1ull << 24;

// Evaluation points of the map, fixed for all signatures.
const PowerTable& Point(int index) {
  static const auto* tables = [] {
    auto* v = new std::vector<PowerTable>;
    for (int i = 0; i <= expr::kMaxSlots; ++i) {
      WordHasher h(100);
      h.Add(static_cast<uint64_t>(i));
      v->emplace_back(expr::NodeManager::Weight(h.Finish()));
    }
    return v;
  }();
  return (*tables)[index];
}

Stop Problem(StopKind kind, const char* code, std::string reason, uint32_t line) {
  Stop s;
  s.kind = kind;
  s.code = code;
  s.reason = std::move(reason);
  s.line = line;
  return s;
}

}  // namespace

// Weight of a tree stored in `bits` bits, as a factor of r_out^address * product of r_j^anchor_j. Memory and constants
// have no width of their own: they count byte by byte.
Field MapBuilder::TermOf(NodeId node, int bits) {
  const uint64_t key = static_cast<uint64_t>(node) << 8 | static_cast<uint64_t>(bits & 255);
  if (const auto it = terms_.find(key); it != terms_.end()) return it->second;
  const expr::Node& n = nodes_[node];
  const bool bytewise = bits % 8 == 0 && (n.fn == Fn::kLeaf || n.fn == Fn::kConst || n.fn == Fn::kUndef);
  Field term;
  if (!bytewise) {
    WordHasher h(5);
    h.Add(n.digest);
    h.Add(static_cast<uint64_t>(bits));
    term = expr::NodeManager::Weight(h.Finish());
  } else {
    for (int i = 0; i < bits / 8; ++i) {
      WordHasher h(6);
      if (n.fn == Fn::kConst) {
        h.Add(i < 8 ? n.attr >> (8 * i) & 255 : 0);
      } else {
        h.Add(n.digest);
      }
      Field byte = expr::NodeManager::Weight(h.Finish()) * Point(kAddressPoint).Power(i);
      if (n.fn == Fn::kLeaf) byte = byte * Point(1).Power(i);
      term = term + byte;
    }
  }
  terms_.emplace(key, term);
  return term;
}

const std::vector<Field>& MapBuilder::Powers(symexec::ArrayId array, int point) {
  auto [it, fresh] = powers_.try_emplace(static_cast<uint64_t>(array) << 8 | static_cast<uint64_t>(point));
  if (fresh) {
    const int64_t* v = space_.array(array);
    it->second.resize(space_.lanes());
    for (int l = 0; l < space_.lanes(); ++l)
      it->second[l] = l > 0 && v[l] == v[l - 1] ? it->second[l - 1] : Point(point).Power(v[l]);
  }
  return it->second;
}

// Sum over the lanes of a store, without the blocks' part.
MapBuilder::Weighted MapBuilder::LaneSum(const Store& s, const Lanes& value) {
  const uint64_t* mask = space_.mask(s.mask);
  auto lives = [&](int l) { return (mask[l >> 6] >> (l & 63) & 1) != 0; };
  Field shift = Point(kAddressPoint).Power(s.address.constant);
  const std::vector<Field>& address = Powers(s.address.array, kAddressPoint);
  if (value.uniform()) {
    std::vector<uint32_t> key = {s.mask, s.address.array};
    for (const LaneAnchor& a : value.anchors) key.push_back(a.array);
    auto [it, fresh] = lane_sums_.try_emplace(std::move(key));
    if (fresh) {
      std::vector<const std::vector<Field>*> factors;
      for (size_t j = 0; j < value.anchors.size(); ++j)
        if (value.anchors[j].array != 0) factors.push_back(&Powers(value.anchors[j].array, static_cast<int>(j) + 1));
      for (int l = 0; l < space_.lanes(); ++l) {
        if (!lives(l)) continue;
        Field product = address[l];
        it->second.cover = it->second.cover + product;
        for (const auto* f : factors) product = product * (*f)[l];
        it->second.sum = it->second.sum + product;
      }
    }
    Field term = TermOf(value.nodes, s.value.bits) * shift;
    for (size_t j = 0; j < value.anchors.size(); ++j)
      if (value.anchors[j].constant != 0) term = term * Point(static_cast<int>(j) + 1).Power(value.anchors[j].constant);
    families_.insert(nodes_[value.nodes].digest.lo);
    return {it->second.sum * term, it->second.cover * shift};
  }
  const uint32_t* ids = space_.nodes(value.nodes & ~symexec::kMixed);
  std::vector<const std::vector<Field>*> factors;
  std::vector<Field> constants;
  for (size_t j = 0; j < value.anchors.size(); ++j) {
    factors.push_back(&Powers(value.anchors[j].array, static_cast<int>(j) + 1));
    constants.push_back(Point(static_cast<int>(j) + 1).Power(value.anchors[j].constant));
  }
  Weighted w;
  for (int l = 0; l < space_.lanes(); ++l) {
    if (!lives(l)) continue;
    Field product = address[l];
    w.cover = w.cover + product;
    product = product * TermOf(ids[l], s.value.bits);
    families_.insert(nodes_[ids[l]].digest.lo);
    for (int j = 0; j < nodes_[ids[l]].slots; ++j) product = product * (*factors[j])[l] * constants[j];
    w.sum = w.sum + product;
  }
  return {w.sum * shift, w.cover * shift};
}

Field MapBuilder::BlockSum(const ClassResult& c, SymbolicId address, const std::vector<SymbolicId>& anchors) {
  std::vector<uint32_t> key = {address};
  key.insert(key.end(), anchors.begin(), anchors.end());
  auto [it, fresh] = block_sums_.try_emplace(std::move(key));
  if (fresh) {
    const symexec::SymbolicSpace& symbolic = *c.symbolic;
    for (size_t b = 0; b < c.blocks.size(); ++b) {
      Field product = Point(kAddressPoint).Power(symbolic.At(address, b));
      for (size_t j = 0; j < anchors.size(); ++j)
        if (anchors[j] != 0) product = product * Point(static_cast<int>(j) + 1).Power(symbolic.At(anchors[j], b));
      it->second = it->second + product;
    }
  }
  return it->second;
}

// Open terms enter as one weight of their whole affine form.
Field MapBuilder::OpenFactor(const ClassResult& c, SymbolicId address, const std::vector<SymbolicId>& anchors) {
  if (!grid_known_) return OpenGridFactor(c, address, anchors);
  const symexec::SymbolicSpace& symbolic = *c.symbolic;
  bool any = symbolic.HasTerms(address);
  for (const SymbolicId a : anchors) any |= symbolic.HasTerms(a);
  if (!any) return Field(1);
  WordHasher h(10);
  auto add = [&](SymbolicId id) {
    h.Add(symbolic[id].terms.size());
    for (const auto& [atom, factor] : symbolic[id].terms) {
      h.Add(atom);
      h.Add(static_cast<uint64_t>(factor));
    }
  };
  add(address);
  for (const SymbolicId a : anchors) add(a);
  return expr::NodeManager::Weight(h.Finish());
}

// The stored value, with its data-dependent guard joined to it.
bool MapBuilder::ValueOf(const Store& s, Lanes* value) {
  if (!s.guarded && !s.atomic) {
    *value = s.value.lanes;
    return true;
  }
  symexec::VectorOps ops(&builder_, &space_);
  const Lanes* operands[2] = {&s.value.lanes, &s.guard};
  return ops.Apply(Fn::kVector, s.atomic ? 0xa70 : 0x60a2d, s.value.bits, {operands, s.guarded ? 2u : 1u}, value);
}

bool MapBuilder::RepeatsBuffer(NodeId node) const {
  for (int i = 1; i < nodes_[node].slots; ++i)
    for (int j = 0; j < i; ++j)
      if (nodes_.slot_buffer(node, i) == nodes_.slot_buffer(node, j)) return true;
  return false;
}

Scalar MapBuilder::Linear(const Scalar& value) {
  const canonical::LinearForm* form = linear_.Find(value.node);
  return form == nullptr ? value : linear_.Apply(*form, value);
}

Lanes MapBuilder::Linear(symexec::MaskId mask, const Lanes& value, bool* all) {
  *all = true;
  symexec::VectorOps ops(&builder_, &space_);
  if (value.uniform()) {
    const canonical::LinearForm* form = linear_.Find(value.nodes);
    if (form == nullptr) {
      *all = !RepeatsBuffer(value.nodes);
      return value;
    }
    Lanes out;
    out.nodes = form->node;
    for (int j = 0; j < form->slots; ++j) {
      out.anchors.push_back(value.anchors[form->from[j].slot]);
      out.anchors.back().constant += form->from[j].shift;
    }
    return out;
  }
  const uint32_t* ids = space_.nodes(value.nodes & ~symexec::kMixed);
  bool any = false;
  for (int l = 0; l < space_.lanes(); ++l) {
    if (!space_.Test(mask, l) || (l > 0 && ids[l] == ids[l - 1] && space_.Test(mask, l - 1))) continue;
    const bool has = linear_.Find(ids[l]) != nullptr;
    any |= has;
    *all &= has || !RepeatsBuffer(ids[l]);
  }
  if (!any) return value;
  const int first = space_.First(mask);
  std::vector<Scalar> lanes(space_.lanes());
  for (int l = 0; l < space_.lanes(); ++l) lanes[l] = Linear(ops.At(value, space_.Test(mask, l) ? l : first));
  return ops.Pack(lanes);
}

bool MapBuilder::CountsElements(const ClassResult& c, const Store& s, const Lanes& value) const {
  constexpr uint64_t kMaxApart = 1u << 20;
  if (!grid_known_ || value.anchors.size() < 2) return false;
  if (static_cast<uint64_t>(space_.Count(s.mask)) * c.blocks.size() > kMaxApart) return false;
  if (c.symbolic->HasTerms(s.address.symbolic)) return false;
  symexec::VectorOps ops(&builder_, &space_);
  for (int l = 0; l < space_.lanes(); ++l) {
    if (!space_.Test(s.mask, l)) continue;
    const Scalar v = ops.At(value, l);
    for (int i = 0; i < v.slots; ++i)
      if (c.symbolic->HasTerms(v.anchor[i].symbolic)) return false;
  }
  return true;
}

bool MapBuilder::Rebuild(const Scalar& value, int* budget, Scalar* out) {
  const expr::Node n = nodes_[value.node];
  if (n.children == 0) {
    *out = value;
    return true;
  }
  if (--*budget < 0 || n.children > canonical::Builder::kMaxChildren) return false;
  std::vector<Scalar> children(n.children);
  for (int i = 0; i < n.children; ++i)
    if (!Rebuild(nodes_.ChildScalar(value, i), budget, &children[i])) return false;
  const expr::IsaOperation* isa = n.fn == Fn::kIsa ? nodes_.isa(n.attr) : nullptr;
  const bool pair = isa != nullptr && isa->spelling.empty();
  return builder_.Build(pair ? isa->fn : n.fn, pair ? isa->attr : n.attr, n.width, children.data(), n.children, out);
}

// `value` has absolute anchors without symbolic parts.
Scalar MapBuilder::Merged(const Scalar& value) {
  constexpr int kMaxTree = 256;
  if (!RepeatsBuffer(value.node)) return value;
  auto first_offset = [&value](BufferId buffer) {
    int i = 0;
    while (value.anchor[i].buffer != buffer) ++i;
    return value.anchor[i].offset;
  };
  // Key and result hold offsets from the value's first slot of the buffer.
  std::vector<int64_t> key = {value.node};
  for (int i = 0; i < value.slots; ++i) key.push_back(value.anchor[i].offset - first_offset(value.anchor[i].buffer));
  auto [it, fresh] = merged_.try_emplace(std::move(key));
  if (fresh) {
    int budget = kMaxTree;
    if (!Rebuild(value, &budget, &it->second)) it->second = value;
    for (int i = 0; i < it->second.slots; ++i) it->second.anchor[i].offset -= first_offset(it->second.anchor[i].buffer);
  }
  Scalar out = it->second;
  for (int i = 0; i < out.slots; ++i) out.anchor[i].offset += first_offset(out.anchor[i].buffer);
  return out;
}

Field MapBuilder::ValueTerm(const Scalar& v, int bits) {
  Field term = TermOf(v.node, bits);
  for (int j = 0; j < v.slots; ++j) term = term * Point(j + 1).Power(v.anchor[j].offset);
  return term;
}

Field MapBuilder::AddElements(const ClassResult& c, const Store& s, const Lanes& value, BufferMap* map) {
  symexec::VectorOps ops(&builder_, &space_);
  Field cover;
  const int64_t* array = space_.array(s.address.array);
  for (int l = 0; l < space_.lanes(); ++l) {
    if (!space_.Test(s.mask, l)) continue;
    const Scalar own = ops.At(value, l);
    for (size_t b = 0; b < c.blocks.size(); ++b) {
      Scalar v = own;
      for (int j = 0; j < v.slots; ++j) {
        v.anchor[j].offset += c.symbolic->At(v.anchor[j].symbolic, b);
        v.anchor[j].symbolic = 0;
      }
      if (linear_.Find(v.node) == nullptr) v = Merged(v);
      v = Linear(v);
      families_.insert(nodes_[v.node].digest.lo);
      const Field at = Point(kAddressPoint).Power(array[l] + s.address.constant + c.symbolic->At(s.address.symbolic, b));
      map->sum = map->sum + at * ValueTerm(v, s.value.bits);
      cover = cover + at;
    }
  }
  return cover;
}

bool MapBuilder::AddStore(const ClassResult& c, const Store& s, BufferMap* map) {
  Lanes value;
  if (!ValueOf(s, &value)) return false;
  const symexec::SymbolicSpace& symbolic = *c.symbolic;
  const int lanes = space_.Count(s.mask);
  if (lanes == 0) return true;
  bool all_linear;
  const Lanes linear = Linear(s.mask, value, &all_linear);  // interns vectors: those looked up before would be gone
  const uint32_t bytes = s.value.bits / 8u;
  const auto& range = symbolic[s.address.symbolic];
  int64_t lo = INT64_MAX, hi = INT64_MIN;
  const int64_t* array = space_.array(s.address.array);
  for (int l = 0; l < space_.lanes(); ++l) {
    if (!space_.Test(s.mask, l)) continue;
    lo = std::min(lo, array[l]);
    hi = std::max(hi, array[l]);
  }
  map->min = std::min(map->min, lo + s.address.constant + range.min);
  map->end = std::max(map->end, hi + s.address.constant + range.max + static_cast<int64_t>(bytes));
  map->bytes += static_cast<uint64_t>(lanes) * bytes * c.blocks.size();
  map->open |= symbolic.HasTerms(s.address.symbolic);
  Field per_byte;
  for (uint32_t i = 0; i < bytes; ++i) per_byte = per_byte + Point(kAddressPoint).Power(i);
  if (!all_linear && CountsElements(c, s, value)) {
    map->coverage = map->coverage + AddElements(c, s, value, map) * per_byte;
    return true;
  }
  value = linear;
  bool mixed = false;
  std::vector<SymbolicId> anchors;
  for (const LaneAnchor& a : value.anchors) {
    mixed |= (a.symbolic & symexec::kMixed) != 0;
    anchors.push_back(a.symbolic);
  }
  if (!mixed) {
    // Lanes whose trees use fewer anchors than the vector has must not count the others' blocks.
    bool ragged = false;
    if (!value.uniform()) {
      const uint32_t* ids = space_.nodes(value.nodes & ~symexec::kMixed);
      for (int l = 0; l < space_.lanes() && !ragged; ++l)
        if (space_.Test(s.mask, l))
          for (size_t j = nodes_[ids[l]].slots; j < anchors.size(); ++j) ragged |= anchors[j] != 0;
    }
    if (!ragged) {
      const Weighted w = LaneSum(s, value);
      map->sum = map->sum + w.sum * BlockSum(c, s.address.symbolic, anchors) * OpenFactor(c, s.address.symbolic, anchors);
      map->coverage = map->coverage + w.cover * BlockSum(c, s.address.symbolic, {}) * per_byte;
      return true;
    }
  }
  // Lane by lane: each with its own symbolic parts.
  symexec::VectorOps ops(&builder_, &space_);
  for (int l = 0; l < space_.lanes(); ++l) {
    if (!space_.Test(s.mask, l)) continue;
    const Scalar v = ops.At(value, l);
    families_.insert(nodes_[v.node].digest.lo);
    Field cover = Point(kAddressPoint).Power(array[l] + s.address.constant);
    const Field product = cover * ValueTerm(v, s.value.bits);
    anchors.clear();
    for (int j = 0; j < v.slots; ++j) anchors.push_back(v.anchor[j].symbolic);
    map->sum = map->sum + product * BlockSum(c, s.address.symbolic, anchors) * OpenFactor(c, s.address.symbolic, anchors);
    map->coverage = map->coverage + cover * BlockSum(c, s.address.symbolic, {}) * per_byte;
  }
  return true;
}

// Every byte of [min, end) written exactly once: as many bytes as the range has, and the sum of their powers is the
// geometric series.
bool MapBuilder::Dense(const BufferMap& m) const {
  if (m.bytes != static_cast<uint64_t>(m.end - m.min)) return false;
  const Field r = Point(kAddressPoint).Power(1);
  const Field series = (Power(r, m.bytes) - Field(1)) * Inverse(r - Field(1)) * Point(kAddressPoint).Power(m.min);
  return series == m.coverage;
}

bool MapBuilder::Enumerate(const std::vector<ClassResult>& classes, const symexec::LaneSpace& space, BufferId buffer,
                           uint64_t limit, std::vector<Element>* out) {
  for (const ClassResult& c : classes) {
    for (const Store& s : c.execution.stores) {
      if (s.buffer != buffer) continue;
      const int64_t* array = space.array(s.address.array);
      uint64_t terms = 0;
      for (const auto& [id, factor] : (*c.symbolic)[s.address.symbolic].terms) {
        const symexec::Atom* atom = c.symbolic->atom(id);
        terms += Scramble((atom == nullptr ? id : atom->key.lo) + Scramble(static_cast<uint64_t>(factor)));
      }
      for (size_t b = 0; b < c.blocks.size(); ++b) {
        const int64_t base = s.address.constant + c.symbolic->At(s.address.symbolic, b);
        for (int l = 0; l < space.lanes(); ++l) {
          if (!space.Test(s.mask, l)) continue;
          if (out->size() >= limit) return false;
          out->push_back({array[l] + base, s.value.bits / 8u, c.blocks[b], static_cast<uint32_t>(b),
                          static_cast<uint16_t>(l), terms, &s, &c});
        }
      }
    }
  }
  return true;
}

Scalar MapBuilder::ElementValue(const Element& e) {
  Lanes value;
  Scalar v;
  if (!ValueOf(*e.store, &value)) return v;
  symexec::VectorOps ops(&builder_, &space_);
  v = ops.At(value, e.lane);
  for (int j = 0; j < v.slots; ++j) v.anchor[j].offset += e.owner->symbolic->At(v.anchor[j].symbolic, e.block_in_class);
  return v;
}

Field MapBuilder::ElementTerm(const Element& e) {
  Scalar v = ElementValue(e);
  Lanes value;
  const bool known = ValueOf(*e.store, &value);
  if (known && linear_.Find(v.node) == nullptr && RepeatsBuffer(v.node) && CountsElements(*e.owner, *e.store, value)) {
    for (int j = 0; j < v.slots; ++j) v.anchor[j].symbolic = 0;
    v = Merged(v);
  }
  v = Linear(v);
  const Field term = ValueTerm(v, e.store->value.bits) * Point(kAddressPoint).Power(e.address);
  if (grid_known_) return term;
  // Anchors of the value in this lane, as AddStore has them.
  std::vector<SymbolicId> anchors;
  for (int j = 0; j < v.slots; ++j) anchors.push_back(v.anchor[j].symbolic);
  return term * OpenGridFactor(*e.owner, e.store->address.symbolic, anchors);
}

// Some address may be written more than once. Writes of equal values are one; a later write of the same lane, or one
// that a barrier orders, replaces the earlier; anything else is decided by arrival.
Stop MapBuilder::ResolveRepeats(const std::vector<ClassResult>& classes, BufferId buffer, BufferMap* map) {
  std::vector<Element> elements;
  if (!Enumerate(classes, space_, buffer, kMaxElements, &elements))
    return Problem(StopKind::kUnknown, "WRITES_NOT_PROVED_DISJOINT",
                   "more stores than the checker enumerates, and they do not cover one range once", 0);
  std::sort(elements.begin(), elements.end(), [](const Element& a, const Element& b) {
    return std::tie(a.terms, a.address, a.bytes, a.block, a.store->order, a.lane) <
           std::tie(b.terms, b.address, b.bytes, b.block, b.store->order, b.lane);
  });
  for (size_t i = 0; i < elements.size();) {
    size_t end = i + 1;
    while (end < elements.size() && elements[end].terms == elements[i].terms && elements[end].address == elements[i].address &&
           elements[end].bytes == elements[i].bytes)
      ++end;
    if (end < elements.size() && elements[end].terms == elements[i].terms && elements[end].address < elements[i].address + static_cast<int64_t>(elements[i].bytes))
      return Problem(StopKind::kUnknown, "PARTIAL_OVERLAP", "stores overlap in part", elements[end].store->line);
    size_t winner = i;
    bool shared = false;  // the winner's value was also written by another lane,
    uint32_t epoch = elements[i].store->block_epoch;  // last in this epoch
    for (size_t k = i + 1; k < end; ++k) {
      const Element &w = elements[winner], &e = elements[k];
      if (!grid_known_ && e.block != w.block)
        return Problem(StopKind::kUnknown, "OPEN_GRID", "blocks of an open grid write one address more than once", e.store->line);
      if (e.store->guarded && w.store->guarded && !e.store->atomic && !w.store->atomic && ElementTerm(e) == ElementTerm(w)) {
        map->sum = map->sum - ElementTerm(e);  // the same value under the same condition
        shared = true;
        if (e.block == w.block) epoch = e.store->block_epoch;
        continue;
      }
      if (e.store->guarded || w.store->guarded || e.store->atomic || w.store->atomic)
        return Problem(StopKind::kUnknown, "CONDITIONAL_OVERLAP", "a conditional store and another meet at one address", e.store->line);
      if (e.block == w.block && ((e.lane == w.lane && !shared) || e.store->block_epoch > epoch)) {
        map->sum = map->sum - ElementTerm(w);
        winner = k;
        shared = false;
        epoch = e.store->block_epoch;
        continue;
      }
      const Field a = ElementTerm(w), b = ElementTerm(e);
      if (a != b)
        return Problem(StopKind::kNondeterministic, "CONFLICTING_WRITES",
                       "two lanes write different values to one address, and nothing orders them", e.store->line);
      map->sum = map->sum - b;
      shared = true;
      if (e.block == w.block) epoch = e.store->block_epoch;
    }
    i = end;
  }
  return Stop{};
}

// A read of a buffer that the launch also writes must see the initial contents, whatever the schedule.
Stop MapBuilder::CheckReads(const std::vector<ClassResult>& classes, BufferId buffer) {
  std::vector<Element> writes;
  if (!Enumerate(classes, space_, buffer, kMaxElements, &writes))
    return Problem(StopKind::kUnknown, "IN_PLACE", "more stores to a buffer that is also read than the checker enumerates", 0);
  std::sort(writes.begin(), writes.end(), [](const Element& a, const Element& b) { return a.address < b.address; });
  uint32_t widest = 1;
  for (const Element& w : writes) widest = std::max(widest, w.bytes);
  uint64_t visited = 0;
  for (const ClassResult& c : classes) {
    for (const symexec::Load& load : c.execution.loads) {
      if (load.buffer != buffer) continue;
      if (load.bytes == 0)
        return Problem(StopKind::kUnknown, "IN_PLACE", "a buffer that is written is read at a data-dependent address", load.line);
      if (c.symbolic->HasTerms(load.address.symbolic))
        return Problem(StopKind::kUnknown, "IN_PLACE", "a buffer is read and written at open addresses", load.line);
      const int64_t* array = space_.array(load.address.array);
      for (size_t b = 0; b < c.blocks.size(); ++b) {
        const int64_t base = load.address.constant + c.symbolic->At(load.address.symbolic, b);
        for (int l = 0; l < space_.lanes(); ++l) {
          if (!space_.Test(load.mask, l)) continue;
          if (++visited > 4 * kMaxElements)
            return Problem(StopKind::kUnknown, "IN_PLACE", "more loads of a written buffer than the checker enumerates", load.line);
          const int64_t from = array[l] + base, to = from + load.bytes;
          auto it = std::lower_bound(writes.begin(), writes.end(), from - static_cast<int64_t>(widest) + 1,
                                     [](const Element& e, int64_t at) { return e.address < at; });
          for (; it != writes.end() && it->address < to; ++it) {
            if (it->address + static_cast<int64_t>(it->bytes) <= from) continue;
            const bool same_block = it->block == c.blocks[b], same_lane = same_block && it->lane == l;
            if (load.async)
              return Problem(StopKind::kUnknown, "IN_PLACE", "an asynchronous copy reads a buffer that the launch writes", load.line);
            const bool before = same_lane ? load.order < it->store->order : same_block && load.block_epoch < it->store->block_epoch;
            if (before) continue;
            if (same_lane || (same_block && load.block_epoch > it->store->block_epoch))
              return Problem(StopKind::kUnknown, "IN_PLACE", "a value that this launch stored is read back", load.line);
            return Problem(StopKind::kNondeterministic, "DATA_RACE",
                           "global memory is read by one lane and written by another without order", load.line);
          }
        }
      }
    }
  }
  return Stop{};
}

Stop MapBuilder::Build(const std::vector<ClassResult>& classes, const std::vector<bool>& compared,
                       std::map<BufferId, BufferMap>* maps) {
  std::vector<bool> written(nodes_.buffer_count(), false), read(nodes_.buffer_count(), false);
  first_class_ = classes.data();
  for (const ClassResult& c : classes) {
    block_sums_.clear();
    open_factors_.clear();
    for (const Store& s : c.execution.stores) {
      written[s.buffer] = true;
      if (!AddStore(c, s, &(*maps)[s.buffer]))
        return Problem(StopKind::kUnknown, "TOO_MANY_ANCHORS", "a stored value depends on too many addresses", s.line);
    }
    for (const symexec::Load& l : c.execution.loads) read[l.buffer] = true;
  }
  if (open_problem_.kind != StopKind::kDone) return open_problem_;
  for (auto& [buffer, map] : *maps) {
    if (map.bytes == 0) continue;
    if (!grid_known_) {
      if (read[buffer])
        if (const Stop s = CheckOpenReads(classes, buffer); s.kind != StopKind::kDone) return s;
      if (compared[buffer])
        if (const Stop s = ResolveRepeats(classes, buffer, &map); s.kind != StopKind::kDone) return s;
      continue;
    }
    if (map.open) {
      if (read[buffer])
        return Problem(StopKind::kUnknown, "IN_PLACE", "a buffer is read and written, and the launch leaves addresses open", 0);
      continue;
    }
    if (read[buffer])
      if (const Stop s = CheckReads(classes, buffer); s.kind != StopKind::kDone) return s;
    if (!Dense(map) && compared[buffer])
      if (const Stop s = ResolveRepeats(classes, buffer, &map); s.kind != StopKind::kDone) return s;
  }
  for (auto it = maps->begin(); it != maps->end();)
    it = it->second.bytes == 0 || !compared[it->first] ? maps->erase(it) : std::next(it);
  return Stop{};
}

}  // namespace samebits::checker
