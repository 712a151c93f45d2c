#include "core/softfloat/arithmetic.h"

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "core/softfloat/convert.h"
#include "core/softfloat/exact.h"
#include "gtest/gtest.h"

namespace samebits::softfloat {
namespace {

constexpr Rounding kRoundings[] = {Rounding::kRn, Rounding::kRz, Rounding::kRm, Rounding::kRp};

// Patterns that stress exponents: uniform bits, near-equal exponents, and edges.
class Patterns {
 public:
  explicit Patterns(const Format& format) : format_(format), random_(20240611) {}

  uint64_t Next() {
    const uint64_t bits = random_() & format_.mask();
    switch (random_() % 4) {
      case 0:
        return bits;
      case 1:
        return Edges()[random_() % Edges().size()] ^ (bits & format_.sign_mask());
      default:
        return Near(bits);
    }
  }

 private:
  uint64_t Near(uint64_t bits) {
    const uint64_t fraction = bits & ((uint64_t{1} << format_.fraction_bits) - 1);
    const uint64_t field = static_cast<uint64_t>(format_.bias()) + random_() % 7 - 3;
    const uint64_t coarse = random_() % 2 ? ~uint64_t{0} : ~uint64_t{0} << (format_.fraction_bits - 3);
    return (bits & format_.sign_mask()) | field << format_.fraction_bits | (fraction & coarse);
  }

  std::vector<uint64_t> Edges() const {
    const uint64_t one = static_cast<uint64_t>(format_.bias()) << format_.fraction_bits;
    return {0,
            1,
            2,
            format_.min_normal() - 1,
            format_.min_normal(),
            format_.min_normal() + 1,
            one,
            one - 1,
            one + 1,
            format_.max_finite(),
            format_.max_finite() - 1,
            format_.infinity(),
            format_.infinity() + 1,
            format_.canonical_nan & format_.magnitude_mask()};
  }

