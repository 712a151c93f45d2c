#include "core/gemm/simulated_library.h"

#include <algorithm>

namespace samebits::gemm {

absl::Status SimulatedLibrary::CheckProblem(const GemmProblem& p) const {
  if (p == hidden_.problem) return absl::OkStatus();
  return absl::NotFoundError("the simulated library knows one problem only");
}

absl::StatusOr<CallProfile> SimulatedLibrary::Profile(const GemmProblem& problem) {
  if (absl::Status status = CheckProblem(problem); !status.ok()) return status;
  CallProfile profile;
  profile.scalar = IsScalar(hidden_.desc.instruction);
  profile.matrix = !profile.scalar;
  if (profile.matrix) profile.instruction = hidden_.desc.instruction;
  profile.kernel = profile.scalar ? "simulated_scalar" : "simulated_matrix";
  if (hidden_.desc.family == Family::kSplitK) {
    profile.kernels = 2;
    profile.workspace_bytes = 1 << 20;
  }
  return profile;
}

absl::StatusOr<std::vector<uint64_t>> SimulatedLibrary::Multiply(const GemmProblem& problem, const SparseRows& a,
                                                                 const SparseRows& b, std::span<const Output> outputs) {
  if (absl::Status status = CheckProblem(problem); !status.ok()) return status;
  if (!plan_) {
    absl::StatusOr<Plan> plan = Compile(hidden_.desc, hidden_.summed_k, hidden_.sm);
    if (!plan.ok()) return plan.status();
    plan_ = *std::move(plan);
    plan_->k = problem.k;  // the steps leave the rest alone
  }
  ++launches_;
  const bool scalar = !plan_->arithmetic.unit.has_value();
  const Operand rows(problem.a_type, a.index.size(), problem.k, a.patterns, scalar);
  const Operand columns(problem.b_type, b.index.size(), problem.k, b.patterns, scalar);
  return Finish(hidden_.desc, Accumulate(*plan_, rows, columns, outputs), outputs, {});
}

}  // namespace samebits::gemm
