#include "core/heal/engine/engine.h"

namespace samebits::heal {

int WidthOf(const ModelShape& shape, TapPoint point) {
  switch (point) {
    case TapPoint::kInput:
    case TapPoint::kAttentionNorm:
    case TapPoint::kPostAttention:
    case TapPoint::kMlpNorm:
    case TapPoint::kOutput:
      return shape.hidden;
    case TapPoint::kQkv:
      return shape.qkv_width();
    case TapPoint::kQuery:
    case TapPoint::kAttention:
      return shape.query_width();
    case TapPoint::kKey:
    case TapPoint::kValue:
      return shape.kv_width();
    case TapPoint::kGateUp:
      return 2 * shape.intermediate;
    case TapPoint::kActivation:
      return shape.intermediate;
  }
  return 0;
}

std::vector<OperatorInstance> OperatorsOf(const ModelShape& shape) {
  std::vector<OperatorInstance> operators;
  for (int layer = 0; layer < shape.layers; ++layer) {
    operators.push_back({OperatorFamily::kRmsNorm, layer, TapPoint::kInput});
    operators.push_back({OperatorFamily::kGemm, layer, TapPoint::kAttentionNorm});
    operators.push_back({OperatorFamily::kRope, layer, TapPoint::kQkv});
    operators.push_back({OperatorFamily::kAttention, layer, TapPoint::kQuery});
    operators.push_back({OperatorFamily::kGemm, layer, TapPoint::kAttention});
    operators.push_back({OperatorFamily::kRmsNorm, layer, TapPoint::kPostAttention});
    operators.push_back({OperatorFamily::kGemm, layer, TapPoint::kMlpNorm});
    operators.push_back({OperatorFamily::kSwiGlu, layer, TapPoint::kGateUp});
    operators.push_back({OperatorFamily::kGemm, layer, TapPoint::kActivation});
  }
  return operators;
}

const char* NameOf(OperatorFamily family) {
  switch (family) {
    case OperatorFamily::kRmsNorm:
      return "RMSNorm";
    case OperatorFamily::kRope:
      return "RoPE";
    case OperatorFamily::kGemm:
      return "GEMM";
    case OperatorFamily::kSwiGlu:
      return "SiLUAndMul";
    case OperatorFamily::kAttention:
      return "Attention";
  }
  return "";
}

}  // namespace samebits::heal
