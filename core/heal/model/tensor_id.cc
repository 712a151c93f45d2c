#include "core/heal/model/checkpoint.h"

namespace samebits::heal {

int64_t RowsOf(const ModelShape& shape, TensorId id) {
  switch (id) {
    case TensorId::kInputNorm:
    case TensorId::kMlpNorm:
    case TensorId::kFinalNorm:
    case TensorId::kOutput:
    case TensorId::kDown:
      return shape.hidden;
    case TensorId::kQkv:
    case TensorId::kQkvBias:
      return shape.qkv_width();
    case TensorId::kQueryNorm:
    case TensorId::kKeyNorm:
      return shape.head_dim;
    case TensorId::kGateUp:
      return int64_t{2} * shape.intermediate;
    case TensorId::kEmbedding:
    case TensorId::kHead:
      return shape.vocabulary;
  }
  return 0;
}

int64_t ColumnsOf(const ModelShape& shape, TensorId id) {
  switch (id) {
    case TensorId::kQkv:
    case TensorId::kGateUp:
    case TensorId::kEmbedding:
    case TensorId::kHead:
      return shape.hidden;
    case TensorId::kOutput:
      return shape.query_width();
    case TensorId::kDown:
      return shape.intermediate;
    case TensorId::kInputNorm:
    case TensorId::kMlpNorm:
    case TensorId::kFinalNorm:
    case TensorId::kQkvBias:
    case TensorId::kQueryNorm:
    case TensorId::kKeyNorm:
      return 1;
  }
  return 0;
}

bool Has(const ModelShape& shape, TensorId id) {
  if (id == TensorId::kQkvBias) return shape.qkv_bias;
  if (id == TensorId::kQueryNorm || id == TensorId::kKeyNorm) return shape.qk_norm;
  return true;
}

bool IsNorm(TensorId id) {
  return id == TensorId::kInputNorm || id == TensorId::kMlpNorm || id == TensorId::kFinalNorm ||
         id == TensorId::kQueryNorm || id == TensorId::kKeyNorm;
}

bool IsOfLayer(TensorId id) {
  return id != TensorId::kEmbedding && id != TensorId::kFinalNorm && id != TensorId::kHead;
}

}  // namespace samebits::heal
