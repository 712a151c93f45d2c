#include "proto/convert/tree.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/convert/convert.h"

namespace samebits::proto {
namespace {

using checker::Scope;
using checker::TreeNode;

checker::Tree ThreeNodes() {
  checker::Tree tree(3);
  tree[0] = {TreeNode::Kind::kOperation, TreeNode::Match::kAlike, Scope::kWarp, Scope::kThread, "fadd", "", {1, 2}, 0, 0, 0,
             {7, 0, "add.f32 %f1, %f2, %f3", "k.py:4"}};
  tree[1] = {TreeNode::Kind::kLoad, TreeNode::Match::kParts, Scope::kUnknown, Scope::kGlobal, "x[0]", "", {}, 1, 0, 0, {}};
  tree[2] = {TreeNode::Kind::kFold, TreeNode::Match::kSame, Scope::kShared, Scope::kShared, "... 9 more", "x[4], ...", {}, TreeNode::kNone, 3, 1ull << 40, {}};
  return tree;
}

TEST(TreeConvertTest, TreesSurviveTheRoundTrip) {
  checker::Comparison comparison;
  comparison.difference.emplace();
  comparison.difference->a.nodes = ThreeNodes();
  comparison.difference->a.thread = {5, 1, 0};
  comparison.difference->a.block = {2, 0, 1};
  v1::Comparison message;
  VerdictToProto(comparison, &message);
  EXPECT_FALSE(message.difference().b().has_thread()) << "nothing is stored there";
  const checker::PartingSide back = ComparisonFromProto(message).difference->a;
  EXPECT_EQ(back.thread, comparison.difference->a.thread);
  EXPECT_EQ(back.block, comparison.difference->a.block);
  ASSERT_EQ(back.nodes.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const TreeNode &x = comparison.difference->a.nodes[i], &y = back.nodes[i];
    EXPECT_EQ(x.kind, y.kind);
    EXPECT_EQ(x.match, y.match);
    EXPECT_EQ(x.scope, y.scope);
    EXPECT_EQ(x.reached, y.reached);
    EXPECT_EQ(x.text, y.text);
    EXPECT_EQ(x.detail, y.detail);
    EXPECT_EQ(x.children, y.children);
    EXPECT_EQ(x.partner, y.partner);
    EXPECT_EQ(x.label, y.label);
    EXPECT_EQ(x.folded, y.folded);
    EXPECT_EQ(x.place.line, y.place.line);
    EXPECT_EQ(x.place.source, y.place.source);
  }
}

TEST(TreeConvertTest, TextIsMadeValidUtf8) {
  checker::Tree tree(1);
  tree[0].text = "bad \xff";
  v1::PartingSide message;
  TreeToProto(tree, &message);
  EXPECT_EQ(message.nodes(0).text(), "bad \xef\xbf\xbd");
}

TEST(TreeConvertTest, WhatIsNoTreeBecomesOne) {
  v1::PartingSide message;
  for (int i = 0; i < 5; ++i) message.add_nodes()->set_text("n");
  for (const uint32_t child : {0u, 1u, 1u, 2u, 99u}) message.mutable_nodes(0)->add_children(child);
  message.mutable_nodes(1)->add_children(0);
  message.mutable_nodes(1)->add_children(2);
  message.mutable_nodes(1)->add_children(3);
  message.mutable_nodes(2)->set_partner(4'000'000);
  message.mutable_nodes(3)->set_kind(static_cast<v1::TreeNode::Kind>(77));
  message.mutable_nodes(3)->set_match(static_cast<v1::TreeNode::Match>(77));
  message.mutable_nodes(3)->set_scope(static_cast<v1::Scope>(77));
  const checker::Tree tree = TreeFromProto(message);
  EXPECT_EQ(tree[0].children, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(tree[1].children, (std::vector<uint32_t>{3}));
  EXPECT_EQ(tree[2].partner, TreeNode::kNone);
  EXPECT_EQ(tree[3].kind, TreeNode::Kind::kOperation);
  EXPECT_EQ(tree[3].match, TreeNode::Match::kOwn);
  EXPECT_EQ(tree[3].scope, Scope::kUnknown);
  for (int i = 0; i < 10'000; ++i) message.add_nodes();
  EXPECT_EQ(TreeFromProto(message).size(), checker::kMaxTreeNodes);
}

}  // namespace
}  // namespace samebits::proto
