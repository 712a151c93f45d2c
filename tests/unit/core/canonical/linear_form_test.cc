// Linear forms: one node for all distances, and where there is no such form.

#include "core/canonical/linear_form.h"

#include "core/canonical/builder.h"
#include "gtest/gtest.h"

namespace samebits::canonical {
namespace {

using expr::Attr;
using expr::Fn;
using expr::Format;
using expr::Round;
using expr::Scalar;

class LinearFormTest : public ::testing::Test {
 protected:
  LinearFormTest() : nodes_(1u << 20), builder_(&nodes_, {}), forms_(&nodes_), x_(nodes_.AddBuffer("x", {1, 1})) {}

  Scalar Load(int64_t offset, expr::SymbolicId symbolic = 0) {
    Scalar s;
    s.node = nodes_.Leaf(x_);
    s.slots = 1;
    s.anchor[0] = {offset, symbolic, x_, 0};
    return s;
  }
  Scalar Make(Fn fn, std::initializer_list<Scalar> operands) {
    Attr attr;
    attr.to = Format::kF32;
    attr.round = Round::kRn;
    Scalar out;
    EXPECT_TRUE(builder_.Build(fn, attr.Encode(), 32, operands.begin(), static_cast<int>(operands.size()), &out));
    return out;
  }
  Scalar Root(const Scalar& a) { return Make(Fn::kFSqrt, {a}); }
  Scalar Linear(const Scalar& value) {
    const LinearForm* form = forms_.Find(value.node);
    EXPECT_NE(form, nullptr);
    return form == nullptr ? Scalar() : forms_.Apply(*form, value);
  }
  bool HasForm(const Scalar& value) { return forms_.Find(value.node) != nullptr; }

  expr::NodeManager nodes_;
  Builder builder_;
  LinearForms forms_;
  expr::BufferId x_;
};

TEST_F(LinearFormTest, OneNodeForAllDistances) {
  const Scalar near = Make(Fn::kFDiv, {Root(Load(100)), Load(104)}), far = Make(Fn::kFDiv, {Root(Load(40)), Load(4)});
  const Scalar apart = Make(Fn::kFDiv, {Root(Load(0, 1)), Load(8, 2)});
  ASSERT_NE(near.node, far.node);
  ASSERT_NE(near.node, apart.node);
  const Scalar a = Linear(near), b = Linear(far), c = Linear(apart);
  EXPECT_EQ(a.node, b.node);
  EXPECT_EQ(a.node, c.node);
  ASSERT_EQ(a.slots, 2);
  EXPECT_EQ(a.anchor[0].offset, 100);
  EXPECT_EQ(a.anchor[1].offset, 104);
  EXPECT_EQ(b.anchor[0].offset, 40);
  EXPECT_EQ(b.anchor[1].offset, 4);
  EXPECT_EQ(c.anchor[1].offset, 8);
  EXPECT_EQ(c.anchor[1].symbolic, 2u);
}

TEST_F(LinearFormTest, OrderOfOperandsDoesNotHangOnDistance) {
  // The order of a sum goes by digests, which for merged operands depend on the distance.
  auto tree = [this](int64_t d) {
    return Make(Fn::kFAdd, {Make(Fn::kFDiv, {Load(0), Root(Load(d))}), Make(Fn::kFDiv, {Root(Load(0)), Load(d)})});
  };
  const Scalar first = Linear(tree(4));
  for (int64_t d = 8; d < 400; d += 4) EXPECT_EQ(Linear(tree(d)).node, first.node) << d;
}

TEST_F(LinearFormTest, DifferentTreesStayDifferent) {
  const Scalar a = Linear(Make(Fn::kFDiv, {Root(Load(0)), Load(4)}));
  EXPECT_NE(a.node, Linear(Make(Fn::kFDiv, {Load(0), Root(Load(4))})).node);
  EXPECT_NE(a.node, Linear(Make(Fn::kFDiv, {Root(Load(0)), Root(Load(4))})).node);
  // The same node, and the places exchanged: the anchors tell.
  const Scalar b = Linear(Make(Fn::kFDiv, {Root(Load(4)), Load(0)}));
  EXPECT_EQ(a.node, b.node);
  EXPECT_NE(a.anchor[0].offset, b.anchor[0].offset);
}

TEST_F(LinearFormTest, LinearFormsAreTheirOwn) {
  const Scalar a = Linear(Make(Fn::kFDiv, {Root(Load(0)), Load(4)}));
  const Scalar b = Linear(a);
  EXPECT_EQ(a.node, b.node);
  for (int j = 0; j < a.slots; ++j) EXPECT_EQ(a.anchor[j].offset, b.anchor[j].offset);
}

TEST_F(LinearFormTest, SquaresHaveAForm) {
  EXPECT_EQ(Linear(Make(Fn::kFMul, {Load(12), Load(12)})).slots, 2);
}

TEST_F(LinearFormTest, NoneWhereTheDistanceDecidesAnOrder) {
  EXPECT_FALSE(HasForm(Make(Fn::kFAdd, {Load(0), Load(4)})));
  EXPECT_FALSE(HasForm(Make(Fn::kFDiv, {Make(Fn::kFMul, {Load(0), Load(4)}), Load(8)})));
  EXPECT_FALSE(HasForm(Make(Fn::kFFma, {Root(Load(0)), Root(Load(4)), Load(8)})));
}

TEST_F(LinearFormTest, NoneWhereItIsOfNoUse) {
  EXPECT_FALSE(HasForm(Load(0)));
  EXPECT_FALSE(HasForm(Root(Load(0))));
}

TEST_F(LinearFormTest, NoneForLargeTreesAndMultisets) {
  Scalar chain = Load(0);
  for (int i = 1; i < 16; ++i) chain = Make(Fn::kFDiv, {chain, Load(4 * i)});
  EXPECT_TRUE(HasForm(chain));
  EXPECT_FALSE(HasForm(Make(Fn::kFDiv, {chain, Load(64)}))) << "17 places";
  Scalar deep = Make(Fn::kFDiv, {Root(Load(0)), Load(4)});
  for (int i = 0; i < LinearForms::kMaxTree; ++i) deep = Root(deep);
  EXPECT_FALSE(HasForm(deep));
  EXPECT_FALSE(HasForm(Make(Fn::kFDiv, {Make(Fn::kFMax, {Load(0), Load(4)}), Load(8)})));
}

}  // namespace
}  // namespace samebits::canonical
