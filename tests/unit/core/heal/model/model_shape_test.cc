#include "core/heal/model/model_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/heal/model/checkpoint.h"

namespace samebits::heal {
namespace {

using ::testing::HasSubstr;

int64_t Parameters(const ModelShape& shape) {
  int64_t total = 0;
  for (int number = 0; number <= static_cast<int>(TensorId::kHead); ++number) {
    const TensorId id = static_cast<TensorId>(number);
    if (!Has(shape, id) || (id == TensorId::kHead && shape.tied)) continue;
    total += RowsOf(shape, id) * ColumnsOf(shape, id) * (IsOfLayer(id) ? shape.layers : 1);
  }
  return total;
}

// The numbers of parameters that the models' publishers state.
TEST(ModelShapeTest, PublishedShapesHaveTheStatedParameters) {
  const std::map<std::string, int64_t> expected = {{"smollm2-135m", 134515008},    {"qwen3-0.6b", 596049920},
                                                   {"qwen3-8b", 8190735360},       {"qwen3-14b", 14768307200},
                                                   {"qwen3-32b", 32762123264},     {"llama-3.1-8b", 8030261248},
                                                   {"ds-r1-qwen-14b", 14770033664}};
  for (const auto& [name, parameters] : expected) {
    const auto shape = PublishedShape(name);
    ASSERT_TRUE(shape.ok()) << shape.status();
    EXPECT_EQ(Parameters(*shape), parameters) << name;
  }
  for (const ModelShape& shape : PublishedShapes()) EXPECT_TRUE(Validate(shape).ok()) << shape.name;
  const auto unknown = PublishedShape("gpt");
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.status().message()), HasSubstr("qwen3-32b"));
}

TEST(ModelShapeTest, ValidateNamesTheField) {
  const ModelShape good = *PublishedShape("llama-3.1-8b");
  const auto error = [&](auto change) {
    ModelShape shape = good;
    change(shape);
    return std::string(Validate(shape).message());
  };
  EXPECT_THAT(error([](ModelShape& s) { s.hidden = 0; }), HasSubstr("hidden"));
  EXPECT_THAT(error([](ModelShape& s) { s.layers = 100000; }), HasSubstr("layers"));
  EXPECT_THAT(error([](ModelShape& s) { s.kv_heads = 5; }), HasSubstr("multiple of kv_heads"));
  EXPECT_THAT(error([](ModelShape& s) { s.head_dim = 127; }), HasSubstr("even"));
  EXPECT_THAT(error([](ModelShape& s) { s.head_dim = 258; }), HasSubstr("head_dim"));
  EXPECT_THAT(error([](ModelShape& s) { s.norm_epsilon = std::nan(""); }), HasSubstr("norm_epsilon"));
  EXPECT_THAT(error([](ModelShape& s) { s.rope_scaling->high_frequency = 0.5; }), HasSubstr("high_frequency"));
}

TEST(RopeFrequenciesTest, ArePowersOfTheta) {
  const auto frequencies = RopeFrequencies(*PublishedShape("qwen3-8b"));
  ASSERT_EQ(frequencies.size(), 64);
  EXPECT_EQ(frequencies[0], 1);
  EXPECT_EQ(frequencies[32], 1e-3f);
  for (int i = 0; i < 64; ++i) EXPECT_NEAR(frequencies[i] * std::pow(1e6, i / 64.0), 1, 1e-7);
}

// By wavelength, as the scaling is published: shorter than 8192 / 4 unchanged, longer than 8192 / 1 divided by 8,
// between them a mixture that meets both ends.
TEST(RopeFrequenciesTest, Llama3Scaling) {
  ModelShape shape = *PublishedShape("llama-3.1-8b");
  const auto scaled = RopeFrequencies(shape);
  shape.rope_scaling.reset();
  const auto plain = RopeFrequencies(shape);
  int mixed = 0;
  for (int i = 0; i < 64; ++i) {
    const double wavelength = 2 * M_PI / plain[i];
    if (wavelength < 2048) {
      EXPECT_EQ(scaled[i], plain[i]);
    } else if (wavelength > 8192) {
      EXPECT_EQ(scaled[i], plain[i] / 8);
    } else {
      const double smooth = (8192 / wavelength - 1) / 3;
      EXPECT_NEAR(scaled[i] / ((1 - smooth) * plain[i] / 8 + smooth * plain[i]), 1, 1e-6);
      ++mixed;
    }
  }
  EXPECT_GT(mixed, 3);
}

