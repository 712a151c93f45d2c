#include "core/canonical/builder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <new>
#include <optional>
#include <vector>

#include "core/canonical/exact_product.h"
#include "core/expr/operation.h"
#include "core/expr/soft_format.h"
#include "core/softfloat/convert.h"
#include "core/softfloat/format.h"

namespace samebits::canonical {

using expr::Anchor;
using expr::Attr;
using expr::BufferId;
using expr::ChildRef;
using expr::Compare;
using expr::Fn;
using expr::Format;
using expr::NodeId;
using expr::Round;
using expr::Same;
using expr::Scalar;

namespace {

// Attribute of kExtract: the bit offset, and a mark where the source is one byte of memory.
constexpr uint64_t kExtractOffset = 0xffffffff, kExtractByte = uint64_t{8} << 32;

constexpr uint8_t kNanFacts = expr::kCanonicalNan | expr::kCanonicalNanBf16;

// The fact that results of arithmetic in `f` have, and that a value needs to be left alone by arithmetic in `f`.
uint8_t CanonicalNanOf(Format f) { return f == Format::kBf16 ? expr::kCanonicalNanBf16 : expr::kCanonicalNan; }

uint64_t SignBit(int width) { return uint64_t{1} << (width - 1); }

// Pattern of +inf in f16, bf16, f32 or f64; 0 for other formats.
uint64_t InfinityOf(Format f) {
  switch (f) {
    case Format::kF16: return 0x7c00;
    case Format::kBf16: return 0x7f80;
    case Format::kF32: return 0x7f800000;
    case Format::kF64: return 0x7ff0000000000000;
    default: return 0;
  }
}

bool IsFloatArithmetic(Fn fn) {
  switch (fn) {
    case Fn::kFAdd: case Fn::kFMul: case Fn::kFFma: case Fn::kFDiv: case Fn::kFRcp: case Fn::kFSqrt:
    case Fn::kFRsqrt: case Fn::kFMin: case Fn::kFMax: case Fn::kFConvert: case Fn::kFToInt: case Fn::kFCompare:
    case Fn::kEx2: case Fn::kLg2: case Fn::kSin: case Fn::kCos: case Fn::kTanh:
      return true;
    default:
      return false;
  }
}

Compare Swapped(Compare c) {
  switch (c) {
    case Compare::kGt: return Compare::kLt;
    case Compare::kGe: return Compare::kLe;
    case Compare::kGtu: return Compare::kLtu;
    case Compare::kGeu: return Compare::kLeu;
    default: return c;
  }
}

// Complement of a float comparison that has been through Swapped, as (comparison, operands exchanged).
std::pair<Compare, bool> FloatComplement(Compare c) {
  switch (c) {
    case Compare::kLt: return {Compare::kLeu, true};
    case Compare::kLe: return {Compare::kLtu, true};
    case Compare::kLtu: return {Compare::kLe, true};
    case Compare::kLeu: return {Compare::kLt, true};
    case Compare::kEq: return {Compare::kNeu, false};
    case Compare::kNeu: return {Compare::kEq, false};
    case Compare::kNe: return {Compare::kEqu, false};
    case Compare::kEqu: return {Compare::kNe, false};
    case Compare::kNum: return {Compare::kNan, false};
    default: return {Compare::kNum, false};
  }
}

std::pair<Compare, bool> IntComplement(Compare c) {
  switch (c) {
    case Compare::kLt: return {Compare::kLe, true};
    case Compare::kLe: return {Compare::kLt, true};
    case Compare::kEq: return {Compare::kNe, false};
    default: return {Compare::kEq, false};
  }
}

// Conversions that move NaN patterns instead of making them canonical: to the same format, of bf16 to f32 (a shift), to
// tf32 (a cut). Between f64 and others NaNs keep their payload in quiet form, which arithmetic leaves alone.
bool KeepsNanPattern(const Attr& attr) {
  return attr.to == attr.from || (attr.from == Format::kBf16 && attr.to == Format::kF32) || attr.to == Format::kTf32 ||
         attr.from == Format::kTf32;
}

bool MakesNanCanonical(const Attr& convert) {
  return !KeepsNanPattern(convert) && convert.to != Format::kF64 && convert.from != Format::kF64;
}

// Comparisons that a select keeps; the others are complemented and the arms exchanged.
bool IsPreferred(Fn fn, Compare c) {
  if (fn == Fn::kICompare) return c == Compare::kLt || c == Compare::kEq;
  return c == Compare::kLt || c == Compare::kLe || c == Compare::kEq || c == Compare::kNe || c == Compare::kNan;
}

}  // namespace

void Builder::SetConst(uint64_t value, int width, Scalar* out) {
  out->node = nodes_.Const(value, width);
  out->slots = 0;
}

// Order of operands: by digest, then by the first anchors that differ in offset within one symbolic part.
bool Builder::Less(const Scalar& a, const Scalar& b) const {
  if (a.node != b.node) return nodes_[a.node].digest < nodes_[b.node].digest;
  for (int i = 0; i < a.slots; ++i) {
    if (a.anchor[i].symbolic != b.anchor[i].symbolic) return false;
    if (a.anchor[i].offset != b.anchor[i].offset) return a.anchor[i].offset < b.anchor[i].offset;
  }
  return false;
}

uint8_t Builder::FactsOf(NodeId id, int width) const {
  uint64_t value;
  if (!nodes_.IsConst(id, &value)) return nodes_[id].facts;
  if (width < 16) return 0;
  const bool negative = (value & SignBit(width)) != 0;
  if (value == SignBit(width)) return 0;
  // A constant that is not a NaN has no NaN to canonicalise. Exponent all ones is treated as NaN or infinity.
  const int exponent_bits = width == 64 ? 11 : width == 32 ? 8 : 5;
  const uint64_t exponent = (value & ~SignBit(width)) >> (width - 1 - exponent_bits);
  const bool special = exponent == (uint64_t{1} << exponent_bits) - 1;
  uint8_t result = expr::kNeverMinusZero;
  if (!negative) result |= expr::kNonNegative;
  if (!special) result |= expr::kCanonicalNan | expr::kCanonicalNanBf16;
  if (!special && (exponent != 0 || value == 0)) result |= expr::kArithmeticFtz;
  return result;
}

bool Builder::IsContractibleMul(NodeId id) const {
  const expr::Node& n = nodes_[id];
  if (n.fn == Fn::kSignFlip || n.fn == Fn::kFNeg) return IsContractibleMul(nodes_.child(id, 0).node);
  return n.fn == Fn::kFMul && (n.attr & Attr::kContract) != 0;
}

// The node on anchors of its own slots: slot i's has the symbolic part i + 1, which keeps slots of one buffer apart.
Scalar Builder::SelfOf(NodeId id) const {
  Scalar self;
  self.node = id;
  self.slots = nodes_[id].slots;
  for (int i = 0; i < self.slots; ++i) {
    self.anchor[i] = Anchor{};
    self.anchor[i].buffer = nodes_.slot_buffer(id, i);
    self.anchor[i].symbolic = static_cast<expr::SymbolicId>(i + 1);
  }
  return self;
}

NodeId Builder::Settle(NodeId id) {
  if (!IsContractibleMul(id)) return id;
  if (const auto it = settled_.find(id); it != settled_.end()) return it->second;
  // The twin has the same slots in the same order, since its children are the same.
  const expr::Node n = nodes_[id];
  const Scalar self = SelfOf(id);
  Scalar children[2];
  for (int i = 0; i < n.children; ++i) children[i] = nodes_.ChildScalar(self, i);
  if (n.fn != Fn::kFMul) children[0].node = Settle(children[0].node);
  Scalar twin;
  nodes_.Make(n.fn, n.attr & ~Attr::kContract, n.width, n.facts, children, n.children, &twin);
  settled_.emplace(id, twin.node);
  return twin.node;
}

void Builder::SettleScalar(Scalar* s) { s->node = Settle(s->node); }

// An operand of format `f` whose NaN payload and sign the consumer does not see (so not f64, whose NaNs keep both).
void Builder::ArithmeticOperand(Scalar* s, Format f) {
  if (f == Format::kF64) return;
  Scalar inner = *s;
  bool flip = false, negated = false;
  for (;;) {
    const expr::Node& n = nodes_[inner.node];
    const bool neg = n.fn == Fn::kFNeg && (n.attr & Attr::kFtz) == 0 && Attr::Decode(n.attr).to == f;
    if (!neg && (n.fn != Fn::kSignFlip || n.width != expr::FormatBits(f))) break;
    negated |= neg;
    flip = !flip;
    inner = nodes_.ChildScalar(inner, 0);
  }
  if (negated) {
    Hit(Rewrite::kNegArithmetic);
    if (flip) BuildSignFlip(expr::FormatBits(f), inner, s);
    else *s = inner;
    return;
  }
  const expr::Node& n = nodes_[s->node];
  // {0:16, x:16} as f32 is the widening of bf16 x.
  if (f == Format::kF32 && n.fn == Fn::kConcat && n.children == 2) {
    const ChildRef low = nodes_.child(s->node, 0);
    uint64_t value;
    if (nodes_.IsConst(low.node, &value) && value == 0 && n.attr == (16 | 16 << 8)) {
      Hit(Rewrite::kWidenShift);
      Attr attr;
      attr.to = Format::kF32;
      attr.from = Format::kBf16;
      Scalar inner = nodes_.ChildScalar(*s, 1);
      Dispatch(Fn::kFConvert, attr.Encode(), 32, &inner, 1, s);
    }
  }
  MagnitudeOperand(s, f);
}

// {x without its sign, 0:1} is the magnitude of x where the payload and sign of a NaN are not seen.
void Builder::MagnitudeOperand(Scalar* s, Format f) {
  const int magnitude = expr::FormatBits(f) - 1;
  const expr::Node& m = nodes_[s->node];
  if (m.fn != Fn::kConcat || m.children != 2 || m.attr != (static_cast<uint64_t>(magnitude) | 1 << 8)) return;
  uint64_t value;
  if (!nodes_.IsConst(nodes_.child(s->node, 1).node, &value) || value != 0) return;
  Scalar inner = nodes_.ChildScalar(*s, 0);
  const expr::Node& bits = nodes_[inner.node];
  if (bits.fn == Fn::kExtract && bits.attr == 0 && nodes_[nodes_.child(inner.node, 0).node].width == magnitude + 1)
    inner = nodes_.ChildScalar(inner, 0);
  else if (bits.fn != Fn::kLeaf)
    return;
  Hit(Rewrite::kAbsBits);
  Attr attr;
  attr.to = f;
  Dispatch(Fn::kFAbs, attr.Encode(), magnitude + 1, &inner, 1, s);
}

// Takes an exact sign flip off an arithmetic operand; true if there was one.
bool Builder::StripSign(Scalar* s, Format f) {
  const expr::Node& n = nodes_[s->node];
  if (f == Format::kF64 || n.fn != Fn::kSignFlip || n.width != expr::FormatBits(f)) return false;
  *s = nodes_.ChildScalar(*s, 0);
  return true;
}

bool Builder::Plain(Fn fn, uint64_t attr, int width, uint8_t facts, const Scalar* c, int n, Scalar* out) {
  return nodes_.Make(fn, attr, width, facts, c, n, out);
}

bool Builder::FloatConst(const Scalar& s, Format f, double* value) const {
  uint64_t bits;
  if (!nodes_.IsConst(s.node, &bits)) return false;
  if (f == Format::kF32) {
    *value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    return true;
  }
  if (f == Format::kF64) {
    *value = std::bit_cast<double>(bits);
    return true;
  }
  return false;
}

bool Builder::BuildSignFlip(int width, const Scalar& a, Scalar* out) {
  uint64_t value;
  if (nodes_.IsConst(a.node, &value)) {
    SetConst(value ^ SignBit(width), width, out);
    return true;
  }
  if (nodes_[a.node].fn == Fn::kSignFlip && nodes_[a.node].width == width) {
    Hit(Rewrite::kDoubleFlip);
    *out = nodes_.ChildScalar(a, 0);
    return true;
  }
  return Plain(Fn::kSignFlip, 0, width, 0, &a, 1, out);
}

namespace {

// Anchors of `inner` as (slot of `outer` + 1 in place of the symbolic part, shift); false where one hangs on no slot.
bool Relative(const Scalar& outer, Scalar* inner) {
  for (int i = 0; i < inner->slots; ++i) {
    Anchor& a = inner->anchor[i];
    int slot = 0;
    while (slot < outer.slots && (outer.anchor[slot].buffer != a.buffer || outer.anchor[slot].symbolic != a.symbolic)) ++slot;
    if (slot == outer.slots) return false;
    a.offset -= outer.anchor[slot].offset;
    a.symbolic = static_cast<expr::SymbolicId>(slot + 1);
  }
  return true;
}

Scalar Absolute(const Scalar& outer, const Scalar& relative) {
  Scalar out = relative;
  for (int i = 0; i < out.slots; ++i) {
    out.anchor[i] = outer.anchor[relative.anchor[i].symbolic - 1];
    out.anchor[i].offset += relative.anchor[i].offset;
  }
  return out;
}

}  // namespace

bool Builder::ExtremeOf(const Scalar& s, Fn fn, Scalar* set) const {
  const auto it = extremes_.find(s.node);
  if (it == extremes_.end() || nodes_[it->second.node].fn != fn) return false;
  *set = Absolute(s, it->second);
  return true;
}

// c: condition, and the arms, of `select`. Remembers it if it is select(p, a, select(q, a, b)) of f32, where one of p and
// q is isnan(a) and the other b < a, or for a minimum a < b, without flush.
void Builder::RecordExtreme(const Scalar* c, const Scalar& select) {
  if (nodes_[c[0].node].fn != Fn::kFCompare || nodes_[c[2].node].fn != Fn::kSelect || select.node == c[1].node) return;
  const Scalar inner = nodes_.ChildScalar(c[2], 0), &a = c[1], b = nodes_.ChildScalar(c[2], 2);
  if (nodes_[inner.node].fn != Fn::kFCompare || !Same(nodes_.ChildScalar(c[2], 1), a)) return;
  auto comparison = [this](const Scalar& s) -> std::optional<Compare> {
    const Attr attr = Attr::Decode(nodes_[s.node].attr);
    if ((attr.from != Format::kNone ? attr.from : attr.to) != Format::kF32 || attr.flags != 0) return std::nullopt;
    return attr.compare;
  };
  const Scalar *order = &c[0], *isnan = &inner;
  if (comparison(*order) == Compare::kNan) std::swap(order, isnan);
  if (comparison(*order) != Compare::kLt || comparison(*isnan) != Compare::kNan) return;
  // Operands of comparisons may have been rewritten to what they equal there.
  Scalar blind_a = a, blind_b = b;
  Blind(&blind_a);
  Blind(&blind_b);
  auto is = [this](const Scalar& parent, int child, const Scalar& value, const Scalar& blind) {
    const Scalar operand = nodes_.ChildScalar(parent, child);
    return Same(operand, value) || Same(operand, blind);
  };
  if (!is(*isnan, 0, a, blind_a) || !is(*isnan, 1, a, blind_a)) return;
  Fn fn;
  if (is(*order, 0, b, blind_b) && is(*order, 1, a, blind_a)) fn = Fn::kFMax;
  else if (is(*order, 0, a, blind_a) && is(*order, 1, b, blind_b)) fn = Fn::kFMin;
  else return;
  Attr attr;
  attr.to = Format::kF32;
  attr.flags = Attr::kNanFlag;
  Scalar sets[2] = {a, b}, joined;
  ExtremeOf(a, fn, &sets[0]);
  ExtremeOf(b, fn, &sets[1]);
  if (!BuildMultiset(fn, attr.Encode(), 32, sets[0], sets[1], &joined) || nodes_[joined.node].fn != fn) return;
  if (Relative(select, &joined)) extremes_.emplace(select.node, joined);
}

// Rewrites a value whose consumer sees neither the sign of a zero nor the payload of a NaN. The operations looked
// through make of a zero of another sign at most a zero of another sign.
bool Builder::BlindRewrite(Scalar* s, int* budget) {
  if (--*budget < 0) return false;
  const expr::Node n = nodes_[s->node];
  if (const auto it = extremes_.find(s->node); it != extremes_.end()) {
    *s = Absolute(*s, it->second);
    return true;
  }
  int first = 0;
  switch (n.fn) {
    case Fn::kSignFlip: case Fn::kFNeg: case Fn::kFAbs: case Fn::kFAdd: case Fn::kFMul: case Fn::kFFma: break;
    case Fn::kSelect: first = 1; break;
    default: return false;
  }
  if (n.width != 32 || (n.fn != Fn::kSignFlip && n.fn != Fn::kSelect && Attr::Decode(n.attr).to != Format::kF32)) return false;
  Scalar c[3];
  bool changed = false;
  for (int i = 0; i < n.children; ++i) {
    c[i] = nodes_.ChildScalar(*s, i);
    if (i >= first) changed |= BlindRewrite(&c[i], budget);
  }
  Scalar rebuilt;
  if (!changed || !Dispatch(n.fn, n.attr, n.width, c, n.children, &rebuilt)) return false;
  *s = rebuilt;
  return true;
}

void Builder::Blind(Scalar* s) {
  if (extremes_.empty()) return;
  int budget = 64;
  if (BlindRewrite(s, &budget)) Hit(Rewrite::kSelectExtreme);
}

// A float maximum without its constant operand -inf; false where there is none, or too deep.
bool Builder::WithoutMinusInfinity(const Scalar& max, int depth, Scalar* out) {
  constexpr int kMaxDepth = 1000;
  const expr::Node n = nodes_[max.node];
  if (n.fn != Fn::kFMax || nodes_.multiset(max.node).constant != kMinusInfinity || depth > kMaxDepth) return false;
  auto it = without_infinity_.find(max.node);
  if (it == without_infinity_.end()) {
    const Scalar self = SelfOf(max.node);
    std::optional<Scalar> joined;
    for (int c = 0; c < 2; ++c) {
      const Scalar operand = nodes_.ChildScalar(self, c);
      if (exp_terms_.IsMinusInfinity(operand)) continue;
      const expr::Node& m = nodes_[operand.node];
      Scalar rest = operand;
      if (m.fn == n.fn && m.attr == n.attr && m.width == n.width &&
          nodes_.multiset(operand.node).constant == kMinusInfinity && !WithoutMinusInfinity(operand, depth + 1, &rest))
        return false;
      if (!joined) {
        joined = rest;
      } else {
        const Scalar first = *joined;
        if (!BuildMultiset(n.fn, n.attr, n.width, first, rest, &*joined)) return false;
      }
    }
    it = without_infinity_.emplace(max.node, std::move(joined)).first;
  }
  if (!it->second) return false;
  *out = Absolute(max, *it->second);
  return true;
}

// x - max(S, -inf) is x - max(S) where x is in S or -inf: the maxima differ where all of S is NaN, and so is x then.
bool Builder::DropMinusInfinity(const Scalar& x, Scalar* negated_max) {
  const expr::Node& flip = nodes_[negated_max->node];
  if (flip.fn != Fn::kSignFlip || flip.width != 32) return false;
  const Scalar max = nodes_.ChildScalar(*negated_max, 0);
  const expr::Node n = nodes_[max.node];
  const Attr attr = Attr::Decode(n.attr);
  if (n.fn != Fn::kFMax || n.width != 32 || attr.to != Format::kF32 || (attr.flags & ~(Attr::kFtz | Attr::kNanFlag)) != 0)
    return false;
  Scalar rest;
  if (nodes_.multiset(max.node).constant != kMinusInfinity ||
      (!exp_terms_.IsMinusInfinity(x) && !exp_terms_.IsMember(x, max)) || !WithoutMinusInfinity(max, 0, &rest))
    return false;
  // A single element left is itself, not what a flushing maximum makes of it.
  if ((attr.flags & Attr::kFtz) != 0 && nodes_[rest.node].fn != Fn::kFMax) return false;
  Hit(Rewrite::kMaxMinusInfinity);
  return BuildSignFlip(32, rest, negated_max);
}

bool Builder::BuildAdd(Attr attr, int width, Scalar* a, Scalar* b, Scalar* out) {
  const bool contract = (attr.flags & Attr::kContract) != 0;
  // An approximate quotient is a product with a reciprocal, which the assembler fuses as well.
  auto fusible = [this](const Scalar& s) {
    const expr::Node* n = &nodes_[s.node];
    if (n->fn == Fn::kSignFlip || n->fn == Fn::kFNeg) n = &nodes_[nodes_.child(s.node, 0).node];
    return IsContractibleMul(s.node) || (n->fn == Fn::kFDiv && (n->attr & (Attr::kFull | Attr::kApprox)) != 0);
  };
  if (contract && (fusible(*a) || fusible(*b))) {
    saw_contraction_ = true;
    Scalar c[2] = {*a, *b};
    if (Less(c[1], c[0])) std::swap(c[0], c[1]);
    return Plain(Fn::kFAdd, attr.Encode(), width, CanonicalNanOf(attr.to), c, 2, out);
  }
  SettleScalar(a);
  SettleScalar(b);
  attr.flags &= ~Attr::kContract;
  if (attr.to == Format::kF32) {
    // Beside what is never -0, the sign of a zero does not matter.
    if ((FactsOf(a->node, width) & expr::kNeverMinusZero) != 0 && attr.round == Round::kRn) Blind(b);
    if ((FactsOf(b->node, width) & expr::kNeverMinusZero) != 0 && attr.round == Round::kRn) Blind(a);
    if (!DropMinusInfinity(*a, b)) DropMinusInfinity(*b, a);
  }
  const bool exact_mode = attr.round == Round::kRn && (attr.flags & (Attr::kSat | Attr::kRelu)) == 0;
  const bool ftz = (attr.flags & Attr::kFtz) != 0;
  double x, y;
  if (exact_mode && !ftz && attr.to == Format::kF32 && FloatConst(*a, attr.to, &x) && FloatConst(*b, attr.to, &y)) {
    const float sum = static_cast<float>(x) + static_cast<float>(y);
    Hit(Rewrite::kFoldConst);
    SetConst(std::isnan(sum) ? 0x7fffffffu : std::bit_cast<uint32_t>(sum), 32, out);
    return true;
  }
  if (Less(*b, *a)) std::swap(*a, *b);
  if (exact_mode) {
    for (int turn = 0; turn < 2; ++turn, std::swap(a, b)) {
      uint64_t value;
      if (!nodes_.IsConst(b->node, &value)) continue;
      if (value == SignBit(width) && AddsMinusZero(attr, *a)) {
        Hit(Rewrite::kAddMinusZero);
        *out = *a;
        return true;
      }
      if (value == 0 && AddsZero(attr, *a)) {
        Hit(Rewrite::kAddZero);
        *out = *a;
        return true;
      }
    }
    if (width == 32) {
      for (int turn = 0; turn < 2; ++turn, std::swap(a, b)) {
        const Fn fn = nodes_[b->node].fn;
        if (fn != Fn::kEx2 && fn != Fn::kIsa && fn != Fn::kFMul) continue;
        if (!AddsZero(attr, *a) || !exp_terms_.Vanishes(*b, *a)) continue;
        Hit(Rewrite::kMaskedExp);
        *out = *a;
        return true;
      }
    }
    if (!ftz) {
      // (y + (+0)) + b -> (y + b) + (+0)
      for (int turn = 0; turn < 2; ++turn, std::swap(a, b)) {
        const expr::Node& n = nodes_[a->node];
        if (n.fn != Fn::kFAdd || n.attr != attr.Encode() || n.width != width) continue;
        for (int i = 0; i < 2; ++i) {
          uint64_t value;
          if (!nodes_.IsConst(nodes_.child(a->node, i).node, &value) || value != 0) continue;
          uint64_t other;
          if (nodes_.IsConst(b->node, &other) && other == 0) {
            *out = *a;
            return true;
          }
          Hit(Rewrite::kZeroOutward);
          Scalar inner = nodes_.ChildScalar(*a, 1 - i), rest = *b, sum, zero;
          if (!BuildAdd(attr, width, &inner, &rest, &sum)) return false;
          SetConst(0, width, &zero);
          return BuildAdd(attr, width, &sum, &zero, out);
        }
      }
    }
  }
  const uint8_t fa = FactsOf(a->node, width), fb = FactsOf(b->node, width);
  uint8_t facts = CanonicalNanOf(attr.to) | (ftz ? expr::kArithmeticFtz : 0);
  if (exact_mode) {
    if (fa & fb & expr::kNonNegative) facts |= expr::kNonNegative | expr::kNeverMinusZero;
    if (!ftz && ((fa | fb) & expr::kNeverMinusZero)) facts |= expr::kNeverMinusZero;
  }
  Scalar c[2] = {*a, *b};
  if (Less(c[1], c[0])) std::swap(c[0], c[1]);
  return Plain(Fn::kFAdd, attr.Encode(), width, facts, c, 2, out);
}

bool Builder::BuildMul(Attr attr, int width, Scalar* a, Scalar* b, Scalar* out) {
  SettleScalar(a);
  SettleScalar(b);
  const bool ftz = (attr.flags & Attr::kFtz) != 0;
  const bool plain = (attr.flags & (Attr::kSat | Attr::kRelu)) == 0;
  const bool symmetric = attr.round == Round::kRn || attr.round == Round::kRz;
  double x, y;
  if (plain && !ftz && attr.round == Round::kRn && attr.to == Format::kF32 && FloatConst(*a, attr.to, &x) &&
      FloatConst(*b, attr.to, &y)) {
    const float product = static_cast<float>(x) * static_cast<float>(y);
    // A rounded product open to contraction stays: fused, it would not be rounded.
    if ((attr.flags & Attr::kContract) == 0 || static_cast<double>(product) == x * y) {
      Hit(Rewrite::kFoldConst);
      SetConst(std::isnan(product) ? 0x7fffffffu : std::bit_cast<uint32_t>(product), 32, out);
      return true;
    }
  }
  // Fused or not, a sum takes in the same product.
  if ((attr.flags & Attr::kContract) != 0 && plain && attr.to == Format::kF32 && IsExactProduct(nodes_, a->node, b->node, ftz)) {
    Hit(Rewrite::kFmaExactProduct);
    attr.flags &= ~Attr::kContract;
  }
  bool flip = false;
  if (plain && symmetric) {
    const bool fa = StripSign(a, attr.to), fb = StripSign(b, attr.to);
    flip = fa != fb;
    if (fa || fb) Hit(Rewrite::kMulSign);
  }
  const bool square = Same(*a, *b);
  if (Less(*b, *a)) std::swap(*a, *b);
  const uint64_t one = attr.to == Format::kF32   ? 0x3f800000u
                       : attr.to == Format::kF64 ? 0x3ff0000000000000ull
                       : attr.to == Format::kF16 ? 0x3c00u
                                                 : 0x3f80u;
  Scalar product;
  bool done = false;
  if (plain && symmetric) {
    for (int turn = 0; turn < 2 && !done; ++turn, std::swap(a, b)) {
      uint64_t value;
      if (!nodes_.IsConst(b->node, &value) || value != one) continue;
      const uint8_t facts = FactsOf(a->node, width);
      if (!(facts & CanonicalNanOf(attr.to)) || (ftz && !(facts & expr::kArithmeticFtz))) continue;
      Hit(Rewrite::kMulOne);
      product = *a;
      done = true;
    }
  }
  if (!done) {
    const uint8_t fa = FactsOf(a->node, width), fb = FactsOf(b->node, width);
    uint8_t facts = CanonicalNanOf(attr.to) | (ftz ? expr::kArithmeticFtz : 0);
    if (square || (fa & fb & expr::kNonNegative)) facts |= expr::kNonNegative | expr::kNeverMinusZero;
    Scalar c[2] = {*a, *b};
    if (Less(c[1], c[0])) std::swap(c[0], c[1]);
    if (!Plain(Fn::kFMul, attr.Encode(), width, facts, c, 2, &product)) return false;
  }
  if (!flip) {
    *out = product;
    return true;
  }
  // The negated product, whose NaN stays canonical: not a flip of its sign bit.
  Attr negated;
  negated.to = attr.to;
  negated.flags = Attr::kNanFlag;
  if (nodes_.IsConst(product.node)) return BuildSignFlip(width, product, out);
  return Plain(Fn::kFNeg, negated.Encode(), width, nodes_[product.node].facts & kNanFacts, &product, 1, out);
}

// Whether a fused multiply-add of these operands, rounded to nearest, is the sum of the rounded product.
bool Builder::RoundsOnce(const Attr& attr, const Scalar* c) const {
  if (attr.to != Format::kF32) return false;
  const bool ftz = (attr.flags & Attr::kFtz) != 0;
  if (IsExactProduct(nodes_, c[0].node, c[1].node, ftz)) return true;
  return !ftz && (IsHiddenScaling(nodes_, c[0].node, c[2].node) || IsHiddenScaling(nodes_, c[1].node, c[2].node));
}

// Whether a sum rounded to nearest in this format leaves the value as it is where it adds -0, and where it adds +0.
bool Builder::AddsMinusZero(const Attr& attr, const Scalar& value) const {
  const uint8_t facts = FactsOf(value.node, expr::FormatBits(attr.to));
  return (facts & CanonicalNanOf(attr.to)) != 0 && ((attr.flags & Attr::kFtz) == 0 || (facts & expr::kArithmeticFtz) != 0);
}

bool Builder::AddsZero(const Attr& attr, const Scalar& value) const {
  return AddsMinusZero(attr, value) && (options_.ignore_signed_zero ||
                                        (FactsOf(value.node, expr::FormatBits(attr.to)) & expr::kNeverMinusZero) != 0);
}

// Whether the product of a fused multiply-add is a factor times a softmax's masked term that vanishes in the addend.
bool Builder::VanishesIn(const Attr& attr, const Scalar* c) {
  if (!AddsZero(attr, c[2])) return false;
  return (exp_terms_.IsFactor(c[0]) && exp_terms_.Vanishes(c[1], c[2])) ||
         (exp_terms_.IsFactor(c[1]) && exp_terms_.Vanishes(c[0], c[2]));
}

bool Builder::BuildFma(Attr attr, int width, Scalar* c, Scalar* out) {
  for (int i = 0; i < 3; ++i) SettleScalar(&c[i]);
  const bool ftz = (attr.flags & Attr::kFtz) != 0;
  const bool plain = (attr.flags & (Attr::kSat | Attr::kRelu)) == 0;
  if (double addend; attr.to == Format::kF32 && FloatConst(c[2], attr.to, &addend) && addend != 0 && !std::isnan(addend)) {
    Blind(&c[0]);  // a zero product of either sign leaves the addend
    Blind(&c[1]);
  }
  bool flip = StripSign(&c[0], attr.to);
  flip ^= StripSign(&c[1], attr.to);
  if (flip) Hit(Rewrite::kFmaSign);
  if (Less(c[1], c[0])) std::swap(c[0], c[1]);
  uint64_t value;
  const bool zero_addend = nodes_.IsConst(c[2].node, &value) && value == 0;
  if (plain && attr.round == Round::kRn && !flip && zero_addend && Same(c[0], c[1])) {
    Hit(Rewrite::kFmaSquare);
    return BuildMul(attr, width, &c[0], &c[1], out);
  }
  if (plain && attr.round == Round::kRn && !flip) {
    uint64_t v0, v1;
    if (nodes_.IsConst(c[0].node, &v0) && nodes_.IsConst(c[1].node, &v1) && v0 == 0 && v1 == 0) {
      Hit(Rewrite::kFmaZeroProduct);
      return BuildAdd(attr, width, &c[2], &c[0], out);
    }
  }
  const uint64_t one = attr.to == Format::kF32 ? 0x3f800000u : attr.to == Format::kF64 ? 0x3ff0000000000000ull : 0;
  if (plain && one != 0) {
    for (int i = 0; i < 2; ++i) {
      if (!nodes_.IsConst(c[i].node, &value) || value != one) continue;
      Hit(Rewrite::kFmaOne);
      Scalar factor = c[1 - i];
      if (flip) {
        const Scalar inner = factor;
        if (!BuildSignFlip(width, inner, &factor)) return false;
      }
      return BuildAdd(attr, width, &factor, &c[2], out);
    }
  }
  if (attr.to == Format::kF32 && plain && attr.round == Round::kRn && !flip && VanishesIn(attr, c)) {
    Hit(Rewrite::kMaskedExp);
    *out = c[2];
    return true;
  }
  const bool minus_zero = nodes_.IsConst(c[2].node, &value) && value == SignBit(width);
  if (plain && attr.round == Round::kRn && (minus_zero || RoundsOnce(attr, c))) {
    Hit(minus_zero ? Rewrite::kFmaMinusZero : Rewrite::kFmaExactProduct);
    if (flip) {
      const Scalar inner = c[0];
      if (!BuildSignFlip(width, inner, &c[0])) return false;
    }
    Scalar terms[2] = {Scalar(), c[2]};
    if (minus_zero) return BuildMul(attr, width, &c[0], &c[1], out);
    return BuildMul(attr, width, &c[0], &c[1], &terms[0]) && Dispatch(Fn::kFAdd, attr.Encode(), width, terms, 2, out);
  }
  const uint8_t f0 = FactsOf(c[0].node, width), f1 = FactsOf(c[1].node, width), f2 = FactsOf(c[2].node, width);
  uint8_t facts = CanonicalNanOf(attr.to) | (ftz ? expr::kArithmeticFtz : 0);
  const bool positive_product = !flip && (Same(c[0], c[1]) || (f0 & f1 & expr::kNonNegative));
  if (positive_product && (f2 & expr::kNonNegative)) facts |= expr::kNonNegative | expr::kNeverMinusZero;
  if (flip) {
    const Scalar inner = c[0];
    if (!BuildSignFlip(width, inner, &c[0])) return false;
  }
  return Plain(Fn::kFFma, attr.Encode(), width, facts, c, 3, out);
}

namespace {

uint64_t FoldInteger(Fn fn, uint64_t attr_word, int width, uint64_t a, uint64_t b) {
  const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  const bool is_signed = (attr_word & Attr::kSigned) != 0;
  auto sign = [width](uint64_t v) { return static_cast<int64_t>(v << (64 - width)) >> (64 - width); };
  switch (fn) {
    case Fn::kIAdd: return (a + b) & mask;
    case Fn::kAnd: return a & b;
    case Fn::kOr: return a | b;
    case Fn::kXor: return a ^ b;
    case Fn::kIMin: return is_signed ? (sign(a) < sign(b) ? a : b) : std::min(a, b);
    default: return is_signed ? (sign(a) > sign(b) ? a : b) : std::max(a, b);
  }
}

}  // namespace

// An ordinary pair: kIsa keeps it apart from multiset nodes, whose layout is another.
bool Builder::Pair(Fn fn, uint64_t attr, int width, uint8_t facts, const Scalar* c, Scalar* out) {
  const uint64_t word = Scramble(static_cast<uint64_t>(fn)) ^ attr;
  nodes_.DescribeIsa(word, {"", {}, fn, attr});
  return Plain(Fn::kIsa, word, width, facts, c, 2, out);
}

bool Builder::BuildUnrewritten(Fn fn, uint64_t attr, int width, const Scalar* c, int count, Scalar* out) {
  if (expr::IsAssociative(fn)) return Pair(fn, attr, width, 0, c, out);
  return Plain(fn, attr, width, 0, c, count, out);
}

namespace {

// min or max of two float constants, where both are plain numbers that no flush changes: by value, with -0 < +0.
std::optional<uint64_t> FoldFloatExtreme(Fn fn, const Attr& attr, int width, uint64_t a, uint64_t b) {
  const uint64_t sign = SignBit(width), infinity = InfinityOf(attr.to);
  if (infinity == 0 || (attr.flags & ~Attr::kNanFlag) != 0) return std::nullopt;
  if ((a & ~sign) > infinity || (b & ~sign) > infinity) return std::nullopt;
  auto order = [sign](uint64_t v) { return v & sign ? -static_cast<int64_t>(v & ~sign) - 1 : static_cast<int64_t>(v); };
  return (order(a) < order(b)) == (fn == Fn::kFMin) ? a : b;
}

}  // namespace

// Two constants of a float min or max that do not fold are both kept out: the pair stays an ordinary node.
bool Builder::BuildMultiset(Fn fn, uint64_t attr, int width, const Scalar& a, const Scalar& b, Scalar* out) {
  const bool is_float = fn == Fn::kFMin || fn == Fn::kFMax;
  const bool idempotent = fn != Fn::kIAdd && fn != Fn::kXor;
  const Attr decoded = Attr::Decode(attr);
  const uint8_t nan_fact = is_float ? CanonicalNanOf(decoded.to) : 0;
  // op(a, a) is a: an integer, or a float that the operation neither flushes nor gives another NaN.
  auto keeps = [&](const Scalar& s) {
    if (!is_float) return true;
    const uint8_t facts = FactsOf(s.node, width);
    return (facts & nan_fact) != 0 && ((decoded.flags & Attr::kFtz) == 0 || (facts & expr::kArithmeticFtz) != 0);
  };
  uint64_t va = 0, vb = 0;
  const bool ca = nodes_.IsConst(a.node, &va), cb = nodes_.IsConst(b.node, &vb);
  if (ca && cb && !is_float) {
    Hit(Rewrite::kFoldConst);
    SetConst(FoldInteger(fn, attr, width, va, vb), width, out);
    return true;
  }
  if (ca && cb && is_float) {
    if (const auto folded = FoldFloatExtreme(fn, decoded, width, va, vb)) {
      Hit(Rewrite::kFoldConst);
      SetConst(*folded, width, out);
      return true;
    }
  }
  if (ca && cb && va == vb && keeps(a)) {
    *out = a;
    return true;
  }
  const uint64_t all = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  for (const auto& [is_const, value, other] : {std::tuple{ca, va, &b}, std::tuple{cb, vb, &a}}) {
    if (!is_const || is_float) continue;
    if ((value == 0 && (fn == Fn::kIAdd || fn == Fn::kOr || fn == Fn::kXor)) || (fn == Fn::kAnd && value == all)) {
      Hit(Rewrite::kIdentity);
      *out = *other;
      return true;
    }
    if ((fn == Fn::kAnd && value == 0) || (fn == Fn::kOr && value == all)) {
      SetConst(value, width, out);
      return true;
    }
  }
  if (idempotent && Same(a, b) && keeps(a)) {
    Hit(Rewrite::kIdempotent);
    *out = a;
    return true;
  }
  // A buffer anchored at two symbolic parts has two anchors with one evaluation point: keep such pairs as they are.
  BufferId buffers[2 * expr::kMaxSlots];
  Anchor base[2 * expr::kMaxSlots];
  int slots = 0;
  bool plain = false;
  for (const Scalar* s : {&a, &b}) {
    for (int i = 0; i < s->slots && !plain; ++i) {
      const Anchor& x = s->anchor[i];
      for (int j = 0; j < i; ++j) plain |= s->anchor[j].buffer == x.buffer;
      int p = 0;
      while (p < slots && buffers[p] != x.buffer) ++p;
      if (p == slots) {
        buffers[p] = x.buffer;
        base[p] = x;
        ++slots;
      } else if (base[p].symbolic != x.symbolic) {
        plain = true;
      } else if (x.offset < base[p].offset) {
        base[p] = x;
      }
    }
  }
  if (slots > expr::kMaxSlots) return false;
  auto pair = [&] {
    Scalar c[2] = {a, b};
    if (Less(c[1], c[0])) std::swap(c[0], c[1]);
    return Pair(fn, attr, width, nan_fact, c, out);
  };
  if (plain || (ca && cb)) return pair();
  Hit(Rewrite::kMultiset);
  int order[expr::kMaxSlots];
  for (int i = 0; i < slots; ++i) order[i] = i;
  std::sort(order, order + slots, [&](int x, int y) {
    return nodes_.buffer_key(buffers[x]) < nodes_.buffer_key(buffers[y]);
  });
  int rank[expr::kMaxSlots];
  BufferId sorted[expr::kMaxSlots];
  out->slots = static_cast<uint8_t>(slots);
  for (int i = 0; i < slots; ++i) {
    rank[order[i]] = i;
    sorted[i] = buffers[order[i]];
    out->anchor[i] = base[order[i]];
  }
  // Sums by the slots that their elements use, as bits.
  std::vector<expr::NodeManager::MultisetGroup> groups;
  auto join = [&groups](uint32_t used, Field sum) {
    auto it = std::lower_bound(groups.begin(), groups.end(), used, [](const auto& g, uint32_t v) { return g.slots < v; });
    if (it == groups.end() || it->slots != used) it = groups.insert(it, {used, Field()});
    it->sum = it->sum + sum;
  };
  std::optional<uint64_t> constant;
  uint64_t maps[2][expr::kMaxSlots];
  ChildRef refs[2];
  int which = 0;
  for (const Scalar* s : {&a, &b}) {
    const expr::Node& n = nodes_[s->node];
    Field factors[expr::kMaxSlots];
    uint32_t all_used = 0;
    for (int i = 0; i < s->slots; ++i) {
      int p = 0;
      while (buffers[p] != s->anchor[i].buffer) ++p;
      const int64_t shift =
          static_cast<int64_t>(static_cast<uint64_t>(s->anchor[i].offset) - static_cast<uint64_t>(base[p].offset));
      if (shift < 0 || shift >= int64_t{1} << 55) return false;
      factors[i] = shift == 0 ? Field(1) : Power(nodes_.point(buffers[p]), static_cast<uint64_t>(shift));
      all_used |= 1u << rank[p];
      maps[which][i] = static_cast<uint64_t>(rank[p]) << 56 | static_cast<uint64_t>(shift);
    }
    std::optional<uint64_t> value;
    if (uint64_t literal; nodes_.IsConst(s->node, &literal)) {
      value = literal;
    } else if (n.fn == fn && n.attr == attr && n.width == width) {
      const auto view = nodes_.multiset(s->node);
      value = view.constant;
      for (const auto& g : view.groups) {
        Field sum = g.sum;
        uint32_t used = 0;
        for (int i = 0; i < s->slots; ++i) {
          if ((g.slots >> i & 1) == 0) continue;
          sum = sum * factors[i];
          used |= 1u << (maps[which][i] >> 56);
        }
        join(used, sum);
      }
    } else {
      Field sum = expr::NodeManager::Weight(n.digest);
      for (int i = 0; i < s->slots; ++i) sum = sum * factors[i];
      join(all_used, sum);
    }
    if (value) {
      if (constant && is_float && *value != *constant) {
        constant = FoldFloatExtreme(fn, decoded, width, *constant, *value);
        if (!constant) return pair();
      } else {
        constant = constant && !is_float ? FoldInteger(fn, attr, width, *constant, *value) : *value;
      }
    }
    refs[which] = {s->node, s->slots, maps[which]};
    ++which;
  }
  if (constant == uint64_t{0} && (fn == Fn::kIAdd || fn == Fn::kXor)) constant.reset();
  out->node = nodes_.MakeMultiset(fn, attr, width, nan_fact, sorted, slots, groups, constant, refs[0], refs[1]);
  return true;
}

bool Builder::BuildCompare(Fn fn, Attr attr, Scalar* c, Scalar* out) {
  if (fn == Fn::kFCompare) {
    Blind(&c[0]);
    Blind(&c[1]);
  }
  const Compare swapped = Swapped(attr.compare);
  if (swapped != attr.compare) {
    Hit(Rewrite::kCompareSwap);
    attr.compare = swapped;
    std::swap(c[0], c[1]);
  }
  if (expr::IsSymmetric(swapped) && Less(c[1], c[0])) std::swap(c[0], c[1]);
  return Plain(fn, attr.Encode(), 1, 0, c, 2, out);
}

bool Builder::BuildNot(int width, const Scalar& a, Scalar* out) {
  uint64_t value;
  if (nodes_.IsConst(a.node, &value)) {
    SetConst(~value, width, out);
    return true;
  }
  const expr::Node& n = nodes_[a.node];
  if (n.fn == Fn::kNot && n.width == width) {
    *out = nodes_.ChildScalar(a, 0);
    return true;
  }
  if (width == 1 && (n.fn == Fn::kFCompare || n.fn == Fn::kICompare)) {
    Hit(Rewrite::kCompareNot);
    const Fn fn = n.fn;
    Attr attr = Attr::Decode(n.attr);
    const auto [compare, exchange] = fn == Fn::kFCompare ? FloatComplement(attr.compare) : IntComplement(attr.compare);
    attr.compare = compare;
    Scalar c[2] = {nodes_.ChildScalar(a, 0), nodes_.ChildScalar(a, 1)};
    if (exchange) std::swap(c[0], c[1]);
    return BuildCompare(fn, attr, c, out);
  }
  return Plain(Fn::kNot, 0, width, 0, &a, 1, out);
}

bool Builder::BuildSelect(int width, Scalar* c, Scalar* out) {
  SettleScalar(&c[1]);
  SettleScalar(&c[2]);
  uint64_t value;
  if (nodes_.IsConst(c[0].node, &value)) {
    *out = value & 1 ? c[1] : c[2];
    return true;
  }
  if (Same(c[1], c[2])) {
    Hit(Rewrite::kSelectSame);
    *out = c[1];
    return true;
  }
  const expr::Node& n = nodes_[c[0].node];
  const bool negated = n.fn == Fn::kNot || ((n.fn == Fn::kFCompare || n.fn == Fn::kICompare) &&
                                            !IsPreferred(n.fn, Attr::Decode(n.attr).compare));
  if (negated) {
    Hit(Rewrite::kSelectNot);
    const Scalar p = c[0];
    if (!BuildNot(1, p, &c[0])) return false;
    std::swap(c[1], c[2]);
  }
  const uint8_t facts = width >= 16 ? FactsOf(c[1].node, width) & FactsOf(c[2].node, width) : 0;
  if (!Plain(Fn::kSelect, 0, width, facts, c, 3, out)) return false;
  if (width == 32) RecordExtreme(c, *out);
  return true;
}

// Magnitude that the integer step cannot pass, by those of its accumulator and of its products; nothing where it may
// leave the range of s32.
std::optional<uint64_t> Builder::IntegerStepBound(uint64_t attr, const Scalar& accumulator, int products) const {
  uint64_t bound = 0;
  if (nodes_.IsConst(accumulator.node, &bound)) {
    const int64_t value = static_cast<int32_t>(bound);
    bound = static_cast<uint64_t>(value < 0 ? -value : value);
  } else {
    const auto known = integer_bounds_.find(accumulator.node);
    if (known == integer_bounds_.end()) return std::nullopt;
    bound = known->second;
  }
  uint64_t product = 1;
  for (const int shift : {32, 40})
    product *= static_cast<expr::Format>(attr >> shift & 255) == expr::Format::kS8 ? 128 : 255;
  bound += product * static_cast<uint64_t>(products);
  if (bound > 0x7fffffff) return std::nullopt;
  return bound;
}

// Children: accumulator, vector of A, vector of B (each of the group's length, element k of both multiplied).
// Within a group the order of products is irrelevant in bits: the pairs are sorted.
bool Builder::BuildMatrixStep(uint64_t attr, int width, Scalar* c, Scalar* out) {
  SettleScalar(&c[0]);
  // A step of zero products gives the accumulator back: it has no more fraction bits than the sum keeps, and neither
  // a matrix result nor the constant +0 is -0 or a NaN of another pattern.
  auto all_zero = [&](NodeId id) {
    uint64_t value;
    const expr::Node& n = nodes_[id];
    if (n.fn != Fn::kVector || n.slots != 0) return false;
    for (int i = 0; i < n.children; ++i)
      if (!nodes_.IsConst(nodes_.child(id, i).node, &value) || value != 0) return false;
    return true;
  };
  const expr::Node& acc = nodes_[c[0].node];
  uint64_t value;
  const bool exact = (acc.fn == Fn::kMatrixStep && acc.attr == attr && acc.width == width) ||
                     (nodes_.IsConst(c[0].node, &value) && value == 0);
  constexpr uint64_t kRuleMask = 15;  // 0: a truncated sum (symexec/exec_matrix.cc)
  if ((attr & kRuleMask) == expr::kIntegerMatrixRule) {
    constexpr uint64_t kClamps = 1 << 4;
    const std::optional<uint64_t> bound = IntegerStepBound(attr, c[0], nodes_[c[1].node].children);
    if (bound && (attr & kClamps) != 0) {
      Hit(Rewrite::kMatrixNoClamp);
      attr &= ~kClamps;
    }
    if (!Plain(Fn::kMatrixStep, attr, width, 0, c, 3, out)) return false;
    if (bound) integer_bounds_.emplace(out->node, *bound);
    return true;
  }
  if (exact && (attr & kRuleMask) == 0 && all_zero(c[1].node) && all_zero(c[2].node)) {
    Hit(Rewrite::kMatrixZeroStep);
    *out = c[0];
    return true;
  }
  return Plain(Fn::kMatrixStep, attr, width, 0, c, 3, out);
}

// Bits [attr & 255, + width) of one value.
bool Builder::BuildExtract(uint64_t offset, int width, const Scalar& a, Scalar* out) {
  const expr::Node& n = nodes_[a.node];
  if (offset == 0 && n.width == width) {
    *out = a;
    return true;
  }
  switch (n.fn) {
    case Fn::kUndef:
      *out = a;
      return true;
    case Fn::kConst:
      SetConst(offset >= 64 ? 0 : n.attr >> offset, width, out);
      return true;
    case Fn::kLeaf:
      if (offset % 8 != 0) break;
      *out = a;
      out->anchor[0].offset += static_cast<int64_t>(offset / 8);
      return true;
    case Fn::kExtract:
      return BuildExtract(offset + (n.attr & kExtractOffset), width, nodes_.ChildScalar(a, 0), out);
    case Fn::kConcat: {
      uint64_t at = 0;
      for (int i = 0; i < n.children; ++i) {
        const int piece = static_cast<int>(n.attr >> (8 * i) & 255);
        if (offset >= at && offset + width <= at + piece) {
          const Scalar inner = nodes_.ChildScalar(a, i);
          if (offset == at && width == piece) {
            *out = inner;
            return true;
          }
          return BuildExtract(offset - at, width, inner, out);
        }
        at += piece;
      }
      break;
    }
    default: break;
  }
  if (n.fn == Fn::kLeaf && width < 8) {
    Scalar byte = a;
    byte.anchor[0].offset += static_cast<int64_t>(offset / 8);
    return Plain(Fn::kExtract, offset % 8 | kExtractByte, width, 0, &byte, 1, out);
  }
  return Plain(Fn::kExtract, offset, width, 0, &a, 1, out);
}

// Children from the least significant; attr holds their widths, a byte each.
bool Builder::BuildConcat(uint64_t attr, int width, Scalar* c, int count, Scalar* out) {
  int widths[8];
  for (int i = 0; i < count; ++i) widths[i] = static_cast<int>(attr >> (8 * i) & 255);
  // Join neighbours: adjacent memory, consecutive bits of one value, constants.
  int kept = 0;
  for (int i = 0; i < count; ++i) {
    if (kept > 0) {
      Scalar& last = c[kept - 1];
      const expr::Node& x = nodes_[last.node];
      const expr::Node& y = nodes_[c[i].node];
      const int lw = widths[kept - 1], rw = widths[i];
      uint64_t lv, rv;
      if (x.fn == Fn::kLeaf && last.node == c[i].node && lw % 8 == 0 &&
          last.anchor[0].symbolic == c[i].anchor[0].symbolic &&
          last.anchor[0].offset + lw / 8 == c[i].anchor[0].offset) {
        widths[kept - 1] += rw;
        continue;
      }
      if (nodes_.IsConst(last.node, &lv) && nodes_.IsConst(c[i].node, &rv) && lw + rw <= 64) {
        SetConst(lv | rv << lw, lw + rw, &last);
        widths[kept - 1] += rw;
        continue;
      }
      if (x.fn == Fn::kUndef && y.fn == Fn::kUndef) {
        widths[kept - 1] += rw;
        continue;
      }
      if (x.fn == Fn::kExtract && y.fn == Fn::kExtract && y.attr == x.attr + static_cast<uint64_t>(lw)) {
        const Scalar cx = nodes_.ChildScalar(last, 0), cy = nodes_.ChildScalar(c[i], 0);
        if (Same(cx, cy)) {
          if (!BuildExtract(x.attr & kExtractOffset, lw + rw, cx, &last)) return false;
          widths[kept - 1] += rw;
          continue;
        }
      }
    }
    if (kept != i) {
      c[kept] = c[i];
      widths[kept] = widths[i];
    }
    ++kept;
  }
  if (kept == 1) {
    *out = c[0];
    return true;
  }
  uint64_t joined = 0;
  for (int i = 0; i < kept; ++i) joined |= static_cast<uint64_t>(widths[i]) << (8 * i);
  return Plain(Fn::kConcat, joined, width, 0, c, kept, out);
}

bool Builder::Build(Fn fn, uint64_t attr, int width, const Scalar* children, int count, Scalar* out) {
  if (count > kMaxChildren) return false;
  // Only what is used comes to life: a scalar has room for all its anchors.
  alignas(Scalar) std::byte room[kMaxChildren * sizeof(Scalar)];
  Scalar* const c = reinterpret_cast<Scalar*>(room);
  for (int i = 0; i < count; ++i) {
    new (&c[i]) Scalar(children[i]);
    for (int s = 0; s < c[i].slots; ++s) c[i].anchor[s].source = static_cast<uint16_t>(i * expr::kMaxSlots + s);
  }
  return options_.rewrites_enabled ? Dispatch(fn, attr, width, c, count, out) : BuildUnrewritten(fn, attr, width, c, count, out);
}

namespace {

// A finite constant in another float format, where that holds it exactly, so that no rounding takes part.
std::optional<uint64_t> FoldConversion(const Attr& attr, uint64_t value) {
  if (attr.flags != 0 || attr.to == attr.from || InfinityOf(attr.to) == 0 || InfinityOf(attr.from) == 0) return std::nullopt;
  if (attr.round >= Round::kRni) return std::nullopt;  // to an integer
  if ((value & ~SignBit(expr::FormatBits(attr.from))) >= InfinityOf(attr.from)) return std::nullopt;
  const softfloat::Format &from = *expr::SoftFormat(attr.from), &to = *expr::SoftFormat(attr.to);
  const uint64_t converted = softfloat::ConvertFloat(to, from, value, softfloat::Rounding::kRn);
  if (softfloat::ConvertFloat(from, to, converted, softfloat::Rounding::kRn) != value) return std::nullopt;
  return converted;
}

}  // namespace

bool Builder::Dispatch(Fn fn, uint64_t attr_word, int width, Scalar* c, int count, Scalar* out) {
  const Attr attr = Attr::Decode(attr_word);
  if (IsFloatArithmetic(fn) && (fn != Fn::kFConvert || MakesNanCanonical(attr))) {
    const Format f = attr.from != Format::kNone ? attr.from : attr.to;
    for (int i = 0; i < count; ++i) ArithmeticOperand(&c[i], f);
  }
  saw_f64_ |= IsFloatArithmetic(fn) && (attr.from == Format::kF64 || attr.to == Format::kF64);
  switch (fn) {
    case Fn::kFAdd: return BuildAdd(attr, width, &c[0], &c[1], out);
    case Fn::kFMul: return BuildMul(attr, width, &c[0], &c[1], out);
    case Fn::kFFma: return BuildFma(attr, width, c, out);
    case Fn::kSelect: return BuildSelect(width, c, out);
    case Fn::kNot: return BuildNot(width, c[0], out);
    case Fn::kSignFlip: return BuildSignFlip(width, c[0], out);
    case Fn::kMatrixStep: return BuildMatrixStep(attr_word, width, c, out);
    case Fn::kExtract:
      SettleScalar(&c[0]);
      return BuildExtract(attr_word, width, c[0], out);
    default: break;
  }
  if (fn == Fn::kFNeg) return Plain(fn, attr_word, width, 0, c, count, out);  // a negated product may still be fused
  for (int i = 0; i < count; ++i) SettleScalar(&c[i]);
  if (fn == Fn::kEx2) Blind(&c[0]);
  if (fn == Fn::kFAbs && count == 1 && width >= 16) {
    uint64_t value;
    if (nodes_.IsConst(c[0].node, &value) && (attr.flags & Attr::kFtz) == 0) {
      const uint64_t magnitude = value & ~SignBit(width);
      if (magnitude <= InfinityOf(attr.to)) {  // no NaN
        Hit(Rewrite::kFoldConst);
        SetConst(magnitude, width, out);
        return true;
      }
    }
  }
  if (fn == Fn::kConcat) return BuildConcat(attr_word, width, c, count, out);
  if (expr::IsAssociative(fn)) return BuildMultiset(fn, attr_word, width, c[0], c[1], out);
  uint8_t facts = 0;
  switch (fn) {
    case Fn::kFCompare: case Fn::kICompare: return BuildCompare(fn, attr, c, out);
    case Fn::kIMul: case Fn::kIMulHi:
      if (Less(c[1], c[0])) std::swap(c[0], c[1]);
      break;
    case Fn::kShl: case Fn::kShr: case Fn::kSar: {
      uint64_t value;
      if (nodes_.IsConst(c[1].node, &value) && value == 0) {
        Hit(Rewrite::kIdentity);
        *out = c[0];
        return true;
      }
      break;
    }
    case Fn::kFConvert:
      if (uint64_t value; nodes_.IsConst(c[0].node, &value)) {
        if (const auto converted = FoldConversion(attr, value)) {
          Hit(Rewrite::kFoldConvert);
          SetConst(*converted, width, out);
          return true;
        }
      }
      facts = FactsOf(c[0].node, expr::FormatBits(attr.from)) & expr::kNonNegative;
      if (facts) facts |= expr::kNeverMinusZero;
      if (!KeepsNanPattern(attr)) facts |= CanonicalNanOf(attr.to);
      // Exact, unless a subnormal of bf16 (which is one of f32) is flushed to a zero of its sign.
      if (attr.to == Format::kF32 && (attr.from == Format::kF16 || (attr.from == Format::kBf16 && (attr.flags & Attr::kFtz) == 0)))
        facts |= FactsOf(c[0].node, 16) & expr::kNeverMinusZero;
      break;
    case Fn::kFAbs: facts = expr::kNonNegative | expr::kNeverMinusZero; break;
    case Fn::kEx2: facts = expr::kNonNegative | expr::kNeverMinusZero | CanonicalNanOf(attr.to); break;
    case Fn::kIntToF: facts = expr::kNeverMinusZero | CanonicalNanOf(attr.to); break;
    case Fn::kFDiv: case Fn::kFRcp: case Fn::kFSqrt: case Fn::kFRsqrt: case Fn::kLg2: case Fn::kSin: case Fn::kCos:
    case Fn::kTanh:
      facts = CanonicalNanOf(attr.to);
      break;
    case Fn::kIsa:
      if (count != 2 || !exp_terms_.IsScaling(attr_word, width)) break;
      facts = FactsOf(c[0].node, width) & expr::kNonNegative;
      facts |= facts ? expr::kNeverMinusZero | expr::kCanonicalNan : expr::kCanonicalNan;
      break;
    default: break;
  }
  // Conversions flush f32 only, and integers and truth values are no floats.
  const bool flushes = IsFloatArithmetic(fn) && fn != Fn::kFToInt && (fn != Fn::kFConvert || attr.to == Format::kF32);
  if (flushes && (attr.flags & Attr::kFtz)) facts |= expr::kArithmeticFtz;
  return Plain(fn, attr_word, width, facts, c, count, out);
}

}  // namespace samebits::canonical