  const Format& format_;
  std::mt19937_64 random_;
};

TEST(Reference, AgreesWithHostF32) {
  Patterns patterns(kF32);
  for (int i = 0; i < 300'000; ++i) {
    const uint64_t a = patterns.Next(), b = patterns.Next(), c = patterns.Next();
    const Flags flags{.ftz = (i & 1) != 0, .sat = i % 5 == 0};
    ASSERT_EQ(reference::Add(kF32, a, b, Rounding::kRn, flags), Add(kF32, a, b, Rounding::kRn, flags)) << a << " " << b;
    ASSERT_EQ(reference::Mul(kF32, a, b, Rounding::kRn, flags), Mul(kF32, a, b, Rounding::kRn, flags)) << a << " " << b;
    ASSERT_EQ(reference::Fma(kF32, a, b, c, Rounding::kRn, flags), Fma(kF32, a, b, c, Rounding::kRn, flags))
        << a << " " << b << " " << c;
  }
}

TEST(Reference, AgreesWithHostF64) {
  Patterns patterns(kF64);
  for (int i = 0; i < 300'000; ++i) {
    const uint64_t a = patterns.Next(), b = patterns.Next(), c = patterns.Next();
    ASSERT_EQ(reference::Add(kF64, a, b, Rounding::kRn, {}), Add(kF64, a, b)) << a << " " << b;
    ASSERT_EQ(reference::Mul(kF64, a, b, Rounding::kRn, {}), Mul(kF64, a, b)) << a << " " << b;
    ASSERT_EQ(reference::Fma(kF64, a, b, c, Rounding::kRn, {}), Fma(kF64, a, b, c)) << a << " " << b << " " << c;
  }
}

// A __float128 holds products of f32 and f64 exactly, and sums of two f32 exactly where exponents are close; rounding
// it once is then the correct result in every direction.
uint64_t RoundQuad(const Format& format, __float128 value, Rounding rounding) {
  if (value == 0) return 0;
  Exact exact{value < 0, 0, 0};
  if (value < 0) value = -value;
  int exponent = 0;
  while (value >= __float128(1) * (Wide{1} << 113)) value /= 2, ++exponent;
  while (value < __float128(1) * (Wide{1} << 112)) value *= 2, --exponent;
  exact.significand = static_cast<Wide>(value);
  exact.exponent = exponent;
  return Round(format, exact, rounding);
}

TEST(Arithmetic, DirectedRoundingsMatchQuadPrecision) {
  Patterns patterns(kF32);
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t a = patterns.Next(), b = patterns.Next();
    const Number na = Decode(kF32, a), nb = Decode(kF32, b);
    if (na.kind != Number::Kind::kFinite || nb.kind != Number::Kind::kFinite) continue;
    const __float128 x = std::bit_cast<float>(static_cast<uint32_t>(a)),
                     y = std::bit_cast<float>(static_cast<uint32_t>(b));
    for (Rounding rounding : kRoundings) {
      ASSERT_EQ(Mul(kF32, a, b, rounding), RoundQuad(kF32, x * y, rounding)) << a << " " << b;
      if (std::abs(na.exponent - nb.exponent) < 60 && x + y != 0) {
        ASSERT_EQ(Add(kF32, a, b, rounding), RoundQuad(kF32, x + y, rounding)) << a << " " << b;
      }
    }
  }
}

TEST(Arithmetic, HalfAddAndMulMatchDouble) {
  // f16 sums and products are exact in f64, so one rounding of them is the correct result.
  std::mt19937 random(7);
  for (int i = 0; i < 400'000; ++i) {
    const uint64_t a = random() & 0xffff, b = random() & 0xffff;
    for (const Format* format : {&kF16, &kBf16}) {
      const double x = std::bit_cast<double>(ConvertFloat(kF64, *format, a, Rounding::kRn));
      const double y = std::bit_cast<double>(ConvertFloat(kF64, *format, b, Rounding::kRn));
      if (std::isnan(x * y) || std::isnan(x + y)) continue;
      const uint64_t product = ConvertFloat(*format, kF64, std::bit_cast<uint64_t>(x * y), Rounding::kRn);
      ASSERT_EQ(Mul(*format, a, b), product) << format->name << " " << a << " " << b;
      if (format == &kBf16) continue;
      const uint64_t sum = ConvertFloat(*format, kF64, std::bit_cast<uint64_t>(x + y), Rounding::kRn);
      ASSERT_EQ(Add(*format, a, b), sum) << format->name << " " << a << " " << b;
    }
  }
}

TEST(Arithmetic, HalfFmaMatchesQuad) {
  std::mt19937 random(8);
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t a = random() & 0xffff, b = random() & 0xffff, c = random() & 0xffff;
    if (!Decode(kF16, a).is_finite() || !Decode(kF16, b).is_finite() || !Decode(kF16, c).is_finite()) continue;
    const auto wide = [](uint64_t bits) -> __float128 {
      return std::bit_cast<double>(ConvertFloat(kF64, kF16, bits, Rounding::kRn));
    };
    const __float128 exact = wide(a) * wide(b) + wide(c);
    if (exact == 0) continue;
    for (Rounding rounding : kRoundings) {
      ASSERT_EQ(Fma(kF16, a, b, c, rounding), RoundQuad(kF16, exact, rounding)) << a << " " << b << " " << c;
    }
  }
}

TEST(Arithmetic, DivisionAndRootsMatchHost) {
  Patterns singles(kF32), doubles(kF64);
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t a = singles.Next(), b = singles.Next();
    const float x = std::bit_cast<float>(static_cast<uint32_t>(a)), y = std::bit_cast<float>(static_cast<uint32_t>(b));
    const auto single = [](float v) -> uint64_t { return std::isnan(v) ? 0x7fffffff : std::bit_cast<uint32_t>(v); };
    ASSERT_EQ(Div(kF32, a, b), single(x / y)) << a << " " << b;
    ASSERT_EQ(Sqrt(kF32, a), single(std::sqrt(x))) << a;
    ASSERT_EQ(Rcp(kF32, a), single(1.0f / x)) << a;
    const uint64_t c = doubles.Next(), d = doubles.Next();
    const double z = std::bit_cast<double>(c), w = std::bit_cast<double>(d);
    if (!std::isnan(z / w)) {
      ASSERT_EQ(Div(kF64, c, d), std::bit_cast<uint64_t>(z / w)) << c << " " << d;
    }
    if (!std::isnan(std::sqrt(z))) {
      ASSERT_EQ(Sqrt(kF64, c), std::bit_cast<uint64_t>(std::sqrt(z))) << c;
    }
  }
}

