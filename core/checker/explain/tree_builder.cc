#include "core/checker/explain/tree_builder.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/checker/explain/node_text.h"

namespace samebits::checker {

using expr::Fn;
using expr::NodeId;
using expr::Scalar;
using symexec::MoveLog;

namespace {

using Kind = TreeNode::Kind;
using Match = TreeNode::Match;

constexpr size_t kMaxText = 160;
constexpr size_t kMinRun = 7;                 // shorter stretches and chains are shown in full
constexpr size_t kRunEnd = 2;                 // levels shown at each end of a longer one
constexpr size_t kMaxRun = 1 << 16;           // levels of one stretch or chain
constexpr size_t kMaxLoads = 4096;            // looked at to describe what lies too deep
constexpr uint64_t kMinRepeat = 4;            // operations of a sibling of the same shape that is folded

// How much is shown, from most to least.
struct Extent {
  int depth;
  bool folds_repeats;  // of siblings of one shape over other addresses, the first is shown
};
constexpr Extent kExtents[] = {{40, false}, {40, true}, {24, true}, {16, true}, {12, true}, {9, true},
                               {7, true},   {5, true},  {4, true},  {3, true},  {2, true},  {1, true}};

std::string Cut(std::string text) {
  if (text.size() > kMaxText) text = text.substr(0, kMaxText - 3) + "...";
  return text;
}

std::string Grouped(uint64_t count) {
  std::string digits = absl::StrCat(count);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

std::string Counted(uint64_t count, std::string_view what) {
  return absl::StrCat(Grouped(count), " ", std::string(what), count == 1 ? "" : "s");
}

Scope ScopeOf(MoveLog::Route route) {
  switch (route) {
    case MoveLog::Route::kOwn: return Scope::kThread;
    case MoveLog::Route::kWarp: return Scope::kWarp;
    case MoveLog::Route::kShared: return Scope::kShared;
  }
  return Scope::kUnknown;
}

// A value, where it was made, and how it came to its user.
struct Arrived {
  Scalar value;
  int lane = 0;
  Scope reached = Scope::kUnknown;
};

// One level of a stretch or chain: the operand that goes on, the others.
struct Level {
  Arrived node;
  int next = 0;
};

class Builder {
 public:
  Builder(const expr::NodeManager& nodes, const TreeSide& a, const TreeSide& b, Extent extent)
      : nodes_(nodes), sides_{Side(nodes, a), Side(nodes, b)}, max_depth_(extent.depth), folds_repeats_(extent.folds_repeats) {}

  void BuildPair() {
    Pair(Root(0), Root(1), 0);
  }
  void BuildSingle() { Single(0, Root(0), 0); }
  // More nodes were needed than may be: what was built is to be thrown away.
  bool overflowed() const { return overflowed_; }
  Tree& tree(int side) { return sides_[side].tree; }

 private:
  struct Side {
    Side(const expr::NodeManager& nodes, const TreeSide& in) : given(in), text(nodes, *in.symbolic, in.residues) {}
    const TreeSide& given;
    NodeText text;
    Tree tree;
  };
  using Index = uint32_t;

  const expr::Node& At(const Scalar& v) const { return nodes_[v.node]; }
  uint64_t Key(int side, const Scalar& v) const { return symexec::ValueKey(nodes_, v, *sides_[side].given.symbolic); }
  bool Same(const Scalar& a, const Scalar& b) const { return a.node == b.node && Key(0, a) == Key(1, b); }
  bool IsLeaf(const Scalar& v) const { return At(v).children == 0; }
  bool AlikeOperation(const Scalar& a, const Scalar& b) const {
    const expr::Node &x = At(a), &y = At(b);
    return x.fn == y.fn && x.attr == y.attr && x.width == y.width && x.children == y.children && x.children > 0;
  }

  Arrived Root(int side) const { return Arrive(side, sides_[side].given.root, sides_[side].given.lane, nullptr); }

  // Follows the moves of `value` back from the lane that uses it. `user` is null at the root.
  Arrived Arrive(int side, const Scalar& value, int lane, const Scalar* user) const {
    Arrived out{value, lane, Scope::kUnknown};
    const MoveLog* moves = sides_[side].given.moves;
    if (moves == nullptr) return out;
    out.reached = At(value).fn == Fn::kLeaf ? Scope::kGlobal : Scope::kThread;
    if (IsLeaf(value) && At(value).fn != Fn::kLeaf) return out;
    const uint64_t key = Key(side, value);
    uint32_t before = UINT32_MAX;
    for (const MoveLog::Move* m; (m = moves->Find(key, out.lane)) != nullptr && m->order < before; before = m->order) {
      const Scope scope = ScopeOf(m->route);
      out.reached = out.reached == Scope::kGlobal ? scope : std::max(out.reached, scope);
      out.lane = m->from;
    }
    if (user != nullptr && At(*user).fn == Fn::kMatrixStep && At(value).fn == Fn::kVector) {
      const std::string instruction = sides_[side].given.place(user->node).instruction;
      out.reached = instruction.find("wgmma") != std::string::npos ? Scope::kShared : Scope::kWarp;
      out.lane = MoveLog::kAnyLane;
    }
    return out;
  }
  Arrived Operand(int side, const Arrived& user, int index) const {
    return Arrive(side, nodes_.ChildScalar(user.value, index), user.lane, &user.value);
  }
  Scope OperandScope(int side, const Arrived& node) const {
    if (sides_[side].given.moves == nullptr) return Scope::kUnknown;
    Scope widest = Scope::kThread;
    for (int i = 0; i < At(node.value).children; ++i) {
      const Scope reached = Operand(side, node, i).reached;
      if (reached != Scope::kGlobal) widest = std::max(widest, reached);
    }
    return widest;
  }

  Index Add(int side, const Arrived& v, const Arrived* user, int index, Match match) {
    Tree& tree = sides_[side].tree;
    if (tree.size() >= kMaxTreeNodes) overflowed_ = true;
    TreeNode n;
    const expr::Node& node = At(v.value);
    switch (node.fn) {
      case Fn::kLeaf: n.kind = Kind::kLoad; break;
      case Fn::kConst: n.kind = Kind::kConstant; break;
      case Fn::kInt: case Fn::kParam: case Fn::kUndef: n.kind = Kind::kInput; break;
      default: n.kind = node.children == 0 ? Kind::kInput : Kind::kOperation; break;
    }
    n.match = match;
    n.reached = v.reached;
    const NodeText& text = sides_[side].text;
    n.text = Cut(node.fn == Fn::kConst ? text.Constant(v.value, user == nullptr ? nullptr : &user->value, index)
                                       : text.Operation(v.value));
    if (n.kind == Kind::kOperation && node.fn != Fn::kVector) {
      n.scope = OperandScope(side, v);
      n.place = sides_[side].given.place(v.value.node);
    }
    tree.push_back(std::move(n));
    return static_cast<Index>(tree.size() - 1);
  }
  void Child(int side, Index parent, Index child) { sides_[side].tree[parent].children.push_back(child); }
  void Link(Index a, Index b) {
    sides_[0].tree[a].partner = b;
    sides_[1].tree[b].partner = a;
  }

  // Makes the node stand for all below it.
  void FoldBelow(int side, Index at, const Scalar& v) {
    if (At(v).fn == Fn::kVector && IsLeaf(nodes_.ChildScalar(v, 0))) return DescribeVector(side, at, v);
    TreeNode& n = sides_[side].tree[at];
    const Census& census = *sides_[side].given.census;
    const uint64_t operations = census.operations(v.node);
    if (operations == 0) return;
    n.folded = operations - 1;
    std::vector<Scalar> loads;
    const bool all = census.Loads(v, kMaxLoads, &loads);
    const std::string count = operations == 1 ? "" : Counted(operations, "operation");
    n.detail = all ? LoadsText(side, loads) : Counted(census.loads(v.node), "load");
    if (n.detail.size() + count.size() + 2 > kMaxText) n.detail = n.detail.substr(0, kMaxText - count.size() - 5) + "...";
    absl::StrAppend(&n.detail, n.detail.empty() || count.empty() ? "" : "; ", count);
  }
  std::string LoadsText(int side, const std::vector<Scalar>& loads) const {
    std::string out;
    for (size_t i = 0; i < loads.size() && out.size() < kMaxText;) {
      size_t end = i;
      while (end < loads.size() && loads[end].anchor[0].buffer == loads[i].anchor[0].buffer) ++end;
      absl::StrAppend(&out, out.empty() ? "" : "; ",
                      sides_[side].text.Run({loads.begin() + static_cast<ptrdiff_t>(i), loads.begin() + static_cast<ptrdiff_t>(end)}));
      i = end;
    }
    return out;
  }
  uint32_t Label(uint64_t key) { return labels_.try_emplace(key, static_cast<uint32_t>(labels_.size() + 1)).first->second; }

  // A value that both trees hold.
  Index Common(int side, const Arrived& v, const Arrived* user, int index) {
    const Index at = Add(side, v, user, index, Match::kSame);
    if (IsLeaf(v.value)) return at;
    FoldBelow(side, at, v.value);
    sides_[side].tree[at].label = Label(Key(side, v.value));
    return at;
  }

  // The elements of a matrix operand as a run; of those that are expressions one becomes a child (the caller's).
  void DescribeVector(int side, Index at, const Scalar& v) {
    std::vector<Scalar> elements;
    for (int i = 0; i < At(v).children; ++i) elements.push_back(nodes_.ChildScalar(v, i));
    TreeNode& n = sides_[side].tree[at];
    n.detail = Cut(sides_[side].text.Run(elements));
    n.folded = sides_[side].given.census->operations(v.node) - 1;
  }

  // The operand by which a chain of one operation goes on; -1 where there is none, or where it is a balanced tree.
  int NextOfChain(int side, const Scalar& v) const {
    const expr::Node& n = At(v);
    if (n.fn == Fn::kVector || n.fn == Fn::kConcat) return -1;
    int next = -1;
    uint64_t most = 0, second = 0;
    for (int i = 0; i < n.children; ++i) {
      const Scalar child = nodes_.ChildScalar(v, i);
      if (!AlikeOperation(child, v)) continue;
      const uint64_t size = sides_[side].given.census->operations(child.node);
      second = std::max(second, std::min(size, most));
      if (size > most) next = i;
      most = std::max(most, size);
    }
    return 2 * second > most ? -1 : next;
  }

  // Matrix operands count by their elements.
  void AppendTerms(const Scalar& v, std::vector<Scalar>* terms) const {
    if (At(v).fn != Fn::kVector) return terms->push_back(v);
    for (int i = 0; i < At(v).children; ++i) terms->push_back(nodes_.ChildScalar(v, i));
  }

  // A node for levels [from, to) of a run; its child is what follows.
  Index AddFold(int side, const std::vector<Level>& run, size_t from, size_t to, Match match, const std::string& what) {
    Tree& tree = sides_[side].tree;
    if (tree.size() >= kMaxTreeNodes) overflowed_ = true;
    TreeNode n;
    n.kind = Kind::kFold;
    n.match = match;
    n.reached = run[from].node.reached;
    n.text = Cut(absl::StrCat("... ", Grouped(to - from), " more ", what));
    const Census& census = *sides_[side].given.census;
    n.folded = census.operations(run[from].node.value.node) - census.operations(run[to].node.value.node) - 1;
    for (size_t i = from; i < to; ++i) n.scope = std::max(n.scope, OperandScope(side, run[i].node));
    bool one_operation = true;
    for (size_t i = from; i < to; ++i) one_operation &= AlikeOperation(run[i].node.value, run[from].node.value);
    if (one_operation) {
      // Nearest the leaves first: that is the order in which they are taken up.
      for (int operand = 0; operand < At(run[from].node.value).children; ++operand) {
        std::vector<Scalar> terms;
        for (size_t i = to; i-- > from;) {
          // Where the accumulator stands in another place, its place here is the other operand's there.
          const int index = operand == run[from].next ? -1 : run[i].next == operand ? run[from].next : operand;
          if (index >= 0) AppendTerms(nodes_.ChildScalar(run[i].node.value, index), &terms);
        }
        if (!terms.empty()) absl::StrAppend(&n.detail, n.detail.empty() ? "" : "; ", sides_[side].text.Run(terms));
      }
    }
    n.detail = Cut(std::move(n.detail));
    tree.push_back(std::move(n));
    return static_cast<Index>(tree.size() - 1);
  }

  Index Single(int side, const Arrived& v, int depth, const Arrived* user = nullptr, int index = 0) {
    if (overflowed_) return 0;
    const Side& other = sides_[1 - side];
    const bool compares = &sides_[0].given != &sides_[1].given;
    if (compares && other.given.census->Holds(Key(side, v.value))) return Common(side, v, user, index);
    if (IsLeaf(v.value)) return Add(side, v, user, index, Match::kOwn);
    if (At(v.value).fn == Fn::kVector) {
      const Index at = Add(side, v, user, index, Match::kOwn);
      DescribeVector(side, at, v.value);
      const Arrived first = Operand(side, v, 0);
      if (!IsLeaf(first.value) && depth < max_depth_) Child(side, at, Single(side, first, depth + 1, &v, 0));
      return at;
    }
    if (depth >= max_depth_) {
      const Index at = Add(side, v, user, index, Match::kOwn);
      FoldBelow(side, at, v.value);
      return at;
    }
    const std::vector<Level> chain = ChainOf(side, v, compares);
    if (chain.size() >= kMinRun) return SingleChain(side, chain, depth, user, index);
    const Index at = Add(side, v, user, index, Match::kOwn);
    for (int i = 0; i < At(v.value).children; ++i) {
      const int as_before = Repeats(side, v.value, i);
      Child(side, at, Single(side, Operand(side, v, i), as_before < 0 ? depth + 1 : max_depth_, &v, i));
    }
    return at;
  }
  // The first operand of the same shape as operand `i`, if that is not `i` and repeats are folded; else -1.
  int Repeats(int side, const Scalar& v, int i) const {
    const NodeId node = nodes_.ChildScalar(v, i).node;
    if (!folds_repeats_ || sides_[side].given.census->operations(node) < kMinRepeat) return -1;
    for (int j = 0; j < i; ++j)
      if (nodes_.ChildScalar(v, j).node == node) return j;
    return -1;
  }
  std::vector<Level> ChainOf(int side, const Arrived& v, bool compares) const {
    std::vector<Level> chain;
    Arrived at = v;
    for (int next; chain.size() < kMaxRun && (next = NextOfChain(side, at.value)) >= 0;) {
      chain.push_back({at, next});
      at = Operand(side, at, next);
      if (compares && sides_[1 - side].given.census->Holds(Key(side, at.value))) break;
    }
    return chain;
  }
  Index SingleChain(int side, const std::vector<Level>& chain, int depth, const Arrived* user, int index) {
    Index first = TreeNode::kNone, parent = TreeNode::kNone;
    const auto hang = [&](Index at) {
      if (parent == TreeNode::kNone) first = at;
      else Child(side, parent, at);
      parent = at;
    };
    for (size_t i = 0; i < chain.size(); ++i) {
      if (i == kRunEnd) {
        hang(AddFold(side, chain, i, chain.size() - kRunEnd, Match::kOwn,
                     sides_[side].text.Operation(chain[0].node.value)));
        i = chain.size() - kRunEnd;
      }
      const Arrived& node = chain[i].node;
      const Arrived* above = i == 0 ? user : &chain[i - 1].node;
      hang(Add(side, node, above, i == 0 ? index : chain[i - 1].next, Match::kOwn));
      for (int o = 0; o < At(node.value).children; ++o)
        if (o != chain[i].next) Child(side, parent, Single(side, Operand(side, node, o), depth + 1, &node, o));
    }
    const Level& last = chain.back();
    Child(side, parent, Single(side, Operand(side, last.node, last.next), depth + 1, &last.node, last.next));
    return first;
  }

  // For each operand of a, the operand of b that stands at its place.
  std::vector<int> Align(const Scalar& a, const Scalar& b) const {
    const int n = At(a).children;
    std::vector<int> order(n);
    for (int i = 0; i < n; ++i) order[i] = i;
    if (n < 2 || !(expr::IsCommutative(At(a).fn) || At(a).fn == Fn::kFFma)) return order;
    const auto score = [&](int i, int j) {
      const Scalar x = nodes_.ChildScalar(a, i), y = nodes_.ChildScalar(b, j);
      return Same(x, y) ? 4 : x.node == y.node ? 2 : AlikeOperation(x, y) ? 1 : 0;
    };
    if (score(0, 1) + score(1, 0) > score(0, 0) + score(1, 1)) std::swap(order[0], order[1]);
    return order;
  }
  // Operands that differ, as indices into a's.
  std::vector<int> Differing(const Scalar& a, const Scalar& b, const std::vector<int>& order) const {
    std::vector<int> out;
    for (int i = 0; i < At(a).children; ++i)
      if (!Same(nodes_.ChildScalar(a, i), nodes_.ChildScalar(b, order[i]))) out.push_back(i);
    return out;
  }

  using IndexPair = std::pair<Index, Index>;
  struct Step {
    Level a, b;
    std::vector<int> order;  // Align
  };

  IndexPair AddPair(const Arrived& a, const Arrived& b, const Arrived* ua, int ia, const Arrived* ub, int ib, Match match) {
    const IndexPair at{Add(0, a, ua, ia, match), Add(1, b, ub, ib, match)};
    Link(at.first, at.second);
    return at;
  }
  void Mark(Index a, Index b, Match match) {
    for (const auto& [side, at] : {std::pair(0, a), std::pair(1, b)})
      if (at < sides_[side].tree.size()) sides_[side].tree[at].match = match;
    if (a < sides_[0].tree.size() && b < sides_[1].tree.size()) Link(a, b);
  }

  IndexPair Pair(const Arrived& a, const Arrived& b, int depth, const Arrived* ua = nullptr, int ia = 0,
                 const Arrived* ub = nullptr, int ib = 0) {
    if (overflowed_) return {0, 0};
    if (Same(a.value, b.value)) {
      const IndexPair at{Common(0, a, ua, ia), Common(1, b, ub, ib)};
      Link(at.first, at.second);
      return at;
    }
    // One that is a part of the other parts from what is round it.
    const bool contains = sides_[0].given.census->Holds(Key(1, b.value)) || sides_[1].given.census->Holds(Key(0, a.value));
    if (contains || !AlikeOperation(a.value, b.value)) {
      const IndexPair at{Single(0, a, depth, ua, ia), Single(1, b, depth, ub, ib)};
      if (!overflowed_) Mark(at.first, at.second, Match::kParts);
      return at;
    }
    if (At(a.value).fn == Fn::kVector) {
      const std::vector<int> order = Align(a.value, b.value);
      const int first = Differing(a.value, b.value, order)[0];
      const Arrived x = Operand(0, a, first), y = Operand(1, b, first);
      const bool opens = depth < max_depth_ && !IsLeaf(x.value) && !IsLeaf(y.value);
      const IndexPair at = AddPair(a, b, ua, ia, ub, ib, opens ? Match::kAlike : Match::kParts);
      DescribeVector(0, at.first, a.value);
      DescribeVector(1, at.second, b.value);
      if (opens) {
        const IndexPair child = Pair(x, y, depth + 1, &a, first, &b, first);
        Child(0, at.first, child.first);
        Child(1, at.second, child.second);
      }
      return at;
    }
    if (depth >= max_depth_) {
      const IndexPair at = AddPair(a, b, ua, ia, ub, ib, Match::kAlike);
      FoldBelow(0, at.first, a.value);
      FoldBelow(1, at.second, b.value);
      return at;
    }
    return PairRun(RunOf(a, b), depth, ua, ia, ub, ib);
  }

  // Levels that are alike, from a and b on: while only one operand differs, or while both go on as a chain of one
  // operation. One level at least.
  std::vector<Step> RunOf(Arrived a, Arrived b) const {
    std::vector<Step> run;
    while (run.size() < kMaxRun) {
      const std::vector<int> order = Align(a.value, b.value), differing = Differing(a.value, b.value, order);
      const int na = NextOfChain(0, a.value), nb = NextOfChain(1, b.value);
      const bool single = differing.size() == 1;
      const bool chain = na >= 0 && nb >= 0 && order[na] == nb;
      const int next_a = single ? differing[0] : chain ? na : -1;
      run.push_back({{a, next_a}, {b, next_a < 0 ? -1 : order[next_a]}, order});
      if (next_a < 0) break;
      const Arrived x = Operand(0, a, next_a), y = Operand(1, b, order[next_a]);
      if (Same(x.value, y.value) || !AlikeOperation(x.value, y.value) || At(x.value).fn == Fn::kVector) break;
      a = x;
      b = y;
    }
    return run;
  }
  IndexPair PairRun(const std::vector<Step>& run, int depth, const Arrived* ua, int ia, const Arrived* ub, int ib) {
    IndexPair first{TreeNode::kNone, TreeNode::kNone}, parent = first;
    const auto hang = [&](IndexPair at) {
      if (parent.first == TreeNode::kNone) {
        first = at;
      } else {
        Child(0, parent.first, at.first);
        Child(1, parent.second, at.second);
      }
      parent = at;
    };
    for (size_t i = 0; i < run.size() && !overflowed_; ++i) {
      if (i == kRunEnd && run.size() >= kMinRun) {
        hang(FoldPair(run, i, run.size() - kRunEnd));
        i = run.size() - kRunEnd;
      }
      const Step& s = run[i];
      const Step* above = i == 0 ? nullptr : &run[i - 1];
      hang(AddPair(s.a.node, s.b.node, above ? &above->a.node : ua, above ? above->a.next : ia,
                   above ? &above->b.node : ub, above ? above->b.next : ib, Match::kAlike));
      for (int o = 0; o < At(s.a.node.value).children; ++o) {
        if (o == s.a.next && i + 1 < run.size()) continue;
        PairOperand(s, o, parent, depth + 1);
      }
    }
    return first;
  }
  void PairOperand(const Step& s, int operand, IndexPair parent, int depth) {
    const int other = s.order[operand];
    const Scalar &a = s.a.node.value, &b = s.b.node.value;
    const int before = Repeats(0, a, operand);
    const bool repeats = before >= 0 && nodes_.ChildScalar(b, s.order[before]).node == nodes_.ChildScalar(b, other).node &&
                         !Same(nodes_.ChildScalar(a, before), nodes_.ChildScalar(b, s.order[before]));
    const IndexPair child = Pair(Operand(0, s.a.node, operand), Operand(1, s.b.node, other), repeats ? max_depth_ : depth,
                                 &s.a.node, operand, &s.b.node, other);
    Child(0, parent.first, child.first);
    Child(1, parent.second, child.second);
  }
  IndexPair FoldPair(const std::vector<Step>& run, size_t from, size_t to) {
    size_t different = 0;
    bool one_operation = true;
    std::vector<Level> a, b;
    for (const Step& s : run) {
      a.push_back(s.a);
      b.push_back(s.b);
    }
    for (size_t i = from; i < to; ++i) {
      different += Differing(run[i].a.node.value, run[i].b.node.value, run[i].order).size() > 1;
      one_operation &= AlikeOperation(run[i].a.node.value, run[from].a.node.value);
    }
    const std::string what =
        one_operation ? sides_[0].text.Operation(run[from].a.node.value) : "operations";
    const IndexPair at{AddFold(0, a, from, to, Match::kAlike, what), AddFold(1, b, from, to, Match::kAlike, what)};
    const std::string note = different == 0 ? ", alike" : different == to - from ? ", on other terms"
                                                                                 : absl::StrCat(", ", different, " on other terms");
    for (const auto& [side, index] : {std::pair(0, at.first), std::pair(1, at.second)}) sides_[side].tree[index].text += note;
    Link(at.first, at.second);
    return at;
  }

  const expr::NodeManager& nodes_;
  std::array<Side, 2> sides_;
  const int max_depth_;
  const bool folds_repeats_;
  bool overflowed_ = false;
  std::unordered_map<uint64_t, uint32_t> labels_;
};

}  // namespace

TreePair BuildTrees(const expr::NodeManager& nodes, const TreeSide& a, const TreeSide& b) {
  for (const Extent& extent : kExtents) {
    Builder builder(nodes, a, b, extent);
    builder.BuildPair();
    if (!builder.overflowed()) return {std::move(builder.tree(0)), std::move(builder.tree(1))};
  }
  return {};
}

Tree BuildTree(const expr::NodeManager& nodes, const TreeSide& side) {
  for (const Extent& extent : kExtents) {
    Builder builder(nodes, side, side, extent);
    builder.BuildSingle();
    if (!builder.overflowed()) return std::move(builder.tree(0));
  }
  return {};
}

}  // namespace samebits::checker
