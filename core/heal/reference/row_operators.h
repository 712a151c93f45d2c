#ifndef SAMEBITS_CORE_HEAL_REFERENCE_ROW_OPERATORS_H_
#define SAMEBITS_CORE_HEAL_REFERENCE_ROW_OPERATORS_H_

// The operators of one configuration on many rows, each rounded to the boundary.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/heal/model/checkpoint.h"
#include "core/heal/numerics/configuration.h"
#include "core/heal/reference/attention.h"
#include "core/heal/reference/product.h"
#include "core/heal/reference/worker_threads.h"

namespace samebits::heal {

// What all engines of a backend share. Immutable.
struct ReferenceModel {
  explicit ReferenceModel(std::shared_ptr<const Checkpoint> checkpoint);
  WeightMatrix Matrix(int layer, TensorId id) const;

  const std::shared_ptr<const Checkpoint> checkpoint;
  const ModelShape& shape;
  const std::vector<float> frequencies;

 private:
  std::vector<int> exponents_;  // WeightScaleExponent of each matrix
};

// Rows are row-major; their number is the size over the width.
class RowOperators {
 public:
  RowOperators(std::shared_ptr<const ReferenceModel> model, const Configuration& configuration, int threads);

  const ReferenceModel& model() const { return *model_; }
  const Configuration& configuration() const { return configuration_; }

  // In place.
  void Round(std::span<float> values);
  std::vector<float> Norm(int layer, TensorId id, std::span<const float> x);
  std::vector<float> Product(int layer, TensorId id, std::span<const float> x);
  // Q and K of rows of Q, K, V, at their positions; in place.
  void NormAndRotateRows(int layer, std::span<const int32_t> position, std::span<float> qkv);
  std::vector<float> Activation(std::span<const float> gate_up);

  // A row attends to positions 0 .. last of its keys and values.
  struct Reach {
    const KvRows* kv = nullptr;
    int64_t last = 0;
  };
  std::vector<float> Attention(AttentionMode mode, const HeldHeads& query, std::span<const Reach> reach);

  // The token of the largest logit of each row, the lower of equals.
  std::vector<int32_t> LargestLogit(std::span<const float> hidden);

 private:
  const std::shared_ptr<const ReferenceModel> model_;
  const Configuration configuration_;
  WorkerThreads threads_;
};

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_REFERENCE_ROW_OPERATORS_H_
