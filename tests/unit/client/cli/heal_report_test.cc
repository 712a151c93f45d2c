#include "client/cli/heal_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace samebits::cli {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

std::string Text(const heal::JobResult& result) { return HumanNumerics(result, {Style(false), 200}); }

TEST(HealReportTest, WhatOverflowsIsSaid) {
  heal::EvaluateResult result;
  heal::ConfigurationOutcome& fine = result.configurations.emplace_back();
  fine.configuration = "bf16";
  fine.schedules.emplace_back();
  heal::ConfigurationOutcome& failed = result.configurations.emplace_back();
  failed.configuration = "fp16";
  heal::ScheduleOutcome& schedule = failed.schedules.emplace_back();
  schedule.schedule = heal::Schedule::kReversed;
  schedule.failure = "row 3: a hidden state is not finite";
  EXPECT_THAT(Text(result), AllOf(HasSubstr("fp16, reversed: not measured: row 3: a hidden state is not finite\n"),
                                  Not(HasSubstr("bf16, fixed"))));
}

TEST(HealReportTest, APointOfTheSweepThatOverflowsIsSaid) {
  heal::SweepResult result;
  result.points.push_back({"bf16", 7, {1, 0, 4}, {0, 0, 4}});
  result.points.push_back({"fp16", 10, {}, {}});
  EXPECT_THAT(Text(result), AllOf(HasSubstr("fp16: not measured: its values are not finite\n"),
                                  Not(HasSubstr("bf16: not measured"))));
}

TEST(HealReportTest, OperatorsThatOverflowAreNotWithoutError) {
  heal::DecomposeResult result;
  result.configuration = "fp16";
  const auto add = [&](double total, double ratio) {
    heal::OperatorOutcome& one = result.operators.emplace_back();
    one.instance.family = heal::OperatorFamily::kGemm;
    one.total = total;
    one.ratio = ratio;
  };
  add(0, kNan);
  add(kInfinity, kNan);
  add(kNan, kNan);
  add(1, 0.5);
  heal::FamilyOutcome& family = result.families.emplace_back();
  family.family = heal::OperatorFamily::kGemm;
  family.ratio.count = 1;
  family.undefined = 3;
  EXPECT_THAT(Text(result), AllOf(ContainsRegex("GEMM +1 .* 1\n"), HasSubstr("GEMM: 2 without a share: not finite under fp16\n")));
}

}  // namespace
}  // namespace samebits::cli
