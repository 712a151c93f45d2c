#include "core/expr/evaluator.h"

#include <algorithm>
#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/expr/operation.h"

namespace samebits::expr {

// Values by (node, width wanted, absolute anchors), one a memory. An entry is made when a value is first asked for and
// filled when its operands are known; entries that wait stand on an explicit stack, so depth costs memory only.
class Evaluator::Run {
 public:
  Run(const NodeManager* nodes, std::vector<const Memory*> memories, EvaluatorOptions options)
      : nodes_(*nodes),
        memories_(std::move(memories)),
        count_(memories_.size()),
        options_(std::move(options)),
        table_(1024, kNone),
        operand_bits_(kMaxOperands * count_),
        operand_flags_(kMaxOperands * count_),
        result_bits_(count_),
        result_flags_(count_) {}

  absl::Status Evaluate(const Scalar& value, int width, std::span<Evaluated> out) {
    if (width < 1 || width > 128) return absl::InvalidArgumentError("only values of 1 to 128 bits are evaluated");
    if (entries_.size() > options_.max_values / 2 || factors_.size() > kMaxFactorElements) Forget();
    first_ = entries_.size();
    Place place;
    place.node = value.node;
    for (int i = 0; i < value.slots; ++i) place.offset[i] = value.anchor[i].offset;
    switch (Ask(place, width, result_bits_.data(), result_flags_.data())) {
      case Answer::kKnown: return Deliver(out);
      case Answer::kFailed: return Fail();
      case Answer::kWaits: break;
    }
    while (!stack_.empty())
      if (!Advance(stack_.back())) return Fail();
    Ask(place, width, result_bits_.data(), result_flags_.data());
    return Deliver(out);
  }

  size_t count() const { return count_; }

 private:
  static constexpr uint32_t kNone = 0xffffffff;
  static constexpr int kMaxOperands = 96;
  static constexpr int kFactor = 255;  // in place of a width, with the element's format above: entries of factors
  static constexpr size_t kMaxFactorElements = 1u << 23;
  // Of a value. kOutside: a load left its buffer, which is an error once nothing masks it.
  enum Flag : uint8_t { kUndefined = 1, kInexact = 2, kUnanswered = 4, kOutside = 8 };

  // A node with absolute anchors.
  struct Place {
    NodeId node = 0;
    std::array<int64_t, kMaxSlots> offset;
  };
  struct Entry {
    uint64_t hash = 0;
    size_t key = 0;  // in keys_: node | width << 32, then an offset a slot
    bool done = false;
  };
  enum class Answer { kKnown, kWaits, kFailed };

  absl::Status Deliver(std::span<Evaluated> out) {
    for (size_t m = 0; m < count_; ++m) {
      const uint8_t flags = result_flags_[m];
      if (flags & kOutside) return absl::OutOfRangeError(outside_);
      out[m] = {result_bits_[m], (flags & kUndefined) != 0, (flags & kInexact) != 0, (flags & kUnanswered) != 0};
    }
    return absl::OkStatus();
  }
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
    bits_.clear();
    flags_.clear();
    factors_.clear();
    table_.assign(1024, kNone);
  }

  Answer Everywhere(uint128 value, uint8_t flag, uint128* bits, uint8_t* flags) const {
    std::fill_n(bits, count_, value);
    std::fill_n(flags, count_, flag);
    return Answer::kKnown;
  }

