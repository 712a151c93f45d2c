#include "core/expr/evaluator.h"

#include <algorithm>
#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/expr/operation.h"

namespace samebits::expr {

// Values by (node, width wanted, absolute anchors). An entry is made when a value is first asked for and filled when
// its operands are known; entries that wait stand on an explicit stack, so depth costs memory only.
class Evaluator::Run {
 public:
  Run(const NodeManager* nodes, const Memory* memory, EvaluatorOptions options)
      : nodes_(*nodes), memory_(*memory), options_(std::move(options)), table_(1024, kNone) {}

  absl::StatusOr<Evaluated> Evaluate(const Scalar& value, int width) {
    if (width < 1 || width > 128) return absl::InvalidArgumentError("only values of 1 to 128 bits are evaluated");
    if (entries_.size() > options_.max_values / 2) Forget();
    first_ = entries_.size();
    Place place;
    place.node = value.node;
    for (int i = 0; i < value.slots; ++i) place.offset[i] = value.anchor[i].offset;
    Evaluated result;
    switch (Ask(place, width, &result)) {
      case Answer::kKnown: return result;
      case Answer::kFailed: return Fail();
      case Answer::kWaits: break;
    }
    while (!stack_.empty())
      if (!Advance(stack_.back())) return Fail();
    Ask(place, width, &result);
    return result;
  }

 private:
  static constexpr uint32_t kNone = 0xffffffff;
  static constexpr int kMaxOperands = 96;

  // A node with absolute anchors.
  struct Place {
    NodeId node = 0;
    std::array<int64_t, kMaxSlots> offset;
  };
  struct Entry {
    uint64_t hash = 0;
    size_t key = 0;  // in keys_: node | width << 32, then an offset a slot
    Evaluated value;
    bool done = false;
  };
  enum class Answer { kKnown, kWaits, kFailed };

  absl::Status Fail() {
    stack_.clear();
    return std::move(status_);
  }
  bool Error(absl::Status status) {
    status_ = std::move(status);
    return false;
  }
  void Forget() {
    entries_.clear();
    keys_.clear();
    table_.assign(1024, kNone);
  }

  // The value if it is at hand; else its entry goes on the stack.
  Answer Ask(const Place& place, int width, Evaluated* out) {
    const Node& n = nodes_[place.node];
    if (n.width != 0 && n.width != width) {
      Error(absl::InternalError(
          absl::StrCat("node '", std::string(FnName(n.fn)), "' of ", n.width, " bits is taken as ", width, " bits")));
      return Answer::kFailed;
    }
    switch (n.fn) {
      case Fn::kUndef: *out = {0, true, false}; return Answer::kKnown;
      case Fn::kConst: *out = {n.attr & LowBits(width), false, false}; return Answer::kKnown;
      case Fn::kInt:
        *out = {static_cast<uint64_t>(place.offset[0]) & LowBits(width), false, false};
        return Answer::kKnown;
      case Fn::kLeaf:
        return Load(nodes_.slot_buffer(place.node, 0), place.offset[0], width, out) ? Answer::kKnown : Answer::kFailed;
      case Fn::kParam: {
        if (n.attr >= options_.params.size() || !options_.params[n.attr]) {
          Error(absl::UnimplementedError(absl::StrCat("value of parameter ", n.attr, " is not given")));
          return Answer::kFailed;
        }
        *out = {*options_.params[n.attr] & LowBits(width), false, false};
        return Answer::kKnown;
      }
      default: break;
    }
    const uint32_t id = Find(place, width);
    if (id == kNone) return Answer::kFailed;
    if (!entries_[id].done) {
      stack_.push_back(id);
      return Answer::kWaits;
    }
    *out = entries_[id].value;
    return Answer::kKnown;
  }

  bool Load(BufferId buffer, int64_t offset, int width, Evaluated* out) {
    uint8_t bytes[16];
    const int count = (width + 7) / 8;
    if (!memory_.Read(buffer, offset, count, bytes))
      return Error(absl::OutOfRangeError(
          absl::StrCat(count, " bytes at ", offset, " are not all in buffer '", nodes_.buffer_name(buffer), "'")));
    uint128 bits = 0;
    for (int i = 0; i < count; ++i) bits |= uint128{bytes[i]} << (8 * i);
    *out = {bits & LowBits(width), false, false};
    return true;
  }

  uint32_t Find(const Place& place, int width) {
    const int slots = nodes_[place.node].slots;
    const uint64_t head = place.node | static_cast<uint64_t>(width) << 32;
    uint64_t h = TableHash(13, head);
    for (int i = 0; i < slots; ++i) h = TableHash(h, static_cast<uint64_t>(place.offset[i]));
    const size_t mask = table_.size() - 1;
    size_t at = h & mask;
    for (; table_[at] != kNone; at = (at + 1) & mask) {
      const Entry& e = entries_[table_[at]];
      if (e.hash != h || keys_[e.key] != head) continue;
      bool same = true;
      for (int i = 0; i < slots && same; ++i) same = keys_[e.key + 1 + i] == static_cast<uint64_t>(place.offset[i]);
      if (same) return table_[at];
    }
    if (entries_.size() - first_ >= options_.max_values) {
      Error(absl::ResourceExhaustedError("limit max_values of the evaluator reached"));
      return kNone;
    }
    const uint32_t id = static_cast<uint32_t>(entries_.size());
    Entry& e = entries_.emplace_back();
    e.hash = h;
    e.key = keys_.size();
    keys_.push_back(head);
    for (int i = 0; i < slots; ++i) keys_.push_back(static_cast<uint64_t>(place.offset[i]));
    table_[at] = id;
    if (entries_.size() * 2 > table_.size()) Grow();
    return id;
  }

