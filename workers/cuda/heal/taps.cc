#include "workers/cuda/heal/cuda_engine.h"
#include "workers/cuda/return_if.h"

namespace samebits::workers {

using heal::TapPoint;

absl::Status CudaEngine::ToHost(const void* from, int64_t bytes, void* to) {
  SAMEBITS_RETURN_IF(
      api().Cuda(api().cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, device_->stream), "download"));
  return device_->Synchronize("download");
}

absl::Status CudaEngine::ToDevice(const void* from, int64_t bytes, void* to) {
  SAMEBITS_RETURN_IF(
      api().Cuda(api().cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, device_->stream), "upload"));
  return device_->Synchronize("upload");
}

absl::Status CudaEngine::Give(int rows, int layer, TapPoint point, const heal::Tap& tap) {
  std::vector<float> values(int64_t{rows} * WidthOf(shape_, point));
  SAMEBITS_RETURN_IF(ToHost(tapped_.data(), 4 * values.size(), values.data()));
  tap(point, layer, values);
  return absl::OkStatus();
}

absl::Status CudaEngine::TapResidual(int rows, int layer, TapPoint point, const heal::Tap& tap) {
  const absl::StatusOr<Program*> program = ProgramOf(layer);
  SAMEBITS_RETURN_IF(program.status());
  const uint64_t count = int64_t{rows} * WidthOf(shape_, point);
  SAMEBITS_RETURN_IF(tapped_.Grow(4 * count));
  SAMEBITS_RETURN_IF((*program)->Launch("ResidualToPlain", Spread(count), device_->stream,
                                        static_cast<const void*>(residual_.as<void>()), tapped_.as<float>(), count));
  return Give(rows, layer, point, tap);
}

absl::Status CudaEngine::TapOperand(int rows, int layer, TapPoint point, int parts, const heal::Tap& tap) {
  const absl::StatusOr<Program*> program = ProgramOf(layer);
  SAMEBITS_RETURN_IF(program.status());
  const uint64_t count = int64_t{rows} * WidthOf(shape_, point);
  SAMEBITS_RETURN_IF(tapped_.Grow(4 * count));
  SAMEBITS_RETURN_IF((*program)->Launch("OperandToPlain", Spread(count), device_->stream,
                                        static_cast<const void*>(operand_.as<void>()), tapped_.as<float>(), count, parts));
  return Give(rows, layer, point, tap);
}

absl::Status CudaEngine::TapProduct(int rows, int layer, TapPoint point, const heal::Tap& tap) {
  const absl::StatusOr<Program*> program = ProgramOf(layer);
  SAMEBITS_RETURN_IF(program.status());
  const uint64_t count = int64_t{rows} * WidthOf(shape_, point);
  SAMEBITS_RETURN_IF(tapped_.Grow(4 * count));
  SAMEBITS_RETURN_IF((*program)->Launch("ProductToPlain", Spread(count), device_->stream,
                                        static_cast<const void*>(product_.as<void>()), tapped_.as<float>(), count,
                                        PartsOf(layer), bits_));
  return Give(rows, layer, point, tap);
}

absl::Status CudaEngine::TapKept(int rows, int layer, TapPoint point, const heal::Tap& tap) {
  const absl::StatusOr<Program*> program = ProgramOf(layer);
  SAMEBITS_RETURN_IF(program.status());
  const uint64_t count = int64_t{rows} * WidthOf(shape_, point);
  SAMEBITS_RETURN_IF(tapped_.Grow(4 * count));
  const bool is_query = point == TapPoint::kQuery, is_key = point == TapPoint::kKey;
  const Cache& cache = caches_[layer];
  const CudaBuffer& from = is_query ? query_ : is_key ? cache.key : cache.value;
  const CudaBuffer& scale = is_query ? query_scale_ : is_key ? cache.key_scale : cache.value_scale;
  SAMEBITS_RETURN_IF((*program)->Launch(
      "KeptToPlain", Spread(count), device_->stream, static_cast<const void*>(from.as<void>()),
      static_cast<const float*>(scale.as<float>()), static_cast<const int*>(slot_.as<int>()),
      static_cast<const int*>(position_.as<int>()), tapped_.as<float>(), rows, is_query ? shape_.heads : shape_.kv_heads,
      capacity_.context, static_cast<int>(is_query)));
  return Give(rows, layer, point, tap);
}

}  // namespace samebits::workers
