#include "core/heal/numerics/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace samebits::heal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Case {
  const char *text, *canonical;
};
constexpr Case kCases[] = {
    {"bf16", "bf16"},
    {" FP16 ", "fp16"},
    {"tf32", "tf32"},
    {"fp32", "fp32"},
    {"heal-base", "heal-base"},
    {"HEAL+", "heal+"},
    {"heal++:11", "heal++:11"},
    {"heal++:0", "heal+"},
    {"heal++:@0-10", "heal++:11"},
    {"heal++:@7-9,2,5,8", "heal++:@2,5,7-9"},
    {"heal-full", "heal-full"},
    {"heal-full:0", "heal-full"},
    {"heal-full:7", "heal-full:7"},
    {"heal-full:@1", "heal-full:@1"},
    {"paper-heal+", "paper-heal+"},
    {"paper-heal++:2", "paper-heal++:2"},
    {"paper-heal-full:@1", "paper-heal-full:@1"},
    {"trunc:3", "trunc:3"},
    {"trunc:22", "trunc:22"},
};

TEST(ConfigurationTest, CanonicalTextParsesToTheSame) {
  for (const Case& c : kCases) {
    const auto parsed = ParseConfiguration(c.text);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(ToText(*parsed), c.canonical);
    EXPECT_EQ(parsed->name, c.canonical);
    const auto again = ParseConfiguration(c.canonical);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, *parsed);
  }
}

TEST(ConfigurationTest, BadWordsAreQuotedAndKnownOnesListed) {
  for (const char* text : {"",           "bf17",        "bf16:3",
                           "heal++",     "heal++:",     "heal++:x",
                           "heal++:-1",  "heal++:1025", "heal+:3",
                           "heal++:@",   "heal++:@3-1", "heal++:@1,,2",
                           "heal++:@1-", "heal++:@-1",  "heal++:@0-99999999",
                           "paper-bf16", "paper-",      "paper-heal-base",
                           "heal-full:", "trunc",       "trunc:2",
                           "trunc:23",   "trunc:+3",    "trunc:3x"}) {
    const auto parsed = ParseConfiguration(text);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("'" + std::string(text) + "'"));
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr("heal-full:@LAYERS"));
  }
  EXPECT_FALSE(ParseConfiguration(std::string(100000, 'x')).ok());
  std::string many = "heal++:@0";
  for (int i = 0; i < 2000; ++i) many += ",0";
  EXPECT_FALSE(ParseConfiguration(many).ok());
}

TEST(ConfigurationTest, MeaningOfEachName) {
  const auto base = *ParseConfiguration("heal-base");
  EXPECT_EQ(base.boundary, Boundary::kF32);
  EXPECT_EQ(base.gemm, GemmInput::kF16);
  EXPECT_EQ(base.attention, AttentionMode::kF16);
  const auto trunc = *ParseConfiguration("trunc:5");
  EXPECT_EQ(trunc.boundary, Boundary::kTruncated);
  EXPECT_EQ(trunc.significand_bits, 5);
  EXPECT_EQ(trunc.gemm, GemmInput::kF32);
  EXPECT_EQ(trunc.attention, AttentionMode::kF32);
}

TEST(ConfigurationTest, LayersChooseWhatIsProtected) {
  const auto plus = *ParseConfiguration("heal++:@1,3");
  EXPECT_THAT(plus.unprotected_layers, ElementsAre(1, 3));
  EXPECT_EQ(plus.AttentionOf(0), AttentionMode::kInt16);
  EXPECT_EQ(plus.AttentionOf(3), AttentionMode::kF16);
  EXPECT_EQ(plus.GemmOf(3), GemmInput::kF16);
  const auto full = *ParseConfiguration("heal-full:2");
  EXPECT_EQ(full.GemmOf(1), GemmInput::kF16);
  EXPECT_EQ(full.GemmOf(2), GemmInput::kF16Compensated);
  EXPECT_EQ(full.AttentionOf(1), AttentionMode::kInt16);
}

TEST(ConfigurationTest, OutputProductIsCompensatedWhereAttentionIsProtected) {
  EXPECT_EQ(ParseConfiguration("heal+")->OutputGemmOf(0), GemmInput::kF16Compensated);
  EXPECT_EQ(ParseConfiguration("paper-heal+")->OutputGemmOf(0), GemmInput::kF16);
  EXPECT_EQ(ParseConfiguration("heal-base")->OutputGemmOf(0), GemmInput::kF16);
  EXPECT_EQ(ParseConfiguration("fp32")->OutputGemmOf(0), GemmInput::kF32);
  const auto unprotected = *ParseConfiguration("heal++:2");
  EXPECT_EQ(unprotected.OutputGemmOf(1), GemmInput::kF16);
  EXPECT_EQ(unprotected.OutputGemmOf(2), GemmInput::kF16Compensated);
  const auto full = *ParseConfiguration("heal-full:2");
  EXPECT_EQ(full.GemmOf(1), GemmInput::kF16);
  EXPECT_EQ(full.OutputGemmOf(1), GemmInput::kF16Compensated);
}

TEST(ConfigurationTest, LayersMustExist) {
  EXPECT_TRUE(Validate(*ParseConfiguration("heal++:@1,3"), 4).ok());
  const absl::Status status = Validate(*ParseConfiguration("heal++:@1,3"), 3);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("layer 3"));
  EXPECT_FALSE(Validate(*ParseConfiguration("heal-full:3"), 2).ok());
}

}  // namespace
}  // namespace samebits::heal
