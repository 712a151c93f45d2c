#include "workers/cuda/heal/weights.h"

#include <cmath>
#include <vector>

#include "core/heal/numerics/quantize.h"
#include "core/heal/numerics/rounding.h"
#include "workers/cuda/return_if.h"

namespace samebits::workers {
namespace {

using heal::TensorId;

constexpr TensorId kLayerTensors[] = {TensorId::kInputNorm, TensorId::kQkv,     TensorId::kQkvBias,
                                      TensorId::kQueryNorm, TensorId::kKeyNorm, TensorId::kOutput,
                                      TensorId::kMlpNorm,   TensorId::kGateUp,  TensorId::kDown};
constexpr TensorId kOuterTensors[] = {TensorId::kEmbedding, TensorId::kFinalNorm, TensorId::kHead};

}  // namespace

bool IsMatrixOfProducts(TensorId id) {
  return id == TensorId::kQkv || id == TensorId::kOutput || id == TensorId::kGateUp || id == TensorId::kDown ||
         id == TensorId::kHead;
}

Weights::Key Weights::KeyOf(int layer, TensorId id) const {
  if (id == TensorId::kHead && shape().tied) id = TensorId::kEmbedding;
  for (const TensorId outer : kOuterTensors) {
    if (id == outer) layer = 0;
  }
  return {layer, id};
}

absl::Status Weights::UploadTensor(int layer, TensorId id, Program* setup, cudaStream_t stream) {
  const Key key = KeyOf(layer, id);
  if (!Has(shape(), id) || bf16_.count(key) > 0) return absl::OkStatus();
  CudaBuffer& buffer = bf16_.try_emplace(key, api_, false).first->second;
  if (const std::optional<uint64_t> seed = checkpoint_->synthetic_seed(); seed.has_value()) {
    const uint64_t count = RowsOf(shape(), id) * ColumnsOf(shape(), id);
    SAMEBITS_RETURN_IF(buffer.Reserve(static_cast<int64_t>(2 * count)));
    return setup->Launch("Synthesize", {.x = 4096}, stream, buffer.as<uint16_t>(), count,
                         heal::SyntheticKey(*seed, key.first, key.second), heal::SyntheticScale(shape(), key.second),
                         static_cast<int>(heal::IsNorm(key.second)));
  }
  const std::span<const uint16_t> values = checkpoint_->Tensor(layer, id);
  SAMEBITS_RETURN_IF(buffer.Reserve(values.size_bytes()));
  SAMEBITS_RETURN_IF(api_->Cuda(
      api_->cudaMemcpyAsync(buffer.data(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice, stream), "upload"));
  return api_->Cuda(api_->cudaStreamSynchronize(stream), "upload");
}

absl::StatusOr<std::unique_ptr<Weights>> Weights::Upload(const CudaApi* api,
                                                         std::shared_ptr<const heal::Checkpoint> checkpoint,
                                                         Program* setup, cudaStream_t stream) {
  std::unique_ptr<Weights> weights(new Weights(api, std::move(checkpoint)));
  for (const TensorId id : kOuterTensors) SAMEBITS_RETURN_IF(weights->UploadTensor(0, id, setup, stream));
  for (int layer = 0; layer < weights->shape().layers; ++layer) {
    for (const TensorId id : kLayerTensors) SAMEBITS_RETURN_IF(weights->UploadTensor(layer, id, setup, stream));
  }
  return weights;
}

const uint16_t* Weights::Bf16(int layer, TensorId id) const {
  const auto found = bf16_.find(KeyOf(layer, id));
  return found == bf16_.end() ? nullptr : found->second.as<uint16_t>();
}

Weights::Half Weights::F16(int layer, TensorId id) const {
  const auto found = half_.find(KeyOf(layer, id));
  if (found == half_.end()) return {};
  return {found->second.data.as<uint16_t>(), found->second.undo};
}

absl::Status Weights::MakeHalf(Program* setup, cudaStream_t stream) {
  if (!half_.empty()) return absl::OkStatus();
  CudaBuffer most(api_, false);
  SAMEBITS_RETURN_IF(most.Reserve(4));
  for (const auto& [key, from] : bf16_) {
    const bool is_head = key.second == TensorId::kEmbedding && shape().tied;
    if (!is_head && !IsMatrixOfProducts(key.second)) continue;
    const uint64_t count = RowsOf(shape(), key.second) * ColumnsOf(shape(), key.second);
    SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaMemsetAsync(most.data(), 0, 4, stream), "memset"));
    SAMEBITS_RETURN_IF(setup->Launch("LargestMagnitude", {.x = 1024}, stream, static_cast<const uint16_t*>(from.as<uint16_t>()),
                                     count, most.as<uint32_t>()));
    uint32_t bits = 0;
    SAMEBITS_RETURN_IF(
        api_->Cuda(api_->cudaMemcpyAsync(&bits, most.data(), 4, cudaMemcpyDeviceToHost, stream), "download"));
    SAMEBITS_RETURN_IF(api_->Cuda(api_->cudaStreamSynchronize(stream), "download"));
    const int exponent = heal::WeightScaleExponent(heal::FromBf16(static_cast<uint16_t>(bits)));
    HalfMatrix& half = half_.try_emplace(key, HalfMatrix{CudaBuffer(api_, false), std::ldexp(1.f, -exponent)}).first->second;
    SAMEBITS_RETURN_IF(half.data.Reserve(static_cast<int64_t>(2 * count)));
    SAMEBITS_RETURN_IF(setup->Launch("ToHalf", {.x = 4096}, stream, static_cast<const uint16_t*>(from.as<uint16_t>()),
                                     half.data.as<uint16_t>(), count, exponent));
  }
  return api_->Cuda(api_->cudaStreamSynchronize(stream), "weights");
}

}  // namespace samebits::workers
