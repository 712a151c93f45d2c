// All jobs on the CPU reference with synthetic weights: what must hold of real errors.

#include <cmath>

#include "core/heal/jobs/job.h"
#include "core/heal/reference/reference_backend.h"
#include "gtest/gtest.h"

namespace samebits::heal {
namespace {

class Quiet : public JobEvents {
 public:
  absl::Status OnUnit(int64_t index, const std::string& record) override {
    records[index] = record;
    return ++units == stop_after ? absl::UnavailableError("killed") : absl::OkStatus();
  }
  Records records;
  int64_t units = 0, stop_after = -1;
};

class OnReference : public testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<std::shared_ptr<const Checkpoint>> checkpoint = OpenCheckpoint("synthetic:tiny:3");
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
    absl::StatusOr<std::unique_ptr<Backend>> backend = OpenReferenceBackend(*checkpoint, 2);
    ASSERT_TRUE(backend.ok()) << backend.status();
    backend_ = *std::move(backend);
  }

  template <typename S>
  JobSpec SpecOf(S job, int prompts = 4) {
    job.trajectory.max_new_tokens = 16;
    JobSpec spec;
    spec.prompts = MakeSyntheticPrompts(backend_->shape(), prompts, 12, 9);
    spec.batching = {.slots = 3, .rows = 16};
    spec.job = job;
    return spec;
  }

  template <typename T>
  T ResultOf(const JobSpec& spec) {
    Quiet quiet;
    absl::StatusOr<JobResult> result = RunJob(spec, *backend_, {}, quiet);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? std::get<T>(*result) : T{};
  }

  std::unique_ptr<Backend> backend_;
};

TEST_F(OnReference, ErrorsShrinkWithTheProtection) {
  EvaluateSpec job;
  job.configurations = {"bf16", "fp16", "heal-base", "heal+", "heal-full", "fp32"};
  const EvaluateResult got = ResultOf<EvaluateResult>(SpecOf(job));
  ASSERT_EQ(got.configurations.size(), 6u);
  for (size_t i = 0; i + 1 < got.configurations.size(); ++i) {
    EXPECT_GT(got.configurations[i].mse.mean, got.configurations[i + 1].mse.mean) << got.configurations[i].configuration;
  }
  EXPECT_GT(got.configurations[0].mse.mean, 20 * got.configurations[1].mse.mean);  // three bits are a factor of 64
  EXPECT_GT(got.configurations[0].mse.sem, 0);
  for (const ConfigurationOutcome& one : got.configurations) {
    for (const ScheduleOutcome& schedule : one.schedules) {  // the reference's rows do not depend on their batch
      EXPECT_EQ(schedule.mse.mean, one.schedules[0].mse.mean);
      EXPECT_EQ(schedule.first_divergence, one.schedules[0].first_divergence);
    }
  }
  EXPECT_EQ(got.configurations[5].mse.mean, 0);
  EXPECT_EQ(got.configurations[5].divergence_rate.mean, 0);
}

TEST_F(OnReference, AttributionIsComplete) {
  AttributeSpec job;
  job.configurations = {"bf16", "fp32"};
  const AttributeResult got = ResultOf<AttributeResult>(SpecOf(job));
  const Attribution& bf16 = got.configurations[0];
  EXPECT_EQ(bf16.rows, got.anchor.generated_tokens);
  EXPECT_NEAR(bf16.attention + bf16.kv + bf16.mlp + bf16.remainder, 1, 1e-12);
  for (const LayerAttribution& layer : bf16.layers) {
    EXPECT_GT(layer.j_a, 0);
    EXPECT_GT(layer.j_m, 0);
    EXPECT_GT(layer.e_k, 0);
    EXPECT_GT(layer.e_next, layer.e_in);
  }
  EXPECT_EQ(bf16.layers[0].e_in, 0);  // the embedding is of the checkpoint, which is BF16
  EXPECT_EQ(got.configurations[1].remainder, 1);
}

