#include "core/heal/numerics/quantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "core/heal/numerics/rounding.h"

namespace samebits::heal {
namespace {

bool IsF16(float x) { return FromF16(ToF16(x)) == x; }

// Largest |q * scale - x| in steps of scale / 2.
double WorstOfHalfStep(const std::vector<float>& x) {
  std::vector<int16_t> q(x.size());
  const double scale = QuantizeInt16(x, q);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, std::fabs(q[i] * scale - x[i]) / (scale / 2));
  return worst;
}

TEST(QuantizeInt16Test, ErrorIsAtMostHalfAStep) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<float> x(128);
    const float size = std::ldexp(1.0f, static_cast<int>(random() % 240) - 120);
    for (float& value : x) value = normal(random) * size;
    ASSERT_LE(WorstOfHalfStep(x), 1 + 0x1p-23) << "trial " << trial;
  }
}

// Values beside the middle of two steps, where FP32's product alone picks the wrong one.
TEST(QuantizeInt16Test, ErrorIsAtMostHalfAStepBesideTies) {
  std::mt19937 random(3);
  bool product_alone_errs = false;
  for (int trial = 0; trial < 500; ++trial) {
    const float max = std::ldexp(1 + static_cast<float>(random() & 0x7fffff) * 0x1p-23f, 3);
    std::vector<float> x = {max};
    const float scale = max / kInt16Most, inverse = kInt16Most / max;
    for (int i = 0; i < 400; ++i) {
      float middle =
          static_cast<float>((static_cast<int>(random() % 60000) - 30000 + 0.5) * static_cast<double>(scale));
      for (int k = 0; k < static_cast<int>(random() % 4); ++k)
        middle = std::nextafter(middle, random() & 1 ? 100.f : -100.f);
      x.push_back(middle);
      const double q = std::nearbyint(middle * inverse);
      product_alone_errs |= std::fabs(q * scale - middle) > scale / 2.0 * (1 + 0x1p-20);
    }
    ASSERT_LE(WorstOfHalfStep(x), 1 + 0x1p-23) << "trial " << trial;
  }
  EXPECT_TRUE(product_alone_errs);
}

TEST(QuantizeInt16Test, LargestValueMapsToTheLargestInteger) {
  std::vector<int16_t> q(3);
  EXPECT_EQ(QuantizeInt16(std::vector<float>{-2, 1, 0.5f}, q), 2.0f / kInt16Most);
  EXPECT_EQ(q[0], -kInt16Most);
  EXPECT_EQ(q[1], 16384);  // 16383.5, to even
}

TEST(QuantizeInt16Test, ExtremeRows) {
  const float most = std::numeric_limits<float>::max(), least = std::numeric_limits<float>::denorm_min();
  std::vector<int16_t> q = {7, 7};
  EXPECT_EQ(QuantizeInt16(std::vector<float>{0, -0.0f}, q), 0);
  EXPECT_EQ(q, (std::vector<int16_t>{0, 0}));
  EXPECT_LE(WorstOfHalfStep({most, -most / 3}), 1 + 0x1p-23);
  EXPECT_LE(WorstOfHalfStep({least, -3 * least}), 1);
  EXPECT_LE(WorstOfHalfStep({0x1p-99f, 0x1p-110f}), 1 + 0x1p-23);
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    q = {7, 7};
    EXPECT_TRUE(std::isnan(QuantizeInt16(std::vector<float>{1, bad}, q)));
    EXPECT_EQ(q, (std::vector<int16_t>{0, 0}));
  }
  EXPECT_EQ(QuantizeInt16({}, {}), 0);
}

double Mse(const std::vector<float>& x, const std::function<double(size_t)>& approximation) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += std::pow(approximation(i) - x[i], 2);
  return sum / static_cast<double>(x.size());
}

struct Measured {
  double int16, fp16, sigma, max, step;
};

Measured Measure(const std::vector<float>& x) {
  std::vector<int16_t> q(x.size());
  const double scale = QuantizeInt16(x, q);
  Measured result = {};
  result.int16 = Mse(x, [&](size_t i) { return q[i] * scale; });
  result.fp16 = Mse(x, [&](size_t i) { return FromF16(ToF16(x[i])); });
  result.sigma = std::sqrt(Mse(x, [](size_t) { return 0; }));
  result.max = scale * kInt16Most;
  result.step = scale;
  return result;
}

// Equations 7 and 8: INT16's MSE is step^2 / 12, FP16's is above sigma^2 / 2^22 / 12, and so the gain above
// 256 sigma^2 / M^2. Rows of 128 values, many of them, as attention has them.
TEST(QuantizeInt16Test, GainOverF16IsAsPredicted) {
  std::mt19937 random(4);
  const std::function<float()> draws[] = {
      [&] { return std::normal_distribution<float>(0, 1)(random); },
      [&] { return std::normal_distribution<float>(0, 0.37f)(random); },
      [&] { return std::uniform_real_distribution<float>(-3, 3)(random); },
      [&] { return std::exponential_distribution<float>(1)(random) * (random() & 1 ? 1.0f : -1.0f); },
  };
  for (const auto& draw : draws) {
    double int16 = 0, fp16 = 0, predicted = 0, bound8 = 0;
    for (int row = 0; row < 2000; ++row) {
      std::vector<float> x(128);
      for (float& value : x) value = draw();
      const Measured m = Measure(x);
      int16 += m.int16, fp16 += m.fp16;
      predicted += m.step * m.step / 12;
      bound8 += m.sigma * m.sigma * 0x1p-22 / 12;
    }
    EXPECT_NEAR(int16 / predicted, 1, 0.02);
    EXPECT_GT(fp16, bound8);
    EXPECT_GT(fp16 / int16, 0.98 * bound8 / predicted);  // that is 256 sigma^2 / M^2
  }
}

