#include "core/softfloat/cdna_arithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/softfloat/arithmetic.h"
#include "core/softfloat/compare.h"
#include "core/softfloat/convert.h"

namespace samebits::softfloat {

namespace {

constexpr const Format& kS = kF32;
constexpr const Format& kD = kF64;

int ExponentField(uint32_t x) { return static_cast<int>(x >> 23 & 255); }
bool IsDenormal(uint32_t x) { return ExponentField(x) == 0 && (x & 0x7fffff) != 0; }

}  // namespace

uint32_t CdnaLdexp(uint32_t x, int by) {
  // Exact but for the final rounding: one multiplication by a power of two, in double.
  if (IsNan(kS, x)) return static_cast<uint32_t>(kS.canonical_nan);
  const double v = std::ldexp(static_cast<double>(std::bit_cast<float>(x)), std::clamp(by, -600, 600));
  return static_cast<uint32_t>(ConvertFloat(kS, kD, std::bit_cast<uint64_t>(v), Rounding::kRn));
}

namespace {

bool QuotientIsDenormal(uint32_t a, uint32_t b) {
  return IsDenormal(static_cast<uint32_t>(Div(kS, a, b)));
}

}  // namespace

uint32_t CdnaDivScale(uint32_t s0, uint32_t denominator, uint32_t numerator, bool* flag) {
  *flag = false;
  if (IsZero(kS, numerator) || IsZero(kS, denominator)) return static_cast<uint32_t>(kS.canonical_nan);
  if (ExponentField(numerator) - ExponentField(denominator) >= 96) {
    *flag = true;
    return s0 == denominator ? CdnaLdexp(s0, 64) : s0;
  }
  if (IsDenormal(denominator)) return CdnaLdexp(s0, 64);
  const bool reciprocal = QuotientIsDenormal(0x3f800000, denominator), quotient = QuotientIsDenormal(numerator, denominator);
  if (reciprocal && quotient) {
    *flag = true;
    return s0 == denominator ? CdnaLdexp(s0, 64) : s0;
  }
  if (reciprocal) return CdnaLdexp(s0, -64);
  if (quotient) {
    *flag = true;
    return s0 == numerator ? CdnaLdexp(s0, 64) : s0;
  }
  if (ExponentField(numerator) <= 23) return CdnaLdexp(s0, 64);
  return s0;
}

uint32_t CdnaDivFmas(uint32_t a, uint32_t b, uint32_t c, bool flag) {
  const uint32_t r = static_cast<uint32_t>(Fma(kS, a, b, c));
  return flag ? CdnaLdexp(r, ExponentField(c) > 127 ? 64 : -64) : r;
}

uint32_t CdnaDivFixup(uint32_t q, uint32_t denominator, uint32_t numerator) {
  const uint32_t sign = (denominator ^ numerator) & 0x80000000u;
  const uint32_t nan = static_cast<uint32_t>(kS.canonical_nan);
  if (IsNan(kS, numerator) || IsNan(kS, denominator)) return nan;
  const bool zero_d = IsZero(kS, denominator), zero_n = IsZero(kS, numerator);
  const bool inf_d = IsInfinity(kS, denominator), inf_n = IsInfinity(kS, numerator);
  if ((zero_d && zero_n) || (inf_d && inf_n)) return nan;
  if (zero_d || inf_n) return sign | 0x7f800000u;
  if (inf_d || zero_n) return sign;
  if (ExponentField(numerator) - ExponentField(denominator) < -150) return sign;
  if (ExponentField(denominator) == 255) return sign | 0x7f800000u;
  return (q & 0x7fffffffu) | sign;
}

uint8_t ToFnuz(uint32_t x, bool is_bf8, bool saturate) {
  if (IsNan(kS, x)) return 0x80;
  const int fraction = is_bf8 ? 2 : 3, bias = is_bf8 ? 16 : 8, top = is_bf8 ? 31 : 15;
  const double v = std::fabs(static_cast<double>(std::bit_cast<float>(x)));
  const uint8_t sign = static_cast<uint8_t>(x >> 31 << 7);
  const double largest = std::ldexp(2.0 - std::ldexp(1.0, -fraction), top - bias);
  if (v == 0) return 0;
  int e = 0;
  std::frexp(v, &e);
  e = std::max(e - 1, 1 - bias);
  const double unit = std::ldexp(1.0, e - fraction), n = std::nearbyint(v / unit);
  double r = std::isinf(v) ? v : n * unit;
  if (r > largest) {
    if (!saturate) return 0x80;
    r = largest;
  }
  if (r == 0) return 0;
  std::frexp(r, &e);
  --e;
  const bool subnormal = e < 1 - bias;
  const int field = subnormal ? 0 : e + bias;
  const int mantissa = static_cast<int>(std::ldexp(r, fraction - (subnormal ? 1 - bias : e))) & ((1 << fraction) - 1);
  return static_cast<uint8_t>(sign | field << fraction | mantissa);
}

uint32_t FromFnuz(uint8_t x, bool is_bf8) {
  if (x == 0x80) return static_cast<uint32_t>(kS.canonical_nan);
  const int fraction = is_bf8 ? 2 : 3, bias = is_bf8 ? 16 : 8;
  const int field = (x & 0x7f) >> fraction, mantissa = x & ((1 << fraction) - 1);
  const double v = field == 0 ? std::ldexp(mantissa, 1 - bias - fraction) : std::ldexp((1 << fraction) + mantissa, field - bias - fraction);
  return std::bit_cast<uint32_t>(static_cast<float>((x & 0x80) != 0 ? -v : v));
}

uint32_t CdnaMed3(uint32_t a, uint32_t b, uint32_t c) {
  if (IsNan(kS, a) || IsNan(kS, b) || IsNan(kS, c)) return static_cast<uint32_t>(Min(kS, Min(kS, a, b), c));
  const uint32_t most = static_cast<uint32_t>(Max(kS, Max(kS, a, b), c));
  return static_cast<uint32_t>(most == a ? Max(kS, b, c) : most == b ? Max(kS, a, c) : Max(kS, a, b));
}

}  // namespace samebits::softfloat
