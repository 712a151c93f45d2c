#include "core/checker/difference.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "core/checker/explain/census.h"
#include "core/checker/explain/node_text.h"
#include "core/checker/explain/tree_builder.h"
#include "core/checker/place_finder.h"
#include "core/checker/print.h"
#include "core/checker/retrace.h"

namespace samebits::checker {

using expr::BufferId;
using expr::NodeId;
using expr::Scalar;

namespace {

constexpr uint64_t kEnumeratedElements = 1ull << 22;

// One launch's write to the parting address.
struct Written {
  Element element;
  Scalar value;  // absolute anchors
};

// Where two maps part.
struct Parting {
  std::string buffer, summary;
  int64_t address = 0;
  std::optional<Written> a, b;  // only what writes there
};

std::vector<Element> Sorted(const Check& check, BufferId buffer, bool* complete) {
  std::vector<Element> out;
  *complete = MapBuilder::Enumerate(check.classes, *check.space, buffer, kEnumeratedElements, &out);
  std::stable_sort(out.begin(), out.end(), [](const Element& p, const Element& q) {
    return p.address != q.address ? p.address < q.address : p.store->order < q.store->order;
  });
  return out;
}

class Finder {
 public:
  Finder(const Check& a, const Check& b, Workspace* workspace)
      : a_(a), b_(b), nodes_(workspace->nodes), maps_a_(&workspace->builder, a.space.get(), a.launch.grid_known, a.launch.grid),
        maps_b_(&workspace->builder, b.space.get(), b.launch.grid_known, b.launch.grid) {}

  Parting Find() {
    std::vector<BufferId> buffers;
    for (const auto& [buffer, map] : a_.maps) buffers.push_back(buffer);
    for (const auto& [buffer, map] : b_.maps) buffers.push_back(buffer);
    std::sort(buffers.begin(), buffers.end());
    buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
    Parting out;
    for (const BufferId buffer : buffers)
      if (InBuffer(buffer, &out)) return out;
    out.summary = "the maps differ in elements that two lanes write";
    return out;
  }

 private:
  bool InBuffer(BufferId buffer, Parting* out) {
    const auto in_a = a_.maps.find(buffer), in_b = b_.maps.find(buffer);
    out->buffer = nodes_.buffer_name(buffer);
    const bool has_a = in_a != a_.maps.end(), has_b = in_b != b_.maps.end();
    if (has_a && has_b && in_a->second.sum == in_b->second.sum) return false;
    bool complete_a = true, complete_b = true;
    std::vector<Element> x, y;
    if (has_a) x = Sorted(a_, buffer, &complete_a);
    if (has_b) y = Sorted(b_, buffer, &complete_b);
    if (!complete_a || !complete_b) {
      out->address = has_a ? in_a->second.min : in_b->second.min;
      out->summary = absl::StrCat("the maps of ", out->buffer, " differ; too many elements to find the first");
      return true;
    }
    return FirstOf(x, y, out);
  }
  bool FirstOf(const std::vector<Element>& x, const std::vector<Element>& y, Parting* out) {
    size_t i = 0, j = 0;
    while (i < x.size() || j < y.size()) {
      // The last write to an address is the one that stays.
      while (i + 1 < x.size() && x[i + 1].address == x[i].address) ++i;
      while (j + 1 < y.size() && y[j + 1].address == y[j].address) ++j;
      const bool only_a = j == y.size() || (i < x.size() && x[i].address < y[j].address);
      const bool only_b = !only_a && (i == x.size() || y[j].address < x[i].address);
      out->address = only_b ? y[j].address : x[i].address;
      if (!only_b) out->a = Written{x[i], maps_a_.ElementValue(x[i])};
      if (!only_a) out->b = Written{y[j], maps_b_.ElementValue(y[j])};
      if (only_a || only_b) {
        out->summary = absl::StrCat("only the ", only_a ? "first" : "second", " kernel writes ", out->buffer, "[", out->address, "]");
        return true;
      }
      if (x[i].bytes != y[j].bytes || !SameValue(*out->a, *out->b) || AddressTerms(x[i]) != AddressTerms(y[j])) return true;
      out->a.reset();
      out->b.reset();
      ++i, ++j;
    }
    return false;
  }
  // The trees are one, or count as one in the sums of the maps.
  bool SameValue(const Written& a, const Written& b) {
    if (Key(a) == Key(b)) return true;
    return a_.launch.grid_known && b_.launch.grid_known && maps_a_.ElementTerm(a.element) == maps_b_.ElementTerm(b.element);
  }
  uint64_t Key(const Written& w) const { return symexec::ValueKey(nodes_, w.value, *w.element.owner->symbolic); }
  static uint64_t AddressTerms(const Element& e) {
    return symexec::TermsKey(*e.owner->symbolic, e.store->address.symbolic);
  }

  const Check &a_, &b_;
  const expr::NodeManager& nodes_;
  MapBuilder maps_a_, maps_b_;
};

// One side while its explanation is made.
class SideExplainer {
 public:
  // Nodes before `first_own` were there before this launch ran.
  SideExplainer(const Check& check, const Written& written, NodeId first_own, const Options& options,
                const Workspace& workspace)
      : check_(check), nodes_(workspace.nodes), written_(written), first_own_(first_own),
        census_(nodes_, *written.element.owner->symbolic, written.value),
        origins_(Retrace(check, written.element, census_.digests(), options, workspace)), places_(*check.module) {}

