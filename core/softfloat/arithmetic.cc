#include "core/softfloat/arithmetic.h"

#include <bit>
#include <cmath>
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

uint64_t RoundOrZero(const Format& format, const Exact& value, Rounding rounding) {
  return value.significand == 0 ? Zero(format, value.negative) : Round(format, value, rounding);
}

// Sum of a product (or first addend) `p` and `c`, neither NaN.
uint64_t RoundSum(const Format& format, const Exact& p, const Exact& c, Rounding rounding) {
  if (p.significand == 0 && c.significand == 0) {
    const bool negative = p.negative == c.negative ? p.negative : rounding == Rounding::kRm;
    return Zero(format, negative);
  }
  const Exact sum = AddExact(p, c);
  return sum.significand == 0 ? Zero(format, rounding == Rounding::kRm) : Round(format, sum, rounding);
}

uint64_t AddBits(const Format& format, uint64_t a_bits, uint64_t b_bits, Rounding rounding) {
  const Number a = Decode(format, a_bits), b = Decode(format, b_bits);
  if (a.is_nan() || b.is_nan()) return format.canonical_nan;
  if (a.is_infinity() && b.is_infinity() && a.negative != b.negative) return format.canonical_nan;
  if (a.is_infinity()) return Infinity(format, a.negative);
  if (b.is_infinity()) return Infinity(format, b.negative);
  return RoundSum(format, FromNumber(a), FromNumber(b), rounding);
}

uint64_t MulBits(const Format& format, uint64_t a_bits, uint64_t b_bits, Rounding rounding) {
  const Number a = Decode(format, a_bits), b = Decode(format, b_bits);
  if (a.is_nan() || b.is_nan()) return format.canonical_nan;
  if (a.is_infinity() || b.is_infinity()) {
    return a.is_zero() || b.is_zero() ? format.canonical_nan : Infinity(format, a.negative != b.negative);
  }
  return RoundOrZero(format, MulExact(a, b), rounding);
}

uint64_t FmaBits(const Format& format, uint64_t a_bits, uint64_t b_bits, uint64_t c_bits, Rounding rounding) {
  const Number a = Decode(format, a_bits), b = Decode(format, b_bits), c = Decode(format, c_bits);
  if (a.is_nan() || b.is_nan() || c.is_nan()) return format.canonical_nan;
  const bool negative = a.negative != b.negative;
  if (a.is_infinity() || b.is_infinity()) {
    if (a.is_zero() || b.is_zero()) return format.canonical_nan;
    return c.is_infinity() && c.negative != negative ? format.canonical_nan : Infinity(format, negative);
  }
  if (c.is_infinity()) return Infinity(format, c.negative);
  return RoundSum(format, MulExact(a, b), FromNumber(c), rounding);
}

uint64_t DivBits(const Format& format, uint64_t a_bits, uint64_t b_bits, Rounding rounding) {
  const Number a = Decode(format, a_bits), b = Decode(format, b_bits);
  if (a.is_nan() || b.is_nan()) return format.canonical_nan;
  const bool negative = a.negative != b.negative;
  if (a.is_infinity()) return b.is_infinity() ? format.canonical_nan : Infinity(format, negative);
  if (b.is_infinity()) return Zero(format, negative);
  if (b.is_zero()) return a.is_zero() ? format.canonical_nan : Infinity(format, negative);
  return RoundOrZero(format, DivExact(a, b), rounding);
}

uint64_t SqrtBits(const Format& format, uint64_t bits, Rounding rounding) {
  const Number a = Decode(format, bits);
  if (a.is_nan()) return format.canonical_nan;
  if (a.is_zero()) return Zero(format, a.negative);
  if (a.negative) return format.canonical_nan;
  if (a.is_infinity()) return format.infinity();
  return Round(format, SqrtExact(a), rounding);
}

