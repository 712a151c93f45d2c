#include "core/canonical/exact_product.h"

#include <algorithm>
#include <bit>

namespace samebits::canonical {

using expr::Attr;
using expr::Fn;
using expr::Format;
using expr::NodeId;

namespace {

constexpr int kMaxDepth = 4;
constexpr int kPrecision = 24, kLeast = -149, kLeastNormal = -126, kBeyond = 128;  // of f32

bool IsExact(const Span& s) { return s.bits <= kPrecision && s.low >= kLeast && s.high <= kBeyond; }

Span Product(const Span& a, const Span& b) {
  const bool scales = a.bits <= 1 || b.bits <= 1;  // by a power of two
  return {scales ? std::max(a.bits, b.bits) : a.bits + b.bits, a.low + b.low, a.high + b.high};
}

std::optional<Span> OfConstant(uint32_t pattern) {
  const int exponent = static_cast<int>(pattern >> 23 & 255);
  if (exponent == 255) return std::nullopt;
  const uint32_t fraction = pattern & 0x7fffff, significand = exponent == 0 ? fraction : fraction | 0x800000;
  if (significand == 0) return Span{0, 0, 0};
  const int zeros = std::countr_zero(significand), top = std::bit_width(significand);
  const int low = std::max(exponent, 1) - 150;  // of the significand's last bit
  return Span{top - zeros, low + zeros, low + top};
}

std::optional<Span> OfSource(Format from) {
  switch (from) {
    case Format::kF16: return Span{11, -24, 16};
    case Format::kBf16: return Span{8, -133, 128};
    case Format::kS8: case Format::kU8: return Span{8, 0, 8};
    case Format::kS16: case Format::kU16: return Span{16, 0, 16};
    default: return std::nullopt;
  }
}

// A chain of matrix steps on f16: products are multiples of 2^-48, and a step aligns, cuts and rounds its terms to powers
// of two, which leaves multiples of 2^-48.
std::optional<Span> OfMatrixSteps(const expr::NodeManager& nodes, NodeId id) {
  constexpr uint64_t kHalves = static_cast<uint64_t>(Format::kF16) << 32 | static_cast<uint64_t>(Format::kF16) << 40;
  constexpr uint64_t kFormats = uint64_t{0xffff} << 32;
  constexpr int kMaxSteps = 64, kProducts = -48;
  for (int step = 0; step < kMaxSteps; ++step) {
    const expr::Node& n = nodes[id];
    if (n.fn == Fn::kConst) {
      const auto first = OfConstant(static_cast<uint32_t>(n.attr));
      return first && (first->bits == 0 || first->low >= kProducts) ? std::optional(Span{kPrecision, kProducts, kBeyond})
                                                                    : std::nullopt;
    }
    if (n.fn != Fn::kMatrixStep || n.width != 32 || (n.attr & kFormats) != kHalves) return std::nullopt;
    id = nodes.child(id, 0).node;
  }
  return std::nullopt;
}

std::optional<Span> Find(const expr::NodeManager& nodes, NodeId id, int depth) {
  const expr::Node& n = nodes[id];
  if (n.fn == Fn::kConst) return OfConstant(static_cast<uint32_t>(n.attr));
  if (n.width != 32 || depth == kMaxDepth) return std::nullopt;
  const Attr attr = Attr::Decode(n.attr);
  const bool plain = attr.to == Format::kF32 && (attr.flags & ~(Attr::kNanFlag | Attr::kContract)) == 0;
  switch (n.fn) {
    case Fn::kFConvert: case Fn::kIntToF:
      if (!plain) return std::nullopt;
      return OfSource(attr.from);
    case Fn::kFNeg: case Fn::kFAbs:
      if (!plain) return std::nullopt;
      return Find(nodes, nodes.child(id, 0).node, depth + 1);
    case Fn::kSignFlip:
      return Find(nodes, nodes.child(id, 0).node, depth + 1);
    case Fn::kFMul: {
      if (!plain) return std::nullopt;
      const auto a = Find(nodes, nodes.child(id, 0).node, depth + 1), b = Find(nodes, nodes.child(id, 1).node, depth + 1);
      if (!a || !b || !IsExact(Product(*a, *b))) return std::nullopt;
      return Product(*a, *b);
    }
    case Fn::kMatrixStep:
      return OfMatrixSteps(nodes, id);
    case Fn::kSelect: {
      const auto a = Find(nodes, nodes.child(id, 1).node, depth + 1), b = Find(nodes, nodes.child(id, 2).node, depth + 1);
      if (!a || !b) return std::nullopt;
      return Span{std::max(a->bits, b->bits), std::min(a->low, b->low), std::max(a->high, b->high)};
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Span> SpanOf(const expr::NodeManager& nodes, NodeId node) { return Find(nodes, node, 0); }

bool IsExactProduct(const expr::NodeManager& nodes, NodeId a, NodeId b, bool ftz) {
  const auto x = SpanOf(nodes, a);
  if (!x) return false;
  const auto y = SpanOf(nodes, b);
  return y && IsExact(Product(*x, *y)) && (!ftz || x->low + y->low >= kLeastNormal);
}

// Scaled up, a product that is no f32 is 2^128 or more, and stays an overflow beside 2^100. Scaled down, one that is
// none is below 2^-126, rounded or not, which is less than a quarter of the last bit of 2^-100.
bool IsHiddenScaling(const expr::NodeManager& nodes, NodeId b, NodeId addend) {
  uint64_t factor, c;
  if (!nodes.IsConst(b, &factor) || !nodes.IsConst(addend, &c)) return false;
  const auto power = OfConstant(static_cast<uint32_t>(factor)), sum = OfConstant(static_cast<uint32_t>(c));
  return power && sum && power->bits == 1 && sum->bits > 0 && sum->high > -100 && sum->high <= 100;
}

}  // namespace samebits::canonical
