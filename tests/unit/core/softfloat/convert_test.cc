#include "core/softfloat/convert.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace samebits::softfloat {
namespace {

double Value(const Format& format, uint64_t bits) {
  return std::bit_cast<double>(ConvertFloat(kF64, format, bits, Rounding::kRn));
}

uint64_t FromDouble(const Format& format, double value, Rounding rounding = Rounding::kRn, ConvertFlags flags = {}) {
  return ConvertFloat(format, kF64, std::bit_cast<uint64_t>(value), rounding, flags);
}

// The value of a pattern from the definition of its fields, independent of Decode.
double FieldValue(const Format& format, uint64_t bits) {
  const double sign = (bits >> (format.bits - 1)) & 1 ? -1.0 : 1.0;
  const int field = static_cast<int>((bits >> format.fraction_bits) & ((1u << format.exponent_bits) - 1));
  const double fraction = static_cast<double>(bits & ((uint64_t{1} << format.fraction_bits) - 1));
  const double scale = std::ldexp(1.0, format.fraction_bits);
  return field == 0 ? sign * std::ldexp(fraction / scale, 1 - format.bias())
                    : sign * std::ldexp(1.0 + fraction / scale, field - format.bias());
}

TEST(ConvertFloat, SmallFormatsDecodeByTheirFieldsAndRoundTrip) {
  for (const Format* format : {&kF16, &kBf16, &kE4m3, &kE5m2, &kE3m2, &kE2m3, &kE2m1}) {
    for (uint64_t bits = 0; bits <= format->mask(); ++bits) {
      if (IsNan(*format, bits) || IsInfinity(*format, bits)) continue;
      ASSERT_EQ(Value(*format, bits), FieldValue(*format, bits)) << format->name << " " << bits;
      for (Rounding rounding : {Rounding::kRn, Rounding::kRz, Rounding::kRm, Rounding::kRp, Rounding::kRna}) {
        ASSERT_EQ(FromDouble(*format, Value(*format, bits), rounding), bits) << format->name << " " << bits;
      }
    }
  }
}

TEST(ConvertFloat, RoundsBetweenEveryPairOfNeighbours) {
  for (const Format* format : {&kF16, &kBf16, &kE4m3, &kE5m2, &kE3m2, &kE2m3, &kE2m1}) {
    for (uint64_t low = 0; low < format->max_finite(); ++low) {
      const double x = Value(*format, low), y = Value(*format, low + 1), middle = (x + y) / 2;
      const uint64_t even = low + (low & 1);
      ASSERT_EQ(FromDouble(*format, middle), even) << format->name << " " << low;
      ASSERT_EQ(FromDouble(*format, middle, Rounding::kRna), low + 1);
      ASSERT_EQ(FromDouble(*format, std::nextafter(middle, 0.0)), low);
      ASSERT_EQ(FromDouble(*format, std::nextafter(middle, 1e300)), low + 1);
      ASSERT_EQ(FromDouble(*format, std::nextafter(y, 0.0), Rounding::kRz), low);
      ASSERT_EQ(FromDouble(*format, std::nextafter(x, 1e300), Rounding::kRp), low + 1);
      ASSERT_EQ(FromDouble(*format, -std::nextafter(x, 1e300), Rounding::kRm), (low + 1) | format->sign_mask());
      ASSERT_EQ(FromDouble(*format, -std::nextafter(x, 1e300), Rounding::kRp), low | format->sign_mask());
    }
  }
}

TEST(ConvertFloat, F64ToF32MatchesHostInEveryDirection) {
  std::mt19937_64 random(3);
  const std::pair<Rounding, int> modes[] = {{Rounding::kRn, FE_TONEAREST},
                                            {Rounding::kRz, FE_TOWARDZERO},
                                            {Rounding::kRm, FE_DOWNWARD},
                                            {Rounding::kRp, FE_UPWARD}};
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t exponent = 1023 - 160 + random() % 320;
    const uint64_t bits = (random() & 0x800fffffffffffff) | exponent << 52;
    for (const auto& [rounding, mode] : modes) {
      std::fesetround(mode);
      volatile double wide = std::bit_cast<double>(bits);
      volatile float narrow = static_cast<float>(wide);
      std::fesetround(FE_TONEAREST);
      const float result = narrow;
      ASSERT_EQ(ConvertFloat(kF32, kF64, bits, rounding), std::bit_cast<uint32_t>(result)) << std::hex << bits;
    }
  }
}

struct Case {
  const char* what;
  uint64_t got, want;
};

