#include "proto/convert/tree.h"

#include <algorithm>
#include <vector>

#include "proto/convert/convert.h"

namespace samebits::proto {
namespace {

// The enums of both sides have the same order; those of the API start with an unspecified value where the checker's do
// not. What a newer peer sends is read as the value given last.
v1::Scope ScopeToProto(checker::Scope scope) { return static_cast<v1::Scope>(scope); }

checker::Scope ScopeFromProto(v1::Scope scope) {
  return scope >= v1::SCOPE_THREAD && scope <= v1::SCOPE_GLOBAL ? static_cast<checker::Scope>(scope)
                                                                 : checker::Scope::kUnknown;
}

checker::TreeNode::Kind KindFromProto(v1::TreeNode::Kind kind) {
  return kind >= v1::TreeNode::OPERATION && kind <= v1::TreeNode::FOLD
             ? static_cast<checker::TreeNode::Kind>(static_cast<int>(kind) - 1)
             : checker::TreeNode::Kind::kOperation;
}

checker::TreeNode::Match MatchFromProto(v1::TreeNode::Match match) {
  return match >= v1::TreeNode::SAME && match <= v1::TreeNode::OWN
             ? static_cast<checker::TreeNode::Match>(static_cast<int>(match) - 1)
             : checker::TreeNode::Match::kOwn;
}

void NodeToProto(const checker::TreeNode& node, v1::TreeNode* out) {
  out->set_kind(static_cast<v1::TreeNode::Kind>(static_cast<int>(node.kind) + 1));
  out->set_match(static_cast<v1::TreeNode::Match>(static_cast<int>(node.match) + 1));
  out->set_scope(ScopeToProto(node.scope));
  out->set_reached(ScopeToProto(node.reached));
  SetText(node.text, out->mutable_text());
  SetText(node.detail, out->mutable_detail());
  for (const uint32_t child : node.children) out->add_children(child);
  if (node.partner != checker::TreeNode::kNone) out->set_partner(node.partner);
  out->set_label(node.label);
  out->set_folded(node.folded);
  if (IsSet(node.place)) PlaceToProto(node.place, out->mutable_place());
}

}  // namespace

bool IsSet(const checker::Place& place) {
  return place.line != 0 || !place.instruction.empty() || !place.source.empty();
}

void PlaceToProto(const checker::Place& place, v1::Place* out) {
  out->set_line(place.line);
  out->set_column(place.column);
  SetText(place.instruction, out->mutable_instruction());
  SetText(place.source, out->mutable_source());
}

checker::Place PlaceFromProto(const v1::Place& place) {
  return {place.line(), place.column(), place.instruction(), place.source()};
}

void TreeToProto(const checker::Tree& tree, v1::PartingSide* out) {
  for (const checker::TreeNode& node : tree) NodeToProto(node, out->add_nodes());
}

checker::Tree TreeFromProto(const v1::PartingSide& side) {
  const size_t count = std::min<size_t>(static_cast<size_t>(side.nodes_size()), checker::kMaxTreeNodes);
  checker::Tree tree(count);
  std::vector<bool> has_parent(count, false);
  for (size_t i = 0; i < count; ++i) {
    const v1::TreeNode& from = side.nodes(static_cast<int>(i));
    checker::TreeNode& node = tree[i];
    node.kind = KindFromProto(from.kind());
    node.match = MatchFromProto(from.match());
    node.scope = ScopeFromProto(from.scope());
    node.reached = ScopeFromProto(from.reached());
    node.text = from.text();
    node.detail = from.detail();
    for (const uint32_t child : from.children()) {
      if (child <= i || child >= count || has_parent[child]) continue;
      has_parent[child] = true;
      node.children.push_back(child);
    }
    if (from.has_partner() && from.partner() < checker::kMaxTreeNodes) node.partner = from.partner();
    node.label = from.label();
    node.folded = from.folded();
    node.place = PlaceFromProto(from.place());
  }
  return tree;
}

}  // namespace samebits::proto
