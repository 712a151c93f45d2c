#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/human_report.h"
#include "client/cli/tree_rows.h"
#include "client/launch/abseil_text.h"

namespace samebits::cli {
namespace {

// Rows of an expression that are shown, and how many of them from its beginning.
constexpr size_t kMaxRows = 40, kHeadRows = 10;
// Rows before the first difference, where it lies further down.
constexpr size_t kLeadRows = 10;
// Of trees.
constexpr size_t kMaxTreeRows = 70;

// Lines of both sides that stand beside each other.
struct Row {
  std::string a, b;
  bool differs = false;
};

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines = absl::StrSplit(launch::Abseil(text), '\n');
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

// An expression's line without the number of the text's line ("  @12"), which differs between any two texts.
std::string_view WithoutLineNumber(std::string_view line) {
  const size_t at = line.rfind("  @");
  return at == std::string_view::npos ? line : line.substr(0, at);
}

void AddRows(std::string_view a, std::string_view b, size_t width, bool differs, std::vector<Row>* rows) {
  const std::vector<std::string> left = WrapLines(a, width), right = WrapLines(b, width);
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    rows->push_back({i < left.size() ? left[i] : "", i < right.size() ? right[i] : "", differs});
  }
}

std::vector<Row> TextRows(std::string_view a, std::string_view b, size_t width) {
  const std::vector<std::string> left = Lines(a), right = Lines(b);
  std::vector<Row> rows;
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const std::string x = i < left.size() ? left[i] : "", y = i < right.size() ? right[i] : "";
    AddRows(x, y, width, WithoutLineNumber(x) != WithoutLineNumber(y), &rows);
  }
  return rows;
}

Row Elision(size_t count) {
  const std::string text = absl::StrCat("... ", count, " more line", count == 1 ? "" : "s");
  return {text, text, false};
}

// The head of `rows` and the surroundings of the first difference; all of them where they are few.
std::vector<Row> Shorten(const std::vector<Row>& rows) {
  if (rows.size() <= kMaxRows) return rows;
  const auto is_different = [](const Row& row) { return row.differs; };
  const size_t first = std::find_if(rows.begin(), rows.end(), is_different) - rows.begin();
  const bool is_near = first < kMaxRows - kLeadRows || first == rows.size();
  const size_t head = is_near ? kMaxRows : kHeadRows;
  std::vector<Row> out(rows.begin(), rows.begin() + head);
  size_t end = head;
  if (!is_near) {
    const size_t begin = std::max(head, first - kLeadRows);
    end = std::min(rows.size(), begin + kMaxRows - kHeadRows);
    if (begin > head) out.push_back(Elision(begin - head));
    out.insert(out.end(), rows.begin() + begin, rows.begin() + end);
  }
  if (end < rows.size()) out.push_back(Elision(rows.size() - end));
  return out;
}

std::string BesideEachOther(const std::vector<Row>& rows, size_t width, const Style& style) {
  std::string out;
  for (const Row& row : rows) {
    const std::string left = Fit(row.a, width);
    absl::StrAppend(&out, "  ", row.differs ? style.Bold(left) : left, row.differs ? " ≠" : " │",
                    row.b.empty() ? "" : " ", row.differs ? style.Bold(row.b) : row.b, "\n");
  }
  return out;
}

std::string BelowEachOther(const std::string& id, const std::vector<Row>& rows, std::string Row::*side,
                           const Style& style) {
  std::string out = absl::StrCat("  ", style.Bold(OneLine(id)), "\n");
  for (const Row& row : rows) {
    const std::string& text = row.*side;
    absl::StrAppend(&out, row.differs && !text.empty() ? "  ≠ " : text.empty() ? "" : "    ", text, "\n");
  }
  return out;
}

constexpr size_t kMaxPlaces = 12;

// The head of the trees and the surroundings of the first place where they part.
std::vector<TreeRow> ShortenTrees(const std::vector<TreeRow>& rows) {
  if (rows.size() <= kMaxTreeRows) return rows;
  const auto differs = [](const TreeRow& row) { return row.differs; };
  const size_t first = std::find_if(rows.begin(), rows.end(), differs) - rows.begin();
  const size_t begin = first >= kMaxTreeRows && first < rows.size() ? first - kMaxTreeRows / 2 : kHeadRows;
  std::vector<TreeRow> out(rows.begin(), rows.begin() + kHeadRows);
  const auto elide = [&](size_t count) {
    TreeCell cell;
    cell.text = Elision(count).a;
    out.push_back({cell, cell, false});
  };
  if (begin > kHeadRows) elide(begin - kHeadRows);
  const size_t end = std::min(rows.size(), begin + kMaxTreeRows - kHeadRows);
  out.insert(out.end(), rows.begin() + begin, rows.begin() + end);
  if (end < rows.size()) elide(rows.size() - end);
  return out;
}

std::string Places(const checker::Tree& tree, const std::string& id, const Layout& layout) {
  std::string out;
  const size_t width = static_cast<size_t>(std::max(layout.width - 4, 20));
  for (const std::string& line : TreePlaces(tree, kMaxPlaces)) {
    if (out.empty()) absl::StrAppend(&out, "\n  ", layout.style.Bold(OneLine(id)), "\n");
    for (const std::string& part : WrapLines(line, width)) absl::StrAppend(&out, "    ", part, "\n");
  }
  return out;
}

void EndLine(std::string* out) {
  while (!out->empty() && out->back() == ' ') out->pop_back();
  *out += '\n';
}

