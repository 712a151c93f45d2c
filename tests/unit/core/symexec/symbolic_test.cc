#include "core/symexec/symbolic.h"

#include <vector>

#include "gtest/gtest.h"

namespace samebits::symexec {
namespace {

TEST(SymbolicTest, TablesAreRelativeToTheFirstBlock) {
  SymbolicSpace space(4);
  const auto a = space.FromTable({5, 7, 9, 11}), b = space.FromTable({100, 102, 104, 106});
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.constant, 5);
  EXPECT_EQ(b.constant, 100);
  EXPECT_EQ(space.At(a.id, 3), 6);
  EXPECT_EQ(space[a.id].min, 0);
  EXPECT_EQ(space[a.id].max, 6);
  EXPECT_EQ(space[a.id].trailing_zeros, 1);
  const auto constant = space.FromTable({3, 3, 3, 3});
  EXPECT_EQ(constant.id, 0u);
  EXPECT_EQ(constant.constant, 3);
}

TEST(SymbolicTest, SumsOfTablesAndAtoms) {
  SymbolicSpace space(3);
  const auto t = space.FromTable({0, 4, 8}), n = space.FromAtom(20), m = space.FromAtom(7);
  const auto sum = space.Add(space.Add(t.id, n.id).id, m.id);
  const auto other = space.Add(n.id, space.Add(m.id, t.id).id);
  EXPECT_EQ(sum.id, other.id);
  EXPECT_TRUE(space.HasTerms(sum.id));
  EXPECT_FALSE(space.HasTerms(t.id));
  EXPECT_EQ(space[sum.id].terms, (std::vector<std::pair<AtomId, int64_t>>{{7, 1}, {20, 1}}));
  EXPECT_EQ(space.At(sum.id, 2), 8);
  EXPECT_EQ(space.Add(sum.id, space.Scale(n.id, -1).id).id, space.Add(t.id, m.id).id) << "terms cancel";
  EXPECT_EQ(space.Add(t.id, space.Scale(t.id, -1).id).id, 0u) << "tables cancel";
}

TEST(SymbolicTest, ScaleWrapsAndVanishes) {
  SymbolicSpace space(2);
  const auto t = space.FromTable({0, int64_t{1} << 32});
  EXPECT_EQ(space.Scale(t.id, 0).id, 0u);
  EXPECT_EQ(space.Scale(t.id, 1).id, t.id);
  EXPECT_EQ(space.Scale(t.id, int64_t{1} << 32).id, 0u) << "2^64 is 0";
  EXPECT_EQ(space.At(space.Scale(t.id, 3).id, 1), 3 * (int64_t{1} << 32));
  EXPECT_EQ(space.Scale(space.FromAtom(1).id, 5).id, space.Scale(space.FromAtom(1).id, 5).id);
}

TEST(SymbolicTest, MapIsPointwise) {
  SymbolicSpace space(4);
  const auto a = space.FromTable({5, 6, 7, 8}), b = space.FromTable({0, 10, 20, 30});
  const auto product = space.Map(a.id, a.constant, b.id, b.constant, [](int64_t x, int64_t y) { return x * y; });
  EXPECT_EQ(product.constant, 0);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(space.At(product.id, i), static_cast<int64_t>((5 + i) * 10 * i));
}

}  // namespace
}  // namespace samebits::symexec
