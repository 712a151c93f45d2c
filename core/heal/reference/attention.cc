#include "core/heal/reference/attention.h"

#include <algorithm>
#include <cmath>

#include "core/heal/numerics/quantize.h"
#include "core/heal/numerics/rounding.h"

namespace samebits::heal {
namespace {

// Exact products, eight partial sums as in Dot (product.h).
double DotFloat(const float* a, const float* b, int count) {
  double sum[8] = {};
  int i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int lane = 0; lane < 8; ++lane) sum[lane] += static_cast<double>(a[i + lane]) * b[i + lane];
  }
  for (int lane = 0; i < count; ++i, ++lane) sum[lane] += static_cast<double>(a[i]) * b[i];
  return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

float RoundedProbability(AttentionMode mode, float p) {
  if (mode == AttentionMode::kBf16) return FromBf16(ToBf16(p));
  if (mode == AttentionMode::kF16) return FromF16(ToF16(p));
  return p;
}

float RoundedValue(AttentionMode mode, float x) {
  switch (mode) {
    case AttentionMode::kBf16:
      return FromBf16(ToBf16(x));
    case AttentionMode::kF16:
      return FromF16(ToF16(x));
    case AttentionMode::kF32:
    case AttentionMode::kInt16:
      return x;
  }
  return x;
}

float AppendInt16(std::span<const float> head, std::vector<float>* values) {
  std::vector<int16_t> quantised(head.size());
  const float scale = QuantizeInt16(head, quantised);
  values->insert(values->end(), quantised.begin(), quantised.end());
  return scale;
}

}  // namespace

void Append(AttentionMode mode, std::span<const float> row, int width, HeldHeads* held) {
  for (size_t begin = 0; begin < row.size(); begin += static_cast<size_t>(width)) {
    const std::span<const float> head = row.subspan(begin, static_cast<size_t>(width));
    if (mode == AttentionMode::kInt16) {
      held->scales.push_back(AppendInt16(head, &held->values));
      continue;
    }
    for (const float value : head) held->values.push_back(RoundedValue(mode, value));
    held->scales.push_back(1);
  }
}

void Widen(const HeldHeads& held, int64_t row, int width, std::span<float> values) {
  const size_t first = static_cast<size_t>(row) * values.size();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = held.values[first + i] * held.scales[(first + i) / static_cast<size_t>(width)];
  }
}

void KvRows::Cut(const ModelShape& shape, int64_t positions) {
  for (HeldHeads* held : {&key, &value}) {
    const size_t values = static_cast<size_t>(positions * shape.kv_width());
    if (held->values.size() <= values) continue;
    held->values.resize(values);
    held->scales.resize(static_cast<size_t>(positions * shape.kv_heads));
  }
}

void Attend(const ModelShape& shape, AttentionMode mode, const HeldHeads& query, int64_t row, int head,
            const KvRows& kv, int64_t last, std::span<float> output) {
  const int width = shape.head_dim, kv_head = head / (shape.heads / shape.kv_heads);
  const float* q = query.values.data() + row * shape.query_width() + head * width;
  const double q_scale = query.scales[static_cast<size_t>(row * shape.heads + head)];
  const float inverse_root = static_cast<float>(1 / std::sqrt(static_cast<double>(width)));
  std::vector<float> p(static_cast<size_t>(last) + 1);
  for (int64_t j = 0; j <= last; ++j) {
    const double k_scale = kv.key.scales[static_cast<size_t>(j * shape.kv_heads + kv_head)];
    const float* k = kv.key.values.data() + j * shape.kv_width() + kv_head * width;
    p[j] = static_cast<float>(DotFloat(q, k, width) * (q_scale * k_scale)) * inverse_root;
  }
  const float most = *std::max_element(p.begin(), p.end());
  double total = 0;
  for (float& value : p) {
    value = static_cast<float>(std::exp(static_cast<double>(value - most)));
    total += value;
  }
  std::vector<double> sums(static_cast<size_t>(width));
  for (int64_t j = 0; j <= last; ++j) {
    const double v_scale = kv.value.scales[static_cast<size_t>(j * shape.kv_heads + kv_head)];
    const double weight = RoundedProbability(mode, p[j]) * v_scale;
    const float* v = kv.value.values.data() + j * shape.kv_width() + kv_head * width;
    for (int i = 0; i < width; ++i) sums[i] += weight * v[i];
  }
  for (int i = 0; i < width; ++i) output[i] = static_cast<float>(sums[i]) / static_cast<float>(total);
}

}  // namespace samebits::heal