  TreeSide side() const {
    TreeSide out;
    out.root = written_.value;
    out.symbolic = written_.element.owner->symbolic.get();
    out.residues = residues();
    out.census = &census_;
    out.lane = written_.element.lane;
    out.moves = origins_ == nullptr ? nullptr : origins_->moves.get();
    out.place = [this](NodeId id) { return PlaceOf(LineOf(id)); };
    return out;
  }
  uint32_t LineOf(NodeId id) const {
    if (origins_ == nullptr) return id >= first_own_ ? nodes_[id].line : 0;
    const auto it = origins_->lines.find(nodes_[id].digest.lo);
    return it == origins_->lines.end() ? 0 : it->second;
  }
  Place PlaceOf(uint32_t line) const { return places_.Find(line); }
  // Place of the node, else of the store.
  Place PlaceOfNode(const Scalar& v) const {
    const uint32_t line = LineOf(v.node);
    return PlaceOf(line != 0 ? line : written_.element.store->line);
  }
  std::string Text(const Scalar& v, int depth, int budget) const {
    return PrintTree(nodes_, v, [this](NodeId id) { return LineOf(id); }, depth, budget);
  }
  std::string Inline(const Scalar& v) const { return NodeText(nodes_, *written_.element.owner->symbolic, residues()).Inline(v, 1); }

  void Fill(const Scalar& parting, PartingSide* out) const {
    out->tree = Text(written_.value, 14, 120);
    out->node = Inline(parting);
    out->place = PlaceOfNode(parting);
    const auto split = [](uint32_t linear, const std::array<uint32_t, 3>& size) {
      return Dim3{linear % size[0], linear / size[0] % size[1], linear / size[0] / size[1]};
    };
    out->thread = split(written_.element.lane, check_.launch.block);
    out->block = split(written_.element.block, check_.launch.grid);
  }

 private:
  std::array<uint32_t, 3> residues() const { return check_.launch.grid_known ? std::array<uint32_t, 3>{1, 1, 1} : check_.launch.grid; }

  const Check& check_;
  const expr::NodeManager& nodes_;
  const Written& written_;
  const NodeId first_own_;
  const Census census_;
  const std::unique_ptr<Origins> origins_;
  const PlaceFinder places_;
};

// Descends while exactly the same operation has one differing child, to the first node where the trees part.
void Part(const expr::NodeManager& nodes, const symexec::SymbolicSpace& space_a, const symexec::SymbolicSpace& space_b,
          Scalar* a, Scalar* b) {
  for (int depth = 0; depth < 100000; ++depth) {
    const expr::Node &x = nodes[a->node], &y = nodes[b->node];
    if (x.fn != y.fn || x.attr != y.attr || x.width != y.width || x.children != y.children) return;
    int different = -1;
    for (int i = 0; i < x.children; ++i) {
      if (symexec::ValueKey(nodes, nodes.ChildScalar(*a, i), space_a) ==
          symexec::ValueKey(nodes, nodes.ChildScalar(*b, i), space_b))
        continue;
      if (different >= 0) return;
      different = i;
    }
    if (different < 0) return;
    *a = nodes.ChildScalar(*a, different);
    *b = nodes.ChildScalar(*b, different);
  }
}

}  // namespace

Difference FindDifference(const Check& a, const Check& b, const Options& options, Workspace* workspace) {
  const Parting parting = Finder(a, b, workspace).Find();
  Difference d;
  d.summary = parting.summary;
  d.buffer = parting.buffer;
  d.byte_offset = static_cast<uint64_t>(parting.address);
  const expr::NodeManager& nodes = workspace->nodes;
  std::optional<SideExplainer> side_a, side_b;
  if (parting.a) side_a.emplace(a, *parting.a, 0, options, *workspace);
  if (parting.b) side_b.emplace(b, *parting.b, static_cast<NodeId>(a.signature.nodes), options, *workspace);
  if (!side_a || !side_b) {
    for (auto [side, written, out] : {std::tuple(&side_a, &parting.a, &d.a), std::tuple(&side_b, &parting.b, &d.b)}) {
      if (!*side) continue;
      (*side)->Fill((*written)->value, out);
      out->place = (*side)->PlaceOf((*written)->element.store->line);
      out->nodes = BuildTree(nodes, (*side)->side());
    }
    return d;
  }
  Scalar pa = parting.a->value, pb = parting.b->value;
  Part(nodes, *parting.a->element.owner->symbolic, *parting.b->element.owner->symbolic, &pa, &pb);
  side_a->Fill(pa, &d.a);
  side_b->Fill(pb, &d.b);
  TreePair trees = BuildTrees(nodes, side_a->side(), side_b->side());
  d.a.nodes = std::move(trees.a);
  d.b.nodes = std::move(trees.b);
  d.summary = absl::StrCat(d.buffer, "[", d.byte_offset, "]: ");
  if (d.a.node == d.b.node) {
    absl::StrAppend(&d.summary, pa.node == pb.node ? "equal expressions over different addresses: "
                                                   : "the same operation on operands that differ: ", d.a.node);
  } else {
    absl::StrAppend(&d.summary, "the trees part: ", d.a.node, " against ", d.b.node);
  }
  return d;
}

}  // namespace samebits::checker
