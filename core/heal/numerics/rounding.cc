#include "core/heal/numerics/rounding.h"

#include <bit>
#include <cmath>

namespace samebits::heal {
namespace {

constexpr uint32_t kMagnitude = 0x7fffffff, kInfinity = 0x7f800000;

bool IsSpecial(uint32_t bits) { return (bits & kInfinity) == kInfinity; }

// bits / 2^shift to the nearest integer, ties to even.
uint32_t ShiftRounded(uint32_t bits, int shift) {
  const uint32_t half = 1u << (shift - 1);
  return (bits + half - 1 + ((bits >> shift) & 1)) >> shift;
}

}  // namespace

uint16_t ToBf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>(ShiftRounded(bits & kMagnitude, 16) | (bits >> 16 & 0x8000));
}

float FromBf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t ToF16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x), magnitude = bits & kMagnitude;
  const uint32_t sign = bits >> 16 & 0x8000;
  if (magnitude > kInfinity) return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);  // 65520 and more
  if (magnitude < 0x38800000) {                                              // below 2^-14: multiples of 2^-24
    // 0.5 has ulp 2^-24, so the sum's low bits are the rounded multiple
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - 0x3f000000));
  }
  return static_cast<uint16_t>(sign | ShiftRounded(magnitude - (112u << 23), 13));
}

float FromF16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | kInfinity | (magnitude & 0x3ff) << 13);
  if (magnitude >= 0x400) return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  const float small = static_cast<float>(magnitude) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(small));
}

float RoundTf32(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if (IsSpecial(bits)) return x;
  return std::bit_cast<float>((bits + 0x1000) & ~0x1fffu);
}

float TruncateSignificand(float x, int bits) {
  const uint32_t pattern = std::bit_cast<uint32_t>(x);
  if (IsSpecial(pattern)) return x;
  return std::bit_cast<float>(pattern & ~0u << (23 - bits));
}

float RoundTo(Boundary boundary, int significand_bits, float x) {
  switch (boundary) {
    case Boundary::kBf16:
      return FromBf16(ToBf16(x));
    case Boundary::kF16:
      return FromF16(ToF16(x));
    case Boundary::kF32:
      return x;
    case Boundary::kTruncated:
      return TruncateSignificand(x, significand_bits);
  }
  return x;
}

}  // namespace samebits::heal
