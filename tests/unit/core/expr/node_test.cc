#include "core/expr/node.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace samebits::expr {
namespace {

class NodeTest : public ::testing::Test {
 protected:
  NodeTest() : nodes_(1u << 20), x_(nodes_.AddBuffer("x", {1, 1})), y_(nodes_.AddBuffer("y", {1, 2})) {}

  Scalar Leaf(BufferId buffer, int64_t offset, SymbolicId symbolic = 0) {
    Scalar s;
    s.node = nodes_.Leaf(buffer);
    s.slots = 1;
    s.anchor[0] = {offset, symbolic, buffer, 0};
    return s;
  }
  Scalar Make(Fn fn, uint64_t attr, int width, const std::vector<Scalar>& children, uint8_t facts = 0) {
    Scalar s;
    EXPECT_TRUE(nodes_.Make(fn, attr, width, facts, children.data(), static_cast<int>(children.size()), &s));
    return s;
  }
  Scalar Add(const Scalar& a, const Scalar& b) { return Make(Fn::kFAdd, 3, 32, {a, b}); }

  NodeManager nodes_;
  BufferId x_, y_;
};

TEST_F(NodeTest, EqualContentIsOneNode) {
  const Scalar a = Add(Leaf(x_, 0), Leaf(y_, 4));
  EXPECT_EQ(Add(Leaf(x_, 0), Leaf(y_, 4)).node, a.node);
  EXPECT_NE(Add(Leaf(y_, 4), Leaf(x_, 0)).node, a.node);
  EXPECT_NE(Make(Fn::kFMul, 3, 32, {Leaf(x_, 0), Leaf(y_, 4)}).node, a.node);
  EXPECT_NE(Make(Fn::kFAdd, 4, 32, {Leaf(x_, 0), Leaf(y_, 4)}).node, a.node);
  EXPECT_NE(Make(Fn::kFAdd, 3, 16, {Leaf(x_, 0), Leaf(y_, 4)}).node, a.node);
  EXPECT_EQ(nodes_.Const(5, 32), nodes_.Const(5, 32));
  EXPECT_NE(nodes_.Const(5, 32), nodes_.Const(5, 16));
  EXPECT_EQ(nodes_.Const(0x1ffff, 16), nodes_.Const(0xffff, 16));
  EXPECT_NE(nodes_.Int(32), nodes_.Int(64));
  EXPECT_NE(nodes_.Param(0, 32), nodes_.Param(1, 32));
}

TEST_F(NodeTest, TranslationKeepsTheNode) {
  const Scalar near = Add(Leaf(x_, 8), Leaf(x_, 12));
  const Scalar far = Add(Leaf(x_, 4008), Leaf(x_, 4012));
  EXPECT_EQ(near.node, far.node);
  ASSERT_EQ(far.slots, 1);
  EXPECT_EQ(far.anchor[0].offset - near.anchor[0].offset, 4000);
  EXPECT_NE(Add(Leaf(x_, 8), Leaf(x_, 16)).node, near.node) << "another distance";
  EXPECT_NE(Add(Leaf(x_, 12), Leaf(x_, 8)).node, near.node) << "another order";
}

TEST_F(NodeTest, SlotsOfOneBufferAndSymbolicPartMerge) {
  EXPECT_EQ(Add(Leaf(x_, 0, 7), Leaf(x_, 4, 7)).slots, 1);
  EXPECT_EQ(Add(Leaf(x_, 0, 7), Leaf(x_, 4, 8)).slots, 2);
  EXPECT_EQ(Add(Leaf(x_, 0), Leaf(y_, 4)).slots, 2);
  // Two slots of one buffer are another shape than one slot used twice.
  EXPECT_NE(Add(Leaf(x_, 0, 7), Leaf(x_, 0, 8)).node, Add(Leaf(x_, 0, 7), Leaf(x_, 0, 7)).node);
  // The symbolic part itself is not in the node.
  EXPECT_EQ(Add(Leaf(x_, 0, 7), Leaf(y_, 0, 8)).node, Add(Leaf(x_, 0, 9), Leaf(y_, 0, 9)).node);
}

TEST_F(NodeTest, ChildrenComeBackWithTheirAnchors) {
  const Scalar a = Add(Leaf(x_, 100), Leaf(y_, 40));
  const Scalar b = Add(a, Leaf(x_, 96));
  const Scalar left = nodes_.ChildScalar(b, 0), right = nodes_.ChildScalar(b, 1);
  EXPECT_EQ(left.node, a.node);
  EXPECT_EQ(left.anchor[0].offset, 100);
  EXPECT_EQ(left.anchor[1].offset, 40);
  EXPECT_EQ(left.anchor[1].buffer, y_);
  EXPECT_EQ(right.anchor[0].offset, 96);
  EXPECT_EQ(nodes_.slot_buffer(b.node, 0), x_);
  EXPECT_EQ(nodes_.slot_buffer(b.node, 1), y_);
}

TEST_F(NodeTest, TooManySlotsOrShiftsBeyondAWordAreRefused) {
  std::vector<Scalar> children;
  for (int i = 0; i <= kMaxSlots; ++i) children.push_back(Leaf(x_, 0, static_cast<SymbolicId>(i + 1)));
  Scalar out;
  EXPECT_FALSE(nodes_.Make(Fn::kVector, 32, 0, 0, children.data(), kMaxSlots + 1, &out));
  EXPECT_TRUE(nodes_.Make(Fn::kVector, 32, 0, 0, children.data(), kMaxSlots, &out));
  const Scalar pair[2] = {Leaf(x_, 0), Leaf(x_, int64_t{1} << 55)};
  EXPECT_FALSE(nodes_.Make(Fn::kFAdd, 3, 32, 0, pair, 2, &out));
}

TEST_F(NodeTest, DigestsDependOnContentOnly) {
  const Scalar first = Add(Add(Leaf(x_, 0), Leaf(y_, 0)), Leaf(x_, 4));
  // Another manager, other buffers and nodes made before.
  NodeManager other(1u << 20);
  other.AddBuffer("unrelated", {9, 9});
  const BufferId y = other.AddBuffer("renamed", {1, 2}), x = other.AddBuffer("too", {1, 1});
  for (int i = 0; i < 100; ++i) other.Const(static_cast<uint64_t>(i), 32);
  auto leaf = [&](BufferId b, int64_t offset) {
    Scalar s;
    s.node = other.Leaf(b);
    s.slots = 1;
    s.anchor[0] = {offset, 3, b, 0};
    return s;
  };
  Scalar inner, outer;
  const Scalar a[2] = {leaf(x, 1000), leaf(y, 80)};
  ASSERT_TRUE(other.Make(Fn::kFAdd, 3, 32, 0, a, 2, &inner));
  const Scalar b[2] = {inner, leaf(x, 1004)};
  ASSERT_TRUE(other.Make(Fn::kFAdd, 3, 32, 0, b, 2, &outer));
  EXPECT_EQ(other[outer.node].digest, nodes_[first.node].digest);
}

TEST_F(NodeTest, DigestsTellBuffersShiftsAndOperationsApart) {
  const std::vector<Scalar> different = {
      Add(Leaf(x_, 0), Leaf(x_, 4)), Add(Leaf(x_, 0), Leaf(x_, 8)), Add(Leaf(x_, 0), Leaf(y_, 4)),
      Add(Leaf(y_, 0), Leaf(x_, 4)), Add(Leaf(x_, 0, 1), Leaf(x_, 4, 2)), Make(Fn::kFMul, 3, 32, {Leaf(x_, 0), Leaf(x_, 4)}),
      Make(Fn::kFAdd, 3, 32, {Leaf(x_, 0), Leaf(x_, 4), Leaf(x_, 4)})};
  for (size_t i = 0; i < different.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      EXPECT_NE(nodes_[different[i].node].digest, nodes_[different[j].node].digest) << i << " " << j;
}

TEST_F(NodeTest, WhatHoldsSomethingUndefinedKnowsIt) {
  Scalar undef;
  undef.node = nodes_.Undef();
  const Scalar clean = Add(Leaf(x_, 0), Leaf(x_, 4)), tainted = Add(clean, undef), above = Add(tainted, clean);
  EXPECT_EQ(nodes_[clean.node].facts & kHoldsUndef, 0);
  EXPECT_NE(nodes_[tainted.node].facts & kHoldsUndef, 0);
  EXPECT_NE(nodes_[above.node].facts & kHoldsUndef, 0);
}

TEST_F(NodeTest, TheTableSurvivesGrowth) {
  std::vector<NodeId> ids;
  for (uint64_t i = 0; i < 60'000; ++i) ids.push_back(nodes_.Const(i * 977, 64));
  for (uint64_t i = 0; i < 60'000; ++i) ASSERT_EQ(nodes_.Const(i * 977, 64), ids[i]);
}

TEST_F(NodeTest, ExhaustionIsVisible) {
  NodeManager small(10);
  EXPECT_FALSE(small.exhausted());
  for (uint64_t i = 0; i < 10; ++i) small.Const(i, 32);
  EXPECT_TRUE(small.exhausted());
}

// Digests enter stored signatures: a change needs a new signature version.
TEST_F(NodeTest, GoldenDigests) {
  struct Golden {
    const char* what;
    NodeId node;
    Digest128 digest;
  };
  for (const Golden& g : std::vector<Golden>{
           {"constant", nodes_.Const(0x3f800000, 32), {0xf3f94ab8ac43af7c, 0xb30f39fbdd95fd28}},
           {"load", nodes_.Leaf(x_), {0x4a1dd1079d4de5e3, 0x8b9a3be3b6ef46ff}},
           {"integer", nodes_.Int(32), {0xd942ea7000512ad, 0xd0da58a51dd3a8fe}},
           {"argument", nodes_.Param(2, 64), {0x5690d6836a766038, 0x57aca2f4c4938aea}},
           {"sum", Add(Leaf(x_, 0), Leaf(y_, 4)).node, {0xf9e93860b238cf9e, 0x83fa0447842911bf}},
           {"sum of neighbours", Add(Leaf(x_, 0), Leaf(x_, 4)).node, {0xd4d1d999b6524827, 0xbe5d91c86cf60ca8}},
           {"undefined", nodes_.Undef(), {0x121aad939e3b1389, 0x244aa0853a18e71c}},
       }) {
    const Digest128 d = nodes_[g.node].digest;
    EXPECT_EQ(d, g.digest) << g.what << " " << std::hex << "0x" << d.hi << ", 0x" << d.lo;
  }
}

}  // namespace
}  // namespace samebits::expr
