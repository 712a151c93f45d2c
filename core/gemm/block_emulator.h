#ifndef SAMEBITS_CORE_GEMM_BLOCK_EMULATOR_H_
#define SAMEBITS_CORE_GEMM_BLOCK_EMULATOR_H_

// Products of any size, computed in blocks of outputs, with operands that need not be in memory at once.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/gemm/emulator.h"

namespace samebits::gemm {

// How the outputs of a product are cut into blocks: all of one size but the last. What is cut depends on the arguments alone.
struct OutputBlocks {
  int64_t outputs = 0, block = 1;

  int64_t count() const { return (outputs + block - 1) / block; }
  int64_t first(int64_t number) const { return number * block; }
  int64_t size(int64_t number) const { return std::min(block, outputs - first(number)); }
};

// At most this many, of about a second of one core each; whole rows of n outputs where a block has room for one.
inline constexpr int64_t kMostBlocks = 4096;
OutputBlocks BlocksOf(int64_t outputs, int64_t n, int64_t k);

// Of `threads` (0: one per core) as many as find memory for products of rows of k elements, at least one.
int ThreadsFor(int threads, int64_t k);

// Patterns of rows of an operand, plan.k each, row after row.
using OperandRows = std::function<absl::StatusOr<std::vector<uint64_t>>(std::span<const int64_t> rows)>;

struct BlockedProduct {
  GemmDesc desc;
  Plan plan;
  int64_t n = 0;
  std::vector<Output> chosen;  // the outputs, in order; empty: all of m x n, row after row
  OperandRows a, b;
  // Where the epilogue uses them: C at these outputs, and a value for each column.
  std::function<absl::StatusOr<std::vector<uint64_t>>(std::span<const Output>)> c;
  std::vector<uint64_t> bias;
  uint64_t alpha = 0, beta = 0;  // as EpilogueOperands

  Output At(int64_t index) const { return chosen.empty() ? Output{index / n, index % n} : chosen[index]; }
};

// Keeps the rows of the last call, for blocks that follow one another need the same ones of B. Not thread-safe.
class BlockEmulator {
 public:
  // `product` outlives it. `threads`: at most ThreadsFor. At most about `most_elements` of each operand are in memory at a time.
  BlockEmulator(const BlockedProduct* product, int threads, int64_t most_elements = int64_t{1} << 24)
      : product_(*product), threads_(threads), most_elements_(most_elements) {}

  // Outputs [first, first + count), little-endian elements of the output's type. Errors are those of operands.
  absl::StatusOr<std::vector<uint8_t>> Run(int64_t first, int64_t count);

 private:
  struct Rows {
    std::vector<int64_t> index;  // ascending
    std::optional<Operand> operand;
  };
  absl::Status Fetch(const OperandRows& from, FormatId type, std::vector<int64_t> index, Rows* rows);
  // A part whose rows fit into memory: positions in `outputs`.
  absl::Status RunPart(std::span<const Output> outputs, std::span<const size_t> part, std::vector<uint64_t>* sums);

  const BlockedProduct& product_;
  const int threads_;
  const int64_t most_elements_;
  Rows a_, b_;
};

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_BLOCK_EMULATOR_H_
