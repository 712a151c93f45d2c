// Tiles are told apart by their form and by the pattern of their offsets, not by where they lie.

#include "core/symexec/tile_memo.h"

#include "gtest/gtest.h"

namespace samebits::symexec {
namespace {

TileMemo::Form FormOf(int k) {
  TileMemo::Form form;
  form.k = k;
  form.memory = 7;
  return form;
}

std::vector<Lanes> VectorAt(int64_t constant) {
  Lanes v;
  v.nodes = 9;
  v.anchors.push_back({3, 0, constant});
  return {v};
}

TEST(TileMemoTest, TheSamePatternElsewhereIsMoved) {
  TileMemo memo;
  memo.Add(FormOf(16), {100, 132, 164}, VectorAt(100));
  std::vector<Lanes> out;
  ASSERT_TRUE(memo.Find(FormOf(16), {612, 644, 676}, &out));
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].nodes, 9u);
  EXPECT_EQ(out[0].anchors[0].constant, 612);
  EXPECT_EQ(out[0].anchors[0].array, 3u);
}

TEST(TileMemoTest, AnotherPatternOrFormIsUnknown) {
  TileMemo memo;
  memo.Add(FormOf(16), {100, 132, 164}, VectorAt(100));
  std::vector<Lanes> out;
  EXPECT_FALSE(memo.Find(FormOf(16), {100, 132, 168}, &out));
  EXPECT_FALSE(memo.Find(FormOf(16), {100, 132}, &out));
  EXPECT_FALSE(memo.Find(FormOf(32), {100, 132, 164}, &out));
  TileMemo::Form other = FormOf(16);
  other.by_element = 1;
  EXPECT_FALSE(memo.Find(other, {100, 132, 164}, &out));
}

TEST(TileMemoTest, TheOldestMakesRoom) {
  TileMemo memo;
  for (int k = 1; k <= 9; ++k) memo.Add(FormOf(k), {0}, VectorAt(0));
  std::vector<Lanes> out;
  EXPECT_FALSE(memo.Find(FormOf(1), {0}, &out));
  EXPECT_TRUE(memo.Find(FormOf(9), {0}, &out));
}

}  // namespace
}  // namespace samebits::symexec
