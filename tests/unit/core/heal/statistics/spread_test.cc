#include "core/heal/statistics/spread.h"

#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace samebits::heal {
namespace {

TEST(Spread, ByHand) {
  const Spread spread = SpreadOf(std::vector<float>{1, -3, 1, 1, 5});  // mean 1, deviations 0, 16, 0, 0, 16
  EXPECT_EQ(spread.abs_max, 5);
  EXPECT_DOUBLE_EQ(spread.sigma, std::sqrt(32.0 / 5));
  EXPECT_DOUBLE_EQ(spread.mean_square, 37.0 / 5);
  EXPECT_TRUE(std::isinf(SpreadOf(std::vector<float>{2, 2}).ratio()));
}

TEST(PredictedMse, Int16IsWhatRoundingToTheGridCosts) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> value(-8, 8);
  const double step = 8.0 / 32767;
  double sum = 0;
  const int n = 200000;
  for (int i = 0; i < n; ++i) {
    const double v = value(random), rounded = std::nearbyint(v / step) * step;
    sum += (v - rounded) * (v - rounded);
  }
  EXPECT_NEAR(sum / n, PredictedInt16Mse(8), 0.02 * PredictedInt16Mse(8));
}

TEST(PredictedMse, F16IsALowerBoundWithinFour) {
  std::mt19937_64 random(6);
  std::normal_distribution<double> value(0, 1);
  double sum = 0, squares = 0;
  const int n = 200000;
  for (int i = 0; i < n; ++i) {
    const double v = value(random);
    int exponent = 0;
    std::frexp(v, &exponent);  // 2^(exponent - 1) <= |v|: 11 significant bits are steps of 2^(exponent - 11)
    const double step = std::ldexp(1.0, exponent - 11), rounded = std::nearbyint(v / step) * step;
    sum += (v - rounded) * (v - rounded);
    squares += v * v;
  }
  const double predicted = PredictedF16Mse(squares / n);
  EXPECT_GT(sum / n, predicted);
  EXPECT_LT(sum / n, 4 * predicted);
}

TEST(MeanSquaredError, ByHand) {
  EXPECT_EQ(MeanSquaredError(std::vector<float>{1, 2}, std::vector<float>{1, 5}), 4.5);
  EXPECT_EQ(MeanSquaredError({}, {}), 0);
}

}  // namespace
}  // namespace samebits::heal