TEST(Arithmetic, DirectedDivisionAndRootsBracketTheExactValue) {
  Patterns patterns(kF32);
  for (int i = 0; i < 50'000; ++i) {
    const uint64_t a = patterns.Next() & 0x7fffffff, b = patterns.Next() & 0x7fffffff;
    if (Decode(kF32, a).kind != Number::Kind::kFinite || Decode(kF32, b).kind != Number::Kind::kFinite) continue;
    const __float128 x = std::bit_cast<float>(static_cast<uint32_t>(a)),
                     y = std::bit_cast<float>(static_cast<uint32_t>(b));
    const uint64_t low = Div(kF32, a, b, Rounding::kRm), high = Div(kF32, a, b, Rounding::kRp);
    ASSERT_EQ(low, Div(kF32, a, b, Rounding::kRz));
    const auto value = [](uint64_t bits) -> __float128 { return std::bit_cast<float>(static_cast<uint32_t>(bits)); };
    if (high < kF32.infinity()) {
      ASSERT_TRUE(value(low) * y <= x && value(high) * y >= x) << a << " " << b;
    }
    ASSERT_TRUE(high == low + 1 || (high == low && value(low) * y == x)) << a << " " << b;
    const uint64_t root_low = Sqrt(kF32, a, Rounding::kRm), root_high = Sqrt(kF32, a, Rounding::kRp);
    ASSERT_TRUE(value(root_low) * value(root_low) <= x && value(root_high) * value(root_high) >= x) << a;
    ASSERT_LE(root_high - root_low, 1u) << a;
  }
}

struct Case {
  const char* what;
  uint64_t got, want;
};

