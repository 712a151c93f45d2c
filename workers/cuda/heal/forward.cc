#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "workers/cuda/heal/cuda_engine.h"
#include "workers/cuda/return_if.h"

namespace samebits::workers {

using heal::AttentionMode;
using heal::Boundary;
using heal::GemmInput;
using heal::TapPoint;
using heal::TensorId;

namespace {

// As kernels/attention.cu has it.
struct AttentionProblem {
  const void* query;
  const float* query_scale;
  const void *key, *value;
  const float *key_scale, *value_scale;
  const int *slots, *positions;
  float* partial;
  void* weight;
  int heads, kv_heads, context, parts;
  float scale;
};

cudaDataType_t OperandType(GemmInput gemm) {
  if (gemm == GemmInput::kBf16) return CUDA_R_16BF;
  return gemm == GemmInput::kTf32 || gemm == GemmInput::kF32 ? CUDA_R_32F : CUDA_R_16F;
}
cudaDataType_t ResultType(Boundary boundary) {
  return boundary == Boundary::kBf16 ? CUDA_R_16BF : boundary == Boundary::kF16 ? CUDA_R_16F : CUDA_R_32F;
}

}  // namespace

absl::Status CudaEngine::CheckRows(const heal::Rows& rows) {
  const size_t count = rows.token.size();
  if (count == 0 || count > static_cast<size_t>(capacity_.rows) || rows.slot.size() != count ||
      rows.position.size() != count) {
    return absl::InvalidArgumentError(absl::StrCat(count, " rows; 1 to ", capacity_.rows, " are possible, each with slot and position"));
  }
  std::vector<int> filled = filled_;
  for (size_t i = 0; i < count; ++i) {
    const int slot = rows.slot[i], position = rows.position[i];
    if (slot < 0 || slot >= capacity_.slots) {
      return absl::InvalidArgumentError(absl::StrCat("row ", i, ": there is no slot ", slot));
    }
    if (position < 0 || position >= capacity_.context || position > filled[slot]) {
      return absl::InvalidArgumentError(absl::StrCat("row ", i, ": position ", position, " of slot ", slot, ", which holds ",
                                                     filled[slot], " of at most ", capacity_.context));
    }
    if (i > 0 && rows.slot[i - 1] == slot && position != rows.position[i - 1] + 1) {
      return absl::InvalidArgumentError(absl::StrCat("row ", i, ": position ", position, " does not follow ", rows.position[i - 1]));
    }
    if (rows.token[i] < 0 || rows.token[i] >= shape_.vocabulary) {
      return absl::InvalidArgumentError(absl::StrCat("row ", i, ": there is no token ", rows.token[i]));
    }
    filled[slot] = position + 1;
  }
  filled_ = std::move(filled);
  return absl::OkStatus();
}

absl::Status CudaEngine::UploadRows(const heal::Rows& rows) {
  SAMEBITS_RETURN_IF(ToDevice(rows.token.data(), rows.token.size_bytes(), token_.data()));
  SAMEBITS_RETURN_IF(ToDevice(rows.slot.data(), rows.slot.size_bytes(), slot_.data()));
  return ToDevice(rows.position.data(), rows.position.size_bytes(), position_.data());
}

absl::Status CudaEngine::Embed(int rows) {
  const absl::StatusOr<Program*> program = ProgramOf(0);
  SAMEBITS_RETURN_IF(program.status());
  return (*program)->Launch("Embed", {.x = static_cast<unsigned>(rows)}, device_->stream,
                            static_cast<const int*>(token_.as<int>()), device_->weights->Bf16(0, TensorId::kEmbedding),
                            residual_.as<void>(), shape_.hidden, bits_);
}

absl::Status CudaEngine::AddNorm(int rows, int parts, int layer, TensorId norm, int out_parts, float* plain) {
  const absl::StatusOr<Program*> program = ProgramOf(layer);
  SAMEBITS_RETURN_IF(program.status());
  const unsigned threads = std::min(1024u, (static_cast<unsigned>(shape_.hidden) / 4 + 31) / 32 * 32);
  return (*program)->Launch(
      "AddNorm", {.x = static_cast<unsigned>(rows), .threads = threads},
      device_->stream, residual_.as<void>(), static_cast<const void*>(parts == 0 ? nullptr : product_.as<void>()), parts,
      device_->weights->Bf16(layer, norm), operand_.as<void>(), out_parts, plain, shape_.hidden,
      static_cast<float>(shape_.norm_epsilon), static_cast<int>(shape_.norm_of_unrounded), bits_);
}

absl::Status CudaEngine::Multiply(int rows, int layer, TensorId matrix) {
  if (!HasBias(matrix)) return MultiplyInto(rows, layer, matrix, product_.as<void>());
  const bool is_16_bit = ResultType(configuration_.boundary) != CUDA_R_32F;
  void* sums = is_16_bit ? plain_.as<void>() : product_.as<void>();
  SAMEBITS_RETURN_IF(MultiplyInto(rows, layer, matrix, sums));
  const absl::StatusOr<Program*> program = ProgramOf(layer);
  SAMEBITS_RETURN_IF(program.status());
  return (*program)->Launch(
      "AddBias", {.x = static_cast<unsigned>((shape_.qkv_width() + 255) / 256), .y = static_cast<unsigned>(rows)},
      device_->stream, static_cast<const void*>(sums), PartsOf(layer),
      device_->weights->Bf16(layer, TensorId::kQkvBias), product_.as<void>(), shape_.qkv_width(), bits_);
}

ProductShape CudaEngine::ProductOf(int rows, int layer, TensorId matrix) const {
  const GemmInput gemm = GemmOf(layer, matrix);
  const int parts = gemm == GemmInput::kF16Compensated ? 2 : 1;
  return {.rows = int64_t{rows} * parts, .outputs = RowsOf(shape_, matrix), .inputs = ColumnsOf(shape_, matrix),
          .operand = OperandType(gemm),
          .result = HasBias(matrix) ? CUDA_R_32F : ResultType(configuration_.boundary),
          .tf32 = gemm == GemmInput::kTf32};
}

absl::Status CudaEngine::MultiplyInto(int rows, int layer, TensorId matrix, void* y) {
  const ProductShape product = ProductOf(rows, layer, matrix);
  const void* weights = device_->weights->Bf16(layer, matrix);
  float factor = 1;
  if (product.operand == CUDA_R_16F) {
    const Weights::Half half = device_->weights->F16(layer, matrix);
    weights = half.data;
    factor = half.undo;
  } else if (product.operand == CUDA_R_32F) {  // 16-bit weights widened at use
    const uint64_t count = product.outputs * product.inputs;
    SAMEBITS_RETURN_IF(widened_.Grow(static_cast<int64_t>(4 * count)));
    const absl::StatusOr<Program*> program = ProgramOf(layer);
    SAMEBITS_RETURN_IF(program.status());
    SAMEBITS_RETURN_IF((*program)->Launch("Widen", Spread(count), device_->stream, weights, widened_.as<float>(), count));
    weights = widened_.data();
  }
  return products_->Run(product, weights, operand_.data(), y, factor, device_->stream);
}

absl::Status CudaEngine::Rope(int rows, int layer, bool rotate, float* plain) {
  const absl::StatusOr<Program*> program = ProgramOf(layer);
  SAMEBITS_RETURN_IF(program.status());
  const Cache& cache = caches_[layer];
  constexpr unsigned kWarps = 4;
  const unsigned heads = shape_.heads + 2 * shape_.kv_heads;
  return (*program)->Launch(
      "RopeCache",
      {.x = (heads + kWarps - 1) / kWarps, .y = static_cast<unsigned>(rows), .threads = 32 * kWarps}, device_->stream,
      static_cast<const void*>(product_.as<void>()), PartsOf(layer), device_->weights->Bf16(layer, TensorId::kQueryNorm),
      device_->weights->Bf16(layer, TensorId::kKeyNorm), static_cast<const void*>(rotate ? turn_.as<void>() : nullptr),
      static_cast<const int*>(slot_.as<int>()), static_cast<const int*>(position_.as<int>()), query_.as<void>(),
      query_scale_.as<float>(), cache.key.as<void>(), cache.key_scale.as<float>(), cache.value.as<void>(),
      cache.value_scale.as<float>(), plain, shape_.heads, shape_.kv_heads, capacity_.context,
      static_cast<float>(shape_.norm_epsilon), bits_);
}

// Parts of the positions, so that the device has work in whole rounds; each part has at least 64 positions.
int CudaEngine::AttentionParts(int rows, int longest) const {
  const int64_t units = int64_t{rows} * shape_.kv_heads;
  const int64_t round = int64_t{3} * device_->multiprocessors;  // blocks at a time
  const int64_t most = std::clamp<int64_t>((longest + 63) / 64, 1, 64);
  int64_t best = 1;
  double best_cost = 1e300;
  for (int64_t parts = 1; parts <= most; ++parts) {
    if (parts > 1 && units * parts > kMostPieces) break;
    const int64_t rounds = (units * parts + round - 1) / round;
    const double tiles = std::ceil(std::ceil(longest / 16.0) / parts);
    const double cost = rounds * (tiles + 6);  // six: what a block costs beside its tiles
    if (cost < best_cost) best_cost = cost, best = parts;
  }
  return static_cast<int>(best);
}

absl::Status CudaEngine::Attend(int rows, int layer, int longest, int out_parts) {
  const absl::StatusOr<Program*> program = ProgramOf(layer);
  SAMEBITS_RETURN_IF(program.status());
  const Cache& cache = caches_[layer];
  const double log2e = 1.4426950408889634;
  const AttentionProblem problem{
      .query = query_.data(), .query_scale = query_scale_.as<float>(), .key = cache.key.data(), .value = cache.value.data(),
      .key_scale = cache.key_scale.as<float>(), .value_scale = cache.value_scale.as<float>(), .slots = slot_.as<int>(),
      .positions = position_.as<int>(), .partial = partial_.as<float>(), .weight = weight_.data(), .heads = shape_.heads,
      .kv_heads = shape_.kv_heads, .context = capacity_.context, .parts = AttentionParts(rows, longest),
      .scale = static_cast<float>(log2e / std::sqrt(double{1.0 * shape_.head_dim}))};
  const Program::Grid grid{.x = static_cast<unsigned>(shape_.kv_heads), .y = static_cast<unsigned>(rows),
                           .z = static_cast<unsigned>(problem.parts), .threads = 128};
  SAMEBITS_RETURN_IF((*program)->Launch("Attend", grid, device_->stream, problem));
  return (*program)->Launch("Merge",
                            {.x = static_cast<unsigned>(shape_.heads), .y = static_cast<unsigned>(rows),
                             .threads = static_cast<unsigned>(shape_.head_dim)},
                            device_->stream, static_cast<const float*>(partial_.as<float>()),
                            static_cast<const void*>(weight_.as<void>()), operand_.as<void>(), out_parts, shape_.heads,
                            problem.parts, bits_);
}

absl::Status CudaEngine::SwiGlu(int rows, int layer) {
  const absl::StatusOr<Program*> program = ProgramOf(layer);
  SAMEBITS_RETURN_IF(program.status());
  return (*program)->Launch(
      "SwiGlu", {.x = static_cast<unsigned>((shape_.intermediate / 4 + 127) / 128), .y = static_cast<unsigned>(rows), .threads = 128},
      device_->stream, static_cast<const void*>(product_.as<void>()), PartsOf(layer), operand_.as<void>(), PartsOf(layer),
      shape_.intermediate, bits_);
}

absl::Status CudaEngine::Layer(int rows, int layer, int longest, int incoming_parts, const heal::Tap& tap) {
  const int parts = PartsOf(layer);
  SAMEBITS_RETURN_IF(AddNorm(rows, incoming_parts, layer, TensorId::kInputNorm, parts));
  if (tap && layer > 0) SAMEBITS_RETURN_IF(TapResidual(rows, layer - 1, TapPoint::kOutput, tap));
  if (tap) SAMEBITS_RETURN_IF(TapResidual(rows, layer, TapPoint::kInput, tap));
  if (tap) SAMEBITS_RETURN_IF(TapOperand(rows, layer, TapPoint::kAttentionNorm, parts, tap));
  SAMEBITS_RETURN_IF(Multiply(rows, layer, TensorId::kQkv));
  if (tap) SAMEBITS_RETURN_IF(TapProduct(rows, layer, TapPoint::kQkv, tap));
  SAMEBITS_RETURN_IF(Rope(rows, layer, true));
  if (tap) {
    for (const TapPoint point : {TapPoint::kQuery, TapPoint::kKey, TapPoint::kValue}) {
      SAMEBITS_RETURN_IF(TapKept(rows, layer, point, tap));
    }
  }
  const int output_parts = OutputPartsOf(layer);
  SAMEBITS_RETURN_IF(Attend(rows, layer, longest, output_parts));
  if (tap) SAMEBITS_RETURN_IF(TapOperand(rows, layer, TapPoint::kAttention, output_parts, tap));
  SAMEBITS_RETURN_IF(Multiply(rows, layer, TensorId::kOutput));
  SAMEBITS_RETURN_IF(AddNorm(rows, output_parts, layer, TensorId::kMlpNorm, parts));
  if (tap) SAMEBITS_RETURN_IF(TapResidual(rows, layer, TapPoint::kPostAttention, tap));
  if (tap) SAMEBITS_RETURN_IF(TapOperand(rows, layer, TapPoint::kMlpNorm, parts, tap));
  SAMEBITS_RETURN_IF(Multiply(rows, layer, TensorId::kGateUp));
  if (tap) SAMEBITS_RETURN_IF(TapProduct(rows, layer, TapPoint::kGateUp, tap));
  SAMEBITS_RETURN_IF(SwiGlu(rows, layer));
  if (tap) SAMEBITS_RETURN_IF(TapOperand(rows, layer, TapPoint::kActivation, parts, tap));
  return Multiply(rows, layer, TensorId::kDown);
}

absl::Status CudaEngine::Finish(int rows, bool plain, bool next_token) {
  const int last = shape_.layers - 1;
  SAMEBITS_RETURN_IF(AddNorm(rows, PartsOf(last), last, TensorId::kFinalNorm, PartsOf(shape_.layers),
                             plain ? plain_.as<float>() : nullptr));
  if (!next_token) return absl::OkStatus();
  const int parts = PartsOf(shape_.layers);
  const int64_t bytes = configuration_.boundary == Boundary::kBf16 || configuration_.boundary == Boundary::kF16 ? 2 : 4;
  SAMEBITS_RETURN_IF(logits_.Grow(int64_t{rows} * parts * shape_.vocabulary * bytes));
  SAMEBITS_RETURN_IF(MultiplyInto(rows, shape_.layers, TensorId::kHead, logits_.as<void>()));
  const absl::StatusOr<Program*> program = ProgramOf(last);
  SAMEBITS_RETURN_IF(program.status());
  constexpr int kPieces = 32;
  SAMEBITS_RETURN_IF((*program)->Launch("PartMax", {.x = kPieces, .y = static_cast<unsigned>(rows)}, device_->stream,
                                        static_cast<const void*>(logits_.as<void>()), parts, shape_.vocabulary,
                                        best_value_.as<float>(), best_place_.as<int>(), bits_));
  return (*program)->Launch("ArgMax", {.x = static_cast<unsigned>(rows), .threads = 32}, device_->stream,
                            static_cast<const float*>(best_value_.as<float>()),
                            static_cast<const int*>(best_place_.as<int>()), kPieces, next_.as<int>());
}

absl::Status CudaEngine::Pass(int rows, int longest, bool plain, bool next_token, const heal::Tap& tap) {
  SAMEBITS_RETURN_IF(Embed(rows));
  int incoming = 0;
  for (int layer = 0; layer < shape_.layers; ++layer) {
    SAMEBITS_RETURN_IF(Layer(rows, layer, longest, incoming, tap));
    incoming = PartsOf(layer);
  }
  SAMEBITS_RETURN_IF(Finish(rows, plain, next_token));
  return tap ? TapResidual(rows, shape_.layers - 1, TapPoint::kOutput, tap) : absl::OkStatus();
}

absl::Status CudaEngine::Forward(const heal::Rows& rows, const heal::Wanted& wanted, heal::ForwardResult* result) {
  SAMEBITS_RETURN_IF(api().Cuda(api().cudaSetDevice(device_->ordinal), "cudaSetDevice"));
  SAMEBITS_RETURN_IF(CheckRows(rows));
  SAMEBITS_RETURN_IF(UploadRows(rows));
  const int count = static_cast<int>(rows.token.size());
  const int longest = *std::max_element(rows.position.begin(), rows.position.end()) + 1;
  SAMEBITS_RETURN_IF(Pass(count, longest, true, wanted.next_token, wanted.tap));
  result->hidden.resize(int64_t{count} * shape_.hidden);
  SAMEBITS_RETURN_IF(ToHost(plain_.data(), 4 * result->hidden.size(), result->hidden.data()));
  result->next_token.clear();
  if (wanted.next_token) {
    result->next_token.resize(count);
    SAMEBITS_RETURN_IF(ToHost(next_.data(), 4 * count, result->next_token.data()));
  }
  SAMEBITS_RETURN_IF(device_->Synchronize("forward pass"));
  for (size_t i = 0; i < result->hidden.size(); ++i) {
    if (!std::isfinite(result->hidden[i])) {
      return absl::DataLossError(absl::StrCat("row ", i / shape_.hidden, ": its hidden state is not finite"));
    }
  }
  if (!wanted.hidden) result->hidden.clear();
  return absl::OkStatus();
}

}  // namespace samebits::workers
