#include "core/gemm/profile_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/gemm/simulated_cost_model.h"

namespace samebits::gemm {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMostM = 600, kN = 64, kK = 4096;

GemmProblem At(int64_t m, int64_t k = kK) {
  GemmProblem p;
  p.m = m, p.n = kN, p.k = k;
  return p;
}

// A profile of the simulated library's rules, told instead of found: the answers for every M of one product, and one
// shape that is unexplained.
ArchProfile Told(int version, int64_t unexplained_m = 0) {
  SimulatedCostModel model(version);
  RuleBook book;
  for (int64_t k : {1024, 2048, 3000, 4096, 8192, 1000, 72, 40}) {
    for (int64_t m : {2, 3, 100, 300, 600}) {
      book.Learn(At(m, k), *model.Choose(At(m, k)), *model.Truth(At(m, k)));
    }
  }
  ArchProfile identity;
  identity.sm = 90;
  identity.library_version = version;
  ProfileBuilder builder(identity);
  std::vector<Algorithm> answers;
  for (int64_t m = 1; m <= kMostM; ++m) answers.push_back(*model.Choose(At(m)));
  builder.AddScan(At(1), answers);
  if (unexplained_m > 0) {
    SurveyedShape shape{At(unexplained_m), answers[unexplained_m - 1]};
    shape.summed_k = kK;
    builder.AddShape(shape, 10);
  }
  return std::move(builder).Build(book);
}

TEST(BatchInvarianceTest, RunsAreThoseOfTheTruth) {
  const SimulatedCostModel model;
  const auto report = BatchInvariance(Told(1), At(1), 2, kMostM);
  ASSERT_TRUE(report.ok()) << report.status();
  int64_t next = 2;
  for (const InvarianceRun& run : report->runs) {
    EXPECT_EQ(run.first_m, next);
    next = run.last_m + 1;
    ASSERT_TRUE(run.known) << run.why;
    for (int64_t m = run.first_m; m <= run.last_m; ++m) {
      EXPECT_EQ(NormalForm(run.desc, kK), NormalForm(*model.Truth(At(m)), kK)) << m;
    }
  }
  EXPECT_EQ(next, kMostM + 1);
  EXPECT_FALSE(report->invariant());
  EXPECT_EQ(report->kinds_of_bits, 3);  // f32 partials, f16 partials, no split
  EXPECT_THAT(report->runs.back().changes, ::testing::Contains(HasSubstr("-> none")));
  EXPECT_THAT(ToText(*report), HasSubstr("M = 256 to 600: bits"));
}

TEST(BatchInvarianceTest, OneRunIsInvariant) {
  const auto report = BatchInvariance(Told(1), At(1), 300, 600);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->invariant());
  EXPECT_EQ(report->runs.size(), 1);
  EXPECT_THAT(ToText(*report), HasSubstr("the same bits at every M"));
}

TEST(BatchInvarianceTest, WhatIsNotKnownIsSaid) {
  const auto report = BatchInvariance(Told(1, 400), At(1), 390, 700);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->unknown_m, 101);  // 400, and what was not scanned
  EXPECT_FALSE(report->invariant());
  ASSERT_EQ(report->runs.size(), 4);
  EXPECT_THAT(report->runs[1].why, HasSubstr("unexplained"));
  EXPECT_EQ(report->runs[0].bits, report->runs[2].bits);
  EXPECT_THAT(report->runs[3].why, HasSubstr("no answer"));
}

TEST(BatchInvarianceTest, BadRangesAreRefused) {
  for (const auto& [first, last] : {std::pair<int64_t, int64_t>{0, 5}, {7, 6}, {1, int64_t{1} << 21}}) {
    EXPECT_EQ(BatchInvariance(Told(1), At(1), first, last).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(ProfileComparisonTest, AProfileIsLikeItself) {
  const ProfileComparison comparison = Compare(Told(1), Told(1));
  EXPECT_EQ(comparison.changed, 0);
  EXPECT_EQ(comparison.unknown, 1);  // M = 1 takes another path, which was not told
  EXPECT_EQ(comparison.same, kMostM - 1);
  EXPECT_TRUE(comparison.differences.empty());
}

TEST(ProfileComparisonTest, ChangedThresholdsChangeTheShapesBetween) {
  const ProfileComparison comparison = Compare(Told(1), Told(2, 200));
  SimulatedCostModel before(1), after(2);
  int64_t changed = 0;
  for (int64_t m = 2; m <= kMostM; ++m) {
    if (m != 200) changed += NormalForm(*before.Truth(At(m)), kK) != NormalForm(*after.Truth(At(m)), kK);
  }
  EXPECT_EQ(comparison.changed, changed);
  EXPECT_EQ(comparison.unknown, 2);
  EXPECT_EQ(comparison.same, kMostM - 2 - changed);
  int64_t listed = 0;
  for (const ProfileDifference& d : comparison.differences) listed += d.last_m - d.problem.m + 1;
  EXPECT_EQ(listed, changed);
  EXPECT_THAT(ToText(comparison), HasSubstr("library version 1 -> 2"));
  EXPECT_THAT(ToText(comparison), HasSubstr("-> none"));
}

}  // namespace
}  // namespace samebits::gemm
