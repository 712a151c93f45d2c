#ifndef SAMEBITS_TESTS_DIFFERENTIAL_KERNEL_H_
#define SAMEBITS_TESTS_DIFFERENTIAL_KERNEL_H_

// One kernel's output bytes by its symbolic map: every written element's tree, evaluated on concrete inputs.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/checker/checker.h"
#include "tests/differential/oracle_table.h"

namespace samebits::differential {

// Buffers by name, before or after the launch.
using Contents = std::map<std::string, std::vector<uint8_t>>;

struct KernelResult {
  checker::Signature signature;
  // Below only where signature.status is kOk.
  std::vector<Contents> after;       // of all buffers, one a draw
  uint64_t elements = 0;             // written by the launch
  uint64_t evaluated = 0;            // fewer where time ran out
  std::vector<uint64_t> unanswered;  // per draw: elements that need an answer which the oracle lacks
  std::vector<uint64_t> undefined;   // per draw: elements whose tree holds what was never written
  uint64_t inexact = 0;              // elements of any draw that took a stand-in of an approximate function
};

// Evaluates on each of `draws`, all of them at once, until `seconds` have passed. Errors: as checker::ComputeSignature
// and expr::Evaluator; UNIMPLEMENTED for atomic stores; OUT_OF_RANGE for writes outside the buffers.
absl::StatusOr<KernelResult> EvaluateKernel(const std::string& text, const checker::Launch& launch,
                                            const std::vector<Contents>& draws, OracleTable* oracle, double seconds);

}  // namespace samebits::differential

#endif  // SAMEBITS_TESTS_DIFFERENTIAL_KERNEL_H_
