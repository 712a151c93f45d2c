#include "core/heal/reference/operators.h"

#include <cmath>

#include "core/heal/numerics/rounding.h"

namespace samebits::heal {
namespace {

void Rotate(const Rotation& rotation, std::span<float> head) {
  const size_t half = head.size() / 2;
  for (size_t i = 0; i < half; ++i) {
    const float first = head[i], second = head[half + i];
    head[i] = first * rotation.cosine[i] - second * rotation.sine[i];
    head[half + i] = second * rotation.cosine[i] + first * rotation.sine[i];
  }
}

}  // namespace

void RmsNorm(std::span<const float> x, std::span<const uint16_t> weight, double epsilon, std::span<float> y) {
  double sum = 0;
  for (const float value : x) sum += static_cast<double>(value) * value;
  const float r = static_cast<float>(1 / std::sqrt(sum / static_cast<double>(x.size()) + epsilon));
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * r * FromBf16(weight[i]);
}

Rotation RotationAt(std::span<const float> frequencies, int64_t position) {
  Rotation rotation;
  for (const float frequency : frequencies) {
    const double angle = static_cast<float>(position) * frequency;
    rotation.cosine.push_back(static_cast<float>(std::cos(angle)));
    rotation.sine.push_back(static_cast<float>(std::sin(angle)));
  }
  return rotation;
}

void NormAndRotate(const ModelShape& shape, std::span<const uint16_t> query_norm, std::span<const uint16_t> key_norm,
                   const Rotation& rotation, std::span<float> qkv) {
  const size_t width = static_cast<size_t>(shape.head_dim);
  for (int number = 0; number < shape.heads + shape.kv_heads; ++number) {
    const std::span<float> head = qkv.subspan(static_cast<size_t>(number) * width, width);
    const std::span<const uint16_t> weight = number < shape.heads ? query_norm : key_norm;
    if (!weight.empty()) RmsNorm(head, weight, shape.norm_epsilon, head);
    Rotate(rotation, head);
  }
}

void SwiGlu(std::span<const float> gate_up, std::span<float> activation) {
  for (size_t i = 0; i < activation.size(); ++i) {
    const double gate = gate_up[i];
    activation[i] = static_cast<float>(gate / (1 + std::exp(-gate))) * gate_up[activation.size() + i];
  }
}

}  // namespace samebits::heal
