#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "core/heal/model/checkpoint.h"
#include "core/heal/numerics/rounding.h"
#include "tests/unit/core/heal/model/model_files.h"

namespace samebits::heal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kHidden = 32, kHeads = 4, kKvHeads = 2, kHeadDim = 8, kIntermediate = 64, kVocabulary = 32;

// A Qwen3-like shape, untied; `type` is a model_type.
ModelShape SmallShape(const std::string& type) {
  return {.name = "small",
          .hidden = kHidden,
          .layers = 2,
          .heads = kHeads,
          .kv_heads = kKvHeads,
          .head_dim = kHeadDim,
          .intermediate = kIntermediate,
          .vocabulary = kVocabulary,
          .tied = false,
          .qk_norm = type == "qwen3",
          .qkv_bias = type == "qwen2",
          .rope_theta = 1e4,
          .norm_epsilon = 1e-5};
}

std::string ConfigJson(const std::string& type) {
  return R"({"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 8, "intermediate_size": 64, "vocab_size": 32, "rms_norm_eps": 1e-5, "model_type": ")" +
         type + "\"}";
}

std::string Bf16Bytes(std::span<const uint16_t> values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * 2);
}

// Rows [first, first + rows) of a tensor.
FileTensor Slice(const Checkpoint& from, int layer, TensorId id, int64_t first, int64_t rows, const char* type) {
  const int64_t columns = ColumnsOf(from.shape(), id);
  const auto values =
      from.Tensor(layer, id).subspan(static_cast<size_t>(first * columns), static_cast<size_t>(rows * columns));
  return {type, columns == 1 ? std::vector<int64_t>{rows} : std::vector<int64_t>{rows, columns}, Bf16Bytes(values)};
}

struct Place {
  const char *hugging_face, *gguf;
  TensorId id;
  int64_t first, rows;
};

std::vector<Place> PlacesOfLayer(const ModelShape& shape) {
  const int q = kHeads * kHeadDim, kv = kKvHeads * kHeadDim;
  std::vector<Place> places = {{"input_layernorm.weight", "attn_norm.weight", TensorId::kInputNorm, 0, kHidden},
                               {"self_attn.q_proj.weight", "attn_q.weight", TensorId::kQkv, 0, q},
                               {"self_attn.k_proj.weight", "attn_k.weight", TensorId::kQkv, q, kv},
                               {"self_attn.v_proj.weight", "attn_v.weight", TensorId::kQkv, q + kv, kv},
                               {"self_attn.o_proj.weight", "attn_output.weight", TensorId::kOutput, 0, kHidden},
                               {"post_attention_layernorm.weight", "ffn_norm.weight", TensorId::kMlpNorm, 0, kHidden},
                               {"mlp.gate_proj.weight", "ffn_gate.weight", TensorId::kGateUp, 0, kIntermediate},
                               {"mlp.up_proj.weight", "ffn_up.weight", TensorId::kGateUp, kIntermediate, kIntermediate},
                               {"mlp.down_proj.weight", "ffn_down.weight", TensorId::kDown, 0, kHidden}};
  if (shape.qkv_bias) {
    places.push_back({"self_attn.q_proj.bias", "attn_q.bias", TensorId::kQkvBias, 0, q});
    places.push_back({"self_attn.k_proj.bias", "attn_k.bias", TensorId::kQkvBias, q, kv});
    places.push_back({"self_attn.v_proj.bias", "attn_v.bias", TensorId::kQkvBias, q + kv, kv});
  }
  if (shape.qk_norm) {
    places.push_back({"self_attn.q_norm.weight", "attn_q_norm.weight", TensorId::kQueryNorm, 0, kHeadDim});
    places.push_back({"self_attn.k_norm.weight", "attn_k_norm.weight", TensorId::kKeyNorm, 0, kHeadDim});
  }
  return places;
}

