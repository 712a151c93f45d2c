// Jobs that look at single operators and tensors: decomposition, distribution, serving cost.

#include <cmath>

#include "core/heal/jobs/job.h"
#include "core/heal/numerics/quantize.h"
#include "core/heal/numerics/rounding.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/core/heal/jobs/fake_engine.h"

namespace samebits::heal {
namespace {

using testing::FakeBackend;
using testing::FakePrompts;
using testing::FakeShape;
using testing::Keeper;
using ::testing::HasSubstr;

template <typename T, typename S>
T Answer(const S& job, FakeBackend& backend, int prompts = 5) {
  JobSpec spec;
  spec.prompts = FakePrompts(prompts, false);
  spec.batching = {.slots = 2, .rows = 7};
  spec.job = job;
  Keeper keeper;
  absl::StatusOr<JobResult> result = RunJob(spec, backend, {}, keeper);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? std::get<T>(*result) : T{};
}

float Bf16(float x) { return FromBf16(ToBf16(x)); }

// Every operator: y = 3 x, attention: plus the sum of the keys and values it sees. BF16 rounds inputs and output;
// RMSNorm's arithmetic is off by `norm` before it rounds.
absl::StatusOr<std::vector<float>> Operate(const Configuration& c, const OperatorInstance& one,
                                           const OperatorInput& input, float norm) {
  const bool low = c.name == "bf16";
  std::vector<float> y;
  const size_t width = static_cast<size_t>(WidthOf(FakeShape(), one.reads));
  if (input.x.empty() || input.x.size() % width != 0 || input.position.size() != input.x.size() / width) {
    return absl::InvalidArgumentError("sizes");
  }
  float sum = 0;
  if (one.family == OperatorFamily::kAttention) {
    const size_t seen = static_cast<size_t>(input.position.back() + 1) * FakeShape().kv_width();
    if (input.key.size() != seen || input.value.size() != seen) return absl::InvalidArgumentError("cache");
    for (size_t i = 0; i < seen; ++i) {
      sum += low ? Bf16(input.key[i]) + Bf16(input.value[i]) : input.key[i] + input.value[i];
    }
  }
  for (const float x : input.x) {
    float value = 3 * (low ? Bf16(x) : x) + sum;
    if (low && one.family == OperatorFamily::kRmsNorm) value += norm;
    y.push_back(low ? Bf16(value) : value);
  }
  return y;
}

TEST(Decompose, TellsArithmeticFromTruncation) {
  FakeBackend backend(FakeShape());
  backend.planted.apply = [](const Configuration& c, const OperatorInstance& one, const OperatorInput& input) {
    return Operate(c, one, input, 64);
  };
  DecomposeSpec job;
  job.trajectory.max_new_tokens = 10;
  job.prompts = 3;
  const DecomposeResult got = Answer<DecomposeResult>(job, backend);
  ASSERT_EQ(got.operators.size(), 18u);
  for (const OperatorOutcome& one : got.operators) {
    EXPECT_EQ(one.values, 3 * 10 * WidthOf(FakeShape(), one.instance.reads));
    EXPECT_GT(one.total, 0);
    if (one.instance.family == OperatorFamily::kRmsNorm) {
      EXPECT_NEAR(one.ratio, 1, 1e-3);
      EXPECT_NEAR(one.discrepancy, 64 * 64, 20);
    } else {
      EXPECT_EQ(one.ratio, 0);
      EXPECT_EQ(one.discrepancy, 0);
      EXPECT_EQ(one.total, one.truncation);
    }
  }
  ASSERT_EQ(got.families.size(), 5u);
  EXPECT_EQ(got.families[0].ratio.count, 4);  // two norms in each of two layers
  EXPECT_NEAR(got.families[0].ratio.median, 1, 1e-3);
  EXPECT_EQ(got.families[2].ratio.count, 8);
  EXPECT_EQ(got.families[2].ratio.most, 0);
}

TEST(Decompose, ErrorsByHand) {
  // Inputs that BF16 holds, an exact product, and an arithmetic error of a quarter step: y rounds back to itself, so
  // only T's definition is at work and E = T = L = 0: undefined. With a whole step: E = L, T = 0.
  for (const float norm : {0.25f, 8.0f}) {
    FakeBackend backend(FakeShape());
    backend.planted.tap = [](const Configuration&, TapPoint, int, uint64_t, int, int) { return 256.0f; };
    backend.planted.apply = [norm](const Configuration& c, const OperatorInstance& one, const OperatorInput& input) {
      return Operate(c, one, input, norm);
    };
    DecomposeSpec job;
    job.trajectory.max_new_tokens = 4;
    const DecomposeResult got = Answer<DecomposeResult>(job, backend);
    const OperatorOutcome& one = got.operators[0];
    EXPECT_EQ(one.truncation, 0);
    EXPECT_EQ(one.total, norm < 1 ? 0 : 64);
    EXPECT_EQ(one.discrepancy, one.total);
    EXPECT_EQ(got.families[0].undefined, norm < 1 ? 4 : 0);
    EXPECT_EQ(got.families[0].ratio.count, norm < 1 ? 0 : 4);
    EXPECT_TRUE(norm < 1 ? std::isnan(one.ratio) : one.ratio == 1);
  }
}

TEST(Qkv, CountsAndMeasuresEveryTensor) {
  FakeBackend backend(FakeShape());
  // Heads of {a, -a, a, a}: AbsMax / sigma = 1 / sqrt(3 / 4). Head 1 of every tensor is zero.
  backend.planted.tap = [](const Configuration&, TapPoint, int, uint64_t state, int, int index) {
    const float a = static_cast<float>(1 + testing::Unit(testing::Mix(state)));
    return index / 4 == 1 ? 0 : index % 4 == 1 ? -a : a;
  };
  QkvSpec job;
  job.trajectory.max_new_tokens = 6;
  job.configurations = {"fp32"};
  const QkvResult got = Answer<QkvResult>(job, backend, 20);
  const int64_t rows = [&] {
    int64_t sum = 0;
    for (const Prompt& prompt : FakePrompts(20, false).prompts) sum += static_cast<int64_t>(prompt.tokens.size()) + 5;
    return sum;
  }();
  ASSERT_EQ(got.distributions.size(), 3u * 2 * 3);  // tensors, granularities, all and two layers
  const QkvDistribution& whole = got.distributions[0];
  EXPECT_FALSE(whole.per_head);
  EXPECT_EQ(whole.layer, -1);
  EXPECT_EQ(whole.tensors, 2 * rows);
  EXPECT_EQ(whole.zeros, 0);
  const QkvDistribution& heads = got.distributions[3];
  EXPECT_TRUE(heads.per_head);
  EXPECT_EQ(heads.tensors, 2 * rows * 3);
  EXPECT_EQ(heads.zeros, 2 * rows);
  EXPECT_NEAR(heads.ratio.mean, 1 / std::sqrt(0.75), 1e-6);
  EXPECT_NEAR(heads.ratio_most, 1 / std::sqrt(0.75), 1e-6);
  EXPECT_EQ(heads.histogram[static_cast<int>(1.1547 / kQkvBin)], heads.tensors);
  EXPECT_NEAR(heads.ratio_median, 1.1547, kQkvBin);
  EXPECT_EQ(heads.halved, 1);
  EXPECT_NEAR(whole.measured_f16, 0.75 * heads.measured_f16, 1e-6 * heads.measured_f16);
  EXPECT_LT(heads.measured_int16, 1e-12);  // +-AbsMax is on the grid
  EXPECT_GT(heads.measured_f16, heads.predicted_f16 / 4);
  // 1 <= a < 2: FP16 steps of 2^-10, so 2^-20 / 12 on average; equation 7 by the mean of a^2.
  EXPECT_NEAR(heads.measured_f16, 0x1p-20 / 12, 0.2 * 0x1p-20 / 12);
  EXPECT_NEAR(heads.predicted_int16, 7.0 / 3 / 32767 / 32767 / 12, 0.1 * 7.0 / 3 / 32767 / 32767 / 12);
  EXPECT_EQ(got.distributions[8].tensors, rows);  // K, all heads, layer 1
}

TEST(ServeCost, ComparesWithinRounds) {
  FakeBackend backend(FakeShape());
  backend.bandwidth = 1e9;
  backend.planted.decode = [](const Configuration& c, int batch, int context,
                              int call) -> absl::StatusOr<DecodeTiming> {
    if (c.name == "fp32" && batch == 4) return absl::ResourceExhaustedError("needs more than there is");
    const double drift = 1 + call / 6;  // rounds of three configurations, twice for two batches, slow down
    DecodeTiming timing;
    const double base = c.name == "bf16" ? 2 : c.name == "heal-base" ? 2.5 : 8;
    timing.milliseconds = {base * drift, base * drift * 1.5, base * drift};
    timing.kv_bytes = int64_t{batch} * context;
    timing.weight_bytes = 3000000;
    timing.memory_bytes = 4000000;
    return timing;
  };
  ServeCostSpec job;
  job.configurations = {"heal-base", "fp32", "bf16"};
  job.batches = {1, 4};
  job.contexts = {100};
  job.rounds = 2;
  const ServeCostResult got = Answer<ServeCostResult>(job, backend);
  EXPECT_EQ(backend.most_open, 1);
  EXPECT_EQ(backend.opened, (std::vector<std::string>{"bf16", "heal-base", "fp32", "fp32", "heal-base", "bf16", "bf16",
                                                      "heal-base", "fp32", "fp32", "heal-base", "bf16"}));
  ASSERT_EQ(got.rows.size(), 6u);
  EXPECT_EQ(got.copy_bandwidth.mean, 1e9);
  EXPECT_EQ(got.rows[0].configuration, "bf16");
  EXPECT_EQ(got.rows[0].milliseconds.mean, 2);
  EXPECT_EQ(got.rows[0].overhead.mean, 0);
  EXPECT_EQ(got.rows[0].floor_milliseconds, 3);
  EXPECT_EQ(got.rows[1].overhead.mean, 0.25);
  EXPECT_EQ(got.rows[2].overhead.mean, 3);
  EXPECT_EQ(got.rows[4].overhead.mean, 0.25);  // although the second batch's rounds were slower
  EXPECT_GT(got.rows[4].milliseconds.mean, 2.5);
  EXPECT_EQ(got.rows[4].kv_bytes, 400);
  EXPECT_THAT(got.rows[5].missing, HasSubstr("does not fit"));
  EXPECT_EQ(got.rows[5].milliseconds.count, 0);
}

TEST(ServeCost, SaysWhereTimingMeansNothing) {
  FakeBackend backend(FakeShape());
  JobSpec spec;
  spec.job = ServeCostSpec{};
  Keeper keeper;
  spec.batching = {.slots = 2, .rows = 7};
  EXPECT_TRUE(absl::IsUnimplemented(RunJob(spec, backend, {}, keeper).status()));
}

}  // namespace
}  // namespace samebits::heal
