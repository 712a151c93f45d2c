#include "core/heal/numerics/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/heal/numerics/rounding.h"

namespace samebits::heal {
namespace {

constexpr float kF16Most = 65504;

float MaxAbs(std::span<const float> x) {
  float result = 0;
  for (const float value : x) {
    if (!std::isfinite(value)) return std::numeric_limits<float>::quiet_NaN();
    result = std::max(result, std::fabs(value));
  }
  return result;
}

}  // namespace

float QuantizeInt16(std::span<const float> x, std::span<int16_t> q) {
  const float max = MaxAbs(x);
  if (std::isnan(max) || max == 0) {
    std::fill(q.begin(), q.end(), int16_t{0});
    return max;
  }
  const float range = std::max(max, kLeastInt16Max);
  const float scale = range / kInt16Most, inverse = kInt16Most / range;
  for (size_t i = 0; i < x.size(); ++i) {
    float nearest = std::clamp<float>(std::nearbyint(x[i] * inverse), -kInt16Most, kInt16Most);
    const float rest = std::fma(-nearest, scale, x[i]);
    nearest += static_cast<float>(rest > scale / 2) - static_cast<float>(rest < -scale / 2);
    q[i] = static_cast<int16_t>(nearest);
  }
  return scale;
}

HiLo UnpackInt16(int16_t q) {
  const int high = q & ~63;
  return {static_cast<float>(high), static_cast<float>((q - high) << kLowShift)};
}

HiLo SplitF16(float x) {
  if (!std::isfinite(x)) return {x, 0};
  const float hi = FromF16(ToF16(std::clamp(x, -kF16Most, kF16Most)));
  const float rest = std::clamp((x - hi) * (1 << kLowShift), -kF16Most, kF16Most);
  return {hi, FromF16(ToF16(rest))};
}

int WeightScaleExponent(float max_abs) {
  if (max_abs == 0) return 0;
  int exponent = 0;
  std::frexp(max_abs, &exponent);  // max_abs < 2^exponent
  return std::min(14 - exponent, kMostScaleExponent);
}

}  // namespace samebits::heal
