#ifndef SAMEBITS_CORE_SYMEXEC_LANES_H_
#define SAMEBITS_CORE_SYMEXEC_LANES_H_

// Values of all lanes of a block at once, and operations on them.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "core/canonical/builder.h"
#include "core/symexec/lane_space.h"
#include "core/symexec/symbolic.h"

namespace samebits::symexec {

inline constexpr uint32_t kMixed = 0x80000000u;  // top bit: an id of LaneSpace, not one value for all lanes

// Anchor of every lane: array[lane] + constant + symbolic part (one for all lanes, or mixed).
struct LaneAnchor {
  ArrayId array = 0;
  uint32_t symbolic = 0;
  int64_t constant = 0;
  friend bool operator==(const LaneAnchor&, const LaneAnchor&) = default;
};

// One node per lane (the same for all, or mixed) with its anchors. A lane uses the first `slots` of its own node.
struct Lanes {
  uint32_t nodes = 0;
  absl::InlinedVector<LaneAnchor, 3> anchors;
  bool uniform() const { return (nodes & kMixed) == 0; }
};

class LaneClasses;

class VectorOps {
 public:
  VectorOps(canonical::Builder* builder, LaneSpace* space);
  ~VectorOps();

  // The operation in every lane. False when a value needs more anchors than kMaxSlots.
  bool Apply(expr::Fn fn, uint64_t attr, int width, std::span<const Lanes* const> operands, Lanes* out);
  // mask(l) ? a : b.
  bool Blend(MaskId mask, const Lanes& a, const Lanes& b, Lanes* out);
  // The value as memory or another lane sees it: no longer open to contraction.
  void Settle(Lanes* v);
  Lanes Permute(const Lanes& a, PermId perm);
  Lanes Const(uint64_t value, int width);
  // A constant per lane.
  Lanes ConstPerLane(const std::vector<uint64_t>& values, int width);

  expr::Scalar At(const Lanes& v, int lane) const;
  Lanes Pack(const std::vector<expr::Scalar>& lanes);
  bool ConstValue(const Lanes& v, uint64_t* value) const;

  canonical::Builder& builder() { return builder_; }
  expr::NodeManager& nodes() { return nodes_; }
  const LaneSpace& space() const { return space_; }
  uint64_t memo_hits() const { return memo_hits_; }
  uint64_t memory_bytes() const {
    return key_pool_.capacity() * 8 + slot_pool_.capacity() * sizeof(MemoSlot) + memo_.capacity() * sizeof(MemoEntry) +
           memo_table_.capacity() * 4;
  }

 private:
  struct Reference {
    expr::BufferId buffer;
    uint32_t symbolic;
    int64_t constant;
  };
  struct MemoEntry {
    uint64_t hash;
    uint32_t key, key_words;       // in key_pool_
    uint32_t nodes;
    uint32_t first_slot, slots;    // in slot_pool_
  };
  struct MemoSlot {
    ArrayId array;
    uint32_t symbolic;
    int64_t relative;
    uint32_t reference;
  };
  bool AllUniform(std::span<const Lanes* const> operands) const;
  bool Uniform(expr::Fn fn, uint64_t attr, int width, std::span<const Lanes* const> operands, Lanes* out, bool* done);
  bool PerLane(expr::Fn fn, uint64_t attr, int width, std::span<const Lanes* const> operands, Lanes* out);
  void Choose(MaskId mask, const Lanes& a, const Lanes& b, Lanes* out);
  bool Remembered(expr::Fn fn, uint64_t attr, int width, std::span<const Lanes* const> operands, MaskId blend,
                  Lanes* out);
  void GrowMemo();

  canonical::Builder& builder_;
  expr::NodeManager& nodes_;
  LaneSpace& space_;
  std::vector<uint64_t> key_pool_, key_;
  std::vector<MemoSlot> slot_pool_;
  std::vector<MemoEntry> memo_;
  std::vector<uint32_t> memo_table_ = std::vector<uint32_t>(4096, 0);
  // Of the operation at hand: groups of anchors, the group of each operand anchor and of each result column.
  std::vector<Reference> references_;
  std::vector<int> reference_of_, operand_first_, column_reference_;
  // Of an operation lane by lane.
  std::unique_ptr<LaneClasses> classes_;  // null before the first
  std::vector<uint16_t> class_of_;
  std::vector<expr::Scalar> current_;
  uint64_t memo_hits_ = 0;
  uint32_t last_hit_ = 0;  // in memo_
};

// VectorOps::At for one lane after the other: quicker where the lanes share a node. Borrows both arguments; a reference
// that At returns holds until the next call.
class LaneCursor {
 public:
  LaneCursor(const VectorOps& ops, const Lanes& v) : ops_(ops), v_(v), scalar_(ops.At(v, 0)), shared_(v.uniform()) {
    for (int i = 0; i < scalar_.slots; ++i) shared_ &= (v.anchors[i].symbolic & kMixed) == 0;
  }
  const expr::Scalar& At(int lane) {
    if (!shared_) return scalar_ = ops_.At(v_, lane);
    for (int i = 0; i < scalar_.slots; ++i)
      scalar_.anchor[i].offset = ops_.space().array(v_.anchors[i].array)[lane] + v_.anchors[i].constant;
    return scalar_;
  }

 private:
  const VectorOps& ops_;
  const Lanes& v_;
  expr::Scalar scalar_;
  bool shared_;
};

}  // namespace samebits::symexec

#endif  // SAMEBITS_CORE_SYMEXEC_LANES_H_
