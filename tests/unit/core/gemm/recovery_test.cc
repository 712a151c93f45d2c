#include "core/gemm/recovery.h"

#include <algorithm>
#include <random>

#include "core/gemm/simulation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace samebits::gemm {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(RecoveryTest, RandomHiddenDescriptorsAreRecovered) {
  SimulationOptions options;
  options.seed = 100000;
  options.count = 40;
  SimulationTable table;
  const absl::Status status = Simulate(options, [&](const SimulatedCase& c) {
    EXPECT_TRUE(c.recovered()) << "seed " << c.seed << ": " << ToText(c.hidden.desc) << " recovered as "
                               << ToText(c.recovery.desc) << " " << c.recovery.reason;
    table.Add(c);
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(table.recovered(), 40);
  EXPECT_LE(table.median_launches(), 40);
}

// Few operands tell these from a neighbour: sums of five parts by lanes, and a last product by itself; outputs are bf16.
TEST(RecoveryTest, FormsThatHardlyShowAreToldApart) {
  for (const uint64_t seed : {2118, 4185}) {
    SimulationOptions options;
    options.seed = seed;
    options.count = 1;
    const absl::Status status = Simulate(options, [](const SimulatedCase& c) {
      EXPECT_TRUE(c.recovered()) << ToText(c.hidden.desc) << "\n" << ToText(c.recovery.desc);
    });
    EXPECT_TRUE(status.ok()) << status;
  }
}

HiddenGemm Hidden(const std::string& text, int64_t m, int64_t n, int64_t k, int sm = 90) {
  HiddenGemm hidden;
  const auto desc = ParseGemmDesc("gemm/1 " + text);
  EXPECT_TRUE(desc.ok()) << desc.status();
  hidden.desc = *desc;
  hidden.sm = sm;
  hidden.summed_k = k;
  hidden.problem = {m, n, k, desc->a_type, desc->b_type, desc->accumulate_type, desc->output_type};
  return hidden;
}

Recovery RecoverHidden(const HiddenGemm& hidden) {
  SimulatedLibrary library(hidden);
  const auto recovery = Recover(&library, hidden.problem, {});
  EXPECT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_EQ(recovery->launches, library.launches());
  return *recovery;
}

TEST(RecoveryTest, TheSplitOfThePaper) {
  const Recovery recovery = RecoverHidden(
      Hidden("types=f16,f16,f32,f16 instruction=mma:16 family=split_k cuts=contiguous:192x3", 64, 64, 576, 100));
  EXPECT_TRUE(recovery.explained) << recovery.reason;
  EXPECT_EQ(recovery.desc.k_cuts, (std::vector<KCut>{{CutLayout::kContiguous, 192, 3}}));
  EXPECT_EQ(recovery.desc.family, Family::kSplitK);
  EXPECT_LE(recovery.launches, 20);
}

// Numbers of parts that are no multiples of the lanes' periods, with several turns of each part.
TEST(RecoveryTest, PartsAddedByLanes) {
  for (const auto& [cuts, k] : {std::pair<const char*, int64_t>{"strided:64x31:lanes,strided:2x2,strided:2x2,strided:2x2", 9698},
                                {"strided:32x114:lanes,strided:1x2,strided:1x2", 8101},
                                {"strided:2x132:lanes4", 700},
                                {"strided:2x264:lanes8", 1300},
                                {"strided:4x132:lanes", 1100}}) {
    const HiddenGemm hidden = Hidden(std::string(k > 8000 ? "types=bf16,bf16,f32,f32" : "types=f16,f16,f32,f32") + " instruction=fma family=gemv cuts=" + cuts, 1, 14, k);
    const Recovery recovery = RecoverHidden(hidden);
    EXPECT_TRUE(recovery.explained) << recovery.reason;
    const auto own = Compile(hidden.desc, k, 90), found = Compile(recovery.desc, k, 90);
    EXPECT_EQ(DigestOf(*own), DigestOf(*found)) << ToText(recovery.desc);
  }
}

// One pair of places a launch, and few distinct tiny values.
TEST(RecoveryTest, EightBitProductsOfOneRow) {
  const HiddenGemm hidden = Hidden(
      "types=e4m3,e4m3,f32,bf16 instruction=wgmma:32 fast_accum=no:128 family=split_k cuts=contiguous:3392x2", 1, 16, 6736);
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    SimulatedLibrary library(hidden);
    RecoveryOptions options;
    options.seed = seed;
    const auto recovery = Recover(&library, hidden.problem, options);
    ASSERT_TRUE(recovery.ok()) << recovery.status();
    EXPECT_TRUE(recovery->explained) << seed << ": " << recovery->reason;
  }
}

