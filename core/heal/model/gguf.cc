#include "core/heal/model/gguf.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/heal/model/gguf_file.h"

namespace samebits::heal {
namespace {

// Reads metadata of one architecture; the first thing that is wrong is kept.
class Metadata {
 public:
  Metadata(const std::string& path, const GgufFile& file) : path_(path), file_(file) {
    architecture_ = Word("general.architecture", "");
    if (architecture_ != "llama" && architecture_ != "qwen2" && architecture_ != "qwen3") {
      Fail("general.architecture", absl::StrCat("is '", architecture_, "'; llama, qwen2 and qwen3 are known"));
    }
  }

  const std::string& architecture() const { return architecture_; }
  const absl::Status& status() const { return status_; }

  int Count(const char* key, std::optional<int> otherwise = {}) {
    const GgufValue* value = Find(Own(key));
    if (value == nullptr && otherwise) return *otherwise;
    if (value == nullptr) return Fail(Own(key), "is missing"), 0;
    const int64_t* count = std::get_if<int64_t>(value);
    if (count == nullptr || *count < 0 || *count > 1 << 30) return Fail(Own(key), "must be a count"), 0;
    return static_cast<int>(*count);
  }

  double Number(const char* key, std::optional<double> otherwise = {}) {
    const GgufValue* value = Find(Own(key));
    if (value == nullptr && otherwise) return *otherwise;
    if (value == nullptr) return Fail(Own(key), "is missing"), 0;
    const double* number = std::get_if<double>(value);
    if (number == nullptr) return Fail(Own(key), "must be a number"), 0;
    return *number;
  }

  std::string Word(const std::string& key, const std::string& otherwise) {
    const GgufValue* value = Find(key);
    const std::string* word = value == nullptr ? nullptr : std::get_if<std::string>(value);
    return word == nullptr ? otherwise : *word;
  }
  std::string Own(const char* key) const { return absl::StrCat(architecture_, ".", key); }

  void Fail(const std::string& key, absl::string_view what) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(absl::StrCat(path_, ": metadata '", key, "' ", what));
  }

 private:
  const GgufValue* Find(const std::string& key) const {
    const auto at = file_.metadata.find(key);
    return at == file_.metadata.end() ? nullptr : &at->second;
  }

  const std::string path_;
  const GgufFile& file_;
  std::string architecture_;
  absl::Status status_;
};

// The scaling whose divisors of the frequencies are those of the tensor rope_freqs.weight. Converters write the
// divisors of Llama 3.1 and 3.2, whose factors are 8 and 32.
absl::StatusOr<RopeScaling> ScalingOf(const std::string& path, const StoredTensor& divisors, const ModelShape& shape) {
  const size_t count = static_cast<size_t>(shape.head_dim) / 2;
  for (const double factor : {8.0, 32.0}) {
    if (divisors.type != ElementType::kF32 || divisors.bytes.size() != count * sizeof(float)) break;
    ModelShape plain = shape, scaled = shape;
    scaled.rope_scaling = RopeScaling{.factor = factor};
    const std::vector<float> from = RopeFrequencies(plain), to = RopeFrequencies(scaled);
    bool same = true;
    for (size_t i = 0; i < count; ++i) {
      float divisor = 0;
      std::memcpy(&divisor, divisors.bytes.data() + i * sizeof(float), sizeof(float));
      same &= std::fabs(divisor * to[i] - from[i]) <= 1e-5 * from[i];
    }
    if (same) return *scaled.rope_scaling;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": tensor 'rope_freqs.weight': not Llama 3's scaling of the rotary frequencies"));
}

ModelShape ReadShape(Metadata& metadata, const GgufFile& file, const std::string& path) {
  ModelShape shape;
  shape.name = metadata.Word("general.name", std::filesystem::path(path).stem().string());
  shape.hidden = metadata.Count("embedding_length");
  shape.layers = metadata.Count("block_count");
  shape.heads = metadata.Count("attention.head_count");
  shape.kv_heads = metadata.Count("attention.head_count_kv", shape.heads);
  shape.head_dim = metadata.Count("attention.key_length", shape.heads > 0 ? shape.hidden / shape.heads : 0);
  shape.intermediate = metadata.Count("feed_forward_length");
  const auto embedding = file.tensors.find("token_embd.weight");
  if (embedding != file.tensors.end() && embedding->second.shape.size() == 2 && embedding->second.shape[0] <= 1 << 30) {
    shape.vocabulary = static_cast<int>(embedding->second.shape[0]);
  } else {
    shape.vocabulary = metadata.Count("vocab_size");
  }
  shape.tied = file.tensors.count("output.weight") == 0;
  shape.qk_norm = metadata.architecture() == "qwen3";
  shape.qkv_bias = file.tensors.count("blk.0.attn_q.bias") != 0;
  shape.rope_theta = metadata.Number("rope.freq_base", 1e4);
  shape.norm_epsilon = metadata.Number("attention.layer_norm_rms_epsilon");
  const std::string scaling = metadata.Word(metadata.Own("rope.scaling.type"), "none");
  if (scaling != "none")
    metadata.Fail(metadata.Own("rope.scaling.type"), absl::StrCat("is '", scaling, "', which is not supported"));
  if (metadata.Count("rope.dimension_count", shape.head_dim) != shape.head_dim) {
    metadata.Fail(metadata.Own("rope.dimension_count"), "must be the head's width");
  }
  if (metadata.Count("expert_count", 0) != 0)
    metadata.Fail(metadata.Own("expert_count"), "must be 0: mixtures are not supported");
  return shape;
}

}  // namespace

absl::StatusOr<GgufModel> ReadGguf(const std::string& path) {
  absl::StatusOr<GgufFile> file = ReadGgufFile(path);
  if (!file.ok()) return file.status();
  Metadata metadata(path, *file);
  GgufModel model;
  if (metadata.status().ok()) model.shape = ReadShape(metadata, *file, path);
  if (!metadata.status().ok()) return metadata.status();
  if (const absl::Status status = Validate(model.shape); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", status.message()));
  }
  if (const auto divisors = file->tensors.find("rope_freqs.weight"); divisors != file->tensors.end()) {
    absl::StatusOr<RopeScaling> scaling = ScalingOf(path, divisors->second, model.shape);
    if (!scaling.ok()) return scaling.status();
    model.shape.rope_scaling = *scaling;
  }
  model.interleaved = metadata.architecture() == "llama";
  model.tensors = std::move(file->tensors);
  return model;
}

}  // namespace samebits::heal
