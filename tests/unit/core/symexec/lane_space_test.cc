#include "core/symexec/lane_space.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace samebits::symexec {
namespace {

std::vector<int64_t> ToVector(const LaneSpace& space, ArrayId id) { return {space.array(id), space.array(id) + space.lanes()}; }

LaneSpace::Offsets Intern(LaneSpace& space, std::vector<int64_t> v) { return space.InternArray(v.data()); }

TEST(LaneSpaceTest, ArraysAreRelativeToLaneZeroAndKeptOnce) {
  LaneSpace space(4);
  const auto a = Intern(space, {10, 14, 18, 22}), b = Intern(space, {110, 114, 118, 122});
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.constant, 10);
  EXPECT_EQ(b.constant, 110);
  EXPECT_EQ(ToVector(space, a.id), (std::vector<int64_t>{0, 4, 8, 12}));
  EXPECT_EQ(space.info(a.id).min, 0);
  EXPECT_EQ(space.info(a.id).max, 12);
  const auto uniform = Intern(space, {7, 7, 7, 7});
  EXPECT_EQ(uniform.id, 0u);
  EXPECT_EQ(uniform.constant, 7);
  EXPECT_NE(Intern(space, {10, 14, 18, 23}).id, a.id);
}

TEST(LaneSpaceTest, ArithmeticIsLaneByLaneModuloTwoToThe64) {
  constexpr int kLanes = 67;
  LaneSpace space(kLanes);
  std::mt19937_64 random(3);
  for (int turn = 0; turn < 50; ++turn) {
    std::vector<int64_t> x(kLanes), y(kLanes), sum(kLanes), scaled(kLanes);
    const int64_t factor = static_cast<int64_t>(random() >> (random() % 64));
    for (int l = 0; l < kLanes; ++l) {
      x[l] = static_cast<int64_t>(random() >> (random() % 64));
      y[l] = static_cast<int64_t>(random());
      sum[l] = static_cast<int64_t>(static_cast<uint64_t>(x[l]) + static_cast<uint64_t>(y[l]));
      scaled[l] = static_cast<int64_t>(static_cast<uint64_t>(x[l]) * static_cast<uint64_t>(factor));
    }
    const auto a = Intern(space, x), b = Intern(space, y);
    EXPECT_EQ(space.Add(a.id, b.id), Intern(space, sum).id);
    EXPECT_EQ(space.Add(b.id, a.id), Intern(space, sum).id) << "from the memo";
    EXPECT_EQ(space.Scale(a.id, factor), Intern(space, scaled).id);
  }
}

TEST(LaneSpaceTest, PermuteAndBlend) {
  LaneSpace space(4);
  const auto a = Intern(space, {1, 2, 3, 4});
  const uint16_t source[] = {3, 3, 0, 1};
  const PermId perm = space.InternPerm(source);
  for (int turn = 0; turn < 2; ++turn) {
    const auto moved = space.Permute(a.id, perm);
    EXPECT_EQ(moved.constant + a.constant, 4);
    EXPECT_EQ(ToVector(space, moved.id), (std::vector<int64_t>{0, 0, -3, -2}));
  }
  const MaskId odd = space.MaskWhere([](int l) { return l % 2 == 1; });
  const auto mixed = space.Blend(odd, a.id, a.constant, 0, 50);
  EXPECT_EQ(mixed.constant, 50);
  EXPECT_EQ(ToVector(space, mixed.id), (std::vector<int64_t>{0, -48, 0, -46}));
  EXPECT_EQ(space.Blend(kAllLanes, a.id, 1, 0, 50).id, a.id);
  EXPECT_EQ(space.Blend(kNoLanes, a.id, 1, 0, 50).constant, 50);
}

TEST(LaneSpaceTest, Masks) {
  for (const int lanes : {1, 32, 64, 65, 1024}) {
    LaneSpace space(lanes);
    const MaskId even = space.MaskWhere([](int l) { return l % 2 == 0; });
    const MaskId low = space.MaskWhere([](int l) { return l < 40; });
    EXPECT_EQ(space.Count(kAllLanes), lanes);
    EXPECT_EQ(space.Count(kNoLanes), 0);
    EXPECT_EQ(space.First(kNoLanes), -1);
    for (int l = 0; l < lanes; ++l) {
      EXPECT_EQ(space.Test(space.And(even, low), l), l % 2 == 0 && l < 40);
      EXPECT_EQ(space.Test(space.Or(even, low), l), l % 2 == 0 || l < 40);
      EXPECT_EQ(space.Test(space.AndNot(even, low), l), l % 2 == 0 && l >= 40);
      EXPECT_EQ(space.Test(space.Xor(even, low), l), (l % 2 == 0) != (l < 40));
    }
    EXPECT_EQ(space.And(even, kAllLanes), even);
    EXPECT_EQ(space.AndNot(kAllLanes, kAllLanes), kNoLanes);
    EXPECT_EQ(space.MaskWhere([](int) { return true; }), kAllLanes);
    EXPECT_EQ(space.First(space.AndNot(even, low)), lanes > 40 ? 40 : -1);
  }
}

TEST(InternedVectorsTest, KeepsContentThroughGrowth) {
  InternedVectors<uint32_t> vectors(3);
  std::vector<uint32_t> ids;
  for (uint32_t i = 0; i < 5000; ++i) {
    const uint32_t v[] = {i, i * i, 7};
    ids.push_back(vectors.Intern(v));
  }
  for (uint32_t i = 0; i < 5000; ++i) {
    const uint32_t v[] = {i, i * i, 7};
    ASSERT_EQ(vectors.Intern(v), ids[i]);
    ASSERT_EQ(vectors[ids[i]][1], i * i);
  }
  EXPECT_EQ(vectors.size(), 5000u);
}

}  // namespace
}  // namespace samebits::symexec
