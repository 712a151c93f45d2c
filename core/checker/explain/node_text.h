#ifndef SAMEBITS_CORE_CHECKER_EXPLAIN_NODE_TEXT_H_
#define SAMEBITS_CORE_CHECKER_EXPLAIN_NODE_TEXT_H_

// Nodes as short text for people. All results are one line of bounded length.

#include <array>
#include <string>
#include <vector>

#include "core/expr/node.h"
#include "core/symexec/symbolic.h"

namespace samebits::checker {

class NodeText {
 public:
  // `symbolic`: of the class that the values come from. Both outlive this. `residues`: of an open grid's block indices.
  NodeText(const expr::NodeManager& nodes, const symexec::SymbolicSpace& symbolic,
           const std::array<uint32_t, 3>& residues = {1, 1, 1})
      : nodes_(nodes), symbolic_(symbolic), residues_(residues) {}

  // Operation without operands ("fadd.rn.f32"), or a leaf in full ("x[12]").
  std::string Operation(const expr::Scalar& value) const;
  // As Operand `index` of `parent` sees the constant `value`: with its meaning as a number where that is known.
  std::string Constant(const expr::Scalar& value, const expr::Scalar* parent, int index) const;
  // The expression on one line, cut at a depth and to a few operands: "fmul.rn.f32(x[0], w[0])".
  std::string Inline(const expr::Scalar& value, int depth = 2) const;
  // Values in notation for runs: "x[0], x[4], ... x[60] (16 terms)".
  std::string Run(const std::vector<expr::Scalar>& values) const;
  // An address: "x[12]", "x[4096*ctaid.x + 12]".
  std::string Address(const expr::Anchor& anchor) const;

 private:
  void AppendInline(const expr::Scalar& value, int depth, std::string* out) const;
  std::string AtomName(symexec::AtomId atom) const;
  bool IsProgression(const std::vector<expr::Scalar>& values) const;
  const expr::NodeManager& nodes_;
  const symexec::SymbolicSpace& symbolic_;
  const std::array<uint32_t, 3> residues_;
};

}  // namespace samebits::checker

#endif  // SAMEBITS_CORE_CHECKER_EXPLAIN_NODE_TEXT_H_