TEST(ConvertFloat, EdgeCases) {
  const auto from32 = [](const Format& to, uint64_t bits, Rounding rounding = Rounding::kRn, ConvertFlags flags = {}) {
    return ConvertFloat(to, kF32, bits, rounding, flags);
  };
  const ConvertFlags satfinite{.satfinite = true};
  const Case cases[] = {
      {"f16 overflow", from32(kF16, 0x477ff000), 0x7c00},
      {"f16 just below overflow", from32(kF16, 0x477fefff), 0x7bff},
      {"f16 overflow to zero", from32(kF16, 0x7f7fffff, Rounding::kRz), 0x7bff},
      {"f16 satfinite", from32(kF16, 0xff7fffff, Rounding::kRn, satfinite), 0xfbff},
      {"f16 satfinite inf", from32(kF16, 0x7f800000, Rounding::kRn, satfinite), 0x7bff},
      {"f16 nan", from32(kF16, 0xffc00001), 0x7fff},
      {"f16 subnormal", from32(kF16, 0x33800000), 0x0001},
      {"f16 half of least", from32(kF16, 0x33000000), 0x0000},
      {"f16 relu", from32(kF16, 0xbf800000, Rounding::kRn, {.relu = true}), 0},
      {"f16 -0 relu", from32(kF16, 0x80000000, Rounding::kRn, {.relu = true}), 0},
      {"f32 of f16 nan", ConvertFloat(kF32, kF16, 0xfe01, Rounding::kRn), 0x7fffffff},
      {"f32 of f16 subnormal", ConvertFloat(kF32, kF16, 0x8001, Rounding::kRn), 0xb3800000},
      {"f32 ftz in", from32(kF64, 0x80000001, Rounding::kRn, {.ftz = true}), 0x8000000000000000},
      {"f32 ftz out", FromDouble(kF32, 0x1p-130, Rounding::kRn, {.ftz = true}), 0},
      {"f32 ftz at full precision", ConvertFloat(kF32, kF64, 0x380fffffe0000000, Rounding::kRn, {.ftz = true}), 0},
      {"f32 ftz rounded up", ConvertFloat(kF32, kF64, 0x380ffffff0000000, Rounding::kRn, {.ftz = true}), 0x00800000},
      {"f32 sat nan", from32(kF32, 0x7fc00000, Rounding::kRn, {.sat = true}), 0},
      {"f32 sat big", from32(kF32, 0x7f800000, Rounding::kRn, {.sat = true}), 0x3f800000},
      {"bf16 tie", from32(kBf16, 0x3f808000), 0x3f80},
      {"bf16 tie odd", from32(kBf16, 0x3f818000), 0x3f82},
      {"bf16 overflow", from32(kBf16, 0x7f7fffff), 0x7f80},
      {"tf32 away", from32(kTf32, 0x3f801000, Rounding::kRna), 0x3f802000},
      {"tf32 below half", from32(kTf32, 0x3f800fff, Rounding::kRna), 0x3f800000},
      {"tf32 overflow", from32(kTf32, 0x7f7fffff, Rounding::kRna), 0x7f800000},
      {"e4m3 448", from32(kE4m3, 0x43e00000, Rounding::kRn, satfinite), 0x7e},
      {"e4m3 overflow", from32(kE4m3, 0x44000000, Rounding::kRn, satfinite), 0x7e},
      {"e4m3 -inf", from32(kE4m3, 0xff800000, Rounding::kRn, satfinite), 0xfe},
      {"e4m3 nan", from32(kE4m3, 0xffc00000, Rounding::kRn, satfinite), 0x7f},
      {"e4m3 least", from32(kE4m3, 0x3b000000, Rounding::kRn, satfinite), 0x01},
      {"e5m2 overflow", from32(kE5m2, 0x7f7fffff, Rounding::kRn, satfinite), 0x7b},
      {"e5m2 nan", from32(kE5m2, 0x7fc00000, Rounding::kRn, satfinite), 0x7f},
      {"f16 of e4m3 nan", ConvertFloat(kF16, kE4m3, 0xff, Rounding::kRn), 0x7fff},
      {"f16 of e5m2 inf", ConvertFloat(kF16, kE5m2, 0xfc, Rounding::kRn), 0xfc00},
      {"f32 of bf16 nan", ConvertFloat(kF32, kBf16, 0xffa7, Rounding::kRn), 0xffa70000},
      {"f32 nan stays", from32(kF32, 0xff800001), 0xff800001},
      {"f32 nan ftz", from32(kF32, 0xff800001, Rounding::kRn, {.ftz = true}), 0x7fffffff},
      {"f64 of f32 nan", from32(kF64, 0xff800001), 0xfff8000020000000},
      {"f64 of f32 nan ftz", from32(kF64, 0xff800001, Rounding::kRn, {.ftz = true}), 0x7fffffffe0000000},
      {"f32 of f64 nan", ConvertFloat(kF32, kF64, 0x7ff731d3100b2260, Rounding::kRn), 0x7ff98e98},
      {"f16 of f64 nan", ConvertFloat(kF16, kF64, 0xfff731d3100b2260, Rounding::kRn), 0xffcc},
      {"f16 up from a subnormal, ftz", from32(kF16, 2, Rounding::kRp, {.ftz = true}), 1},
      {"tf32 nan", from32(kTf32, 0xff800001, Rounding::kRn), 0x7fffe000},
      {"tf32 nan away", from32(kTf32, 0xffc01fff, Rounding::kRna), 0xffc00000},
      {"e2m1 overflow", from32(kE2m1, 0x7f800000), 0x7},
      {"ue8m0 up", from32(kUe8m0, 0x3f800001, Rounding::kRp), 0x80},
      {"ue8m0 down", from32(kUe8m0, 0x3fffffff, Rounding::kRz), 0x7f},
      {"bf16 of ue8m0 least", ConvertFloat(kBf16, kUe8m0, 0, Rounding::kRn), 0x0040},
  };
  for (const Case& test : cases) EXPECT_EQ(test.got, test.want) << test.what;
}

