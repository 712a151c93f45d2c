#ifndef SAMEBITS_WORKERS_CUDA_HEAL_CUDA_ENGINE_H_
#define SAMEBITS_WORKERS_CUDA_HEAL_CUDA_ENGINE_H_

#include <memory>
#include <optional>
#include <vector>

#include "core/heal/engine/engine.h"
#include "workers/cuda/heal/device.h"

namespace samebits::workers {

absl::StatusOr<std::unique_ptr<heal::Engine>> OpenCudaEngine(HealDevice* device, const heal::Configuration& configuration,
                                                             const heal::Capacity& capacity);

// Private to this folder.
class CudaEngine : public heal::Engine {
 public:
  CudaEngine(HealDevice* device, const heal::Configuration& configuration, const heal::Capacity& capacity);
  absl::Status Prepare();

  const heal::ModelShape& shape() const override { return shape_; }
  const heal::Configuration& configuration() const override { return configuration_; }
  const heal::Capacity& capacity() const override { return capacity_; }
  absl::Status Forward(const heal::Rows& rows, const heal::Wanted& wanted, heal::ForwardResult* result) override;
  absl::StatusOr<std::vector<float>> Apply(const heal::OperatorInstance& instance,
                                           const heal::OperatorInput& input) override;
  absl::StatusOr<heal::DecodeTiming> TimeDecode(int batch, int context, int warmup, int steps) override;

 private:
  struct Cache {  // of a layer; INT16 has scales
    CudaBuffer key, value, key_scale, value_scale;
  };

  // cuda_engine.cc: memory.
  absl::Status AllocateCaches();
  absl::StatusOr<Program*> ProgramOf(int layer);
  int64_t KeptBytes(int layer) const;
  int64_t BufferRows() const;  // of operands and results
  bool HasBias(heal::TensorId matrix) const { return matrix == heal::TensorId::kQkv && shape_.qkv_bias; }
  int PartsOf(int layer) const;        // of operands and results of the layer's products: 2 where compensated
  int OutputPartsOf(int layer) const;  // of the one that reads attention's output
  heal::GemmInput GemmOf(int layer, heal::TensorId matrix) const;

  // forward.cc: the pass.
  absl::Status CheckRows(const heal::Rows& rows);
  absl::Status UploadRows(const heal::Rows& rows);
  absl::Status Embed(int rows);
  // The residual stream takes what the products wrote (none where `parts` is 0), the norm goes to the operand.
  absl::Status AddNorm(int rows, int parts, int layer, heal::TensorId norm, int out_parts, float* plain = nullptr);
  absl::Status Multiply(int rows, int layer, heal::TensorId matrix);
  ProductShape ProductOf(int rows, int layer, heal::TensorId matrix) const;
  absl::Status MultiplyInto(int rows, int layer, heal::TensorId matrix, void* y);
  absl::Status Rope(int rows, int layer, bool rotate, float* plain = nullptr);
  absl::Status Attend(int rows, int layer, int longest, int out_parts);
  absl::Status SwiGlu(int rows, int layer);
  absl::Status Layer(int rows, int layer, int longest, int incoming_parts, const heal::Tap& tap);
  absl::Status Finish(int rows, bool plain, bool next_token);
  absl::Status Pass(int rows, int longest, bool plain, bool next_token, const heal::Tap& tap);
  int AttentionParts(int rows, int longest) const;

  // taps.cc: values for the host.
  absl::Status TapResidual(int rows, int layer, heal::TapPoint point, const heal::Tap& tap);
  absl::Status TapOperand(int rows, int layer, heal::TapPoint point, int parts, const heal::Tap& tap);
  absl::Status TapProduct(int rows, int layer, heal::TapPoint point, const heal::Tap& tap);
  absl::Status TapKept(int rows, int layer, heal::TapPoint point, const heal::Tap& tap);
  absl::Status Give(int rows, int layer, heal::TapPoint point, const heal::Tap& tap);  // what tapped_ holds
  absl::Status ToHost(const void* from, int64_t bytes, void* to);
  absl::Status ToDevice(const void* from, int64_t bytes, void* to);

  // apply.cc: operators alone.
  absl::StatusOr<std::vector<float>> ApplyNorm(const heal::OperatorInstance& instance, std::span<const float> x, int rows);
  absl::StatusOr<std::vector<float>> ApplyProduct(const heal::OperatorInstance& instance, std::span<const float> x, int rows);
  absl::StatusOr<std::vector<float>> ApplyRope(int layer, const heal::OperatorInput& input, int rows);
  absl::StatusOr<std::vector<float>> ApplySwiGlu(int layer, std::span<const float> x, int rows);
  absl::Status FillOneSlot(int layer, const heal::OperatorInput& input);
  absl::StatusOr<std::vector<float>> ApplyAttention(int layer, const heal::OperatorInput& input, int rows);

  // decode.cc: timing.
  absl::Status FillCaches();
  absl::Status TuneProducts(int rows);
  absl::Status TuneProduct(int rows, heal::TensorId matrix, const std::vector<int>& layers, void* y);
  absl::Status FollowOn(int batch);
  void AddBytes(int batch, int context, heal::DecodeTiming* timing) const;
  absl::Status CheckDecode(int batch, int context, int warmup, int steps) const;

  static constexpr int64_t kMostPieces = 4096;  // of attention beyond one for each row and key head
  static Program::Grid Spread(uint64_t count);
  const CudaApi& api() const { return *device_->api; }

  HealDevice* const device_;
  const heal::ModelShape shape_;
  const heal::Configuration configuration_;
  const heal::Capacity capacity_;
  const int bits_;
  std::unique_ptr<Products> products_;
  std::vector<Cache> caches_;
  std::vector<int> filled_;  // positions of each slot that hold something
  CudaBuffer token_, slot_, position_, next_, best_value_, best_place_;
  CudaBuffer residual_, operand_, product_, logits_, plain_, tapped_;
  CudaBuffer query_, query_scale_, partial_, weight_, turn_, widened_;
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_CUDA_HEAL_CUDA_ENGINE_H_
