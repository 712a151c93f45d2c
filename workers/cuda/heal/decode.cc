#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "workers/cuda/heal/cuda_engine.h"
#include "workers/cuda/return_if.h"

namespace samebits::workers {

using heal::AttentionMode;
using heal::GemmInput;
using heal::TensorId;

absl::Status CudaEngine::CheckDecode(int batch, int context, int warmup, int steps) const {
  if (batch < 1 || batch > capacity_.slots || batch > capacity_.rows) {
    return absl::InvalidArgumentError(absl::StrCat("a batch of ", batch, " needs as many slots and rows"));
  }
  if (context < 1 || warmup < 0 || steps < 1 || context + warmup + steps > capacity_.context) {
    return absl::InvalidArgumentError(absl::StrCat("context ", context, " with ", warmup, " + ", steps,
                                                   " steps does not fit in ", capacity_.context, " positions"));
  }
  return absl::OkStatus();
}

absl::Status CudaEngine::FillCaches() {
  const uint64_t positions = uint64_t(capacity_.slots) * shape_.kv_heads * capacity_.context;
  const uint64_t count = positions * shape_.head_dim;
  for (int layer = 0; layer < shape_.layers; ++layer) {
    const absl::StatusOr<Program*> program = ProgramOf(layer);
    SAMEBITS_RETURN_IF(program.status());
    const Cache& cache = caches_[layer];
    SAMEBITS_RETURN_IF((*program)->Launch("FillCache", Spread(count), device_->stream, cache.key.as<void>(), count,
                                          cache.key_scale.as<float>(), positions));
    SAMEBITS_RETURN_IF((*program)->Launch("FillCache", Spread(count), device_->stream, cache.value.as<void>(), count,
                                          cache.value_scale.as<float>(), positions));
  }
  return absl::OkStatus();
}

// Picks the fastest algorithm of every product for these rows, each timed over up to eight layers' matrices.
absl::Status CudaEngine::TuneProducts(int rows) {
  constexpr int kLayersTimed = 8;
  for (const GemmInput gemm : {GemmInput::kBf16, GemmInput::kF16, GemmInput::kF16Compensated}) {
    for (const TensorId matrix : {TensorId::kQkv, TensorId::kOutput, TensorId::kGateUp, TensorId::kDown}) {
      std::vector<int> layers;
      for (int layer = 0; layer < shape_.layers && layers.size() < kLayersTimed; ++layer) {
        if (GemmOf(layer, matrix) == gemm) layers.push_back(layer);
      }
      if (layers.empty()) continue;
      SAMEBITS_RETURN_IF(TuneProduct(rows, matrix, layers, HasBias(matrix) ? plain_.as<void>() : product_.as<void>()));
    }
  }
  if (configuration_.gemm == GemmInput::kTf32 || configuration_.gemm == GemmInput::kF32) return absl::OkStatus();
  SAMEBITS_RETURN_IF(logits_.Grow(BufferRows() * shape_.vocabulary * 4));
  return TuneProduct(rows, TensorId::kHead, {shape_.layers}, logits_.as<void>());
}

absl::Status CudaEngine::TuneProduct(int rows, TensorId matrix, const std::vector<int>& layers, void* y) {
  std::vector<const void*> weights;
  float factor = 1;
  for (const int layer : layers) {
    if (configuration_.gemm == GemmInput::kBf16) {
      weights.push_back(device_->weights->Bf16(layer, matrix));
    } else {
      const Weights::Half half = device_->weights->F16(layer, matrix);
      weights.push_back(half.data);
      factor = half.undo;
    }
  }
  return products_->Tune(ProductOf(rows, layers[0], matrix), BufferRows(), weights, operand_.data(), y, factor, device_->stream);
}

absl::StatusOr<heal::DecodeTiming> CudaEngine::TimeDecode(int batch, int context, int warmup, int steps) {
  SAMEBITS_RETURN_IF(api().Cuda(api().cudaSetDevice(device_->ordinal), "cudaSetDevice"));
  SAMEBITS_RETURN_IF(CheckDecode(batch, context, warmup, steps));
  std::vector<int32_t> tokens(batch), slots(batch), positions(batch, context);
  for (int i = 0; i < batch; ++i) slots[i] = i, tokens[i] = (i * 7919 + 1) % shape_.vocabulary;
  SAMEBITS_RETURN_IF(UploadRows({slots, positions, tokens}));
  SAMEBITS_RETURN_IF(FillCaches());
  std::fill(filled_.begin(), filled_.end(), 0);
  SAMEBITS_RETURN_IF(TuneProducts(batch));
  const int longest = context + warmup + steps;
  SAMEBITS_RETURN_IF(Pass(batch, longest, false, true, nullptr));  // whatever is made at first use is made
  SAMEBITS_RETURN_IF(device_->Synchronize("decode step"));

  cudaStream_t stream = device_->stream;
  SAMEBITS_RETURN_IF(api().Cuda(api().cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture"));
  absl::Status status = Pass(batch, longest, false, true, nullptr);
  if (status.ok()) status = FollowOn(batch);
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = api().cudaStreamEndCapture(stream, &graph);
  const auto drop_graph = absl::MakeCleanup([&] {
    if (graph != nullptr) api().cudaGraphDestroy(graph);
  });
  SAMEBITS_RETURN_IF(status);
  SAMEBITS_RETURN_IF(api().Cuda(ended, "capture"));
  cudaGraphExec_t executable = nullptr;
  SAMEBITS_RETURN_IF(api().Cuda(api().cudaGraphInstantiate(&executable, graph, 0), "graph"));
  const auto drop_executable = absl::MakeCleanup([&] { api().cudaGraphExecDestroy(executable); });

  std::vector<cudaEvent_t> events(steps + 1, nullptr);
  const auto drop_events = absl::MakeCleanup([&] {
    for (cudaEvent_t event : events) {
      if (event != nullptr) api().cudaEventDestroy(event);
    }
  });
  for (cudaEvent_t& event : events) {
    SAMEBITS_RETURN_IF(api().Cuda(api().cudaEventCreateWithFlags(&event, cudaEventDefault), "event"));
  }
  for (int step = 0; step < warmup; ++step) {
    SAMEBITS_RETURN_IF(api().Cuda(api().cudaGraphLaunch(executable, stream), "decode step"));
  }
  SAMEBITS_RETURN_IF(api().Cuda(api().cudaEventRecord(events[0], stream), "event"));
  for (int step = 0; step < steps; ++step) {
    SAMEBITS_RETURN_IF(api().Cuda(api().cudaGraphLaunch(executable, stream), "decode step"));
    SAMEBITS_RETURN_IF(api().Cuda(api().cudaEventRecord(events[step + 1], stream), "event"));
  }
  SAMEBITS_RETURN_IF(device_->Synchronize("decode steps"));
  heal::DecodeTiming timing;
  for (int step = 0; step < steps; ++step) {
    float milliseconds = 0;
    SAMEBITS_RETURN_IF(api().Cuda(api().cudaEventElapsedTime(&milliseconds, events[step], events[step + 1]), "timing"));
    timing.milliseconds.push_back(milliseconds);
  }
  AddBytes(batch, context, &timing);
  return timing;
}

// The tokens chosen are the next step's.
absl::Status CudaEngine::FollowOn(int batch) {
  SAMEBITS_RETURN_IF(api().Cuda(
      api().cudaMemcpyAsync(token_.data(), next_.data(), 4 * batch, cudaMemcpyDeviceToDevice, device_->stream), "tokens"));
  const absl::StatusOr<Program*> program = ProgramOf(0);
  SAMEBITS_RETURN_IF(program.status());
  return (*program)->Launch("Advance", {.x = static_cast<unsigned>((batch + 127) / 128), .threads = 128}, device_->stream,
                            position_.as<int>(), batch);
}

void CudaEngine::AddBytes(int batch, int context, heal::DecodeTiming* timing) const {
  const int64_t heads = int64_t{batch} * context * shape_.kv_heads;
  for (int layer = 0; layer < shape_.layers; ++layer) {
    timing->kv_bytes += 2 * heads * shape_.head_dim * KeptBytes(layer);
    if (configuration_.AttentionOf(layer) == AttentionMode::kInt16) timing->kv_bytes += 2 * heads * 4;
    timing->memory_bytes += caches_[layer].key.capacity() + caches_[layer].value.capacity() +
                            caches_[layer].key_scale.capacity() + caches_[layer].value_scale.capacity();
    for (const TensorId id : {TensorId::kQkv, TensorId::kOutput, TensorId::kGateUp, TensorId::kDown}) {
      timing->weight_bytes += 2 * RowsOf(shape_, id) * ColumnsOf(shape_, id);
    }
  }
  timing->weight_bytes += 2 * RowsOf(shape_, TensorId::kHead) * ColumnsOf(shape_, TensorId::kHead);
  timing->memory_bytes += timing->weight_bytes + products_->workspace_bytes();
  if (!shape_.tied) timing->memory_bytes += 2 * RowsOf(shape_, TensorId::kEmbedding) * ColumnsOf(shape_, TensorId::kEmbedding);
  for (const CudaBuffer* buffer : {&residual_, &operand_, &product_, &logits_, &plain_, &query_, &query_scale_, &partial_,
                                   &weight_, &turn_, &widened_}) {
    timing->memory_bytes += buffer->capacity();
  }
}

}  // namespace samebits::workers
