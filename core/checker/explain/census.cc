#include "core/checker/explain/census.h"

#include <algorithm>
#include <deque>

#include "core/symexec/move_log.h"

namespace samebits::checker {

using expr::Fn;
using expr::NodeId;
using expr::Scalar;

namespace {

uint32_t Saturated(uint32_t a, uint32_t b) { return a + b < a ? UINT32_MAX : a + b; }

}  // namespace

Census::Census(const expr::NodeManager& nodes, const symexec::SymbolicSpace& symbolic, const Scalar& root)
    : nodes_(nodes), symbolic_(symbolic) {
  Count(root.node);
  Collect(symbolic, root);
}

// Operands are older than what they are operands of, so ids ascend from leaf to root.
void Census::Count(NodeId root) {
  std::vector<bool> live(root + 1, false);
  live[root] = true;
  const auto for_children = [this](NodeId id, auto f) {
    const int n = nodes_[id].children;
    if (n == 0) return;
    expr::ChildRef child = nodes_.child(id, 0);
    for (int i = 0;; child = child.next()) {
      if (child.node < id) f(child.node);
      if (++i == n) return;
    }
  };
  for (NodeId id = root + 1; id-- > 0;)
    if (live[id]) for_children(id, [&](NodeId c) { live[c] = true; });
  operations_.assign(root + 1, 0);
  loads_.assign(root + 1, 0);
  for (NodeId id = 0; id <= root; ++id) {
    if (!live[id]) continue;
    digests_.insert(nodes_[id].digest.lo);
    operations_[id] = nodes_[id].children > 0 ? 1 : 0;
    loads_[id] = nodes_[id].fn == Fn::kLeaf ? 1 : 0;
    for_children(id, [&](NodeId c) {
      operations_[id] = Saturated(operations_[id], operations_[c]);
      loads_[id] = Saturated(loads_[id], loads_[c]);
    });
  }
}

void Census::Collect(const symexec::SymbolicSpace& symbolic, const Scalar& root) {
  std::deque<Scalar> queue = {root};
  values_.insert(symexec::ValueKey(nodes_, root, symbolic));
  while (!queue.empty() && values_.size() < kMaxValues) {
    const Scalar value = queue.front();
    queue.pop_front();
    for (int i = 0; i < nodes_[value.node].children; ++i) {
      const Scalar child = nodes_.ChildScalar(value, i);
      if (values_.insert(symexec::ValueKey(nodes_, child, symbolic)).second) queue.push_back(child);
    }
  }
}

bool Census::Loads(const Scalar& value, size_t limit, std::vector<Scalar>* out) const {
  std::vector<Scalar> stack = {value};
  std::unordered_set<uint64_t> seen;
  while (!stack.empty()) {
    const Scalar v = stack.back();
    stack.pop_back();
    if (nodes_[v.node].fn == Fn::kLeaf) out->push_back(v);
    if (out->size() > limit) return false;
    for (int i = 0; i < nodes_[v.node].children; ++i) {
      const Scalar child = nodes_.ChildScalar(v, i);
      if (loads(child.node) == 0 || !seen.insert(symexec::ValueKey(nodes_, child, symbolic_)).second) continue;
      if (seen.size() > 8 * limit) return false;
      stack.push_back(child);
    }
  }
  std::sort(out->begin(), out->end(), [](const Scalar& a, const Scalar& b) {
    return std::pair(a.anchor[0].buffer, a.anchor[0].offset) < std::pair(b.anchor[0].buffer, b.anchor[0].offset);
  });
  return true;
}

}  // namespace samebits::checker
