#include "core/softfloat/arithmetic.h"

#include <algorithm>
#include <optional>

#include "core/softfloat/approximate.h"
#include "core/softfloat/compare.h"
#include "core/interpreter/block.h"

namespace samebits::interpreter {

namespace sf = softfloat;

namespace {

sf::Rounding RoundingOf(const Site& site) {
  if (site.Has(Mod::kRz)) return sf::Rounding::kRz;
  if (site.Has(Mod::kRm)) return sf::Rounding::kRm;
  if (site.Has(Mod::kRp)) return sf::Rounding::kRp;
  return sf::Rounding::kRn;
}

sf::Flags FlagsOf(const Site& site) {
  return {.ftz = site.Has(Mod::kFtz), .sat = site.Has(Mod::kSat), .relu = site.Has(Mod::kRelu)};
}

std::optional<sf::ApproxOp> ApproxOpOf(Op op) {
  switch (op) {
    case Op::kEx2:
      return sf::ApproxOp::kEx2;
    case Op::kLg2:
      return sf::ApproxOp::kLg2;
    case Op::kSin:
      return sf::ApproxOp::kSin;
    case Op::kCos:
      return sf::ApproxOp::kCos;
    case Op::kTanh:
      return sf::ApproxOp::kTanh;
    case Op::kRcp:
      return sf::ApproxOp::kRcp;
    case Op::kRsqrt:
      return sf::ApproxOp::kRsqrt;
    case Op::kSqrt:
      return sf::ApproxOp::kSqrt;
    default:
      return std::nullopt;
  }
}

struct OrderingMod {
  Mod mod;
  sf::Ordering ordering;
};

constexpr OrderingMod kOrderings[] = {
    {Mod::kEq, sf::Ordering::kEq},   {Mod::kNe, sf::Ordering::kNe},   {Mod::kLt, sf::Ordering::kLt},
    {Mod::kLe, sf::Ordering::kLe},   {Mod::kGt, sf::Ordering::kGt},   {Mod::kGe, sf::Ordering::kGe},
    {Mod::kLo, sf::Ordering::kLt},   {Mod::kLs, sf::Ordering::kLe},   {Mod::kHi, sf::Ordering::kGt},
    {Mod::kHs, sf::Ordering::kGe},   {Mod::kEqu, sf::Ordering::kEqu}, {Mod::kNeu, sf::Ordering::kNeu},
    {Mod::kLtu, sf::Ordering::kLtu}, {Mod::kLeu, sf::Ordering::kLeu}, {Mod::kGtu, sf::Ordering::kGtu},
    {Mod::kGeu, sf::Ordering::kGeu}, {Mod::kNum, sf::Ordering::kNum}, {Mod::kNan, sf::Ordering::kNan},
};

std::optional<sf::Ordering> OrderingOf(const Site& site) {
  for (const OrderingMod& row : kOrderings) {
    if (site.Has(row.mod)) return row.ordering;
  }
  return std::nullopt;
}

bool Ordered(sf::Ordering ordering, int64_t a, int64_t b) {
  switch (ordering) {
    case sf::Ordering::kEq:
      return a == b;
    case sf::Ordering::kNe:
      return a != b;
    case sf::Ordering::kLt:
      return a < b;
    case sf::Ordering::kLe:
      return a <= b;
    case sf::Ordering::kGt:
      return a > b;
    case sf::Ordering::kGe:
      return a >= b;
    default:
      return false;
  }
}

bool Combine(const Site& site, bool compared, bool c) {
  if (site.Has(Mod::kAnd)) return compared && c;
  if (site.Has(Mod::kOr)) return compared || c;
  return compared != c;
}

}  // namespace

bool Block::ExecuteArithmetic(const Site& site) {
  switch (site.instruction.op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kMad:
    case Op::kFma:
    case Op::kDiv:
    case Op::kRem:
    case Op::kAbs:
    case Op::kNeg:
    case Op::kMin:
    case Op::kMax:
    case Op::kCopysign:
    case Op::kRcp:
    case Op::kSqrt:
    case Op::kRsqrt:
    case Op::kEx2:
    case Op::kLg2:
    case Op::kSin:
    case Op::kCos:
    case Op::kTanh:
      Elementwise(site);
      return true;
    case Op::kSetp:
    case Op::kSet:
      Compare(site);
      return true;
    case Op::kSelp:
    case Op::kSlct:
      Select(site);
      return true;
    case Op::kTestp:
      TestProperty(site);
      return true;
    case Op::kCvt:
      Convert(site);
      return true;
    default:
      return false;
  }
}

void Block::Elementwise(const Site& site) {
  const ScalarType type = site.type();
  if (site.instruction.type_count > 1) return Unimplemented(site, "mixed-precision arithmetic");
  const TypeShape shape = ShapeOf(type);
  std::array<uint64_t, 3> sources{};
  for (size_t i = 1; i < site.operands.size() && i <= 3; ++i) sources[i - 1] = Read(site, site.operand(i), type);
  uint64_t value = 0;
  for (int element = 0; element < shape.count; ++element) {
    const int shift = element * shape.bits;
    std::array<uint64_t, 3> x{};
    for (size_t i = 0; i < 3; ++i) x[i] = sources[i] >> shift & LowMask(shape.bits);
    const uint64_t result = shape.format != nullptr ? FloatElement(site, *shape.format, x[0], x[1], x[2])
                                                    : IntegerElement(site, shape, x[0], x[1], x[2]);
    value |= (result & LowMask(shape.bits)) << shift;
  }
  Write(site, site.operand(0), value, type);
}

uint64_t Block::FloatElement(const Site& site, const sf::Format& format, uint64_t a, uint64_t b, uint64_t c) {
  const sf::Rounding rounding = RoundingOf(site);
  const sf::Flags flags = FlagsOf(site);
  const Op op = site.instruction.op;
  switch (op) {
    case Op::kAdd:
      return sf::Add(format, a, b, rounding, flags);
    case Op::kSub:
      return sf::Sub(format, a, b, rounding, flags);
    case Op::kMul:
      return sf::Mul(format, a, b, rounding, flags);
    case Op::kMad:
    case Op::kFma:
      if (site.Has(Mod::kOob)) Unimplemented(site, ".oob");
      return sf::Fma(format, a, b, c, rounding, flags);
    case Op::kAbs:
      return sf::Abs(format, a, flags.ftz);
    case Op::kNeg:
      return sf::Neg(format, a, flags.ftz);
    case Op::kCopysign:
      return sf::CopySign(format, a, b);
    case Op::kMin:
    case Op::kMax: {
      const sf::MinMaxFlags minmax{flags.ftz, site.Has(Mod::kPropagateNan), site.Has(Mod::kXorsign)};
      const auto pick = op == Op::kMin ? sf::Min : sf::Max;
      const uint64_t first = pick(format, a, b, minmax);
      return site.operands.size() > 3 ? pick(format, first, c, minmax) : first;
    }
    case Op::kDiv:
      if (site.Has(Mod::kApprox) || site.Has(Mod::kFull)) return Approximate(site, format, a, b);
      return sf::Div(format, a, b, rounding, flags);
    case Op::kRcp:
      return site.Has(Mod::kApprox) ? Approximate(site, format, a, b) : sf::Rcp(format, a, rounding, flags);
    case Op::kSqrt:
      return site.Has(Mod::kApprox) ? Approximate(site, format, a, b) : sf::Sqrt(format, a, rounding, flags);
    case Op::kRsqrt:
    case Op::kEx2:
    case Op::kLg2:
    case Op::kSin:
    case Op::kCos:
    case Op::kTanh:
      return Approximate(site, format, a, b);
    default:
      Unimplemented(site);
      return 0;
  }
}

uint64_t Block::Approximate(const Site& site, const sf::Format& format, uint64_t a, uint64_t b) {
  const bool ftz = site.Has(Mod::kFtz);
  const std::optional<sf::ApproxOp> op = ApproxOpOf(site.instruction.op);
  if (!op && format.id != sf::FormatId::kF32) {
    Unimplemented(site, "approximate division of this type");
    return 0;
  }
  const sf::ModelResult result =
      op ? sf::ModelApprox(*op, format, a, ftz) : sf::ModelDivide(a, b, site.Has(Mod::kApprox), ftz);
  if (!result.exact) ++result_.model_results;
  return result.bits;
}

uint64_t Block::IntegerElement(const Site& site, const TypeShape& shape, uint64_t a, uint64_t b, uint64_t c) {
  const int64_t x = SignExtend(a, shape.bits), y = SignExtend(b, shape.bits);
  const bool less = shape.is_signed ? x < y : a < b;
  switch (site.instruction.op) {
    case Op::kAdd:
    case Op::kSub: {
      const bool add = site.instruction.op == Op::kAdd;
      if (!site.Has(Mod::kSat)) return add ? a + b : a - b;
      return static_cast<uint64_t>(std::clamp<int64_t>(add ? x + y : x - y, INT32_MIN, INT32_MAX));
    }
    case Op::kDiv:
      if (b == 0) return LowMask(shape.bits);
      if (!shape.is_signed) return a / b;
      return y == -1 ? 0 - a : static_cast<uint64_t>(x / y);
    case Op::kRem:
      if (b == 0) return a;
      if (!shape.is_signed) return a % b;
      return y == -1 ? 0 : static_cast<uint64_t>(x % y);
    case Op::kAbs:
      return x < 0 ? 0 - a : a;
    case Op::kNeg:
      return 0 - a;
    case Op::kMin:
    case Op::kMax: {
      const uint64_t picked = less == (site.instruction.op == Op::kMin) ? a : b;
      return site.Has(Mod::kRelu) && SignExtend(picked, shape.bits) < 0 ? 0 : picked;
    }
    default:
      (void)c;
      Unimplemented(site);
      return 0;
  }
}

bool Block::CompareElement(const Site& site, const TypeShape& shape, uint64_t a, uint64_t b) {
  const std::optional<sf::Ordering> ordering = OrderingOf(site);
  if (!ordering) {
    Unimplemented(site, "comparison without an ordering");
    return false;
  }
  if (shape.format != nullptr) return sf::Compare(*shape.format, *ordering, a, b, site.Has(Mod::kFtz));
  if (shape.is_signed) return Ordered(*ordering, SignExtend(a, shape.bits), SignExtend(b, shape.bits));
  // Flipping the top bit maps unsigned order to signed order.
  const auto key = [](uint64_t value) { return static_cast<int64_t>(value ^ uint64_t{1} << 63); };
  return Ordered(*ordering, key(a), key(b));
}

void Block::Compare(const Site& site) {
  const bool set = site.instruction.op == Op::kSet;
  const ScalarType type = set ? site.type(1) : site.type(0);
  const TypeShape shape = ShapeOf(type);
  const uint64_t a = Read(site, site.operand(1), type), b = Read(site, site.operand(2), type);
  const bool combines = site.operands.size() > 3;
  const bool c = combines && ReadPredicate(site, site.operand(3));
  std::array<bool, 2> results{};
  for (int i = 0; i < std::min(shape.count, 2); ++i) {
    const int shift = i * shape.bits;
    results[i] = CompareElement(site, shape, a >> shift & LowMask(shape.bits), b >> shift & LowMask(shape.bits));
  }
  if (!set) {
    bool p = results[0], q = shape.count == 2 ? results[1] : !results[0];
    if (combines) {
      p = Combine(site, p, c);
      q = Combine(site, q, c);
    }
    return WritePredicates(site, site.operand(0), p, q);
  }
  const ScalarType to = site.type(0);
  const TypeShape to_shape = ShapeOf(to);
  uint64_t value = 0;
  for (int i = 0; i < to_shape.count; ++i) {
    const bool p = combines ? Combine(site, results[i], c) : results[i];
    const uint64_t one = to_shape.format != nullptr
                             ? static_cast<uint64_t>(to_shape.format->bias()) << to_shape.format->fraction_bits
                             : LowMask(to_shape.bits);
    if (p) value |= one << (i * to_shape.bits);
  }
  Write(site, site.operand(0), value, to);
}

void Block::Select(const Site& site) {
  const ScalarType type = site.type();
  bool take_a = false;
  if (site.instruction.op == Op::kSelp) {
    take_a = ReadPredicate(site, site.operand(3));
  } else if (site.type(1) == ScalarType::kF32) {
    const uint64_t c = Read(site, site.operand(3), ScalarType::kF32);
    take_a = sf::Compare(sf::kF32, sf::Ordering::kGe, c, 0, site.Has(Mod::kFtz));
  } else {
    take_a = SignExtend(Read(site, site.operand(3), ScalarType::kS32), 32) >= 0;
  }
  Write(site, site.operand(0), Read(site, site.operand(take_a ? 1 : 2), type), type);
}

void Block::TestProperty(const Site& site) {
  struct Row {
    Mod mod;
    sf::NumberClass number_class;
  };
  constexpr Row kRows[] = {
      {Mod::kFinite, sf::NumberClass::kFinite}, {Mod::kInfinite, sf::NumberClass::kInfinite},
      {Mod::kNumber, sf::NumberClass::kNumber}, {Mod::kNotanumber, sf::NumberClass::kNotANumber},
      {Mod::kNormal, sf::NumberClass::kNormal}, {Mod::kSubnormal, sf::NumberClass::kSubnormal},
  };
  const TypeShape shape = ShapeOf(site.type());
  const uint64_t a = Read(site, site.operand(1), site.type());
  for (const Row& row : kRows) {
    if (!site.Has(row.mod)) continue;
    return WritePredicates(site, site.operand(0), sf::TestClass(*shape.format, row.number_class, a), false);
  }
  Unimplemented(site);
}

}  // namespace samebits::interpreter
