#ifndef SAMEBITS_TESTS_SUPPORT_EVALUATION_EVALUATION_H_
#define SAMEBITS_TESTS_SUPPORT_EVALUATION_EVALUATION_H_

// The two ways to the bytes that a launch writes: the checker's map, evaluated on concrete buffers, and the direct
// interpreter. Tests compare them.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/checker/checker.h"

namespace samebits::evaluation {

// Buffer contents by name: an argument's `buffer`, or "arg<i>" where that is empty.
using Contents = std::map<std::string, std::vector<uint8_t>>;

enum class ByteState : uint8_t { kUntouched, kWritten, kUndefined };

// A buffer after the launch.
struct Buffer {
  std::vector<uint8_t> bytes;  // initial contents where untouched
  std::vector<ByteState> states;
};

struct Outcome {
  std::map<std::string, Buffer> buffers;
  bool inexact = false;  // approximate functions took part: bits are those of their stand-ins
};

struct Evaluation {
  checker::Signature signature;
  Outcome outcome;  // only where signature.status is kOk
};

struct EvaluationLimits {
  uint64_t max_elements = 1u << 22;       // written elements; more is RESOURCE_EXHAUSTED
  uint64_t max_evaluated = ~uint64_t{0};  // about so many of a buffer are evaluated, the others are kUndefined
};

// Grid and all arguments must be known. Errors: as checker::ComputeSignature and expr::Evaluator; OUT_OF_RANGE for
// writes outside `contents`.
absl::StatusOr<Evaluation> EvaluateLaunch(std::string_view text, const checker::Launch& launch,
                                          const Contents& contents, const checker::Options& options = {},
                                          const EvaluationLimits& limits = {});

// The same by the interpreter. Errors as interpreter::Run.
absl::StatusOr<Outcome> InterpretLaunch(std::string_view text, const checker::Launch& launch, const Contents& contents,
                                        uint64_t max_steps = 100'000'000);

// Contents for every pointer argument of a launch that has a signature: as long as its reads and writes reach (`room`
// where it is read at addresses that depend on data), filled with numbers that are harmless in f32, f16, bf16 and fp8
// alike.
absl::StatusOr<Contents> MakeContents(std::string_view text, const checker::Launch& launch, uint64_t seed,
                                      const checker::Options& options = {}, uint64_t room = 1u << 16);

// The first byte at which the two part, in words; empty where there is none. Bytes that either calls undefined count as
// equal, wherever both or only one of them wrote.
std::string FirstMismatch(const Outcome& evaluated, const Outcome& interpreted);

}  // namespace samebits::evaluation

#endif  // SAMEBITS_TESTS_SUPPORT_EVALUATION_EVALUATION_H_
