#ifndef SAMEBITS_CORE_GEMM_GEMM_DESC_H_
#define SAMEBITS_CORE_GEMM_GEMM_DESC_H_

// The record of what decides the bits of a matrix product D = A * B, and of nothing else ("Taming Bitwise Behavior in
// GPU Kernels with Tensor Core", section 3.2.2). Two equal records owe the same bits on matrix units of the same
// arithmetic (core/softfloat/matrix_unit.h).
//
// How an output element comes about, for a contracted axis of K elements:
// 1. `k_cuts`, outermost first, cut the axis into parts, each of these again, and so on. A contiguous cut gives part j
//    the elements [j * span, (j + 1) * span). A strided cut deals tiles of `span` elements to the parts in turn. A
//    balanced cut gives each part a run of whole tiles of `span` elements, the first parts one tile more where they do
//    not come out even. Parts without elements vanish; a cut of which one part is left does nothing.
// 2. Every innermost part has an accumulator that starts at zero and takes its elements in ascending order,
//    `instruction_k` products an instruction. With `short_turn` first, the loop over steps of `k_loop_step` elements
//    begins with the part's length modulo the step, padded to a whole step. Without `use_fast_accum` a fresh
//    accumulator serves every `promotion_interval` elements (0: every instruction), and is then added to the part's own.
// 3. The parts of a cut are added in order (`descending`: from the last; `lanes`, `lanes4`, `lanes8`: as LaneDigits says), the outermost at `merge_type` with its parts
//    first rounded to `partial_type`, the others at the accumulator's type.
// 4. The epilogue, each step rounded in the accumulator's type (f32 for f16 accumulators): alpha * t; beta * C + t;
//    + bias; activation. One rounding to `output_type` ends it.
// Values are immutable in use; everything here is thread-safe.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/softfloat/format.h"

namespace samebits::gemm {

using softfloat::FormatId;

enum class Family : uint8_t { kPlain, kSplitK, kChained, kGemv };
// kFma and kMulAdd are scalar: one product a step, with one or two roundings.
enum class Instruction : uint8_t { kFma, kMulAdd, kMma, kWgmma, kTcgen05, kMfma };
enum class ShortTurn : uint8_t { kLast, kFirst };
enum class CutLayout : uint8_t { kContiguous, kStrided, kBalanced };
// kLanes to kLanes8: of strided cuts with at most 1,024 parts, see LaneDigits. They are the same up to 128 parts, the last two
// up to 256.
enum class MergeOrder : uint8_t { kAscending, kDescending, kLanes, kLanes4, kLanes8 };
enum class AlphaStep : uint8_t { kNone, kMultiply };
enum class BetaStep : uint8_t { kNone, kFused, kMultiplyAdd };
enum class BiasStep : uint8_t { kNone, kAdd };
enum class Activation : uint8_t { kNone, kRelu };  // relu: what is not above zero becomes +0, NaN too

struct KCut {
  CutLayout layout = CutLayout::kContiguous;
  int64_t span = 1;   // elements
  int64_t count = 2;  // parts
  MergeOrder order = MergeOrder::kAscending;
  friend bool operator==(const KCut&, const KCut&) = default;
};

inline constexpr int64_t kMostLaneParts = 1024;

// Sums that a lane keeps of its own parts; 0 for orders without lanes.
constexpr int64_t LaneSums(MergeOrder order) {
  return order == MergeOrder::kLanes ? 2 : order == MergeOrder::kLanes4 ? 4 : order == MergeOrder::kLanes8 ? 8 : 0;
}

// How 32 lanes add parts: lane j mod 32 deals its own to `sums` (2, 4 or 8) sums in turn, which take theirs in ascending
// order and are folded pairwise, those farthest apart first; then lanes that agree modulo 4 are added in ascending order,
// then the four sums. So parts add up as a nest of ascending sums by
// these digits of their numbers, the outermost first.
constexpr std::array<int64_t, 6> LaneDigits(int64_t part, int64_t sums) {
  const int64_t turn = part / 32;
  return {part % 4, part / 4 % 8, turn % 2, sums > 2 ? turn / 2 % 2 : 0, sums > 4 ? turn / 4 % 2 : 0, turn / sums};
}

struct Epilogue {
  AlphaStep alpha = AlphaStep::kNone;
  BetaStep beta = BetaStep::kNone;
  BiasStep bias = BiasStep::kNone;  // a value of the output's type for each column
  Activation activation = Activation::kNone;
  bool identity() const { return *this == Epilogue{}; }
  friend bool operator==(const Epilogue&, const Epilogue&) = default;
};

struct GemmDesc {
  FormatId a_type = FormatId::kF16, b_type = FormatId::kF16;
  FormatId accumulate_type = FormatId::kF32, output_type = FormatId::kF16;
  Family family = Family::kPlain;
  Instruction instruction = Instruction::kMma;
  int64_t instruction_k = 16;
  bool use_fast_accum = true;
  int64_t promotion_interval = 0;
  int64_t k_loop_step = 0;  // 0: not known, and without effect
  ShortTurn short_turn = ShortTurn::kLast;
  std::vector<KCut> k_cuts;
  FormatId partial_type = FormatId::kF32, merge_type = FormatId::kF32;
  Epilogue epilogue;
  friend bool operator==(const GemmDesc&, const GemmDesc&) = default;
};

inline constexpr int64_t kMaxK = int64_t{1} << 24;
inline constexpr size_t kMaxCuts = 16;

bool IsScalar(Instruction instruction);
const softfloat::Format& FormatOf(FormatId id);  // of the types a GemmDesc may name: e4m3, e5m2, f16, bf16, tf32, f32, f64

// INVALID_ARGUMENT that names the field. Holds for every K; a K that the cuts do not cover is found by Validate(desc, k).
absl::Status Validate(const GemmDesc& desc);
absl::Status Validate(const GemmDesc& desc, int64_t k);

// One line, all fields in fixed order: "gemm/1 types=f16,f16,f32,f16 family=split_k instruction=wgmma:16 ...".
std::string ToText(const GemmDesc& desc);
// The inverse, fields in any order, each at most once; those left out keep their defaults (partial and merge: the
// accumulator's type). INVALID_ARGUMENT that quotes the offending word. The result is valid.
absl::StatusOr<GemmDesc> ParseGemmDesc(std::string_view text);

// SHA-256 of the text, lower-case hex.
std::string Digest(const GemmDesc& desc);

// For people: "split-K in 3 spans of 192, f32 partials, merged in ascending order at f32; wgmma of 16; ...".
std::string Describe(const GemmDesc& desc);

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_GEMM_DESC_H_
