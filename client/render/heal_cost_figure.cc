#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/render/heal_figures.h"
#include "client/render/heal_page.h"

namespace samebits::render {
namespace {

constexpr double kBar = 30, kBetween = 28;  // pixels of a bar, between groups
constexpr size_t kMostBars = 400;
// Bars above this many times the next lower configuration's highest are cut off, so that the others can be read.
constexpr double kCutRatio = 4;

using Rows = std::vector<const heal::ServeCostRow*>;
using Group = std::pair<int, int>;  // context, batch

double Percent(const heal::ServeCostRow& row) { return 100 * row.overhead.mean; }

bool IsTimed(const heal::ServeCostRow& row) { return row.missing.empty() && row.milliseconds.count > 0 && std::isfinite(row.overhead.mean); }

// Highest overhead that is drawn whole.
double Ceiling(const Rows& rows) {
  std::map<std::string, double> highest;
  for (const heal::ServeCostRow* row : rows)
    if (IsTimed(*row)) highest[row->configuration] = std::max(highest[row->configuration], Percent(*row));
  std::vector<double> sorted;
  for (const auto& [name, value] : highest) sorted.push_back(std::max(value, 1.0));
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i] > kCutRatio * sorted[i - 1] && sorted[i] > 20) return std::max(sorted[i - 1], 5.0);
  return sorted.empty() ? 1 : sorted.back();
}

std::string RowText(const heal::ServeCostRow& row) {
  const std::string where = absl::StrCat(row.configuration, ", batch ", row.batch, ", context ", row.context, ": ");
  if (!IsTimed(row)) return absl::StrCat(where, row.missing.empty() ? "not measured" : row.missing);
  return absl::StrCat(where, Number(row.milliseconds.mean), " ms a token, ", absl::StrFormat("%+.3g %%", Percent(row)),
                      row.overhead.count > 1 && std::isfinite(row.overhead.sem) ? absl::StrFormat(" ± %.2g", 100 * row.overhead.sem) : "");
}

void DrawBar(const heal::ServeCostRow& row, double x, double half, size_t series, double top, Plot* plot) {
  const std::string text = RowText(row);
  if (!IsTimed(row)) {
    plot->Text(x, plot->Y(0) - 6, "t m none", "–");
    return;
  }
  const double value = Percent(row), drawn = std::min(value, top);
  plot->Box(x - half, x + half, plot->Y(std::max(drawn, 0.0)), plot->Y(std::min(drawn, 0.0)), SeriesClass(series), text);
  double label = plot->Y(std::max(drawn, 0.0)) - 5;
  if (value > top) {
    // two cuts in the background's colour: the bar goes on
    for (const double y : {plot->Y(top) + 10, plot->Y(top) + 16}) plot->Segment(x - half - 2, y + 2, x + half + 2, y - 2, "cut");
  } else if (std::isfinite(row.overhead.sem) && row.overhead.sem > 0) {
    plot->ErrorBarY(x, value, 100 * row.overhead.sem, "bar");
    label = std::min(label, plot->Y(value + 100 * row.overhead.sem) - 5);
  }
  plot->Text(x, label, "t m value", absl::StrFormat(std::abs(value) < 9.95 ? "%.1f" : "%.0f", value));
}

}  // namespace

