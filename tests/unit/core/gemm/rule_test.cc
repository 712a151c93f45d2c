#include "core/gemm/rule.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "core/gemm/plan.h"
#include "core/gemm/rule_book.h"
#include "core/gemm/simulated_library.h"

namespace samebits::gemm {
namespace {

GemmRule Parse(const std::string& text) {
  const absl::StatusOr<GemmRule> rule = ParseGemmRule("gemm/1 types=f16,f16,f32,f16 " + text);
  EXPECT_TRUE(rule.ok()) << rule.status();
  return rule.ok() ? *rule : GemmRule{};
}

TEST(GemmRuleTest, SharesAreRoundedUpToTheGranule) {
  const GemmRule rule = Parse("family=split_k instruction=wgmma:16 cuts=contiguous:share/splits/64/8:cover:ascending partial=f16");
  const auto even = Instantiate(rule, 4096, 3), odd = Instantiate(rule, 4097, 3), small = Instantiate(rule, 40, 3);
  ASSERT_TRUE(even.ok() && odd.ok() && small.ok());
  EXPECT_EQ(even->k_cuts, (std::vector<KCut>{{CutLayout::kContiguous, 1408, 3}}));
  EXPECT_EQ(odd->k_cuts, (std::vector<KCut>{{CutLayout::kContiguous, 1368, 3}}));  // no multiple of 64: of 8
  EXPECT_EQ(small->k_cuts, (std::vector<KCut>{{CutLayout::kContiguous, 16, 3}}));
  EXPECT_EQ(even->partial_type, FormatId::kF16);
}

TEST(GemmRuleTest, CutsThatDoNothingAreLeftOut) {
  const GemmRule rule = Parse("family=split_k instruction=wgmma:16 cuts=contiguous:share/splits/64/0:cover:ascending partial=f16");
  const auto desc = Instantiate(rule, 64, 5);
  ASSERT_TRUE(desc.ok());
  EXPECT_EQ(desc->family, Family::kPlain);
  EXPECT_TRUE(desc->k_cuts.empty());
  EXPECT_EQ(desc->partial_type, FormatId::kF32);
}

TEST(GemmRuleTest, TextsParseBack) {
  for (const char* text :
       {"instruction=wgmma:16 step=64 short=first cuts=none",
        "family=gemv instruction=fma cuts=strided:share/16/1/0:2:ascending,strided:4:splits:descending",
        "family=chained instruction=fma cuts=contiguous:32:cover:ascending,balanced:8:3:ascending"}) {
    const GemmRule rule = Parse(text);
    const auto again = ParseGemmRule(ToText(rule));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, rule) << ToText(rule);
  }
}

TEST(GemmRuleTest, BadTextsAreRefused) {
  for (const char* cuts : {"contiguous:32:3:ascending", "strided:0:2:ascending", "contiguous:share/2/64:cover:ascending",
                           "contiguous:32:cover:upward", "contiguous:32:cover", "heap:32:cover:ascending",
                           "contiguous:-4:cover:ascending", "strided:4:99999999999:ascending"}) {
    EXPECT_FALSE(ParseGemmRule(std::string("gemm/1 family=chained instruction=fma cuts=") + cuts).ok()) << cuts;
  }
}

// Whatever the descriptor, the rules that it gives have it as a case; and equal forms are equal plans.
TEST(GemmRuleTest, RulesOfADescriptorGiveItBack) {
  std::mt19937_64 random(7);
  int64_t rules = 0;
  for (int i = 0; i < 300; ++i) {
    const HiddenGemm hidden = DrawHidden(random, false);
    const int64_t k = hidden.problem.k;
    if (k > 3000) continue;
    const int64_t splits = hidden.desc.k_cuts.empty() ? 1 : hidden.desc.k_cuts[0].count;
    const auto plan = Compile(hidden.desc, k, hidden.sm);
    ASSERT_TRUE(plan.ok());
    for (const GemmRule& rule : Generalise(hidden.desc, k, splits)) {
      const auto desc = Instantiate(rule, k, splits);
      ASSERT_TRUE(desc.ok()) << desc.status() << " " << ToText(rule);
      EXPECT_EQ(NormalForm(*desc, k), NormalForm(hidden.desc, k)) << ToText(rule) << "\n" << ToText(hidden.desc);
      const auto own = Compile(*desc, k, hidden.sm);
      if (!own.ok()) continue;  // a group length that this architecture's arithmetic does not cover
      EXPECT_EQ(DigestOf(*own), DigestOf(*plan)) << k << " " << ToText(rule) << "\n" << ToText(hidden.desc);
      ++rules;
    }
  }
  EXPECT_GT(rules, 1000);
}

TEST(RuleBookTest, ShapesNarrowTheRules) {
  GemmProblem problem;
  Algorithm algorithm{.id = 24, .stages = 13, .splits = 4};
  const GemmRule truth = Parse(
      "family=split_k instruction=wgmma:16 step=64 short=first cuts=contiguous:share/splits/64/8:cover:ascending partial=f32");
  RuleBook book;
  for (int64_t k : {1024, 1000, 4096, 4100, 777, 512, 12345, 9999}) {
    problem.k = k;
    algorithm.splits = 3 + k % 5;
    book.Learn(problem, algorithm, *Instantiate(truth, k, algorithm.splits));
  }
  const auto entries = book.Entries();
  ASSERT_EQ(entries.size(), 1);
  EXPECT_EQ(entries.begin()->second.shapes, 8);
  for (int64_t k : {2048, 2049, 31, 65536, 70001}) {
    problem.k = k;
    const auto desc = Decide(entries.begin()->second, problem, algorithm);
    ASSERT_TRUE(desc.ok()) << desc.status() << " at " << k;
    EXPECT_EQ(NormalForm(*desc, k), NormalForm(*Instantiate(truth, k, algorithm.splits), k));
  }
}

TEST(RuleBookTest, RulesThatDifferDecideNothing) {
  GemmProblem problem;
  problem.k = 1024;
  const Algorithm algorithm{.id = 1, .splits = 4};
  RuleBook book;
  book.Learn(problem, algorithm, *Instantiate(Parse("family=split_k instruction=wgmma:16 cuts=contiguous:share/splits/64/0:cover:ascending"), 1024, 4));
  const auto entries = book.Entries();
  ASSERT_EQ(entries.size(), 1);  // spans of 256, or a quarter each
  EXPECT_TRUE(Decide(entries.begin()->second, problem, algorithm).ok());
  problem.k = 4096;
  EXPECT_EQ(Decide(entries.begin()->second, problem, algorithm).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace samebits::gemm