  // The values if they are at hand; else their entry goes on the stack.
  Answer Ask(const Place& place, int width, uint128* bits, uint8_t* flags) {
    const Node& n = nodes_[place.node];
    if (n.width != 0 && n.width != width) {
      Error(absl::InternalError(
          absl::StrCat("node '", std::string(FnName(n.fn)), "' of ", n.width, " bits is taken as ", width, " bits")));
      return Answer::kFailed;
    }
    switch (n.fn) {
      case Fn::kUndef: return Everywhere(0, kUndefined, bits, flags);
      case Fn::kConst: return Everywhere(n.attr & LowBits(width), 0, bits, flags);
      case Fn::kInt: return Everywhere(static_cast<uint64_t>(place.offset[0]) & LowBits(width), 0, bits, flags);
      case Fn::kLeaf:
        for (size_t m = 0; m < count_; ++m)
          Load(m, nodes_.slot_buffer(place.node, 0), place.offset[0], width, &bits[m], &flags[m]);
        return Answer::kKnown;
      case Fn::kParam:
        if (n.attr >= options_.params.size() || !options_.params[n.attr]) {
          Error(absl::UnimplementedError(absl::StrCat("value of parameter ", n.attr, " is not given")));
          return Answer::kFailed;
        }
        return Everywhere(*options_.params[n.attr] & LowBits(width), 0, bits, flags);
      default: break;
    }
    const uint32_t id = Find(place, width);
    if (id == kNone) return Answer::kFailed;
    if (!entries_[id].done) {
      stack_.push_back(id);
      return Answer::kWaits;
    }
    std::copy_n(bits_.begin() + static_cast<ptrdiff_t>(id * count_), count_, bits);
    std::copy_n(flags_.begin() + static_cast<ptrdiff_t>(id * count_), count_, flags);
    return Answer::kKnown;
  }

