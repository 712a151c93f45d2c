#include "core/gemm/plan.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace samebits::gemm {
namespace {

Plan MakePlan(const std::string& text, int64_t k, int sm = 90) {
  const auto desc = ParseGemmDesc("gemm/1 " + text);
  EXPECT_TRUE(desc.ok()) << desc.status();
  auto plan = Compile(*desc, k, sm);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

const std::string kF16 = "types=f16,f16,f32,f16 ", kF32 = "types=f32,f32,f32,f32 ";

TEST(PlanTest, GroupsFollowTheUnitOfTheArchitecture) {
  EXPECT_EQ(MakePlan(kF16 + "instruction=mma:16", 40, 90).group_begin, (std::vector<int64_t>{0, 16, 32, 40}));
  EXPECT_EQ(MakePlan(kF16 + "instruction=mma:16", 40, 80).group_begin, (std::vector<int64_t>{0, 8, 16, 24, 32, 40}));
  EXPECT_EQ(MakePlan(kF16 + "instruction=mma:16 step=32 short=first", 40).group_begin,
            (std::vector<int64_t>{0, 8, 24, 40}));
}

TEST(PlanTest, CutsOrderTheAxis) {
  EXPECT_THAT(MakePlan(kF32 + "instruction=fma family=gemv cuts=strided:2x2", 7).order,
              ::testing::ElementsAre(0, 1, 4, 5, 2, 3, 6));
  EXPECT_THAT(MakePlan(kF32 + "instruction=fma family=chained cuts=contiguous:3x3:descending", 7).order,
              ::testing::ElementsAre(6, 3, 4, 5, 0, 1, 2));
  const Plan balanced = MakePlan(kF32 + "instruction=fma family=split_k cuts=balanced:2x3", 10);  // 5 tiles: 2, 2, 1
  ASSERT_EQ(balanced.steps.size(), 5u);
  EXPECT_EQ(balanced.steps[0].end, 4);
  EXPECT_EQ(balanced.steps[1].end, 8);
  EXPECT_EQ(balanced.steps[3].end, 10);
}

TEST(PlanTest, LanesAddAsANestOfStridedCuts) {
  const std::string gemv = kF32 + "instruction=fma family=gemv cuts=";
  EXPECT_EQ(DigestOf(MakePlan(gemv + "strided:4x128:lanes", 2000)),
            DigestOf(MakePlan(gemv + "strided:4x4,strided:4x8,strided:4x2,strided:4x2", 2000)));
  EXPECT_EQ(DigestOf(MakePlan(gemv + "strided:4x256:lanes4", 4000)),
            DigestOf(MakePlan(gemv + "strided:4x4,strided:4x8,strided:4x2,strided:4x2,strided:4x2", 4000)));
  EXPECT_EQ(DigestOf(MakePlan(gemv + "strided:4x128:lanes8", 2000)), DigestOf(MakePlan(gemv + "strided:4x128:lanes", 2000)));
  EXPECT_NE(DigestOf(MakePlan(gemv + "strided:4x132:lanes4", 2000)), DigestOf(MakePlan(gemv + "strided:4x132:lanes", 2000)));
  EXPECT_EQ(DigestOf(MakePlan(gemv + "strided:4x16:lanes", 200)), DigestOf(MakePlan(gemv + "strided:4x4,strided:4x4", 200)));
  EXPECT_EQ(DigestOf(MakePlan(gemv + "strided:1x3:lanes", 20)), DigestOf(MakePlan(gemv + "strided:1x3", 20)));
  EXPECT_FALSE(ParseGemmDesc("gemm/1 " + gemv + "strided:4x1025:lanes").ok());
  EXPECT_FALSE(ParseGemmDesc("gemm/1 " + kF32 + "instruction=fma family=chained cuts=contiguous:4x9:lanes").ok());
}

TEST(PlanTest, DescriptorsOfOneMeaningHaveOneDigest) {
  const struct {
    std::string x, y;
    int64_t k;
    int sm;
  } kSame[] = {
      // the instruction's name, where the arithmetic is one
      {kF16 + "instruction=mma:16", kF16 + "instruction=wgmma:16", 100, 90},
      // two units of 8 are one instruction of 16
      {kF16 + "instruction=mma:16", kF16 + "instruction=mma:8", 100, 80},
      // a step without a short turn first
      {kF16 + "instruction=mma:16 step=64", kF16 + "instruction=mma:16", 100, 90},
      {kF16 + "instruction=mma:16 step=16 short=first", kF16 + "instruction=mma:16", 96, 90},
      // promotion is a cut
      {"types=e4m3,e4m3,f32,f32 instruction=wgmma:32 fast_accum=no:128",
       "types=e4m3,e4m3,f32,f32 instruction=wgmma:32 family=chained cuts=contiguous:128x3", 300, 90},
      // exact products
      {kF16 + "instruction=fma", kF16 + "instruction=mul_add", 50, 90},
      // addition commutes
      {kF16 + "instruction=mma:16 family=split_k cuts=contiguous:64x2",
       kF16 + "instruction=mma:16 family=split_k cuts=contiguous:64x2:descending", 100, 90},
      // the last addition is rounded to the output anyway
      {kF16 + "instruction=mma:16 family=split_k cuts=contiguous:64x2 partial=f16 merge=f16",
       kF16 + "instruction=mma:16 family=split_k cuts=contiguous:64x2 partial=f16", 100, 90},
      // parts of one product each
      {kF32 + "instruction=mul_add", kF32 + "instruction=fma family=chained cuts=contiguous:1x9", 9, 90},
      // folding neighbours last, four lanes of one
      {kF32 + "instruction=fma family=gemv cuts=strided:1x2,strided:1x2",
       kF32 + "instruction=fma family=gemv cuts=strided:1x2,strided:1x2,strided:1x2", 4, 90},
  };
  for (const auto& c : kSame) EXPECT_EQ(DigestOf(MakePlan(c.x, c.k, c.sm)), DigestOf(MakePlan(c.y, c.k, c.sm))) << c.x;
}

TEST(PlanTest, DescriptorsOfOtherMeaningsDiffer) {
  const struct {
    std::string x, y;
    int64_t k;
    int sm;
  } kOther[] = {
      {kF16 + "instruction=mma:16", kF16 + "instruction=mma:8", 100, 90},
      {kF16 + "instruction=mma:16 step=64 short=first", kF16 + "instruction=mma:16", 100, 90},
      {kF32 + "instruction=fma", kF32 + "instruction=mul_add", 3, 90},
      {kF16 + "instruction=mma:16 family=split_k cuts=contiguous:32x4",
       kF16 + "instruction=mma:16 family=split_k cuts=contiguous:32x4:descending", 100, 90},
      {kF16 + "instruction=mma:16 family=split_k cuts=contiguous:32x4 merge=f16",
       kF16 + "instruction=mma:16 family=split_k cuts=contiguous:32x4", 100, 90},
      {kF32 + "instruction=fma family=gemv cuts=strided:1x2,strided:1x2",
       kF32 + "instruction=fma family=gemv cuts=strided:2x2,strided:1x2", 8, 90},
      {kF16 + "instruction=mma:16 epilogue=alpha:multiply", kF16 + "instruction=mma:16 step=16 short=first", 100, 90},
  };
  for (const auto& c : kOther) EXPECT_NE(DigestOf(MakePlan(c.x, c.k, c.sm)), DigestOf(MakePlan(c.y, c.k, c.sm))) << c.x;
}

}  // namespace
}  // namespace samebits::gemm
