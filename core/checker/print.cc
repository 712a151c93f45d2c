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

// Prints one tree with absolute addresses, cut at a depth and a number of nodes.
class TreePrinter {
 public:
  TreePrinter(const expr::NodeManager& nodes, const LineOf& line_of, int depth, int budget)
      : nodes_(nodes), line_of_(line_of), depth_(depth), budget_(budget) {}

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
    if (const uint32_t line = line_of_(s.node); line != 0) absl::StrAppend(&out_, "  @", line);
    out_ += '\n';
    if (level >= depth_ || --budget_ <= 0) {
      absl::StrAppend(&out_, indent, "  ...\n");
      return;
    }
    for (int i = 0; i < n.children; ++i) Node(nodes_.ChildScalar(s, i), level + 1);
  }
  const expr::NodeManager& nodes_;
  const LineOf& line_of_;
  int depth_, budget_;
  std::string out_;
};

}  // namespace

std::string PrintTree(const expr::NodeManager& nodes, const Scalar& value, const LineOf& line_of, int depth, int budget) {
  return TreePrinter(nodes, line_of, depth, budget).Print(value);
}

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
      std::string tree = PrintTree(nodes, f.first, [&](NodeId id) { return nodes[id].line; }, 12, 60);
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

}  // namespace samebits::checker
