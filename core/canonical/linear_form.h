#ifndef SAMEBITS_CORE_CANONICAL_LINEAR_FORM_H_
#define SAMEBITS_CORE_CANONICAL_LINEAR_FORM_H_

// The linear form of a small tree: a slot for each place at which it reads, as in a linear term each variable stands
// once. Whether reads of one buffer share an anchor depends on what the launch knows of their distance; in linear form
// the tree is one node for all distances, and they are in the anchors alone.

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "core/expr/node.h"

namespace samebits::canonical {

struct LinearForm {
  struct Source {
    uint8_t slot = 0;   // of the original
    int64_t shift = 0;  // what its anchor is more than the original's
  };
  expr::NodeId node = 0;
  uint8_t slots = 0;
  std::array<Source, expr::kMaxSlots> from;
};

// Finds linear forms and keeps them. Not thread-safe; `nodes` outlives it.
class LinearForms {
 public:
  static constexpr int kMaxTree = 256;  // operations and leaves, each as often as it occurs

  explicit LinearForms(expr::NodeManager* nodes) : nodes_(*nodes) {}

  // Null where it is of no use (no buffer is read at two places) and where there is none: trees that are too large or
  // read at more than kMaxSlots places, trees with multisets, gathers or folds, and trees with a commutative operation
  // whose two operands differ in their anchors alone, so that the distance decides their order. Valid until the next
  // call.
  const LinearForm* Find(expr::NodeId node);
  // `value`, whose node has the form.
  expr::Scalar Apply(const LinearForm& form, const expr::Scalar& value) const;

 private:
  bool WorthWhile(expr::NodeId node) const;
  bool Build(expr::NodeId node, LinearForm* out);

  expr::NodeManager& nodes_;
  std::unordered_map<expr::NodeId, std::optional<LinearForm>> forms_;
};

}  // namespace samebits::canonical

#endif  // SAMEBITS_CORE_CANONICAL_LINEAR_FORM_H_
