#ifndef SAMEBITS_CORE_EXPR_FINGERPRINT_H_
#define SAMEBITS_CORE_EXPR_FINGERPRINT_H_

// Hashes of a program's values by what they compute, with absolute addresses: equal trees have equal hashes however
// their nodes group addresses. For naming reasons, not for verdicts: 64 bits.

#include <cstdint>
#include <vector>

#include "core/expr/program.h"

namespace samebits::expr {

// One hash a value. With `finite`, values count as equal that are equal wherever operands are finite numbers, no NaN
// arises and the sign of zero does not count: max(x, -inf) is x, -inf + x is -inf, x + 0 is x.
std::vector<uint64_t> Fingerprints(const Program& program, bool finite);

}  // namespace samebits::expr

#endif  // SAMEBITS_CORE_EXPR_FINGERPRINT_H_
