#ifndef SAMEBITS_TESTS_SUPPORT_PAIRS_PAIRS_H_
#define SAMEBITS_TESTS_SUPPORT_PAIRS_PAIRS_H_

// Small kernels for tests: a fixed frame round a few lines of PTX, and pairs of them with the answer they must get.

#include <string>
#include <string_view>
#include <vector>

#include "core/checker/checker.h"

namespace samebits::checker {

// The frame: pointers a, b and o; %r0 = %tid.x; %rd4, %rd5, %rd6 = a, b, o + 4 * tid; %rd7 = o + 16 * tid;
// %r1 = &s + 4 * tid, s being 4096 bytes of shared memory. `body` may use %p, %h, %r, %rd, %f, %d up to 31.
std::string Kernel(std::string_view body, std::string_view target = "sm_80", std::string_view functions = "");

Launch FrameLaunch(uint32_t threads = 32, uint32_t blocks = 1);

enum class Expect { kEquivalent, kDistinct, kNondeterministic, kUnknown, kNotEquivalent };

struct Pair {
  const char* name;
  const char* a;
  const char* b;
  Expect expect;
  uint32_t threads = 32;
  uint32_t blocks = 1;
  const char* target = "sm_80";
  const char* functions = "";  // device functions before the entry
};

// Signature of a framed body; a failed parse fails the test.
Signature SignatureOf(std::string_view body, const Launch& launch, std::string_view target = "sm_80",
                      std::string_view functions = "");

// Compares both bodies of the pair under the frame's launch and checks the answer.
void CheckPair(const Pair& pair);

// Lines that load a[tid] as f32 into %f0 and b[tid] into %f1.
inline constexpr std::string_view kLoadBoth = "ld.global.f32 %f0, [%rd4];\nld.global.f32 %f1, [%rd5];\n";

}  // namespace samebits::checker

#endif  // SAMEBITS_TESTS_SUPPORT_PAIRS_PAIRS_H_
