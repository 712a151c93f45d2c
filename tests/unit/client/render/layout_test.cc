#include "client/render/layout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace samebits::render {
namespace {

checker::Tree TreeOf(const std::vector<std::vector<uint32_t>>& children) {
  checker::Tree tree(children.size());
  for (size_t i = 0; i < children.size(); ++i) tree[i].children = children[i];
  return tree;
}

// Boxes of one level do not touch, all is inside, parents stand over the middle of their outer children.
void CheckTidy(const checker::Tree& tree, const std::vector<double>& widths, double gap) {
  const Layout layout = LayOut(tree, widths, gap);
  ASSERT_EQ(layout.spots.size(), tree.size());
  for (size_t i = 0; i < tree.size(); ++i) {
    const Spot& s = layout.spots[i];
    EXPECT_GE(s.x - widths[i] / 2, -1e-9);
    EXPECT_LE(s.x + widths[i] / 2, layout.width + 1e-9);
    EXPECT_LT(s.level, layout.levels);
    for (size_t j = 0; j < i; ++j) {
      if (layout.spots[j].level != s.level) continue;
      EXPECT_GE(std::abs(s.x - layout.spots[j].x) + 1e-9, (widths[i] + widths[j]) / 2 + gap) << i << " and " << j;
    }
    const auto& children = tree[i].children;
    if (children.empty()) continue;
    EXPECT_NEAR(s.x, (layout.spots[children.front()].x + layout.spots[children.back()].x) / 2, 1e-9);
    for (const uint32_t c : children) EXPECT_EQ(layout.spots[c].level, s.level + 1);
  }
}

TEST(LayoutTest, SmallTrees) {
  CheckTidy(TreeOf({{}}), {30}, 10);
  CheckTidy(TreeOf({{1, 2}, {3, 4}, {5, 6}, {}, {}, {}, {}}), {30, 30, 30, 30, 30, 30, 30}, 10);
  CheckTidy(TreeOf({{1, 2}, {}, {3, 4}, {}, {}}), {200, 10, 10, 90, 90}, 5);
  EXPECT_TRUE(LayOut({}, {}, 10).spots.empty());
}

TEST(LayoutTest, NarrowSubtreesNestUnderWideOnes) {
  // A deep chain beside a leaf takes no more room than its widest level.
  const Layout layout = LayOut(TreeOf({{1, 2}, {}, {3}, {4}, {}}), {20, 20, 20, 20, 20}, 10);
  EXPECT_NEAR(layout.width, 50, 1e-9);
  EXPECT_EQ(layout.levels, 4);
}

TEST(LayoutTest, RandomTrees) {
  for (uint32_t seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    checker::Tree tree(100);
    std::vector<double> widths;
    for (uint32_t i = 0; i < tree.size(); ++i) {
      widths.push_back(10 + random() % 150);
      if (i > 0) tree[random() % i].children.push_back(i);
    }
    SCOPED_TRACE(seed);
    CheckTidy(tree, widths, 8);
  }
}

}  // namespace
}  // namespace samebits::render
