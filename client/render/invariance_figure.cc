#include "client/render/invariance_figure.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/render/chart.h"
#include "client/render/heal_page.h"

namespace samebits::render {
namespace {

using gemm::InvarianceReport;
using gemm::InvarianceRun;

constexpr double kBand = 16, kPitch = 24, kNames = 290, kWidth = 620, kMargin = 20;
constexpr size_t kMostBands = 200;
constexpr size_t kColours = 10;

// From the first M to the end of the last one.
Axis BatchAxis(int64_t first, int64_t last) {
  Axis axis{"M: rows of the batch", true};
  axis.low = static_cast<double>(std::max<int64_t>(1, first));
  axis.high = static_cast<double>(last + 1);
  for (int64_t m = 1; m <= last; m *= 2) {
    if (m >= first) axis.ticks.push_back({static_cast<double>(m), absl::StrCat(m), ""});
  }
  return axis;
}

std::string RangeText(const InvarianceRun& run) {
  return run.first_m == run.last_m ? absl::StrCat("M = ", run.first_m) : absl::StrCat("M from ", run.first_m, " to ", run.last_m);
}

std::string RunText(const InvarianceRun& run, int64_t k) {
  if (!run.known) return absl::StrCat(RangeText(run), ": not known: ", run.why);
  std::string text = absl::StrCat(RangeText(run), ": bits ", run.bits);
  if (!run.changes.empty()) absl::StrAppend(&text, ", changed: ", absl::StrJoin(run.changes, "; "));
  if (run.summed_k < k) absl::StrAppend(&text, "; elements from ", run.summed_k, " on are not summed");
  return text;
}

std::string NameOf(const std::pair<std::string, InvarianceReport>& named) {
  const gemm::GemmProblem& p = named.second.problem;
  const std::string sides = absl::StrCat("n ", p.n, ", k ", p.k);
  return named.first.empty() ? sides : absl::StrCat(named.first, " (", sides, ")");
}

void DrawBand(const InvarianceReport& report, double top, Plot* plot) {
  for (const InvarianceRun& run : report.runs) {
    const double left = plot->X(static_cast<double>(run.first_m)), right = plot->X(static_cast<double>(run.last_m + 1));
    if (run.known) {
      const size_t colour = static_cast<size_t>(run.bits) % kColours;
      plot->Box(left, right - std::min(1.0, (right - left) / 3), top, top + kBand, SeriesClass(colour), RunText(run, report.problem.k));
    } else {
      plot->Box(left, right, top + kBand / 2 - 1, top + kBand / 2 + 1, "attention", RunText(run, report.problem.k));
    }
  }
}

}  // namespace

std::string InvarianceFigure(const std::vector<std::pair<std::string, InvarianceReport>>& reports) {
  if (reports.empty() || reports[0].second.runs.empty()) return EmptyFigure("Batch invariance", "there is no product");
  const gemm::GemmProblem& problem = reports[0].second.problem;
  const std::string title =
      absl::StrCat("Bits of a row by batch size, ", TypesText(problem), ", layout ", gemm::ToText(problem.layout));
  const size_t bands = std::min(reports.size(), kMostBands);
  int kinds = 1;
  int64_t first = reports[0].second.runs.front().first_m, last = 1;
  for (size_t i = 0; i < bands; ++i) {
    kinds = std::max(kinds, reports[i].second.kinds_of_bits);
    for (const InvarianceRun& run : reports[i].second.runs) first = std::min(first, run.first_m), last = std::max(last, run.last_m);
  }
  std::string elements = ChartText(kMargin, 26, "h", title);
  std::vector<LegendEntry> legend;
  for (size_t i = 0; i < std::min<size_t>(static_cast<size_t>(kinds), kColours); ++i)
    legend.push_back({SeriesClass(i), absl::StrCat("bits ", i), Key::kBox});
  legend.push_back({"attention", "not known", Key::kBox});
  double legend_height = 0;
  elements += DrawChartLegend(legend, kMargin, 40, kNames + kWidth, &legend_height);
  const Frame frame{kMargin + kNames, 52 + legend_height, kWidth, kPitch * static_cast<double>(bands)};
  Plot plot(frame, BatchAxis(first, last), NamedAxis("", {}));
  plot.DrawAxes();
  std::string said;
  for (size_t i = 0; i < bands; ++i) {
    const double top = frame.top + kPitch * static_cast<double>(i) + (kPitch - kBand) / 2;
    const std::vector<std::string> name = WrappedText(NameOf(reports[i]), kNames - 10);
    plot.Text(frame.left - 8, top + kBand - 4, "t e", name.empty() ? "" : name[0]);
    DrawBand(reports[i].second, top, &plot);
    absl::StrAppend(&said, NameOf(reports[i]), ": ");
    for (const InvarianceRun& run : reports[i].second.runs) absl::StrAppend(&said, RunText(run, reports[i].second.problem.k), ". ");
  }
  double y = frame.top + frame.height + 62;
  elements += plot.elements();
  const std::string colours = kinds > static_cast<int>(kColours) ? "; colours repeat after ten" : "";
  elements += ChartText(kMargin, y, "t", absl::StrCat("One colour of a band: a row of A and B gives the same bits at these M", colours, "."));
  if (reports.size() > bands) {
    y += 18;
    elements += ChartText(kMargin, y, "t", absl::StrCat(reports.size() - bands, " more products are not drawn."));
  }
  return ChartDocument(title, said, 2 * kMargin + kNames + kWidth, y + 18, elements);
}

}  // namespace samebits::render
