#ifndef SAMEBITS_CORE_HEAL_NUMERICS_QUANTIZE_H_
#define SAMEBITS_CORE_HEAL_NUMERICS_QUANTIZE_H_

// The two primitives of "HEAL", section 3: INT16 storage with a scale, and values as the sum of two FP16 numbers.

#include <cstdint>
#include <span>

namespace samebits::heal {

// lo parts are stored 2^10 times larger than they count, so that they do not fall into FP16's subnormals.
inline constexpr int kLowShift = 10;
inline constexpr int kInt16Most = 32767;
// A maximum below this counts as this, so that neither the scale nor its inverse leaves FP32's normal numbers.
inline constexpr float kLeastInt16Max = 0x1p-100f;

// One scale for all of `x`: FP32(max|x| / 32767), 0 for all zeros. q[i] is x[i] * FP32(32767 / max|x|) in FP32, to the
// nearest integer, ties to even, clamped to [-32767, 32767]; then one step is taken where the rest fma(-q, scale, x) is
// beyond half a step (the three roundings of FP32 can be 3 / 512 of a step off). So
// |q * scale - x| <= scale / 2 * (1 + 2^-23).
// Infinities and NaN in `x`: returns NaN and all q are 0. x and q have the same size.
float QuantizeInt16(std::span<const float> x, std::span<int16_t> q);

struct HiLo {
  float hi = 0, lo = 0;  // both exact FP16 values; the number is hi + lo / 2^10
};

// Exact: hi is q rounded down to a multiple of 2^6 and lo the rest times 2^10, so that both are FP16 values.
HiLo UnpackInt16(int16_t q);

// hi = FP16(x), lo = FP16((x - hi) * 2^10). Error of hi + lo / 2^10: at most 2^-21 |x| for 2^-14 <= |x| <= 65504, at
// most 2^-35 below. Beyond that range of FP16 hi saturates at +-65504 and lo takes what it can (63.97). Infinities and
// NaN stay in hi; lo is 0.
HiLo SplitF16(float x);

// The power-of-two exponent e for a weight matrix such that max|w| * 2^e lies in [2^13, 2^14): FP16 then holds BF16
// weights down to 2^-30 of the largest exactly, and smaller ones within 2^-38 of the largest. 0 for all zeros. At most
// kMostScaleExponent, so that 2^e and 2^-e are normal FP32 numbers.
inline constexpr int kMostScaleExponent = 126;
int WeightScaleExponent(float max_abs);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_NUMERICS_QUANTIZE_H_
