#include "core/checker/print.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace samebits::checker {

using expr::Fn;
using expr::NodeId;
using expr::Scalar;

namespace {

constexpr uint64_t kPrintedElements = 1ull << 22;

// Prints one tree with absolute addresses, cut at a depth and a number of nodes.
class TreePrinter {
 public:
  TreePrinter(const expr::NodeManager& nodes, int depth, int budget) : nodes_(nodes), depth_(depth), budget_(budget) {}

  std::string Print(const Scalar& s) {
    Node(s, 0);
    return std::move(out_);
  }

 private:
  void Leaf(const Scalar& s) {
    const auto& a = s.anchor[0];
    absl::StrAppend(&out_, nodes_.buffer_name(a.buffer), "[", a.offset, "]");
  }
  void Node(const Scalar& s, int level) {
    const expr::Node& n = nodes_[s.node];
    const std::string indent(static_cast<size_t>(2 * level), ' ');
    out_ += indent;
    switch (n.fn) {
      case Fn::kLeaf: Leaf(s); out_ += '\n'; return;
      case Fn::kInt: absl::StrAppend(&out_, "int ", s.anchor[0].offset, "\n"); return;
      case Fn::kConst: absl::StrAppendFormat(&out_, "0x%x (%d bits)\n", n.attr, n.width); return;
      case Fn::kUndef: out_ += "undefined\n"; return;
      case Fn::kParam: absl::StrAppend(&out_, "argument ", n.attr, "\n"); return;
      default: break;
    }
    const expr::IsaOperation* spelled = n.fn == Fn::kIsa ? nodes_.isa(n.attr) : nullptr;
    if (spelled == nullptr) absl::StrAppend(&out_, std::string(expr::FnName(n.fn)));
    else if (!spelled->spelling.empty()) absl::StrAppend(&out_, spelled->spelling);
    else absl::StrAppend(&out_, std::string(expr::FnName(spelled->fn)), expr::AttrName(spelled->fn, spelled->attr));
    if (n.fn == Fn::kExtract) absl::StrAppend(&out_, " bits ", n.attr & 0xffffffff, "+", n.width);
    out_ += expr::AttrName(n.fn, n.attr);
    if (n.line != 0) absl::StrAppend(&out_, "  @", n.line);
    out_ += '\n';
    if (level >= depth_ || --budget_ <= 0) {
      absl::StrAppend(&out_, indent, "  ...\n");
      return;
    }
    for (int i = 0; i < n.children; ++i) Node(nodes_.ChildScalar(s, i), level + 1);
  }
  const expr::NodeManager& nodes_;
  int depth_, budget_;
  std::string out_;
};

std::string OneLine(const expr::NodeManager& nodes, const Scalar& s) {
  std::string text = TreePrinter(nodes, 1, 8).Print(s);
  std::string line;
  for (const char c : text) {
    if (c == '\n') line += ' ';
    else if (c != ' ' || (!line.empty() && line.back() != ' ')) line += c;
  }
  return line;
}

bool SameValue(const Scalar& a, const Scalar& b) {
  if (a.node != b.node) return false;
  for (int i = 0; i < a.slots; ++i)
    if (a.anchor[i].offset != b.anchor[i].offset) return false;
  return true;
}

Place PlaceOf(const Check& c, uint32_t line) {
  Place p;
  p.line = line;
  for (const isa::Function& f : c.module->functions) {
    for (const isa::Instruction& in : f.instructions) {
      if (in.line != line) continue;
      p.instruction = in.name;
      if (in.loc_file != 0 && in.loc_file < c.module->files.size() && in.loc_line != 0)
        p.source = absl::StrCat(c.module->files[in.loc_file], ":", in.loc_line);
      return p;
    }
  }
  return p;
}

// Descends while exactly the same operation has one differing child, to the first node where the trees part.
void Part(const expr::NodeManager& nodes, Scalar* a, Scalar* b) {
  for (int depth = 0; depth < 100000; ++depth) {
    const expr::Node &x = nodes[a->node], &y = nodes[b->node];
    if (x.fn != y.fn || x.attr != y.attr || x.width != y.width || x.children != y.children || x.children == 0) return;
    int different = -1;
    for (int i = 0; i < x.children; ++i) {
      const Scalar p = nodes.ChildScalar(*a, i), q = nodes.ChildScalar(*b, i);
      if (SameValue(p, q)) continue;
      if (different >= 0) {
        // Several operands differ: follow the first whose operation is another, else part here.
        return;
      }
      different = i;
    }
    if (different < 0) return;
    *a = nodes.ChildScalar(*a, different);
    *b = nodes.ChildScalar(*b, different);
  }
}

}  // namespace

