#include <algorithm>
#include <set>

#include "core/heal/jobs/job.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/core/heal/jobs/fake_engine.h"

namespace samebits::heal {
namespace {

using testing::FakeBackend;
using testing::FakePrompts;
using testing::FakeShape;
using testing::Keeper;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kPrompts = 11, kNew = 12;

JobSpec Spec(EvaluateSpec job, bool table = true) {
  JobSpec spec;
  spec.prompts = FakePrompts(kPrompts, table);
  spec.prompts.stop_tokens = {7};
  spec.batching = {.slots = 3, .rows = 8};
  job.trajectory.max_new_tokens = kNew;
  spec.job = job;
  return spec;
}

template <typename T>
T Answer(const JobSpec& spec, FakeBackend& backend) {
  Keeper keeper;
  absl::StatusOr<JobResult> result = RunJob(spec, backend, {}, keeper);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? std::get<T>(*result) : T{};
}

// What greedy generation gives, one prompt at a time.
std::vector<int32_t> Alone(const Prompt& prompt, double flip) {
  uint64_t state = 17;
  for (const int32_t token : prompt.tokens) state = testing::After(state, token);
  std::vector<int32_t> tokens;
  while (static_cast<int>(tokens.size()) < kNew && (tokens.empty() || tokens.back() != 7)) {
    const int32_t choice = static_cast<int32_t>(testing::Mix(state) % 63);
    tokens.push_back(testing::Unit(testing::Mix(state + 99)) < flip ? choice + 1 : choice);
    state = testing::After(state, tokens.back());
  }
  return tokens;
}

TEST(Evaluate, AgreesWithOnePromptAtATime) {
  FakeBackend backend(FakeShape());
  backend.planted.hidden_error = [](const Configuration& c) { return c.name == "bf16" ? 0.25 : 0.0; };
  backend.planted.flip = [](const Configuration& c) { return c.name == "bf16" ? 0.1 : 0.0; };
  EvaluateSpec job;
  job.configurations = {"bf16", "fp32"};
  const JobSpec spec = Spec(job);
  const EvaluateResult got = Answer<EvaluateResult>(spec, backend);

  int64_t tokens = 0, flips = 0, diverged = 0, cut_off = 0;
  std::vector<int32_t> first;
  for (const Prompt& prompt : spec.prompts.prompts) {
    const std::vector<int32_t> a = Alone(prompt, 0), b = Alone(prompt, 0.1);
    tokens += static_cast<int64_t>(a.size());
    cut_off += a.back() != 7;
    diverged += a != b;
    const auto letter = [](const std::vector<int32_t>& t) {  // the last token that is not a stop token decides
      const size_t last = t.back() == 7 ? t.size() - 2 : t.size() - 1;
      return last < t.size() ? 'A' + t[last] % 4 : 'F';
    };
    flips += letter(a) != letter(b);
    const auto at = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
    first.push_back(a == b ? -1 : static_cast<int32_t>(at - a.begin()));
  }
  ASSERT_GT(diverged, 2);
  ASSERT_GT(flips, 0);
  EXPECT_EQ(got.anchor.generated_tokens, tokens);
  EXPECT_EQ(got.anchor.cut_off, cut_off);
  ASSERT_EQ(got.configurations.size(), 2u);
  const ConfigurationOutcome& bf16 = got.configurations[0];
  ASSERT_EQ(bf16.schedules.size(), 3u);
  for (const ScheduleOutcome& schedule : bf16.schedules) {
    EXPECT_EQ(schedule.mse.mean, 0.0625) << NameOf(schedule.schedule);
    EXPECT_EQ(schedule.mse.count, tokens);
    EXPECT_EQ(schedule.mse.sem, 0);
    EXPECT_EQ(schedule.flips, flips);
    EXPECT_EQ(schedule.diverged, diverged);
    EXPECT_EQ(schedule.first_divergence, first);
  }
  EXPECT_EQ(bf16.mse.count, 3 * tokens);
  EXPECT_EQ(bf16.flip_rate.mean, static_cast<double>(flips) / kPrompts);
  EXPECT_EQ(bf16.flip_rate.count, 3);
  EXPECT_EQ(got.configurations[1].flip_rate.mean, 0);
  EXPECT_EQ(got.configurations[1].mse.mean, 0);
}

TEST(Evaluate, SchedulesShowWhatDependsOnTheBatch) {
  FakeBackend backend(FakeShape());
  backend.planted.odd_pass = 0.2;
  EvaluateSpec job;
  job.configurations = {"fp32"};
  const EvaluateResult got = Answer<EvaluateResult>(Spec(job), backend);
  EXPECT_EQ(got.configurations[0].schedules[0].diverged, 0);  // the anchor again
  EXPECT_GT(got.configurations[0].schedules[1].diverged + got.configurations[0].schedules[2].diverged, 0);
}

TEST(Evaluate, WithoutATableEverySequenceThatDiffersIsAFlip) {
  FakeBackend backend(FakeShape());
  backend.planted.flip = [](const Configuration& c) { return c.name == "bf16" ? 0.1 : 0.0; };
  EvaluateSpec job;
  job.configurations = {"bf16"};
  const EvaluateResult got = Answer<EvaluateResult>(Spec(job, false), backend);
  EXPECT_FALSE(got.anchor.answers_known);
  EXPECT_GT(got.configurations[0].schedules[0].flips, 0);
  EXPECT_EQ(got.configurations[0].schedules[0].flips, got.configurations[0].schedules[0].diverged);
}

TEST(Evaluate, OverflowOfAConfigurationIsAFinding) {
  FakeBackend backend(FakeShape());
  backend.planted.overflows = "fp16";
  EvaluateSpec job;
  job.configurations = {"fp16", "bf16"};
  const EvaluateResult got = Answer<EvaluateResult>(Spec(job), backend);
  EXPECT_THAT(got.configurations[0].schedules[0].failure, HasSubstr("overflowed"));
  EXPECT_EQ(got.configurations[0].flip_rate.count, 0);
  EXPECT_EQ(got.configurations[0].mse.count, 0);
  EXPECT_EQ(got.configurations[1].flip_rate.count, 3);
  backend.planted.overflows = "fp32";  // the anchor's is an error
  Keeper keeper;
  EXPECT_TRUE(absl::IsDataLoss(RunJob(Spec(job), backend, {}, keeper).status()));
}

TEST(Evaluate, FixedBatchesDoNotMixAndOthersFillFreedSlots) {
  FakeBackend backend(FakeShape());
  backend.log = true;
  EvaluateSpec job;
  job.configurations = {"bf16"};
  job.measure_mse = false;
  JobSpec spec = Spec(job);
  for (int token = 8; token < 24; ++token) spec.prompts.stop_tokens.push_back(token);  // lengths differ
  Answer<EvaluateResult>(spec, backend);
  std::vector<const testing::PassLog*> own;
  for (const testing::PassLog& pass : backend.passes) {
    EXPECT_LE(pass.slot.size(), 8u);
    if (pass.configuration == "bf16") own.push_back(&pass);
  }
  // Three runs one after another; a prompt begins where a position is 0. In the fixed schedule no pass that reads a
  // prompt generates.
  std::vector<int32_t> begins;
  std::vector<size_t> length(3), number(3);  // of the prompt in each slot; of the first two runs
  size_t mixed = 0;
  for (const testing::PassLog* pass : own) {
    bool reads = false, generates = false;
    for (size_t i = 0; i < pass->slot.size(); ++i) {
      if (pass->position[i] == 0) {
        number[pass->slot[i]] = begins.size();
        length[pass->slot[i]] = spec.prompts.prompts[begins.size() % kPrompts].tokens.size();
        begins.push_back(pass->token[i]);
      }
      const bool reading = pass->position[i] < static_cast<int>(length[pass->slot[i]]);
      (reading ? reads : generates) = true;
      const bool same_batch = number[pass->slot[i]] / 3 == (begins.size() - 1) / 3;
      EXPECT_TRUE(begins.size() > kPrompts || same_batch) << number[pass->slot[i]];
    }
    if (begins.size() > 2 * kPrompts) continue;
    mixed += reads && generates;
    EXPECT_FALSE(begins.size() <= kPrompts && reads && generates);
  }
  EXPECT_GT(mixed, 0u);
  ASSERT_EQ(begins.size(), 3u * kPrompts);
  for (int i = 0; i < kPrompts; ++i) {
    EXPECT_EQ(begins[i], spec.prompts.prompts[i].tokens[0]);
    EXPECT_EQ(begins[2 * kPrompts + i], spec.prompts.prompts[kPrompts - 1 - i].tokens[0]);
  }
}

TEST(Evaluate, HoldsOneEngineAtATime) {
  FakeBackend backend(FakeShape());
  EvaluateSpec job;
  job.configurations = {"bf16", "fp16"};
  Answer<EvaluateResult>(Spec(job), backend);
  EXPECT_EQ(backend.most_open, 1);
  EXPECT_EQ(backend.open, 0);
  EXPECT_THAT(backend.opened, ElementsAre("fp32", "bf16", "fp16"));
}

TEST(Sweep, FindsThePlantedThreshold) {
  FakeBackend backend(FakeShape());
  backend.planted.hidden_error = [](const Configuration& c) {
    return c.boundary == Boundary::kTruncated ? std::ldexp(1.0, -c.significand_bits) : 0.0;
  };
  backend.planted.flip = [](const Configuration& c) {
    return c.boundary == Boundary::kTruncated && c.significand_bits < 9 ? 0.5 : 0.0;
  };
  SweepSpec job;
  job.trajectory.max_new_tokens = kNew;
  job.least_bits = 6;
  job.most_bits = 11;
  job.baselines = {"bf16"};
  JobSpec spec = Spec({});
  spec.job = job;
  const SweepResult got = Answer<SweepResult>(spec, backend);
  ASSERT_EQ(got.points.size(), 8u);  // six widths, bf16, fp32 for the noise
  EXPECT_EQ(got.points[0].bits, 6);
  EXPECT_EQ(got.points[0].mse.mean, 0x1p-12);
  EXPECT_GT(got.points[2].flip_rate.mean, 0);
  EXPECT_EQ(got.points[6].bits, 7);
  EXPECT_EQ(got.points[7].bits, 23);
  EXPECT_EQ(got.tolerated_rate, 0);
  EXPECT_EQ(got.threshold_bits, 9);
  EXPECT_EQ(got.threshold_mse, 0x1p-18);
}

TEST(Sweep, ToleratesWhatTheAnchorsOtherSchedulesFlip) {
  FakeBackend backend(FakeShape());
  backend.planted.odd_pass = 0.3;
  SweepSpec job;
  job.trajectory.max_new_tokens = kNew;
  job.least_bits = job.most_bits = 11;
  JobSpec spec = Spec({});
  spec.job = job;
  EXPECT_GT(Answer<SweepResult>(spec, backend).tolerated_rate, 0);
  backend.planted.odd_pass = 0;
  backend.planted.flip = [](const Configuration& c) { return c.boundary == Boundary::kTruncated ? 0.5 : 0.0; };
  const SweepResult none = Answer<SweepResult>(spec, backend);
  EXPECT_FALSE(none.threshold_bits.has_value());
  job.tolerated_rate = 1;
  spec.job = job;
  EXPECT_EQ(Answer<SweepResult>(spec, backend).threshold_bits, 11);
}

}  // namespace
}  // namespace samebits::heal
