#include "core/softfloat/arithmetic.h"

#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "core/softfloat/exact.h"

namespace samebits::softfloat {
namespace {

static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559);

uint64_t Infinity(const Format& format, bool negative) {
  return format.infinity() | (negative ? format.sign_mask() : 0);
}

uint64_t Zero(const Format& format, bool negative) { return negative ? format.sign_mask() : 0; }

uint64_t Operand(const Format& format, uint64_t bits, Flags flags) {
  return flags.ftz ? FlushSubnormal(format, bits) : bits & format.mask();
}

uint64_t Finish(const Format& format, uint64_t bits, Flags flags) {
  if (flags.ftz) bits = FlushSubnormal(format, bits);
  return ApplyResultFlags(format, bits, flags);
}

// Which of an f64 operation's NaN operands the result takes, by order of preference, in its quiet form.
uint64_t PickNan(const Format& format, std::initializer_list<uint64_t> operands) {
  if (format.id == FormatId::kF64) {
    for (uint64_t bits : operands) {
      if (IsNan(format, bits)) return QuietNan(format, bits);
    }
  }
  return format.canonical_nan;
}

// With ftz a result counts as subnormal by its rounding at full precision: what only the coarser grid of subnormals
// would round up to the least normal number is zero.
uint64_t RoundResult(const Format& format, const Exact& value, Rounding rounding, Flags flags) {
  if (value.significand == 0 || (flags.ftz && IsTiny(format, value, rounding))) return Zero(format, value.negative);
  return Round(format, value, rounding);
}

// Sum of a product (or first addend) `p` and `c`, neither NaN.
uint64_t RoundSum(const Format& format, const Exact& p, const Exact& c, Rounding rounding, Flags flags) {
  if (p.significand == 0 && c.significand == 0) {
    const bool negative = p.negative == c.negative ? p.negative : rounding == Rounding::kRm;
    return Zero(format, negative);
  }
  const Exact sum = AddExact(p, c);
  if (sum.significand == 0) return Zero(format, rounding == Rounding::kRm);
  return RoundResult(format, sum, rounding, flags);
}

uint64_t AddBits(const Format& format, uint64_t a_bits, uint64_t b_bits, Rounding rounding, Flags flags) {
  const Number a = Decode(format, a_bits), b = Decode(format, b_bits);
  if (a.is_nan() || b.is_nan()) return PickNan(format, {b_bits, a_bits});
  if (a.is_infinity() && b.is_infinity() && a.negative != b.negative) return format.canonical_nan;
  if (a.is_infinity()) return Infinity(format, a.negative);
  if (b.is_infinity()) return Infinity(format, b.negative);
  return RoundSum(format, FromNumber(a), FromNumber(b), rounding, flags);
}

uint64_t MulBits(const Format& format, uint64_t a_bits, uint64_t b_bits, Rounding rounding, Flags flags) {
  const Number a = Decode(format, a_bits), b = Decode(format, b_bits);
  if (a.is_nan() || b.is_nan()) return PickNan(format, {b_bits, a_bits});
  if (a.is_infinity() || b.is_infinity()) {
    return a.is_zero() || b.is_zero() ? format.canonical_nan : Infinity(format, a.negative != b.negative);
  }
  return RoundResult(format, MulExact(a, b), rounding, flags);
}

uint64_t FmaBits(const Format& format, uint64_t a_bits, uint64_t b_bits, uint64_t c_bits, Rounding rounding,
                 Flags flags) {
  const Number a = Decode(format, a_bits), b = Decode(format, b_bits), c = Decode(format, c_bits);
  if (a.is_nan() || b.is_nan() || c.is_nan()) return PickNan(format, {b_bits, c_bits, a_bits});
  const bool negative = a.negative != b.negative;
  if (a.is_infinity() || b.is_infinity()) {
    if (a.is_zero() || b.is_zero()) return format.canonical_nan;
    return c.is_infinity() && c.negative != negative ? format.canonical_nan : Infinity(format, negative);
  }
  if (c.is_infinity()) return Infinity(format, c.negative);
  return RoundSum(format, MulExact(a, b), FromNumber(c), rounding, flags);
}

uint64_t DivBits(const Format& format, uint64_t a_bits, uint64_t b_bits, Rounding rounding, Flags flags) {
  const Number a = Decode(format, a_bits), b = Decode(format, b_bits);
  if (a.is_nan() || b.is_nan()) return PickNan(format, {a_bits, b_bits});
  const bool negative = a.negative != b.negative;
  if (a.is_infinity()) return b.is_infinity() ? format.canonical_nan : Infinity(format, negative);
  if (b.is_infinity()) return Zero(format, negative);
  if (b.is_zero()) return a.is_zero() ? format.canonical_nan : Infinity(format, negative);
  return RoundResult(format, DivExact(a, b), rounding, flags);
}

uint64_t SqrtBits(const Format& format, uint64_t bits, Rounding rounding) {
  const Number a = Decode(format, bits);
  if (a.is_nan()) return PickNan(format, {bits});
  if (a.is_zero()) return Zero(format, a.negative);
  if (a.negative) return format.canonical_nan;
  if (a.is_infinity()) return format.infinity();
  return Round(format, SqrtExact(a), rounding);
}

// The host rounds to nearest even in both formats. What it cannot decide (NaN results, and results that ftz may
// flush) is left to the integer path.
template <typename Float>
bool HostDecides(Float value, Flags flags) {
  if (std::isnan(value)) return false;
  return !flags.ftz || std::fabs(value) != std::numeric_limits<Float>::min();
}

float AsFloat(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
double AsDouble(uint64_t bits) { return std::bit_cast<double>(bits); }
uint64_t Pattern(float value) { return std::bit_cast<uint32_t>(value); }
uint64_t Pattern(double value) { return std::bit_cast<uint64_t>(value); }

// `operation` on the host's arithmetic where that is decisive, else `exact()`.
template <typename Operation, typename ExactPath, typename... Bits>
uint64_t Compute(const Format& format, Rounding rounding, Flags flags, Operation operation, ExactPath exact,
                 Bits... operands) {
  if (rounding == Rounding::kRn && format.id == FormatId::kF32) {
    const float value = operation(AsFloat(operands)...);
    if (HostDecides(value, flags)) return Finish(format, Pattern(value), flags);
  }
  if (rounding == Rounding::kRn && format.id == FormatId::kF64) {
    const double value = operation(AsDouble(operands)...);
    if (HostDecides(value, flags)) return Finish(format, Pattern(value), flags);
  }
  return Finish(format, exact(), flags);
}

}  // namespace

uint64_t ApplyResultFlags(const Format& format, uint64_t bits, Flags flags) {
  if (flags.relu && !IsNan(format, bits) && IsNegative(format, bits)) bits = 0;
  if (!flags.sat) return bits;
  if (IsNan(format, bits) || IsNegative(format, bits)) return 0;
  const uint64_t one = static_cast<uint64_t>(format.bias()) << (format.fraction_bits + format.unused_low_bits);
  return bits > one ? one : bits;
}

namespace reference {

uint64_t Add(const Format& format, uint64_t a, uint64_t b, Rounding rounding, Flags flags) {
  return Finish(format, AddBits(format, Operand(format, a, flags), Operand(format, b, flags), rounding, flags), flags);
}

uint64_t Mul(const Format& format, uint64_t a, uint64_t b, Rounding rounding, Flags flags) {
  return Finish(format, MulBits(format, Operand(format, a, flags), Operand(format, b, flags), rounding, flags), flags);
}

uint64_t Fma(const Format& format, uint64_t a, uint64_t b, uint64_t c, Rounding rounding, Flags flags) {
  const uint64_t bits =
      FmaBits(format, Operand(format, a, flags), Operand(format, b, flags), Operand(format, c, flags), rounding, flags);
  return Finish(format, bits, flags);
}

}  // namespace reference

uint64_t Add(const Format& format, uint64_t a, uint64_t b, Rounding rounding, Flags flags) {
  a = Operand(format, a, flags);
  b = Operand(format, b, flags);
  return Compute(
      format, rounding, flags, [](auto x, auto y) { return x + y; },
      [&] { return AddBits(format, a, b, rounding, flags); }, a, b);
}

uint64_t Sub(const Format& format, uint64_t a, uint64_t b, Rounding rounding, Flags flags) {
  return Add(format, a, IsNan(format, b) ? b : b ^ format.sign_mask(), rounding, flags);
}

uint64_t Mul(const Format& format, uint64_t a, uint64_t b, Rounding rounding, Flags flags) {
  a = Operand(format, a, flags);
  b = Operand(format, b, flags);
  return Compute(
      format, rounding, flags, [](auto x, auto y) { return x * y; },
      [&] { return MulBits(format, a, b, rounding, flags); }, a, b);
}

uint64_t Fma(const Format& format, uint64_t a, uint64_t b, uint64_t c, Rounding rounding, Flags flags) {
  a = Operand(format, a, flags);
  b = Operand(format, b, flags);
  c = Operand(format, c, flags);
  return Compute(
      format, rounding, flags, [](auto x, auto y, auto z) { return std::fma(x, y, z); },
      [&] { return FmaBits(format, a, b, c, rounding, flags); }, a, b, c);
}

uint64_t Div(const Format& format, uint64_t a, uint64_t b, Rounding rounding, Flags flags) {
  return Finish(format, DivBits(format, Operand(format, a, flags), Operand(format, b, flags), rounding, flags), flags);
}

uint64_t Rcp(const Format& format, uint64_t a, Rounding rounding, Flags flags) {
  const uint64_t one = static_cast<uint64_t>(format.bias()) << (format.fraction_bits + format.unused_low_bits);
  return Div(format, one, a, rounding, flags);
}

uint64_t Sqrt(const Format& format, uint64_t a, Rounding rounding, Flags flags) {
  return Finish(format, SqrtBits(format, Operand(format, a, flags), rounding), flags);
}

}  // namespace samebits::softfloat
