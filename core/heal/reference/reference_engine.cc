#include "core/heal/reference/reference_engine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/heal/numerics/rounding.h"

namespace samebits::heal {
namespace {

absl::Status Bad(size_t row, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("row ", row, ": ", what));
}

}  // namespace

ReferenceEngine::ReferenceEngine(std::shared_ptr<const ReferenceModel> model, const Configuration& configuration,
                                 const Capacity& capacity, int threads)
    : capacity_(capacity),
      operators_(std::move(model), configuration, threads),
      cache_(static_cast<size_t>(shape().layers) * capacity.slots),
      length_(static_cast<size_t>(capacity.slots)) {}

int64_t ReferenceEngine::CacheBytesPerToken(const ModelShape& shape) {
  return int64_t{shape.layers} * 2 * (shape.kv_width() + shape.kv_heads) * static_cast<int64_t>(sizeof(float));
}

absl::Status ReferenceEngine::Check(const Rows& rows) const {
  const size_t count = rows.token.size();
  if (rows.slot.size() != count || rows.position.size() != count) {
    return absl::InvalidArgumentError("slots, positions and tokens must be equally many");
  }
  if (count > static_cast<size_t>(capacity_.rows)) {
    return absl::InvalidArgumentError(absl::StrCat(count, " rows exceed the engine's capacity of ", capacity_.rows));
  }
  std::vector<int32_t> next(length_.size(), -1);  // position that must follow within this call
  for (size_t i = 0; i < count; ++i) {
    const int32_t slot = rows.slot[i], position = rows.position[i], token = rows.token[i];
    if (slot < 0 || slot >= capacity_.slots) return Bad(i, absl::StrCat("slot ", slot, " of ", capacity_.slots));
    if (token < 0 || token >= shape().vocabulary) {
      return Bad(i, absl::StrCat("token ", token, " is beyond the vocabulary of ", shape().vocabulary));
    }
    if (position < 0 || position >= capacity_.context) {
      return Bad(i, absl::StrCat("position ", position, " is beyond the context of ", capacity_.context));
    }
    if (next[slot] >= 0 ? position != next[slot] : position > length_[slot]) {
      return Bad(i, absl::StrCat("position ", position, " does not follow in slot ", slot, "; next is ",
                                 next[slot] >= 0 ? next[slot] : length_[slot]));
    }
    next[slot] = position + 1;
  }
  return absl::OkStatus();
}

// The first row of a slot says what of it stays.
void ReferenceEngine::Admit(const Rows& rows) {
  std::vector<bool> seen(length_.size());
  for (size_t i = 0; i < rows.token.size(); ++i) {
    const int32_t slot = rows.slot[i];
    for (int layer = 0; !seen[slot] && layer < shape().layers; ++layer)
      Cache(layer, slot).Cut(shape(), rows.position[i]);
    seen[slot] = true;
    length_[slot] = rows.position[i] + 1;
  }
}

ReferenceEngine::Residual ReferenceEngine::Embed(const Rows& rows) {
  const std::span<const uint16_t> matrix = operators_.model().checkpoint->Tensor(0, TensorId::kEmbedding);
  const size_t width = static_cast<size_t>(shape().hidden);
  Residual residual;
  for (const int32_t token : rows.token) {
    for (const uint16_t bits : matrix.subspan(static_cast<size_t>(token) * width, width)) {
      residual.rounded.push_back(FromBf16(bits));
    }
  }
  operators_.Round(residual.rounded);
  residual.sum = residual.rounded;
  return residual;
}

void ReferenceEngine::Add(std::span<const float> output, Residual* residual) {
  for (size_t i = 0; i < output.size(); ++i) residual->sum[i] = residual->rounded[i] + output[i];
  residual->rounded = residual->sum;
  operators_.Round(residual->rounded);
}

std::vector<float> ReferenceEngine::NormOf(int layer, TensorId id, const Residual& residual) {
  return operators_.Norm(layer, id, shape().norm_of_unrounded ? residual.sum : residual.rounded);
}

void ReferenceEngine::Store(int layer, const Rows& rows, std::span<const float> qkv, HeldHeads* query) {
  const AttentionMode mode = configuration().AttentionOf(layer);
  const size_t q = static_cast<size_t>(shape().query_width()), kv = static_cast<size_t>(shape().kv_width());
  for (size_t i = 0; i < rows.slot.size(); ++i) {
    const std::span<const float> row = qkv.subspan(i * (q + 2 * kv), q + 2 * kv);
    KvRows& cache = Cache(layer, rows.slot[i]);
    Append(mode, row.first(q), shape().head_dim, query);
    Append(mode, row.subspan(q, kv), shape().head_dim, &cache.key);
    Append(mode, row.subspan(q + kv), shape().head_dim, &cache.value);
  }
}

