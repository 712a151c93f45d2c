#ifndef SAMEBITS_CORE_EXPR_FINGERPRINT_H_
#define SAMEBITS_CORE_EXPR_FINGERPRINT_H_

// Hashes of a program's values by what they compute, with absolute addresses: equal trees have equal hashes however
// their nodes group addresses. For naming reasons, not for verdicts: 64 bits.

#include <cstdint>
#include <vector>

#include "core/expr/program.h"

namespace samebits::expr {

enum class Sameness : uint8_t {
  kBits,          // equal trees
  kUncontracted,  // equal but for which products may be fused into sums
  // Equal wherever operands are finite numbers, no NaN arises and the sign of zero does not count: max(x, -inf) is x,
  // -inf + x is -inf, x + 0 and x * 1 are x.
  kFinite,
};

// One hash a value.
std::vector<uint64_t> Fingerprints(const Program& program, Sameness sameness);

}  // namespace samebits::expr

#endif  // SAMEBITS_CORE_EXPR_FINGERPRINT_H_
