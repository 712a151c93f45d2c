#include "core/heal/reference/product.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <random>

#include "core/heal/numerics/quantize.h"
#include "core/heal/numerics/rounding.h"

namespace samebits::heal {
namespace {

TEST(DotTest, IsInTheStatedOrder) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (const int count : {0, 1, 7, 8, 9, 64, 131}) {
    std::vector<double> a, b, sum(8);
    for (int i = 0; i < count; ++i) {
      a.push_back(normal(random)), b.push_back(normal(random));
      sum[i % 8] += a[i] * b[i];
    }
    EXPECT_EQ(Dot(a.data(), b.data(), count),
              ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7])));
  }
}

// Every BF16 weight, by way of FP16 patterns.
TEST(WeightRowTest, F16HoldsWhatItsPatternsHold) {
  std::vector<uint16_t> weights;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    if ((bits & 0x7f80) != 0x7f80) weights.push_back(static_cast<uint16_t>(bits));
  }
  std::vector<double> row(weights.size());
  for (const int exponent : {-114, -20, -3, 0, 1, 17, 60, kMostScaleExponent}) {
    WeightRow(GemmInput::kF16, exponent, weights.data(), row);
    for (size_t i = 0; i < weights.size(); ++i) {
      const double w = FromBf16(weights[i]), scaled = std::ldexp(w, exponent);
      if (std::fabs(scaled) >= 0x1p14) continue;  // beyond what WeightScaleExponent lets happen
      const double held = std::ldexp(static_cast<double>(FromF16(ToF16(static_cast<float>(scaled)))), -exponent);
      ASSERT_EQ(row[i], held) << std::hex << weights[i] << " " << exponent;
    }
  }
}

TEST(WeightRowTest, OthersAreTheWeights) {
  const std::vector<uint16_t> weights = {0x0001, 0x3f80, 0xc2f7};
  std::vector<double> row(3);
  for (const GemmInput input : {GemmInput::kBf16, GemmInput::kTf32, GemmInput::kF32}) {
    WeightRow(input, 5, weights.data(), row);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(row[i], FromBf16(weights[i]));
  }
}

TEST(InputValueTest, F16SaturatesAndKeepsWhatIsNotFinite) {
  EXPECT_EQ(InputValue(GemmInput::kF16, 65519), 65504);
  EXPECT_EQ(InputValue(GemmInput::kF16, -1e30f), -65504);
  EXPECT_EQ(InputValue(GemmInput::kF16, -INFINITY), -INFINITY);
  EXPECT_TRUE(std::isnan(InputValue(GemmInput::kF16, NAN)));
  EXPECT_EQ(InputValue(GemmInput::kF16Compensated, 65530), 65530);
  EXPECT_TRUE(std::isnan(InputValue(GemmInput::kF16Compensated, NAN)));
  EXPECT_EQ(InputValue(GemmInput::kBf16, 65519), 65536);
  EXPECT_EQ(InputValue(GemmInput::kTf32, 1 + 0x1p-11f), 1 + 0x1p-10);
  EXPECT_EQ(InputValue(GemmInput::kF32, 1 + 0x1p-23f), 1 + 0x1p-23);
}

TEST(MultiplyTest, RoundsTheSumOnceAndAddsTheBias) {
  // 1 + 2^-24 + 2^-24: FP32 sums in order would stay at 1
  const std::vector<uint16_t> weights = {ToBf16(1), ToBf16(0x1p-24f), ToBf16(0x1p-24f)}, bias = {ToBf16(-0.5f)};
  WeightMatrix matrix = {.values = weights, .outputs = 1, .inputs = 3};
  WorkerThreads threads(1);
  float y = 0;
  Multiply(GemmInput::kF32, matrix, std::vector<float>{1, 1, 1}, 1, threads, {&y, 1});
  EXPECT_EQ(y, 1 + 0x1p-23f);
  matrix.bias = bias;
  Multiply(GemmInput::kF32, matrix, std::vector<float>{1, 1, 1}, 1, threads, {&y, 1});
  EXPECT_EQ(y, 0.5f + 0x1p-23f);
}

TEST(WorkerThreadsTest, EveryItemIsDoneOnce) {
  for (const int count : {1, 2, 5}) {
    WorkerThreads threads(count);
    for (const int64_t items : {0, 1, 3, 4, 1000}) {
      for (int repeat = 0; repeat < 50; ++repeat) {
        std::vector<std::atomic<int>> done(static_cast<size_t>(items));
        threads.Run(items, 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) ++done[i];
        });
        for (const auto& times : done) ASSERT_EQ(times, 1);
      }
    }
  }
}

}  // namespace
}  // namespace samebits::heal
