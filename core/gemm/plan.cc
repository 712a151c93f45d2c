#include "core/gemm/plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace samebits::gemm {
namespace {

using softfloat::MatrixInstruction;
using softfloat::MatrixRule;

std::optional<MatrixInstruction> MatrixInstructionOf(Instruction instruction) {
  switch (instruction) {
    case Instruction::kMma:
      return MatrixInstruction::kMma;
    case Instruction::kWgmma:
      return MatrixInstruction::kWgmma;
    case Instruction::kTcgen05:
      return MatrixInstruction::kTcgen05;
    case Instruction::kFma:
    case Instruction::kMulAdd:
    case Instruction::kMfma:
      break;
  }
  return std::nullopt;
}

using Indices = std::span<const int32_t>;

constexpr size_t kLaneDigits = LaneDigits(0, 2).size();

class Compiler {
 public:
  Compiler(const GemmDesc& desc, Plan* plan) : desc_(desc), plan_(*plan) {}

  void Run() {
    std::vector<int32_t> all(plan_.k);
    std::iota(all.begin(), all.end(), 0);
    plan_.order.reserve(all.size());
    plan_.group_begin.push_back(0);
    Part(all, 0);
  }

 private:
  void Push(PlanStep step) {
    if (step.kind == PlanStep::Kind::kChain) plan_.depth = std::max(plan_.depth, ++height_);
    if (step.kind == PlanStep::Kind::kAdd) --height_;
    plan_.steps.push_back(step);
  }
  void Add(FormatId type) { Push({PlanStep::Kind::kAdd, type}); }

