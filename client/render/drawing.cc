#include "client/render/drawing.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/render/escape.h"
#include "client/render/layout.h"

namespace samebits::render {
namespace {

using checker::Scope;
using checker::Tree;
using checker::TreeNode;

constexpr double kColumn = 6.7, kPadding = 8, kBoxHeight = 34, kLineHeight = 22, kLevel = 58, kGap = 10;
constexpr size_t kMaxColumns = 26;

std::string Class(Scope scope) { return absl::StrCat("s-", std::string(checker::ScopeName(scope))); }

// Second line of a box.
std::string Note(const TreeNode& node) {
  return node.label == 0 ? node.detail : absl::StrCat("#", node.label, " ", node.detail);
}

Scope FillOf(const TreeNode& node) {
  switch (node.kind) {
    case TreeNode::Kind::kOperation: case TreeNode::Kind::kFold: return node.scope;
    case TreeNode::Kind::kLoad: return Scope::kGlobal;
    default: return Scope::kUnknown;
  }
}

double WidthOf(const TreeNode& node) {
  const size_t columns = std::max(Columns(node.text), Columns(Note(node)));
  return static_cast<double>(std::clamp<size_t>(columns, 3, kMaxColumns)) * kColumn + 2 * kPadding;
}
double HeightOf(const TreeNode& node) { return Note(node).empty() ? kLineHeight : kBoxHeight; }

// All that is known of a node, a line each.
std::string Tooltip(const TreeNode& node) {
  std::string out = node.text;
  if (node.label != 0) absl::StrAppend(&out, "\n#", node.label, ": in both trees");
  if (!node.detail.empty()) absl::StrAppend(&out, "\n", node.detail);
  if (node.folded > 0) absl::StrAppend(&out, "\nstands for ", node.folded, " more operations");
  if (node.scope != Scope::kUnknown) absl::StrAppend(&out, "\noperands came together: ", std::string(checker::ScopeName(node.scope)));
  if (node.reached != Scope::kUnknown) absl::StrAppend(&out, "\ncame here by: ", std::string(checker::ScopeName(node.reached)));
  if (node.place.line != 0) absl::StrAppend(&out, "\nline ", node.place.line, ": ", node.place.instruction);
  if (!node.place.source.empty()) absl::StrAppend(&out, "\n", node.place.source);
  return out;
}

class TreeDrawing {
 public:
  TreeDrawing(const Tree& tree, std::string_view side) : tree_(tree), side_(side) {
    std::vector<double> widths;
    for (const TreeNode& node : tree) widths.push_back(WidthOf(node));
    layout_ = LayOut(tree, widths, kGap);
  }

  Drawing Draw() {
    Drawing out;
    if (tree_.empty()) return out;
    out.width = layout_.width + 2;
    out.height = (layout_.levels - 1) * kLevel + kBoxHeight + 2;
    Subtree(0, &out.elements);
    return out;
  }

 private:
  double X(uint32_t i) const { return layout_.spots[i].x + 1; }
  double Y(uint32_t i) const { return layout_.spots[i].level * kLevel + 1; }

