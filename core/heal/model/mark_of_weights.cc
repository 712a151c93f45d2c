#include "core/heal/model/mark_of_weights.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"
#include "core/base/sha256.h"

namespace samebits::heal {
namespace {

constexpr size_t kMarkedValues = 4096;

constexpr TensorId kTensors[] = {
    TensorId::kInputNorm, TensorId::kQkv,     TensorId::kQkvBias,   TensorId::kQueryNorm,
    TensorId::kKeyNorm,   TensorId::kOutput,  TensorId::kMlpNorm,   TensorId::kGateUp,
    TensorId::kDown,      TensorId::kEmbedding, TensorId::kFinalNorm, TensorId::kHead};

void MarkTensor(std::span<const uint16_t> values, std::string* text) {
  const size_t step = std::max<size_t>(1, values.size() / kMarkedValues);
  for (size_t i = 0; i < values.size(); i += step) {
    text->push_back(static_cast<char>(values[i] & 0xff));
    text->push_back(static_cast<char>(values[i] >> 8));
  }
}

}  // namespace

std::string MarkOfWeights(const Checkpoint& checkpoint) {
  if (checkpoint.synthetic_seed()) return "";
  std::string digests;
  for (int layer = 0; layer < checkpoint.shape().layers; ++layer) {
    for (const TensorId id : kTensors) {
      if (!Has(checkpoint.shape(), id) || (layer != 0 && !IsOfLayer(id))) continue;
      std::string values;
      MarkTensor(checkpoint.Tensor(layer, id), &values);
      absl::StrAppend(&digests, layer, " ", static_cast<int>(id), " ", Sha256Hex(values), "\n");
    }
  }
  return Sha256Hex(digests);
}

}  // namespace samebits::heal
