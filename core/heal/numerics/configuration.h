#ifndef SAMEBITS_CORE_HEAL_NUMERICS_CONFIGURATION_H_
#define SAMEBITS_CORE_HEAL_NUMERICS_CONFIGURATION_H_

// Where a forward pass rounds, as data ("HEAL", sections 2 to 4 and appendix C, which is normative).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace samebits::heal {

// What a kernel writes: residual stream, normalised values, outputs of operators. Arithmetic inside is FP32 throughout.
enum class Boundary : uint8_t { kBf16, kF16, kF32, kTruncated };

// What a matrix product reads. kF16 has a power-of-two scale per weight matrix, undone after; kF16Compensated adds a
// second product for what rounding the activations lost (hi + lo / 2^10). All write FP32, then the boundary rounds.
enum class GemmInput : uint8_t { kBf16, kF16, kF16Compensated, kTf32, kF32 };

// How attention keeps Q, K and V, and what its products read. 16-bit floats: probabilities are rounded to the same type
// before they meet V. kInt16: Q, K, V as INT16 with a scale per token and head (max|x| / (2^15 - 1)), unpacked to
// hi + lo / 2^10 in FP16. kF32: IEEE products.
enum class AttentionMode : uint8_t { kBf16, kF16, kF32, kInt16 };

struct Configuration {
  std::string name;  // the text it was parsed from, canonical: "heal++:11"
  Boundary boundary = Boundary::kF32;
  int significand_bits = 23;  // kTruncated: kept after the leading one, 3 to 22
  GemmInput gemm = GemmInput::kF32;
  AttentionMode attention = AttentionMode::kF32;
  // Layers, ascending: those of HEAL++ whose attention is kF16 although `attention` is kInt16, and those of HEAL-Full
  // whose products are kF16 although `gemm` is kF16Compensated.
  std::vector<int> unprotected_layers, uncompensated_layers;

  // Whether, where attention is kInt16 and products are kF16, the one that reads attention's output is kF16Compensated:
  // its FP32 output is then not rounded on its way into the residual stream.
  bool whole_attention_output = false;

  AttentionMode AttentionOf(int layer) const;
  GemmInput GemmOf(int layer) const;  // the head's product is that of layer `layers` and never skipped
  GemmInput OutputGemmOf(int layer) const;  // of the product that reads attention's output
  friend bool operator==(const Configuration&, const Configuration&) = default;
};

// "bf16", "fp16", "tf32", "fp32", "heal-base", "heal+", "heal++:K" (the first K layers unprotected), "heal++:@2,5,7-9"
// (those layers), "heal-full", "heal-full:K" (the first K uncompensated), "heal-full:@2,5,7-9", "trunc:K".
// INVALID_ARGUMENT that quotes the word and lists what there is.
absl::StatusOr<Configuration> ParseConfiguration(std::string_view text);
std::string ToText(const Configuration& configuration);

// INVALID_ARGUMENT where a named layer is not below `layers`.
absl::Status Validate(const Configuration& configuration, int layers);

// All of them, for a model of so many layers. INVALID_ARGUMENT also where one is named twice.
absl::StatusOr<std::vector<Configuration>> ParseConfigurations(const std::vector<std::string>& texts, int layers);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_NUMERICS_CONFIGURATION_H_
