#include "core/softfloat/approximate.h"

#include <bit>
#include <cmath>

#include "core/softfloat/arithmetic.h"
#include "core/softfloat/convert.h"

namespace samebits::softfloat {
namespace {

double ToDouble(const Format& format, uint64_t bits) {
  return std::bit_cast<double>(ConvertFloat(kF64, format, bits, Rounding::kRn));
}

double Evaluate(ApproxOp op, double x) {
  switch (op) {
    case ApproxOp::kEx2:
      return std::exp2(x);
    case ApproxOp::kLg2:
      return std::log2(x);
    case ApproxOp::kSin:
      return std::sin(x);
    case ApproxOp::kCos:
      return std::cos(x);
    case ApproxOp::kTanh:
      return std::tanh(x);
    case ApproxOp::kRcp:
      return 1.0 / x;
    case ApproxOp::kRsqrt:
      return 1.0 / std::sqrt(x);
    case ApproxOp::kSqrt:
      return std::sqrt(x);
  }
  return std::nan("");
}

// Operands whose result the ISA tabulates for every listed operation: zeros, infinities and NaN.
bool IsTabulated(const Format& format, uint64_t a) {
  return IsZero(format, a) || IsInfinity(format, a) || IsNan(format, a);
}

}  // namespace

ModelResult ModelApprox(ApproxOp op, const Format& format, uint64_t a, bool ftz) {
  a = ftz ? FlushSubnormal(format, a) : a & format.mask();
  const double value = Evaluate(op, ToDouble(format, a));
  if (std::isnan(value)) return {format.canonical_nan, IsTabulated(format, a)};
  uint64_t bits = ConvertFloat(format, kF64, std::bit_cast<uint64_t>(value), Rounding::kRn);
  if (ftz) bits = FlushSubnormal(format, bits);
  return {bits, IsTabulated(format, a)};
}

ModelResult ModelDivide(uint64_t a, uint64_t b, bool approx, bool ftz) {
  constexpr uint64_t kTwoTo126 = 0x7e800000;
  if (ftz) {
    a = FlushSubnormal(kF32, a);
    b = FlushSubnormal(kF32, b);
  }
  const uint64_t magnitude = b & kF32.magnitude_mask();
  const uint64_t sign = (a ^ b) & kF32.sign_mask();
  const bool finite_a = !IsNan(kF32, a) && !IsInfinity(kF32, a);
  if (approx && magnitude > kTwoTo126 && magnitude < kF32.infinity()) {
    if (IsInfinity(kF32, a)) return {kF32.canonical_nan, true};
    if (finite_a) return {sign, true};
  }
  const uint64_t bits = Div(kF32, a, b, Rounding::kRn, {.ftz = ftz});
  return {bits, !finite_a || IsZero(kF32, a) || IsZero(kF32, b) || magnitude >= kF32.infinity()};
}

}  // namespace samebits::softfloat
