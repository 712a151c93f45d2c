#ifndef SAMEBITS_CORE_EXPR_NODE_H_
#define SAMEBITS_CORE_EXPR_NODE_H_

// Hash-consed expression nodes that are free of translation.
//
// A node describes the shape of a computation with all memory addresses relative to *anchors*. Slot j of a node is
// an anchor: an offset (bytes for memory, a value for integers) into one buffer, supplied by whoever uses the node.
// A child edge says, for each slot of the child, which slot of the parent it hangs on and at what constant shift.
// So x[i]+x[i+1] is one node for every i, and the rows of a tile share all their nodes.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/field.h"
#include "core/base/hash.h"
#include "core/expr/fn.h"

namespace samebits::expr {

using NodeId = uint32_t;
using BufferId = uint16_t;
using SymbolicId = uint32_t;  // what the launch leaves open in an offset; 0 is nothing (symexec/symbolic.h)

inline constexpr int kMaxSlots = 16;
inline constexpr BufferId kIntBuffer = 0;  // anchors of kInt nodes: the integer itself

// One anchor of a value in one lane.
struct Anchor {
  int64_t offset;
  SymbolicId symbolic;
  BufferId buffer;
  uint16_t source;  // operand index * kMaxSlots + slot it was taken from; set by the builder
};

// A node with its anchors: the value of one lane.
struct Scalar {
  NodeId node = 0;
  uint8_t slots = 0;
  std::array<Anchor, kMaxSlots> anchor;

  Scalar() {}  // anchors stay uninitialised: only the first `slots` are read
  Scalar(const Scalar& o) { *this = o; }
  Scalar& operator=(const Scalar& o) {
    node = o.node;
    slots = o.slots;
    for (int i = 0; i < slots; ++i) anchor[i] = o.anchor[i];
    return *this;
  }
};

// Whether two are one value of the same inputs.
inline bool Same(const Scalar& a, const Scalar& b) {
  if (a.node != b.node) return false;
  for (int i = 0; i < a.slots; ++i)
    if (a.anchor[i].offset != b.anchor[i].offset || a.anchor[i].symbolic != b.anchor[i].symbolic) return false;
  return true;
}

// What is known of a node's value for every input.
enum Fact : uint8_t {
  kNeverMinusZero = 1,  // as a float of its width: no -0
  kNonNegative = 2,     // sign bit clear, or NaN
  kCanonicalNan = 4,    // arithmetic leaves a NaN of it as it is: canonical (f64: quiet); 16 bits: as f16
  kArithmeticFtz = 8,   // no subnormal results
  kCanonicalNanBf16 = 16,  // as kCanonicalNan, 16 bits as bf16
  kHoldsUndef = 32,     // some operand, at any depth, was never written
};

struct ChildRef {
  NodeId node;
  uint8_t slots;
  const uint64_t* map;  // per child slot: parent slot in the top byte, shift in the low 56 bits (signed)
  int parent_slot(int i) const { return static_cast<int>(map[i] >> 56); }
  int64_t shift(int i) const { return static_cast<int64_t>(map[i] << 8) >> 8; }
  // The next child of the same node; there must be one.
  ChildRef next() const {
    const uint64_t* w = map + slots;
    return {static_cast<NodeId>(*w), static_cast<uint8_t>(*w >> 32), w + 1};
  }
};

struct Node {
  Digest128 digest;
  uint64_t attr = 0;
  uint64_t pool = 0;       // first word in the pool
  uint32_t line = 0;       // text line of the instruction that first made it
  uint16_t children = 0;
  Fn fn = Fn::kUndef;
  uint8_t width = 0;       // bits of the result; 0 for leaves, whose consumer decides
  uint8_t slots = 0;
  uint8_t facts = 0;
  uint8_t reads = 0;       // leaves with a slot, each as often as it occurs in the tree, up to 255
};

// What the attribute word of kIsa nodes stands for: an instruction by its spelling, or (spelling empty) operation `fn`
// with `attr` on two operands that cannot flatten to a multiset.
struct IsaOperation {
  std::string spelling;
  std::vector<int> operand_widths;
  Fn fn = Fn::kUndef;
  uint64_t attr = 0;
};

// The unique table: equal content gives the same id, compared in full. Not thread-safe: one manager a check.
class NodeManager {
 public:
  explicit NodeManager(uint64_t max_nodes);