FileTensors TensorsOf(const Checkpoint& from, bool gguf) {
  const char* type = gguf ? "30" : "BF16";
  FileTensors tensors;
  for (int layer = 0; layer < from.shape().layers; ++layer) {
    const std::string prefix = (gguf ? "blk." : "model.layers.") + std::to_string(layer) + ".";
    for (const Place& place : PlacesOfLayer(from.shape())) {
      tensors[prefix + (gguf ? place.gguf : place.hugging_face)] =
          Slice(from, layer, place.id, place.first, place.rows, type);
    }
  }
  tensors[gguf ? "token_embd.weight" : "model.embed_tokens.weight"] =
      Slice(from, 0, TensorId::kEmbedding, 0, kVocabulary, type);
  tensors[gguf ? "output_norm.weight" : "model.norm.weight"] = Slice(from, 0, TensorId::kFinalNorm, 0, kHidden, type);
  if (!from.shape().tied) {
    tensors[gguf ? "output.weight" : "lm_head.weight"] = Slice(from, 0, TensorId::kHead, 0, kVocabulary, type);
  }
  return tensors;
}

void ExpectSame(const Checkpoint& loaded, const Checkpoint& expected) {
  for (int layer = 0; layer < expected.shape().layers; ++layer) {
    for (int number = 0; number <= static_cast<int>(TensorId::kHead); ++number) {
      const auto a = loaded.Tensor(layer, static_cast<TensorId>(number));
      const auto b = expected.Tensor(layer, static_cast<TensorId>(number));
      ASSERT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << "layer " << layer << " tensor " << number;
    }
  }
}

// As llama.cpp's converter of Llama models lays out Q and K: rows of a head (2, d / 2) become (d / 2, 2).
void Interleave(FileTensor* tensor) {
  const size_t row = tensor->bytes.size() / static_cast<size_t>(tensor->shape[0]);
  std::string bytes;
  for (int64_t head = 0; head < tensor->shape[0] / kHeadDim; ++head) {
    for (int i = 0; i < kHeadDim / 2; ++i) {
      for (const int half : {0, 1}) {
        bytes += tensor->bytes.substr(static_cast<size_t>(head * kHeadDim + half * kHeadDim / 2 + i) * row, row);
      }
    }
  }
  tensor->bytes = bytes;
}

std::map<std::string, std::string> GgufMetadata(const std::string& arch) {
  const auto u32 = [](uint32_t value) { return Raw<uint32_t>(4) + Raw(value); };
  const auto f32 = [](float value) { return Raw<uint32_t>(6) + Raw(value); };
  return {{"general.architecture", Raw<uint32_t>(8) + GgufString(arch)},
          {"general.name", Raw<uint32_t>(8) + GgufString("small")},
          {arch + ".embedding_length", u32(kHidden)},
          {arch + ".block_count", u32(2)},
          {arch + ".attention.head_count", u32(kHeads)},
          {arch + ".attention.head_count_kv", u32(kKvHeads)},
          {arch + ".attention.key_length", u32(kHeadDim)},
          {arch + ".feed_forward_length", u32(kIntermediate)},
          {arch + ".rope.freq_base", f32(1e4f)},
          {arch + ".attention.layer_norm_rms_epsilon", f32(1e-5f)},
          {"tokenizer.ggml.tokens",
           Raw<uint32_t>(9) + Raw<uint32_t>(8) + Raw<uint64_t>(2) + GgufString("a") + GgufString("bc")},
          {"tokenizer.ggml.scores", Raw<uint32_t>(9) + Raw<uint32_t>(6) + Raw<uint64_t>(2) + Raw(1.0f) + Raw(2.0f)}};
}

std::string Error(const std::string& path) {
  const auto loaded = LoadCheckpoint(path);
  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kInvalidArgument) << loaded.status();
  return std::string(loaded.status().message());
}

class SafetensorsTest : public ::testing::Test {
 protected:
  void Write(const FileTensors& tensors, const std::string& type = "llama") {
    WriteText(folder_ / "config.json", ConfigJson(type));
    WriteText(folder_ / "model.safetensors", SafetensorsText(tensors));
  }
  std::string ErrorAfter(const std::function<void(FileTensors&)>& change) {
    FileTensors tensors = TensorsOf(*MakeSyntheticCheckpoint(SmallShape("llama"), 5), false);
    change(tensors);
    Write(tensors);
    return Error(folder_.path());
  }
  TestFolder folder_;
};

TEST_F(SafetensorsTest, FamiliesComeBack) {
  for (const char* type : {"llama", "qwen2", "qwen3"}) {
    const auto expected = MakeSyntheticCheckpoint(SmallShape(type), 5);
    Write(TensorsOf(*expected, false), type);
    const auto loaded = OpenCheckpoint(folder_.path());
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ((*loaded)->synthetic_seed(), std::nullopt);
    ModelShape shape = (*loaded)->shape();
    EXPECT_EQ(shape.name, std::filesystem::path(folder_.path()).filename());
    shape.name = "small";
    EXPECT_EQ(shape, SmallShape(type));
    ExpectSame(**loaded, *expected);
  }
}

