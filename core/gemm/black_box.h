#ifndef SAMEBITS_CORE_GEMM_BLACK_BOX_H_
#define SAMEBITS_CORE_GEMM_BLACK_BOX_H_

// A library of matrix products under study: it answers with bytes, not with its arithmetic.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/gemm/emulator.h"
#include "core/gemm/gemm_desc.h"

namespace samebits::gemm {

// How operands lie in memory, by the names of cuBLAS's column-major call for the row-major D: the first letter is B's
// (T: its contracted axis is contiguous), the second A's (N: its contracted axis is contiguous). D's rows are contiguous.
enum class Layout : uint8_t { kTN, kNN, kNT, kTT };

// D (m x n) = A (m x k) * B (n x k) transposed, without epilogue.
struct GemmProblem {
  int64_t m = 1, n = 1, k = 1;
  FormatId a_type = FormatId::kF16, b_type = FormatId::kF16;
  FormatId accumulate_type = FormatId::kF32, output_type = FormatId::kF16;
  Layout layout = Layout::kTN;
  bool a_contiguous() const { return layout == Layout::kTN || layout == Layout::kNN; }  // along k
  bool b_contiguous() const { return layout == Layout::kTN || layout == Layout::kTT; }
  friend bool operator==(const GemmProblem&, const GemmProblem&) = default;
};

// "TN", and the inverse; INVALID_ARGUMENT for other words.
std::string ToText(Layout layout);
absl::StatusOr<Layout> ParseLayout(std::string_view text);

// "f16,f16,f32,f16" and the inverse, which sets the types of *problem. INVALID_ARGUMENT for what no descriptor may name.
std::string TypesText(const GemmProblem& problem);
absl::Status ParseTypes(std::string_view text, GemmProblem* problem);

// Bytes of a matrix in memory without padding. RESOURCE_EXHAUSTED above 2^46.
absl::StatusOr<int64_t> MatrixBytes(int64_t rows, int64_t columns, FormatId type);

// The answer of a library's cost model for a problem: numbers of its own, 0 where it has none.
struct Algorithm {
  int64_t id = 0, tile = 0, stages = 0, splits = 0, reduction = 0, swizzle = 0, custom = 0, inner = 0, cluster = 0;
  int64_t workspace_bytes = 0;
  friend bool operator==(const Algorithm&, const Algorithm&) = default;
};

// "id=66 tile=10 stages=35 splits=2 reduction=2 swizzle=0 custom=3 inner=0 cluster=9 workspace=0", and the inverse,
// fields in any order, each at most once, those left out 0. INVALID_ARGUMENT that quotes the offending word.
std::string ToText(const Algorithm& algorithm);
absl::StatusOr<Algorithm> ParseAlgorithm(std::string_view text);

// What a profile of one call says.
struct CallProfile {
  std::string kernel;          // name of the main kernel, or of the algorithm; for people
  int kernels = 1;             // launched; 0 where that is not known
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

  virtual int sm() const = 0;  // 90 for sm_90; 0 for a device without models of its matrix units

  // Whether `Choose` can be asked. Of other libraries a shape says nothing about any other shape.
  virtual bool tells_algorithm() const { return true; }

  // What the library would run, without running it. UNIMPLEMENTED where it has nothing for the problem, or no such
  // question can be asked of it.
  virtual absl::StatusOr<Algorithm> Choose(const GemmProblem& problem);

  virtual absl::StatusOr<CallProfile> Profile(const GemmProblem& problem) = 0;

  // One launch. `outputs` name positions in a.index and b.index; the patterns of D come back in their order.
  // UNIMPLEMENTED where the library has nothing for the problem.
  virtual absl::StatusOr<std::vector<uint64_t>> Multiply(const GemmProblem& problem, const SparseRows& a,
                                                         const SparseRows& b, std::span<const Output> outputs) = 0;
};

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_BLACK_BOX_H_
