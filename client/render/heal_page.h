#ifndef SAMEBITS_CLIENT_RENDER_HEAL_PAGE_H_
#define SAMEBITS_CLIENT_RENDER_HEAL_PAGE_H_

// A figure of the numerics jobs from top to bottom: title, legend, plots, notes.

#include <string>
#include <string_view>
#include <vector>

#include "client/render/chart.h"

namespace samebits::render {

inline constexpr double kPlotLeft = 72, kPlotWidth = 560, kPlotHeight = 300, kPlotRight = 72;

class Page {
 public:
  explicit Page(std::string title, double plot_width = kPlotWidth);

  void Legend(const std::vector<LegendEntry>& entries);
  void Heading(std::string_view text);  // of the next plot
  Frame NextFrame(double height = kPlotHeight) const;
  void Add(const Plot& plot, double height = kPlotHeight);  // drawn in NextFrame(height)
  void Note(std::string_view text);  // below the plots; empty: nothing
  std::string Finish(std::string_view description) const;

 private:
  std::string title_;
  double plot_width_, y_;
  std::string elements_;
  std::vector<std::string> notes_;
};

// A document that says that there is nothing to draw.
std::string EmptyFigure(std::string_view title, std::string_view why);

std::string PercentText(double fraction);  // "12.5 %"
std::string Number(double value);          // four digits
// "left out: a, b"; empty without names.
std::string LeftOut(std::string_view why, const std::vector<std::string>& names);

}  // namespace samebits::render

#endif  // SAMEBITS_CLIENT_RENDER_HEAL_PAGE_H_
