#include "core/heal/numerics/rounding.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace samebits::heal {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

uint32_t Bits(float x) { return std::bit_cast<uint32_t>(x); }

// A format by its numbers alone: value of a pattern from the definition, in exact FP64.
struct Format {
  int significand, bias;
  uint32_t infinity;
  float (*from)(uint16_t);
  uint16_t (*to)(float);
};
const Format kFormats[] = {{7, 127, 0x7f80, FromBf16, ToBf16}, {10, 15, 0x7c00, FromF16, ToF16}};

double Defined(const Format& format, uint32_t magnitude) {
  const int exponent = static_cast<int>(magnitude >> format.significand);
  const double fraction = magnitude & ((1u << format.significand) - 1);
  const int least = 1 - format.bias - format.significand;
  if (exponent == 0) return std::ldexp(fraction, least);
  return std::ldexp(fraction + (1u << format.significand), least + exponent - 1);
}

TEST(RoundingTest, EveryPatternHasItsDefinedValueAndComesBack) {
  for (const Format& format : kFormats) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const float value = format.from(static_cast<uint16_t>(bits));
      const uint32_t magnitude = bits & 0x7fff;
      if (magnitude > format.infinity) {
        ASSERT_TRUE(std::isnan(value));
        ASSERT_TRUE(std::isnan(format.from(format.to(value))));
        continue;
      }
      const double expected = magnitude == format.infinity ? kInf : Defined(format, magnitude);
      ASSERT_EQ(Bits(value), Bits(static_cast<float>(bits & 0x8000 ? -expected : expected))) << std::hex << bits;
      ASSERT_EQ(format.to(value), bits);
    }
  }
}

// Between two neighbours: the middle goes to the even one, one FP32 step off the middle to the nearer one. The
// neighbour above the largest number counts as the next multiple, and stands for infinity.
TEST(RoundingTest, TiesGoToEvenBetweenAllNeighbours) {
  for (const Format& format : kFormats) {
    for (uint32_t low = 0; low < format.infinity; ++low) {
      const double middle = (Defined(format, low) + Defined(format, low + 1)) / 2;
      const float tie = static_cast<float>(middle);
      ASSERT_EQ(tie, middle) << "not an FP32 value";
      for (const uint32_t sign : {0u, 0x8000u}) {
        const float s = sign ? -1 : 1;
        ASSERT_EQ(format.to(s * tie), sign | (low + (low & 1))) << std::hex << low;
        ASSERT_EQ(format.to(s * std::nextafter(tie, 0.0f)), sign | low) << std::hex << low;
        ASSERT_EQ(format.to(s * std::nextafter(tie, kInf)), sign | (low + 1)) << std::hex << low;
      }
    }
  }
}

TEST(RoundingTest, BeyondTheRangeIsInfinity) {
  EXPECT_EQ(ToF16(65519.996f), 0x7bff);
  EXPECT_EQ(ToF16(65520.0f), 0x7c00);
  EXPECT_EQ(ToF16(-kInf), 0xfc00);
  EXPECT_EQ(ToF16(3e38f), 0x7c00);
  EXPECT_EQ(ToBf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(ToF16(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(ToF16(-std::numeric_limits<float>::denorm_min()), 0x8000);
}

TEST(RoundingTest, Tf32TiesGoAwayFromZero) {
  const float step = 0x1p-10f;
  EXPECT_EQ(RoundTf32(1 + step / 2), 1 + step);
  EXPECT_EQ(RoundTf32(-1 - step / 2), -1 - step);
  EXPECT_EQ(RoundTf32(std::nextafter(1 + step / 2, 0.0f)), 1);
  EXPECT_EQ(RoundTf32(1 + 3 * step / 2), 1 + 2 * step);
  EXPECT_EQ(RoundTf32(std::numeric_limits<float>::max()), kInf);
  EXPECT_EQ(RoundTf32(kInf), kInf);
  EXPECT_TRUE(std::isnan(RoundTf32(std::numeric_limits<float>::quiet_NaN())));
}

TEST(RoundingTest, TruncationIsTowardsZeroAndIdempotent) {
  EXPECT_EQ(TruncateSignificand(1.9999999f, 0), 1);
  EXPECT_EQ(TruncateSignificand(-7.99f, 1), -6);
  EXPECT_EQ(TruncateSignificand(1.2345678f, 23), 1.2345678f);
  EXPECT_EQ(TruncateSignificand(-kInf, 3), -kInf);
  EXPECT_TRUE(std::isnan(TruncateSignificand(std::bit_cast<float>(0x7f800001u), 3)));
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (!std::isnormal(x)) continue;
    for (int bits = 0; bits <= 23; ++bits) {
      const float t = TruncateSignificand(x, bits);
      ASSERT_LE(std::fabs(t), std::fabs(x));
      ASSERT_LT(std::fabs(x) - std::fabs(t), std::ldexp(std::fabs(x), -bits));
      ASSERT_EQ(std::ldexp(std::fabs(t), bits - std::ilogb(x)),
                std::floor(std::ldexp(std::fabs(t), bits - std::ilogb(x))));
      ASSERT_EQ(TruncateSignificand(t, bits), t);
    }
  }
}

TEST(RoundingTest, EachBoundaryRoundsAsItsType) {
  const float x = 1.23456789f;
  EXPECT_EQ(RoundTo(Boundary::kF32, 23, x), x);
  EXPECT_EQ(RoundTo(Boundary::kBf16, 23, x), FromBf16(ToBf16(x)));
  EXPECT_EQ(RoundTo(Boundary::kF16, 23, x), FromF16(ToF16(x)));
  EXPECT_EQ(RoundTo(Boundary::kTruncated, 4, x), TruncateSignificand(x, 4));
  EXPECT_NE(RoundTo(Boundary::kTruncated, 4, x), RoundTo(Boundary::kTruncated, 12, x));
}

}  // namespace
}  // namespace samebits::heal
