// Each rewrite: where it applies, and a near miss where it does not.

#include "core/canonical/builder.h"

#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace samebits::canonical {
namespace {

using expr::Attr;
using expr::Compare;
using expr::Fn;
using expr::Format;
using expr::NodeId;
using expr::Round;
using expr::Scalar;

constexpr uint64_t kOne = 0x3f800000, kMinusZero = 0x80000000;

class BuilderTest : public ::testing::Test {
 protected:
  explicit BuilderTest(BuilderOptions options = {})
      : nodes_(1u << 20), builder_(&nodes_, options), x_(nodes_.AddBuffer("x", {1, 1})), y_(nodes_.AddBuffer("y", {1, 2})) {}

  Scalar Load(int64_t offset) { return Leaf(x_, offset); }
  Scalar Leaf(expr::BufferId buffer, int64_t offset, expr::SymbolicId symbolic = 0) {
    Scalar s;
    s.node = nodes_.Leaf(buffer);
    s.slots = 1;
    s.anchor[0] = {offset, symbolic, buffer, 0};
    return s;
  }
  Scalar Const(uint64_t value, int width = 32) {
    Scalar s;
    s.node = nodes_.Const(value, width);
    return s;
  }
  static uint64_t Rn(uint64_t flags = 0, Format to = Format::kF32) {
    Attr attr;
    attr.to = to;
    attr.round = Round::kRn;
    attr.flags = flags;
    return attr.Encode();
  }
  static uint64_t In(Format to, uint64_t flags = 0) {
    Attr attr;
    attr.to = to;
    attr.flags = flags;
    return attr.Encode();
  }
  static uint64_t Comparing(Compare compare, Format from = Format::kF32, uint64_t flags = 0) {
    Attr attr;
    attr.compare = compare;
    attr.from = from;
    attr.flags = flags;
    return attr.Encode();
  }
  Scalar Build(Fn fn, uint64_t attr, int width, const std::vector<Scalar>& children) {
    Scalar s;
    EXPECT_TRUE(builder_.Build(fn, attr, width, children.data(), static_cast<int>(children.size()), &s));
    return s;
  }
  Scalar Add(const Scalar& a, const Scalar& b, uint64_t flags = 0) { return Build(Fn::kFAdd, Rn(flags), 32, {a, b}); }
  Scalar Mul(const Scalar& a, const Scalar& b, uint64_t flags = 0) { return Build(Fn::kFMul, Rn(flags), 32, {a, b}); }
  Scalar Fma(const Scalar& a, const Scalar& b, const Scalar& c) { return Build(Fn::kFFma, Rn(), 32, {a, b, c}); }
  Scalar Flip(const Scalar& a) { return Build(Fn::kSignFlip, 0, 32, {a}); }
  Scalar Neg(const Scalar& a) { return Build(Fn::kFNeg, In(Format::kF32), 32, {a}); }
  Scalar Max(const Scalar& a, const Scalar& b, uint64_t flags = 0) { return Build(Fn::kFMax, In(Format::kF32, flags), 32, {a, b}); }
  Scalar Less(const Scalar& a, const Scalar& b) { return Build(Fn::kFCompare, Comparing(Compare::kLt), 1, {a, b}); }
  Scalar Not(const Scalar& a, int width = 1) { return Build(Fn::kNot, 0, width, {a}); }
  Scalar Select(const Scalar& p, const Scalar& a, const Scalar& b) { return Build(Fn::kSelect, 0, 32, {p, a, b}); }
  // A value that arithmetic made, and that is never -0.
  Scalar Square() { return Mul(Load(64), Load(64)); }
  // One that may be -0.
  Scalar Product() { return Mul(Load(64), Load(68)); }