TEST_F(OnReference, ArithmeticIsNoSourceButInAttention) {
  const DecomposeResult got = ResultOf<DecomposeResult>(SpecOf(DecomposeSpec{}));
  ASSERT_EQ(got.families.size(), 5u);
  for (const FamilyOutcome& family : got.families) {
    EXPECT_GT(family.ratio.count, 0) << NameOf(family.family);
    EXPECT_LT(family.ratio.most, family.family == OperatorFamily::kAttention ? 0.6 : 0.02) << NameOf(family.family);
    EXPECT_GT(family.ratio.least, -0.1) << NameOf(family.family);
  }
  EXPECT_GT(got.families[4].ratio.median, 0.02);  // P is rounded inside the kernel
}

TEST_F(OnReference, SweepFallsByAFactorOfFourABit) {
  SweepSpec job;
  job.least_bits = 6;
  job.most_bits = 14;
  job.baselines = {};
  const SweepResult got = ResultOf<SweepResult>(SpecOf(job));
  ASSERT_EQ(got.points.size(), 10u);
  for (int i = 0; i + 1 < 9; ++i) {
    EXPECT_NEAR(got.points[i].mse.mean / got.points[i + 1].mse.mean, 4, 2) << got.points[i].configuration;
  }
  EXPECT_EQ(got.tolerated_rate, 0);
}

TEST_F(OnReference, Int16HoldsQkvBetterThanF16) {
  QkvSpec job;
  job.configurations = {"fp32"};
  const QkvResult got = ResultOf<QkvResult>(SpecOf(job));
  for (const QkvDistribution& one : got.distributions) {
    EXPECT_EQ(one.zeros, 0);
    EXPECT_LT(one.ratio_most, std::sqrt(one.per_head ? 17.0 : 65.0) * 1.2);
    EXPECT_NEAR(one.measured_int16, one.predicted_int16, 0.25 * one.predicted_int16);
    EXPECT_GT(one.measured_f16, one.predicted_f16);
    EXPECT_LT(one.measured_int16, one.measured_f16);
  }
}

TEST_F(OnReference, PolicyStaysWithinItsBudget) {
  PolicySpec job;
  const PolicyResult got = ResultOf<PolicyResult>(SpecOf(job));
  ASSERT_EQ(got.points.size(), 4u);
  EXPECT_EQ(got.points[1].median_mse, got.points[3].median_mse);  // all layers, in whichever order
  int most = 0;
  for (const PolicyPoint& point : got.points) {
    EXPECT_GT(point.ratio, 1);
    EXPECT_EQ(point.within, point.ratio <= 1.2);
    if (point.within) most = std::max(most, point.skipped);
  }
  EXPECT_EQ(got.skipped, most);
}

TEST_F(OnReference, ServeCostTimesWhatFits) {
  ServeCostSpec job;
  job.configurations = {"heal+"};
  job.batches = {2};
  job.contexts = {20};
  job.rounds = 2;
  job.steps = 3;
  JobSpec spec;
  spec.job = job;
  const ServeCostResult got = ResultOf<ServeCostResult>(spec);
  ASSERT_EQ(got.rows.size(), 2u);
  for (const ServeCostRow& row : got.rows) {
    EXPECT_EQ(row.missing, "");
    EXPECT_GT(row.milliseconds.mean, 0);
    EXPECT_GT(row.kv_bytes, 0);
    EXPECT_GT(row.floor_milliseconds, 0);
  }
  EXPECT_EQ(got.rows[0].overhead.mean, 0);
}

TEST_F(OnReference, AKilledJobGoesOnToTheSameRecords) {
  AttributeSpec attribute;
  attribute.configurations = {"bf16"};
  EvaluateSpec evaluate;
  evaluate.configurations = {"bf16", "heal+"};
  for (const JobSpec& spec : {SpecOf(evaluate), SpecOf(attribute), SpecOf(DecomposeSpec{}), SpecOf(PolicySpec{})}) {
    Quiet through, killed, resumed;
    ASSERT_TRUE(RunJob(spec, *backend_, {}, through).ok());
    killed.stop_after = through.units / 2;
    EXPECT_TRUE(absl::IsUnavailable(RunJob(spec, *backend_, {}, killed).status()));
    resumed.records = killed.records;
    ASSERT_TRUE(RunJob(spec, *backend_, killed.records, resumed).ok());
    EXPECT_EQ(resumed.records, through.records) << NameOf(spec);
  }
}

}  // namespace
}  // namespace samebits::heal
