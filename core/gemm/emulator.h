#ifndef SAMEBITS_CORE_GEMM_EMULATOR_H_
#define SAMEBITS_CORE_GEMM_EMULATOR_H_

// What a descriptor computes, bit for bit, on the CPU.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/gemm/gemm_desc.h"
#include "core/gemm/operand.h"
#include "core/gemm/plan.h"

namespace samebits::gemm {

// An element of the output.
struct Output {
  int64_t row = 0, column = 0;
  friend bool operator==(const Output&, const Output&) = default;
};

// Values of the epilogue; only those that the descriptor uses are read.
struct EpilogueOperands {
  uint64_t alpha = 0, beta = 0;     // patterns of the epilogue's type: f64 where that accumulates, else f32
  std::span<const uint64_t> c;      // patterns of the output's type, one per requested output, in its order
  std::span<const uint64_t> bias;   // patterns of the output's type, one per column
};

// Values after the last addition, patterns of the plan's accumulator type, one per output: row `row` of `a` times row
// `column` of `b`, both of plan.k elements and made for the plan's kind of instruction. Uses up to `threads` threads
// (0: one per core). Results do not depend on threads.
std::vector<uint64_t> Accumulate(const Plan& plan, const Operand& a, const Operand& b, std::span<const Output> outputs,
                                 int threads = 1);

// The same by core/softfloat alone, one rounding after the other: slow, the reference of Accumulate.
uint64_t AccumulateReference(const Plan& plan, const Operand& a, const Operand& b, Output output);

// Applies the epilogue and rounds to the output's type. INVALID_ARGUMENT where operands are missing or do not fit.
absl::StatusOr<std::vector<uint64_t>> Finish(const GemmDesc& desc, std::span<const uint64_t> accumulated,
                                             std::span<const Output> outputs, const EpilogueOperands& operands);

// A whole product from packed little-endian operands: A m x k row-major, B n x k row-major (the contracted axis is
// contiguous in both), the result m x n row-major.
struct GemmOperands {
  int64_t m = 0, n = 0, k = 0;
  std::span<const uint8_t> a, b, c, bias;
  uint64_t alpha = 0, beta = 0;
};
absl::StatusOr<std::vector<uint8_t>> Emulate(const GemmDesc& desc, int sm, const GemmOperands& operands,
                                             int threads = 0);

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_EMULATOR_H_
