#ifndef SAMEBITS_CORE_HEAL_NUMERICS_QUANTIZE_H_
#define SAMEBITS_CORE_HEAL_NUMERICS_QUANTIZE_H_

// The two primitives of "HEAL", section 3: INT16 storage with a scale, and values as the sum of two FP16 numbers.

#include <cstdint>
#include <span>

namespace samebits::heal {

// lo parts are stored 2^10 times larger than they count, so that they do not fall into FP16's subnormals.
inline constexpr int kLowShift = 10;
inline constexpr int kInt16Most = 32767;

// One scale for all of `x`: max|x| / 32767, 0 for all zeros. q[i] = round-to-nearest-even(x[i] / scale), computed as
// x[i] * (32767 / max|x|) in FP32 and clamped to [-32767, 32767]; |q * scale - x| <= scale / 2 * (1 + 2^-20).
// Infinities and NaN in `x`: returns NaN and all q are 0. x and q have the same size.
float QuantizeInt16(std::span<const float> x, std::span<int16_t> q);

struct HiLo {
  float hi = 0, lo = 0;  // both exact FP16 values; the number is hi + lo / 2^10
};

// Exact: hi is q rounded down to a multiple of 2^6 and lo the rest times 2^10, so that both are FP16 values.
HiLo UnpackInt16(int16_t q);

// hi = FP16(x), lo = FP16((x - hi) * 2^10). Relative error at most 2^-20 for 2^-14 <= |x| <= 65504. Beyond that range of
// FP16 hi saturates at +-65504 and lo takes what it can.
HiLo SplitF16(float x);

// The power-of-two exponent e for a weight matrix such that max|w| * 2^e lies in [2^13, 2^14): FP16 then holds every
// BF16 weight exactly down to 2^-38 of the largest. 0 for all zeros.
int WeightScaleExponent(float max_abs);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_NUMERICS_QUANTIZE_H_
