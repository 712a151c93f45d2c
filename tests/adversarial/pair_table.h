#ifndef SAMEBITS_TESTS_ADVERSARIAL_PAIR_TABLE_H_
#define SAMEBITS_TESTS_ADVERSARIAL_PAIR_TABLE_H_

// The table of adversarial pairs: kernels.jsonl (texts, launches, buffers) and pairs.jsonl (edits, expectations). Their
// fields are described in README.md beside this file.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/checker/checker.h"

namespace samebits::adversarial {

struct Buffer {
  std::string dtype;      // "f32" or "f16"
  uint64_t elements = 0;
  bool is_input = false;  // starts with inputs; others start as zeros
  bool is_output = false;
};

// One launch of a pair.
struct Side {
  std::string text;
  checker::Launch launch;
  std::map<std::string, Buffer> buffers;
};

struct Pair {
  std::string name;
  Side a, b;
  std::vector<std::string> allowed;  // EQUIVALENT, NOT_EQUIVALENT, NONDETERMINISTIC, UNKNOWN
  std::string known;                 // the answer of today where it falls short of the expectation; empty: none
  bool has_witness = true;           // false: no input shows the difference without the assembler's choices
  std::vector<std::map<std::string, uint32_t>> fills;  // further inputs: buffers filled with one f32 pattern
};

// All pairs in file order. An error names the line or pair: JSON that does not parse, an edit that does not match.
absl::StatusOr<std::vector<Pair>> LoadPairs(const std::string& folder);

}  // namespace samebits::adversarial

#endif  // SAMEBITS_TESTS_ADVERSARIAL_PAIR_TABLE_H_
