#include "core/expr/program.h"

#include <bit>
#include <cstring>

#include "core/expr/enclosure.h"
#include "core/expr/fingerprint.h"
#include "gtest/gtest.h"

namespace samebits::expr {
namespace {

uint64_t Bits(float v) { return std::bit_cast<uint32_t>(v); }

class ProgramTest : public ::testing::Test {
 protected:
  ProgramTest() : nodes_(1u << 20), program_(&nodes_, 1u << 20) { x_ = nodes_.AddBuffer("x", {1, 2}); }
  Scalar Leaf(int64_t offset) {
    Scalar s;
    s.node = nodes_.Leaf(x_);
    s.slots = 1;
    s.anchor[0] = {offset, 0, x_, 0};
    return s;
  }
  Scalar Const(uint64_t value, int width) {
    Scalar s;
    s.node = nodes_.Const(value, width);
    return s;
  }
  Scalar Make(Fn fn, uint64_t attr, int width, const std::vector<Scalar>& children) {
    Scalar s;
    EXPECT_TRUE(nodes_.Make(fn, attr, width, 0, children.data(), static_cast<int>(children.size()), &s));
    return s;
  }
  Scalar F32(Fn fn, const std::vector<Scalar>& children, uint64_t flags = 0) {
    Attr attr;
    attr.to = Format::kF32;
    attr.round = Round::kRn;
    attr.flags = flags;
    return Make(fn, attr.Encode(), 32, children);
  }
  ValueId Add(const Scalar& s, int width = 32) {
    const auto id = program_.Add(s, width);
    EXPECT_TRUE(id.ok()) << id.status();
    return id.ok() ? *id : 0;
  }
  void Settle() {
    program_.Cover(&image_);
    image_.Settle();
  }
  void Put(int64_t offset, float v) { std::memcpy(image_.bytes().data() + image_.Find(x_, offset, 4), &v, 4); }
  uint64_t Run(ValueId id, Program::Contraction contraction = Program::Contraction::kNone) {
    program_.Run(image_, contraction, &values_);
    return static_cast<uint64_t>(values_[id].bits);
  }
  NodeManager nodes_;
  Program program_;
  Image image_;
  std::vector<Evaluated> values_;
  BufferId x_ = 0;
};

TEST_F(ProgramTest, ImagesCoverRangesThatTouchAndOverlap) {
  Image image;
  image.Cover(x_, 8, 4);
  image.Cover(x_, 100, 4);
  image.Cover(x_, 10, 8);
  image.Cover(x_, 4, 4);
  image.Settle();
  EXPECT_EQ(image.bytes().size(), 18u);
  EXPECT_EQ(image.Find(x_, 4, 14), 0);
  EXPECT_EQ(image.Find(x_, 100, 4), 14);
  EXPECT_EQ(image.Find(x_, 16, 4), -1);
  EXPECT_EQ(image.Find(x_, 3, 1), -1);
  image.bytes()[17] = 9;
  uint8_t out[4];
  ASSERT_TRUE(image.Read(x_, 103, 4, out));
  EXPECT_EQ(out[0], 9);
  EXPECT_EQ(out[1], 0);
  EXPECT_FALSE(image.Read(x_, -1, 4, out));
  EXPECT_FALSE(image.Read(x_, int64_t{1} << 40, 4, out));
}

TEST_F(ProgramTest, AgreesWithTheEvaluator) {
  Scalar sum = Leaf(0);
  for (int i = 1; i < 50; ++i) {
    const Scalar product = F32(Fn::kFMul, {sum, Leaf(4 * i)});
    sum = F32(i % 3 == 0 ? Fn::kFMul : Fn::kFAdd, {product, F32(Fn::kFFma, {sum, Leaf(4 * i + 4), product})});
  }
  const Scalar upper = Make(Fn::kExtract, 16, 16, {sum});
  const ValueId a = Add(sum), b = Add(upper, 16);
  Settle();
  for (int i = 0; i < 60; ++i)
    if (image_.Find(x_, 4 * i, 4) >= 0) Put(4 * i, 0.5f + 0.01f * static_cast<float>(i % 7));
  Evaluator evaluator(&nodes_, &image_);
  EXPECT_EQ(Run(a), static_cast<uint64_t>(evaluator.Evaluate(sum, 32)->bits));
  EXPECT_EQ(Run(b), static_cast<uint64_t>(evaluator.Evaluate(upper, 16)->bits));
}

TEST_F(ProgramTest, SelectsLeaveTheOtherArmOut) {
  Attr attr;
  attr.from = Format::kF32;
  attr.compare = Compare::kGt;
  const Scalar positive = Make(Fn::kFCompare, attr.Encode(), 1, {Leaf(0), Const(0, 32)});
  const ValueId id = Add(Make(Fn::kSelect, 0, 32, {positive, Leaf(0), Scalar()}));
  Settle();
  Put(0, 2.0f);
  EXPECT_EQ(Run(id), Bits(2.0f));
  EXPECT_FALSE(values_[id].undefined);
  Put(0, -2.0f);
  Run(id);
  EXPECT_TRUE(values_[id].undefined);
}

TEST_F(ProgramTest, FusesOpenProductsOnDemand) {
  const Scalar product = F32(Fn::kFMul, {Leaf(0), Leaf(4)}, Attr::kContract);
  const ValueId id = Add(F32(Fn::kFAdd, {product, Leaf(8)}, Attr::kContract));
  Settle();
  EXPECT_TRUE(program_.contractible());
  Put(0, 1.0f + 0x1p-12f);
  Put(4, 1.0f + 0x1p-12f);
  Put(8, -1.0f - 0x1p-11f);
  EXPECT_EQ(Run(id), Bits(0.0f));
  EXPECT_EQ(Run(id, Program::Contraction::kFirst), Bits(0x1p-24f));
}

TEST_F(ProgramTest, LimitsAndOperationsWithoutValuesAreErrors) {
  Program small(&nodes_, 3);
  EXPECT_EQ(small.Add(F32(Fn::kFFma, {Leaf(0), Leaf(4), Leaf(8)}), 32).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(program_.Add(Make(Fn::kIsa, 12345, 32, {Leaf(0)}), 32).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(program_.Add(Leaf(0), 129).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ProgramTest, BoundsOfApproximateFunctionsDecideOnlyWhatTheyPartBy) {
  const Scalar a = F32(Fn::kFSqrt, {Leaf(0)}, Attr::kApprox), b = F32(Fn::kFSqrt, {Leaf(4)}, Attr::kApprox);
  const ValueId x = Add(F32(Fn::kFAdd, {a, Const(Bits(1.0f), 32)})),
                y = Add(F32(Fn::kFAdd, {b, Const(Bits(1.0f), 32)}));
  const ValueId exact = Add(F32(Fn::kFMul, {Leaf(0), Leaf(0)}));
  Settle();
  Put(0, 3.0f);
  Put(4, 3.0000005f);
  Run(x);
  EXPECT_TRUE(values_[x].inexact);
  EXPECT_FALSE(SurelyDiffer(program_, values_, x, y));
  Put(4, 3.1f);
  Run(x);
  EXPECT_TRUE(SurelyDiffer(program_, values_, x, y));
  EXPECT_TRUE(SurelyDiffer(program_, values_, x, exact));
  EXPECT_FALSE(SurelyDiffer(program_, values_, x, x));
}

TEST_F(ProgramTest, BoundsPassMatrixStepsAndSelects) {
  const uint64_t unit = uint64_t{25} << 8 | static_cast<uint64_t>(static_cast<uint16_t>(-133)) << 16 |
                        static_cast<uint64_t>(Format::kF16) << 32 | static_cast<uint64_t>(Format::kF16) << 40 |
                        uint64_t{2} << 48;
  const auto step = [&](int64_t offset) {
    const Scalar p = F32(Fn::kEx2, {Leaf(offset)}, Attr::kApprox);
    Attr attr;
    attr.to = Format::kF16;
    attr.from = Format::kF32;
    attr.round = Round::kRn;
    const Scalar half = Make(Fn::kFConvert, attr.Encode(), 16, {p});
    const Scalar v = Make(Fn::kVector, 16, 0, {half, half}),
                 w = Make(Fn::kVector, 16, 0, {Const(0x3c00, 16), Const(0x4000, 16)});
    return Make(Fn::kMatrixStep, unit, 32, {Const(Bits(1.0f), 32), v, w});
  };
  const ValueId x = Add(step(0)), y = Add(step(4));
  Settle();
  Put(0, 0.5f);
  Put(4, 0.5001f);
  Run(x);
  ASSERT_TRUE(values_[x].inexact);
  EXPECT_FALSE(SurelyDiffer(program_, values_, x, y));
  Put(4, 1.5f);
  Run(x);
  EXPECT_TRUE(SurelyDiffer(program_, values_, x, y));
}

TEST_F(ProgramTest, FingerprintsSeeThroughOrderAndFiniteIdentities) {
  const Scalar zero = Const(0, 32);
  const ValueId a = Add(F32(Fn::kFAdd, {Leaf(0), Leaf(4)})), b = Add(F32(Fn::kFAdd, {Leaf(4), Leaf(0)}));
  const ValueId c = Add(F32(Fn::kFAdd, {Leaf(0), Leaf(8)}));
  const ValueId open = Add(F32(Fn::kFAdd, {Leaf(0), Leaf(4)}, Attr::kContract));
  const ValueId plain = Add(F32(Fn::kFMul, {Leaf(0), Leaf(4)}));
  const ValueId with_zero = Add(
      F32(Fn::kFAdd,
          {F32(Fn::kFMul, {F32(Fn::kFMul, {F32(Fn::kFAdd, {Leaf(0), zero}), Const(Bits(1.0f), 32)}), Leaf(4)}), zero}));
  std::vector<uint64_t> h = Fingerprints(program_, Sameness::kBits);
  EXPECT_EQ(h[a], h[b]);
  EXPECT_NE(h[a], h[c]);
  EXPECT_NE(h[plain], h[with_zero]);
  EXPECT_NE(h[a], h[open]);
  h = Fingerprints(program_, Sameness::kUncontracted);
  EXPECT_EQ(h[a], h[open]);
  EXPECT_NE(h[plain], h[with_zero]);
  h = Fingerprints(program_, Sameness::kFinite);
  EXPECT_EQ(h[plain], h[with_zero]);
  EXPECT_NE(h[a], h[c]);
}

}  // namespace
}  // namespace samebits::expr