// Uniform in [-M, M]: sigma^2 / M^2 = 1/3, so the bound says 85. Within a binade (2^t, 2^(t+1)] FP16's MSE is
// 2^(2t-20) / 12 (step 2^(t-10)); for M a power of two the mean over binades of 2^(2t) is M^2 / 7, and the gain 2^10
// / 7.
TEST(QuantizeInt16Test, GainForUniformValues) {
  std::mt19937 random(5);
  std::vector<float> x(400000);
  for (float& value : x) value = std::uniform_real_distribution<float>(-1, 1)(random);
  const Measured m = Measure(x);
  EXPECT_NEAR(m.sigma * m.sigma / (m.max * m.max), 1.0 / 3, 0.01);
  EXPECT_GT(m.fp16 / m.int16, 256.0 / 3);
  EXPECT_NEAR(m.fp16 / m.int16, 1024.0 / 7, 1.5);
}

TEST(UnpackInt16Test, EveryInt16IsReproducedByTwoF16Values) {
  for (int q = -32768; q <= 32767; ++q) {
    const HiLo parts = UnpackInt16(static_cast<int16_t>(q));
    ASSERT_EQ(static_cast<double>(parts.hi) + static_cast<double>(parts.lo) / 1024, q);
    ASSERT_TRUE(IsF16(parts.hi) && IsF16(parts.lo)) << q;
  }
}

double SplitValue(float x) {
  const HiLo parts = SplitF16(x);
  EXPECT_TRUE(IsF16(parts.hi) && IsF16(parts.lo)) << x;
  return static_cast<double>(parts.hi) + static_cast<double>(parts.lo) / 1024;
}

TEST(SplitF16Test, ReproducesF32) {
  std::mt19937 random(6);
  double worst = 0;
  for (int i = 0; i < 2000000; ++i) {
    const int exponent = static_cast<int>(random() % 30) - 14;
    float x = std::ldexp(1 + static_cast<float>(random() & 0x7fffff) * 0x1p-23f, exponent);
    if (x > 65504) continue;
    if (random() & 1) x = -x;
    worst = std::max(worst, std::fabs(SplitValue(x) - x) / std::fabs(x));
  }
  EXPECT_LE(worst, 0x1p-21);
  EXPECT_GT(worst, 0x1p-23);  // FP32 is not reproduced exactly
}

TEST(SplitF16Test, SmallLargeAndSpecialValues) {
  std::mt19937 random(7);
  for (int i = 0; i < 100000; ++i) {
    const float x =
        std::ldexp(1 + static_cast<float>(random() & 0x7fffff) * 0x1p-23f, -15 - static_cast<int>(random() % 130));
    ASSERT_LE(std::fabs(SplitValue(x) - x), 0x1p-35);
  }
  EXPECT_EQ(SplitValue(65504), 65504);
  EXPECT_EQ(SplitValue(65530), 65530);
  EXPECT_EQ(SplitValue(-1e6f), -(65504 + 65504.0 / 1024));
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(SplitF16(-inf).hi, -inf);
  EXPECT_EQ(SplitF16(-inf).lo, 0);
  EXPECT_TRUE(std::isnan(SplitF16(std::numeric_limits<float>::quiet_NaN()).hi));
}

TEST(WeightScaleTest, LargestWeightLandsBelowTheTopOfF16) {
  EXPECT_EQ(WeightScaleExponent(0), 0);
  for (const float max : {1.0f, 0.99f, 0.02f, 300.0f, 65536.0f, 3e38f, 0x1p-110f}) {
    const float scaled = std::ldexp(max, WeightScaleExponent(max));
    EXPECT_GE(scaled, 0x1p13f) << max;
    EXPECT_LT(scaled, 0x1p14f) << max;
  }
  EXPECT_EQ(WeightScaleExponent(0x1p-140f), kMostScaleExponent);
}

TEST(WeightScaleTest, F16HoldsBf16Weights) {
  for (const float max : {1.0f, 1.9921875f, 0.02001953125f}) {
    const int exponent = WeightScaleExponent(max);
    for (uint32_t bits = 0; bits < 0x7f80; ++bits) {
      const float w = FromBf16(static_cast<uint16_t>(bits));
      if (w > max) break;
      const double held = std::ldexp(static_cast<double>(FromF16(ToF16(std::ldexp(w, exponent)))), -exponent);
      if (w >= max * 0x1p-30f) {
        ASSERT_EQ(held, w);
      }
      ASSERT_LE(std::fabs(held - w), max * 0x1p-38) << w;
    }
  }
}

}  // namespace
}  // namespace samebits::heal
