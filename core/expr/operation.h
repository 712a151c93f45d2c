#ifndef SAMEBITS_CORE_EXPR_OPERATION_H_
#define SAMEBITS_CORE_EXPR_OPERATION_H_

// The value of one operation on bit patterns: what each Fn with its attribute word means.

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/hash.h"
#include "core/expr/fn.h"
#include "core/softfloat/matrix_unit.h"

namespace samebits::expr {

inline uint128 LowBits(int width) { return width >= 128 ? ~uint128{0} : (uint128{1} << width) - 1; }

// Result of an operation; the caller cuts it to the node's width.
struct Computed {
  uint128 bits = 0;
  bool inexact = false;  // an approximation's stand-in
  bool known = true;     // false: nothing here computes it
};

// `operands` are patterns of the widths that OperandWidth gives. Not for leaves, kSelect, kGather, kVector and
// kMatrixStep, whose operands are no plain values; nor for kIsa (below).
Computed Compute(Fn fn, uint64_t attr, int width, std::span<const uint128> operands);

// Bits that operand `i` of a node has; 0 where the operand's own width decides (kExtract, kIsa).
int OperandWidth(Fn fn, uint64_t attr, int width, int i);

// Rule of a matrix step on integers, beside softfloat::MatrixRule: exact products added to a 32-bit accumulator that
// wraps, or clamps once at the end of the step when the next four bits are 1.
inline constexpr uint64_t kIntegerMatrixRule = 14;
// Rule of a matrix step of CDNA 3 on f16 or bf16 (softfloat/cdna_matrix.h).
inline constexpr uint64_t kCdna3MatrixRule = 13;

// An element of the first (second) factor of a matrix step, from its pattern.
softfloat::MatrixElement DecodeFactor(uint64_t attr, bool second, uint64_t pattern);
// One step of a matrix unit: `a` and `b` are the elements of a group.
uint64_t ComputeMatrixStep(uint64_t attr, uint64_t accumulator, std::span<const softfloat::MatrixElement> a,
                           std::span<const softfloat::MatrixElement> b);

// An instruction that is modelled as a function of its operands' bits and known by its spelling: "popc.b32", ...
// (PTX ISA 9.7.1, 9.7.3 and 9.7.8).
Computed ComputeSpelled(std::string_view spelling, std::span<const uint128> operands);

}  // namespace samebits::expr

#endif  // SAMEBITS_CORE_EXPR_OPERATION_H_