TEST_F(SafetensorsTest, SeveralFilesWithAnIndex) {
  const auto expected = MakeSyntheticCheckpoint(SmallShape("llama"), 6);
  const FileTensors all = TensorsOf(*expected, false);
  FileTensors parts[2];
  std::string index = "{\"weight_map\": {";
  int number = 0;
  for (const auto& [name, tensor] : all) {
    index += (number ? ",\"" : "\"") + name + "\": \"part" + std::to_string(number % 2) + ".safetensors\"";
    parts[number++ % 2][name] = tensor;
  }
  WriteText(folder_ / "config.json", ConfigJson("llama"));
  WriteText(folder_ / "part0.safetensors", SafetensorsText(parts[0]));
  WriteText(folder_ / "part1.safetensors", SafetensorsText(parts[1]));
  WriteText(folder_ / "model.safetensors.index.json", index + "}}");
  const auto loaded = LoadCheckpoint(folder_.path());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ExpectSame(**loaded, *expected);

  std::filesystem::remove(folder_ / "part1.safetensors");
  EXPECT_EQ(LoadCheckpoint(folder_.path()).status().code(), absl::StatusCode::kNotFound);
  WriteText(folder_ / "model.safetensors.index.json", R"({"weight_map": {"x": "../part0.safetensors"}})");
  EXPECT_THAT(Error(folder_.path()), HasSubstr("of the same folder"));
  WriteText(folder_ / "model.safetensors.index.json", "{}");
  EXPECT_THAT(Error(folder_.path()), HasSubstr("weight_map"));
}

TEST_F(SafetensorsTest, WiderTypesAreRoundedOnce) {
  FileTensors tensors = TensorsOf(*MakeSyntheticCheckpoint(SmallShape("llama"), 5), false);
  std::vector<float> wide(kHidden);
  std::string f32, f16;
  for (int i = 0; i < kHidden; ++i) {
    wide[i] = std::sin(static_cast<float>(i)) * 0.7f;
    f32 += Raw(wide[i]);
    f16 += Raw(ToF16(wide[i]));
  }
  tensors["model.norm.weight"] = {"F32", {kHidden}, f32};
  tensors["model.layers.1.input_layernorm.weight"] = {"F16", {kHidden}, f16};
  Write(tensors);
  const auto loaded = LoadCheckpoint(folder_.path());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  for (int i = 0; i < kHidden; ++i) {
    EXPECT_EQ((*loaded)->Tensor(0, TensorId::kFinalNorm)[i], ToBf16(wide[i]));
    EXPECT_EQ((*loaded)->Tensor(1, TensorId::kInputNorm)[i], ToBf16(FromF16(ToF16(wide[i]))));
  }
}

TEST_F(SafetensorsTest, ErrorsNameFileAndTensor) {
  const std::string name = "model.layers.1.mlp.up_proj.weight";
  EXPECT_THAT(ErrorAfter([&](FileTensors& t) { t.erase(name); }),
              AllOf(HasSubstr("'" + name + "' is missing"), HasSubstr(folder_.path())));
  EXPECT_THAT(ErrorAfter([&](FileTensors& t) {
                t[name].shape = {32, 64};
              }),
              AllOf(HasSubstr("model.safetensors: tensor '" + name), HasSubstr("has shape 32 x 64, expected 64 x 32")));
  EXPECT_THAT(ErrorAfter([&](FileTensors& t) { t[name].shape = {64, 16}; }), HasSubstr("do not fill"));
  EXPECT_THAT(ErrorAfter([&](FileTensors& t) { t[name].type = "I8"; }),
              HasSubstr("has type I8; F32, F16, BF16 are read"));
  EXPECT_THAT(ErrorAfter([&](FileTensors& t) {
                t[name].shape = {int64_t{1} << 40, int64_t{1} << 40};
              }),
              HasSubstr("do not fill"));
  for (const uint16_t bad : {0x7fc0, 0x7f80, 0xff80}) {
    EXPECT_THAT(ErrorAfter([&](FileTensors& t) { t[name].bytes.replace(14, 2, Raw(bad)); }),
                AllOf(HasSubstr(name), HasSubstr("value 7 is not a finite number")));
  }
  const std::string extra = "model.layers.0.self_attn.o_proj.bias";
  EXPECT_THAT(ErrorAfter([&](FileTensors& t) { t[extra] = t["model.norm.weight"]; }),
              AllOf(HasSubstr(extra), HasSubstr("has no place")));
  std::string huge;  // finite, but beyond BF16 once rounded
  for (int i = 0; i < kHidden; ++i) huge += Raw(i == 3 ? std::numeric_limits<float>::max() : 1.0f);
  EXPECT_THAT(ErrorAfter([&](FileTensors& t) {
                t["model.norm.weight"] = {"F32", {kHidden}, huge};
              }),
              AllOf(HasSubstr("model.norm.weight"), HasSubstr("value 3")));
}

