#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "workers/cuda/heal/cuda_engine.h"
#include "workers/cuda/return_if.h"

namespace samebits::workers {

using heal::OperatorFamily;
using heal::OperatorInput;
using heal::OperatorInstance;
using heal::TapPoint;
using heal::TensorId;

namespace {

TensorId MatrixReading(TapPoint point) {
  switch (point) {
    case TapPoint::kAttentionNorm:
      return TensorId::kQkv;
    case TapPoint::kAttention:
      return TensorId::kOutput;
    case TapPoint::kMlpNorm:
      return TensorId::kGateUp;
    default:
      return TensorId::kDown;
  }
}

}  // namespace

absl::StatusOr<std::vector<float>> CudaEngine::ApplyNorm(const OperatorInstance& instance, std::span<const float> x,
                                                         int rows) {
  const absl::StatusOr<Program*> program = ProgramOf(instance.layer);
  SAMEBITS_RETURN_IF(program.status());
  SAMEBITS_RETURN_IF(ToDevice(x.data(), x.size_bytes(), plain_.data()));
  SAMEBITS_RETURN_IF((*program)->Launch("FromPlain", Spread(x.size()), device_->stream,
                                        static_cast<const float*>(plain_.as<float>()), residual_.as<void>(),
                                        uint64_t{x.size()}, 1, bits_));
  SAMEBITS_RETURN_IF(AddNorm(rows, 0, instance.layer,
                             instance.reads == TapPoint::kInput ? TensorId::kInputNorm : TensorId::kMlpNorm, 1,
                             plain_.as<float>()));
  std::vector<float> out(x.size());
  SAMEBITS_RETURN_IF(ToHost(plain_.data(), 4 * out.size(), out.data()));
  return out;
}

absl::StatusOr<std::vector<float>> CudaEngine::ApplyProduct(const OperatorInstance& instance, std::span<const float> x,
                                                            int rows) {
  const absl::StatusOr<Program*> program = ProgramOf(instance.layer);
  SAMEBITS_RETURN_IF(program.status());
  const TensorId matrix = MatrixReading(instance.reads);
  const int parts = matrix == TensorId::kOutput ? OutputPartsOf(instance.layer) : PartsOf(instance.layer);
  SAMEBITS_RETURN_IF(ToDevice(x.data(), x.size_bytes(), plain_.data()));
  SAMEBITS_RETURN_IF((*program)->Launch("ToOperand", Spread(x.size()), device_->stream,
                                        static_cast<const float*>(plain_.as<float>()), operand_.as<void>(),
                                        uint64_t{x.size()}, parts, bits_));
  SAMEBITS_RETURN_IF(Multiply(rows, instance.layer, matrix));
  std::vector<float> out(int64_t{rows} * RowsOf(shape_, matrix));
  SAMEBITS_RETURN_IF((*program)->Launch("ProductToPlain", Spread(out.size()), device_->stream,
                                        static_cast<const void*>(product_.as<void>()), plain_.as<float>(),
                                        uint64_t{out.size()}, parts, bits_));
  SAMEBITS_RETURN_IF(ToHost(plain_.data(), 4 * out.size(), out.data()));
  return out;
}

absl::StatusOr<std::vector<float>> CudaEngine::ApplyRope(int layer, const OperatorInput& input, int rows) {
  const absl::StatusOr<Program*> program = ProgramOf(layer);
  SAMEBITS_RETURN_IF(program.status());
  if (input.position.size() != static_cast<size_t>(rows)) return absl::InvalidArgumentError("each row needs a position");
  const std::vector<int32_t> slots(rows, 0);
  for (const int32_t position : input.position) {
    if (position < 0 || position >= capacity_.context) {
      return absl::InvalidArgumentError(absl::StrCat("position ", position, " is beyond the context"));
    }
  }
  SAMEBITS_RETURN_IF(ToDevice(slots.data(), 4 * slots.size(), slot_.data()));
  SAMEBITS_RETURN_IF(ToDevice(input.position.data(), input.position.size_bytes(), position_.data()));
  SAMEBITS_RETURN_IF(ToDevice(input.x.data(), input.x.size_bytes(), plain_.data()));
  SAMEBITS_RETURN_IF((*program)->Launch("FromPlain", Spread(input.x.size()), device_->stream,
                                        static_cast<const float*>(plain_.as<float>()), product_.as<void>(),
                                        uint64_t{input.x.size()}, PartsOf(layer), bits_));
  SAMEBITS_RETURN_IF(Rope(rows, layer, true, plain_.as<float>()));
  filled_[0] = 0;
  std::vector<float> out(input.x.size());
  SAMEBITS_RETURN_IF(ToHost(plain_.data(), 4 * out.size(), out.data()));
  return out;
}

absl::StatusOr<std::vector<float>> CudaEngine::ApplySwiGlu(int layer, std::span<const float> x, int rows) {
  const absl::StatusOr<Program*> program = ProgramOf(layer);
  SAMEBITS_RETURN_IF(program.status());
  SAMEBITS_RETURN_IF(ToDevice(x.data(), x.size_bytes(), plain_.data()));
  SAMEBITS_RETURN_IF((*program)->Launch("FromPlain", Spread(x.size()), device_->stream,
                                        static_cast<const float*>(plain_.as<float>()), product_.as<void>(),
                                        uint64_t{x.size()}, PartsOf(layer), bits_));
  SAMEBITS_RETURN_IF(SwiGlu(rows, layer));
  std::vector<float> out(int64_t{rows} * shape_.intermediate);
  SAMEBITS_RETURN_IF((*program)->Launch("OperandToPlain", Spread(out.size()), device_->stream,
                                        static_cast<const void*>(operand_.as<void>()), plain_.as<float>(),
                                        uint64_t{out.size()}, PartsOf(layer)));
  SAMEBITS_RETURN_IF(ToHost(plain_.data(), 4 * out.size(), out.data()));
  return out;
}

// Keys and values of all positions into slot 0, in runs of the rows there is memory for. Q is left as it is.
absl::Status CudaEngine::FillOneSlot(int layer, const OperatorInput& input) {
  const absl::StatusOr<Program*> program = ProgramOf(layer);
  SAMEBITS_RETURN_IF(program.status());
  const int64_t width = shape_.qkv_width(), kv = shape_.kv_width(), positions = input.key.size() / kv;
  for (int64_t first = 0; first < positions; first += capacity_.rows) {
    const int rows = static_cast<int>(std::min<int64_t>(capacity_.rows, positions - first));
    std::vector<float> joined(rows * width, 0.f);
    std::vector<int32_t> slots(rows, 0), numbers(rows);
    std::iota(numbers.begin(), numbers.end(), static_cast<int32_t>(first));
    for (int row = 0; row < rows; ++row) {
      float* to = joined.data() + row * width + shape_.query_width();
      std::copy_n(input.key.data() + (first + row) * kv, kv, to);
      std::copy_n(input.value.data() + (first + row) * kv, kv, to + kv);
    }
    SAMEBITS_RETURN_IF(ToDevice(slots.data(), 4 * slots.size(), slot_.data()));
    SAMEBITS_RETURN_IF(ToDevice(numbers.data(), 4 * numbers.size(), position_.data()));
    SAMEBITS_RETURN_IF(ToDevice(joined.data(), 4 * joined.size(), plain_.data()));
    SAMEBITS_RETURN_IF((*program)->Launch("FromPlain", Spread(joined.size()), device_->stream,
                                          static_cast<const float*>(plain_.as<float>()), product_.as<void>(),
                                          uint64_t{joined.size()}, PartsOf(layer), bits_));
    SAMEBITS_RETURN_IF(Rope(rows, layer, false));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> CudaEngine::ApplyAttention(int layer, const OperatorInput& input, int rows) {
  const absl::StatusOr<Program*> program = ProgramOf(layer);
  SAMEBITS_RETURN_IF(program.status());
  const int64_t kv = shape_.kv_width(), positions = input.key.size() / kv, width = shape_.qkv_width();
  if (input.position.size() != static_cast<size_t>(rows) || input.key.size() != input.value.size() ||
      static_cast<int64_t>(input.key.size()) != positions * kv || positions > capacity_.context) {
    return absl::InvalidArgumentError("attention: keys and values of all positions, and a position for each row, are needed");
  }
  for (const int32_t position : input.position) {
    if (position < 0 || position >= positions) {
      return absl::InvalidArgumentError(absl::StrCat("attention: position ", position, " has no key"));
    }
  }
  filled_[0] = 0;
  SAMEBITS_RETURN_IF(FillOneSlot(layer, input));
  std::vector<float> joined(rows * width);
  for (int row = 0; row < rows; ++row) {
    float* to = joined.data() + row * width;
    std::copy_n(input.x.data() + int64_t{row} * shape_.query_width(), shape_.query_width(), to);
    std::copy_n(input.key.data() + input.position[row] * kv, kv, to + shape_.query_width());
    std::copy_n(input.value.data() + input.position[row] * kv, kv, to + shape_.query_width() + kv);
  }
  const std::vector<int32_t> slots(rows, 0);
  SAMEBITS_RETURN_IF(ToDevice(slots.data(), 4 * slots.size(), slot_.data()));
  SAMEBITS_RETURN_IF(ToDevice(input.position.data(), input.position.size_bytes(), position_.data()));
  SAMEBITS_RETURN_IF(ToDevice(joined.data(), 4 * joined.size(), plain_.data()));
  SAMEBITS_RETURN_IF((*program)->Launch("FromPlain", Spread(joined.size()), device_->stream,
                                        static_cast<const float*>(plain_.as<float>()), product_.as<void>(),
                                        uint64_t{joined.size()}, PartsOf(layer), bits_));
  SAMEBITS_RETURN_IF(Rope(rows, layer, false));
  const int parts = OutputPartsOf(layer);
  SAMEBITS_RETURN_IF(Attend(rows, layer, static_cast<int>(positions), parts));
  std::vector<float> out(int64_t{rows} * shape_.query_width());
  SAMEBITS_RETURN_IF((*program)->Launch("OperandToPlain", Spread(out.size()), device_->stream,
                                        static_cast<const void*>(operand_.as<void>()), plain_.as<float>(),
                                        uint64_t{out.size()}, parts));
  SAMEBITS_RETURN_IF(ToHost(plain_.data(), 4 * out.size(), out.data()));
  return out;
}

absl::StatusOr<std::vector<float>> CudaEngine::Apply(const OperatorInstance& instance, const OperatorInput& input) {
  SAMEBITS_RETURN_IF(api().Cuda(api().cudaSetDevice(device_->ordinal), "cudaSetDevice"));
  const size_t width = WidthOf(shape_, instance.reads);
  const int rows = static_cast<int>(input.x.size() / width);
  if (instance.layer < 0 || instance.layer >= shape_.layers) {
    return absl::InvalidArgumentError(absl::StrCat("there is no layer ", instance.layer));
  }
  if (rows < 1 || rows > capacity_.rows || input.x.size() != rows * width) {
    return absl::InvalidArgumentError(absl::StrCat(input.x.size(), " values are no rows of ", width, ", or more than ", capacity_.rows));
  }
  switch (instance.family) {
    case OperatorFamily::kRmsNorm:
      return ApplyNorm(instance, input.x, rows);
    case OperatorFamily::kGemm:
      return ApplyProduct(instance, input.x, rows);
    case OperatorFamily::kRope:
      return ApplyRope(instance.layer, input, rows);
    case OperatorFamily::kSwiGlu:
      return ApplySwiGlu(instance.layer, input.x, rows);
    case OperatorFamily::kAttention:
      return ApplyAttention(instance.layer, input, rows);
  }
  return absl::InvalidArgumentError("no such operator");
}

}  // namespace samebits::workers