TEST(Arithmetic, EdgeCases) {
  const Flags ftz{.ftz = true}, sat{.sat = true}, relu{.relu = true};
  const Case cases[] = {
      {"0 + -0", Add(kF32, 0, 0x80000000), 0},
      {"0 + -0 down", Add(kF32, 0, 0x80000000, Rounding::kRm), 0x80000000},
      {"-0 + -0", Add(kF32, 0x80000000, 0x80000000), 0x80000000},
      {"x - x", Sub(kF32, 0x3f800000, 0x3f800000), 0},
      {"x - x down", Sub(kF32, 0x3f800000, 0x3f800000, Rounding::kRm), 0x80000000},
      {"inf - inf", Sub(kF32, 0x7f800000, 0x7f800000), 0x7fffffff},
      {"nan payload", Add(kF32, 0xffc12345, 0), 0x7fffffff},
      {"tie to even", Add(kF32, 0x3f800000, 0x33800000), 0x3f800000},
      {"tie to even, odd", Add(kF32, 0x3f800001, 0x33800000), 0x3f800002},
      {"overflow", Add(kF32, 0x7f7fffff, 0x7f7fffff), 0x7f800000},
      {"overflow to zero", Add(kF32, 0x7f7fffff, 0x7f7fffff, Rounding::kRz), 0x7f7fffff},
      {"overflow down", Add(kF32, 0x7f7fffff, 0x7f7fffff, Rounding::kRm), 0x7f7fffff},
      {"overflow up", Add(kF32, 0x7f7fffff, 0x7f7fffff, Rounding::kRp), 0x7f800000},
      {"negative overflow up", Mul(kF32, 0xff7fffff, 0x7f7fffff, Rounding::kRp), 0xff7fffff},
      {"subnormal sum", Add(kF32, 1, 2), 3},
      {"subnormal sum ftz", Add(kF32, 1, 0x80000002, Rounding::kRn, ftz), 0},
      {"negative subnormals ftz", Add(kF32, 0x80000001, 0x80000002, Rounding::kRn, ftz), 0x80000000},
      {"subnormal result ftz", Mul(kF32, 0x80800000, 0x3f000000, Rounding::kRn, ftz), 0x80000000},
      {"product underflow", Mul(kF32, 1, 0x3f000000), 0},
      {"product underflow up", Mul(kF32, 1, 0x3f000000, Rounding::kRp), 1},
      {"inf * 0", Mul(kF32, 0x7f800000, 0), 0x7fffffff},
      {"-1 sat", Add(kF32, 0xbf800000, 0, Rounding::kRn, sat), 0},
      {"-0 sat", Add(kF32, 0x80000000, 0x80000000, Rounding::kRn, sat), 0},
      {"nan sat", Add(kF32, 0x7fc00000, 0, Rounding::kRn, sat), 0},
      {"2 sat", Add(kF32, 0x3f800000, 0x3f800000, Rounding::kRn, sat), 0x3f800000},
      {"fma one rounding", Fma(kF32, 0x3f800001, 0x3f800001, 0xbf800002), 0x28800000},
      {"fma inf*0+nan", Fma(kF32, 0x7f800000, 0, 0x7fc00001), 0x7fffffff},
      {"fma inf - inf", Fma(kF32, 0x7f800000, 0x3f800000, 0xff800000), 0x7fffffff},
      {"fma(0,0,-0)", Fma(kF32, 0, 0, 0x80000000), 0},
      {"fma(-0,0,-0)", Fma(kF32, 0x80000000, 0, 0x80000000), 0x80000000},
      {"fma tiny to -0", Fma(kF32, 0x80000001, 0x00000001, 0), 0x80000000},
      {"f16 fma relu", Fma(kF16, 0xbc00, 0x3c00, 0, Rounding::kRn, relu), 0},
      {"f16 relu nan", Fma(kF16, 0x7e00, 0x3c00, 0, Rounding::kRn, relu), 0x7fff},
      {"f16 overflow", Add(kF16, 0x7bff, 0x7bff), 0x7c00},
      {"f16 tie", Add(kF16, 0x3c00, 0x1000), 0x3c00},
      {"f16 nan", Add(kF16, 0x7e01, 0x3c00), 0x7fff},
      {"bf16 nan", Mul(kBf16, 0xffff, 0x3f80), 0x7fff},
      {"bf16 tie", Add(kBf16, 0x3f80, 0x3b80), 0x3f80},
      {"1/0", Rcp(kF32, 0x80000000), 0xff800000},
      {"0/0", Div(kF32, 0, 0), 0x7fffffff},
      {"1/3", Div(kF32, 0x3f800000, 0x40400000), 0x3eaaaaab},
      {"1/3 to zero", Div(kF32, 0x3f800000, 0x40400000, Rounding::kRz), 0x3eaaaaaa},
      {"sqrt -0", Sqrt(kF32, 0x80000000), 0x80000000},
      {"sqrt -1", Sqrt(kF32, 0xbf800000), 0x7fffffff},
      {"sqrt subnormal", Sqrt(kF32, 1), 0x1a3504f3},
      {"f64 nan is quieted", Add(kF64, 0x7ff0000000000123, 0), 0x7ff8000000000123},
      {"f64 nan of b", Add(kF64, 0x7ff8000000000123, 0x7ff8000000000456), 0x7ff8000000000456},
      {"f64 nan keeps its sign", Sub(kF64, 0, 0x7ff8000000000456), 0x7ff8000000000456},
      {"f64 fma nan of c before a", Fma(kF64, 0x7ff8000000000123, 0, 0xfff8000000000456), 0xfff8000000000456},
      {"f64 div nan of a", Div(kF64, 0x7ff8000000000123, 0x7ff8000000000456), 0x7ff8000000000123},
      {"f64 invalid", Sub(kF64, 0x7ff0000000000000, 0x7ff0000000000000), 0xfff8000000000000},
      {"ftz decides at full precision", Mul(kF32, 0x3f7fffff, 0x00800000, Rounding::kRn, ftz), 0},
      {"without ftz it rounds up", Mul(kF32, 0x3f7fffff, 0x00800000), 0x00800000},
      {"ftz keeps what full precision rounds up", Fma(kF32, 0x01000000, 0x80800000, 0x00800000, Rounding::kRn, ftz),
       0x00800000},
      {"f16 ftz decides at full precision", Mul(kF16, 0x3bff, 0x8400, Rounding::kRn, ftz), 0x8000},
  };
  for (const Case& test : cases) EXPECT_EQ(test.got, test.want) << test.what;
}

TEST(Arithmetic, SubIsAddOfNegation) {
  Patterns patterns(kF16);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t a = patterns.Next(), b = patterns.Next();
    ASSERT_EQ(Sub(kF16, a, b), Add(kF16, a, b ^ 0x8000));
  }
}

}  // namespace
}  // namespace samebits::softfloat
