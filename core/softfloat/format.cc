#include "core/softfloat/format.h"

namespace samebits::softfloat {
namespace {

uint64_t Magnitude(const Format& format, uint64_t bits) {
  return (bits & format.magnitude_mask()) >> format.unused_low_bits << format.unused_low_bits;
}

}  // namespace

bool IsNan(const Format& format, uint64_t bits) {
  switch (format.specials) {
    case Specials::kIeee:
      return Magnitude(format, bits) > format.infinity();
    case Specials::kNanOnly:
    case Specials::kScale:
      return Magnitude(format, bits) == format.magnitude_mask();
    case Specials::kFinite:
      return false;
  }
  return false;
}

bool IsInfinity(const Format& format, uint64_t bits) {
  return format.specials == Specials::kIeee && Magnitude(format, bits) == format.infinity();
}

bool IsZero(const Format& format, uint64_t bits) {
  return format.specials != Specials::kScale && Magnitude(format, bits) == 0;
}

bool IsSubnormal(const Format& format, uint64_t bits) {
  const uint64_t magnitude = Magnitude(format, bits);
  return format.specials != Specials::kScale && magnitude != 0 && magnitude < format.min_normal();
}

uint64_t QuietNan(const Format& format, uint64_t bits) {
  return bits | uint64_t{1} << (format.fraction_bits + format.unused_low_bits - 1);
}

uint64_t FlushSubnormal(const Format& format, uint64_t bits) {
  return IsSubnormal(format, bits) ? bits & format.sign_mask() : bits;
}

Number Decode(const Format& format, uint64_t bits) {
  Number number;
  number.negative = IsNegative(format, bits);
  const uint64_t magnitude = Magnitude(format, bits) >> format.unused_low_bits;
  const uint64_t field = magnitude >> format.fraction_bits;
  const uint64_t unit = uint64_t{1} << format.fraction_bits;
  const uint64_t top = (uint64_t{1} << format.exponent_bits) - 1;
  if (field != 0 && field != top && format.specials != Specials::kScale) {  // in all formats a normal number
    number.kind = Number::Kind::kFinite;
    number.significand = unit | (magnitude & (unit - 1));
    number.exponent = static_cast<int>(field) - format.bias() - format.fraction_bits;
    return number;
  }
  if (IsNan(format, bits)) {
    number.kind = Number::Kind::kNan;
    return number;
  }
  if (IsInfinity(format, bits)) {
    number.kind = Number::Kind::kInfinity;
    return number;
  }
  if (IsZero(format, bits)) return number;
  number.kind = Number::Kind::kFinite;
  if (format.specials == Specials::kScale) {
    number.significand = 1;
    number.exponent = static_cast<int>(field) - format.bias();
    return number;
  }
  number.significand = (field != 0 ? unit : 0) | (magnitude & (unit - 1));
  number.exponent = (field != 0 ? static_cast<int>(field) : 1) - format.bias() - format.fraction_bits;
  return number;
}

}  // namespace samebits::softfloat
