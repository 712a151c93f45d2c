#ifndef SAMEBITS_CORE_EXPR_ENCLOSURE_H_
#define SAMEBITS_CORE_EXPR_ENCLOSURE_H_

// Bounds on what a program can return on a device whose approximate functions are only known to keep the error bounds
// of the ISA (PTX ISA 9.7.3 and 9.7.4).
//
// Approximate results become intervals: the stand-in, widened by twice the ISA's bound and one unit. Rounded sums,
// products, quotients, roots, extremes and conversions are monotone in each operand, so their bounds are values at the
// corners. What is not known to be monotone has no bounds.

#include <vector>

#include "core/expr/program.h"

namespace samebits::expr {

// Whether the values `a` and `b` differ in every case. `values` are the program's, without contraction; a program with
// contractible sums gives false.
bool SurelyDiffer(const Program& program, const std::vector<Evaluated>& values, ValueId a, ValueId b);

// Index of the first of several pairs that do, or -1.
int FirstSurelyDifferent(const Program& program, const std::vector<Evaluated>& values,
                         const std::vector<std::pair<ValueId, ValueId>>& pairs);

}  // namespace samebits::expr

#endif  // SAMEBITS_CORE_EXPR_ENCLOSURE_H_
