#include "core/heal/statistics/summary.h"

#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace samebits::heal {
namespace {

TEST(MeanAndSem, ByHand) {
  // Mean 5, squared deviations 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32, sem = sqrt(32 / 7 / 8).
  const MeanSem got = MeanAndSem(std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(got.mean, 5);
  EXPECT_DOUBLE_EQ(got.sem, std::sqrt(32.0 / 56));
  EXPECT_EQ(got.count, 8);
}

TEST(MeanAndSem, WithoutSpread) {
  EXPECT_EQ(MeanAndSem({}).count, 0);
  EXPECT_EQ(MeanAndSem({}).sem, 0);
  EXPECT_TRUE(std::isnan(MeanAndSem(std::vector<double>{3}).sem));
  EXPECT_EQ(MeanAndSem(std::vector<double>{3, 3, 3}).sem, 0);
}

TEST(Moments, PartsJoinAsTheWhole) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> values(0, 2);
  std::vector<double> all;
  Moments joined;
  for (int part = 0; part < 9; ++part) {
    Moments moments;
    for (int i = 0; i < part * 5; ++i) {
      all.push_back(values(random));
      moments.Add(all.back());
    }
    joined.Add(Moments(moments.count(), moments.mean(), moments.squares()));
  }
  const MeanSem whole = MeanAndSem(all), parts = joined.Summary();
  EXPECT_EQ(parts.count, 180);
  EXPECT_NEAR(parts.mean, whole.mean, 1e-12 * whole.mean);
  EXPECT_NEAR(parts.sem, whole.sem, 1e-12 * whole.sem);
}

TEST(Median, OddEvenNone) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(Median({5, 5}), 5);
  EXPECT_TRUE(std::isnan(Median({})));
}

TEST(Quantile, BetweenRanks) {
  EXPECT_EQ(Quantile({40, 10, 30, 20}, 0), 10);
  EXPECT_EQ(Quantile({40, 10, 30, 20}, 1), 40);
  EXPECT_EQ(Quantile({40, 10, 30, 20}, 0.25), 17.5);
  EXPECT_EQ(Quantile({8}, 0.9), 8);
}

TEST(BoxPlot, ByHand) {
  // Quartiles 3, 5, 7: whiskers reach from -3 to 13.
  const BoxPlot box = MakeBoxPlot({1, 2, 3, 4, 5, 6, 7, 13, 100});
  EXPECT_EQ(box.count, 9);
  EXPECT_EQ(box.first, 3);
  EXPECT_EQ(box.median, 5);
  EXPECT_EQ(box.third, 7);
  EXPECT_EQ(box.low, 1);
  EXPECT_EQ(box.high, 13);
  EXPECT_EQ(box.least, 1);
  EXPECT_EQ(box.most, 100);
  EXPECT_NEAR(box.mean, 141.0 / 9, 1e-12);
  EXPECT_THAT(box.outliers, testing::ElementsAre(100));
}

TEST(BoxPlot, KeepsTheFurthestOutliers) {
  std::vector<double> samples(5000, 0.0);
  for (int i = 1; i <= 600; ++i) samples.push_back(i);
  samples.push_back(-1);
  const BoxPlot box = MakeBoxPlot(samples);
  ASSERT_EQ(box.outliers.size(), 257u);
  EXPECT_EQ(box.outliers.front(), -1);
  EXPECT_EQ(box.outliers[1], 345);
  EXPECT_EQ(box.outliers.back(), 600);
  EXPECT_EQ(box.low, 0);
  EXPECT_EQ(box.high, 0);
}

TEST(BoxPlot, None) { EXPECT_EQ(MakeBoxPlot({}).count, 0); }

}  // namespace
}  // namespace samebits::heal
