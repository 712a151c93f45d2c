#include "core/softfloat/cdna_matrix.h"

#include <algorithm>
#include <climits>

#include "core/softfloat/exact.h"

namespace samebits::softfloat {

namespace {

// v * 2^shift, toward minus infinity.
__int128 FloorScale(__int128 v, int shift) {
  if (shift >= 0) return shift > 90 ? v : v << shift;
  return shift < -126 ? (v < 0 ? -1 : 0) : v >> -shift;
}

__int128 TruncateScale(__int128 v, int shift) { return v < 0 ? -FloorScale(-v, shift) : FloorScale(v, shift); }

}  // namespace

uint32_t Cdna3Step(std::span<const MatrixElement> a, std::span<const MatrixElement> b, uint32_t c) {
  using Kind = Number::Kind;
  const uint32_t nan = static_cast<uint32_t>(kF32.canonical_nan);
  const MatrixElement acc = DecodeElement(kF32, c);
  bool infinite[2] = {false, false};  // plus, minus
  int largest = INT_MIN;
  if (acc.kind == Kind::kNan) return nan;
  if (acc.kind == Kind::kInfinity) infinite[c >> 31] = true;
  auto negative = [](const MatrixElement& x) { return x.significand < 0; };
  auto sign_of = [&](const MatrixElement& x, int bits) { return x.kind == Kind::kFinite ? negative(x) : (x.bits >> (bits - 1) & 1) != 0; };
  for (size_t i = 0; i < a.size(); ++i) {
    const MatrixElement &x = a[i], &y = b[i];
    if (x.kind == Kind::kNan || y.kind == Kind::kNan) return nan;
    const bool any = x.kind == Kind::kInfinity || y.kind == Kind::kInfinity;
    if (any && (x.kind == Kind::kZero || y.kind == Kind::kZero)) return nan;
    if (any) infinite[sign_of(x, 16) != sign_of(y, 16)] = true;
    else if (x.kind == Kind::kFinite && y.kind == Kind::kFinite) largest = std::max(largest, x.exponent + y.exponent);
  }
  if (infinite[0] && infinite[1]) return nan;
  if (infinite[0] || infinite[1]) return static_cast<uint32_t>(kF32.infinity()) | (infinite[1] ? 0x80000000u : 0);
  __int128 dot = 0;  // in units of 2^(largest - 24)
  for (size_t i = 0; i < a.size() && largest != INT_MIN; ++i) {
    const MatrixElement &x = a[i], &y = b[i];
    if (x.kind != Kind::kFinite || y.kind != Kind::kFinite) continue;
    const __int128 product = static_cast<__int128>(x.significand) * y.significand;
    dot += TruncateScale(product, x.exponent - x.fraction_bits + y.exponent - y.fraction_bits - largest + 24);
  }
  const bool has_acc = acc.kind == Kind::kFinite;
  if (largest == INT_MIN && !has_acc) return 0;
  const int common = std::max(largest, has_acc ? static_cast<int>(acc.exponent) : INT_MIN);
  __int128 sum = 0;  // in units of 2^(common - 32)
  if (largest != INT_MIN) sum += FloorScale(dot, std::max(largest - common, -200) + 8);
  if (has_acc) sum += FloorScale(acc.significand, std::max<int>(acc.exponent - acc.fraction_bits - common, -300) + 24) * 256;
  if (sum == 0) return 0;
  Exact value;
  value.negative = sum < 0;
  int exponent = common - 32;
  const int length = BitLength(static_cast<Wide>(sum < 0 ? -sum : sum));
  if (length > 32) {
    sum = FloorScale(sum, 32 - length);
    exponent += length - 32;
  }
  value.significand = static_cast<Wide>(sum < 0 ? -sum : sum);
  value.exponent = exponent;
  return static_cast<uint32_t>(Round(kF32, value, Rounding::kRn));
}

}  // namespace samebits::softfloat
