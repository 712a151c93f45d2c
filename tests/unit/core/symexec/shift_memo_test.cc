// Results are found again for operands that differ by one shift in each group, moved alike, and for no others.

#include "core/symexec/shift_memo.h"

#include "gtest/gtest.h"

namespace samebits::symexec {
namespace {

class ShiftMemoTest : public ::testing::Test {
 protected:
  ShiftMemoTest() : nodes_(1024), memo_(&nodes_) {
    x_ = nodes_.AddBuffer("x", {3, 1});
    y_ = nodes_.AddBuffer("y", {3, 2});
  }
  Lanes Load(expr::BufferId buffer, int64_t offset, ArrayId array = 0, uint32_t symbolic = 0) {
    Lanes v;
    v.nodes = nodes_.Leaf(buffer);
    v.anchors.push_back({array, symbolic, offset});
    return v;
  }
  bool Ask(const std::vector<Lanes>& operands, std::vector<Lanes>* results) {
    memo_.Begin(5);
    for (const Lanes& v : operands) memo_.Operand(v);
    return memo_.Find(results);
  }

  expr::NodeManager nodes_;
  ShiftMemo memo_;
  expr::BufferId x_ = 0, y_ = 0;
};

TEST_F(ShiftMemoTest, EachGroupShiftsByItsOwnNumber) {
  std::vector<Lanes> results;
  ASSERT_FALSE(Ask({Load(x_, 8), Load(x_, 12), Load(y_, 100)}, &results));
  memo_.Add({Load(y_, 104), Load(x_, 16, 3)});
  ASSERT_TRUE(Ask({Load(x_, 1008), Load(x_, 1012), Load(y_, 50)}, &results));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].anchors[0].constant, 54);
  EXPECT_EQ(results[1].anchors[0].constant, 1016);
  EXPECT_EQ(results[1].anchors[0].array, 3u);
  EXPECT_FALSE(Ask({Load(x_, 1008), Load(x_, 1016), Load(y_, 50)}, &results)) << "no longer four bytes apart";
  EXPECT_FALSE(Ask({Load(x_, 1008, 2), Load(x_, 1012), Load(y_, 50)}, &results)) << "other lanes";
  EXPECT_FALSE(Ask({Load(x_, 1008, 0, 1), Load(x_, 1012), Load(y_, 50)}, &results)) << "another symbolic part";
  EXPECT_FALSE(Ask({Load(y_, 1008), Load(y_, 1012), Load(y_, 50)}, &results)) << "another buffer";
}

TEST_F(ShiftMemoTest, WhatDoesNotFollowIsNotKept) {
  std::vector<Lanes> results;
  Lanes mixed = Load(x_, 8);
  mixed.nodes |= kMixed;
  ASSERT_FALSE(Ask({mixed}, &results));
  memo_.Add({Load(x_, 8)});
  EXPECT_FALSE(Ask({mixed}, &results)) << "lanes with nodes of their own";
  ASSERT_FALSE(Ask({Load(x_, 8)}, &results));
  memo_.Add({Load(y_, 8)});
  EXPECT_FALSE(Ask({Load(x_, 8)}, &results)) << "a result of no operand's group";
}

}  // namespace
}  // namespace samebits::symexec