TEST_F(SafetensorsTest, DamagedHeadersAreErrors) {
  const auto with = [&](const std::string& header) {
    WriteText(folder_ / "config.json", ConfigJson("llama"));
    WriteText(folder_ / "model.safetensors", Raw<uint64_t>(header.size()) + header + std::string(64, '\0'));
    return Error(folder_.path());
  };
  EXPECT_THAT(with("{"), HasSubstr("header: not JSON"));
  EXPECT_THAT(with("[]"), HasSubstr("object"));
  EXPECT_THAT(with(R"({"a": 3})"), HasSubstr("tensor 'a'"));
  EXPECT_THAT(with(R"({"a": {"dtype": "F32"}})"), HasSubstr("not counts"));
  EXPECT_THAT(with(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4, 8]}})"), HasSubstr("not counts"));
  EXPECT_THAT(with(R"({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}})"), HasSubstr("not counts"));
  EXPECT_THAT(with(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [8, 4]}})"), HasSubstr("lie beyond"));
  EXPECT_THAT(with(R"({"a": {"dtype": "F32", "shape": [16], "data_offsets": [4, 68]}})"), HasSubstr("lie beyond"));
  EXPECT_THAT(with(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}})"),
              AllOf(HasSubstr("'b'"), HasSubstr("overlap those of 'a'")));
  EXPECT_THAT(with(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "b": {"dtype": "F32", "shape": [0], "data_offsets": [4, 4]}})"),
              Not(HasSubstr("overlap")));
}

// Wherever the file ends, the loader says that it is damaged.
TEST_F(SafetensorsTest, EveryTruncationIsAnError) {
  const std::string whole = SafetensorsText(TensorsOf(*MakeSyntheticCheckpoint(SmallShape("llama"), 5), false));
  WriteText(folder_ / "config.json", ConfigJson("llama"));
  uint64_t header = 0;
  std::memcpy(&header, whole.data(), 8);
  for (size_t size = 0; size < whole.size(); size += size < 100 ? 1 : size < header + 100 ? 97 : 1999) {
    WriteText(folder_ / "model.safetensors", whole.substr(0, size));
    EXPECT_THAT(Error(folder_.path()), HasSubstr("truncated")) << size;
  }
}

TEST_F(SafetensorsTest, FoldersThatAreNoModel) {
  EXPECT_EQ(LoadCheckpoint(folder_.path()).status().code(), absl::StatusCode::kNotFound);
  WriteText(folder_ / "config.json", ConfigJson("llama"));
  const auto loaded = LoadCheckpoint(folder_.path());
  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(loaded.status().message()), HasSubstr("holds no *.safetensors"));
  WriteText(folder_ / "config.json", ConfigJson("gemma"));
  EXPECT_THAT(Error(folder_.path()), HasSubstr("config.json: key 'model_type'"));
  EXPECT_THAT(Error(folder_ / "model.safetensors"), HasSubstr("name the folder"));
}

class GgufTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& arch, const FileTensors& tensors, uint32_t version = 3) {
    WriteText(folder_ / "model.gguf", GgufText(GgufMetadata(arch), tensors, version));
    return folder_ / "model.gguf";
  }
  TestFolder folder_;
};

FileTensors LlamaTensors(const Checkpoint& from) {
  FileTensors tensors = TensorsOf(from, true);
  for (int layer = 0; layer < 2; ++layer) {
    for (const char* name : {".attn_q.weight", ".attn_k.weight"})
      Interleave(&tensors["blk." + std::to_string(layer) + name]);
  }
  return tensors;
}

