#include "core/gemm/gemm_desc.h"

#include <random>
#include <string>

#include "core/gemm/simulated_library.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace samebits::gemm {
namespace {

using ::testing::HasSubstr;

constexpr char kSplit[] =
    "gemm/1 types=f16,f16,f32,f16 family=split_k instruction=wgmma:16 fast_accum=yes step=64 short=last "
    "cuts=contiguous:192x3:ascending partial=f32 merge=f32 epilogue=none";

GemmDesc Parse(const std::string& text) {
  const auto desc = ParseGemmDesc(text);
  EXPECT_TRUE(desc.ok()) << text << ": " << desc.status();
  return desc.value_or(GemmDesc{});
}

std::string ErrorOf(const std::string& text) { return std::string(ParseGemmDesc(text).status().message()); }

TEST(GemmDescTest, TextParsesBackToAnEqualRecord) {
  EXPECT_EQ(ToText(Parse(kSplit)), kSplit);
  for (uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    GemmDesc desc = DrawHidden(random, false).desc;
    desc.epilogue.alpha = seed % 2 == 0 ? AlphaStep::kMultiply : AlphaStep::kNone;
    desc.epilogue.activation = seed % 3 == 0 ? Activation::kRelu : Activation::kNone;
    const auto back = ParseGemmDesc(ToText(desc));
    ASSERT_TRUE(back.ok()) << ToText(desc) << ": " << back.status();
    EXPECT_EQ(*back, desc) << ToText(desc);
    EXPECT_EQ(Digest(*back), Digest(desc));
  }
}

TEST(GemmDescTest, FieldsThatDifferMakeOtherDigests) {
  const GemmDesc base = Parse(kSplit);
  std::vector<GemmDesc> others(7, base);
  others[0].merge_type = FormatId::kF16;
  others[1].k_cuts[0].span = 208;
  others[2].k_cuts[0].order = MergeOrder::kDescending;
  others[3].instruction = Instruction::kMma;
  others[4].short_turn = ShortTurn::kFirst;
  others[5].epilogue.beta = BetaStep::kFused;
  others[6].output_type = FormatId::kF32;
  for (const GemmDesc& other : others) {
    EXPECT_FALSE(other == base);
    EXPECT_NE(Digest(other), Digest(base));
  }
}

TEST(GemmDescTest, FieldsMayStandInAnyOrderAndBeLeftOut) {
  const GemmDesc desc = Parse("gemm/1 instruction=fma types=f32,f32,f32,f32");
  EXPECT_EQ(desc.family, Family::kPlain);
  EXPECT_EQ(desc.instruction_k, 1);
  EXPECT_EQ(desc.merge_type, FormatId::kF32);
  EXPECT_EQ(Parse("gemm/1 instruction=mma:8 types=f16,f16,f16,f16").partial_type, FormatId::kF16);
}

TEST(GemmDescTest, ErrorsQuoteWhatIsWrong) {
  const struct {
    const char *text, *message;
  } kCases[] = {
      {"", "a GEMM descriptor begins with 'gemm/1'"},
      {"gemm/2 types=f16,f16,f32,f16", "a GEMM descriptor begins with 'gemm/1'"},
      {"gemm/1 instruction=fma", "types: missing"},
      {"gemm/1 types=f16,f16,f32,f16", "instruction: missing"},
      {"gemm/1 types=f16,f16,f32", "types: 'f16,f16,f32' is not understood"},
      {"gemm/1 types=f16,f16,f33,f16", "types: 'f33' is not understood"},
      {"gemm/1 types=f16,bf16,f32,f16 instruction=mma:16", "inputs must be of one type"},
      {"gemm/1 types=f16,f16,f32,f16 instruction=mma", "instruction: '' is no number"},
      {"gemm/1 types=f16,f16,f32,f16 instruction=mma:-1", "instruction: '-1' is no number"},
      {"gemm/1 types=f16,f16,f32,f16 instruction=fma:2", "scalar instructions take one product"},
      {"gemm/1 types=f32,f32,f32,f32 instruction=mma:8", "matrix instructions take no f32 inputs"},
      {"gemm/1 types=f16,f16,f32,f16 instruction=mma:16 colour=red", "'colour' is no field"},
      {"gemm/1 types=f16,f16,f32,f16 types=f16,f16,f32,f16", "'types' stands twice"},
      {"gemm/1 types=f16,f16,f32,f16 instruction=mma:16 cuts=contiguous:16x2", "plain has no cuts"},
      {"gemm/1 types=f16,f16,f32,f16 instruction=mma:16 family=split_k", "only plain has no cuts"},
      {"gemm/1 types=f16,f16,f32,f16 instruction=mma:16 family=split_k cuts=contiguous:0x2", "a span must be"},
      {"gemm/1 types=f16,f16,f32,f16 instruction=mma:16 family=split_k cuts=contiguous:16", "is not understood"},
      {"gemm/1 types=f16,f16,f32,f16 instruction=mma:16 family=gemv cuts=contiguous:16x2", "gemv needs a strided cut"},
      {"gemm/1 types=f16,f16,f32,f16 instruction=mma:16 short=first", "a short first turn needs a step"},
      {"gemm/1 types=f16,f16,f32,f16 instruction=mma:16 step=24", "multiple of the group length"},
      {"gemm/1 types=e4m3,e4m3,f32,f16 instruction=wgmma:32 fast_accum=no:48", "multiple of the group length"},
      {"gemm/1 types=e4m3,e4m3,f32,f16 instruction=wgmma:32 fast_accum=yes:64", "needs fast_accum=no"},
      {"gemm/1 types=f16,f16,f32,f16 instruction=mma:16 partial=f16", "only split_k rounds its parts"},
      {"gemm/1 types=f16,f16,f32,f16 instruction=mma:16 family=split_k cuts=contiguous:16x2 partial=bf16",
       "must be the accumulator's or the output's type"},
      {"gemm/1 types=f16,f16,f32,f16 instruction=mma:16 epilogue=gamma:none", "epilogue: 'gamma:none'"},
  };
  for (const auto& c : kCases) EXPECT_THAT(ErrorOf(c.text), HasSubstr(c.message)) << c.text;
}

TEST(GemmDescTest, CutsMustCoverK) {
  const GemmDesc desc = Parse(kSplit);
  EXPECT_TRUE(Validate(desc, 576).ok());
  EXPECT_THAT(std::string(Validate(desc, 577).message()), HasSubstr("cut 1 covers 576 of 577 elements"));
}

TEST(GemmDescTest, Describes) {
  EXPECT_EQ(Describe(Parse(kSplit)),
            "split-K in 3 spans of 192, f32 partials, merged at f32; wgmma of 16 products; f16 x f16, accumulated at "
            "f32; output f16");
  EXPECT_EQ(Describe(Parse("gemm/1 types=e4m3,e4m3,f32,bf16 instruction=wgmma:32 fast_accum=no:128")),
            "plain: one accumulator over the whole axis; wgmma of 32 products, added to a second accumulator every 128 "
            "elements; e4m3 x e4m3, accumulated at f32; output bf16");
}

}  // namespace
}  // namespace samebits::gemm
