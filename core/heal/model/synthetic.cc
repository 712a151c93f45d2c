#include <cmath>
#include <mutex>

#include "core/heal/model/checkpoint.h"
#include "core/heal/numerics/rounding.h"

namespace samebits::heal {
namespace {

constexpr uint64_t kStep = 0x9e3779b97f4a7c15;  // splitmix64's
constexpr int kTensorIds = 12;

uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

uint16_t Draw(uint64_t key, int64_t index, float scale, bool norm) {
  const uint64_t bits = Mix(key + kStep * (static_cast<uint64_t>(index) + 1));
  const int sum = static_cast<int>((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48));
  const float value = static_cast<float>(sum - 131070) * scale;
  return ToBf16(norm ? 1.0f + value : value);
}

double Deviation(const ModelShape& shape, TensorId id) {
  const double inputs = static_cast<double>(ColumnsOf(shape, id));
  switch (id) {
    case TensorId::kOutput:
    case TensorId::kDown:
      return 1 / std::sqrt(inputs * 2 * shape.layers);
    case TensorId::kQkv:
    case TensorId::kGateUp:
    case TensorId::kHead:
      return 1 / std::sqrt(inputs);
    case TensorId::kEmbedding:
      return shape.tied ? 1 / std::sqrt(inputs) : 1;
    case TensorId::kQkvBias:
      return 0.5;
    case TensorId::kInputNorm:
    case TensorId::kMlpNorm:
    case TensorId::kFinalNorm:
    case TensorId::kQueryNorm:
    case TensorId::kKeyNorm:
      return 0.1;
  }
  return 0;
}

class SyntheticCheckpoint final : public Checkpoint {
 public:
  SyntheticCheckpoint(const ModelShape& shape, uint64_t seed)
      : shape_(shape), seed_(seed), tensors_(static_cast<size_t>(shape.layers) * kTensorIds) {}

  const ModelShape& shape() const override { return shape_; }
  std::optional<uint64_t> synthetic_seed() const override { return seed_; }

  std::span<const uint16_t> Tensor(int layer, TensorId id) const override {
    if (!Has(shape_, id)) return {};
    if (id == TensorId::kHead && shape_.tied) id = TensorId::kEmbedding;
    if (!IsOfLayer(id)) layer = 0;
    Made& made = tensors_[static_cast<size_t>(layer) * kTensorIds + static_cast<size_t>(id)];
    std::call_once(made.once, [&] { Make(layer, id, &made.values); });
    return made.values;
  }

 private:
  struct Made {
    std::once_flag once;
    std::vector<uint16_t> values;
  };

  void Make(int layer, TensorId id, std::vector<uint16_t>* values) const {
    const uint64_t key = SyntheticKey(seed_, layer, id);
    const float scale = SyntheticScale(shape_, id);
    values->resize(static_cast<size_t>(RowsOf(shape_, id) * ColumnsOf(shape_, id)));
    for (size_t i = 0; i < values->size(); ++i) (*values)[i] = Draw(key, static_cast<int64_t>(i), scale, IsNorm(id));
  }

  const ModelShape shape_;
  const uint64_t seed_;
  mutable std::vector<Made> tensors_;
};

}  // namespace

uint64_t SyntheticKey(uint64_t seed, int layer, TensorId id) {
  return Mix(seed + kStep * (static_cast<uint64_t>(layer) * 16 + static_cast<uint64_t>(id) + 1));
}

uint16_t SyntheticValue(uint64_t seed, int layer, TensorId id, int64_t index, float scale) {
  return Draw(SyntheticKey(seed, layer, id), index, scale, IsNorm(id));
}

float SyntheticScale(const ModelShape& shape, TensorId id) {
  // the sum of four integers uniform in [0, 2^16) has variance 4 * (2^32 - 1) / 12
  return static_cast<float>(Deviation(shape, id) / std::sqrt((0x1p32 - 1) / 3));
}

std::shared_ptr<const Checkpoint> MakeSyntheticCheckpoint(const ModelShape& shape, uint64_t seed) {
  return std::make_shared<SyntheticCheckpoint>(shape, seed);
}

}  // namespace samebits::heal
