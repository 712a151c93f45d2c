#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "core/heal/reference/reference_engine.h"

namespace samebits::heal {
namespace {

int64_t WeightBytes(const ModelShape& shape, bool whole) {
  int64_t values = 0;
  for (int number = 0; number <= static_cast<int>(TensorId::kHead); ++number) {
    const TensorId id = static_cast<TensorId>(number);
    if (!Has(shape, id)) continue;
    // a step reads the head whole, and of an embedding that is not tied to it a row per sequence
    if (id == TensorId::kEmbedding && (shape.tied || !whole)) continue;
    values += RowsOf(shape, id) * ColumnsOf(shape, id) * (IsOfLayer(id) ? shape.layers : 1);
  }
  return values * static_cast<int64_t>(sizeof(uint16_t));
}

}  // namespace

// Values that differ from place to place, of the size of normalised heads.
void ReferenceEngine::FillCache(int batch, int positions) {
  std::vector<float> row(static_cast<size_t>(shape().kv_width()));
  for (int layer = 0; layer < shape().layers; ++layer) {
    for (int slot = 0; slot < batch; ++slot) {
      KvRows& cache = Cache(layer, slot);
      cache.Cut(shape(), 0);
      for (int position = 0; position < positions; ++position) {
        for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>((i * 7 + position * 5 + slot) % 17) / 8 - 1;
        Append(configuration().AttentionOf(layer), row, shape().head_dim, &cache.key);
        Append(configuration().AttentionOf(layer), row, shape().head_dim, &cache.value);
      }
    }
  }
  std::fill_n(length_.begin(), batch, positions);
}

absl::StatusOr<DecodeTiming> ReferenceEngine::TimeDecode(int batch, int context, int warmup, int steps) {
  if (batch < 1 || batch > capacity_.slots || batch > capacity_.rows || context < 1 || context > capacity_.context ||
      warmup < 0 || steps < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "batch ", batch, ", context ", context, ", warmup ", warmup, ", steps ", steps, " do not fit an engine of ",
        capacity_.slots, " slots, ", capacity_.rows, " rows and context ", capacity_.context));
  }
  FillCache(batch, context - 1);
  std::vector<int32_t> slot, position(static_cast<size_t>(batch), context - 1), token(static_cast<size_t>(batch));
  for (int i = 0; i < batch; ++i) slot.push_back(i), token[i] = i % shape().vocabulary;
  DecodeTiming timing;
  for (int step = 0; step < warmup + steps; ++step) {
    ForwardResult result;
    const auto begin = std::chrono::steady_clock::now();
    const absl::Status status = Forward({slot, position, token}, {.next_token = true}, &result);
    if (!status.ok()) return status;
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
    if (step >= warmup) timing.milliseconds.push_back(taken.count());
  }
  timing.kv_bytes = CacheBytesPerToken(shape()) * batch * context;
  timing.weight_bytes = WeightBytes(shape(), false);
  timing.memory_bytes = WeightBytes(shape(), true) + timing.kv_bytes;
  std::fill(length_.begin(), length_.end(), 0);
  for (KvRows& cache : cache_) cache.Cut(shape(), 0);
  return timing;
}

}  // namespace samebits::heal