  bool Same(const Scalar& a, const Scalar& b) const {
    if (a.node != b.node || a.slots != b.slots) return false;
    for (int i = 0; i < a.slots; ++i)
      if (a.anchor[i].offset != b.anchor[i].offset || a.anchor[i].symbolic != b.anchor[i].symbolic) return false;
    return true;
  }
  Fn FnOf(const Scalar& s) const { return nodes_[s.node].fn; }

  expr::NodeManager nodes_;
  Builder builder_;
  expr::BufferId x_, y_;
};

class IgnoringSignedZeroTest : public BuilderTest {
 protected:
  IgnoringSignedZeroTest() : BuilderTest({true}) {}
};

TEST_F(BuilderTest, CommutativeOperandsSort) {
  EXPECT_TRUE(Same(Add(Load(0), Load(4)), Add(Load(4), Load(0))));
  EXPECT_TRUE(Same(Mul(Load(0), Leaf(y_, 4)), Mul(Leaf(y_, 4), Load(0))));
  EXPECT_TRUE(Same(Fma(Load(0), Load(4), Load(8)), Fma(Load(4), Load(0), Load(8))));
  EXPECT_FALSE(Same(Fma(Load(0), Load(4), Load(8)), Fma(Load(0), Load(8), Load(4))));
  const auto div = [this](const Scalar& a, const Scalar& b) { return Build(Fn::kFDiv, Rn(), 32, {a, b}); };
  EXPECT_FALSE(Same(div(Load(0), Load(4)), div(Load(4), Load(0))));
}

TEST_F(BuilderTest, AddZero) {
  EXPECT_TRUE(Same(Add(Square(), Const(0)), Square()));
  EXPECT_EQ(FnOf(Add(Product(), Const(0))), Fn::kFAdd) << "may be -0";
  EXPECT_EQ(FnOf(Add(Load(0), Const(0))), Fn::kFAdd) << "may be a NaN with a payload";
  EXPECT_EQ(FnOf(Add(Square(), Const(0), Attr::kFtz)), Fn::kFAdd) << "may be subnormal";
  EXPECT_EQ(FnOf(Build(Fn::kFAdd, Rn(Attr::kSat), 32, {Square(), Const(0)})), Fn::kFAdd) << "saturates";
}

TEST_F(IgnoringSignedZeroTest, AddZero) { EXPECT_TRUE(Same(Add(Product(), Const(0)), Product())); }

TEST_F(BuilderTest, AddMinusZero) {
  EXPECT_TRUE(Same(Add(Product(), Const(kMinusZero)), Product()));
  EXPECT_EQ(FnOf(Add(Load(0), Const(kMinusZero))), Fn::kFAdd) << "may be a NaN with a payload";
  const Scalar bf16 = Build(Fn::kFAdd, Rn(0, Format::kBf16), 16, {Load(0), Load(2)});
  EXPECT_TRUE(Same(Build(Fn::kFAdd, Rn(0, Format::kBf16), 16, {bf16, Const(0x8000, 16)}), bf16));
  EXPECT_EQ(FnOf(Build(Fn::kFAdd, Rn(0, Format::kF16), 16, {bf16, Const(0x8000, 16)})), Fn::kFAdd) << "another format";
}

TEST_F(BuilderTest, ZeroOutward) {
  EXPECT_TRUE(Same(Add(Add(Load(0), Const(0)), Load(4)), Add(Add(Load(0), Load(4)), Const(0))));
  EXPECT_FALSE(Same(Add(Add(Load(0), Const(0), Attr::kFtz), Load(4)), Add(Add(Load(0), Load(4), Attr::kFtz), Const(0))));
}

TEST_F(BuilderTest, FoldConst) {
  EXPECT_TRUE(Same(Add(Const(kOne), Const(kOne)), Const(0x40000000)));
  EXPECT_TRUE(Same(Add(Const(0x7f800000), Const(0xff800000)), Const(0x7fffffff))) << "the canonical NaN";
  EXPECT_TRUE(Same(Mul(Const(0x40000000), Const(0x40400000), Attr::kContract), Const(0x40c00000))) << "exact";
  EXPECT_EQ(FnOf(Mul(Const(0x3dcccccd), Const(0x3dcccccd), Attr::kContract)), Fn::kFMul) << "rounded, and may be fused";
  EXPECT_EQ(FnOf(Add(Const(1), Const(1), Attr::kFtz)), Fn::kFAdd) << "flushes";
}

TEST_F(BuilderTest, MulOne) {
  EXPECT_TRUE(Same(Mul(Product(), Const(kOne)), Product()));
  EXPECT_EQ(FnOf(Mul(Load(0), Const(kOne))), Fn::kFMul);
  const Scalar half = Build(Fn::kFAdd, Rn(0, Format::kF16), 16, {Load(0), Load(2)});
  EXPECT_TRUE(Same(Build(Fn::kFMul, Rn(0, Format::kF16), 16, {half, Const(0x3c00, 16)}), half));
  EXPECT_EQ(FnOf(Build(Fn::kFMul, Rn(0, Format::kF16), 16, {half, Const(0x3f80, 16)})), Fn::kFMul) << "one of bf16";
}

TEST_F(BuilderTest, MulSign) {
  const Scalar product = Mul(Flip(Load(0)), Load(4));
  EXPECT_TRUE(Same(product, Mul(Load(0), Flip(Load(4)))));
  EXPECT_TRUE(Same(Mul(Flip(Load(0)), Flip(Load(4))), Mul(Load(0), Load(4))));
  EXPECT_EQ(FnOf(product), Fn::kFNeg) << "not a flip: a NaN stays canonical";
  EXPECT_FALSE(Same(product, Flip(Mul(Load(0), Load(4)))));
  EXPECT_TRUE(Same(Add(product, Load(8)), Add(Flip(Mul(Load(0), Load(4))), Load(8)))) << "sums see no NaN pattern";
  const auto wide = [this](const Scalar& a, const Scalar& b) { return Build(Fn::kFMul, Rn(0, Format::kF64), 64, {a, b}); };
  const auto flip = [this](const Scalar& a) { return Build(Fn::kSignFlip, 0, 64, {a}); };
  EXPECT_FALSE(Same(wide(flip(Load(0)), Load(8)), wide(Load(0), flip(Load(8))))) << "f64 keeps a NaN's sign";
}

TEST_F(BuilderTest, FmaForms) {
  EXPECT_TRUE(Same(Fma(Flip(Load(0)), Flip(Load(4)), Load(8)), Fma(Load(0), Load(4), Load(8))));
  EXPECT_TRUE(Same(Fma(Flip(Load(0)), Load(4), Load(8)), Fma(Load(0), Flip(Load(4)), Load(8))));
  EXPECT_FALSE(Same(Fma(Flip(Load(0)), Load(4), Load(8)), Fma(Load(0), Load(4), Load(8))));
  EXPECT_TRUE(Same(Fma(Load(0), Const(kOne), Load(8)), Add(Load(0), Load(8))));
  EXPECT_TRUE(Same(Fma(Const(0), Const(0), Load(8)), Add(Load(8), Const(0))));
  EXPECT_FALSE(Same(Fma(Const(0), Const(kMinusZero), Load(8)), Add(Load(8), Const(0))));
  EXPECT_TRUE(Same(Fma(Load(0), Load(0), Const(0)), Mul(Load(0), Load(0))));
  EXPECT_FALSE(Same(Fma(Load(0), Load(4), Const(0)), Mul(Load(0), Load(4)))) << "a vanishing product becomes +0";
  EXPECT_TRUE(Same(Fma(Load(0), Load(4), Const(kMinusZero)), Mul(Load(0), Load(4))));
  EXPECT_FALSE(Same(Fma(Flip(Load(0)), Load(0), Const(0)), Mul(Flip(Load(0)), Load(0))));
}

TEST_F(BuilderTest, NegArithmetic) {
  EXPECT_TRUE(Same(Add(Neg(Load(0)), Load(4)), Add(Flip(Load(0)), Load(4))));
  EXPECT_TRUE(Same(Add(Neg(Neg(Load(0))), Load(4)), Add(Load(0), Load(4))));
  EXPECT_FALSE(Same(Neg(Load(0)), Flip(Load(0))));
  const auto max = [this](const Scalar& a) { return Max(a, Load(8)); };
  EXPECT_TRUE(Same(max(Neg(Load(0))), max(Flip(Load(0)))));
  const auto convert = [this](const Scalar& a) {
    Attr attr;
    attr.from = Format::kBf16;
    attr.to = Format::kF32;
    return Build(Fn::kFConvert, attr.Encode(), 32, {a});
  };
  const Scalar neg = Build(Fn::kFNeg, In(Format::kBf16), 16, {Load(0)}), flip = Build(Fn::kSignFlip, 0, 16, {Load(0)});
  EXPECT_FALSE(Same(convert(neg), convert(flip))) << "bf16 to f32 keeps NaN patterns";
}

TEST_F(BuilderTest, DoubleFlip) {
  EXPECT_TRUE(Same(Flip(Flip(Load(0))), Load(0)));
  EXPECT_TRUE(Same(Flip(Const(kOne)), Const(0xbf800000)));
}

TEST_F(BuilderTest, WidenShift) {
  const uint64_t halves = 16 | 16 << 8;
  Attr attr;
  attr.from = Format::kBf16;
  attr.to = Format::kF32;
  const Scalar shifted = Build(Fn::kConcat, halves, 32, {Const(0, 16), Load(0)});
  const Scalar widened = Build(Fn::kFConvert, attr.Encode(), 32, {Load(0)});
  EXPECT_TRUE(Same(Add(shifted, Load(8)), Add(widened, Load(8))));
  EXPECT_FALSE(Same(Add(Build(Fn::kConcat, halves, 32, {Const(1, 16), Load(0)}), Load(8)), Add(widened, Load(8))));
}

TEST_F(BuilderTest, Comparisons) {
  EXPECT_TRUE(Same(Build(Fn::kFCompare, Comparing(Compare::kGt), 1, {Load(0), Load(4)}), Less(Load(4), Load(0))));
  EXPECT_TRUE(Same(Not(Less(Load(0), Load(4))), Build(Fn::kFCompare, Comparing(Compare::kGeu), 1, {Load(0), Load(4)})));
  EXPECT_FALSE(Same(Not(Less(Load(0), Load(4))), Build(Fn::kFCompare, Comparing(Compare::kGe), 1, {Load(0), Load(4)})));
  EXPECT_TRUE(Same(Not(Not(Less(Load(0), Load(4)))), Less(Load(0), Load(4))));
  const auto less = [this](Format width) { return Build(Fn::kICompare, Comparing(Compare::kLt, width), 1, {Load(0), Load(4)}); };
  EXPECT_FALSE(Same(less(Format::kB16), less(Format::kB32))) << "loads have no width of their own";
  EXPECT_TRUE(Same(Not(less(Format::kB32)), Build(Fn::kICompare, Comparing(Compare::kGe, Format::kB32), 1, {Load(0), Load(4)})));
}

TEST_F(BuilderTest, Selects) {
  const Scalar p = Less(Load(0), Load(4));
  EXPECT_TRUE(Same(Select(p, Load(8), Load(8)), Load(8)));
  EXPECT_FALSE(Same(Select(p, Load(8), Load(12)), Load(8)));
  EXPECT_TRUE(Same(Select(Not(p), Load(8), Load(12)), Select(p, Load(12), Load(8))));
  EXPECT_TRUE(Same(Select(Const(1, 1), Load(8), Load(12)), Load(8)));
}

TEST_F(BuilderTest, Idempotent) {
  EXPECT_TRUE(Same(Max(Product(), Product()), Product()));
  EXPECT_EQ(FnOf(Max(Load(0), Load(0))), Fn::kFMax) << "may be a NaN with a payload";
  EXPECT_EQ(FnOf(Max(Product(), Product(), Attr::kFtz)), Fn::kFMax) << "may be subnormal";
  const Scalar flushed = Mul(Load(64), Load(68), Attr::kFtz);
  EXPECT_TRUE(Same(Max(flushed, flushed, Attr::kFtz), flushed));
  EXPECT_TRUE(Same(Build(Fn::kAnd, 0, 32, {Load(0), Load(0)}), Load(0)));
  EXPECT_EQ(FnOf(Build(Fn::kXor, 0, 32, {Load(0), Load(0)})), Fn::kXor);
}

TEST_F(BuilderTest, MultisetsForgetOrderAndGrouping) {
  const Scalar a = Load(0), b = Load(4), c = Leaf(y_, 8);
  EXPECT_TRUE(Same(Max(Max(a, b), c), Max(a, Max(c, b))));
  EXPECT_FALSE(Same(Max(Max(a, b), c), Max(Max(a, b), Leaf(y_, 12))));
  EXPECT_FALSE(Same(Max(Max(a, b), b), Max(a, b))) << "multiplicity stays where the elements may be NaN";
  EXPECT_FALSE(Same(Max(a, b), Max(a, b, Attr::kNanFlag)));
  const auto sum = [this](const Scalar& s, const Scalar& t) { return Build(Fn::kIAdd, 0, 32, {s, t}); };
  EXPECT_TRUE(Same(sum(sum(a, b), Const(3)), sum(sum(a, Const(1)), sum(b, Const(2)))));
  EXPECT_FALSE(Same(sum(sum(a, b), Const(3)), sum(sum(a, b), Const(4))));
  EXPECT_FALSE(Same(sum(a, b), Build(Fn::kIAdd, 0, 16, {a, b})));
  const Scalar moved = Max(Max(Load(100), Load(104)), Leaf(y_, 8)), here = Max(Max(a, b), c);
  EXPECT_EQ(moved.node, here.node) << "translation keeps the node";
}

TEST_F(BuilderTest, ABufferAtTwoSymbolicPartsIsNoMultiset) {
  const Scalar pair = Max(Leaf(x_, 0, 1), Leaf(x_, 0, 2));
  EXPECT_EQ(FnOf(pair), Fn::kIsa);
  EXPECT_TRUE(Same(pair, Max(Leaf(x_, 0, 1), Leaf(x_, 0, 2))));
}

TEST_F(BuilderTest, IntegerIdentities) {
  EXPECT_TRUE(Same(Build(Fn::kIAdd, 0, 32, {Load(0), Const(0)}), Load(0)));
  EXPECT_TRUE(Same(Build(Fn::kAnd, 0, 32, {Load(0), Const(0xffffffff)}), Load(0)));
  EXPECT_TRUE(Same(Build(Fn::kAnd, 0, 32, {Load(0), Const(0)}), Const(0)));
  EXPECT_TRUE(Same(Build(Fn::kOr, 0, 32, {Load(0), Const(0)}), Load(0)));
  EXPECT_TRUE(Same(Build(Fn::kShl, 0, 32, {Load(0), Const(0)}), Load(0)));
  EXPECT_FALSE(Same(Build(Fn::kAnd, 0, 32, {Load(0), Const(0xfffffffe)}), Load(0)));
}

TEST_F(BuilderTest, SlicesOfMemoryAreMemory) {
  EXPECT_TRUE(Same(Build(Fn::kExtract, 16, 16, {Load(0)}), Load(2)));
  EXPECT_TRUE(Same(Build(Fn::kConcat, 16 | 16 << 8, 32, {Load(4), Load(6)}), Load(4)));
  EXPECT_FALSE(Same(Build(Fn::kConcat, 16 | 16 << 8, 32, {Load(4), Load(8)}), Load(4)));
  EXPECT_FALSE(Same(Build(Fn::kConcat, 16 | 16 << 8, 32, {Load(6), Load(4)}), Load(4)));
  const Scalar nibble = Build(Fn::kExtract, 12, 4, {Load(0)});
  EXPECT_TRUE(Same(nibble, Build(Fn::kExtract, 4, 4, {Load(1)})));
  EXPECT_TRUE(Same(Build(Fn::kExtract, 1, 2, {nibble}), Build(Fn::kExtract, 13, 2, {Load(0)})));
  const Scalar whole = Product();
  EXPECT_TRUE(Same(Build(Fn::kConcat, 8 | 24 << 8, 32, {Build(Fn::kExtract, 0, 8, {whole}), Build(Fn::kExtract, 8, 24, {whole})}), whole));
}

TEST_F(BuilderTest, ProductsOpenToContractionKeepApart) {
  const Scalar open = Mul(Load(0), Load(4), Attr::kContract), closed = Mul(Load(0), Load(4));
  EXPECT_FALSE(Same(open, closed));
  EXPECT_FALSE(builder_.saw_contraction());
  EXPECT_FALSE(Same(Add(open, Load(8), Attr::kContract), Add(closed, Load(8))));
  EXPECT_TRUE(builder_.saw_contraction());
  EXPECT_TRUE(Same(Add(open, Load(8)), Add(closed, Load(8)))) << "a rounded sum takes no product in";
  EXPECT_EQ(builder_.Settle(open.node), closed.node);
  EXPECT_EQ(builder_.Settle(closed.node), closed.node);
  builder_.ForgetSights();
  Add(Neg(open), Load(8), Attr::kContract);
  EXPECT_TRUE(builder_.saw_contraction()) << "a negation does not hide the product";
  builder_.ForgetSights();
  Add(Load(0), Load(8), Attr::kContract);
  EXPECT_FALSE(builder_.saw_contraction());
  EXPECT_TRUE(Same(Max(open, Load(8)), Max(closed, Load(8)))) << "nothing but a sum takes a product in";
}

TEST_F(BuilderTest, TooManyOperandsOrSlotsAreRefused) {
  Scalar out;
  const std::vector<Scalar> many(Builder::kMaxChildren + 1, Load(0));
  EXPECT_FALSE(builder_.Build(Fn::kVector, 32, 0, many.data(), static_cast<int>(many.size()), &out));
  Scalar low = Build(Fn::kAnd, 0, 64, {Leaf(x_, INT64_MIN), Const(3, 64)}), high = Leaf(x_, INT64_MAX);
  const Scalar pair[2] = {low, high};
  EXPECT_FALSE(builder_.Build(Fn::kAnd, 0, 64, pair, 2, &out)) << "anchors further apart than a shift can say";
}

TEST_F(BuilderTest, ResultsOfShiftedOperandsAreShifted) {
  const auto tree = [this](int64_t d) {
    const Scalar a = Max(Load(d), Load(d + 4)), b = Fma(a, Load(d + 8), Leaf(y_, 2 * d));
    return Select(Less(a, b), Add(b, Const(0)), Neg(Max(b, a)));
  };
  const Scalar here = tree(0), there = tree(4096);
  ASSERT_EQ(here.node, there.node);
  for (int i = 0; i < here.slots; ++i)
    EXPECT_EQ(there.anchor[i].offset - here.anchor[i].offset, here.anchor[i].buffer == x_ ? 4096 : 8192);
}

TEST(RewriteTest, EachHasAText) {
  for (int r = 0; r < kRewriteCount; ++r) EXPECT_FALSE(RewriteText(static_cast<Rewrite>(r)).empty());
}

}  // namespace
}  // namespace samebits::canonical
