#include "core/symexec/move_log.h"

namespace samebits::symexec {

using expr::Fn;
using expr::Scalar;

namespace {

constexpr int kMaxDepth = 3;

// Whether a move of the node is also one of its operands.
bool IsTransparent(const expr::NodeManager& nodes, const expr::Node& n, expr::NodeId id) {
  switch (n.fn) {
    case Fn::kConcat: case Fn::kExtract: case Fn::kSignFlip: case Fn::kFNeg: case Fn::kFAbs:
      return true;
    case Fn::kFAdd:
      return nodes.IsConst(nodes.child(id, 0).node) || nodes.IsConst(nodes.child(id, 1).node);
    default:
      return false;
  }
}

uint64_t InLane(uint64_t value, int lane) { return TableHash(value, static_cast<uint64_t>(lane) + 1); }

}  // namespace

uint64_t ValueKey(const expr::NodeManager& nodes, const Scalar& value, const SymbolicSpace& symbolic) {
  const Digest128& digest = nodes[value.node].digest;
  uint64_t h = TableHash(digest.hi, digest.lo);
  for (int i = 0; i < value.slots; ++i) {
    h = TableHash(h, static_cast<uint64_t>(value.anchor[i].offset));
    h = TableHash(h, TermsKey(symbolic, value.anchor[i].symbolic));
  }
  return h;
}

// Derived atoms are numbered as they come, so their keys name them. Terms stand in the order of atoms, which may differ
// too, so they are added up.
uint64_t TermsKey(const SymbolicSpace& symbolic, SymbolicId id) {
  uint64_t sum = 0;
  for (const auto& [atom, factor] : symbolic[id].terms) {
    const Atom* known = symbolic.atom(atom);
    const uint64_t name = known == nullptr ? atom : TableHash(known->key.hi, known->key.lo);
    sum += TableHash(TableHash(1, name), static_cast<uint64_t>(factor));
  }
  return sum;
}

void MoveLog::AddOne(const expr::NodeManager& nodes, const Scalar& value, int from, int to, Route route, int depth) {
  const expr::Node& n = nodes[value.node];
  if (wanted_.count(n.digest.lo) != 0) {
    const uint64_t key = ValueKey(nodes, value, *symbolic_);
    moves_.try_emplace(InLane(key, to), Move{from, route, order_});
    first_.try_emplace(key, Move{from, route, order_});
  }
  if (depth == kMaxDepth || !IsTransparent(nodes, n, value.node)) return;
  for (int i = 0; i < n.children; ++i) AddOne(nodes, nodes.ChildScalar(value, i), from, to, route, depth + 1);
}

void MoveLog::Add(const expr::NodeManager& nodes, const Scalar& value, int from, int to, Route route) {
  if (from == to || moves_.size() >= kMaxMoves) return;
  ++order_;
  Scalar absolute = value;
  for (int i = 0; i < absolute.slots; ++i)
    absolute.anchor[i].offset += symbolic_->At(absolute.anchor[i].symbolic, block_);
  AddOne(nodes, absolute, from, to, route, 0);
}

const MoveLog::Move* MoveLog::Find(uint64_t value, int lane) const {
  const auto& table = lane == kAnyLane ? first_ : moves_;
  const auto it = table.find(lane == kAnyLane ? value : InLane(value, lane));
  return it == table.end() ? nullptr : &it->second;
}

}  // namespace samebits::symexec
