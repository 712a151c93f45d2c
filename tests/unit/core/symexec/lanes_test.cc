// Operations on lane vectors against the builder, lane by lane: the memo and the one-node-for-all paths are shortcuts.

#include "core/symexec/lanes.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace samebits::symexec {
namespace {

using expr::Attr;
using expr::Fn;
using expr::Format;
using expr::Round;
using expr::Scalar;

constexpr int kLanes = 8;

struct Operation {
  Fn fn;
  uint64_t attr;
  int width;
  size_t operands;
};

class LanesTest : public ::testing::Test {
 protected:
  LanesTest()
      : nodes_(1u << 20), builder_(&nodes_, {}), space_(kLanes), symbolic_(3), ops_(&builder_, &space_) {
    for (uint64_t b = 0; b < 2; ++b) buffers_.push_back(nodes_.AddBuffer(b == 0 ? "x" : "y", {3, b}));
    symbols_ = {0, symbolic_.FromTable({0, 4, 8}).id, symbolic_.FromTable({0, 1, 0}).id};
  }

  // Loads: affine in the lane, uniform, shuffled, or of another buffer or symbolic part per lane.
  Lanes RandomLeaf() {
    const uint64_t kind = random_() % 5;
    std::vector<Scalar> lanes(kLanes);
    const auto buffer = buffers_[random_() % 2];
    const auto symbol = symbols_[random_() % 3];
    const int64_t start = static_cast<int64_t>(random_() % 4) * 4, stride = static_cast<int64_t>(random_() % 3) * 4;
    for (int l = 0; l < kLanes; ++l) {
      Scalar& s = lanes[static_cast<size_t>(l)];
      s.slots = 1;
      s.anchor[0] = {start + l * stride, symbol, buffer, 0};
      if (kind == 1) s.anchor[0].offset = static_cast<int64_t>(random_() % 6) * 4;
      if (kind == 2) s.anchor[0].buffer = buffers_[random_() % 2];
      if (kind == 3) s.anchor[0].symbolic = symbols_[random_() % 3];
      s.node = nodes_.Leaf(s.anchor[0].buffer);
      if (kind == 4 && random_() % 2) {
        s.node = nodes_.Const(random_() % 3, 32);
        s.slots = 0;
      }
    }
    return ops_.Pack(lanes);
  }

  static bool Same(const Scalar& a, const Scalar& b) {
    if (a.node != b.node || a.slots != b.slots) return false;
    for (int i = 0; i < a.slots; ++i)
      if (a.anchor[i].offset != b.anchor[i].offset || a.anchor[i].symbolic != b.anchor[i].symbolic ||
          a.anchor[i].buffer != b.anchor[i].buffer)
        return false;
    return true;
  }

  bool ApplyAndCheck(const Operation& op, const std::vector<Lanes>& operands, Lanes* result);
  static void Differs(const Operation& op, int lane);

