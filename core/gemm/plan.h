#ifndef SAMEBITS_CORE_GEMM_PLAN_H_
#define SAMEBITS_CORE_GEMM_PLAN_H_

// A descriptor made explicit for one K and one matrix arithmetic: which products share a rounding, and in which order
// partial sums meet. The plan is what a descriptor means; two descriptors with equal plan digests owe the same bits.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/hash.h"
#include "core/gemm/gemm_desc.h"
#include "core/softfloat/matrix_unit.h"

namespace samebits::gemm {

// How one group of products joins an accumulator.
struct Arithmetic {
  Instruction instruction = Instruction::kFma;
  std::optional<softfloat::MatrixUnit> unit;  // set for matrix instructions, except those that are scalar chains
  bool exact_products = false;                // at the accumulator's type, for all inputs
};

// UNIMPLEMENTED where the arithmetic of the instruction on architecture `sm` (90 for sm_90) is not established.
absl::StatusOr<Arithmetic> FindArithmetic(const GemmDesc& desc, int sm);

struct PlanStep {
  enum class Kind : uint8_t {
    kChain,  // pushes the accumulator that took groups [begin, end) in order, from zero
    kAdd,    // pops two values, pushes their sum, rounded to the accumulator's type and then to `type`
    kRound,  // rounds the top to `type`
  };
  Kind kind;
  FormatId type = FormatId::kF32;
  int64_t begin = 0, end = 0;
};

// Steps for a stack machine that leaves one value. Immutable after compilation; thread-safe.
struct Plan {
  int64_t k = 0;
  FormatId accumulate_type = FormatId::kF32, output_type = FormatId::kF32;
  bool identity_epilogue = true;
  Arithmetic arithmetic;
  std::vector<int32_t> order;        // indices of the contracted axis, group by group
  std::vector<int64_t> group_begin;  // in `order`; one more than groups
  std::vector<PlanStep> steps;
  int depth = 0;  // of the stack

  int64_t groups() const { return static_cast<int64_t>(group_begin.size()) - 1; }
};

absl::StatusOr<Plan> Compile(const GemmDesc& desc, int64_t k, int sm);

// The observable form at this K: independent of how the descriptor was written, of the order of summands of an
// addition and of products within a group, and of what cannot be seen (a multiplication and addition of exact
// products against a fused one; the type of the last addition where the output is rounded to it anyway).
Digest128 DigestOf(const Plan& plan);

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_PLAN_H_
