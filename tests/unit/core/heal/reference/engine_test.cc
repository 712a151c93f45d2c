#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "core/heal/numerics/rounding.h"
#include "core/heal/reference/reference_backend.h"

namespace samebits::heal {
namespace {

using ::testing::HasSubstr;

ModelShape Shape() {
  ModelShape shape = *PublishedShape("tiny");
  shape.qk_norm = shape.qkv_bias = true;
  return shape;
}

std::unique_ptr<Backend> Open(const ModelShape& shape = Shape(), int threads = 1) {
  return *OpenReferenceBackend(MakeSyntheticCheckpoint(shape, 11), threads);
}

std::unique_ptr<Engine> OpenEngine(const char* configuration, int threads = 1, const ModelShape& shape = Shape()) {
  auto engine = Open(shape, threads)->Open(*ParseConfiguration(configuration), {.slots = 3, .context = 32, .rows = 24});
  EXPECT_TRUE(engine.ok()) << engine.status();
  return *std::move(engine);
}

struct Input {
  std::vector<int32_t> slot, position, token;
  void Add(int s, int p, int t) { slot.push_back(s), position.push_back(p), token.push_back(t); }
  operator Rows() const { return {slot, position, token}; }
};

int TokenAt(int slot, int position) { return (slot * 131 + position * 29 + position * position * 7) % 512; }

// `count` tokens of one slot from `first` on.
Input Sequence(int slot, int first, int count) {
  Input input;
  for (int p = first; p < first + count; ++p) input.Add(slot, p, TokenAt(slot, p));
  return input;
}

ForwardResult Pass(Engine& engine, const Input& input) {
  ForwardResult result;
  const absl::Status status = engine.Forward(input, {.hidden = true, .next_token = true}, &result);
  EXPECT_TRUE(status.ok()) << status;
  return result;
}

constexpr const char* kAll[] = {"bf16",  "fp16",     "tf32",      "fp32",         "heal-base",
                                "heal+", "heal++:1", "heal-full", "heal-full:@1", "trunc:6"};

TEST(ReferenceEngineTest, BitsDependOnTheSequenceOnly) {
  for (const char* configuration : kAll) {
    const ForwardResult whole = Pass(*OpenEngine(configuration), Sequence(1, 0, 12));
    // other threads, other slots in the same call, in pieces, and again after going back
    auto engine = OpenEngine(configuration, 3);
    Input mixed;
    for (int p = 0; p < 7; ++p) {
      mixed.Add(0, p, TokenAt(0, p));
      mixed.Add(1, p, TokenAt(1, p));
      if (p < 3) mixed.Add(2, p, TokenAt(2, p));
    }
    Pass(*engine, mixed);
    Pass(*engine, Sequence(1, 7, 4));
    for (const int again : {11, 2}) {
      const ForwardResult rest = Pass(*engine, Sequence(1, again, 12 - again));
      const std::vector<float> expected(whole.hidden.begin() + again * 64, whole.hidden.end());
      EXPECT_EQ(rest.hidden, expected) << configuration;
      EXPECT_EQ(rest.next_token, std::vector<int32_t>(whole.next_token.begin() + again, whole.next_token.end()));
    }
  }
}

TEST(ReferenceEngineTest, ConfigurationsDiffer) {
  std::vector<std::vector<float>> results;
  for (const char* configuration : kAll) {
    results.push_back(Pass(*OpenEngine(configuration), Sequence(0, 0, 12)).hidden);
    for (size_t i = 0; i + 1 < results.size(); ++i)
      EXPECT_NE(results[i], results.back()) << configuration << " " << kAll[i];
  }
  ModelShape unrounded = Shape();
  unrounded.norm_of_unrounded = true;
  EXPECT_NE(Pass(*OpenEngine("bf16", 1, unrounded), Sequence(0, 0, 12)).hidden, results[0]);
  EXPECT_EQ(Pass(*OpenEngine("fp32", 1, unrounded), Sequence(0, 0, 12)).hidden, results[3]);
}

TEST(ReferenceEngineTest, NextTokenIsTheLargestLogit) {
  auto engine = OpenEngine("fp32");
  const ForwardResult result = Pass(*engine, Sequence(0, 0, 5));
  const auto checkpoint = MakeSyntheticCheckpoint(Shape(), 11);
  const std::span<const uint16_t> weights = checkpoint->Tensor(0, TensorId::kHead);
  for (int row = 0; row < 5; ++row) {
    int best = 0;
    double most = -INFINITY;
    for (int token = 0; token < 512; ++token) {
      double logit = 0;
      for (int i = 0; i < 64; ++i)
        logit += static_cast<double>(result.hidden[row * 64 + i]) * FromBf16(weights[token * 64 + i]);
      if (logit > most) most = logit, best = token;
    }
    EXPECT_EQ(result.next_token[row], best);
  }
}

// Every operator, fed with what the taps saw, returns what the next tap saw.
TEST(ReferenceEngineTest, TapsAndOperatorsAgree) {
  for (const char* configuration : kAll) {
    auto engine = OpenEngine(configuration);
    std::map<std::pair<int, TapPoint>, std::vector<float>> seen;
    ForwardResult result;
    const Input input = Sequence(0, 0, 9);
    Wanted wanted;
    wanted.tap = [&](TapPoint point, int layer, std::span<const float> values) {
      EXPECT_EQ(values.size(), 9 * WidthOf(Shape(), point));
      EXPECT_TRUE(seen.try_emplace({layer, point}, values.begin(), values.end()).second);
    };
    ASSERT_TRUE(engine->Forward(input, wanted, &result).ok());
    EXPECT_EQ(seen.size(), 2 * 12);
    const std::pair<TapPoint, TapPoint> steps[] = {
        {TapPoint::kInput, TapPoint::kAttentionNorm},   {TapPoint::kAttentionNorm, TapPoint::kQkv},
        {TapPoint::kPostAttention, TapPoint::kMlpNorm}, {TapPoint::kMlpNorm, TapPoint::kGateUp},
        {TapPoint::kGateUp, TapPoint::kActivation},     {TapPoint::kQuery, TapPoint::kAttention}};
    for (const OperatorInstance& op : OperatorsOf(Shape())) {
      for (const auto& [from, to] : steps) {
        if (op.reads != from) continue;
        // what INT16 stands for is quantised a second time here
        if (from == TapPoint::kQuery && engine->configuration().AttentionOf(op.layer) == AttentionMode::kInt16)
          continue;
        const auto y = engine->Apply(op, {seen[{op.layer, from}], input.position, seen[{op.layer, TapPoint::kKey}],
                                          seen[{op.layer, TapPoint::kValue}]});
        ASSERT_TRUE(y.ok()) << y.status();
        EXPECT_EQ(*y, (seen[{op.layer, to}])) << configuration << " layer " << op.layer << " " << NameOf(op.family);
      }
    }
    EXPECT_EQ((seen[{0, TapPoint::kOutput}]), (seen[{1, TapPoint::kInput}]));
  }
}

TEST(ReferenceEngineTest, RowsThatDoNotFitAreErrorsAndChangeNothing) {
  auto engine = OpenEngine("bf16");
  const ForwardResult expected = Pass(*OpenEngine("bf16"), Sequence(0, 0, 6));
  Pass(*engine, Sequence(0, 0, 5));
  const auto error = [&](const Input& input) {
    ForwardResult result;
    const absl::Status status = engine->Forward(input, {}, &result);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  const auto one = [](int slot, int position, int token) {
    Input input;
    input.Add(slot, position, token);
    return input;
  };
  EXPECT_THAT(error(one(0, 6, 1)), HasSubstr("does not follow in slot 0; next is 5"));
  EXPECT_THAT(error(one(1, 1, 1)), HasSubstr("does not follow"));
  EXPECT_THAT(error(one(3, 0, 1)), HasSubstr("slot 3 of 3"));
  EXPECT_THAT(error(one(-1, 0, 1)), HasSubstr("slot -1"));
  EXPECT_THAT(error(one(0, 0, 512)), HasSubstr("token 512"));
  EXPECT_THAT(error(one(0, 0, -1)), HasSubstr("token -1"));
  EXPECT_THAT(error(one(0, 32, 1)), HasSubstr("context of 32"));
  Input twice = one(0, 0, 1);
  twice.Add(0, 2, 1);
  EXPECT_THAT(error(twice), HasSubstr("row 1: position 2"));
  EXPECT_THAT(error(Sequence(0, 0, 25)), HasSubstr("capacity of 24"));
  Input ragged = one(0, 0, 1);
  ragged.token.push_back(1);
  EXPECT_THAT(error(ragged), HasSubstr("equally many"));
  const ForwardResult after = Pass(*engine, Sequence(0, 5, 1));
  EXPECT_EQ(after.hidden, std::vector<float>(expected.hidden.begin() + 5 * 64, expected.hidden.end()));
  EXPECT_TRUE(Pass(*engine, {}).hidden.empty());
}

TEST(ReferenceEngineTest, OperatorsRefuseWhatDoesNotFit) {
  auto engine = OpenEngine("heal+");
  const std::vector<float> x(64), heads(64), kv(3 * 32);
  const std::vector<int32_t> position = {2}, far = {3};
  const auto error = [&](const OperatorInstance& op, const OperatorInput& input) {
    const auto result = engine->Apply(op, input);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(result.status().message());
  };
  EXPECT_THAT(error({OperatorFamily::kGemm, 2, TapPoint::kMlpNorm}, {x}), HasSubstr("layer 2"));
  EXPECT_THAT(error({OperatorFamily::kGemm, 0, TapPoint::kInput}, {x}), HasSubstr("reads that point"));
  EXPECT_THAT(error({OperatorFamily::kGemm, 0, TapPoint::kMlpNorm}, {std::span(x).first(63)}), HasSubstr("rows of 64"));
  EXPECT_THAT(error({OperatorFamily::kAttention, 0, TapPoint::kQuery}, {heads, {}, kv, kv}),
              HasSubstr("position is needed"));
  EXPECT_THAT(error({OperatorFamily::kAttention, 0, TapPoint::kQuery}, {heads, far, kv, kv}), HasSubstr("has no key"));
  EXPECT_THAT(error({OperatorFamily::kAttention, 0, TapPoint::kQuery}, {heads, position, kv, std::span(kv).first(64)}),
              HasSubstr("equally many"));
  EXPECT_TRUE(engine->Apply({OperatorFamily::kAttention, 0, TapPoint::kQuery}, {heads, position, kv, kv}).ok());
}

// Weights so large that FP16 overflows, and FP32 does not.
class LargeCheckpoint final : public Checkpoint {
 public:
  LargeCheckpoint() : inner_(MakeSyntheticCheckpoint(Shape(), 11)), norm_(64, ToBf16(1e6f)) {}
  const ModelShape& shape() const override { return inner_->shape(); }
  std::span<const uint16_t> Tensor(int layer, TensorId id) const override {
    return id == TensorId::kMlpNorm ? std::span<const uint16_t>(norm_) : inner_->Tensor(layer, id);
  }

 private:
  const std::shared_ptr<const Checkpoint> inner_;
  const std::vector<uint16_t> norm_;
};

TEST(ReferenceEngineTest, OverflowOfABoundaryIsDataLossAndTheEngineStaysUsable) {
  auto backend = *OpenReferenceBackend(std::make_shared<LargeCheckpoint>(), 1);
  auto engine = *backend->Open(*ParseConfiguration("fp16"), {.slots = 1, .context = 8, .rows = 8});
  ForwardResult result;
  for (int i = 0; i < 2; ++i) {
    const absl::Status status = engine->Forward(Sequence(0, 0, 3), {.hidden = true}, &result);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()), HasSubstr("fp16"));
    EXPECT_TRUE(result.hidden.empty());
  }
  for (const char* configuration : {"bf16", "heal-base", "heal-full"}) {  // products' inputs saturate
    engine = *backend->Open(*ParseConfiguration(configuration), {.slots = 1, .context = 8, .rows = 8});
    EXPECT_TRUE(engine->Forward(Sequence(0, 0, 3), {}, &result).ok()) << configuration;
  }
}

TEST(ReferenceEngineTest, DecodeIsTimedAndLeavesTheEngineEmpty) {
  for (const char* configuration : {"bf16", "heal+"}) {
    auto engine = OpenEngine(configuration);
    const auto timing = engine->TimeDecode(3, 32, 1, 4);
    ASSERT_TRUE(timing.ok()) << timing.status();
    EXPECT_EQ(timing->milliseconds.size(), 4);
    for (const double ms : timing->milliseconds) EXPECT_GT(ms, 0);
    EXPECT_GT(timing->kv_bytes, 3 * 32 * 2 * 2 * 32 * 4);
    EXPECT_GT(timing->weight_bytes, 2 * 512 * 64);
    EXPECT_GT(timing->memory_bytes, timing->weight_bytes + timing->kv_bytes - 1);
    EXPECT_EQ(Pass(*engine, Sequence(0, 0, 6)).hidden, Pass(*OpenEngine(configuration), Sequence(0, 0, 6)).hidden);
    EXPECT_FALSE(engine->TimeDecode(4, 8, 0, 1).ok());
    EXPECT_FALSE(engine->TimeDecode(1, 33, 0, 1).ok());
    EXPECT_FALSE(engine->TimeDecode(1, 8, 0, 0).ok());
  }
}

TEST(ReferenceBackendTest, RefusesWhatCannotBe) {
  ModelShape wrong = Shape();
  wrong.kv_heads = 3;
  EXPECT_EQ(OpenReferenceBackend(MakeSyntheticCheckpoint(wrong, 1), 1).status().code(),
            absl::StatusCode::kInvalidArgument);
  auto backend = Open();
  EXPECT_EQ(backend->Describe(), "CPU reference");
  EXPECT_EQ(backend->Open(*ParseConfiguration("heal++:3"), {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(backend->Open(*ParseConfiguration("bf16"), {.slots = 0}).status().code(),
            absl::StatusCode::kInvalidArgument);
  const auto huge = backend->Open(*ParseConfiguration("bf16"), {.slots = 2000000000, .context = 2000000000});
  EXPECT_EQ(huge.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(huge.status().message()), HasSubstr("GB; the machine has"));
}

}  // namespace
}  // namespace samebits::heal