TEST(RoundToIntegral, MatchesHost) {
  std::mt19937 random(5);
  for (int i = 0; i < 200'000; ++i) {
    const uint32_t bits = (random() & 0x807fffff) | (120 + random() % 40) << 23;
    const float x = std::bit_cast<float>(bits);
    const auto pattern = [](float v) -> uint64_t { return std::bit_cast<uint32_t>(v); };
    ASSERT_EQ(RoundToIntegral(kF32, bits, Rounding::kRn), pattern(std::nearbyint(x))) << x;
    ASSERT_EQ(RoundToIntegral(kF32, bits, Rounding::kRz), pattern(std::trunc(x))) << x;
    ASSERT_EQ(RoundToIntegral(kF32, bits, Rounding::kRm), pattern(std::floor(x))) << x;
    ASSERT_EQ(RoundToIntegral(kF32, bits, Rounding::kRp), pattern(std::ceil(x))) << x;
  }
  EXPECT_EQ(RoundToIntegral(kF32, 0x80000001, Rounding::kRp), 0x80000000u);
  EXPECT_EQ(RoundToIntegral(kF32, 0x80000001, Rounding::kRm), 0xbf800000u);
  EXPECT_EQ(RoundToIntegral(kF32, 0x80000001, Rounding::kRm, {.ftz = true}), 0x80000000u);
  EXPECT_EQ(RoundToIntegral(kF32, 0x7f800000, Rounding::kRn), 0x7f800000u);
  EXPECT_EQ(RoundToIntegral(kF32, 0xffc00000, Rounding::kRn), 0x7fffffffu);
}

