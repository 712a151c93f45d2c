#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/heal/reference/reference_engine.h"

namespace samebits::heal {
namespace {

absl::Status CheckInput(const ModelShape& shape, const OperatorInstance& instance, const OperatorInput& input) {
  const auto bad = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(NameOf(instance.family), ": ", what));
  };
  const auto known = OperatorsOf(shape);
  if (!std::any_of(known.begin(), known.end(), [&](const OperatorInstance& other) {
        return other.family == instance.family && other.layer == instance.layer && other.reads == instance.reads;
      })) {
    return bad(absl::StrCat("there is none in layer ", instance.layer, " that reads that point"));
  }
  const size_t width = static_cast<size_t>(WidthOf(shape, instance.reads)), kv = static_cast<size_t>(shape.kv_width());
  if (input.x.size() % width != 0) return bad(absl::StrCat("x must be rows of ", width, " values"));
  const bool attention = instance.family == OperatorFamily::kAttention;
  if (!attention && instance.family != OperatorFamily::kRope) return absl::OkStatus();
  if (input.position.size() != input.x.size() / width) return bad("a position is needed for each row");
  if (attention && (input.key.size() % kv != 0 || input.key.size() != input.value.size())) {
    return bad(absl::StrCat("key and value must be equally many rows of ", kv, " values"));
  }
  for (const int32_t position : input.position) {
    if (position < 0 || (attention && static_cast<size_t>(position) >= input.key.size() / kv)) {
      return bad(absl::StrCat("position ", position, attention ? " has no key" : " is negative"));
    }
  }
  return absl::OkStatus();
}

TensorId MatrixOf(TapPoint reads) {
  switch (reads) {
    case TapPoint::kAttention:
      return TensorId::kOutput;
    case TapPoint::kMlpNorm:
      return TensorId::kGateUp;
    case TapPoint::kActivation:
      return TensorId::kDown;
    default:
      return TensorId::kQkv;
  }
}

std::vector<float> ApplyAttention(RowOperators& operators, AttentionMode mode, std::span<const float> x,
                                  const OperatorInput& input) {
  const int width = operators.model().shape.head_dim;
  std::vector<float> key(input.key.begin(), input.key.end()), value(input.value.begin(), input.value.end());
  operators.Round(key);
  operators.Round(value);
  HeldHeads query;
  KvRows kv;
  Append(mode, x, width, &query);
  Append(mode, key, width, &kv.key);
  Append(mode, value, width, &kv.value);
  std::vector<RowOperators::Reach> reach;
  for (const int32_t position : input.position) reach.push_back({&kv, position});
  return operators.Attention(mode, query, reach);
}

}  // namespace

absl::StatusOr<std::vector<float>> ReferenceEngine::Apply(const OperatorInstance& instance,
                                                          const OperatorInput& input) {
  if (const absl::Status status = CheckInput(shape(), instance, input); !status.ok()) return status;
  std::vector<float> x(input.x.begin(), input.x.end());
  operators_.Round(x);
  const int layer = instance.layer;
  switch (instance.family) {
    case OperatorFamily::kRmsNorm: {
      const bool first = instance.reads == TapPoint::kInput;
      return operators_.Norm(layer, first ? TensorId::kInputNorm : TensorId::kMlpNorm, x);
    }
    case OperatorFamily::kRope:
      operators_.NormAndRotateRows(layer, input.position, x);
      return x;
    case OperatorFamily::kGemm:
      return operators_.Product(layer, MatrixOf(instance.reads), x);
    case OperatorFamily::kSwiGlu:
      return operators_.Activation(x);
    case OperatorFamily::kAttention:
      return ApplyAttention(operators_, configuration().AttentionOf(layer), x, input);
  }
  return absl::InvalidArgumentError("no such operator");
}

}  // namespace samebits::heal
