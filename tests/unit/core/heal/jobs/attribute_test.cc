#include <cmath>
#include <map>
#include <optional>

#include "core/heal/jobs/job.h"
#include "gtest/gtest.h"
#include "tests/unit/core/heal/jobs/fake_engine.h"

namespace samebits::heal {
namespace {

using testing::FakeBackend;
using testing::FakePrompts;
using testing::FakeShape;
using testing::Keeper;

constexpr int kLayers = 3;

struct Slopes {
  double k, in, pk, m;  // lambdas
};
struct Sources {
  double k, a, m;  // betas
};

// Errors that follow equations 20 to 22 exactly: every growth has a coordinate of its own, so that MSEs add up. The
// exact engine gives zeros throughout. Coordinate 0: the input's error, which differs from token to token.
class Propagation {
 public:
  Propagation(Slopes slopes, std::vector<Sources> sources, double input)
      : slopes_(slopes), sources_(std::move(sources)), input_(input) {}

  float Value(const Configuration& c, TapPoint point, int layer, uint64_t state, int position, int index) {
    if (c.name == "fp32") return 0;
    const ModelShape shape = FakeShape(kLayers);
    const std::vector<double>& growth = Growth(state, position);
    switch (point) {
      case TapPoint::kInput:
      case TapPoint::kPostAttention:
      case TapPoint::kOutput: {
        const int stages = 1 + 2 * layer + (point == TapPoint::kPostAttention ? 1 : point == TapPoint::kOutput ? 2 : 0);
        return index < stages ? static_cast<float>(std::sqrt(shape.hidden * growth[index])) : 0;
      }
      case TapPoint::kKey:
      case TapPoint::kValue:
        return index == 0 ? static_cast<float>(std::sqrt(shape.kv_width() * kv_[state][layer])) : 0;
      default: return 0;
    }
  }

 private:
  // Growths of the stages at the row that `state` ends: input, then attention and MLP of each layer. Rows come in order
  // of positions, so the prefix's KV errors are those seen last.
  const std::vector<double>& Growth(uint64_t state, int position) {
    const auto it = growth_.find(state);
    if (it != growth_.end()) return it->second;
    if (position == 0) sum_.assign(kLayers, 0.0);
    std::vector<double> growth = {input_ * std::exp(2 * testing::Unit(testing::Mix(state + 5)))};
    double total = growth[0];
    for (int layer = 0; layer < kLayers; ++layer) {
      const Sources& s = sources_[layer];
      const double k = slopes_.k * total + s.k * (0.5 + testing::Unit(testing::Mix(state + 40 + layer)));
      kv_[state].push_back(k);
      sum_[layer] += k;
      growth.push_back(slopes_.in * total + slopes_.pk * sum_[layer] / (position + 1) + s.a);
      total += growth.back();
      growth.push_back(slopes_.m * total + s.m);
      total += growth.back();
    }
    return growth_[state] = growth;
  }