std::string TreesBesideEachOther(const checker::Difference& d, size_t width, const Style& style) {
  std::string out;
  for (const TreeRow& row : ShortenTrees(TreeRows(d.a.nodes, d.b.nodes))) {
    absl::StrAppend(&out, "  ", ShowCell(row.a, width, style), row.differs ? style.Red(" ≠ ") : " │ ", ShowCell(row.b, width, style));
    EndLine(&out);
  }
  return out;
}

std::string TreeBelow(const std::string& id, const std::vector<TreeRow>& rows, TreeCell TreeRow::*side, size_t width, const Style& style) {
  std::string out = absl::StrCat("  ", style.Bold(OneLine(id)), "\n");
  for (const TreeRow& row : rows) {
    const TreeCell& cell = row.*side;
    if (cell.text.empty()) continue;
    absl::StrAppend(&out, row.differs ? "  ≠ " : "    ", ShowCell(cell, width, style));
    EndLine(&out);
  }
  return out;
}

// Trees, legend and instructions.
std::string Trees(const checker::Difference& d, const std::string& a, const std::string& b, bool is_wide, size_t width, const Layout& layout) {
  std::string out = "\n";
  for (const std::string& line : TreeLegend(layout.style)) absl::StrAppend(&out, "  ", line, "\n");
  out += "\n";
  if (is_wide) {
    absl::StrAppend(&out, "  ", layout.style.Bold(Fit(OneLine(a), width)), " │ ", layout.style.Bold(OneLine(b)), "\n",
                    TreesBesideEachOther(d, width, layout.style));
  } else {
    const std::vector<TreeRow> rows = ShortenTrees(TreeRows(d.a.nodes, d.b.nodes));
    absl::StrAppend(&out, TreeBelow(a, rows, &TreeRow::a, width, layout.style), "\n", TreeBelow(b, rows, &TreeRow::b, width, layout.style));
  }
  return out + Places(d.a.nodes, a, layout) + Places(d.b.nodes, b, layout);
}

// The input, and what both kernels write; of many numbers the first.
std::string WitnessText(const checker::Witness& witness, const Layout& layout) {
  constexpr size_t kShown = 8;
  std::string inputs;
  for (size_t i = 0; i < std::min(kShown, witness.inputs.size()); ++i) {
    const checker::WitnessInput& in = witness.inputs[i];
    const std::string place = in.buffer.empty() ? absl::StrCat("argument ", in.byte_offset)
                                                : absl::StrCat(in.buffer, "[", in.byte_offset, "]");
    absl::StrAppend(&inputs, i == 0 ? "" : "\n", place, " = ", in.bits, "  ", in.value);
  }
  if (witness.inputs.size() > kShown)
    absl::StrAppend(&inputs, "\n... and ", witness.inputs.size() - kShown, " more numbers");
  absl::StrAppend(&inputs, witness.inputs.empty() ? "all memory zero" : "\nall other memory zero");
  std::string out = LabelledText("witness", inputs, layout);
  const char* unit = witness.bytes == 1 ? " byte" : " bytes";
  out += LabelledText("gives", absl::StrCat(witness.buffer, "[", witness.byte_offset, "], ", witness.bytes, unit), layout);
  out += LabelledText("first", absl::StrCat(witness.bits_a, "  ", witness.value_a), layout);
  out += LabelledText("second", absl::StrCat(witness.bits_b, "  ", witness.value_b), layout);
  if (!witness.exact)
    out += LabelledText("note",
                        "a device may return other bits than these, but different ones from each kernel: approximate "
                        "functions or fused products take part",
                        layout);
  return out;
}

}  // namespace

std::string HumanDifference(const checker::Difference& difference, const std::string& a, const std::string& b,
                            const Layout& layout) {
  constexpr size_t kMinColumn = 44;
  const size_t column = static_cast<size_t>(std::max(layout.width - 5, 0)) / 2;
  const bool is_wide = column >= kMinColumn;
  const size_t width = is_wide ? column : static_cast<size_t>(std::max(layout.width - 4, 20));
  const std::string at = absl::StrCat("buffer ", difference.buffer, ", byte ", difference.byte_offset);
  std::string out = absl::StrCat("\n", LabelledText("difference", difference.summary, layout),
                                 LabelledText("first at", at, layout));
  if (difference.witness) out += WitnessText(*difference.witness, layout);
  if (!difference.cause_text.empty()) out += LabelledText("cause", difference.cause_text, layout);
  if (!difference.a.nodes.empty() || !difference.b.nodes.empty())
    return out + Trees(difference, a, b, is_wide, width, layout);
  std::vector<Row> rows;
  AddRows(difference.a.node, difference.b.node, width, false, &rows);
  AddRows(DescribePlace(difference.a.place), DescribePlace(difference.b.place), width, false, &rows);
  rows.push_back({});
  const std::vector<Row> tree = Shorten(TextRows(difference.a.tree, difference.b.tree, width));
  rows.insert(rows.end(), tree.begin(), tree.end());

  out += "\n";
  const Style& style = layout.style;
  if (!is_wide) return out + BelowEachOther(a, rows, &Row::a, style) + "\n" + BelowEachOther(b, rows, &Row::b, style);
  const std::string title = Fit(OneLine(a), width);
  absl::StrAppend(&out, "  ", style.Bold(title), " │ ", style.Bold(OneLine(b)), "\n");
  return out + BesideEachOther(rows, width, style);
}

}  // namespace samebits::cli