TEST_F(GgufTest, FamiliesComeBack) {
  for (const char* arch : {"llama", "qwen2", "qwen3"}) {
    for (const bool tied : {false, true}) {
      ModelShape shape = SmallShape(arch);
      shape.tied = tied;
      shape.rope_theta = 1e4f, shape.norm_epsilon = 1e-5f;
      const auto expected = MakeSyntheticCheckpoint(shape, 5);
      const bool llama = std::string(arch) == "llama";
      const auto loaded =
          OpenCheckpoint(Write(arch, llama ? LlamaTensors(*expected) : TensorsOf(*expected, true), tied ? 2 : 3));
      ASSERT_TRUE(loaded.ok()) << loaded.status();
      EXPECT_EQ((*loaded)->shape(), shape);
      ExpectSame(**loaded, *expected);
    }
  }
}

// Blocks of 32 values: value i of the lower 16 in low halves of the bytes, the others in high halves.
TEST_F(GgufTest, BlocksAreDequantised) {
  FileTensors tensors = LlamaTensors(*MakeSyntheticCheckpoint(SmallShape("llama"), 5));
  const float scale = 0.011962890625f, least = -0.09100341796875f;  // FP16 values
  std::string q4_0, q4_1, q8_0;
  for (int row = 0; row < kHidden; ++row) {
    std::string nibbles, bytes;
    for (int i = 0; i < 16; ++i) nibbles += static_cast<char>((i + row) % 16 | (15 - i) << 4);
    for (int i = 0; i < 32; ++i) bytes += static_cast<char>(i * 8 - 128 + row % 8);
    q4_0 += Raw(ToF16(scale)) + nibbles;
    q4_1 += Raw(ToF16(scale)) + Raw(ToF16(least)) + nibbles;
    q8_0 += Raw(ToF16(scale)) + bytes;
  }
  tensors["blk.0.attn_output.weight"] = {"2", {kHidden, 32}, q4_0};
  tensors["blk.1.attn_output.weight"] = {"3", {kHidden, 32}, q4_1};
  tensors["token_embd.weight"] = {"8", {kVocabulary, 32}, q8_0};
  const auto loaded = LoadCheckpoint(Write("llama", tensors));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  for (int row = 0; row < kHidden; ++row) {
    for (int i = 0; i < 32; ++i) {
      const int nibble = i < 16 ? (i + row) % 16 : 15 - (i - 16);
      const size_t at = static_cast<size_t>(row * 32 + i);
      EXPECT_EQ((*loaded)->Tensor(0, TensorId::kOutput)[at], ToBf16(static_cast<float>(nibble - 8) * scale));
      EXPECT_EQ((*loaded)->Tensor(1, TensorId::kOutput)[at], ToBf16(static_cast<float>(nibble) * scale + least));
      EXPECT_EQ((*loaded)->Tensor(0, TensorId::kEmbedding)[at],
                ToBf16(static_cast<float>(i * 8 - 128 + row % 8) * scale));
    }
  }
}

TEST_F(GgufTest, Llama3ScalingIsRecognisedByItsDivisors) {
  FileTensors tensors = LlamaTensors(*MakeSyntheticCheckpoint(SmallShape("llama"), 5));
  ModelShape shape = SmallShape("llama");
  const auto plain = RopeFrequencies(shape);
  shape.rope_scaling = RopeScaling{.factor = 32};
  const auto scaled = RopeFrequencies(shape);
  std::string divisors;
  for (size_t i = 0; i < plain.size(); ++i) divisors += Raw(plain[i] / scaled[i]);
  tensors["rope_freqs.weight"] = {"0", {kHeadDim / 2}, divisors};
  const auto loaded = LoadCheckpoint(Write("llama", tensors));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ((*loaded)->shape().rope_scaling, shape.rope_scaling);
  tensors["rope_freqs.weight"].bytes.replace(0, 4, Raw(3.0f));
  EXPECT_THAT(Error(Write("llama", tensors)), HasSubstr("rope_freqs.weight"));
}

