#include "core/heal/model/model_shape.h"

#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace samebits::heal {
namespace {

ModelShape Qwen3(const char* name, int hidden, int layers, int heads, int intermediate, bool tied) {
  return {.name = name,
          .hidden = hidden,
          .layers = layers,
          .heads = heads,
          .kv_heads = 8,
          .head_dim = 128,
          .intermediate = intermediate,
          .vocabulary = 151936,
          .tied = tied,
          .qk_norm = true,
          .rope_theta = 1e6,
          .norm_epsilon = 1e-6};
}

const std::vector<ModelShape>& Shapes() {
  static const auto* const shapes = new std::vector<ModelShape>{
      {.name = "tiny",
       .hidden = 64,
       .layers = 2,
       .heads = 4,
       .kv_heads = 2,
       .head_dim = 16,
       .intermediate = 160,
       .vocabulary = 512,
       .tied = true},
      {.name = "smollm2-135m",
       .hidden = 576,
       .layers = 30,
       .heads = 9,
       .kv_heads = 3,
       .head_dim = 64,
       .intermediate = 1536,
       .vocabulary = 49152,
       .tied = true,
       .rope_theta = 1e5},
      Qwen3("qwen3-0.6b", 1024, 28, 16, 3072, true),
      Qwen3("qwen3-8b", 4096, 36, 32, 12288, false),
      Qwen3("qwen3-14b", 5120, 40, 40, 17408, false),
      Qwen3("qwen3-32b", 5120, 64, 64, 25600, false),
      {.name = "llama-3.1-8b",
       .hidden = 4096,
       .layers = 32,
       .heads = 32,
       .kv_heads = 8,
       .head_dim = 128,
       .intermediate = 14336,
       .vocabulary = 128256,
       .rope_theta = 5e5,
       .rope_scaling = RopeScaling{}},
      {.name = "ds-r1-qwen-14b",
       .hidden = 5120,
       .layers = 48,
       .heads = 40,
       .kv_heads = 8,
       .head_dim = 128,
       .intermediate = 13824,
       .vocabulary = 152064,
       .qkv_bias = true,
       .rope_theta = 1e6},
  };
  return *shapes;
}

absl::Status CheckRange(const char* field, double value, double least, double most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("model shape: ", field, " is ", value, ", expected ", least, " to ", most));
}

double Scaled(double frequency, const RopeScaling& scaling) {
  const double turns = static_cast<double>(scaling.original_context) * frequency / (2 * std::numbers::pi);
  if (turns < scaling.low_frequency) return frequency / scaling.factor;
  if (turns > scaling.high_frequency) return frequency;
  const double kept = (turns - scaling.low_frequency) / (scaling.high_frequency - scaling.low_frequency);
  return (1 - kept) * frequency / scaling.factor + kept * frequency;
}

absl::Status CheckScaling(const RopeScaling& scaling) {
  absl::Status status = CheckRange("rope_scaling.factor", scaling.factor, 1, 1e6);
  status.Update(CheckRange("rope_scaling.low_frequency", scaling.low_frequency, 1e-6, 1e6));
  status.Update(CheckRange("rope_scaling.high_frequency", scaling.high_frequency, 1e-6, 1e6));
  status.Update(CheckRange("rope_scaling.original_context", static_cast<double>(scaling.original_context), 1, 1e9));
  if (status.ok() && scaling.high_frequency <= scaling.low_frequency) {
    return absl::InvalidArgumentError("model shape: rope_scaling.high_frequency must exceed low_frequency");
  }
  return status;
}

}  // namespace

absl::Status Validate(const ModelShape& shape) {
  absl::Status status = CheckRange("hidden", shape.hidden, 1, 1 << 16);
  status.Update(CheckRange("layers", shape.layers, 1, 1024));
  status.Update(CheckRange("heads", shape.heads, 1, 1024));
  status.Update(CheckRange("kv_heads", shape.kv_heads, 1, 1024));
  status.Update(CheckRange("head_dim", shape.head_dim, 2, 256));
  status.Update(CheckRange("intermediate", shape.intermediate, 1, 1 << 18));
  status.Update(CheckRange("vocabulary", shape.vocabulary, 1, 1 << 22));
  status.Update(CheckRange("rope_theta", shape.rope_theta, 1, 1e12));
  status.Update(CheckRange("norm_epsilon", shape.norm_epsilon, 1e-12, 1));
  if (shape.rope_scaling) status.Update(CheckScaling(*shape.rope_scaling));
  if (!status.ok()) return status;
  if (shape.heads % shape.kv_heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("model shape: heads (", shape.heads, ") must be a multiple of kv_heads (", shape.kv_heads, ")"));
  }
  if (shape.head_dim % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat("model shape: head_dim (", shape.head_dim, ") must be even"));
  }
  return absl::OkStatus();
}

std::span<const ModelShape> PublishedShapes() { return Shapes(); }

absl::StatusOr<ModelShape> PublishedShape(std::string_view name) {
  std::string known;
  for (const ModelShape& shape : Shapes()) {
    if (shape.name == name) return shape;
    absl::StrAppend(&known, known.empty() ? "" : ", ", shape.name);
  }
  return absl::NotFoundError(
      absl::StrCat("no model shape is named '", absl::string_view(name.data(), name.size()), "'; there are ", known));
}

std::vector<float> RopeFrequencies(const ModelShape& shape) {
  std::vector<float> result;
  for (int i = 0; i < shape.head_dim / 2; ++i) {
    const double frequency = std::pow(shape.rope_theta, -2.0 * i / shape.head_dim);
    result.push_back(static_cast<float>(shape.rope_scaling ? Scaled(frequency, *shape.rope_scaling) : frequency));
  }
  return result;
}

}  // namespace samebits::heal
