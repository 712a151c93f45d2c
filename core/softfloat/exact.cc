#include "core/softfloat/exact.h"

#include <algorithm>
#include <bit>

namespace samebits::softfloat {
namespace {

constexpr int kTopBit = 125;  // leading bit position after Normalize: room for a carry and a sign

Exact Normalize(Exact value) {
  const int shift = kTopBit + 1 - BitLength(value.significand);
  if (shift > 0) value.significand <<= shift;
  value.exponent -= std::max(shift, 0);
  return value;
}

Wide ShiftRightSticky(Wide value, int shift) {
  if (shift <= 0) return value;
  if (shift >= 128) return value != 0;
  const Wide kept = value >> shift;
  return kept | ((kept << shift) != value);
}

// Whether the magnitude `kept` + (remainder in units of 2^shift) rounds up.
bool RoundsUp(Rounding rounding, bool negative, bool odd, bool half, bool below_half) {
  switch (rounding) {
    case Rounding::kRn:
      return half && (below_half || odd);
    case Rounding::kRna:
      return half;
    case Rounding::kRz:
      return false;
    case Rounding::kRm:
      return negative && (half || below_half);
    case Rounding::kRp:
      return !negative && (half || below_half);
  }
  return false;
}

Wide ShiftAndRound(const Exact& value, int shift, Rounding rounding) {
  if (shift <= 0) return value.significand << -shift;
  const Wide kept = shift >= 128 ? 0 : value.significand >> shift;
  const bool half = shift <= 128 && ((value.significand >> (shift - 1)) & 1) != 0;
  const Wide low_mask = shift > 128 ? ~Wide{0} : (Wide{1} << (shift - 1)) - 1;
  const bool below_half = (value.significand & low_mask) != 0;
  return kept + RoundsUp(rounding, value.negative, (kept & 1) != 0, half, below_half);
}

uint64_t OverflowMagnitude(const Format& format, bool negative, Rounding rounding, Overflow overflow) {
  if (format.specials != Specials::kIeee || overflow == Overflow::kSatFinite) return format.max_finite();
  if (overflow == Overflow::kInfinity) return format.infinity();
  const bool toward_zero =
      rounding == Rounding::kRz || (rounding == Rounding::kRm && !negative) || (rounding == Rounding::kRp && negative);
  return toward_zero ? format.max_finite() : format.infinity();
}

Wide IntegerSqrt(Wide value) {
  Wide root = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const Wide candidate = root | (Wide{1} << bit);
    if (candidate * candidate <= value) root = candidate;
  }
  return root;
}

}  // namespace

int BitLength(Wide value) {
  const uint64_t high = static_cast<uint64_t>(value >> 64);
  return high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<uint64_t>(value));
}

Exact FromNumber(const Number& number) {
  return {number.negative, number.exponent, number.is_zero() ? 0 : number.significand};
}

Exact AddExact(const Exact& a, const Exact& b) {
  if (a.significand == 0) return b;
  if (b.significand == 0) return a;
  Exact large = Normalize(a), small = Normalize(b);
  if (small.exponent > large.exponent || (small.exponent == large.exponent && small.significand > large.significand)) {
    std::swap(large, small);
  }
  const Wide aligned = ShiftRightSticky(small.significand, large.exponent - small.exponent);
  if (large.negative == small.negative) {
    large.significand += aligned;
    return large;
  }
  large.significand -= aligned;
  if (large.significand == 0) large.negative = false;
  return large;
}

Exact MulExact(const Number& a, const Number& b) {
  if (a.is_zero() || b.is_zero()) return {a.negative != b.negative, 0, 0};
  return {a.negative != b.negative, a.exponent + b.exponent, Wide{a.significand} * b.significand};
}

Exact DivExact(const Number& a, const Number& b) {
  if (a.is_zero()) return {a.negative != b.negative, 0, 0};
  const int shift = 127 - std::bit_width(a.significand);
  const Wide dividend = Wide{a.significand} << shift;
  const Wide quotient = dividend / b.significand;
  const bool exact = quotient * b.significand == dividend;
  return {a.negative != b.negative, a.exponent - b.exponent - shift - 1, (quotient << 1) | !exact};
}

Exact SqrtExact(const Number& a) {
  if (a.is_zero()) return {a.negative, 0, 0};
  int shift = 126 - std::bit_width(a.significand);
  if (((a.exponent - shift) & 1) != 0) --shift;
  const Wide radicand = Wide{a.significand} << shift;
  const Wide root = IntegerSqrt(radicand);
  return {false, (a.exponent - shift) / 2 - 1, (root << 1) | (root * root != radicand)};
}

uint64_t Round(const Format& format, const Exact& value, Rounding rounding, Overflow overflow) {
  const uint64_t sign = value.negative ? format.sign_mask() : 0;
  const int exponent = value.exponent + BitLength(value.significand) - 1;
  const int floor_exponent = std::max(exponent, format.min_exponent());
  const int quantum = floor_exponent - format.fraction_bits;
  const Wide kept = ShiftAndRound(value, quantum - value.exponent, rounding);
  const Wide field = static_cast<Wide>(floor_exponent - format.min_exponent());
  const Wide magnitude = ((field << format.fraction_bits) + kept) << format.unused_low_bits;
  if (magnitude > format.max_finite()) {
    return sign | OverflowMagnitude(format, value.negative, rounding, overflow);
  }
  return sign | static_cast<uint64_t>(magnitude);
}

bool IsTiny(const Format& format, const Exact& value, Rounding rounding) {
  const int length = BitLength(value.significand);
  const Wide kept = ShiftAndRound(value, length - 1 - format.fraction_bits, rounding);
  const bool carried = BitLength(kept) > format.fraction_bits + 1;
  return value.exponent + length - 1 + carried < format.min_exponent();
}

Wide RoundToInteger(const Exact& value, Rounding rounding) {
  if (value.significand == 0) return 0;
  return ShiftAndRound(value, -value.exponent, rounding);
}

}  // namespace samebits::softfloat