std::string DescribeMap(const Check& check, Workspace* workspace) {
  const expr::NodeManager& nodes = workspace->nodes;
  const Signature& sig = check.signature;
  std::string out = absl::StrCat("status      ", std::string(StatusName(sig.status)), "\n");
  if (sig.status != SignatureStatus::kOk)
    absl::StrAppend(&out, "reason      ", sig.reason, sig.place.line ? absl::StrCat(" (line ", sig.place.line, ": ", sig.place.instruction, ")") : "", "\n");
  if (!sig.digest.empty()) absl::StrAppend(&out, "signature   ", sig.digest, " (version ", SignatureVersion(), ")\n");
  absl::StrAppend(&out, "work        ", sig.steps, " lane-instructions, ", sig.nodes, " nodes, ", check.classes.size(),
                  check.classes.size() == 1 ? " class of blocks\n" : " classes of blocks\n");
  for (const std::string& a : sig.assumptions) absl::StrAppend(&out, "assumes     ", a, "\n");
  if (sig.status != SignatureStatus::kOk) return out;
  MapBuilder maps(&workspace->builder, check.space.get(), check.launch.grid_known);
  for (const auto& [buffer, map] : check.maps) {
    absl::StrAppend(&out, "\noutput ", nodes.buffer_name(buffer), ": bytes [", map.min, ", ", map.end, "), ", map.bytes, " written\n");
    // Families: stores of one tree.
    struct Family {
      uint64_t elements = 0;
      const symexec::Store* store = nullptr;
      const ClassResult* owner = nullptr;
      Scalar first;
      int64_t address = 0;
    };
    std::vector<std::pair<NodeId, Family>> families;
    std::map<NodeId, size_t> index;
    for (const ClassResult& c : check.classes) {
      symexec::VectorOps ops(&workspace->builder, check.space.get());
      for (const symexec::Store& s : c.execution.stores) {
        if (s.buffer != buffer) continue;
        for (int l = 0; l < check.space->lanes(); ++l) {
          if (!check.space->Test(s.mask, l)) continue;
          const Scalar v = ops.At(s.value.lanes, l);
          auto [it, fresh] = index.try_emplace(v.node, families.size());
          if (fresh) {
            Family f;
            f.store = &s;
            f.owner = &c;
            f.first = v;
            f.address = check.space->array(s.address.array)[l] + s.address.constant;
            families.push_back({v.node, f});
          }
          families[it->second].second.elements += c.blocks.size();
        }
      }
    }
    const size_t shown = std::min<size_t>(families.size(), 8);
    for (size_t i = 0; i < shown; ++i) {
      const Family& f = families[i].second;
      absl::StrAppend(&out, "  family ", i + 1, " of ", families.size(), ": ", f.elements, " elements of ", f.store->value.bits / 8,
                      " bytes; first at ", nodes.buffer_name(buffer), "[", f.address, "] (block ", f.owner->blocks[0], ")",
                      f.store->guarded ? ", under a data-dependent guard" : "", ", stored by line ", f.store->line, "\n");
      std::string tree = TreePrinter(nodes, 12, 60).Print(f.first);
      size_t at = 0;
      while (at < tree.size()) {
        const size_t end = tree.find('\n', at);
        absl::StrAppend(&out, "    ", tree.substr(at, end - at), "\n");
        at = end + 1;
      }
    }
    if (families.size() > shown) absl::StrAppend(&out, "  ... and ", families.size() - shown, " more families\n");
  }
  return out;
}

