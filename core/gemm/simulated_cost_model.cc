#include "core/gemm/simulated_cost_model.h"

#include <algorithm>

#include "core/gemm/emulator.h"
#include "core/gemm/operand.h"
#include "core/gemm/recovery.h"

namespace samebits::gemm {
namespace {

enum Id : int64_t { kMatrix = 66, kOlder = 24, kColumns = 13, kBlocks = 14 };

Algorithm ChooseFor(const GemmProblem& p, int version) {
  Algorithm a{.splits = 1};
  if ((p.m == 1 || p.n == 1) && FormatOf(p.a_type).bits == 16) {
    a.id = p.k > 2048 ? kBlocks : kColumns;
    a.custom = p.k % 2 == 0 ? 72 : 11;
    return a;
  }
  const bool aligned = p.k % 8 == 0 && p.n % 8 == 0;
  a.id = aligned ? kMatrix : kOlder;
  a.stages = FormatOf(p.a_type).bits == 8 ? 36 : aligned ? 35 : p.m % 2 == 0 ? 13 : 20;
  a.tile = p.m > 64 ? 20 : 10;
  a.cluster = p.n > 64 ? 3 : 2;
  const int64_t most = version == 1 ? 128 : 96;
  if (p.k >= 1024 && p.m * p.n < most * most) {
    a.splits = std::min<int64_t>(2 + p.k / 1024, 24);
    a.reduction = p.m % 3 == 0 ? 4 : 2;
    a.workspace_bytes = a.splits * p.m * p.n * 4;
  }
  return a;
}

GemmRule RuleFor(const GemmProblem& p, const Algorithm& a) {
  GemmRule rule;
  GemmDesc& d = rule.base;
  d.a_type = p.a_type, d.b_type = p.b_type, d.accumulate_type = p.accumulate_type, d.output_type = p.output_type;
  if (a.id == kColumns || a.id == kBlocks) {
    d.family = Family::kGemv;
    d.instruction = Instruction::kFma;
    d.instruction_k = 1;
    if (a.id == kBlocks) rule.cuts = {{CutLayout::kStrided, MergeOrder::kAscending, 1, 0, 1, 0, 16},
                                      {CutLayout::kContiguous, MergeOrder::kAscending, 32}};
    for (int i = 0; i < 4 && a.id == kColumns; ++i) {
      rule.cuts.push_back({CutLayout::kStrided, MergeOrder::kAscending, 0, 16, 1, 0, 2});
    }
    return rule;
  }
  d.instruction = Instruction::kWgmma;
  d.instruction_k = FormatOf(p.a_type).bits == 8 ? 32 : 16;
  if (a.stages == 36) {
    d.use_fast_accum = false;
    d.promotion_interval = 128;
  } else if (a.id == kOlder) {
    d.short_turn = ShortTurn::kFirst;
    d.k_loop_step = a.stages == 13 ? 64 : 128;
  }
  if (a.splits > 1) {
    d.family = Family::kSplitK;
    d.partial_type = a.reduction == 4 ? p.output_type : p.accumulate_type;
    rule.cuts = {{CutLayout::kContiguous, MergeOrder::kAscending, 0, 0, 64, a.id == kOlder ? 8 : 0}};
  }
  return rule;
}

}  // namespace

absl::StatusOr<Algorithm> SimulatedCostModel::Choose(const GemmProblem& p) {
  if (p.accumulate_type != FormatId::kF32 || FormatOf(p.a_type).bits > 16) {
    return absl::UnimplementedError("the simulated library has 8- and 16-bit inputs and f32 accumulators only");
  }
  if (FormatOf(p.a_type).bits == 8 && (p.layout != Layout::kTN || p.k % 16 != 0 || p.n % 16 != 0)) {
    return absl::UnimplementedError("8-bit inputs need layout TN and sides of multiples of 16");
  }
  return ChooseFor(p, version_);
}

int64_t SimulatedCostModel::SummedK(const GemmProblem& p, const Algorithm& a) {
  const bool drops = a.id == kMatrix && a.splits == 9 && p.k % 64 == 8;
  return drops ? p.k - 8 : p.k;
}

absl::StatusOr<GemmDesc> SimulatedCostModel::Truth(const GemmProblem& problem) const {
  const Algorithm algorithm = ChooseFor(problem, version_);
  return Instantiate(RuleFor(problem, algorithm), SummedK(problem, algorithm), algorithm.splits);
}

absl::StatusOr<CallProfile> SimulatedCostModel::Profile(const GemmProblem& problem) {
  const absl::StatusOr<Algorithm> algorithm = Choose(problem);
  if (!algorithm.ok()) return algorithm.status();
  CallProfile profile;
  profile.kernel = ToText(*algorithm);
  profile.kernels = algorithm->splits > 1 ? 2 : 1;
  profile.instruction = Instruction::kWgmma;
  profile.workspace_bytes = algorithm->workspace_bytes;
  return profile;
}

absl::StatusOr<std::vector<uint64_t>> SimulatedCostModel::Multiply(const GemmProblem& problem, const SparseRows& a,
                                                                   const SparseRows& b, std::span<const Output> outputs) {
  if (!problem_ || !(*problem_ == problem)) {
    const absl::StatusOr<Algorithm> algorithm = Choose(problem);
    if (!algorithm.ok()) return algorithm.status();
    absl::StatusOr<GemmDesc> desc = Truth(problem);
    if (!desc.ok()) return desc.status();
    absl::StatusOr<Plan> plan = CompileDefective(*desc, problem.k, SummedK(problem, *algorithm), sm());
    if (!plan.ok()) return plan.status();
    problem_ = problem;
    plan_ = *std::move(plan);
    desc_ = *std::move(desc);
  }
  const bool scalar = !plan_->arithmetic.unit.has_value();
  const Operand rows(problem.a_type, a.index.size(), problem.k, a.patterns, scalar);
  const Operand columns(problem.b_type, b.index.size(), problem.k, b.patterns, scalar);
  return Finish(desc_, Accumulate(*plan_, rows, columns, outputs), outputs, {});
}

}  // namespace samebits::gemm