  // Registers a buffer; `key` identifies it in digests. Buffer 0 is kIntBuffer.
  BufferId AddBuffer(std::string name, const Digest128& key);
  // The buffer of a key, registered once.
  BufferId FindBuffer(std::string name, const Digest128& key) {
    for (size_t b = 0; b < buffers_.size(); ++b)
      if (buffers_[b].key == key) return static_cast<BufferId>(b);
    return AddBuffer(std::move(name), key);
  }
  const std::string& buffer_name(BufferId b) const { return buffers_[b].name; }
  const Digest128& buffer_key(BufferId b) const { return buffers_[b].key; }
  int buffer_count() const { return static_cast<int>(buffers_.size()); }

  NodeId Undef() const { return 0; }
  NodeId Const(uint64_t value, int width);
  NodeId Leaf(BufferId buffer);
  NodeId Int(int width);
  NodeId Param(uint32_t index, int width);

  // An operation over children in the given order. Slots of equal (buffer, symbolic part) merge; `out` gets the
  // node and its anchors, each with the source it came from. False when slots run out.
  bool Make(Fn fn, uint64_t attr, int width, uint8_t facts, const Scalar* children, int count, Scalar* out);

  // The elements of a multiset that use the same of its slots, as the sum of their weights times point^shift of each
  // slot that they use.
  struct MultisetGroup {
    uint32_t slots = 0;  // bit j: slot j
    Field sum;
  };
  // A multiset node: identity is (fn, attr, width, slot buffers, groups ascending by slots, constant); `a` and `b` are
  // what it was first joined from, kept for evaluation and printing.
  NodeId MakeMultiset(Fn fn, uint64_t attr, int width, uint8_t facts, const BufferId* buffers, int slots,
                      std::span<const MultisetGroup> groups, std::optional<uint64_t> constant, const ChildRef& a,
                      const ChildRef& b);
  struct MultisetView {
    std::vector<MultisetGroup> groups;
    std::optional<uint64_t> constant;
  };
  MultisetView multiset(NodeId id) const;
  bool IsMultiset(NodeId id) const { return IsAssociative(nodes_[id].fn); }

  // Says what kIsa nodes with attribute `word` mean; the first description stays. No part of any digest.
  void DescribeIsa(uint64_t word, const IsaOperation& operation) { isa_.try_emplace(word, operation); }
  // Null where `word` was never described.
  const IsaOperation* isa(uint64_t word) const {
    const auto it = isa_.find(word);
    return it == isa_.end() ? nullptr : &it->second;
  }

  const Node& operator[](NodeId id) const { return nodes_[id]; }
  BufferId slot_buffer(NodeId id, int slot) const {
    return static_cast<BufferId>(pool_[nodes_[id].pool + slot / 4] >> (16 * (slot % 4)));
  }
  // Child i (0-based), walking from the first; O(i).
  ChildRef child(NodeId id, int i) const;
  // Anchors of child i when the node's own are `anchors`.
  Scalar ChildScalar(const Scalar& parent, int i) const;
  bool IsConst(NodeId id, uint64_t* value = nullptr) const {
    if (nodes_[id].fn != Fn::kConst) return false;
    if (value != nullptr) *value = nodes_[id].attr;
    return true;
  }

  // Weight of a digest in map and multiset sums: a fixed pseudo-random field element.
  static Field Weight(const Digest128& digest);
  // Evaluation point of a buffer in multiset sums: fixed by its key.
  Field point(BufferId b) const { return buffers_[b].point; }

  size_t size() const { return nodes_.size(); }
  uint64_t memory_bytes() const { return nodes_.capacity() * sizeof(Node) + pool_.capacity() * 8 + table_.capacity() * 4; }
  bool exhausted() const { return nodes_.size() >= max_nodes_; }
  void set_line(uint32_t line) { line_ = line; }

 private:
  struct Buffer {
    std::string name;
    Digest128 key;
    Field point;
    NodeId leaf = 0;
  };
  NodeId Intern(Fn fn, uint64_t attr, int width, int slots, int children, uint8_t facts, size_t identity_words);
  uint8_t ReadsOfChildren(Fn fn, int slots, int children) const;
  Digest128 ComputeDigest(const Node& node, size_t identity_words) const;
  void Grow();

  uint64_t max_nodes_;
  uint32_t line_ = 0;
  std::vector<Node> nodes_;
  std::vector<uint64_t> pool_;
  std::vector<uint64_t> scratch_;
  std::vector<uint32_t> table_;
  std::vector<uint32_t> hashes_;
  std::vector<uint32_t> identity_;  // identity words of each node
  std::vector<Buffer> buffers_;
  std::unordered_map<uint64_t, IsaOperation> isa_;
};

}  // namespace samebits::expr

#endif  // SAMEBITS_CORE_EXPR_NODE_H_