constexpr char kLlama[] = R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
  "bos_token_id": 128000, "eos_token_id": [128001, 128008], "hidden_act": "silu", "hidden_size": 4096,
  "intermediate_size": 14336, "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama",
  "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
  "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                   "original_max_position_embeddings": 8192, "rope_type": "llama3"},
  "rope_theta": 500000.0, "tie_word_embeddings": false, "torch_dtype": "bfloat16", "vocab_size": 128256})";
constexpr char kQwen3[] = R"({"attention_bias": false, "head_dim": 128, "hidden_act": "silu", "hidden_size": 1024,
  "intermediate_size": 3072, "model_type": "qwen3", "num_attention_heads": 16, "num_hidden_layers": 28,
  "num_key_value_heads": 8, "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000, "sliding_window": null,
  "tie_word_embeddings": true, "use_sliding_window": false, "vocab_size": 151936})";
constexpr char kQwen2[] = R"({"hidden_act": "silu", "hidden_size": 5120, "intermediate_size": 13824,
  "model_type": "qwen2", "num_attention_heads": 40, "num_hidden_layers": 48, "num_key_value_heads": 8,
  "rms_norm_eps": 1e-05, "rope_theta": 1000000.0, "sliding_window": 131072, "tie_word_embeddings": false,
  "use_sliding_window": false, "vocab_size": 152064})";

TEST(ParseConfigJsonTest, PublishedModels) {
  const std::pair<const char*, const char*> cases[] = {
      {kLlama, "llama-3.1-8b"}, {kQwen3, "qwen3-0.6b"}, {kQwen2, "ds-r1-qwen-14b"}};
  for (const auto& [json, name] : cases) {
    auto shape = ParseConfigJson(json);
    ASSERT_TRUE(shape.ok()) << shape.status();
    shape->name = name;
    EXPECT_EQ(*shape, *PublishedShape(name));
  }
}

TEST(ParseConfigJsonTest, NewerFilesKeepThetaWithTheScaling) {
  std::string json = kQwen3;
  json.replace(json.find("\"rope_scaling\": null, \"rope_theta\": 1000000"), 43,
               R"("rope_parameters": {"rope_type": "default", "rope_theta": 250000})");
  const auto shape = ParseConfigJson(json);
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->rope_theta, 250000);
}

TEST(ParseConfigJsonTest, ErrorsNameTheKey) {
  const struct {
    const char *from, *to, *named;
  } cases[] = {
      {"\"hidden_size\": 4096,", "", "'hidden_size' is missing"},
      {"4096", "\"4096\"", "'hidden_size' must be a count"},
      {"4096", "4.5", "'hidden_size' must be a count"},
      {"4096", "-1", "'hidden_size' must be a count"},
      {"4096", "18446744073709551615", "'hidden_size' must be a count"},
      {"\"llama\"", "\"mamba\"", "'model_type' is 'mamba'"},
      {"\"llama3\"", "\"yarn\"", "'rope_scaling.rope_type' is 'yarn'"},
      {"\"factor\": 8.0, ", "", "'rope_scaling.factor' is missing"},
      {"\"mlp_bias\": false", "\"mlp_bias\": true", "'mlp_bias'"},
      {"\"attention_bias\": false", "\"attention_bias\": true", "'attention_bias'"},
      {"\"silu\"", "\"gelu\"", "'hidden_act'"},
      {"\"vocab_size\"", "\"quantization_config\": {}, \"vocab_size\"", "'quantization_config'"},
      {"\"num_key_value_heads\": 8", "\"num_key_value_heads\": 7", "kv_heads"},
      {"}", "", "not JSON at byte"},
  };
  for (const auto& c : cases) {
    std::string json = kLlama;
    json.replace(json.find(c.from), std::string(c.from).size(), c.to);
    const auto shape = ParseConfigJson(json);
    EXPECT_EQ(shape.status().code(), absl::StatusCode::kInvalidArgument) << c.named;
    EXPECT_THAT(std::string(shape.status().message()), HasSubstr(c.named));
  }
  EXPECT_FALSE(ParseConfigJson("[]").ok());
  EXPECT_FALSE(ParseConfigJson(std::string(1 << 20, '[')).ok());
}

}  // namespace
}  // namespace samebits::heal
