#include "core/heal/reference/row_operators.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/heal/numerics/quantize.h"
#include "core/heal/numerics/rounding.h"
#include "core/heal/reference/operators.h"

namespace samebits::heal {
namespace {

constexpr TensorId kMatrices[] = {TensorId::kQkv, TensorId::kOutput, TensorId::kGateUp, TensorId::kDown,
                                  TensorId::kHead};
constexpr int kTensorIds = 12;
constexpr int64_t kLogitRows = 16;  // at a time: a vocabulary is wide

size_t IndexOf(int layer, TensorId id) {
  return static_cast<size_t>(IsOfLayer(id) ? layer : 0) * kTensorIds + static_cast<size_t>(id);
}

int ExponentOf(std::span<const uint16_t> values) {
  uint16_t most = 0;  // magnitudes of finite BF16 patterns are ordered as integers
  for (const uint16_t bits : values) most = std::max<uint16_t>(most, bits & 0x7fff);
  return WeightScaleExponent(FromBf16(most));
}

template <typename T>
std::span<T> RowOf(std::span<T> values, int64_t row, int64_t width) {
  return values.subspan(static_cast<size_t>(row * width), static_cast<size_t>(width));
}

}  // namespace

ReferenceModel::ReferenceModel(std::shared_ptr<const Checkpoint> from)
    : checkpoint(std::move(from)),
      shape(checkpoint->shape()),
      frequencies(RopeFrequencies(shape)),
      exponents_(static_cast<size_t>(shape.layers) * kTensorIds) {
  for (int layer = 0; layer < shape.layers; ++layer) {
    for (const TensorId id : kMatrices) {
      if (layer == 0 || IsOfLayer(id)) exponents_[IndexOf(layer, id)] = ExponentOf(checkpoint->Tensor(layer, id));
    }
  }
}

WeightMatrix ReferenceModel::Matrix(int layer, TensorId id) const {
  WeightMatrix matrix = {
      checkpoint->Tensor(layer, id), RowsOf(shape, id), ColumnsOf(shape, id), exponents_[IndexOf(layer, id)], {}};
  if (id == TensorId::kQkv && shape.qkv_bias) matrix.bias = checkpoint->Tensor(layer, TensorId::kQkvBias);
  return matrix;
}

RowOperators::RowOperators(std::shared_ptr<const ReferenceModel> model, const Configuration& configuration, int threads)
    : model_(std::move(model)), configuration_(configuration), threads_(threads) {}

void RowOperators::Round(std::span<float> values) {
  if (configuration_.boundary == Boundary::kF32) return;
  for (float& value : values) value = RoundTo(configuration_.boundary, configuration_.significand_bits, value);
}

std::vector<float> RowOperators::Norm(int layer, TensorId id, std::span<const float> x) {
  const std::span<const uint16_t> weight = model_->checkpoint->Tensor(layer, id);
  const int64_t width = model_->shape.hidden, rows = static_cast<int64_t>(x.size()) / width;
  std::vector<float> y(x.size());
  threads_.Run(rows, 4, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const std::span<float> to = RowOf<float>(y, row, width);
      RmsNorm(RowOf(x, row, width), weight, model_->shape.norm_epsilon, to);
      Round(to);
    }
  });
  return y;
}

std::vector<float> RowOperators::Product(int layer, TensorId id, std::span<const float> x) {
  const WeightMatrix matrix = model_->Matrix(layer, id);
  const int64_t rows = static_cast<int64_t>(x.size()) / matrix.inputs;
  std::vector<float> y(static_cast<size_t>(rows * matrix.outputs));
  const GemmInput input = id == TensorId::kHead     ? configuration_.GemmOf(model_->shape.layers)
                          : id == TensorId::kOutput ? configuration_.OutputGemmOf(layer)
                                                    : configuration_.GemmOf(layer);
  Multiply(input, matrix, x, rows, threads_, y);
  threads_.Run(rows, 4, [&](int64_t begin, int64_t end) {
    Round(std::span<float>(y).subspan(begin * matrix.outputs, (end - begin) * matrix.outputs));
  });
  return y;
}

void RowOperators::NormAndRotateRows(int layer, std::span<const int32_t> position, std::span<float> qkv) {
  const ModelShape& shape = model_->shape;
  const std::span<const uint16_t> query_norm = model_->checkpoint->Tensor(layer, TensorId::kQueryNorm);
  const std::span<const uint16_t> key_norm = model_->checkpoint->Tensor(layer, TensorId::kKeyNorm);
  threads_.Run(static_cast<int64_t>(position.size()), 4, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const std::span<float> values = RowOf(qkv, row, shape.qkv_width());
      NormAndRotate(shape, query_norm, key_norm, RotationAt(model_->frequencies, position[row]), values);
      Round(values);
    }
  });
}

std::vector<float> RowOperators::Activation(std::span<const float> gate_up) {
  const int64_t width = model_->shape.intermediate, rows = static_cast<int64_t>(gate_up.size()) / (2 * width);
  std::vector<float> activation(gate_up.size() / 2);
  threads_.Run(rows, 2, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const std::span<float> to = RowOf<float>(activation, row, width);
      SwiGlu(RowOf(gate_up, row, 2 * width), to);
      Round(to);
    }
  });
  return activation;
}

std::vector<float> RowOperators::Attention(AttentionMode mode, const HeldHeads& query, std::span<const Reach> reach) {
  const ModelShape& shape = model_->shape;
  std::vector<float> output(query.values.size());
  threads_.Run(static_cast<int64_t>(reach.size()) * shape.heads, 2, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t row = item / shape.heads;
      const std::span<float> to = RowOf<float>(output, item, shape.head_dim);
      Attend(shape, mode, query, row, static_cast<int>(item % shape.heads), *reach[row].kv, reach[row].last, to);
      Round(to);
    }
  });
  return output;
}

std::vector<int32_t> RowOperators::LargestLogit(std::span<const float> hidden) {
  const int64_t width = model_->shape.hidden, rows = static_cast<int64_t>(hidden.size()) / width;
  std::vector<int32_t> tokens;
  for (int64_t first = 0; first < rows; first += kLogitRows) {
    const int64_t count = std::min(kLogitRows, rows - first);
    const std::vector<float> logits = Product(
        0, TensorId::kHead, hidden.subspan(static_cast<size_t>(first * width), static_cast<size_t>(count * width)));
    for (int64_t row = 0; row < count; ++row) {
      const auto begin = logits.begin() + row * model_->shape.vocabulary;
      tokens.push_back(static_cast<int32_t>(std::max_element(begin, begin + model_->shape.vocabulary) - begin));
    }
  }
  return tokens;
}

}  // namespace samebits::heal
