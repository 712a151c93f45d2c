#include "core/softfloat/compare.h"

#include <bit>
#include <cmath>

#include "gtest/gtest.h"

namespace samebits::softfloat {
namespace {

constexpr uint64_t kValues[] = {0,          0x80000000, 1,          0x80000001, 0x00800000, 0x3f800000, 0xbf800000,
                                0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001};

float AsFloat(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }

TEST(Compare, MatchesHostForEveryOrdering) {
  for (uint64_t a : kValues) {
    for (uint64_t b : kValues) {
      const float x = AsFloat(a), y = AsFloat(b);
      const bool nan = std::isnan(x) || std::isnan(y);
      EXPECT_EQ(Compare(kF32, Ordering::kEq, a, b), x == y);
      EXPECT_EQ(Compare(kF32, Ordering::kNe, a, b), !nan && x != y);
      EXPECT_EQ(Compare(kF32, Ordering::kLt, a, b), x < y);
      EXPECT_EQ(Compare(kF32, Ordering::kLe, a, b), x <= y);
      EXPECT_EQ(Compare(kF32, Ordering::kGt, a, b), x > y);
      EXPECT_EQ(Compare(kF32, Ordering::kGe, a, b), x >= y);
      EXPECT_EQ(Compare(kF32, Ordering::kEqu, a, b), nan || x == y);
      EXPECT_EQ(Compare(kF32, Ordering::kNeu, a, b), x != y);
      EXPECT_EQ(Compare(kF32, Ordering::kLtu, a, b), nan || x < y);
      EXPECT_EQ(Compare(kF32, Ordering::kLeu, a, b), nan || x <= y);
      EXPECT_EQ(Compare(kF32, Ordering::kGtu, a, b), nan || x > y);
      EXPECT_EQ(Compare(kF32, Ordering::kGeu, a, b), nan || x >= y);
      EXPECT_EQ(Compare(kF32, Ordering::kNum, a, b), !nan);
      EXPECT_EQ(Compare(kF32, Ordering::kNan, a, b), nan);
    }
  }
}

TEST(Compare, FtzMakesSubnormalsEqualToZero) {
  EXPECT_FALSE(Compare(kF32, Ordering::kEq, 1, 0));
  EXPECT_TRUE(Compare(kF32, Ordering::kEq, 1, 0x80000000, true));
  EXPECT_FALSE(Compare(kF32, Ordering::kLt, 0x80000001, 0, true));
}

TEST(MinMax, ZerosNansAndFlags) {
  struct Case {
    uint64_t a, b;
    MinMaxFlags flags;
    uint64_t min, max;
  };
  const Case cases[] = {
      {0, 0x80000000, {}, 0x80000000, 0},
      {0x80000000, 0, {}, 0x80000000, 0},
      {0x7fc00000, 0x3f800000, {}, 0x3f800000, 0x3f800000},
      {0x3f800000, 0xffc00000, {}, 0x3f800000, 0x3f800000},
      {0x7fc00000, 0xffc00001, {}, 0x7fffffff, 0x7fffffff},
      {0x7fc00000, 0x3f800000, {.nan = true}, 0x7fffffff, 0x7fffffff},
      {0xbf800000, 0x40000000, {}, 0xbf800000, 0x40000000},
      {0xff800000, 0xff7fffff, {}, 0xff800000, 0xff7fffff},
      {1, 0x80000001, {.ftz = true}, 0x80000000, 0},
      {0xbf800000, 0x40000000, {.xorsign_abs = true}, 0xbf800000, 0xc0000000},
      {0xbf800000, 0xc0000000, {.xorsign_abs = true}, 0x3f800000, 0x40000000},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(Min(kF32, test.a, test.b, test.flags), test.min) << std::hex << test.a << " " << test.b;
    EXPECT_EQ(Max(kF32, test.a, test.b, test.flags), test.max) << std::hex << test.a << " " << test.b;
  }
  EXPECT_EQ(Max(kF16, 0x7e00, 0x7e00), 0x7fffu);
  EXPECT_EQ(Max(kBf16, 0x7fc0, 0x3f80, {.nan = true}), 0x7fffu);
}

TEST(SignOperations, TouchOnlyTheSign) {
  EXPECT_EQ(Neg(kF32, 0xbf800001), 0x3f800001u);
  EXPECT_EQ(Abs(kF32, 0xff800000), 0x7f800000u);
  EXPECT_EQ(Abs(kF32, 0x80000001), 1u);
  EXPECT_EQ(Abs(kF32, 0x80000001, true), 0u);
  EXPECT_EQ(Neg(kF32, 1, true), 0x80000000u);
  EXPECT_EQ(Neg(kF16, 0), 0x8000u);
  EXPECT_EQ(Neg(kF64, 0), 0x8000000000000000u);
  EXPECT_EQ(CopySign(kF32, 0x80000000, 0x3f800000), 0xbf800000u);
  EXPECT_EQ(CopySign(kF32, 0x80000000, 0x7fc12345), 0xffc12345u);
}

TEST(SignOperations, NansBecomeCanonicalOrQuiet) {
  EXPECT_EQ(Neg(kF32, 0x7fc12345), 0x7fffffffu);
  EXPECT_EQ(Abs(kF16, 0xfe01), 0x7fffu);
  EXPECT_EQ(Neg(kF64, 0x7ff0000000000001), 0x7ff8000000000001u);
  EXPECT_EQ(Abs(kF64, 0xfff8000000000001), 0xfff8000000000001u);
  EXPECT_EQ(Max(kF64, 0x7ff8000000000001, 0xfff0000000000002), 0xfff8000000000002u);
}

TEST(TestClass, CoversEveryClass) {
  struct Case {
    uint64_t a;
    bool finite, infinite, number, nan, normal, subnormal;
  };
  const Case cases[] = {
      {0, true, false, true, false, true, false},           {0x80000000, true, false, true, false, true, false},
      {1, true, false, true, false, false, true},           {0x00800000, true, false, true, false, true, false},
      {0x7f800000, false, true, true, false, false, false}, {0xffc00000, false, false, false, true, false, false},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(TestClass(kF32, NumberClass::kFinite, test.a), test.finite);
    EXPECT_EQ(TestClass(kF32, NumberClass::kInfinite, test.a), test.infinite);
    EXPECT_EQ(TestClass(kF32, NumberClass::kNumber, test.a), test.number);
    EXPECT_EQ(TestClass(kF32, NumberClass::kNotANumber, test.a), test.nan);
    EXPECT_EQ(TestClass(kF32, NumberClass::kNormal, test.a), test.normal);
    EXPECT_EQ(TestClass(kF32, NumberClass::kSubnormal, test.a), test.subnormal);
  }
}

}  // namespace
}  // namespace samebits::softfloat
