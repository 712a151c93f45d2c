#include "client/cli/tree_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/human_report.h"

namespace samebits::cli {
namespace {

using checker::Scope;
using checker::Tree;
using checker::TreeNode;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Kind = TreeNode::Kind;
using Match = TreeNode::Match;

// sum(common, x[0]) against sum(x[4] * 2, common).
Tree First() {
  Tree tree(3);
  tree[0] = {Kind::kOperation, Match::kAlike, Scope::kShared, Scope::kThread, "fadd", "", {1, 2}, 0, 0, 0, {7, 0, "add.f32 %f1, %f2, %f3", "/a/b/k.py:4, inlined at m.py:9"}};
  tree[1] = {Kind::kOperation, Match::kSame, Scope::kWarp, Scope::kShared, "fmul", "y[0], y[4], ... y[60] (16 terms)", {}, 2, 1, 15, {6, 0, "mul", ""}};
  tree[2] = {Kind::kLoad, Match::kParts, Scope::kUnknown, Scope::kGlobal, "x[0]", "", {}, 1, 0, 0, {}};
  return tree;
}
Tree Second() {
  Tree tree(5);
  tree[0] = {Kind::kOperation, Match::kAlike, Scope::kWarp, Scope::kThread, "fadd", "", {1, 2}, 0, 0, 0, {70, 0, "add.f32 %f4, %f5, %f6", ""}};
  tree[1] = {Kind::kOperation, Match::kParts, Scope::kThread, Scope::kThread, "fmul", "", {3, 4}, 2, 0, 0, {}};
  tree[2] = {Kind::kOperation, Match::kSame, Scope::kWarp, Scope::kShared, "fmul", "y[0], y[4], ... y[60] (16 terms)", {}, 1, 1, 15, {}};
  tree[3] = {Kind::kLoad, Match::kOwn, Scope::kUnknown, Scope::kGlobal, "x[4]", "", {}, TreeNode::kNone, 0, 0, {}};
  tree[4] = {Kind::kConstant, Match::kOwn, Scope::kUnknown, Scope::kThread, "2", "", {}, TreeNode::kNone, 0, 0, {}};
  return tree;
}

TEST(TreeRowsTest, WhatStandsAtOnePlaceStandsInOneRow) {
  const std::vector<TreeRow> rows = TreeRows(First(), Second());
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0].a.text, "fadd [shared] @7");
  EXPECT_EQ(rows[0].b.text, "fadd [warp] @70");
  EXPECT_FALSE(rows[0].differs);
  EXPECT_EQ(rows[1].a.text, "  fmul #1 [warp] @6: y[0], y[4], ... y[60] (16 terms)");
  EXPECT_TRUE(rows[1].a.is_same);
  EXPECT_FALSE(rows[1].differs);
  EXPECT_EQ(rows[2].a.text, "  x[0]");
  EXPECT_EQ(rows[2].b.text, "  fmul");
  EXPECT_TRUE(rows[2].differs);
  EXPECT_EQ(rows[3].a.text, "");
  EXPECT_EQ(rows[3].b.text, "    x[4]");
  EXPECT_EQ(rows[4].b.text, "    2");
}

TEST(TreeRowsTest, ATreeAloneStandsAlone) {
  const std::vector<TreeRow> rows = TreeRows({}, Second());
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[4].a.text, "");
  EXPECT_TRUE(TreeRows({}, {}).empty());
}

TEST(TreeRowsTest, PartnersThatDoNotExistAreIgnored) {
  Tree a = First(), b = Second();
  a[1].partner = 100;
  b[2].partner = 119;
  EXPECT_EQ(TreeRows(a, b).size(), 5u);
}

TEST(TreeRowsTest, DeepTreesKeepRoomForText) {
  Tree chain(checker::kMaxTreeNodes);
  for (uint32_t i = 0; i < chain.size(); ++i) {
    chain[i].text = "fadd";
    if (i + 1 < chain.size()) chain[i].children = {i + 1};
  }
  for (const TreeRow& row : TreeRows(chain, {})) EXPECT_LE(DisplayWidth(row.a.text), 52u);
}

TEST(TreeRowsTest, CellsFitAndHaveTheScopesColour) {
  const TreeCell warp{"fadd [warp] of many things", Scope::kWarp, false};
  EXPECT_EQ(ShowCell(warp, 10, Style(false)), "fadd [war…");
  EXPECT_EQ(ShowCell(warp, 30, Style(false)).size(), 30u);
  EXPECT_EQ(ShowCell(warp, 10, Style(true)), "\033[33mfadd [war…\033[0m");
  EXPECT_EQ(ShowCell({"x", Scope::kThread, true}, 3, Style(true)), "\033[2mx  \033[0m");
}

TEST(HumanTreesTest, BothSidesWithTheirInstructions) {
  checker::Difference d;
  d.summary = "the trees part";
  d.buffer = "out";
  d.a.nodes = First();
  d.b.nodes = Second();
  const std::string wide = HumanDifference(d, "a.ptx", "b.ptx", {Style(false), 120});
  EXPECT_THAT(wide, AllOf(HasSubstr("fadd [shared] @7"), HasSubstr("│ fadd [warp] @70\n"), HasSubstr("≠   fmul\n"), Not(HasSubstr("\033")),
                          HasSubstr("\n  a.ptx\n    @6  mul\n    @7  add.f32 %f1, %f2, %f3  k.py:4, inlined at m.py:9\n")));
  const std::string narrow = HumanDifference(d, "a.ptx", "b.ptx", {Style(false), 60});
  EXPECT_THAT(narrow, AllOf(Not(HasSubstr("│")), HasSubstr("\n  b.ptx\n    fadd [warp] @70\n"), HasSubstr("  ≠   x[0]\n")));
  EXPECT_THAT(HumanDifference(d, "a", "b", {Style(true), 120}), HasSubstr("\033[35mfadd [shared] @7"));
}

TEST(HumanTreesTest, ControlCharactersOfKernelsDoNotReachTheTerminal) {
  checker::Difference d;
  d.a.nodes = First();
  d.a.nodes[0].text = "fa\033[31mdd\n";
  d.a.nodes[0].place.instruction = "add\033[2J";
  d.b.nodes = Second();
  EXPECT_THAT(HumanDifference(d, "a", "b", {Style(false), 120}), AllOf(Not(HasSubstr("\033")), HasSubstr("fa?[31mdd?")));
}

TEST(HumanTreesTest, LongTreesShowTheirHeadAndTheFirstDifference) {
  checker::Difference d;
  d.a.nodes.resize(checker::kMaxTreeNodes);
  for (uint32_t i = 0; i < d.a.nodes.size(); ++i) {
    d.a.nodes[i].text = "n" + std::to_string(i);
    d.a.nodes[i].match = i == 100 ? Match::kParts : Match::kAlike;
    d.a.nodes[i].partner = i;
    if (i > 0) d.a.nodes[0].children.push_back(i);
  }
  d.b.nodes = d.a.nodes;
  const std::string text = HumanDifference(d, "a", "b", {Style(false), 120});
  EXPECT_THAT(text, AllOf(HasSubstr("n9 "), HasSubstr("≠   n100\n"), HasSubstr("more lines"), Not(HasSubstr("n20 "))));
}

}  // namespace
}  // namespace samebits::cli
