#ifndef SAMEBITS_CORE_GEMM_SIMULATED_LIBRARY_H_
#define SAMEBITS_CORE_GEMM_SIMULATED_LIBRARY_H_

// A library without a GPU: every product follows a hidden descriptor.

#include <random>

#include "core/gemm/black_box.h"

namespace samebits::gemm {

struct HiddenGemm {
  GemmProblem problem;
  GemmDesc desc;
  int sm = 90;
  int64_t summed_k = 0;  // elements that are summed; less than problem.k: the tail is dropped, a defect
};

class SimulatedLibrary : public BlackBox {
 public:
  explicit SimulatedLibrary(HiddenGemm hidden) : hidden_(std::move(hidden)) {}

  int sm() const override { return hidden_.sm; }
  bool tells_algorithm() const override { return false; }
  absl::StatusOr<CallProfile> Profile(const GemmProblem& problem) override;
  absl::StatusOr<std::vector<uint64_t>> Multiply(const GemmProblem& problem, const SparseRows& a, const SparseRows& b,
                                                 std::span<const Output> outputs) override;
  int64_t launches() const { return launches_; }

 private:
  absl::Status CheckProblem(const GemmProblem& problem) const;

  const HiddenGemm hidden_;
  std::optional<Plan> plan_;
  int64_t launches_ = 0;
};

// Draws a descriptor with its shape and architecture: every family, cut nests, types, residues of K, shapes down to one
// row and column. With `defects`, one in eight drops the tail of K.
HiddenGemm DrawHidden(std::mt19937_64& random, bool defects);

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_SIMULATED_LIBRARY_H_
