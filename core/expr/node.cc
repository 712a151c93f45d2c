#include "core/expr/node.h"

#include <algorithm>
#include <cstring>

namespace samebits::expr {
namespace {

constexpr uint64_t kShiftMask = (uint64_t{1} << 56) - 1;
uint64_t EdgeWord(int parent_slot, int64_t shift) {
  return static_cast<uint64_t>(parent_slot) << 56 | (static_cast<uint64_t>(shift) & kShiftMask);
}
bool ShiftFits(int64_t shift) { return shift >= -(int64_t{1} << 55) && shift < (int64_t{1} << 55); }
// Words of a multiset's groups and constant, from the first of them.
size_t MultisetWords(uint64_t first) { return 2 + 3 * (first >> 1); }
constexpr size_t BufferWords(int slots) { return (slots + 3) / 4; }

}  // namespace

NodeManager::NodeManager(uint64_t max_nodes) : max_nodes_(max_nodes) {
  nodes_.reserve(4096);
  pool_.reserve(32768);
  table_.assign(16384, 0);
  WordHasher h(1);
  AddBuffer("#int", h.Finish());
  Node undef;
  undef.digest = WordHasher(2).Finish();
  undef.facts = kHoldsUndef;
  nodes_.push_back(undef);
  hashes_.push_back(0);
  identity_.push_back(0);
}

BufferId NodeManager::AddBuffer(std::string name, const Digest128& key) {
  WordHasher h(4);
  h.Add(key);
  buffers_.push_back({std::move(name), key, Weight(h.Finish()), 0});
  return static_cast<BufferId>(buffers_.size() - 1);
}

NodeId NodeManager::Const(uint64_t value, int width) {
  scratch_.clear();
  if (width < 64) value &= (uint64_t{1} << width) - 1;
  return Intern(Fn::kConst, value, width, 0, 0, 0, 0);
}

NodeId NodeManager::Leaf(BufferId buffer) {
  if (buffers_[buffer].leaf == 0) {
    scratch_.assign(1, buffer);
    buffers_[buffer].leaf = Intern(Fn::kLeaf, 0, 0, 1, 0, 0, 1);
  }
  return buffers_[buffer].leaf;
}

NodeId NodeManager::Int(int width) {
  scratch_.assign(1, kIntBuffer);
  return Intern(Fn::kInt, width, width, 1, 0, 0, 1);
}

NodeId NodeManager::Param(uint32_t index, int width) {
  scratch_.clear();
  return Intern(Fn::kParam, index, width, 0, 0, 0, 0);
}

bool NodeManager::Make(Fn fn, uint64_t attr, int width, uint8_t facts, const Scalar* children, int count, Scalar* out) {
  out->slots = 0;
  scratch_.clear();
  scratch_.resize(BufferWords(kMaxSlots));  // compacted below
  for (int c = 0; c < count; ++c) {
    const Scalar& child = children[c];
    scratch_.push_back(static_cast<uint64_t>(child.slots) << 32 | child.node);
    facts |= nodes_[child.node].facts & kHoldsUndef;
    for (int i = 0; i < child.slots; ++i) {
      const Anchor& a = child.anchor[i];
      int p = 0;
      while (p < out->slots && (out->anchor[p].buffer != a.buffer || out->anchor[p].symbolic != a.symbolic)) ++p;
      if (p == out->slots) {
        if (p == kMaxSlots) return false;
        out->anchor[p] = a;
        ++out->slots;
      }
      const int64_t shift =
          static_cast<int64_t>(static_cast<uint64_t>(a.offset) - static_cast<uint64_t>(out->anchor[p].offset));
      if (!ShiftFits(shift)) return false;
      scratch_.push_back(EdgeWord(p, shift));
    }
  }
  const size_t buffer_words = BufferWords(out->slots);
  uint64_t buffers[BufferWords(kMaxSlots)] = {};
  for (int p = 0; p < out->slots; ++p) buffers[p / 4] |= static_cast<uint64_t>(out->anchor[p].buffer) << (16 * (p % 4));
  scratch_.erase(scratch_.begin(), scratch_.begin() + (BufferWords(kMaxSlots) - buffer_words));
  std::copy_n(buffers, buffer_words, scratch_.begin());
  out->node = Intern(fn, attr, width, out->slots, count, facts, scratch_.size());
  return true;
}

NodeId NodeManager::MakeMultiset(Fn fn, uint64_t attr, int width, uint8_t facts, const BufferId* buffers, int slots,
                                 std::span<const MultisetGroup> groups, std::optional<uint64_t> constant,
                                 const ChildRef& a, const ChildRef& b) {
  scratch_.assign(BufferWords(slots), 0);
  for (int p = 0; p < slots; ++p) scratch_[p / 4] |= static_cast<uint64_t>(buffers[p]) << (16 * (p % 4));
  scratch_.push_back(groups.size() << 1 | (constant ? 1 : 0));
  scratch_.push_back(constant.value_or(0));
  for (const MultisetGroup& g : groups) {
    scratch_.push_back(g.slots);
    scratch_.push_back(g.sum.hi());
    scratch_.push_back(g.sum.lo());
  }
  const size_t identity = scratch_.size();
  for (const ChildRef* c : {&a, &b}) {
    scratch_.push_back(static_cast<uint64_t>(c->slots) << 32 | c->node);
    facts |= nodes_[c->node].facts & kHoldsUndef;
    for (int i = 0; i < c->slots; ++i) scratch_.push_back(c->map[i]);
  }
  return Intern(fn, attr, width, slots, 2, facts, identity);
}

NodeManager::MultisetView NodeManager::multiset(NodeId id) const {
  const uint64_t* w = &pool_[nodes_[id].pool + BufferWords(nodes_[id].slots)];
  MultisetView view;
  if (w[0] & 1) view.constant = w[1];
  for (uint64_t i = 0; i < w[0] >> 1; ++i)
    view.groups.push_back({static_cast<uint32_t>(w[2 + 3 * i]), Field(static_cast<uint128>(w[3 + 3 * i]) << 64 | w[4 + 3 * i])});
  return view;
}

ChildRef NodeManager::child(NodeId id, int i) const {
  const Node& node = nodes_[id];
  const uint64_t* w = pool_.data() + node.pool + BufferWords(node.slots);
  if (IsAssociative(node.fn)) w += MultisetWords(*w);
  for (;; --i) {
    const ChildRef ref{static_cast<NodeId>(*w), static_cast<uint8_t>(*w >> 32), w + 1};
    if (i == 0) return ref;
    w += 1 + ref.slots;
  }
}

Scalar NodeManager::ChildScalar(const Scalar& parent, int i) const {
  const ChildRef ref = child(parent.node, i);
  Scalar out;
  out.node = ref.node;
  out.slots = ref.slots;
  for (int s = 0; s < ref.slots; ++s) {
    out.anchor[s] = parent.anchor[ref.parent_slot(s)];
    out.anchor[s].offset += ref.shift(s);
  }
  return out;
}

NodeId NodeManager::Intern(Fn fn, uint64_t attr, int width, int slots, int children, uint8_t facts,
                           size_t identity_words) {
  uint64_t h = TableHash(static_cast<uint64_t>(fn) << 32 | static_cast<uint64_t>(width) << 16 | slots, attr);
  for (size_t i = 0; i < identity_words; ++i) h = TableHash(h, scratch_[i]);
  const uint32_t short_hash = static_cast<uint32_t>(h >> 32);
  const size_t mask = table_.size() - 1;
  size_t at = h & mask;
  for (; table_[at] != 0; at = (at + 1) & mask) {
    const uint32_t id = table_[at];
    if (hashes_[id] != short_hash) continue;
    const Node& n = nodes_[id];
    if (n.fn == fn && n.attr == attr && n.width == width && n.slots == slots && identity_[id] == identity_words &&
        std::equal(scratch_.begin(), scratch_.begin() + static_cast<ptrdiff_t>(identity_words), pool_.begin() + static_cast<ptrdiff_t>(n.pool)))
      return id;
  }
  Node node;
  node.attr = attr;
  node.pool = pool_.size();
  node.line = line_;
  node.children = static_cast<uint16_t>(children);
  node.fn = fn;
  node.width = static_cast<uint8_t>(width);
  node.slots = static_cast<uint8_t>(slots);
  node.facts = facts;
  node.reads = children == 0 ? static_cast<uint8_t>(slots) : ReadsOfChildren(fn, slots, children);
  pool_.insert(pool_.end(), scratch_.begin(), scratch_.end());
  node.digest = ComputeDigest(node, identity_words);
  const NodeId id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back(node);
  hashes_.push_back(short_hash);
  identity_.push_back(static_cast<uint32_t>(identity_words));
  table_[at] = id;
  if (nodes_.size() * 2 > table_.size()) Grow();
  return id;
}

// Of the operation whose words are in scratch_.
uint8_t NodeManager::ReadsOfChildren(Fn fn, int slots, int children) const {
  const uint64_t* w = scratch_.data() + BufferWords(slots);
  if (IsAssociative(fn)) w += MultisetWords(*w);
  uint32_t reads = 0;
  for (int i = 0; i < children; ++i) {
    reads += nodes_[static_cast<NodeId>(*w)].reads;
    w += 1 + static_cast<uint8_t>(*w >> 32);
  }
  return static_cast<uint8_t>(std::min<uint32_t>(reads, 255));
}

Digest128 NodeManager::ComputeDigest(const Node& node, size_t identity_words) const {
  WordHasher h(3);
  h.Add(static_cast<uint64_t>(node.fn) | static_cast<uint64_t>(node.width) << 8 |
        static_cast<uint64_t>(node.slots) << 16 | static_cast<uint64_t>(node.children) << 24);
  h.Add(node.attr);
  if (node.fn == Fn::kLeaf || IsAssociative(node.fn)) {
    for (int p = 0; p < node.slots; ++p) {
      const BufferId b = static_cast<BufferId>(pool_[node.pool + p / 4] >> (16 * (p % 4)));
      h.Add(buffers_[b].key);
    }
    if (node.fn == Fn::kLeaf) return h.Finish();
    const size_t first = node.pool + BufferWords(node.slots);
    for (size_t i = 0; i < MultisetWords(pool_[first]); ++i) h.Add(pool_[first + i]);
    return h.Finish();
  }
  const uint64_t* w = pool_.data() + node.pool + BufferWords(node.slots);
  const uint64_t* end = pool_.data() + node.pool + identity_words;
  while (w < end) {
    const int slots = static_cast<int>(*w >> 32);
    h.Add(nodes_[static_cast<NodeId>(*w)].digest);
    ++w;
    for (int i = 0; i < slots; ++i) h.Add(*w++);
  }
  return h.Finish();
}

void NodeManager::Grow() {
  std::vector<uint32_t> bigger(table_.size() * 2, 0);
  const size_t mask = bigger.size() - 1;
  // Rebuild the full hash from content: only its upper half is kept.
  for (uint32_t id = 1; id < nodes_.size(); ++id) {
    const Node& n = nodes_[id];
    uint64_t h = TableHash(static_cast<uint64_t>(n.fn) << 32 | static_cast<uint64_t>(n.width) << 16 | n.slots, n.attr);
    for (size_t i = 0; i < identity_[id]; ++i) h = TableHash(h, pool_[n.pool + i]);
    size_t at = h & mask;
    while (bigger[at] != 0) at = (at + 1) & mask;
    bigger[at] = id;
  }
  table_.swap(bigger);
}

Field NodeManager::Weight(const Digest128& d) {
  const uint64_t hi = Scramble(d.hi + 0x632be59bd9b4e019ull), lo = Scramble(d.lo ^ Scramble(d.hi));
  return Field(static_cast<uint128>(hi) << 64 | lo);
}

}  // namespace samebits::expr
