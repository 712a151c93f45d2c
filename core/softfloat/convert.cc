#include "core/softfloat/convert.h"

#include "core/softfloat/arithmetic.h"
#include "core/softfloat/exact.h"

namespace samebits::softfloat {
namespace {

uint64_t LowMask(int bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

uint64_t FlushF32(const Format& format, uint64_t bits, bool ftz) {
  return ftz && format.id == FormatId::kF32 ? FlushSubnormal(format, bits) : bits & format.mask();
}

uint64_t Finish(const Format& format, uint64_t bits, ConvertFlags flags) {
  return ApplyResultFlags(format, FlushF32(format, bits, flags.ftz), {.sat = flags.sat, .relu = flags.relu});
}

uint64_t ToScale(const Number& number, Rounding rounding) {
  if (number.is_zero()) return 0;
  if (number.is_infinity()) return kUe8m0.max_finite();
  const int length = BitLength(number.significand);
  const bool inexact = (number.significand & (number.significand - 1)) != 0;
  const int exponent = number.exponent + length - 1 + (inexact && rounding == Rounding::kRp);
  const int field = exponent + kUe8m0.bias();
  if (field < 0) return 0;
  return field > static_cast<int>(kUe8m0.max_finite()) ? kUe8m0.max_finite() : static_cast<uint64_t>(field);
}

uint64_t InfinityFor(const Format& to, bool negative, bool satfinite) {
  const uint64_t sign = negative ? to.sign_mask() : 0;
  return sign | (satfinite || to.specials != Specials::kIeee ? to.max_finite() : to.infinity());
}

// Sign and payload of a NaN moved to `to`, in quiet form.
uint64_t MoveNan(const Format& to, const Format& from, uint64_t bits) {
  const uint64_t sign = IsNegative(from, bits) ? to.sign_mask() : 0;
  const uint64_t fraction = bits & ((uint64_t{1} << from.fraction_bits) - 1);
  const int up = to.fraction_bits - from.fraction_bits;
  return QuietNan(to, sign | to.infinity() | (up >= 0 ? fraction << up : fraction >> -up));
}

uint64_t ConvertNan(const Format& to, const Format& from, uint64_t bits, Rounding rounding, ConvertFlags flags) {
  if (to.specials == Specials::kFinite) return to.max_finite();
  if (to.id == from.id && !flags.ftz) return bits;
  if (from.id == FormatId::kBf16 && to.id == FormatId::kF32) return bits << 16;
  if (to.id == FormatId::kTf32 && rounding == Rounding::kRna) {
    const uint64_t unit = uint64_t{1} << to.unused_low_bits, cut = bits / unit * unit;
    return flags.satfinite ? cut - unit : cut;
  }
  const bool wide = (from.id == FormatId::kF64 || to.id == FormatId::kF64) && to.specials == Specials::kIeee;
  if (!wide || to.id == FormatId::kE5m2) return to.canonical_nan;
  const bool canonical_first = flags.ftz && from.id == FormatId::kF32;
  return MoveNan(to, from, canonical_first ? from.canonical_nan : bits);
}

}  // namespace

uint64_t ConvertFloat(const Format& to, const Format& from, uint64_t bits, Rounding rounding, ConvertFlags flags) {
  const bool flush_operand = flags.ftz && to.id != FormatId::kF16;
  const Number number = Decode(from, FlushF32(from, bits, flush_operand));
  if (number.is_nan()) return Finish(to, ConvertNan(to, from, bits & from.mask(), rounding, flags), flags);
  if (to.specials == Specials::kScale) return ToScale(number, rounding);
  if (number.is_zero()) return Finish(to, number.negative ? to.sign_mask() : 0, flags);
  if (number.is_infinity()) return Finish(to, InfinityFor(to, number.negative, flags.satfinite), flags);
  const Overflow overflow = flags.satfinite ? Overflow::kSatFinite : Overflow::kIeee;
  const Exact value = FromNumber(number);
  if (flags.ftz && to.id == FormatId::kF32 && IsTiny(to, value, rounding)) {
    return Finish(to, number.negative ? to.sign_mask() : 0, flags);
  }
  return Finish(to, Round(to, value, rounding, overflow), flags);
}

uint64_t RoundToIntegral(const Format& format, uint64_t bits, Rounding rounding, ConvertFlags flags) {
  const Number number = Decode(format, FlushF32(format, bits, flags.ftz));
  if (number.is_nan()) {
    return Finish(format, format.id == FormatId::kF64 ? QuietNan(format, bits) : format.canonical_nan, flags);
  }
  const uint64_t sign = number.negative ? format.sign_mask() : 0;
  if (number.is_infinity()) return Finish(format, sign | format.infinity(), flags);
  if (number.is_zero()) return Finish(format, sign, flags);
  if (number.exponent >= 0) return Finish(format, bits & format.mask(), flags);
  const Exact integer{number.negative, 0, RoundToInteger(FromNumber(number), rounding)};
  return Finish(format, integer.significand == 0 ? sign : Round(format, integer, Rounding::kRz), flags);
}

uint64_t FloatToInteger(IntegerType to, const Format& from, uint64_t bits, Rounding rounding, ConvertFlags flags) {
  const Number number = Decode(from, FlushF32(from, bits, flags.ftz));
  if (number.is_nan()) {
    return from.id == FormatId::kF64 || to.bits == 64 ? uint64_t{1} << (to.bits - 1) : 0;
  }
  const uint64_t largest = to.is_signed ? LowMask(to.bits - 1) : LowMask(to.bits);
  const uint64_t lowest_magnitude = to.is_signed ? largest + 1 : 0;
  const uint64_t limit = number.negative ? lowest_magnitude : largest;
  uint64_t magnitude = limit;
  const int top = number.exponent + BitLength(number.significand);
  if (number.is_finite() && top <= 65) {
    const Wide rounded = RoundToInteger(FromNumber(number), rounding);
    magnitude = rounded > limit ? limit : static_cast<uint64_t>(rounded);
  }
  return (number.negative ? 0 - magnitude : magnitude) & LowMask(to.bits);
}

uint64_t IntegerToFloat(const Format& to, IntegerType from, uint64_t bits, Rounding rounding, ConvertFlags flags) {
  bits = ConvertInteger({64, from.is_signed}, from, bits);
  const bool negative = from.is_signed && (bits >> 63) != 0;
  const uint64_t magnitude = negative ? 0 - bits : bits;
  if (magnitude == 0) return 0;
  const Overflow overflow = flags.satfinite ? Overflow::kSatFinite : Overflow::kIeee;
  return Finish(to, Round(to, {negative, 0, magnitude}, rounding, overflow), flags);
}

uint64_t ConvertInteger(IntegerType to, IntegerType from, uint64_t bits, bool saturate) {
  const uint64_t sign_bit = uint64_t{1} << (from.bits - 1);
  bits &= LowMask(from.bits);
  const bool negative = from.is_signed && (bits & sign_bit) != 0;
  if (negative) bits |= ~LowMask(from.bits);
  if (saturate) {
    const uint64_t largest = to.is_signed ? LowMask(to.bits - 1) : LowMask(to.bits);
    if (!negative && bits > largest) bits = largest;
    const uint64_t lowest_magnitude = to.is_signed ? largest + 1 : 0;
    if (negative && 0 - bits > lowest_magnitude) bits = 0 - lowest_magnitude;
  }
  return bits & LowMask(to.bits);
}

}  // namespace samebits::softfloat
