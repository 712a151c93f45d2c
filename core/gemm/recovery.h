#ifndef SAMEBITS_CORE_GEMM_RECOVERY_H_
#define SAMEBITS_CORE_GEMM_RECOVERY_H_

// From a black box to a descriptor ("Taming Bitwise Behavior in GPU Kernels with Tensor Core", section 4): the profile
// narrows the instructions, probes read the tree of sums from the top, what stays open is eliminated on random
// operands, and the survivor is accepted only where it reproduces fresh draws bit for bit.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/gemm/black_box.h"

namespace samebits::gemm {

struct RecoveryOptions {
  uint64_t seed = 1;
  int most_launches = 400;      // a problem that needs more is unexplained
  int probes_per_launch = 64;
  int draws = 10;               // that must be reproduced
  int sample_side = 8;          // rows and columns of the outputs that are compared, corners and edges among them
  int threads = 1;
};

// The first output that the closest candidate does not reproduce.
struct Mismatch {
  Output output;
  uint64_t expected = 0, library = 0;  // patterns of the output's type
};

struct Recovery {
  bool explained = false;
  GemmDesc desc;               // where not explained: the closest candidate
  int64_t summed_k = 0;        // less than k: the library drops the tail, a defect
  int64_t launches = 0;
  int64_t outputs_compared = 0;
  std::vector<std::string> evidence;  // what was asked and what came of it, in order
  std::string reason;                 // why it is not explained
  std::optional<Mismatch> mismatch;
};

// Errors are those of the black box. What the library does is never an error: it is explained or not.
absl::StatusOr<Recovery> Recover(BlackBox* box, const GemmProblem& problem, const RecoveryOptions& options);

// Compiles for problem.k, of which only the first `summed_k` elements are summed.
absl::StatusOr<Plan> CompileDefective(const GemmDesc& desc, int64_t k, int64_t summed_k, int sm);

// Random operands for validation. `draw` chooses among distributions: near one, many magnitudes, few distinct values.
std::vector<uint64_t> DrawPatterns(FormatId type, int64_t count, uint64_t seed, int draw);

// Operands for one comparison of a problem's library with its descriptor.
struct DrawnOperands {
  SparseRows a, b;
  std::vector<Output> outputs;  // all pairs of the listed rows
};

// Rows of A and B with corners and edges among them, about `side` each, more of one where the other has fewer, as far
// as k allows. `draw` chooses among the distributions of DrawPatterns and one whose products cancel in pairs, so that
// what comes out is what roundings leave: any other order of sums shows in nearly every output.
DrawnOperands DrawOperands(const GemmProblem& problem, int64_t side, uint64_t seed, int draw);

// Rows of two values each, whose products with 2^64 are -2^127 and 2^128: whether a product was rounded before it was
// added shows, though products of this type are exact within the accumulator's range. For bf16 and f32.
std::vector<uint64_t> DrawEdgePatterns(FormatId type, int64_t k, int64_t rows, uint64_t seed);

// Rows whose values cancel in pairs: against ones, what roundings leave is all that comes out.
std::vector<uint64_t> DrawCancellingPatterns(FormatId type, int64_t k, int64_t rows, uint64_t seed);

// Rows of three values each: against ones, two of them sum to a tie of `output`, and the third decides it, unless a
// rounding drops it.
std::vector<uint64_t> DrawTiePatterns(FormatId type, FormatId output, int64_t k, int64_t rows, uint64_t seed);

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_RECOVERY_H_
