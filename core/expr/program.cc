#include "core/expr/program.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/expr/operation.h"

namespace samebits::expr {

namespace {

constexpr int kMaxOperands = 96;

}  // namespace

ValueId Program::Append(Value v, const std::vector<ValueId>& operands) {
  v.first = static_cast<uint32_t>(operands_.size());
  v.count = static_cast<uint16_t>(operands.size());
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  values_.push_back(v);
  const ValueId id = static_cast<ValueId>(values_.size() - 1);
  if (v.kind == Kind::kStep && v.fn == Fn::kFAdd && (v.attr & Attr::kContract) != 0)
    for (const ValueId o : operands) contractible_ |= IsOpenProduct(o);
  return id;
}

bool Program::IsOpenProduct(ValueId id) const {
  const Value* v = &values_[id];
  while (v->kind == Kind::kStep && (v->fn == Fn::kSignFlip || v->fn == Fn::kFNeg)) v = &values_[operand(*v, 0)];
  return v->kind == Kind::kStep && v->fn == Fn::kFMul && (v->attr & Attr::kContract) != 0;
}

ValueId Program::AddSelect(ValueId condition, ValueId a, ValueId b) {
  Value v;
  v.kind = Kind::kStep;
  v.fn = Fn::kSelect;
  v.width = values_[a].width;
  return Append(v, {condition, a, b});
}

ValueId Program::AddExtract(ValueId value, int low, int width) {
  if (low == 0 && width == values_[value].width) return value;
  Value v;
  v.kind = Kind::kStep;
  v.fn = Fn::kExtract;
  v.attr = static_cast<uint64_t>(low);
  v.width = static_cast<uint8_t>(width);
  return Append(v, {value});
}

uint32_t Program::Find(const Place& place, int width) {
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
  if (entries_.size() >= max_values_) {
    Error(absl::ResourceExhaustedError("the trees are too large to unroll"));
    return kNone;
  }
  const uint32_t id = static_cast<uint32_t>(entries_.size());
  entries_.push_back({h, keys_.size(), kNone});
  keys_.push_back(head);
  for (int i = 0; i < slots; ++i) keys_.push_back(static_cast<uint64_t>(place.offset[i]));
  table_[at] = id;
  if (entries_.size() * 2 > table_.size()) Grow();
  return id;
}

void Program::Grow() {
  std::vector<uint32_t> bigger(table_.size() * 2, kNone);
  for (uint32_t id = 0; id < entries_.size(); ++id) {
    size_t at = entries_[id].hash & (bigger.size() - 1);
    while (bigger[at] != kNone) at = (at + 1) & (bigger.size() - 1);
    bigger[at] = id;
  }
  table_.swap(bigger);
}

// Bits wanted of child `i` where its parent's operation leaves that to it.
bool Program::OpenWidth(const Node& n, const Node& child, int i, int* width) {
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

namespace {

template <typename Place>
void PlaceChild(const Place& parent, const ChildRef& ref, Place* out) {
  out->node = ref.node;
  for (int s = 0; s < ref.slots; ++s)
    out->offset[s] = static_cast<int64_t>(static_cast<uint64_t>(parent.offset[ref.parent_slot(s)]) +
                                          static_cast<uint64_t>(ref.shift(s)));
}

}  // namespace

// The elements of a vector node.
bool Program::Vector(const Place& place, std::vector<std::pair<Place, int>>* children) {
  const Node& n = nodes_[place.node];
  if (n.fn != Fn::kVector) return Error(absl::InternalError("a matrix step's operand is no vector"));
  ChildRef ref = nodes_.child(place.node, 0);
  for (int i = 0; i < n.children; ++i) {
    if (i > 0) ref = ref.next();
    children->push_back({{}, static_cast<int>(n.attr)});
    PlaceChild(place, ref, &children->back().first);
  }
  return true;
}

// The operands of a step, each with its width.
bool Program::Wanted(const Place& place, const Node& n, std::vector<std::pair<Place, int>>* children) {
  children->clear();
  if (n.fn == Fn::kVector) return Error(absl::UnimplementedError("a vector is no value"));
  if (n.fn == Fn::kMatrixStep) {
    const ChildRef accumulator = nodes_.child(place.node, 0), a = accumulator.next(), b = a.next();
    Place vector;
    children->push_back({{}, n.width});
    PlaceChild(place, accumulator, &children->back().first);
    PlaceChild(place, a, &vector);
    if (!Vector(vector, children)) return false;
    const size_t group = children->size() - 1;
    PlaceChild(place, b, &vector);
    if (!Vector(vector, children)) return false;
    return children->size() == 2 * group + 1 || Error(absl::InternalError("a matrix step of unequal vectors"));
  }
  ChildRef ref = nodes_.child(place.node, 0);
  for (int i = 0; i < n.children; ++i) {
    if (i > 0) ref = ref.next();
    int width = OperandWidth(n.fn, n.attr, n.width, i);
    if (width == 0 && !OpenWidth(n, nodes_[ref.node], i, &width)) return false;
    children->push_back({{}, width});
    PlaceChild(place, ref, &children->back().first);
  }
  return children->size() <= kMaxOperands || Error(absl::UnimplementedError("operation of too many operands"));
}

// Values without operands.
bool Program::Simple(const Place& place, int width, ValueId* id) {
  const Node& n = nodes_[place.node];
  Value v;
  v.fn = n.fn;
  v.width = static_cast<uint8_t>(width);
  v.node = place.node;
  switch (n.fn) {
    case Fn::kUndef:
      v.kind = Kind::kUndefined;
      break;
    case Fn::kConst:
      v.constant = n.attr & LowBits(width);
      break;
    case Fn::kInt:
      v.constant = static_cast<uint64_t>(place.offset[0]) & LowBits(width);
      break;
    case Fn::kLeaf:
      v.kind = Kind::kInput;
      v.buffer = nodes_.slot_buffer(place.node, 0);
      v.offset = place.offset[0];
      break;
    case Fn::kParam:
      v.kind = Kind::kInput;
      v.buffer = Image::kParameters;
      v.offset = static_cast<int64_t>(n.attr) * 16;
      break;
    default:
      return false;
  }
  *id = Append(v, {});
  return true;
}

absl::StatusOr<ValueId> Program::Add(const Scalar& scalar, int width) {
  if (width < 1 || width > 128) return absl::InvalidArgumentError("only values of 1 to 128 bits are evaluated");
  Place root;
  root.node = scalar.node;
  for (int i = 0; i < scalar.slots; ++i) root.offset[i] = scalar.anchor[i].offset;
  const uint32_t wanted = Find(root, width);
  if (wanted == kNone) return std::move(status_);
  std::vector<std::pair<uint32_t, int>> stack = {{wanted, width}};
  std::vector<std::pair<Place, int>> children;
  std::vector<ValueId> operands;
  while (!stack.empty()) {
    const auto [entry, bits] = stack.back();
    if (entries_[entry].value != kNone) {
      stack.pop_back();
      continue;
    }
    Place place;
    const size_t key = entries_[entry].key;
    place.node = static_cast<NodeId>(keys_[key]);
    const Node& n = nodes_[place.node];
    for (int i = 0; i < n.slots; ++i) place.offset[i] = static_cast<int64_t>(keys_[key + 1 + i]);
    if (n.width != 0 && n.width != bits)
      return absl::InternalError(
          absl::StrCat("node '", std::string(FnName(n.fn)), "' of ", n.width, " bits is taken as ", bits, " bits"));
    ValueId id;
    if (!Simple(place, bits, &id)) {
      if (!Wanted(place, n, &children)) return std::move(status_);
      operands.clear();
      for (const auto& [child, child_bits] : children) {
        const uint32_t e = Find(child, child_bits);
        if (e == kNone) return std::move(status_);
        if (entries_[e].value == kNone) stack.push_back({e, child_bits});
        operands.push_back(entries_[e].value);
      }
      if (stack.back().first != entry) continue;
      Value v;
      v.kind = Kind::kStep;
      v.fn = n.fn;
      v.width = n.width;
      v.node = place.node;
      v.attr = n.attr;
      if (n.fn == Fn::kGather) {
        int found = -1;
        for (int b = 0; b < nodes_.buffer_count() && found < 0; ++b) {
          const Digest128& k = nodes_.buffer_key(static_cast<BufferId>(b));
          if ((k.hi ^ Scramble(k.lo)) == n.attr) found = b;
        }
        if (found < 0) return absl::InternalError("a gather from no buffer");
        v.buffer = static_cast<BufferId>(found);
      }
      id = Append(v, operands);
    }
    entries_[entry].value = id;
    stack.pop_back();
  }
  return entries_[wanted].value;
}

void Program::Cover(Image* image) const {
  for (const Value& v : values_)
    if (v.kind == Kind::kInput) image->Cover(v.buffer, v.offset, (v.width + 7) / 8);
}

void Program::Run(const Image& image, Contraction contraction, std::vector<Evaluated>* out) const {
  out->resize(values_.size());
  for (size_t i = 0; i < values_.size(); ++i) (*out)[i] = Evaluate(values_[i], image, contraction, *out);
}

void Program::Rerun(const Image& image, Contraction contraction, const std::vector<ValueId>& ids,
                    std::vector<Evaluated>* values) const {
  for (const ValueId i : ids) (*values)[i] = Evaluate(values_[i], image, contraction, *values);
}

Evaluated Program::Evaluate(const Value& v, const Image& image, Contraction contraction,
                            const std::vector<Evaluated>& values) const {
  Evaluated e;
  switch (v.kind) {
    case Kind::kConstant:
      e.bits = v.constant;
      break;
    case Kind::kUndefined:
      e.undefined = true;
      break;
    case Kind::kInput:
      e = Load(v.buffer, v.offset, v.width, image);
      break;
    case Kind::kStep:
      e = Step(v, image, contraction, values);
      break;
  }
  return e;
}

Evaluated Program::Load(BufferId buffer, int64_t offset, int width, const Image& image) {
  Evaluated e;
  uint8_t bytes[16] = {};
  const int count = (width + 7) / 8;
  e.undefined = !image.Read(buffer, offset, count, bytes);
  for (int k = 0; k < count; ++k) e.bits |= uint128{bytes[k]} << (8 * k);
  e.bits &= LowBits(width);
  return e;
}

Evaluated Program::Matrix(const Value& v, const std::vector<Evaluated>& values) const {
  const size_t group = static_cast<size_t>(v.count - 1) / 2;
  std::vector<softfloat::MatrixElement> factors(2 * group);
  for (size_t k = 0; k < 2 * group; ++k)
    factors[k] =
        DecodeFactor(v.attr, k >= group, static_cast<uint64_t>(values[operand(v, static_cast<int>(k) + 1)].bits));
  const std::span<const softfloat::MatrixElement> all = factors;
  Evaluated e;
  e.bits =
      ComputeMatrixStep(v.attr, static_cast<uint64_t>(values[operand(v, 0)].bits), all.first(group), all.last(group));
  return e;
}

// A sum with one of its products fused into it; false where none is open to that.
bool Program::Fused(const Value& sum, Contraction contraction, const std::vector<Evaluated>& values,
                    Evaluated* out) const {
  const int first = contraction == Contraction::kFirst ? 0 : 1;
  for (const int i : {first, 1 - first}) {
    if (!IsOpenProduct(operand(sum, i))) continue;
    const Value* product = &values_[operand(sum, i)];
    bool flip = false;
    for (; product->fn != Fn::kFMul; product = &values_[operand(*product, 0)]) flip = !flip;
    uint128 x[3] = {values[operand(*product, 0)].bits, values[operand(*product, 1)].bits,
                    values[operand(sum, 1 - i)].bits};
    if (flip) x[0] ^= uint128{1} << (sum.width - 1);
    const Computed r = Compute(Fn::kFFma, sum.attr, sum.width, x);
    out->bits = r.bits;
    return r.known;
  }
  return false;
}

Evaluated Program::Step(const Value& v, const Image& image, Contraction contraction,
                        const std::vector<Evaluated>& values) const {
  if (v.fn == Fn::kSelect) {
    const Evaluated& condition = values[operand(v, 0)];
    if (condition.undefined) return {0, true, condition.inexact};
    Evaluated e = values[operand(v, condition.bits & 1 ? 1 : 2)];
    e.inexact |= condition.inexact;
    return e;
  }
  Evaluated e;
  bool undefined = false, inexact = false;
  for (int i = 0; i < v.count; ++i) {
    undefined |= values[operand(v, i)].undefined;
    inexact |= values[operand(v, i)].inexact;
  }
  if (undefined) return {0, true, inexact};
  if (v.fn == Fn::kMatrixStep) {
    e = Matrix(v, values);
  } else if (v.fn == Fn::kGather) {
    e = Load(v.buffer, static_cast<int64_t>(static_cast<uint64_t>(values[operand(v, 0)].bits)), v.width, image);
  } else if (contraction == Contraction::kNone || v.fn != Fn::kFAdd || (v.attr & Attr::kContract) == 0 ||
             !Fused(v, contraction, values, &e)) {
    uint128 x[kMaxOperands];
    for (int i = 0; i < v.count; ++i) x[i] = values[operand(v, i)].bits;
    const std::span<const uint128> bits(x, v.count);
    const IsaOperation* isa = v.fn == Fn::kIsa ? nodes_.isa(v.attr) : nullptr;
    const Computed r = isa == nullptr          ? Compute(v.fn, v.attr, v.width, bits)
                       : isa->spelling.empty() ? Compute(isa->fn, isa->attr, v.width, bits)
                                               : ComputeSpelled(isa->spelling, bits);
    e = {r.bits & LowBits(v.width), !r.known, r.inexact};
  }
  e.inexact |= inexact;
  return e;
}

}  // namespace samebits::expr