  void Part(Indices elements, size_t level) {
    if (level == desc_.k_cuts.size()) return Accumulate(elements);
    const KCut& cut = desc_.k_cuts[level];
    std::vector<std::vector<int32_t>> parts = Cut(elements, cut);
    if (parts.size() <= 1) return Part(elements, level + 1);
    if (cut.order == MergeOrder::kDescending) std::reverse(parts.begin(), parts.end());
    std::vector<int64_t> numbers(parts.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    Sum(parts, numbers, level, LaneSums(cut.order) > 0 ? 0 : kLaneDigits);
  }

  // Adds the parts of those numbers: by lanes from the digit `digit` on, or one after the other.
  void Sum(const std::vector<std::vector<int32_t>>& parts, const std::vector<int64_t>& numbers, size_t level, size_t digit) {
    const FormatId partial = level == 0 ? desc_.partial_type : desc_.accumulate_type;
    const FormatId merge = level == 0 ? desc_.merge_type : desc_.accumulate_type;
    std::map<int64_t, std::vector<int64_t>> groups;  // ascending
    for (int64_t number : numbers) {
      const bool lanes = digit < kLaneDigits;
      groups[lanes ? LaneDigits(number, LaneSums(desc_.k_cuts[level].order))[digit] : number].push_back(number);
    }
    for (const auto& [first, group] : groups) {
      const bool begins = &group == &groups.begin()->second;
      if (group.size() > 1) {
        Sum(parts, group, level, digit + 1);
      } else {
        Part(parts[group[0]], level + 1);
        if (partial != desc_.accumulate_type) Push({PlanStep::Kind::kRound, partial});
        if (begins && merge != desc_.accumulate_type && merge != partial) Push({PlanStep::Kind::kRound, merge});
      }
      if (!begins) Add(merge);
    }
  }

  // Parts that hold elements, in ascending order.
  static std::vector<std::vector<int32_t>> Cut(Indices elements, const KCut& cut) {
    const int64_t length = static_cast<int64_t>(elements.size());
    const int64_t tiles = (length + cut.span - 1) / cut.span;
    std::vector<std::vector<int32_t>> parts(std::min(cut.count, std::max<int64_t>(tiles, 1)));
    const int64_t runs = static_cast<int64_t>(parts.size());
    for (int64_t tile = 0, part = 0, left = tiles / runs + (tiles % runs > 0); tile < tiles; ++tile) {
      if (cut.layout == CutLayout::kContiguous) part = tile;
      if (cut.layout == CutLayout::kStrided) part = tile % runs;
      if (cut.layout == CutLayout::kBalanced && left == 0) ++part, left = tiles / runs + (part < tiles % runs);
      --left;
      const Indices run = elements.subspan(tile * cut.span, std::min(cut.span, length - tile * cut.span));
      parts[part].insert(parts[part].end(), run.begin(), run.end());
    }
    return parts;
  }

  // One accumulator over `elements`.
  void Accumulate(Indices elements) {
    if (plan_.arithmetic.unit && plan_.arithmetic.unit->rule == MatrixRule::kWidenedPairs) return WidenedPairs(elements);
    if (desc_.use_fast_accum) {
      const int64_t step = desc_.k_loop_step;
      const int64_t first = desc_.short_turn == ShortTurn::kFirst ? elements.size() % step : 0;
      const int64_t begin = plan_.groups();
      Groups(elements.first(first));
      Groups(elements.subspan(first));
      return Push({PlanStep::Kind::kChain, desc_.accumulate_type, begin, plan_.groups()});
    }
    const size_t interval = desc_.promotion_interval == 0 ? desc_.instruction_k : desc_.promotion_interval;
    for (size_t i = 0; i == 0 || i < elements.size(); i += interval) {
      const int64_t begin = plan_.groups();
      Groups(elements.subspan(i, std::min(interval, elements.size() - i)));
      Push({PlanStep::Kind::kChain, desc_.accumulate_type, begin, plan_.groups()});
      if (i > 0) Add(desc_.accumulate_type);
    }
  }

  void AddGroup(Indices group) {
    if (group.empty()) return;
    plan_.order.insert(plan_.order.end(), group.begin(), group.end());
    plan_.group_begin.push_back(plan_.order.size());
  }

  // Cuts into instructions, and each of these into what the unit sums at once.
  void Groups(Indices elements) {
    const size_t unit = plan_.arithmetic.unit ? plan_.arithmetic.unit->group : 1;
    const size_t k = desc_.instruction_k;
    for (size_t i = 0; i < elements.size(); i += k) {
      const Indices instruction = elements.subspan(i, std::min(k, elements.size() - i));
      for (size_t j = 0; j < instruction.size(); j += unit) {
        AddGroup(instruction.subspan(j, std::min(unit, instruction.size() - j)));
      }
    }
  }

  // Every instruction sums from zero, pairs (0, 1) of each four before pairs (2, 3), and its result is added.
  void WidenedPairs(Indices elements) {
    const size_t k = desc_.instruction_k;
    for (size_t i = 0; i == 0 || i < elements.size(); i += k) {
      const int64_t begin = plan_.groups();
      for (size_t half : {0, 2}) {
        std::vector<int32_t> group;
        for (size_t j = i; j < std::min(i + k, elements.size()); ++j) {
          if (((j - i) & 2) == half) group.push_back(elements[j]);
        }
        AddGroup(group);
      }
      Push({PlanStep::Kind::kChain, desc_.accumulate_type, begin, plan_.groups()});
      if (i > 0) Add(desc_.accumulate_type);
    }
  }

  const GemmDesc& desc_;
  Plan& plan_;
  int height_ = 0;
};

// Whether every product of two values is exact at the accumulator's type.
bool ProductsAreExact(const GemmDesc& desc) {
  return desc.a_type == FormatId::kF16 || FormatOf(desc.a_type).bits == 8;
}

Digest128 Leaf(int32_t index) {
  WordHasher hasher(6);
  hasher.Add(static_cast<uint64_t>(index));
  return hasher.Finish();
}

Digest128 Sum(FormatId type, Digest128 x, Digest128 y) {
  WordHasher hasher(2);
  hasher.Add(static_cast<uint64_t>(type));
  hasher.Add(std::min(x, y));
  hasher.Add(std::max(x, y));
  return hasher.Finish();
}

// A scalar chain; steps that round the product first, or need not, are additions like others.
Digest128 ScalarChainDigest(const Plan& plan, std::span<const int32_t> members) {
  Digest128 chain = members.empty() ? Digest128{} : Leaf(members[0]);
  for (size_t i = 1; i < members.size(); ++i) {
    if (plan.arithmetic.exact_products || plan.arithmetic.instruction == Instruction::kMulAdd) {
      chain = Sum(plan.accumulate_type, chain, Leaf(members[i]));
      continue;
    }
    WordHasher hasher(5);
    hasher.Add(chain);
    hasher.Add(static_cast<uint64_t>(members[i]));
    chain = hasher.Finish();
  }
  return chain;
}

Digest128 ChainDigest(const Plan& plan, const PlanStep& step) {
  const int64_t first = plan.group_begin[step.begin], last = plan.group_begin[step.end];
  if (!plan.arithmetic.unit) return ScalarChainDigest(plan, std::span(plan.order).subspan(first, last - first));
  WordHasher hasher(1);
  std::vector<int32_t> members;
  for (int64_t g = step.begin; g < step.end; ++g) {
    members.assign(plan.order.begin() + plan.group_begin[g], plan.order.begin() + plan.group_begin[g + 1]);
    std::sort(members.begin(), members.end());
    hasher.Add(members.size());
    for (int32_t member : members) hasher.Add(static_cast<uint64_t>(member));
  }
  return hasher.Finish();
}

}  // namespace

absl::StatusOr<Arithmetic> FindArithmetic(const GemmDesc& desc, int sm) {
  if (IsScalar(desc.instruction)) {
    return Arithmetic{desc.instruction, std::nullopt, ProductsAreExact(desc)};
  }
  const auto instruction = MatrixInstructionOf(desc.instruction);
  const auto unit = instruction ? softfloat::FindMatrixUnit(sm, *instruction, desc.a_type, desc.b_type,
                                                            desc.accumulate_type)
                                : std::nullopt;
  if (!unit) {
    return absl::UnimplementedError(absl::StrCat("instruction: its arithmetic for these types on sm_", sm,
                                                 " is not established"));
  }
  if (unit->rule == MatrixRule::kWidenedPairs && (desc.instruction_k != 32 || desc.short_turn == ShortTurn::kFirst)) {
    return absl::UnimplementedError("instruction: fp8 mma of this architecture is established for groups of 32 only");
  }
  if (unit->rule == MatrixRule::kFmaChain) return Arithmetic{Instruction::kFma, std::nullopt, false};
  return Arithmetic{desc.instruction, unit, true};
}

absl::StatusOr<Plan> Compile(const GemmDesc& desc, int64_t k, int sm) {
  if (absl::Status status = Validate(desc, k); !status.ok()) return status;
  absl::StatusOr<Arithmetic> arithmetic = FindArithmetic(desc, sm);
  if (!arithmetic.ok()) return arithmetic.status();
  Plan plan;
  plan.k = k;
  plan.accumulate_type = desc.accumulate_type;
  plan.output_type = desc.output_type;
  plan.identity_epilogue = desc.epilogue.identity();
  plan.arithmetic = *std::move(arithmetic);
  Compiler(desc, &plan).Run();
  return plan;
}

Digest128 DigestOf(const Plan& plan) {
  std::vector<Digest128> stack;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    if (step.kind == PlanStep::Kind::kChain) {
      stack.push_back(ChainDigest(plan, step));
      continue;
    }
    const bool last = i + 1 == plan.steps.size() && plan.identity_epilogue && step.type == plan.output_type;
    const FormatId type = last ? plan.accumulate_type : step.type;
    if (step.kind == PlanStep::Kind::kAdd) {
      const Digest128 right = stack.back();
      stack.pop_back();
      stack.back() = Sum(type, stack.back(), right);
      continue;
    }
    WordHasher hasher(3);
    hasher.Add(static_cast<uint64_t>(type));
    hasher.Add(stack.back());
    stack.back() = hasher.Finish();
  }
  WordHasher hasher(4);
  hasher.Add(stack.back());
  hasher.Add(static_cast<uint64_t>(plan.accumulate_type));
  hasher.Add(static_cast<uint64_t>(plan.output_type));
  if (plan.arithmetic.unit) {
    const softfloat::MatrixUnit& unit = *plan.arithmetic.unit;
    hasher.Add(static_cast<uint64_t>(unit.result));
    for (int field : {unit.group, unit.fraction_bits, unit.zero_exponent}) hasher.Add(static_cast<uint64_t>(field));
  } else {
    hasher.Add(0);
  }
  return hasher.Finish();
}

}  // namespace samebits::gemm
