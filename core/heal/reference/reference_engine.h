#ifndef SAMEBITS_CORE_HEAL_REFERENCE_REFERENCE_ENGINE_H_
#define SAMEBITS_CORE_HEAL_REFERENCE_REFERENCE_ENGINE_H_

#include <memory>
#include <vector>

#include "core/heal/engine/engine.h"
#include "core/heal/reference/row_operators.h"

namespace samebits::heal {

// See reference_backend.h.
class ReferenceEngine final : public Engine {
 public:
  ReferenceEngine(std::shared_ptr<const ReferenceModel> model, const Configuration& configuration,
                  const Capacity& capacity, int threads);

  const ModelShape& shape() const override { return operators_.model().shape; }
  const Configuration& configuration() const override { return operators_.configuration(); }
  const Capacity& capacity() const override { return capacity_; }

  absl::Status Forward(const Rows& rows, const Wanted& wanted, ForwardResult* result) override;
  absl::StatusOr<std::vector<float>> Apply(const OperatorInstance& instance, const OperatorInput& input) override;
  absl::StatusOr<DecodeTiming> TimeDecode(int batch, int context, int warmup, int steps) override;

  // Bytes of keys, values and scales per token.
  static int64_t CacheBytesPerToken(const ModelShape& shape);

 private:
  // The residual stream: rounded to the boundary, and as the last addition left it.
  struct Residual {
    std::vector<float> rounded, sum;
  };
  struct Pass {
    const Rows& rows;
    const Tap& tap;
    Residual residual;
  };

  absl::Status Check(const Rows& rows) const;
  void Admit(const Rows& rows);
  Residual Embed(const Rows& rows);
  void AttentionBlock(int layer, Pass* pass);
  void MlpBlock(int layer, Pass* pass);
  void Add(std::span<const float> output, Residual* residual);
  std::vector<float> NormOf(int layer, TensorId id, const Residual& residual);
  // Moves rows of Q, K, V into `query` and the cache.
  void Store(int layer, const Rows& rows, std::span<const float> qkv, HeldHeads* query);
  void TapHeld(int layer, const Pass& pass, const HeldHeads& query) const;
  void FillCache(int batch, int positions);
  KvRows& Cache(int layer, int slot) { return cache_[static_cast<size_t>(layer) * capacity_.slots + slot]; }
  const KvRows& Cache(int layer, int slot) const { return cache_[static_cast<size_t>(layer) * capacity_.slots + slot]; }

  const Capacity capacity_;
  RowOperators operators_;
  std::vector<KvRows> cache_;    // layers x slots
  std::vector<int32_t> length_;  // of each slot
};

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_REFERENCE_REFERENCE_ENGINE_H_
