#ifndef SAMEBITS_CORE_CHECKER_EXPLAIN_TREE_BUILDER_H_
#define SAMEBITS_CORE_CHECKER_EXPLAIN_TREE_BUILDER_H_

// Two expressions as trees beside each other, folded to at most kMaxTreeNodes nodes each:
//   - what both hold is one node with a label;
//   - a stretch of operations that are alike but for one operand, and a chain of one operation (a running sum), keeps
//     its ends, and one node stands for the middle;
//   - what lies too deep is one node that names its loads.

#include <array>
#include <functional>

#include "core/checker/explain/census.h"
#include "core/checker/explain/tree_node.h"
#include "core/symexec/move_log.h"
#include "core/symexec/symbolic.h"

namespace samebits::checker {

// What is known of one launch's expression. The pointees outlive the call.
struct TreeSide {
  expr::Scalar root;                                 // absolute anchors of the element's block
  const symexec::SymbolicSpace* symbolic = nullptr;  // of its class
  std::array<uint32_t, 3> residues{1, 1, 1};         // of an open grid's block indices
  const Census* census = nullptr;
  int lane = 0;                                      // that stores it
  const symexec::MoveLog* moves = nullptr;           // null: scopes are not known
  std::function<Place(expr::NodeId)> place;
};

struct TreePair {
  Tree a, b;
};

TreePair BuildTrees(const expr::NodeManager& nodes, const TreeSide& a, const TreeSide& b);
// One tree with nothing to compare it with: all nodes are kOwn.
Tree BuildTree(const expr::NodeManager& nodes, const TreeSide& side);

}  // namespace samebits::checker

#endif  // SAMEBITS_CORE_CHECKER_EXPLAIN_TREE_BUILDER_H_
