#ifndef SAMEBITS_CORE_GEMM_SIMULATED_COST_MODEL_H_
#define SAMEBITS_CORE_GEMM_SIMULATED_COST_MODEL_H_

// A library with a cost model, without a GPU: shapes get one of some hidden algorithms, each a hidden rule with a number
// of splits of its own; one of them drops the tail of some K. For tests of surveys and profiles. The rules are of the
// forms that were seen of cuBLASLt; which shape gets which is made up.

#include <optional>
#include <vector>

#include "core/gemm/black_box.h"
#include "core/gemm/plan.h"
#include "core/gemm/rule.h"

namespace samebits::gemm {

class SimulatedCostModel : public BlackBox {
 public:
  // `version` stands for the library's: a later one has other thresholds.
  explicit SimulatedCostModel(int version = 1) : version_(version) {}

  int sm() const override { return 90; }
  absl::StatusOr<Algorithm> Choose(const GemmProblem& problem) override;
  absl::StatusOr<CallProfile> Profile(const GemmProblem& problem) override;
  absl::StatusOr<std::vector<uint64_t>> Multiply(const GemmProblem& problem, const SparseRows& a, const SparseRows& b,
                                                 std::span<const Output> outputs) override;

  // The hidden truth: the descriptor, and how many elements of K are summed.
  absl::StatusOr<GemmDesc> Truth(const GemmProblem& problem) const;
  static int64_t SummedK(const GemmProblem& problem, const Algorithm& algorithm);

 private:
  const int version_;
  std::optional<GemmProblem> problem_;
  std::optional<Plan> plan_;
  GemmDesc desc_;
};

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_SIMULATED_COST_MODEL_H_
