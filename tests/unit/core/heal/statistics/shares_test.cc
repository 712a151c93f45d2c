#include "core/heal/statistics/shares.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace samebits::heal {
namespace {

TEST(LocalShares, ByHand) {
  const Shares shares =
      LocalShares({.beta_a = 1, .beta_k = 3, .beta_m = 2, .lambda_pk = 0.5, .e_post = 4, .e_next = 8});
  EXPECT_EQ(shares.attention, 0.25);
  EXPECT_EQ(shares.kv, 0.375);
  EXPECT_EQ(shares.mlp, 0.25);
}

TEST(LocalShares, OfNoError) {
  const Shares shares = LocalShares({.beta_a = 1, .beta_k = 3, .beta_m = 2, .lambda_pk = 0.5});
  EXPECT_EQ(shares.attention, 0);
  EXPECT_EQ(shares.kv, 0);
  EXPECT_EQ(shares.mlp, 0);
}

TEST(Allocate, ByHand) {
  const std::vector<Shares> local = {{.attention = 0.5, .kv = 0.25, .mlp = 0.5},
                                     {.attention = 0.25, .kv = 0.25, .mlp = 0.25}};
  const Allocation got = Allocate(local);
  // Last layer: mlp 1/4, then 3/4: 3/16 each, 3/8 left. First layer: mlp 3/16, then 3/16: 3/32, 3/64, 3/64 left.
  EXPECT_EQ(got.layers[1].mlp, 0.25);
  EXPECT_EQ(got.layers[1].attention, 3.0 / 16);
  EXPECT_EQ(got.layers[1].kv, 3.0 / 16);
  EXPECT_EQ(got.layers[0].mlp, 3.0 / 16);
  EXPECT_EQ(got.layers[0].attention, 3.0 / 32);
  EXPECT_EQ(got.layers[0].kv, 3.0 / 64);
  EXPECT_EQ(got.remainder, 3.0 / 64);
}

TEST(Allocate, SumsToOneWhateverTheShares) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> share(-0.3, 1.2);
  for (int layers = 0; layers < 40; ++layers) {
    std::vector<Shares> local(layers);
    for (Shares& s : local) s = {share(random) / 2, share(random) / 2, share(random)};
    const Allocation got = Allocate(local);
    EXPECT_NEAR(got.total.attention + got.total.kv + got.total.mlp + got.remainder, 1, 1e-12) << layers;
  }
}

TEST(ShapleyRatio, ByHand) {
  EXPECT_EQ(ShapleyRatio(8, 6, 2), 0.25);   // half of 2/8 and 2/8
  EXPECT_EQ(ShapleyRatio(4, 4, 0), 0);      // truncation alone
  EXPECT_EQ(ShapleyRatio(4, 0, 4), 1);      // arithmetic alone
  EXPECT_TRUE(std::isnan(ShapleyRatio(0, 0, 0)));
}

}  // namespace
}  // namespace samebits::heal
