#ifndef SAMEBITS_CLIENT_RENDER_CHART_H_
#define SAMEBITS_CLIENT_RENDER_CHART_H_

// Axes, marks and legends of data plots, as SVG elements. Lengths are pixels, y grows downwards. All text is escaped here.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace samebits::render {

struct Tick {
  double value = 0;
  std::string text;
  std::string note;  // x: a second line; all ticks of an axis have one or none has
};

// Values -> positions along a side of a plot.
struct Axis {
  std::string label;  // with unit
  bool log = false;
  bool zero = false;  // log: zero has a place of its own before `low`
  double low = 0, high = 1;
  std::vector<Tick> ticks;

  // Whether a value has a place: finite, and on a log axis above zero, or zero where that has one.
  bool Has(double value) const;
  // In [0, 1]; values beyond the ends are at the ends.
  double At(double value) const;
};

// Ends and steps are round numbers of 1, 2 or 5; both ends are ticks. Not finite ends: 0 to 1.
Axis LinearAxis(std::string label, double low, double high);
// Whole decades round the positive values; no positive value: one decade.
Axis LogAxis(std::string label, const std::vector<double>& values);

// Names at equal distances, drawn where they fit: every n-th if there are many.
Axis NamedAxis(std::string label, const std::vector<std::string>& names);

struct Frame {
  double left = 0, top = 0, width = 0, height = 0;
};

enum class Key { kMark, kBox, kLine, kDashed };
struct LegendEntry {
  std::string classes, text;
  Key key = Key::kMark;
  int shape = 0;
};

// One plot. `x` and `y` lie at the bottom and the left; a second y axis lies at the right.
class Plot {
 public:
  Plot(Frame frame, Axis x, Axis y);

  void DrawAxes();                       // grid, ticks, labels
  void DrawRightAxis(const Axis& axis);  // no grid
  double X(double value) const { return frame_.left + x_.At(value) * frame_.width; }
  double Y(double value) const { return YOn(y_, value); }
  double YOn(const Axis& axis, double value) const { return frame_.top + (1 - axis.At(value)) * frame_.height; }
  const Axis& x() const { return x_; }
  const Axis& y() const { return y_; }

  // In pixels. `title`: what a reader sees on it; empty: none.
  void Mark(double px, double py, int shape, std::string_view classes, std::string_view title);
  void Path(const std::vector<std::pair<double, double>>& points, std::string_view classes, std::string_view title);
  void Box(double left, double right, double top, double bottom, std::string_view classes, std::string_view title);
  void Segment(double x0, double y0, double x1, double y1, std::string_view classes);
  void Text(double px, double py, std::string_view classes, std::string_view text);
  // value +- error, with caps.
  void ErrorBarY(double px, double value, double error, std::string_view classes);
  void ErrorBarX(double value, double error, double py, std::string_view classes);

  const std::string& elements() const { return elements_; }

 private:
  size_t Stride() const;  // every so manieth tick of x has room for its text

  Frame frame_;
  Axis x_, y_;
  std::string elements_;
};

// Entries in rows no wider than `width`, from (left, top). Height of the rows in `height`.
std::string DrawChartLegend(const std::vector<LegendEntry>& entries, double left, double top, double width, double* height);

std::string ChartText(double x, double y, std::string_view classes, std::string_view text);
// Text cut to lines of at most `width` pixels.
std::vector<std::string> WrappedText(std::string_view text, double width);
double TextWidth(std::string_view text);

// "s0" to "s9", in turn.
std::string SeriesClass(size_t index);

// A document with name and description for those who do not see it, light and dark.
std::string ChartDocument(std::string_view title, std::string_view description, double width, double height,
                          const std::string& elements);

}  // namespace samebits::render

#endif  // SAMEBITS_CLIENT_RENDER_CHART_H_
