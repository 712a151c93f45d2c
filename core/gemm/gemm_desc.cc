#include "core/gemm/gemm_desc.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "core/base/sha256.h"
#include "core/softfloat/matrix_unit.h"

namespace samebits::gemm {
namespace {

constexpr FormatId kTypes[] = {FormatId::kE4m3, FormatId::kE5m2, FormatId::kF16, FormatId::kBf16,
                               FormatId::kTf32, FormatId::kF32,  FormatId::kF64};

bool IsOneOf(FormatId id, std::initializer_list<FormatId> ids) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

absl::Status Invalid(std::string_view field, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(absl::string_view(field.data(), field.size()), ": ",
                                                 absl::string_view(what.data(), what.size())));
}

bool IsFp8(FormatId id) { return IsOneOf(id, {FormatId::kE4m3, FormatId::kE5m2}); }

absl::Status ValidateTypes(const GemmDesc& d) {
  const bool inputs_agree = d.a_type == d.b_type || (IsFp8(d.a_type) && IsFp8(d.b_type));
  if (!inputs_agree) return Invalid("types", "the inputs must be of one type, or both fp8");
  if (!IsOneOf(d.accumulate_type, {FormatId::kF16, FormatId::kF32, FormatId::kF64})) {
    return Invalid("types", "the accumulator must be f16, f32 or f64");
  }
  if ((d.accumulate_type == FormatId::kF64) != (d.a_type == FormatId::kF64)) {
    return Invalid("types", "f64 accumulators take f64 inputs and the reverse");
  }
  if (d.accumulate_type == FormatId::kF16 && !IsOneOf(d.a_type, {FormatId::kF16, FormatId::kE4m3, FormatId::kE5m2})) {
    return Invalid("types", "an f16 accumulator takes f16 or fp8 inputs");
  }
  if (IsOneOf(d.output_type, {FormatId::kTf32, FormatId::kE4m3, FormatId::kE5m2})) {
    return Invalid("types", "the output must be f16, bf16, f32 or f64");
  }
  if ((d.output_type == FormatId::kF64) != (d.accumulate_type == FormatId::kF64)) {
    return Invalid("types", "f64 outputs take f64 accumulators and the reverse");
  }
  return absl::OkStatus();
}

absl::Status ValidateInstruction(const GemmDesc& d) {
  if (IsScalar(d.instruction)) {
    if (d.instruction_k != 1) return Invalid("instruction", "scalar instructions take one product");
    if (!d.use_fast_accum) return Invalid("fast_accum", "scalar instructions have no second accumulator; use cuts");
    if (d.accumulate_type == FormatId::kF16) return Invalid("types", "scalar instructions accumulate at f32 or f64");
  } else if (d.instruction_k < 1 || d.instruction_k > 1024) {
    return Invalid("instruction", "the group length must be 1 to 1024");
  } else if (d.a_type == FormatId::kF32) {
    return Invalid("types", "matrix instructions take no f32 inputs; tf32 is what they see of them");
  }
  if (d.use_fast_accum && d.promotion_interval != 0) {
    return Invalid("fast_accum", "a promotion interval needs fast_accum=no");
  }
  if (d.promotion_interval < 0 || d.promotion_interval % d.instruction_k != 0) {
    return Invalid("fast_accum", "the promotion interval must be a multiple of the group length");
  }
  return absl::OkStatus();
}

absl::Status ValidateLoop(const GemmDesc& d) {
  if (d.k_loop_step < 0 || d.k_loop_step % d.instruction_k != 0 || d.k_loop_step > kMaxK) {
    return Invalid("step", "the loop step must be a multiple of the group length, at most 2^24");
  }
  if (d.short_turn == ShortTurn::kFirst && d.k_loop_step == 0) return Invalid("step", "a short first turn needs a step");
  if (d.short_turn == ShortTurn::kFirst && !d.use_fast_accum) {
    return Invalid("step", "a short first turn does not go with a promotion interval");
  }
  return absl::OkStatus();
}

absl::Status ValidateCuts(const GemmDesc& d) {
  if (d.k_cuts.size() > kMaxCuts) return Invalid("cuts", "more than 16");
  for (const KCut& cut : d.k_cuts) {
    if (cut.span < 1 || cut.span > kMaxK) return Invalid("cuts", "a span must be 1 to 2^24");
    if (cut.count < 1 || cut.count > kMaxK) return Invalid("cuts", "a count must be 1 to 2^24");
    if (LaneSums(cut.order) > 0 && (cut.layout != CutLayout::kStrided || cut.count > kMostLaneParts)) {
      return Invalid("cuts", "lanes add the parts of strided cuts, at most 1,024");
    }
  }
  const bool strided = std::any_of(d.k_cuts.begin(), d.k_cuts.end(),
                                   [](const KCut& cut) { return cut.layout == CutLayout::kStrided; });
  if (d.family == Family::kPlain && !d.k_cuts.empty()) return Invalid("family", "plain has no cuts");
  if (d.family != Family::kPlain && d.k_cuts.empty()) return Invalid("family", "only plain has no cuts");
  if (d.family == Family::kGemv && !strided) return Invalid("family", "gemv needs a strided cut");
  return absl::OkStatus();
}

absl::Status ValidateMerge(const GemmDesc& d) {
  for (const auto& [name, type] : {std::pair{"partial", d.partial_type}, std::pair{"merge", d.merge_type}}) {
    if (type != d.accumulate_type && type != d.output_type) {
      return Invalid(name, "must be the accumulator's or the output's type");
    }
    if (type != d.accumulate_type && d.family != Family::kSplitK) return Invalid(name, "only split_k rounds its parts");
  }
  return absl::OkStatus();
}

}  // namespace