  // A group of the node's box and the group of its subtrees, so that hiding the latter folds it. Depth is at most the
  // number of nodes.
  void Subtree(uint32_t i, std::string* out) const {
    const TreeNode& node = tree_[i];
    absl::StrAppend(out, "<g class=\"n\" id=\"", side_, i, "\"");
    if (node.partner != TreeNode::kNone) absl::StrAppend(out, " data-partner=\"", side_ == "a" ? "b" : "a", node.partner, "\"");
    if (node.label != 0) absl::StrAppend(out, " data-label=\"", node.label, "\"");
    if (node.place.line != 0) absl::StrAppend(out, " data-line=\"", node.place.line, "\"");
    absl::StrAppend(out, ">");
    if (!node.children.empty()) {
      absl::StrAppend(out, "<g class=\"kids\">");
      for (const uint32_t child : node.children) {
        Edge(i, child, out);
        Subtree(child, out);
      }
      absl::StrAppend(out, "</g>");
    }
    Box(i, out);
    absl::StrAppend(out, "</g>");
  }
  void Edge(uint32_t parent, uint32_t child, std::string* out) const {
    const double from = Y(parent) + HeightOf(tree_[parent]), to = Y(child), middle = (from + to) / 2;
    absl::StrAppendFormat(out, "<path class=\"e %s\" d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"/>",
                          Class(tree_[child].reached), X(parent), from, X(parent), middle, X(child), middle, X(child), to);
  }
  void Box(uint32_t i, std::string* out) const {
    const TreeNode& node = tree_[i];
    const double width = WidthOf(node), height = HeightOf(node);
    const std::string kind(checker::KindName(node.kind)), match(checker::MatchName(node.match));
    absl::StrAppendFormat(out, "<g class=\"b %s m-%s k-%s\"><title>%s</title>", Class(FillOf(node)), match, kind, Escape(Tooltip(node)));
    absl::StrAppendFormat(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%d\"/>", X(i) - width / 2, Y(i), width, height,
                          node.kind == TreeNode::Kind::kOperation ? 5 : 11);
    Line(X(i), Y(i) + 15, "", node.text, out);
    const std::string note = Note(node);
    if (!note.empty()) Line(X(i), Y(i) + 28, " class=\"d\"", note, out);
    absl::StrAppend(out, "</g>");
  }
  static void Line(double x, double y, const char* attributes, const std::string& text, std::string* out) {
    absl::StrAppendFormat(out, "<text x=\"%.1f\" y=\"%.1f\"%s>%s</text>", x, y, attributes, Escape(Shortened(text, kMaxColumns)));
  }

  const Tree& tree_;
  const std::string side_;
  Layout layout_;
};

}  // namespace

Drawing DrawTree(const Tree& tree, std::string_view side) { return TreeDrawing(tree, side).Draw(); }

Drawing DrawLegend() {
  struct Entry {
    const char *classes, *text;
    int columns;
  };
  constexpr Entry kEntries[] = {
      {"s-thread m-alike k-operation", "thread", 7},        {"s-warp m-alike k-operation", "warp", 5},
      {"s-shared m-alike k-operation", "shared memory", 14}, {"s-global m-alike k-load", "global memory", 14},
      {"s-unknown m-alike k-operation", "no scope", 9},      {"s-unknown m-same k-operation", "in both", 8},
      {"s-unknown m-parts k-operation", "parts here", 11},   {"s-unknown m-alike k-fold", "folded", 7},
  };
  Drawing out;
  for (const Entry& e : kEntries) {
    absl::StrAppendFormat(&out.elements,
                          "<g class=\"b %s\"><rect x=\"%.1f\" y=\"2\" width=\"22\" height=\"14\" rx=\"4\"/></g>"
                          "<text class=\"l\" x=\"%.1f\" y=\"13\">%s</text>",
                          e.classes, out.width + 1, out.width + 28, e.text);
    out.width += 28 + e.columns * kColumn + 8;
  }
  out.height = 18;
  return out;
}

std::string_view DrawingStyle() {
  return R"(.b rect{stroke:#667;stroke-width:1}
.b text,.l{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.b text{fill:#111;text-anchor:middle}.b .d{fill:#444;font-size:10px}
.l{fill:#333}
.e{fill:none;stroke:#99a;stroke-width:1.6}
.b.s-thread rect{fill:#bfe6b5}.b.s-warp rect{fill:#ffe28a}.b.s-shared rect{fill:#f8b9d2}
.b.s-global rect{fill:#c7d9f0}.b.s-unknown rect{fill:#e6e6ea}
.e.s-thread{stroke:#4a9d3f}.e.s-warp{stroke:#c99700}.e.s-shared{stroke:#d6558f}.e.s-global{stroke:#5f86bd}
.m-same rect{stroke-dasharray:1 2}.m-same text{fill:#555}
.m-parts rect{stroke:#c4161c;stroke-width:3}
.m-own rect{stroke:#c4161c}
.k-fold rect{stroke-dasharray:6 3}
@media(prefers-color-scheme:dark){.l{fill:#ccd}.e{stroke:#778}.m-parts rect,.m-own rect{stroke:#ff6b6b}}
)";
}

}  // namespace samebits::render
