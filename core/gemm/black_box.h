#ifndef SAMEBITS_CORE_GEMM_BLACK_BOX_H_
#define SAMEBITS_CORE_GEMM_BLACK_BOX_H_

// A library of matrix products under study: it answers with bytes, not with its arithmetic.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/gemm/emulator.h"
#include "core/gemm/gemm_desc.h"

namespace samebits::gemm {

// D (m x n) = A (m x k) * B (n x k) transposed, without epilogue.
struct GemmProblem {
  int64_t m = 1, n = 1, k = 1;
  FormatId a_type = FormatId::kF16, b_type = FormatId::kF16;
  FormatId accumulate_type = FormatId::kF32, output_type = FormatId::kF16;
};

// What a profile of one call says.
struct CallProfile {
  std::string kernel;          // name of the main kernel, or of the algorithm; for people
  int kernels = 1;             // launched
  bool scalar = false;         // known to use scalar instructions
  bool matrix = false;         // known to use matrix instructions
  Instruction instruction = Instruction::kMma;  // which, where `matrix`
  int64_t workspace_bytes = 0;
};

// Rows of an operand; rows that are not listed are zero.
struct SparseRows {
  std::vector<int64_t> index;      // ascending, below the operand's number of rows
  std::vector<uint64_t> patterns;  // index.size() * k, row-major
};

class BlackBox {
 public:
  virtual ~BlackBox() = default;

  virtual int sm() const = 0;  // 90 for sm_90
  virtual absl::StatusOr<CallProfile> Profile(const GemmProblem& problem) = 0;

  // One launch. `outputs` name positions in a.index and b.index; the patterns of D come back in their order.
  virtual absl::StatusOr<std::vector<uint64_t>> Multiply(const GemmProblem& problem, const SparseRows& a,
                                                         const SparseRows& b, std::span<const Output> outputs) = 0;
};

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_BLACK_BOX_H_