  const Slopes slopes_;
  const std::vector<Sources> sources_;
  const double input_;
  std::vector<double> sum_;
  std::map<uint64_t, std::vector<double>> growth_, kv_;
};

Attribution Measure(Propagation& propagation) {
  FakeBackend backend(FakeShape(kLayers));
  backend.planted.tap = [&](const Configuration& c, TapPoint point, int layer, uint64_t state, int position,
                            int index) { return propagation.Value(c, point, layer, state, position, index); };
  JobSpec spec;
  spec.prompts = FakePrompts(6, false);
  spec.batching = {.slots = 2, .rows = 7};
  AttributeSpec job;
  job.trajectory.max_new_tokens = 40;
  job.configurations = {"bf16"};
  job.fitted_rows = 180;
  spec.job = job;
  Keeper keeper;
  const absl::StatusOr<JobResult> result = RunJob(spec, backend, {}, keeper);
  EXPECT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(backend.most_open, 2);
  return result.ok() ? std::get<AttributeResult>(*result).configurations[0] : Attribution{};
}

double Sum(const Attribution& a) { return a.attention + a.kv + a.mlp + a.remainder; }

TEST(Attribute, WithoutPropagationSharesAreEachSourcesPartOfTheFinalError) {
  Propagation propagation({0, 0, 0, 0}, {{4, 1, 2}, {4, 3, 5}, {4, 2, 7}}, 1);
  const Attribution got = Measure(propagation);
  EXPECT_EQ(got.rows, 240);
  EXPECT_EQ(got.fitted_rows, 180);
  const double final = got.layers[2].e_next;
  EXPECT_NEAR(final, got.layers[0].e_in + 20, 1e-4);
  const double attention[] = {1, 3, 2}, mlp[] = {2, 5, 7};
  for (int i = 0; i < kLayers; ++i) {
    EXPECT_NEAR(got.layers[i].attention, attention[i] / final, 1e-5) << i;
    EXPECT_NEAR(got.layers[i].mlp, mlp[i] / final, 1e-5) << i;
    EXPECT_NEAR(got.layers[i].kv, 0, 1e-5) << i;
    EXPECT_TRUE(got.layers[i].settled);
  }
  EXPECT_NEAR(got.remainder, got.layers[0].e_in / final, 1e-5);
  EXPECT_NEAR(Sum(got), 1, 1e-12);
}

TEST(Attribute, RecoversPlantedSlopesAndSources) {
  const std::vector<Sources> sources = {{0.5, 1, 2}, {3, 3, 5}, {2, 2, 7}};
  Propagation propagation({0.25, 0.5, 0.75, 0.125}, sources, 4);
  const Attribution got = Measure(propagation);
  double sum_of_k = 0;
  for (int i = 0; i < kLayers; ++i) {
    const LayerAttribution& layer = got.layers[i];
    EXPECT_NEAR(layer.lambda_k, 0.25, 0.03) << i;
    EXPECT_NEAR(layer.lambda_in, 0.5, 1e-3) << i;
    EXPECT_NEAR(layer.lambda_pk, 0.75, 1e-2) << i;
    EXPECT_NEAR(layer.lambda_m, 0.125, 1e-4) << i;
    EXPECT_NEAR(layer.beta_a, sources[i].a, 0.05) << i;
    EXPECT_NEAR(layer.beta_m, sources[i].m, 1e-2) << i;
    EXPECT_NEAR(layer.beta_k, sources[i].k, 0.5) << i;
    EXPECT_DOUBLE_EQ(layer.share_k, layer.lambda_pk * layer.beta_k / layer.e_post);
    sum_of_k += layer.kv;
  }
  EXPECT_GT(sum_of_k, 0.01);
  EXPECT_DOUBLE_EQ(sum_of_k, got.kv);
  EXPECT_NEAR(Sum(got), 1, 1e-12);
}

TEST(Attribute, OfTheAnchorItselfIsAllRemainder) {
  Propagation propagation({0, 0, 0, 0}, {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, 0);
  const Attribution got = Measure(propagation);
  EXPECT_EQ(got.remainder, 1);
  EXPECT_EQ(got.layers[2].e_next, 0);
}

TEST(Policy, ChoosesTheLargestWithinTheBudget) {
  // Contributions rise with the layer but for layer 0, which is the worst; the variant's MSE grows by `cost` of each
  // skipped layer.
  Propagation propagation({0, 0, 0, 0}, {{0, 9, 1}, {0, 1, 1}, {0, 2, 1}}, 1);
  const std::vector<double> cost = {0.5, 0.05, 0.1};
  FakeBackend backend(FakeShape(kLayers));
  backend.planted.tap = [&](const Configuration& c, TapPoint point, int layer, uint64_t state, int position,
                            int index) { return propagation.Value(c, point, layer, state, position, index); };
  backend.planted.hidden_error = [&](const Configuration& c) {
    double mse = c.name == "fp32" ? 0 : 1;
    for (const int layer : c.unprotected_layers) mse += cost[layer];
    return std::sqrt(mse);
  };
  JobSpec spec;
  spec.prompts = FakePrompts(4, false);
  spec.batching = {.slots = 2, .rows = 7};
  PolicySpec job;
  job.trajectory.max_new_tokens = 20;
  spec.job = job;
  Keeper keeper;
  const absl::StatusOr<JobResult> result = RunJob(spec, backend, {}, keeper);
  ASSERT_TRUE(result.ok()) << result.status();
  const PolicyResult& got = std::get<PolicyResult>(*result);
  EXPECT_EQ(got.contribution_order, (std::vector<int>{1, 2, 0}));
  EXPECT_NEAR(got.unskipped_mse, 1, 1e-6);
  ASSERT_EQ(got.points.size(), 6u);
  EXPECT_NEAR(got.points[0].ratio, 1.5, 1e-5);   // prefix 1: layer 0
  EXPECT_NEAR(got.points[4].ratio, 1.15, 1e-5);  // contribution 2: layers 1, 2
  EXPECT_TRUE(got.points[4].within);
  EXPECT_FALSE(got.points[5].within);
  EXPECT_EQ(got.skipped, 2);
  EXPECT_FALSE(got.prefix);
  EXPECT_EQ(got.configuration, "heal++:@1-2");

  job.budget = 1.6;  // now the prefix of 2 is within as well, but the contribution order is better at 2, and 3 are not
  spec.job = job;
  EXPECT_EQ(std::get<PolicyResult>(*RunJob(spec, backend, {}, keeper)).configuration, "heal++:@1-2");
  job.budget = 2;
  spec.job = job;
  EXPECT_EQ(std::get<PolicyResult>(*RunJob(spec, backend, {}, keeper)).skipped, 3);
  job.variant = "paper-heal++";
  spec.job = job;
  EXPECT_EQ(std::get<PolicyResult>(*RunJob(spec, backend, {}, keeper)).configuration, "paper-heal++:3");
  job.variant = "heal++";
  job.budget = 1.01;
  spec.job = job;
  const PolicyResult none = std::get<PolicyResult>(*RunJob(spec, backend, {}, keeper));
  EXPECT_EQ(none.skipped, 0);
  EXPECT_EQ(none.configuration, "heal+");
}

}  // namespace
}  // namespace samebits::heal
