#include "core/gemm/flat_plan.h"

#include "absl/strings/str_cat.h"
#include "core/softfloat/convert.h"

namespace samebits::gemm {
namespace {

int WalkTypeOf(FormatId type) {
  switch (type) {
    case FormatId::kF16:
      return kWalkF16;
    case FormatId::kBf16:
      return kWalkBf16;
    default:
      return kWalkNone;
  }
}

int WalkKindOf(PlanStep::Kind kind) {
  switch (kind) {
    case PlanStep::Kind::kChain:
      return kWalkChain;
    case PlanStep::Kind::kAdd:
      return kWalkAdd;
    case PlanStep::Kind::kRound:
      break;
  }
  return kWalkRound;
}

}  // namespace

absl::StatusOr<FlatPlan> Flatten(const Plan& plan, FormatId a_type, FormatId b_type) {
  if (plan.depth > kMostWalkDepth)
    return absl::UnimplementedError(absl::StrCat("cuts: ", plan.depth, " sums are open at once, at most ", kMostWalkDepth, " can be"));
  FlatPlan flat;
  if (plan.arithmetic.unit) {
    flat.arithmetic = WalkArithmetic::kMatrix;
    flat.rule = GroupRuleOf(*plan.arithmetic.unit, a_type, b_type);
  } else if (plan.accumulate_type == FormatId::kF64) {
    flat.arithmetic = WalkArithmetic::kF64;
  }
  flat.fused = plan.arithmetic.instruction != Instruction::kMulAdd;
  flat.output_type = WalkTypeOf(plan.output_type);
  flat.order = plan.order;
  flat.group_begin.assign(plan.group_begin.begin(), plan.group_begin.end());
  for (const PlanStep& step : plan.steps) {
    const int type = step.type == plan.accumulate_type ? kWalkNone : WalkTypeOf(step.type);
    flat.steps.push_back({WalkKindOf(step.kind), type, static_cast<int>(step.begin), static_cast<int>(step.end)});
  }
  return flat;
}

uint64_t WalkWord(WalkArithmetic arithmetic, FormatId type, uint64_t pattern) {
  const softfloat::Format& format = FormatOf(type);
  switch (arithmetic) {
    case WalkArithmetic::kMatrix:
      return PackElement(GroupElementOf(softfloat::DecodeElement(format, pattern)));
    case WalkArithmetic::kF32:
      return ConvertFloat(softfloat::kF32, format, pattern, softfloat::Rounding::kRn);
    case WalkArithmetic::kF64:
      break;
  }
  return pattern;
}

}  // namespace samebits::gemm