  void Grow() {
    std::vector<uint32_t> bigger(table_.size() * 2, kNone);
    for (uint32_t id = 0; id < entries_.size(); ++id) {
      size_t at = entries_[id].hash & (bigger.size() - 1);
      while (bigger[at] != kNone) at = (at + 1) & (bigger.size() - 1);
      bigger[at] = id;
    }
    table_.swap(bigger);
  }

  static void PlaceChild(const Place& parent, const ChildRef& ref, Place* out) {
    out->node = ref.node;
    for (int s = 0; s < ref.slots; ++s)
      out->offset[s] = static_cast<int64_t>(static_cast<uint64_t>(parent.offset[ref.parent_slot(s)]) +
                                            static_cast<uint64_t>(ref.shift(s)));
  }

  // The operands on hand, in order.
  struct Operands {
    Evaluated values[kMaxOperands];
    int count = 0;
    bool waits = false;
  };

  bool AskOperand(const Place& place, int width, Operands* operands) {
    if (operands->count == kMaxOperands) return Error(absl::UnimplementedError("operation of too many operands"));
    switch (Ask(place, width, &operands->values[operands->count++])) {
      case Answer::kFailed: return false;
      case Answer::kWaits: operands->waits = true; break;
      case Answer::kKnown: break;
    }
    return true;
  }

  // Bits wanted of child `i` where its parent's operation leaves that to it.
  bool OpenWidth(const Node& n, const Node& child, int i, int* width) {
    if (n.fn == Fn::kExtract) {
      const int end = static_cast<int>(n.attr & 0xffffffff) + n.width;
      *width = child.width != 0 ? child.width : (end + 7) / 8 * 8;
      return *width <= 128 || Error(absl::UnimplementedError("part of a value of more than 128 bits"));
    }
    const IsaOperation* isa = nodes_.isa(n.attr);
    if (isa == nullptr) return Error(absl::UnimplementedError("an instruction that is known by its digest only"));
    *width = isa->spelling.empty()                              ? OperandWidth(isa->fn, isa->attr, n.width, i)
             : i < static_cast<int>(isa->operand_widths.size()) ? isa->operand_widths[i]
                                                                : child.width;
    return true;
  }

  // All operands of an ordinary node.
  bool AskChildren(const Place& place, const Node& n, Operands* operands) {
    ChildRef ref = nodes_.child(place.node, 0);
    Place child;
    for (int i = 0; i < n.children; ++i) {
      if (i > 0) ref = ref.next();
      int width = OperandWidth(n.fn, n.attr, n.width, i);
      if (width == 0 && !OpenWidth(n, nodes_[ref.node], i, &width)) return false;
      PlaceChild(place, ref, &child);
      if (!AskOperand(child, width, operands)) return false;
    }
    return true;
  }

  // Takes the entry on top of the stack one step on: it is filled, or its operands go on the stack.
  bool Advance(uint32_t id) {
    if (entries_[id].done) {
      stack_.pop_back();
      return true;
    }
    Place place;
    const size_t key = entries_[id].key;
    place.node = static_cast<NodeId>(keys_[key]);
    const Node& n = nodes_[place.node];
    for (int i = 0; i < n.slots; ++i) place.offset[i] = static_cast<int64_t>(keys_[key + 1 + i]);
    Evaluated result;
    bool waits = false, ok;
    switch (n.fn) {
      case Fn::kSelect: ok = Select(place, n, &result, &waits); break;
      case Fn::kGather: ok = Gather(place, n, &result, &waits); break;
      case Fn::kMatrixStep: ok = MatrixStep(place, n, &result, &waits); break;
      case Fn::kVector: ok = Error(absl::UnimplementedError("a vector is no value")); break;
      default: ok = Ordinary(place, n, &result, &waits); break;
    }
    if (!ok || waits) return ok;
    entries_[id].value = result;
    entries_[id].done = true;
    stack_.pop_back();
    return true;
  }

  static void Merge(const Operands& operands, Evaluated* result) {
    for (int i = 0; i < operands.count; ++i) {
      result->undefined |= operands.values[i].undefined;
      result->inexact |= operands.values[i].inexact;
    }
  }

