#ifndef SAMEBITS_CORE_CHECKER_PARTING_H_
#define SAMEBITS_CORE_CHECKER_PARTING_H_

// The output elements at which two checked launches part.

#include <functional>
#include <vector>

#include "core/checker/check.h"

namespace samebits::checker {

// Bytes of one buffer that both launches write, with different values, or that one of them writes alone.
struct Parting {
  expr::BufferId buffer = 0;
  int64_t address = 0;
  uint32_t bytes = 0;
  const Element* a = nullptr;  // null: does not write them
  const Element* b = nullptr;
  expr::Scalar value_a, value_b;  // of the elements, which may be longer than the parting bytes
};

// Calls `found` for the partings of one buffer in order of address until it returns false, then `end_walk` where given.
// False where there are too many elements to walk. Elements are valid until `end_walk` returns.
bool WalkPartings(const Check& a, const Check& b, Workspace* workspace, expr::BufferId buffer,
                  const std::function<bool(const Parting&)>& found, const std::function<void()>& end_walk = nullptr);

// Buffers whose maps differ, in order.
std::vector<expr::BufferId> DifferingBuffers(const Check& a, const Check& b);

// Descends from a pair of trees to the first nodes at which they part: while both have the same operation and one
// differing operand, where exchanging operands that commute makes no difference.
void DescendToParting(const expr::NodeManager& nodes, expr::Scalar* a, expr::Scalar* b);

}  // namespace samebits::checker

#endif  // SAMEBITS_CORE_CHECKER_PARTING_H_