Difference FindDifference(const Check& a, const Check& b, Workspace* workspace) {
  Difference d;
  const expr::NodeManager& nodes = workspace->nodes;
  std::vector<expr::BufferId> buffers;
  for (const auto& [buffer, map] : a.maps) buffers.push_back(buffer);
  for (const auto& [buffer, map] : b.maps) buffers.push_back(buffer);
  std::sort(buffers.begin(), buffers.end());
  buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
  for (const expr::BufferId buffer : buffers) {
    const bool in_a = a.maps.count(buffer) != 0, in_b = b.maps.count(buffer) != 0;
    d.buffer = nodes.buffer_name(buffer);
    if (in_a != in_b) {
      d.summary = absl::StrCat("only the ", in_a ? "first" : "second", " kernel writes ", d.buffer);
      d.byte_offset = static_cast<uint64_t>((in_a ? a : b).maps.at(buffer).min);
      return d;
    }
    if (a.maps.at(buffer).sum == b.maps.at(buffer).sum) continue;
    std::vector<Element> x, y;
    if (!MapBuilder::Enumerate(a.classes, *a.space, buffer, kPrintedElements, &x) ||
        !MapBuilder::Enumerate(b.classes, *b.space, buffer, kPrintedElements, &y)) {
      d.summary = absl::StrCat("the maps of ", d.buffer, " differ; too many elements to find the first");
      return d;
    }
    auto by_address = [](const Element& p, const Element& q) {
      return p.address != q.address ? p.address < q.address : p.store->order < q.store->order;
    };
    std::stable_sort(x.begin(), x.end(), by_address);
    std::stable_sort(y.begin(), y.end(), by_address);
    MapBuilder ma(&workspace->builder, a.space.get(), a.launch.grid_known);
    MapBuilder mb(&workspace->builder, b.space.get(), b.launch.grid_known);
    size_t i = 0, j = 0;
    while (i < x.size() || j < y.size()) {
      // The last write to an address is the one that stays.
      while (i + 1 < x.size() && x[i + 1].address == x[i].address) ++i;
      while (j + 1 < y.size() && y[j + 1].address == y[j].address) ++j;
      if (j == y.size() || (i < x.size() && x[i].address < y[j].address)) {
        d.summary = absl::StrCat("only the first kernel writes ", d.buffer, "[", x[i].address, "]");
        d.byte_offset = static_cast<uint64_t>(x[i].address);
        d.a.place = PlaceOf(a, x[i].store->line);
        return d;
      }
      if (i == x.size() || y[j].address < x[i].address) {
        d.summary = absl::StrCat("only the second kernel writes ", d.buffer, "[", y[j].address, "]");
        d.byte_offset = static_cast<uint64_t>(y[j].address);
        d.b.place = PlaceOf(b, y[j].store->line);
        return d;
      }
      Scalar va = ma.ElementValue(x[i]), vb = mb.ElementValue(y[j]);
      if (x[i].bytes != y[j].bytes || !SameValue(va, vb)) {
        d.byte_offset = static_cast<uint64_t>(x[i].address);
        d.a.tree = TreePrinter(nodes, 14, 120).Print(va);
        d.b.tree = TreePrinter(nodes, 14, 120).Print(vb);
        Scalar pa = va, pb = vb;
        Part(nodes, &pa, &pb);
        d.a.node = OneLine(nodes, pa);
        d.b.node = OneLine(nodes, pb);
        d.a.place = PlaceOf(a, nodes[pa.node].line ? nodes[pa.node].line : x[i].store->line);
        d.b.place = PlaceOf(b, nodes[pb.node].line ? nodes[pb.node].line : y[j].store->line);
        const bool same_shape = pa.node == pb.node;
        d.summary = absl::StrCat(d.buffer, "[", d.byte_offset, "]: ",
                                 same_shape ? "equal trees over different addresses" : "the trees part", ": ", d.a.node,
                                 " against ", d.b.node);
        return d;
      }
      ++i, ++j;
    }
  }
  d.summary = "the maps differ in elements that two lanes write";
  return d;
}

}  // namespace samebits::checker