bool IsScalar(Instruction instruction) {
  return instruction == Instruction::kFma || instruction == Instruction::kMulAdd;
}

const softfloat::Format& FormatOf(FormatId id) {
  switch (id) {
    case FormatId::kE4m3:
      return softfloat::kE4m3;
    case FormatId::kE5m2:
      return softfloat::kE5m2;
    case FormatId::kF16:
      return softfloat::kF16;
    case FormatId::kBf16:
      return softfloat::kBf16;
    case FormatId::kTf32:
      return softfloat::kTf32;
    case FormatId::kF64:
      return softfloat::kF64;
    default:
      return softfloat::kF32;
  }
}

absl::Status Validate(const GemmDesc& desc) {
  for (FormatId id : {desc.a_type, desc.b_type, desc.accumulate_type, desc.output_type}) {
    if (std::find(std::begin(kTypes), std::end(kTypes), id) == std::end(kTypes)) {
      return Invalid("types", "not a type of matrix products");
    }
  }
  for (const auto& check : {ValidateTypes, ValidateInstruction, ValidateLoop, ValidateCuts, ValidateMerge}) {
    if (absl::Status status = check(desc); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Validate(const GemmDesc& desc, int64_t k) {
  if (absl::Status status = Validate(desc); !status.ok()) return status;
  if (k < 0 || k > kMaxK) return Invalid("K", "must be 0 to 2^24");
  int64_t longest = k;  // part of the cuts so far
  for (size_t i = 0; i < desc.k_cuts.size(); ++i) {
    const KCut& cut = desc.k_cuts[i];
    const int64_t tiles = (longest + cut.span - 1) / cut.span;
    if (cut.layout == CutLayout::kContiguous && tiles > cut.count) {
      return absl::InvalidArgumentError(absl::StrCat("cuts: cut ", i + 1, " covers ", cut.span * cut.count, " of ",
                                                     longest, " elements"));
    }
    if (cut.layout == CutLayout::kContiguous) {
      longest = std::min(longest, cut.span);
    } else {
      longest = std::min(longest, (tiles + cut.count - 1) / cut.count * cut.span);
    }
  }
  return absl::OkStatus();
}

std::string Digest(const GemmDesc& desc) { return Sha256Hex(ToText(desc)); }

}  // namespace samebits::gemm
