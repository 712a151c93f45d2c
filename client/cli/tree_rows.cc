#include "client/cli/tree_rows.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"

namespace samebits::cli {
namespace {

using checker::Scope;
using checker::Tree;
using checker::TreeNode;

constexpr size_t kDeepIndent = 24;  // columns of indentation from which on levels take one column, up to twice that

std::string Indent(size_t depth) {
  const size_t columns = 2 * depth;
  return std::string(columns <= kDeepIndent ? columns : std::min(kDeepIndent + (columns - kDeepIndent) / 2, 2 * kDeepIndent), ' ');
}

TreeCell CellOf(const TreeNode& node, size_t depth) {
  TreeCell cell;
  cell.text = absl::StrCat(Indent(depth), node.text);
  if (node.label != 0) absl::StrAppend(&cell.text, " #", node.label);
  const bool is_operation = node.kind == TreeNode::Kind::kOperation || node.kind == TreeNode::Kind::kFold;
  cell.scope = node.kind == TreeNode::Kind::kLoad ? Scope::kGlobal : is_operation ? node.scope : Scope::kUnknown;
  if (is_operation && (cell.scope == Scope::kWarp || cell.scope == Scope::kShared))
    absl::StrAppend(&cell.text, " [", std::string(checker::ScopeName(cell.scope)), "]");
  if (node.place.line != 0) absl::StrAppend(&cell.text, " @", node.place.line);
  if (!node.detail.empty()) absl::StrAppend(&cell.text, ": ", node.detail);
  cell.text = OneLine(cell.text);
  cell.is_same = node.match == TreeNode::Match::kSame;
  return cell;
}

class RowBuilder {
 public:
  RowBuilder(const Tree& a, const Tree& b) : a_(a), b_(b) {}

  std::vector<TreeRow> Build() {
    if (a_.empty() || b_.empty()) {
      Beside(a_.empty() ? std::vector<TreeCell>() : Flat(a_, {0}, 0), b_.empty() ? std::vector<TreeCell>() : Flat(b_, {0}, 0));
    } else {
      Pair(0, 0, 0);
    }
    return std::move(rows_);
  }

 private:
  bool ArePartners(uint32_t i, uint32_t j) const { return a_[i].partner == j && b_[j].partner == i; }

  void Pair(uint32_t i, uint32_t j, size_t depth) {
    rows_.push_back({CellOf(a_[i], depth), CellOf(b_[j], depth), Differs(a_[i]) || Differs(b_[j])});
    if (Differs(a_[i]) || Differs(b_[j]))
      return Beside(Flat(a_, a_[i].children, depth + 1), Flat(b_, b_[j].children, depth + 1));
    std::vector<uint32_t> left = b_[j].children;
    std::vector<uint32_t> only_a;
    for (const uint32_t x : a_[i].children) {
      const auto y = std::find_if(left.begin(), left.end(), [&](uint32_t other) { return ArePartners(x, other); });
      if (y == left.end()) {
        only_a.push_back(x);
        continue;
      }
      const uint32_t partner = *y;
      left.erase(y);
      Pair(x, partner, depth + 1);
    }
    Beside(Flat(a_, only_a, depth + 1), Flat(b_, left, depth + 1));
  }
  static bool Differs(const TreeNode& node) {
    return node.match == TreeNode::Match::kParts || node.match == TreeNode::Match::kOwn;
  }
  static std::vector<TreeCell> Flat(const Tree& tree, const std::vector<uint32_t>& roots, size_t depth) {
    std::vector<TreeCell> cells;
    for (const uint32_t root : roots) {
      if (root >= tree.size()) continue;
      cells.push_back(CellOf(tree[root], depth));
      const std::vector<TreeCell> below = Flat(tree, tree[root].children, depth + 1);
      cells.insert(cells.end(), below.begin(), below.end());
    }
    return cells;
  }
  void Beside(const std::vector<TreeCell>& a, const std::vector<TreeCell>& b) {
    for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      TreeRow row{i < a.size() ? a[i] : TreeCell(), i < b.size() ? b[i] : TreeCell(), true};
      row.differs = !(row.a.is_same && row.b.is_same && row.a.text == row.b.text);
      rows_.push_back(std::move(row));
    }
  }

  const Tree &a_, &b_;
  std::vector<TreeRow> rows_;
};

std::string Coloured(const std::string& text, Scope scope, const Style& style) {
  switch (scope) {
    case Scope::kThread: return style.Paint("32", text);
    case Scope::kWarp: return style.Paint("33", text);
    case Scope::kShared: return style.Paint("35", text);
    case Scope::kGlobal: return style.Paint("36", text);
    case Scope::kUnknown: break;
  }
  return text;
}

}  // namespace

std::vector<TreeRow> TreeRows(const Tree& a, const Tree& b) { return RowBuilder(a, b).Build(); }

std::string ShowCell(const TreeCell& cell, size_t width, const Style& style) {
  std::string text = cell.text;
  if (DisplayWidth(text) > width) text = Fit(text, width - 1) + "…";
  const std::string fitted = Fit(text, width);
  return cell.is_same ? style.Dim(fitted) : Coloured(fitted, cell.scope, style);
}

std::vector<std::string> TreeLegend(const Style& style) {
  return {absl::StrCat("operands met in ", Coloured("one thread", Scope::kThread, style), ", ",
                       Coloured("one warp [warp]", Scope::kWarp, style), ", ",
                       Coloured("shared memory [shared]", Scope::kShared, style)),
          absl::StrCat(Coloured("x[12]", Scope::kGlobal, style), " byte 12 of a buffer, #1 a part that both hold, @12 line 12 of the text")};
}

// The last component of the path, and what comes after it.
std::string ShortSource(const std::string& source) {
  const size_t path_end = std::min(source.find(", inlined at "), source.size());
  const size_t slash = source.rfind('/', path_end == 0 ? 0 : path_end - 1);
  return slash == std::string::npos ? source : source.substr(slash + 1);
}

std::vector<std::string> TreePlaces(const Tree& tree, size_t limit) {
  std::map<uint32_t, const checker::Place*> places;
  for (const TreeNode& node : tree)
    if (node.place.line != 0) places.try_emplace(node.place.line, &node.place);
  std::vector<std::string> lines;
  for (const auto& [line, place] : places) {
    if (lines.size() == limit) {
      lines.push_back(absl::StrCat("... ", places.size() - limit, " more"));
      break;
    }
    lines.push_back(OneLine(absl::StrCat("@", line, "  ", place->instruction, place->source.empty() ? "" : "  ", ShortSource(place->source))));
  }
  return lines;
}

}  // namespace samebits::cli
