#ifndef SAMEBITS_CORE_CHECKER_DIFFERENCE_H_
#define SAMEBITS_CORE_CHECKER_DIFFERENCE_H_

#include "core/checker/check.h"

namespace samebits::checker {

// The first output element where two launches of one workspace part: `a` ran first. Both have digests, which differ.
Difference FindDifference(const Check& a, const Check& b, const Options& options, Workspace* workspace);

}  // namespace samebits::checker

#endif  // SAMEBITS_CORE_CHECKER_DIFFERENCE_H_