TEST(FloatToInteger, EdgeCases) {
  const IntegerType s8{8, true}, u8{8, false}, s32{32, true}, u32{32, false}, s64{64, true}, u64{64, false};
  const auto from32 = [](IntegerType to, uint64_t bits, Rounding rounding = Rounding::kRz, ConvertFlags flags = {}) {
    return FloatToInteger(to, kF32, bits, rounding, flags);
  };
  const Case cases[] = {
      {"1.5 nearest", from32(s32, 0x3fc00000, Rounding::kRn), 2},
      {"2.5 nearest", from32(s32, 0x40200000, Rounding::kRn), 2},
      {"-1.5 down", from32(s32, 0xbfc00000, Rounding::kRm), 0xfffffffe},
      {"-1.5 to zero", from32(s32, 0xbfc00000), 0xffffffff},
      {"big", from32(s32, 0x7f7fffff), 0x7fffffff},
      {"-big", from32(s32, 0xff7fffff), 0x80000000},
      {"2^31", from32(s32, 0x4f000000), 0x7fffffff},
      {"-2^31", from32(s32, 0xcf000000), 0x80000000},
      {"inf", from32(u32, 0x7f800000), 0xffffffff},
      {"-1 unsigned", from32(u32, 0xbf800000), 0},
      {"nan", from32(s32, 0x7fc00000), 0},
      {"nan to 64", from32(s64, 0x7fc00000), 0x8000000000000000},
      {"nan to u64", from32(u64, 0x7fc00000), 0x8000000000000000},
      {"f64 nan", FloatToInteger(s32, kF64, 0x7ff8000000000000, Rounding::kRz), 0x80000000},
      {"f64 nan unsigned", FloatToInteger(u32, kF64, 0xfff8000000000000, Rounding::kRz), 0x80000000},
      {"300 to u8", from32(u8, 0x43960000), 0xff},
      {"-300 to s8", from32(s8, 0xc3960000), 0x80},
      {"subnormal up", from32(s32, 1, Rounding::kRp), 1},
      {"subnormal up ftz", from32(s32, 1, Rounding::kRp, {.ftz = true}), 0},
      {"2^63", from32(s64, 0x5f000000), 0x7fffffffffffffff},
      {"2^63 unsigned", from32(u64, 0x5f000000), 0x8000000000000000},
      {"2^64", from32(u64, 0x5f800000), 0xffffffffffffffff},
      {"2^65", from32(u64, 0x60000000), 0xffffffffffffffff},
      {"f16 inf", FloatToInteger(s32, kF16, 0x7c00, Rounding::kRz), 0x7fffffff},
  };
  for (const Case& test : cases) EXPECT_EQ(test.got, test.want) << test.what;
}

TEST(IntegerToFloat, MatchesHostInEveryDirection) {
  std::mt19937_64 random(9);
  const std::pair<Rounding, int> modes[] = {{Rounding::kRn, FE_TONEAREST},
                                            {Rounding::kRz, FE_TOWARDZERO},
                                            {Rounding::kRm, FE_DOWNWARD},
                                            {Rounding::kRp, FE_UPWARD}};
  for (int i = 0; i < 50'000; ++i) {
    const uint64_t bits = random() >> (random() % 64);
    for (const auto& [rounding, mode] : modes) {
      volatile int64_t value = static_cast<int64_t>(bits);
      std::fesetround(mode);
      volatile float narrow = static_cast<float>(value);
      volatile double wide = static_cast<double>(value);
      std::fesetround(FE_TONEAREST);
      const float f = narrow;
      const double d = wide;
      ASSERT_EQ(IntegerToFloat(kF32, {64, true}, bits, rounding), std::bit_cast<uint32_t>(f)) << value;
      ASSERT_EQ(IntegerToFloat(kF64, {64, true}, bits, rounding), std::bit_cast<uint64_t>(d)) << value;
    }
  }
  EXPECT_EQ(IntegerToFloat(kF32, {8, true}, 0xff, Rounding::kRn), 0xbf800000u);
  EXPECT_EQ(IntegerToFloat(kF32, {8, false}, 0xff, Rounding::kRn), 0x437f0000u);
  EXPECT_EQ(IntegerToFloat(kF32, {64, false}, ~uint64_t{0}, Rounding::kRn), 0x5f800000u);
  EXPECT_EQ(IntegerToFloat(kF32, {64, false}, ~uint64_t{0}, Rounding::kRz), 0x5f7fffffu);
  EXPECT_EQ(IntegerToFloat(kF16, {32, true}, 70000, Rounding::kRn), 0x7c00u);
  EXPECT_EQ(IntegerToFloat(kF32, {32, true}, 5, Rounding::kRn, {.sat = true}), 0x3f800000u);
}

TEST(ConvertInteger, ExtendsTruncatesAndClamps) {
  EXPECT_EQ(ConvertInteger({64, true}, {32, true}, 0x80000000), 0xffffffff80000000u);
  EXPECT_EQ(ConvertInteger({64, false}, {32, false}, 0x80000000), 0x80000000u);
  EXPECT_EQ(ConvertInteger({8, true}, {32, true}, 300), 44u);
  EXPECT_EQ(ConvertInteger({8, true}, {32, true}, 300, true), 127u);
  EXPECT_EQ(ConvertInteger({8, true}, {32, true}, 0xfffffe00, true), 0x80u);
  EXPECT_EQ(ConvertInteger({8, false}, {32, true}, 0xffffffff, true), 0u);
  EXPECT_EQ(ConvertInteger({32, true}, {32, false}, 0xffffffff, true), 0x7fffffffu);
  EXPECT_EQ(ConvertInteger({64, true}, {64, false}, ~uint64_t{0}, true), 0x7fffffffffffffffu);
}

}  // namespace
}  // namespace samebits::softfloat
