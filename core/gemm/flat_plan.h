#ifndef SAMEBITS_CORE_GEMM_FLAT_PLAN_H_
#define SAMEBITS_CORE_GEMM_FLAT_PLAN_H_

// A plan, and its operands' elements, as output_walk.h takes them.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/gemm/output_walk.h"
#include "core/gemm/plan.h"

namespace samebits::gemm {

enum class WalkArithmetic : uint8_t { kMatrix, kF32, kF64 };

struct FlatPlan {
  WalkArithmetic arithmetic = WalkArithmetic::kF32;
  softfloat::GroupRule rule{};  // of kMatrix
  bool fused = true;            // of the others
  int output_type = kWalkNone;
  std::vector<int> order, group_begin;
  std::vector<WalkStep> steps;
  WalkPlan view() const { return {order.data(), group_begin.data(), steps.data(), static_cast<int>(steps.size())}; }
};

// UNIMPLEMENTED for plans whose stack is deeper than a walk's.
absl::StatusOr<FlatPlan> Flatten(const Plan& plan, FormatId a_type, FormatId b_type);

// What an element is to a walk of that arithmetic; of kF64 the pattern itself.
uint64_t WalkWord(WalkArithmetic arithmetic, FormatId type, uint64_t pattern);

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_FLAT_PLAN_H_
