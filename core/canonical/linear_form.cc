#include "core/canonical/linear_form.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace samebits::canonical {

using expr::BufferId;
using expr::ChildRef;
using expr::Fn;
using expr::NodeId;
using expr::Scalar;

namespace {

// Whether operands 0 and 1 may be exchanged.
bool Commutes(const expr::NodeManager& nodes, const expr::Node& n) {
  if (n.fn == Fn::kFFma) return true;
  if (n.fn == Fn::kFCompare || n.fn == Fn::kICompare) return expr::IsSymmetric(expr::Attr::Decode(n.attr).compare);
  if (n.fn != Fn::kIsa) return n.children == 2 && expr::IsCommutative(n.fn);
  const expr::IsaOperation* isa = nodes.isa(n.attr);
  return isa != nullptr && isa->spelling.empty();
}

bool HasForm(const expr::Node& n) { return n.fn != Fn::kFold && n.fn != Fn::kGather && !expr::IsAssociative(n.fn); }

}  // namespace

// Visits no more than kMaxTree places.
bool LinearForms::WorthWhile(NodeId root) const {
  std::vector<NodeId> open = {root};
  std::vector<BufferId> read;
  bool twice = false;
  for (size_t visited = 0; !open.empty(); ++visited) {
    const NodeId id = open.back();
    const expr::Node& n = nodes_[id];
    open.pop_back();
    if (!HasForm(n) || visited + open.size() + n.children >= kMaxTree) return false;
    if (n.children == 0) {
      if (n.slots == 0) continue;
      const BufferId buffer = nodes_.slot_buffer(id, 0);
      twice |= std::find(read.begin(), read.end(), buffer) != read.end();
      read.push_back(buffer);
      continue;
    }
    if (n.slots == 0) continue;
    ChildRef c = nodes_.child(id, 0);
    for (int i = 0; i < n.children; ++i) {
      open.push_back(c.node);
      if (i + 1 < n.children) c = c.next();
    }
  }
  return twice;
}

// Of a tree that WorthWhile has bounded.
bool LinearForms::Build(NodeId id, LinearForm* out) {
  const expr::Node n = nodes_[id];
  if (n.slots == 0 || n.children == 0) {
    out->node = id;
    out->slots = n.slots;
    return true;
  }
  // A place where the tree reads is known by its number, which stands in for the symbolic part of its anchor.
  std::vector<LinearForm::Source> places;
  std::vector<Scalar> children(n.children);
  for (int i = 0; i < n.children; ++i) {
    LinearForm form;
    if (!Build(nodes_.child(id, i).node, &form)) return false;
    const ChildRef child = nodes_.child(id, i);  // building may have moved the first
    Scalar& s = children[i];
    s.node = form.node;
    s.slots = form.slots;
    for (int j = 0; j < form.slots; ++j) {
      const LinearForm::Source& from = form.from[j];
      places.push_back({static_cast<uint8_t>(child.parent_slot(from.slot)), child.shift(from.slot) + from.shift});
      s.anchor[j] = {0, static_cast<expr::SymbolicId>(places.size()), nodes_.slot_buffer(form.node, j), 0};
    }
  }
  if (Commutes(nodes_, n)) {
    Scalar &a = children[0], &b = children[1];
    if (nodes_[b.node].digest < nodes_[a.node].digest) std::swap(a, b);
    if (a.node == b.node)
      for (int j = 0; j < a.slots; ++j) {
        const LinearForm::Source &x = places[a.anchor[j].symbolic - 1], &y = places[b.anchor[j].symbolic - 1];
        if (x.slot != y.slot || x.shift != y.shift) return false;
      }
  }
  Scalar made;
  if (!nodes_.Make(n.fn, n.attr, n.width, n.facts, children.data(), n.children, &made)) return false;
  out->node = made.node;
  out->slots = made.slots;
  for (int j = 0; j < made.slots; ++j) out->from[j] = places[made.anchor[j].symbolic - 1];
  return true;
}

const LinearForm* LinearForms::Find(NodeId node) {
  if (nodes_[node].reads < 2 || nodes_[node].reads > expr::kMaxSlots) return nullptr;
  auto [it, fresh] = forms_.try_emplace(node);
  if (fresh) {
    LinearForm form;
    if (WorthWhile(node) && Build(node, &form)) it->second = form;
  }
  return it->second ? &*it->second : nullptr;
}

Scalar LinearForms::Apply(const LinearForm& form, const Scalar& value) const {
  Scalar out;
  out.node = form.node;
  out.slots = form.slots;
  for (int j = 0; j < form.slots; ++j) {
    out.anchor[j] = value.anchor[form.from[j].slot];
    out.anchor[j].offset += form.from[j].shift;
    out.anchor[j].buffer = nodes_.slot_buffer(form.node, j);
  }
  return out;
}

}  // namespace samebits::canonical
