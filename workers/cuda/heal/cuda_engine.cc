#include "workers/cuda/heal/cuda_engine.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "workers/cuda/return_if.h"

namespace samebits::workers {

using heal::AttentionMode;
using heal::Boundary;
using heal::GemmInput;

namespace {

int64_t StoredBytes(const heal::Configuration& c) {
  return c.boundary == Boundary::kBf16 || c.boundary == Boundary::kF16 ? 2 : 4;
}
int64_t OperandBytes(const heal::Configuration& c) {
  return c.gemm == GemmInput::kTf32 || c.gemm == GemmInput::kF32 ? 4 : 2;
}

}  // namespace

absl::StatusOr<std::unique_ptr<heal::Engine>> OpenCudaEngine(HealDevice* device, const heal::Configuration& configuration,
                                                             const heal::Capacity& capacity) {
  auto engine = std::make_unique<CudaEngine>(device, configuration, capacity);
  const absl::Status status = engine->Prepare();
  if (status.ok()) return engine;
  size_t free = 0, total = 0;
  if (!absl::IsResourceExhausted(status) || device->api->cudaMemGetInfo(&free, &total) != cudaSuccess) return status;
  return absl::ResourceExhaustedError(absl::StrCat(configuration.name, " with ", capacity.slots, " slots of ",
                                                   capacity.context, " positions: ", status.message(), "; ", free, " of ",
                                                   total, " bytes are free"));
}

CudaEngine::CudaEngine(HealDevice* device, const heal::Configuration& configuration, const heal::Capacity& capacity)
    : device_(device), shape_(device->weights->shape()), configuration_(configuration), capacity_(capacity),
      bits_(configuration.significand_bits), filled_(std::max(capacity.slots, 0)), token_(device->api.get(), false),
      slot_(device->api.get(), false), position_(device->api.get(), false), next_(device->api.get(), false),
      best_value_(device->api.get(), false), best_place_(device->api.get(), false),
      residual_(device->api.get(), false), operand_(device->api.get(), false), product_(device->api.get(), false),
      logits_(device->api.get(), false), plain_(device->api.get(), false), tapped_(device->api.get(), false), query_(device->api.get(), false),
      query_scale_(device->api.get(), false), partial_(device->api.get(), false), weight_(device->api.get(), false),
      turn_(device->api.get(), false), widened_(device->api.get(), false) {}

absl::StatusOr<Program*> CudaEngine::ProgramOf(int layer) {
  const AttentionMode mode = configuration_.AttentionOf(std::min(layer, shape_.layers - 1));
  return device_->ProgramFor(KeyOf(configuration_, mode, shape_));
}

int64_t CudaEngine::KeptBytes(int layer) const {
  return configuration_.AttentionOf(layer) == AttentionMode::kF32 ? 4 : 2;
}

int CudaEngine::PartsOf(int layer) const {
  return configuration_.GemmOf(layer) == GemmInput::kF16Compensated ? 2 : 1;
}

int CudaEngine::OutputPartsOf(int layer) const {
  return configuration_.OutputGemmOf(layer) == GemmInput::kF16Compensated ? 2 : 1;
}

GemmInput CudaEngine::GemmOf(int layer, heal::TensorId matrix) const {
  return matrix == heal::TensorId::kOutput ? configuration_.OutputGemmOf(layer) : configuration_.GemmOf(layer);
}

int64_t CudaEngine::BufferRows() const {
  int64_t parts = 1;
  for (int layer = 0; layer <= shape_.layers; ++layer) {
    parts = std::max<int64_t>({parts, PartsOf(layer), layer < shape_.layers ? OutputPartsOf(layer) : 1});
  }
  return std::max<int64_t>(parts * capacity_.rows, 64);
}

Program::Grid CudaEngine::Spread(uint64_t count) {
  return {.x = static_cast<unsigned>(std::clamp<uint64_t>((count + 255) / 256, 1, 4096))};
}

absl::Status CudaEngine::AllocateCaches() {
  const int64_t positions = int64_t{capacity_.slots} * shape_.kv_heads * capacity_.context;
  for (int layer = 0; layer < shape_.layers; ++layer) {
    caches_.push_back({CudaBuffer(&api(), false), CudaBuffer(&api(), false), CudaBuffer(&api(), false),
                       CudaBuffer(&api(), false)});
    Cache& cache = caches_.back();
    SAMEBITS_RETURN_IF(cache.key.Reserve(positions * shape_.head_dim * KeptBytes(layer)));
    SAMEBITS_RETURN_IF(cache.value.Reserve(positions * shape_.head_dim * KeptBytes(layer)));
    if (configuration_.AttentionOf(layer) != AttentionMode::kInt16) continue;
    SAMEBITS_RETURN_IF(cache.key_scale.Reserve(4 * positions));
    SAMEBITS_RETURN_IF(cache.value_scale.Reserve(4 * positions));
  }
  return absl::OkStatus();
}

absl::Status CudaEngine::Prepare() {
  SAMEBITS_RETURN_IF(Validate(configuration_, shape_.layers));
  if (capacity_.slots < 1 || capacity_.context < 1 || capacity_.rows < 1 || capacity_.rows > 65535 ||
      capacity_.slots > 65535 || capacity_.context > (1 << 20)) {
    return absl::InvalidArgumentError("capacity: slots and rows must be 1 to 65,535, the context 1 to 1,048,576");
  }
  absl::StatusOr<std::unique_ptr<Products>> products = Products::Create(&api());
  if (!products.ok()) return products.status();
  products_ = *std::move(products);
  for (int layer = 0; layer < shape_.layers; ++layer) SAMEBITS_RETURN_IF(ProgramOf(layer).status());
  const absl::StatusOr<Program*> setup = device_->ProgramFor(ProgramKey{});
  SAMEBITS_RETURN_IF(setup.status());
  const bool is_half = configuration_.gemm == GemmInput::kF16 || configuration_.gemm == GemmInput::kF16Compensated;
  if (is_half) SAMEBITS_RETURN_IF(device_->weights->MakeHalf(*setup, device_->stream));

  const int64_t rows = capacity_.rows;
  const int64_t stored = StoredBytes(configuration_), operand = OperandBytes(configuration_);
  const int64_t widest = std::max({int64_t{shape_.hidden}, int64_t{shape_.query_width()}, int64_t{shape_.intermediate}});
  const int64_t result = std::max({int64_t{shape_.hidden}, int64_t{shape_.qkv_width()}, 2 * int64_t{shape_.intermediate}});
  for (CudaBuffer* numbers : {&token_, &slot_, &position_, &next_}) SAMEBITS_RETURN_IF(numbers->Reserve(4 * rows));
  for (CudaBuffer* numbers : {&best_value_, &best_place_}) SAMEBITS_RETURN_IF(numbers->Reserve(4 * 32 * rows));
  SAMEBITS_RETURN_IF(residual_.Reserve(rows * shape_.hidden * stored));
  SAMEBITS_RETURN_IF(operand_.Reserve(BufferRows() * widest * operand));
  SAMEBITS_RETURN_IF(product_.Reserve(BufferRows() * result * stored));
  SAMEBITS_RETURN_IF(plain_.Reserve(BufferRows() * std::max(widest, result) * 4));
  SAMEBITS_RETURN_IF(query_.Reserve(rows * shape_.query_width() * 4));
  SAMEBITS_RETURN_IF(query_scale_.Reserve(4 * rows * shape_.heads));
  const int64_t pieces = (rows * shape_.kv_heads + kMostPieces) * (shape_.heads / shape_.kv_heads);
  SAMEBITS_RETURN_IF(partial_.Reserve(4 * pieces * shape_.head_dim));
  SAMEBITS_RETURN_IF(weight_.Reserve(8 * pieces));

  const std::vector<float> frequencies = RopeFrequencies(shape_);
  std::vector<float> turn;
  turn.reserve(int64_t{capacity_.context} * shape_.head_dim);
  for (int position = 0; position < capacity_.context; ++position) {
    for (const float frequency : frequencies) {
      const double angle = static_cast<float>(position) * frequency;  // FP32
      turn.push_back(static_cast<float>(std::cos(angle)));
      turn.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  SAMEBITS_RETURN_IF(turn_.Reserve(4 * turn.size()));
  SAMEBITS_RETURN_IF(ToDevice(turn.data(), 4 * turn.size(), turn_.data()));
  SAMEBITS_RETURN_IF(AllocateCaches());
  return device_->Synchronize("engine");
}

}  // namespace samebits::workers