// A launch has room for one pair: as many launches are made as probes are needed, more than 60 with this seed.
TEST(RecoveryTest, ASplitOfOneRowTakesTheLaunchesThatItNeeds) {
  const HiddenGemm hidden = Hidden(
      "types=e4m3,e4m3,f32,bf16 family=split_k instruction=wgmma:32 fast_accum=no:128 cuts=contiguous:3456x2:ascending", 1, 16, 6736);
  SimulatedLibrary library(hidden);
  RecoveryOptions options;
  options.seed = 2000006;
  options.sample_side = 16;
  const auto recovery = Recover(&library, hidden.problem, options);
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_TRUE(recovery->explained) << recovery->reason;
  EXPECT_GT(recovery->launches, 100);
  EXPECT_LE(recovery->launches, 250);
}

TEST(RecoveryTest, ADroppedTailIsADefectWithItsRange) {
  HiddenGemm hidden = Hidden("types=bf16,bf16,f32,bf16 instruction=wgmma:16", 32, 8, 11528);
  hidden.summed_k = 11520;
  const Recovery recovery = RecoverHidden(hidden);
  EXPECT_TRUE(recovery.explained) << recovery.reason;
  EXPECT_EQ(recovery.summed_k, 11520);
  EXPECT_THAT(recovery.evidence, Contains(HasSubstr("DEFECT: elements 11520 to 11527 are not summed")));
}

TEST(RecoveryTest, ReportsTheTypesOfPartialSums) {
  for (const char* types : {"partial=f16 merge=f32", "partial=f32 merge=f16", "partial=f16 merge=f16"}) {
    const HiddenGemm hidden = Hidden(
        std::string("types=f16,f16,f32,f16 instruction=wgmma:16 family=split_k cuts=contiguous:128x5 ") + types, 48, 48, 640);
    const Recovery recovery = RecoverHidden(hidden);
    EXPECT_TRUE(recovery.explained);
    EXPECT_EQ(recovery.desc.partial_type, hidden.desc.partial_type) << types;
    EXPECT_EQ(recovery.desc.merge_type, hidden.desc.merge_type) << types;
  }
}

TEST(RecoveryTest, TellsWhetherAProductIsRoundedBeforeItIsAdded) {
  // the last product is added to the chain of four in one rounding, or rounded first: one tree
  for (const char* cuts : {"family=plain cuts=none", "family=chained cuts=contiguous:4x2"}) {
    const HiddenGemm hidden = Hidden(std::string("types=bf16,bf16,f32,bf16 instruction=fma ") + cuts, 1, 64, 5);
    const Recovery recovery = RecoverHidden(hidden);
    ASSERT_TRUE(recovery.explained) << recovery.reason;
    EXPECT_EQ(DigestOf(*Compile(recovery.desc, 5, 90)), DigestOf(*Compile(hidden.desc, 5, 90))) << cuts;
  }
}

// Answers as `inner` does, but changes something.
class Disturbed : public BlackBox {
 public:
  Disturbed(HiddenGemm hidden, bool by_row) : inner_(std::move(hidden)), by_row_(by_row) {}
  int sm() const override { return inner_.sm(); }
  absl::StatusOr<CallProfile> Profile(const GemmProblem& problem) override { return inner_.Profile(problem); }
  absl::StatusOr<std::vector<uint64_t>> Multiply(const GemmProblem& problem, const SparseRows& a, const SparseRows& b,
                                                 std::span<const Output> outputs) override {
    auto results = inner_.Multiply(problem, a, b, outputs);
    if (!results.ok()) return results;
    for (size_t i = 0; i < results->size(); ++i) {
      const bool full = std::count(a.patterns.begin(), a.patterns.end(), 0) * 2 < static_cast<int64_t>(a.patterns.size());
      if (full && (!by_row_ || a.index[outputs[i].row] % 2 == 1)) (*results)[i] ^= 1;
    }
    return results;
  }

 private:
  SimulatedLibrary inner_;
  const bool by_row_;
};

TEST(RecoveryTest, WhatNoCandidateReproducesIsUnexplained) {
  const HiddenGemm hidden = Hidden("types=f16,f16,f32,f16 instruction=wgmma:16", 32, 32, 256);
  Disturbed box(hidden, false);
  const auto recovery = Recover(&box, hidden.problem, {});
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_FALSE(recovery->explained);
  EXPECT_THAT(recovery->reason, HasSubstr("no candidate reproduces"));
  ASSERT_TRUE(recovery->mismatch.has_value());
  EXPECT_EQ(recovery->mismatch->expected ^ recovery->mismatch->library, 1u);
}

TEST(RecoveryTest, OrdersThatDependOnTheRowAreUnexplained) {
  const HiddenGemm hidden = Hidden("types=f16,f16,f32,f16 instruction=wgmma:16", 32, 32, 256);
  Disturbed box(hidden, true);
  const auto recovery = Recover(&box, hidden.problem, {});
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_FALSE(recovery->explained);
  EXPECT_THAT(recovery->reason, HasSubstr("depends on the place of the output"));
}

}  // namespace
}  // namespace samebits::gemm