void ReferenceEngine::TapHeld(int layer, const Pass& pass, const HeldHeads& query) const {
  const size_t rows = pass.rows.slot.size(), q = static_cast<size_t>(shape().query_width()),
               kv = static_cast<size_t>(shape().kv_width());
  std::vector<float> queries(rows * q), keys(rows * kv), values(rows * kv);
  for (size_t i = 0; i < rows; ++i) {
    const KvRows& cache = Cache(layer, pass.rows.slot[i]);
    const int32_t position = pass.rows.position[i];
    Widen(query, static_cast<int64_t>(i), shape().head_dim, std::span(queries).subspan(i * q, q));
    Widen(cache.key, position, shape().head_dim, std::span(keys).subspan(i * kv, kv));
    Widen(cache.value, position, shape().head_dim, std::span(values).subspan(i * kv, kv));
  }
  pass.tap(TapPoint::kQuery, layer, queries);
  pass.tap(TapPoint::kKey, layer, keys);
  pass.tap(TapPoint::kValue, layer, values);
}

void ReferenceEngine::AttentionBlock(int layer, Pass* pass) {
  const auto tap = [&](TapPoint point, std::span<const float> values) {
    if (pass->tap) pass->tap(point, layer, values);
  };
  tap(TapPoint::kInput, pass->residual.rounded);
  const std::vector<float> normalised = NormOf(layer, TensorId::kInputNorm, pass->residual);
  tap(TapPoint::kAttentionNorm, normalised);
  std::vector<float> qkv = operators_.Product(layer, TensorId::kQkv, normalised);
  tap(TapPoint::kQkv, qkv);
  operators_.NormAndRotateRows(layer, pass->rows.position, qkv);
  HeldHeads query;
  Store(layer, pass->rows, qkv, &query);
  if (pass->tap) TapHeld(layer, *pass, query);
  std::vector<RowOperators::Reach> reach;
  for (size_t i = 0; i < pass->rows.slot.size(); ++i) {
    reach.push_back({&Cache(layer, pass->rows.slot[i]), pass->rows.position[i]});
  }
  const std::vector<float> attention = operators_.Attention(configuration().AttentionOf(layer), query, reach);
  tap(TapPoint::kAttention, attention);
  Add(operators_.Product(layer, TensorId::kOutput, attention), &pass->residual);
  tap(TapPoint::kPostAttention, pass->residual.rounded);
}

void ReferenceEngine::MlpBlock(int layer, Pass* pass) {
  const auto tap = [&](TapPoint point, std::span<const float> values) {
    if (pass->tap) pass->tap(point, layer, values);
  };
  const std::vector<float> normalised = NormOf(layer, TensorId::kMlpNorm, pass->residual);
  tap(TapPoint::kMlpNorm, normalised);
  const std::vector<float> gate_up = operators_.Product(layer, TensorId::kGateUp, normalised);
  tap(TapPoint::kGateUp, gate_up);
  const std::vector<float> activation = operators_.Activation(gate_up);
  tap(TapPoint::kActivation, activation);
  Add(operators_.Product(layer, TensorId::kDown, activation), &pass->residual);
  tap(TapPoint::kOutput, pass->residual.rounded);
}

absl::Status ReferenceEngine::Forward(const Rows& rows, const Wanted& wanted, ForwardResult* result) {
  if (const absl::Status status = Check(rows); !status.ok()) return status;
  *result = {};
  if (rows.token.empty()) return absl::OkStatus();
  Admit(rows);
  Pass pass = {rows, wanted.tap, Embed(rows)};
  for (int layer = 0; layer < shape().layers; ++layer) {
    AttentionBlock(layer, &pass);
    MlpBlock(layer, &pass);
  }
  std::vector<float> hidden = NormOf(0, TensorId::kFinalNorm, pass.residual);
  for (size_t i = 0; i < hidden.size(); ++i) {
    if (std::isfinite(hidden[i])) continue;
    return absl::DataLossError(absl::StrCat("row ", i / static_cast<size_t>(shape().hidden),
                                            ": a hidden state is not finite under ", configuration().name));
  }
  if (wanted.next_token) result->next_token = operators_.LargestLogit(hidden);
  if (wanted.hidden) result->hidden = std::move(hidden);
  return absl::OkStatus();
}

}  // namespace samebits::heal
