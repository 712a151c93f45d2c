#include "core/heal/statistics/theil_sen.h"

#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace samebits::heal {
namespace {

TEST(TheilSen, ByHand) {
  // Slopes 1, 2, 5 / 3, 3, 2, 1 in the order of pairs: sorted 1, 1, 5/3, 2, 2, 3, median (5/3 + 2) / 2.
  const std::vector<double> x = {0, 1, 2, 3}, y = {0, 1, 4, 5};
  EXPECT_NEAR(*TheilSenSlope(x, y), (5.0 / 3 + 2) / 2, 1e-15);
}

TEST(TheilSen, EqualXAreNoPair) {
  const std::vector<double> x = {1, 1, 2}, y = {0, 100, 200};  // slopes 200 and 100
  EXPECT_EQ(*TheilSenSlope(x, y), 150);
  EXPECT_FALSE(TheilSenSlope(std::vector<double>{4, 4}, std::vector<double>{1, 2}).has_value());
  EXPECT_FALSE(TheilSenSlope(std::vector<double>{4}, std::vector<double>{1}).has_value());
  EXPECT_FALSE(TheilSenSlope({}, {}).has_value());
}

struct Planted {
  std::vector<double> x1, x2, y;
};

// y = a x1 + b x2 + c with noise of 1 % and every `wild`-th y 1,000 times too large.
Planted Plant(int rows, double a, double b, double c, int wild, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> feature(0, 1);
  std::normal_distribution<double> noise(0, 0.01);
  Planted planted;
  for (int i = 0; i < rows; ++i) {
    planted.x1.push_back(feature(random));
    planted.x2.push_back(feature(random));
    double y = a * planted.x1[i] + b * planted.x2[i] + c + noise(random);
    if (wild > 0 && i % wild == 0) y *= 1000;
    planted.y.push_back(y);
  }
  return planted;
}

TEST(TheilSen, FindsASlopeUnderOutliers) {
  const Planted planted = Plant(400, 0.75, 0, 2, 20, 1);
  EXPECT_NEAR(*TheilSenSlope(planted.x1, planted.y), 0.75, 0.01);
}

TEST(TheilSen, SubsampledPairsAgreeAndAreDeterministic) {
  const Planted planted = Plant(1500, 0.75, 0, 2, 20, 2);
  const double all = *TheilSenSlope(planted.x1, planted.y, 1500 * 1499 / 2);
  const double some = *TheilSenSlope(planted.x1, planted.y, 50000);
  EXPECT_NE(all, some);
  EXPECT_NEAR(some, all, 0.005);
  EXPECT_EQ(some, *TheilSenSlope(planted.x1, planted.y, 50000));
  EXPECT_NEAR(*TheilSenSlope(planted.x1, planted.y, 1), all, 0.05);  // one offset at least
}

TEST(FitLine, OffsetIsTheMeanRest) {
  const std::vector<double> x = {0, 1, 2, 3}, y = {5, 7, 9, 11};
  const LineFit fit = FitLine(x, y);
  EXPECT_EQ(fit.slope, 2);
  EXPECT_EQ(fit.offset, 5);
  const LineFit flat = FitLine(std::vector<double>{0, 0}, std::vector<double>{3, 5});
  EXPECT_EQ(flat.slope, 0);
  EXPECT_EQ(flat.offset, 4);
}

TEST(FitPlane, FindsBothSlopesUnderOutliers) {
  const Planted planted = Plant(400, 0.5, 3, 0.25, 25, 3);
  const PlaneFit fit = FitPlane(planted.x1, planted.x2, planted.y);
  EXPECT_TRUE(fit.settled);
  EXPECT_NEAR(fit.first, 0.5, 0.05);
  EXPECT_NEAR(fit.second, 3, 0.05);
}

TEST(FitPlane, OffsetWithoutOutliers) {
  const Planted planted = Plant(300, 0.5, 3, 0.25, 0, 4);
  const PlaneFit fit = FitPlane(planted.x1, planted.x2, planted.y);
  EXPECT_TRUE(fit.settled);
  EXPECT_NEAR(fit.first, 0.5, 0.01);
  EXPECT_NEAR(fit.second, 3, 0.01);
  EXPECT_NEAR(fit.offset, 0.25, 0.02);
}

TEST(FitPlane, AFeatureThatIsZeroThroughout) {
  const std::vector<double> none = {0, 0, 0}, x = {1, 2, 4}, y = {3, 5, 9};
  const PlaneFit fit = FitPlane(none, x, y);
  EXPECT_TRUE(fit.settled);
  EXPECT_EQ(fit.first, 0);
  EXPECT_EQ(fit.second, 2);
  EXPECT_NEAR(fit.offset, 1, 1e-15);
}

TEST(FitPlane, SaysWhenItDidNotSettle) {
  std::vector<double> x1, x2, y;  // nearly the same feature twice: updates creep
  for (int i = 0; i < 40; ++i) {
    x1.push_back(i);
    x2.push_back(i + 1e-3 * ((i * 7) % 5));
    y.push_back(i + 5e-2 * ((i * 11) % 7));
  }
  const PlaneFit fit = FitPlane(x1, x2, y);
  EXPECT_EQ(fit.settled, fit.rounds < 64);
  EXPECT_NEAR(fit.first + fit.second, 1, 0.05);
}

}  // namespace
}  // namespace samebits::heal
