#ifndef SAMEBITS_CORE_HEAL_REFERENCE_OPERATORS_H_
#define SAMEBITS_CORE_HEAL_REFERENCE_OPERATORS_H_

// Operators on single rows, in FP32 as reference_backend.h says; none rounds to a boundary.

#include <cstdint>
#include <span>
#include <vector>

#include "core/heal/model/model_shape.h"

namespace samebits::heal {

// y = x * r * weight with r = FP32(1 / sqrt(mean of squares of x + epsilon)); y may be x.
void RmsNorm(std::span<const float> x, std::span<const uint16_t> weight, double epsilon, std::span<float> y);

// cos and sin of FP32(position * frequency) for each pair.
struct Rotation {
  std::vector<float> cosine, sine;
};
Rotation RotationAt(std::span<const float> frequencies, int64_t position);

// Q and K of a row that holds Q, K and V: each head normalised (where the model has QK-norm) and rotated in place.
// The weights are empty where it has none.
void NormAndRotate(const ModelShape& shape, std::span<const uint16_t> query_norm, std::span<const uint16_t> key_norm,
                   const Rotation& rotation, std::span<float> qkv);

// activation[i] = FP32(SiLU(gate[i])) * up[i]; gate_up holds both, gate first.
void SwiGlu(std::span<const float> gate_up, std::span<float> activation);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_REFERENCE_OPERATORS_H_
