#ifndef SAMEBITS_CORE_HEAL_MODEL_MODEL_SHAPE_H_
#define SAMEBITS_CORE_HEAL_MODEL_MODEL_SHAPE_H_

// Decoders of the Llama and Qwen families ("HEAL", algorithm 1): RMSNorm, grouped-query attention, SwiGLU.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace samebits::heal {

// Llama 3's change of the rotary frequencies.
struct RopeScaling {
  double factor = 8, low_frequency = 1, high_frequency = 4;
  int64_t original_context = 8192;
  friend bool operator==(const RopeScaling&, const RopeScaling&) = default;
};

struct ModelShape {
  std::string name;
  int hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0, intermediate = 0, vocabulary = 0;
  bool tied = false;     // the head is the embedding
  bool qk_norm = false;  // RMSNorm of every head of Q and K before the rotation
  bool qkv_bias = false;
  double rope_theta = 1e4, norm_epsilon = 1e-5;
  std::optional<RopeScaling> rope_scaling;
  // A norm after an addition reads the sum before it is rounded to the boundary's type (fused add and norm), or after.
  bool norm_of_unrounded = false;

  int query_width() const { return heads * head_dim; }
  int kv_width() const { return kv_heads * head_dim; }
  int qkv_width() const { return query_width() + 2 * kv_width(); }
  friend bool operator==(const ModelShape&, const ModelShape&) = default;
};

// INVALID_ARGUMENT that names the field: sizes positive and bounded, heads a multiple of kv_heads, head_dim even and at
// most 256.
absl::Status Validate(const ModelShape& shape);

// The published shapes: "smollm2-135m", "qwen3-0.6b", "qwen3-8b", "qwen3-14b", "qwen3-32b", "llama-3.1-8b",
// "ds-r1-qwen-14b", and "tiny" (2 layers, for trying things).
std::span<const ModelShape> PublishedShapes();
absl::StatusOr<ModelShape> PublishedShape(std::string_view name);  // NOT_FOUND that lists them

// From a Hugging Face config.json of a Llama, Qwen2 or Qwen3 model. INVALID_ARGUMENT that names the key.
absl::StatusOr<ModelShape> ParseConfigJson(std::string_view json);

// Rotary frequencies, radians per position: head_dim / 2 of them, scaling applied, rounded once to FP32.
std::vector<float> RopeFrequencies(const ModelShape& shape);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_MODEL_MODEL_SHAPE_H_
