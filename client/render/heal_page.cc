#include "client/render/heal_page.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace samebits::render {
namespace {

constexpr double kMargin = 16, kLine = 16, kBelow = 58;
constexpr size_t kMostNotes = 12;

}  // namespace

Page::Page(std::string title, double plot_width) : title_(std::move(title)), plot_width_(plot_width), y_(kMargin + 12) {
  for (const std::string& line : WrappedText(title_, plot_width_ + kPlotLeft)) {
    elements_ += ChartText(kMargin, y_, "h", line);
    y_ += 18;
  }
}

void Page::Legend(const std::vector<LegendEntry>& entries) {
  double height = 0;
  elements_ += DrawChartLegend(entries, kMargin, y_ - 6, plot_width_ + kPlotLeft + kPlotRight - 2 * kMargin, &height);
  y_ += height;
}

void Page::Heading(std::string_view text) {
  y_ += 8;
  elements_ += ChartText(kPlotLeft, y_ + 8, "t", text);
  y_ += kLine;
}

Frame Page::NextFrame(double height) const { return {kPlotLeft, y_ + 12, plot_width_, height}; }

void Page::Add(const Plot& plot, double height) {
  elements_ += plot.elements();
  const bool two_lines = !plot.x().ticks.empty() && !plot.x().ticks[0].note.empty();
  y_ += 12 + height + kBelow + (two_lines ? kLine : 0);
}

void Page::Note(std::string_view text) {
  if (text.empty() || notes_.size() >= kMostNotes) return;
  for (std::string& line : WrappedText(text, plot_width_ + kPlotLeft + kPlotRight - 2 * kMargin)) notes_.push_back(std::move(line));
}

std::string Page::Finish(std::string_view description) const {
  std::string all = elements_;
  double y = y_;
  for (const std::string& note : notes_) {
    all += ChartText(kMargin, y, "t", note);
    y += kLine;
  }
  return ChartDocument(title_, description, plot_width_ + kPlotLeft + kPlotRight, y + kMargin - 8, all);
}

std::string EmptyFigure(std::string_view title, std::string_view why) {
  Page page{std::string(title)};
  page.Note(absl::StrCat("Nothing to draw: ", std::string(why)));
  return page.Finish(why);
}

std::string PercentText(double fraction) { return absl::StrFormat("%.3g %%", 100 * fraction); }

std::string Number(double value) { return absl::StrFormat("%.4g", value); }

std::string LeftOut(std::string_view why, const std::vector<std::string>& names) {
  return names.empty() ? "" : absl::StrCat(std::string(why), ": ", absl::StrJoin(names, ", "), ".");
}

}  // namespace samebits::render
