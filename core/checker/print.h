#ifndef SAMEBITS_CORE_CHECKER_PRINT_H_
#define SAMEBITS_CORE_CHECKER_PRINT_H_

// Maps and trees for people.

#include <functional>
#include <string>

#include "core/checker/check.h"

namespace samebits::checker {

// The map of a checked launch: status, scope, and per output family its buffer, addresses, domain and tree.
std::string DescribeMap(const Check& check, Workspace* workspace);

// Line of the text that made a node, 0 where it is not known.
using LineOf = std::function<uint32_t(expr::NodeId)>;

// An expression with absolute addresses, a node a line, cut at a depth and a number of nodes.
std::string PrintTree(const expr::NodeManager& nodes, const expr::Scalar& value, const LineOf& line_of, int depth,
                      int budget);

}  // namespace samebits::checker

#endif  // SAMEBITS_CORE_CHECKER_PRINT_H_
