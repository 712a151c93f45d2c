#ifndef SAMEBITS_CORE_CHECKER_PRINT_H_
#define SAMEBITS_CORE_CHECKER_PRINT_H_

// Maps, trees and differences for people.

#include <string>

#include "core/checker/check.h"

namespace samebits::checker {

// The map of a checked launch: status, scope, and per output family its buffer, addresses, domain and tree.
std::string DescribeMap(const Check& check, Workspace* workspace);

// Where two checked launches of one workspace part: the first output element, in order of buffer and address, that one
// of them does not write, or whose trees or leaf addresses differ; and the first node at which those trees part.
Difference FindDifference(const Check& a, const Check& b, Workspace* workspace);

}  // namespace samebits::checker

#endif  // SAMEBITS_CORE_CHECKER_PRINT_H_