  bool Ordinary(const Place& place, const Node& n, Evaluated* result, bool* waits) {
    Operands operands;
    if (!AskChildren(place, n, &operands)) return false;
    if ((*waits = operands.waits)) return true;
    uint128 x[kMaxOperands];
    for (int i = 0; i < operands.count; ++i) x[i] = operands.values[i].bits;
    const std::span<const uint128> bits(x, static_cast<size_t>(operands.count));
    Computed r;
    if (n.fn == Fn::kIsa) {
      const IsaOperation& isa = *nodes_.isa(n.attr);
      r = isa.spelling.empty() ? Compute(isa.fn, isa.attr, n.width, bits) : ComputeSpelled(isa.spelling, bits);
      if (!r.known)
        return Error(absl::UnimplementedError(absl::StrCat("instruction '", isa.spelling, "' is not evaluated")));
    } else {
      r = Compute(n.fn, n.attr, n.width, bits);
      if (!r.known)
        return Error(absl::UnimplementedError(
            absl::StrCat("operation '", std::string(FnName(n.fn)), AttrName(n.fn, n.attr), "' is not evaluated")));
    }
    result->bits = r.bits & LowBits(n.width);
    result->inexact = r.inexact;
    Merge(operands, result);
    return true;
  }

  // Only the arm that is taken counts.
  bool Select(const Place& place, const Node& n, Evaluated* result, bool* waits) {
    Place child;
    Operands operands;
    PlaceChild(place, nodes_.child(place.node, 0), &child);
    if (!AskOperand(child, 1, &operands)) return false;
    if ((*waits = operands.waits)) return true;
    if (operands.values[0].undefined) {
      result->undefined = true;
      return true;
    }
    PlaceChild(place, nodes_.child(place.node, operands.values[0].bits & 1 ? 1 : 2), &child);
    if (!AskOperand(child, n.width, &operands)) return false;
    if ((*waits = operands.waits)) return true;
    result->bits = operands.values[1].bits;
    Merge(operands, result);
    return true;
  }

  bool Gather(const Place& place, const Node& n, Evaluated* result, bool* waits) {
    Operands operands;
    if (!AskChildren(place, n, &operands)) return false;
    if ((*waits = operands.waits)) return true;
    Merge(operands, result);
    if (result->undefined) return true;
    for (int b = 0; b < nodes_.buffer_count(); ++b) {
      const Digest128& key = nodes_.buffer_key(static_cast<BufferId>(b));
      if ((key.hi ^ Scramble(key.lo)) != n.attr) continue;
      Evaluated loaded;
      if (!Load(static_cast<BufferId>(b), static_cast<int64_t>(static_cast<uint64_t>(operands.values[0].bits)), n.width,
                &loaded))
        return false;
      result->bits = loaded.bits;
      return true;
    }
    return Error(absl::InternalError("a gather from no buffer"));
  }

  // The elements of a vector node, as operands.
  bool AskVector(const Place& place, Operands* operands) {
    const Node& n = nodes_[place.node];
    if (n.fn != Fn::kVector) return Error(absl::InternalError("a matrix step's operand is no vector"));
    ChildRef ref = nodes_.child(place.node, 0);
    Place child;
    for (int i = 0; i < n.children; ++i) {
      if (i > 0) ref = ref.next();
      PlaceChild(place, ref, &child);
      if (!AskOperand(child, static_cast<int>(n.attr), operands)) return false;
    }
    return true;
  }

  bool MatrixStep(const Place& place, const Node& n, Evaluated* result, bool* waits) {
    Operands operands;
    const ChildRef accumulator = nodes_.child(place.node, 0), a = accumulator.next(), b = a.next();
    Place child;
    PlaceChild(place, accumulator, &child);
    if (!AskOperand(child, n.width, &operands)) return false;
    PlaceChild(place, a, &child);
    if (!AskVector(child, &operands)) return false;
    const int group = operands.count - 1;
    PlaceChild(place, b, &child);
    if (!AskVector(child, &operands)) return false;
    if (operands.count != 2 * group + 1) return Error(absl::InternalError("a matrix step of unequal vectors"));
    if ((*waits = operands.waits)) return true;
    uint64_t x[kMaxOperands];
    for (int i = 0; i < operands.count; ++i) x[i] = static_cast<uint64_t>(operands.values[i].bits);
    const size_t k = static_cast<size_t>(group);
    result->bits = ComputeMatrixStep(n.attr, x[0], {x + 1, k}, {x + 1 + k, k});
    Merge(operands, result);
    return true;
  }

  const NodeManager& nodes_;
  const Memory& memory_;
  const EvaluatorOptions options_;
  std::vector<Entry> entries_;
  std::vector<uint64_t> keys_;
  std::vector<uint32_t> table_;
  std::vector<uint32_t> stack_;
  size_t first_ = 0;
  absl::Status status_;
};

Evaluator::Evaluator(const NodeManager* nodes, const Memory* memory, EvaluatorOptions options)
    : run_(std::make_unique<Run>(nodes, memory, std::move(options))) {}
Evaluator::~Evaluator() = default;

absl::StatusOr<Evaluated> Evaluator::Evaluate(const Scalar& value, int width) { return run_->Evaluate(value, width); }

}  // namespace samebits::expr