// The host rounds to nearest even in both formats; its NaNs are replaced.
float AsFloat(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
double AsDouble(uint64_t bits) { return std::bit_cast<double>(bits); }

uint64_t Pattern(float value) { return std::isnan(value) ? kF32.canonical_nan : std::bit_cast<uint32_t>(value); }
uint64_t Pattern(double value) { return std::isnan(value) ? kF64.canonical_nan : std::bit_cast<uint64_t>(value); }

bool HostRounds(const Format& format, FormatId id, Rounding rounding) {
  return format.id == id && rounding == Rounding::kRn;
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
  return Finish(format, AddBits(format, Operand(format, a, flags), Operand(format, b, flags), rounding), flags);
}

uint64_t Mul(const Format& format, uint64_t a, uint64_t b, Rounding rounding, Flags flags) {
  return Finish(format, MulBits(format, Operand(format, a, flags), Operand(format, b, flags), rounding), flags);
}

uint64_t Fma(const Format& format, uint64_t a, uint64_t b, uint64_t c, Rounding rounding, Flags flags) {
  const uint64_t bits =
      FmaBits(format, Operand(format, a, flags), Operand(format, b, flags), Operand(format, c, flags), rounding);
  return Finish(format, bits, flags);
}

}  // namespace reference

uint64_t Add(const Format& format, uint64_t a, uint64_t b, Rounding rounding, Flags flags) {
  a = Operand(format, a, flags);
  b = Operand(format, b, flags);
  if (HostRounds(format, FormatId::kF32, rounding)) return Finish(format, Pattern(AsFloat(a) + AsFloat(b)), flags);
  if (HostRounds(format, FormatId::kF64, rounding)) return Finish(format, Pattern(AsDouble(a) + AsDouble(b)), flags);
  return Finish(format, AddBits(format, a, b, rounding), flags);
}

uint64_t Sub(const Format& format, uint64_t a, uint64_t b, Rounding rounding, Flags flags) {
  return Add(format, a, b ^ format.sign_mask(), rounding, flags);
}

uint64_t Mul(const Format& format, uint64_t a, uint64_t b, Rounding rounding, Flags flags) {
  a = Operand(format, a, flags);
  b = Operand(format, b, flags);
  if (HostRounds(format, FormatId::kF32, rounding)) return Finish(format, Pattern(AsFloat(a) * AsFloat(b)), flags);
  if (HostRounds(format, FormatId::kF64, rounding)) return Finish(format, Pattern(AsDouble(a) * AsDouble(b)), flags);
  return Finish(format, MulBits(format, a, b, rounding), flags);
}

uint64_t Fma(const Format& format, uint64_t a, uint64_t b, uint64_t c, Rounding rounding, Flags flags) {
  a = Operand(format, a, flags);
  b = Operand(format, b, flags);
  c = Operand(format, c, flags);
  if (HostRounds(format, FormatId::kF32, rounding)) {
    return Finish(format, Pattern(std::fma(AsFloat(a), AsFloat(b), AsFloat(c))), flags);
  }
  if (HostRounds(format, FormatId::kF64, rounding)) {
    return Finish(format, Pattern(std::fma(AsDouble(a), AsDouble(b), AsDouble(c))), flags);
  }
  return Finish(format, FmaBits(format, a, b, c, rounding), flags);
}

uint64_t Div(const Format& format, uint64_t a, uint64_t b, Rounding rounding, Flags flags) {
  return Finish(format, DivBits(format, Operand(format, a, flags), Operand(format, b, flags), rounding), flags);
}

uint64_t Rcp(const Format& format, uint64_t a, Rounding rounding, Flags flags) {
  const uint64_t one = static_cast<uint64_t>(format.bias()) << (format.fraction_bits + format.unused_low_bits);
  return Div(format, one, a, rounding, flags);
}

uint64_t Sqrt(const Format& format, uint64_t a, Rounding rounding, Flags flags) {
  return Finish(format, SqrtBits(format, Operand(format, a, flags), rounding), flags);
}

}  // namespace samebits::softfloat