std::string ServeCostFigure(const heal::ServeCostResult& result) {
  const std::string title = absl::StrCat("Time per output token over ", result.baseline);
  Rows rows;
  std::vector<std::string> configurations;
  std::map<Group, Rows> groups;
  size_t left_out = 0;
  for (const heal::ServeCostRow& row : result.rows) {
    if (row.configuration == result.baseline) continue;
    if (rows.size() == kMostBars) {
      ++left_out;
      continue;
    }
    rows.push_back(&row);
    groups[{row.context, row.batch}].push_back(&row);
    if (std::find(configurations.begin(), configurations.end(), row.configuration) == configurations.end()) configurations.push_back(row.configuration);
  }
  if (std::none_of(rows.begin(), rows.end(), [](const auto* row) { return IsTimed(*row); })) return EmptyFigure(title, "nothing was timed");
  const double group_width = static_cast<double>(configurations.size()) * kBar + kBetween;
  Page page(title, std::max(kPlotWidth, group_width * static_cast<double>(groups.size())));
  std::vector<LegendEntry> legend;
  for (size_t i = 0; i < configurations.size(); ++i) legend.push_back({SeriesClass(i), configurations[i], Key::kBox});
  page.Legend(legend);
  const double ceiling = Ceiling(rows);
  double low = 0, high = ceiling;
  bool cut = false;
  for (const heal::ServeCostRow* row : rows) {
    if (!IsTimed(*row)) continue;
    const double sem = std::isfinite(row->overhead.sem) ? 100 * row->overhead.sem : 0;
    low = std::min(low, Percent(*row) - sem);
    if (Percent(*row) <= ceiling) high = std::max(high, Percent(*row) + sem);
    cut |= Percent(*row) > ceiling;
  }
  std::set<int> contexts;
  for (const auto& [group, members] : groups) contexts.insert(group.first);
  std::vector<std::string> names;
  for (const auto& [group, members] : groups)
    names.push_back(contexts.size() == 1 ? absl::StrCat(group.second) : absl::StrCat(group.second, " (", group.first, ")"));
  const std::string label = contexts.size() == 1 ? absl::StrCat("Batch, context ", *contexts.begin(), " tokens") : "Batch (context, tokens)";
  Plot plot(page.NextFrame(), NamedAxis(label, names), LinearAxis("Overhead (%)", low, high * 1.12));
  plot.DrawAxes();
  plot.Segment(plot.X(plot.x().low), plot.Y(0), plot.X(plot.x().high), plot.Y(0), "axis");
  const double step = (plot.X(1) - plot.X(0) - kBetween) / static_cast<double>(configurations.size());
  const double pitch = std::min(step, 64.0);
  std::string said;
  double at = 0;
  for (const auto& [group, members] : groups) {
    for (const heal::ServeCostRow* row : members) {
      const size_t series = static_cast<size_t>(std::find(configurations.begin(), configurations.end(), row->configuration) - configurations.begin());
      const double offset = static_cast<double>(series) - (static_cast<double>(configurations.size()) - 1) / 2;
      DrawBar(*row, plot.X(at) + offset * pitch, 0.42 * pitch, series, plot.y().high, &plot);
      absl::StrAppend(&said, RowText(*row), ". ");
      if (!row->missing.empty()) page.Note(RowText(*row));
    }
    ++at;
  }
  page.Add(plot);
  page.Note("Numbers: overhead in %; bars: one standard error over rounds.");
  if (cut) page.Note("Cut bars go on beyond the axis, up to their number.");
  if (left_out > 0) page.Note(absl::StrCat(left_out, " more rows are not drawn."));
  return page.Finish(said);
}

namespace {

struct Draw {
  std::string operator()(const heal::EvaluateResult& result) const { return FlipRateFigure(result); }
  std::string operator()(const heal::AttributeResult& result) const { return AttributionFigure(result); }
  std::string operator()(const heal::DecomposeResult& result) const { return DecompositionFigure(result); }
  std::string operator()(const heal::SweepResult& result) const { return SweepFigure(result); }
  std::string operator()(const heal::QkvResult& result) const { return QkvFigure(result); }
  std::string operator()(const heal::PolicyResult& result) const { return PolicyFigure(result); }
  std::string operator()(const heal::ServeCostResult& result) const { return ServeCostFigure(result); }
  std::string operator()(const heal::MixReport& result) const { return InstructionMixFigure(heal::RowsOf(result)); }
};

}  // namespace

std::string HealFigure(const heal::JobResult& result) { return std::visit(Draw(), result); }

}  // namespace samebits::render
