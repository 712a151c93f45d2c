#include "core/softfloat/compare.h"

#include <utility>

namespace samebits::softfloat {
namespace {

uint64_t Operand(const Format& format, uint64_t bits, bool ftz) {
  return ftz ? FlushSubnormal(format, bits) : bits & format.mask();
}

// The NaN result that an operand's NaN gives.
uint64_t NanOf(const Format& format, uint64_t bits) {
  return format.id == FormatId::kF64 ? QuietNan(format, bits) : format.canonical_nan;
}

// Monotonic in the value, with -0 just below +0; not for NaN.
int64_t OrderKey(const Format& format, uint64_t bits) {
  const int64_t magnitude = static_cast<int64_t>(bits & format.magnitude_mask());
  return IsNegative(format, bits) ? -magnitude - 1 : magnitude;
}

uint64_t Pick(const Format& format, uint64_t a, uint64_t b, MinMaxFlags flags, bool want_max) {
  a = Operand(format, a, flags.ftz);
  b = Operand(format, b, flags.ftz);
  const uint64_t sign = (a ^ b) & format.sign_mask();
  if (flags.xorsign_abs) {
    a &= format.magnitude_mask();
    b &= format.magnitude_mask();
  }
  const bool a_nan = IsNan(format, a), b_nan = IsNan(format, b);
  if ((a_nan && b_nan) || (flags.nan && (a_nan || b_nan))) return NanOf(format, b_nan ? b : a);
  const bool take_a = b_nan || (!a_nan && (OrderKey(format, a) > OrderKey(format, b)) == want_max);
  const uint64_t result = take_a ? a : b;
  return flags.xorsign_abs ? result | sign : result;
}

}  // namespace

uint64_t Abs(const Format& format, uint64_t a, bool ftz) {
  if (IsNan(format, a)) return NanOf(format, a);
  return Operand(format, a, ftz) & format.magnitude_mask();
}

uint64_t Neg(const Format& format, uint64_t a, bool ftz) {
  if (IsNan(format, a)) return NanOf(format, a);
  return Operand(format, a, ftz) ^ format.sign_mask();
}

uint64_t CopySign(const Format& format, uint64_t sign_source, uint64_t magnitude_source) {
  return (sign_source & format.sign_mask()) | (magnitude_source & format.magnitude_mask());
}

uint64_t Min(const Format& format, uint64_t a, uint64_t b, MinMaxFlags flags) {
  return Pick(format, a, b, flags, false);
}

uint64_t Max(const Format& format, uint64_t a, uint64_t b, MinMaxFlags flags) {
  return Pick(format, a, b, flags, true);
}

bool Compare(const Format& format, Ordering ordering, uint64_t a, uint64_t b, bool ftz) {
  a = Operand(format, a, ftz);
  b = Operand(format, b, ftz);
  const bool unordered = IsNan(format, a) || IsNan(format, b);
  const bool equal = !unordered && (a == b || (IsZero(format, a) && IsZero(format, b)));
  const bool less = !unordered && !equal && OrderKey(format, a) < OrderKey(format, b);
  const bool greater = !unordered && !equal && !less;
  switch (ordering) {
    case Ordering::kEq:
      return equal;
    case Ordering::kNe:
      return less || greater;
    case Ordering::kLt:
      return less;
    case Ordering::kLe:
      return less || equal;
    case Ordering::kGt:
      return greater;
    case Ordering::kGe:
      return greater || equal;
    case Ordering::kEqu:
      return equal || unordered;
    case Ordering::kNeu:
      return !equal;
    case Ordering::kLtu:
      return less || unordered;
    case Ordering::kLeu:
      return !greater;
    case Ordering::kGtu:
      return greater || unordered;
    case Ordering::kGeu:
      return !less;
    case Ordering::kNum:
      return !unordered;
    case Ordering::kNan:
      return unordered;
  }
  return false;
}

bool TestClass(const Format& format, NumberClass number_class, uint64_t a) {
  const bool nan = IsNan(format, a), infinite = IsInfinity(format, a);
  switch (number_class) {
    case NumberClass::kFinite:
      return !nan && !infinite;
    case NumberClass::kInfinite:
      return infinite;
    case NumberClass::kNumber:
      return !nan;
    case NumberClass::kNotANumber:
      return nan;
    case NumberClass::kNormal:
      return !nan && !infinite && !IsSubnormal(format, a);
    case NumberClass::kSubnormal:
      return IsSubnormal(format, a);
  }
  return false;
}

}  // namespace samebits::softfloat
