#ifndef SAMEBITS_CORE_CHECKER_WITNESS_H_
#define SAMEBITS_CORE_CHECKER_WITNESS_H_

// Search for an input on which two checked launches write different bits.

#include "core/checker/check.h"

namespace samebits::checker {

struct SearchResult {
  std::optional<Witness> witness;
  Cause cause = Cause::kNone;
  std::string cause_text;
  uint64_t inputs_tried = 0;
};

// Both checks are of one workspace whose rewrites are exact (signed zero is not ignored) and have signatures that
// differ. With `options.ignore_signed_zero` zeros of either sign count as equal. Deterministic but for the limit of time.
SearchResult SearchWitness(const Check& a, const Check& b, Workspace* workspace, const Options& options);

}  // namespace samebits::checker

#endif  // SAMEBITS_CORE_CHECKER_WITNESS_H_