  void Load(size_t memory, BufferId buffer, int64_t offset, int width, uint128* bits, uint8_t* flags) {
    uint8_t bytes[16];
    const int count = (width + 7) / 8;
    *bits = *flags = 0;
    if (!memories_[memory]->Read(buffer, offset, count, bytes)) {
      outside_ = absl::StrCat(count, " bytes at ", offset, " are not all in buffer '", nodes_.buffer_name(buffer), "'");
      *flags = kOutside;
      return;
    }
    for (int i = 0; i < count; ++i) *bits |= uint128{bytes[i]} << (8 * i);
    *bits &= LowBits(width);
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
    bits_.resize(bits_.size() + count_);
    flags_.resize(flags_.size() + count_);
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

  // The operands on hand, in order; their values are in operand_bits_ and operand_flags_, one a memory each.
  struct Operands {
    size_t count = 0;
    bool waits = false;
  };
  uint128& Bits(size_t operand, size_t memory) { return operand_bits_[operand * count_ + memory]; }
  uint8_t Flags(size_t operand, size_t memory) const { return operand_flags_[operand * count_ + memory]; }

  bool AskOperand(const Place& place, int width, Operands* operands) {
    if (operands->count == kMaxOperands) return Error(absl::UnimplementedError("operation of too many operands"));
    const size_t at = operands->count++ * count_;
    switch (Ask(place, width, &operand_bits_[at], &operand_flags_[at])) {
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
    bool waits = false, ok;
    switch (n.fn) {
      case Fn::kSelect: ok = Select(place, n, &waits); break;
      case Fn::kGather: ok = Gather(place, n, &waits); break;
      case Fn::kMatrixStep: ok = MatrixStep(place, n, &waits); break;
      case Fn::kVector: ok = Error(absl::UnimplementedError("a vector is no value")); break;
      default: ok = Ordinary(place, n, &waits); break;
    }
    if (!ok || waits) return ok;
    std::copy(result_bits_.begin(), result_bits_.end(), bits_.begin() + static_cast<ptrdiff_t>(id * count_));
    std::copy(result_flags_.begin(), result_flags_.end(), flags_.begin() + static_cast<ptrdiff_t>(id * count_));
    entries_[id].done = true;
    stack_.pop_back();
    return true;
  }

  uint8_t Merged(const Operands& operands, size_t memory) const {
    uint8_t flags = 0;
    for (size_t i = 0; i < operands.count; ++i) flags |= Flags(i, memory);
    return flags;
  }

  bool Ordinary(const Place& place, const Node& n, bool* waits) {
    Operands operands;
    if (!AskChildren(place, n, &operands)) return false;
    if ((*waits = operands.waits)) return true;
    const IsaOperation* isa = n.fn == Fn::kIsa ? nodes_.isa(n.attr) : nullptr;
    const Fn fn = isa != nullptr ? isa->fn : n.fn;
    const uint64_t attr = isa != nullptr ? isa->attr : n.attr;
    uint128 x[kMaxOperands];
    const std::span<const uint128> bits(x, operands.count);
    for (size_t m = 0; m < count_; ++m) {
      for (size_t i = 0; i < operands.count; ++i) x[i] = Bits(i, m);
      const bool spelled = isa != nullptr && !isa->spelling.empty();
      const Computed r = spelled ? ComputeSpelled(isa->spelling, bits) : Compute(fn, attr, n.width, bits);
      if (!r.known)
        return Error(absl::UnimplementedError(
            spelled ? absl::StrCat("instruction '", isa->spelling, "' is not evaluated")
                    : absl::StrCat("operation '", std::string(FnName(fn)), AttrName(fn, attr), "' is not evaluated")));
      result_bits_[m] = r.bits & LowBits(n.width);
      result_flags_[m] = Merged(operands, m);
      if (r.inexact) Approximate(fn, attr, bits, n.width, m);
    }
    return true;
  }

  // The result at hand is a stand-in: the oracle's answer replaces it.
  void Approximate(Fn fn, uint64_t attr, std::span<const uint128> operands, int width, size_t m) {
    if (!options_.oracle) {
      result_flags_[m] |= kInexact;
      return;
    }
    if (result_flags_[m] != 0) return;  // its operands are not known either
    if (const auto answer = options_.oracle(fn, attr, operands)) {
      result_bits_[m] = *answer & LowBits(width);
    } else {
      result_flags_[m] |= kUnanswered;
    }
  }

  // Only the arm that is taken counts, in each memory.
  bool Select(const Place& place, const Node& n, bool* waits) {
    constexpr uint8_t kUnknown = kUndefined | kUnanswered | kOutside;
    Place child;
    Operands operands;
    PlaceChild(place, nodes_.child(place.node, 0), &child);
    if (!AskOperand(child, 1, &operands)) return false;
    if ((*waits = operands.waits)) return true;
    size_t arm_operand[2] = {0, 0};
    for (int arm = 0; arm < 2; ++arm) {
      bool taken = false;
      for (size_t m = 0; m < count_; ++m)
        taken |= (Flags(0, m) & kUnknown) == 0 && ((Bits(0, m) & 1) != 0) == (arm == 0);
      if (!taken) continue;
      arm_operand[arm] = operands.count;
      PlaceChild(place, nodes_.child(place.node, arm + 1), &child);
      if (!AskOperand(child, n.width, &operands)) return false;
    }
    if ((*waits = operands.waits)) return true;
    for (size_t m = 0; m < count_; ++m) {
      result_bits_[m] = 0;
      result_flags_[m] = Flags(0, m);
      if (Flags(0, m) & kUnknown) continue;
      const size_t taken = arm_operand[(Bits(0, m) & 1) != 0 ? 0 : 1];
      result_bits_[m] = Bits(taken, m);
      result_flags_[m] |= Flags(taken, m);
    }
    return true;
  }

  bool Gather(const Place& place, const Node& n, bool* waits) {
    Operands operands;
    if (!AskChildren(place, n, &operands)) return false;
    if ((*waits = operands.waits)) return true;
    int buffer = 0;
    for (; buffer < nodes_.buffer_count(); ++buffer) {
      const Digest128& key = nodes_.buffer_key(static_cast<BufferId>(buffer));
      if ((key.hi ^ Scramble(key.lo)) == n.attr) break;
    }
    if (buffer == nodes_.buffer_count()) return Error(absl::InternalError("a gather from no buffer"));
    for (size_t m = 0; m < count_; ++m) {
      result_bits_[m] = 0;
      result_flags_[m] = Merged(operands, m);
      if (result_flags_[m] & ~kInexact) continue;
      uint8_t flags;
      Load(m, static_cast<BufferId>(buffer), static_cast<int64_t>(static_cast<uint64_t>(Bits(0, m))), n.width,
           &result_bits_[m], &flags);
      result_flags_[m] |= flags;
    }
    return true;
  }

  // A factor of a matrix step, decoded: its values in all memories, from factors_[first] on.
  struct Factor {
    size_t first = 0;
    uint32_t id = 0;
    size_t size = 0;  // elements
  };

  // Factors are remembered like values: rows and columns meet in many steps.
  bool AskFactor(const Place& place, uint64_t attr, bool second, Factor* factor, bool* waits) {
    const Node& n = nodes_[place.node];
    if (n.fn != Fn::kVector) return Error(absl::InternalError("a matrix step's operand is no vector"));
    factor->size = n.children;
    factor->id = Find(place, kFactor | static_cast<int>(attr >> (second ? 40 : 32) & 255) << 8);
    if (factor->id == kNone) return false;
    if (!entries_[factor->id].done) {
      Operands operands;
      ChildRef ref = nodes_.child(place.node, 0);
      Place child;
      for (int i = 0; i < n.children; ++i) {
        if (i > 0) ref = ref.next();
        PlaceChild(place, ref, &child);
        if (!AskOperand(child, static_cast<int>(n.attr), &operands)) return false;
      }
      if (operands.waits) {
        *waits = true;
        return true;
      }
      Decode(attr, second, operands, factor->id);
    }
    factor->first = static_cast<size_t>(bits_[factor->id * count_]);
    return true;
  }

  void Decode(uint64_t attr, bool second, const Operands& operands, uint32_t id) {
    bits_[id * count_] = factors_.size();
    for (size_t m = 0; m < count_; ++m) {
      for (size_t i = 0; i < operands.count; ++i)
        factors_.push_back(DecodeFactor(attr, second, static_cast<uint64_t>(Bits(i, m))));
      flags_[id * count_ + m] = Merged(operands, m);
    }
    entries_[id].done = true;
  }

  bool MatrixStep(const Place& place, const Node& n, bool* waits) {
    const ChildRef accumulator = nodes_.child(place.node, 0), first = accumulator.next(), second = first.next();
    Place child;
    Factor a, b;
    PlaceChild(place, first, &child);
    if (!AskFactor(child, n.attr, false, &a, waits)) return false;
    PlaceChild(place, second, &child);
    if (!AskFactor(child, n.attr, true, &b, waits)) return false;
    if (a.size != b.size) return Error(absl::InternalError("a matrix step of unequal vectors"));
    Operands operands;
    PlaceChild(place, accumulator, &child);
    if (!AskOperand(child, n.width, &operands)) return false;
    if ((*waits |= operands.waits)) return true;
    const std::span<const softfloat::MatrixElement> factors = factors_;
    for (size_t m = 0; m < count_; ++m) {
      result_bits_[m] = ComputeMatrixStep(n.attr, static_cast<uint64_t>(Bits(0, m)),
                                          factors.subspan(a.first + m * a.size, a.size),
                                          factors.subspan(b.first + m * b.size, b.size));
      result_flags_[m] = Flags(0, m) | flags_[a.id * count_ + m] | flags_[b.id * count_ + m];
    }
    return true;
  }

  const NodeManager& nodes_;
  const std::vector<const Memory*> memories_;
  const size_t count_;
  const EvaluatorOptions options_;
  std::vector<Entry> entries_;
  std::vector<uint64_t> keys_;
  std::vector<uint128> bits_;
  std::vector<uint8_t> flags_;
  std::vector<softfloat::MatrixElement> factors_;
  std::vector<uint32_t> table_;
  std::vector<uint32_t> stack_;
  std::vector<uint128> operand_bits_;
  std::vector<uint8_t> operand_flags_;
  std::vector<uint128> result_bits_;
  std::vector<uint8_t> result_flags_;
  size_t first_ = 0;
  std::string outside_;
  absl::Status status_;
};

Evaluator::Evaluator(const NodeManager* nodes, const Memory* memory, EvaluatorOptions options)
    : Evaluator(nodes, std::vector<const Memory*>{memory}, std::move(options)) {}
Evaluator::Evaluator(const NodeManager* nodes, std::vector<const Memory*> memories, EvaluatorOptions options)
    : run_(std::make_unique<Run>(nodes, std::move(memories), std::move(options))) {}
Evaluator::~Evaluator() = default;

absl::StatusOr<Evaluated> Evaluator::Evaluate(const Scalar& value, int width) {
  std::vector<Evaluated> values(run_->count());
  if (absl::Status s = run_->Evaluate(value, width, values); !s.ok()) return s;
  return values[0];
}

absl::Status Evaluator::Evaluate(const Scalar& value, int width, std::span<Evaluated> out) {
  return run_->Evaluate(value, width, out);
}

}  // namespace samebits::expr