  std::mt19937_64 random_{5};
  expr::NodeManager nodes_;
  canonical::Builder builder_;
  LaneSpace space_;
  SymbolicSpace symbolic_;
  VectorOps ops_;
  std::vector<expr::BufferId> buffers_;
  std::vector<SymbolicId> symbols_;
};

std::vector<Operation> Operations() {
  Attr rn;
  rn.to = Format::kF32;
  rn.round = Round::kRn;
  Attr open = rn;
  open.flags = Attr::kContract;
  Attr f32;
  f32.to = Format::kF32;
  Attr less;
  less.from = Format::kF32;
  less.compare = expr::Compare::kLt;
  return {{Fn::kFAdd, rn.Encode(), 32, 2},  {Fn::kFMul, open.Encode(), 32, 2}, {Fn::kFAdd, open.Encode(), 32, 2},
          {Fn::kFFma, rn.Encode(), 32, 3},  {Fn::kFMax, f32.Encode(), 32, 2},  {Fn::kIAdd, 0, 32, 2},
          {Fn::kXor, 0, 32, 2},             {Fn::kSignFlip, 0, 32, 1},         {Fn::kIMul, 0, 32, 2},
          {Fn::kFCompare, less.Encode(), 1, 2}};
}

// Applies the operation to all lanes and compares with the builder's result for each.
bool LanesTest::ApplyAndCheck(const Operation& op, const std::vector<Lanes>& operands, Lanes* result) {
  std::vector<const Lanes*> refs;
  for (const Lanes& v : operands) refs.push_back(&v);
  const bool ok = ops_.Apply(op.fn, op.attr, op.width, refs, result);
  bool every = true;
  for (int l = 0; l < kLanes; ++l) {
    std::vector<Scalar> children;
    for (const Lanes& v : operands) children.push_back(ops_.At(v, l));
    Scalar expected;
    if (!builder_.Build(op.fn, op.attr, op.width, children.data(), static_cast<int>(children.size()), &expected)) {
      every = false;
    } else if (ok && !Same(ops_.At(*result, l), expected)) {
      Differs(op, l);
      return ok;
    }
  }
  EXPECT_EQ(ok, every) << "refused what the builder can do in every lane, or the other way round";
  return ok;
}

void LanesTest::Differs(const Operation& op, int lane) { FAIL() << expr::FnName(op.fn) << " differs in lane " << lane; }

TEST_F(LanesTest, PackAndAtAreInverse) {
  for (int turn = 0; turn < 200; ++turn) {
    const Lanes v = RandomLeaf();
    std::vector<Scalar> lanes;
    for (int l = 0; l < kLanes; ++l) lanes.push_back(ops_.At(v, l));
    const Lanes again = ops_.Pack(lanes);
    EXPECT_EQ(again.nodes, v.nodes);
    for (int l = 0; l < kLanes; ++l) EXPECT_TRUE(Same(ops_.At(again, l), lanes[static_cast<size_t>(l)]));
  }
}

TEST_F(LanesTest, OperationsAreTheBuildersLaneByLane) {
  std::vector<Lanes> values;
  for (int i = 0; i < 12; ++i) values.push_back(RandomLeaf());
  const auto operations = Operations();
  int checked = 0;
  for (int turn = 0; turn < 4000; ++turn) {
    const Operation& op = operations[random_() % operations.size()];
    for (size_t i = 0; i < op.operands; ++i)
      if (random_() % 4 == 0) values.push_back(RandomLeaf());
    std::vector<Lanes> operands;
    for (size_t i = 0; i < op.operands; ++i)
      operands.push_back(values[values.size() - 1 - random_() % std::min<size_t>(values.size(), 10)]);
    Lanes result;
    const bool ok = ApplyAndCheck(op, operands, &result);
    // The same, moved: by one distance a buffer where each slot is of one buffer, else by one distance.
    bool uniform = true;
    for (const Lanes& v : operands) uniform &= v.uniform();
    for (Lanes& v : operands)
      for (size_t i = 0; i < v.anchors.size(); ++i)
        v.anchors[i].constant += uniform && nodes_.slot_buffer(v.nodes, static_cast<int>(i)) == buffers_[0] ? 400 : 4000;
    Lanes moved;
    EXPECT_EQ(ApplyAndCheck(op, operands, &moved), ok);
    if (HasFatalFailure()) FAIL() << "turn " << turn;
    if (!ok) continue;
    EXPECT_EQ(moved.nodes, result.nodes);
    ++checked;
    if (op.width == 32 && result.anchors.size() <= 8) values.push_back(std::move(result));
  }
  EXPECT_GT(checked, 3000);
  EXPECT_GT(ops_.memo_hits(), 2000u);
}

TEST_F(LanesTest, BlendTakesLanes) {
  for (int turn = 0; turn < 500; ++turn) {
    const Lanes a = RandomLeaf(), b = RandomLeaf();
    const uint64_t bits = random_() % 256;
    const MaskId mask = space_.MaskWhere([bits](int l) { return (bits >> l & 1) != 0; });
    Lanes mixed;
    ASSERT_TRUE(ops_.Blend(mask, a, b, &mixed));
    for (int l = 0; l < kLanes; ++l) ASSERT_TRUE(Same(ops_.At(mixed, l), ops_.At(bits >> l & 1 ? a : b, l))) << turn;
  }
}

TEST_F(LanesTest, PermuteMovesLanes) {
  for (int turn = 0; turn < 500; ++turn) {
    const Lanes a = RandomLeaf();
    uint16_t source[kLanes];
    for (uint16_t& s : source) s = static_cast<uint16_t>(random_() % kLanes);
    const Lanes moved = ops_.Permute(a, space_.InternPerm(source));
    for (int l = 0; l < kLanes; ++l) ASSERT_TRUE(Same(ops_.At(moved, l), ops_.At(a, source[l])));
  }
}

TEST_F(LanesTest, SettleClosesProductsInEveryLane) {
  const auto operations = Operations();
  const Lanes a = RandomLeaf(), b = RandomLeaf();
  const Lanes* operands[2] = {&a, &b};
  Lanes product;
  ASSERT_TRUE(ops_.Apply(Fn::kFMul, operations[1].attr, 32, operands, &product));
  Lanes settled = product;
  ops_.Settle(&settled);
  for (int l = 0; l < kLanes; ++l) {
    EXPECT_EQ(ops_.At(settled, l).node, builder_.Settle(ops_.At(product, l).node));
    EXPECT_EQ(ops_.At(settled, l).anchor[0].offset, ops_.At(product, l).anchor[0].offset);
  }
}

TEST_F(LanesTest, ConstantsPerLane) {
  const Lanes same = ops_.ConstPerLane(std::vector<uint64_t>(kLanes, 9), 32);
  uint64_t value;
  EXPECT_TRUE(ops_.ConstValue(same, &value));
  EXPECT_EQ(value, 9u);
  std::vector<uint64_t> values(kLanes, 1);
  values[3] = 2;
  const Lanes mixed = ops_.ConstPerLane(values, 32);
  EXPECT_FALSE(ops_.ConstValue(mixed, &value));
  EXPECT_EQ(ops_.At(mixed, 3).node, nodes_.Const(2, 32));
}

}  // namespace
}  // namespace samebits::symexec