TEST_F(GgufTest, ErrorsNameFileAndPlace) {
  const FileTensors good = LlamaTensors(*MakeSyntheticCheckpoint(SmallShape("llama"), 5));
  const auto after = [&](const std::function<void(FileTensors&)>& change) {
    FileTensors tensors = good;
    change(tensors);
    return Error(Write("llama", tensors));
  };
  const std::string name = "blk.1.ffn_down.weight";
  EXPECT_THAT(after([&](FileTensors& t) { t.erase(name); }),
              AllOf(HasSubstr(name), HasSubstr("is missing"), HasSubstr("model.gguf")));
  EXPECT_THAT(after([&](FileTensors& t) {
                t[name].shape = {64, 32};
              }),
              HasSubstr("has shape 64 x 32, expected 32 x 64"));
  EXPECT_THAT(after([&](FileTensors& t) { t[name].type = "12"; }),
              HasSubstr("type number 12; F32, F16, BF16, Q4_0, Q4_1 and Q8_0"));
  EXPECT_THAT(after([&](FileTensors& t) { t[name] = {"2", {64, 33}, ""}; }), HasSubstr("whole blocks"));
  EXPECT_THAT(after([&](FileTensors& t) { t[name].bytes.replace(2, 2, Raw<uint16_t>(0x7fc0)); }),
              AllOf(HasSubstr(name), HasSubstr("value 1 is not a finite number")));
  EXPECT_THAT(Error(Write("mamba", good)), HasSubstr("'general.architecture' is 'mamba'"));
  EXPECT_THAT(Error(Write("llama", good, 4)), HasSubstr("version 4"));
  WriteText(folder_ / "other.gguf", "GGML and more");
  EXPECT_THAT(Error(folder_ / "other.gguf"), HasSubstr("not a GGUF file"));
}

TEST_F(GgufTest, HostileMetadataIsAnError) {
  const FileTensors tensors = LlamaTensors(*MakeSyntheticCheckpoint(SmallShape("llama"), 5));
  const auto with = [&](const std::string& key, const std::string& value) {
    auto metadata = GgufMetadata("llama");
    metadata[key] = value;
    WriteText(folder_ / "model.gguf", GgufText(metadata, tensors));
    return Error(folder_ / "model.gguf");
  };
  EXPECT_THAT(with("llama.block_count", Raw<uint32_t>(10) + Raw(~uint64_t{0})),
              HasSubstr("'llama.block_count' must be a count"));
  EXPECT_THAT(with("llama.block_count", Raw<uint32_t>(4) + Raw<uint32_t>(1 << 29)), HasSubstr("layers"));
  EXPECT_THAT(with("llama.embedding_length", Raw<uint32_t>(6) + Raw(1.0f)), HasSubstr("must be a count"));
  EXPECT_THAT(with("x", Raw<uint32_t>(13)), HasSubstr("metadata 'x'"));
  EXPECT_THAT(with("x", Raw<uint32_t>(8) + Raw(~uint64_t{0})), HasSubstr("metadata 'x'"));
  EXPECT_THAT(with("x", Raw<uint32_t>(9) + Raw<uint32_t>(9) + Raw<uint64_t>(1)), HasSubstr("metadata 'x'"));
  EXPECT_THAT(with("x", Raw<uint32_t>(9) + Raw<uint32_t>(10) + Raw(~uint64_t{0})), HasSubstr("metadata 'x'"));
  EXPECT_THAT(with("x", Raw<uint32_t>(9) + Raw<uint32_t>(8) + Raw(uint64_t{1} << 39)), HasSubstr("metadata 'x'"));
  EXPECT_THAT(with("general.alignment", Raw<uint32_t>(4) + Raw<uint32_t>(0)), HasSubstr("alignment"));
  EXPECT_THAT(with("llama.rope.scaling.type", Raw<uint32_t>(8) + GgufString("yarn")), HasSubstr("'yarn'"));
}

TEST_F(GgufTest, EveryTruncationIsAnError) {
  const std::string whole =
      GgufText(GgufMetadata("llama"), LlamaTensors(*MakeSyntheticCheckpoint(SmallShape("llama"), 5)));
  for (size_t size = 4; size < whole.size(); size += size < 30 ? 1 : size < 3000 ? 29 : 1999) {
    WriteText(folder_ / "model.gguf", whole.substr(0, size));
    EXPECT_THAT(Error(folder_ / "model.gguf"), HasSubstr("truncated")) << size;
  }
}

}  // namespace
}  // namespace samebits::heal
