#include "client/render/chart.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/render/escape.h"

namespace samebits::render {
namespace {

constexpr double kColumn = 6.6, kLine = 16;  // of the chart's 12 px text
constexpr double kMark = 5, kCap = 3;

std::string Title(std::string_view title) { return title.empty() ? "" : absl::StrCat("<title>", Escape(title), "</title>"); }

std::string MarkPath(double x, double y, int shape) {
  const double r = kMark;
  switch (shape % 6) {
    case 0: return absl::StrFormat("M%.1f %.1fa%g %g 0 1 0 %g 0a%g %g 0 1 0 %g 0z", x - r, y, r, r, 2 * r, r, r, -2 * r);
    case 1: return absl::StrFormat("M%.1f %.1fh%gv%gh%gz", x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r, -1.8 * r);
    case 2: return absl::StrFormat("M%.1f %.1fl%g %gl%g %gl%g %gz", x, y - 1.3 * r, 1.3 * r, 1.3 * r, -1.3 * r, 1.3 * r, -1.3 * r, -1.3 * r);
    case 3: return absl::StrFormat("M%.1f %.1fl%g %gh%gz", x, y - 1.2 * r, 1.2 * r, 2.1 * r, -2.4 * r);
    case 4: return absl::StrFormat("M%.1f %.1fl%g %gh%gz", x, y + 1.2 * r, 1.2 * r, -2.1 * r, -2.4 * r);
    default:
      return absl::StrFormat("M%.1f %.1fh4v-4h4v4h4v4h-4v4h-4v-4h-4z", x - 6, y - 2);
  }
}

}  // namespace

double TextWidth(std::string_view text) { return static_cast<double>(Columns(text)) * kColumn; }

std::string ChartText(double x, double y, std::string_view classes, std::string_view text) {
  return absl::StrFormat("<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", std::string(classes), x, y, Escape(text));
}

std::vector<std::string> WrappedText(std::string_view text, double width) {
  std::vector<std::string> lines;
  for (const absl::string_view word : absl::StrSplit(absl::string_view(text.data(), text.size()), ' ', absl::SkipEmpty())) {
    const std::string next(word);
    if (lines.empty() || TextWidth(lines.back() + " " + next) > width) {
      lines.push_back(Shortened(next, static_cast<size_t>(std::max(1.0, width / kColumn))));
    } else {
      lines.back() += " " + next;
    }
  }
  return lines;
}

std::string SeriesClass(size_t index) { return absl::StrCat("s", index % 10); }

Plot::Plot(Frame frame, Axis x, Axis y) : frame_(frame), x_(std::move(x)), y_(std::move(y)) {}

size_t Plot::Stride() const {
  for (size_t stride = 1; stride < x_.ticks.size(); ++stride) {
    double free = -HUGE_VAL;  // right end of the last text
    bool fits = true;
    for (size_t i = 0; i < x_.ticks.size() && fits; i += stride) {
      const double px = X(x_.ticks[i].value), half = std::max(TextWidth(x_.ticks[i].text), TextWidth(x_.ticks[i].note)) / 2;
      fits = px - half >= free;
      free = px + half + 6;
    }
    if (fits) return stride;
  }
  return std::max<size_t>(1, x_.ticks.size());
}

void Plot::DrawAxes() {
  const double right = frame_.left + frame_.width, bottom = frame_.top + frame_.height;
  const size_t stride = Stride();
  for (size_t i = 0; i < x_.ticks.size(); i += stride) {
    const Tick& tick = x_.ticks[i];
    const double px = X(tick.value);
    Segment(px, bottom, px, bottom + 4, "axis");
    Text(px, bottom + 18, "t m xt", tick.text);
    if (!tick.note.empty()) Text(px, bottom + 32, "t m", tick.note);
  }
  for (const Tick& tick : y_.ticks) {
    const double py = Y(tick.value);
    Segment(frame_.left, py, right, py, "grid");
    Text(frame_.left - 8, py + 4, "t e yt", tick.text);
  }
  Segment(frame_.left, bottom, right, bottom, "axis");
  Segment(frame_.left, frame_.top, frame_.left, bottom, "axis");
  Text(frame_.left + frame_.width / 2, bottom + (x_.ticks.empty() || x_.ticks[0].note.empty() ? 38 : 50), "t m", x_.label);
  absl::StrAppendFormat(&elements_, "<text class=\"t m\" transform=\"translate(%.1f %.1f) rotate(-90)\">%s</text>\n", frame_.left - 52,
                        frame_.top + frame_.height / 2, Escape(y_.label));
}

void Plot::DrawRightAxis(const Axis& axis) {
  const double right = frame_.left + frame_.width;
  Segment(right, frame_.top, right, frame_.top + frame_.height, "axis");
  for (const Tick& tick : axis.ticks) {
    const double py = YOn(axis, tick.value);
    Segment(right, py, right + 4, py, "axis");
    Text(right + 8, py + 4, "t rt", tick.text);
  }
  absl::StrAppendFormat(&elements_, "<text class=\"t m\" transform=\"translate(%.1f %.1f) rotate(90)\">%s</text>\n", right + 50,
                        frame_.top + frame_.height / 2, Escape(axis.label));
}

void Plot::Mark(double px, double py, int shape, std::string_view classes, std::string_view title) {
  absl::StrAppendFormat(&elements_, "<path class=\"mark %s\" d=\"%s\">%s</path>\n", std::string(classes), MarkPath(px, py, shape), Title(title));
}

void Plot::Path(const std::vector<std::pair<double, double>>& points, std::string_view classes, std::string_view title) {
  if (points.empty()) return;
  std::string d;
  for (const auto& [x, y] : points) absl::StrAppendFormat(&d, "%s%.1f %.1f", d.empty() ? "M" : "L", x, y);
  absl::StrAppendFormat(&elements_, "<path class=\"line %s\" d=\"%s\">%s</path>\n", std::string(classes), d, Title(title));
}

void Plot::Box(double left, double right, double top, double bottom, std::string_view classes, std::string_view title) {
  absl::StrAppendFormat(&elements_, "<rect class=\"box %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">%s</rect>\n",
                        std::string(classes), left, std::min(top, bottom), std::max(0.0, right - left), std::abs(bottom - top), Title(title));
}

void Plot::Segment(double x0, double y0, double x1, double y1, std::string_view classes) {
  absl::StrAppendFormat(&elements_, "<path class=\"line %s\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", std::string(classes), x0, y0, x1, y1);
}

void Plot::Text(double px, double py, std::string_view classes, std::string_view text) { elements_ += ChartText(px, py, classes, text); }

void Plot::ErrorBarY(double px, double value, double error, std::string_view classes) {
  if (!std::isfinite(error) || error <= 0) return;
  const double top = Y(value + error), bottom = Y(value - error);
  Segment(px, top, px, bottom, classes);
  for (const double y : {top, bottom}) Segment(px - kCap, y, px + kCap, y, classes);
}

void Plot::ErrorBarX(double value, double error, double py, std::string_view classes) {
  if (!std::isfinite(error) || error <= 0) return;
  const double left = X(value - error), right = X(value + error);
  Segment(left, py, right, py, classes);
  for (const double x : {left, right}) Segment(x, py - kCap, x, py + kCap, classes);
}

std::string DrawChartLegend(const std::vector<LegendEntry>& entries, double left, double top, double width, double* height) {
  constexpr double kKey = 24, kGap = 16;
  Plot plot({}, {}, {});
  double x = left, y = top + kLine / 2;
  for (const LegendEntry& entry : entries) {
    const std::string text = Shortened(entry.text, static_cast<size_t>((width - kKey) / kColumn));
    const double wide = kKey + TextWidth(text);
    if (x > left && x + wide > left + width) {
      x = left;
      y += kLine + 2;
    }
    switch (entry.key) {
      case Key::kMark: plot.Mark(x + 8, y, entry.shape, entry.classes, ""); break;
      case Key::kBox: plot.Box(x, x + 16, y - 5, y + 5, entry.classes, ""); break;
      case Key::kLine:
      case Key::kDashed: plot.Segment(x, y, x + 18, y, entry.classes); break;
    }
    plot.Text(x + kKey, y + 4, "t lt", text);
    x += wide + kGap;
  }
  *height = entries.empty() ? 0 : y + kLine / 2 - top + 6;
  return plot.elements();
}

std::string ChartDocument(std::string_view title, std::string_view description, double width, double height,
                          const std::string& elements) {
  static constexpr char kStyle[] =
      ".page{fill:#fff}.t,.h{font:12px system-ui,sans-serif;fill:#222}.h{font-size:14px;font-weight:600}\n"
      ".m{text-anchor:middle}.e{text-anchor:end}\n"
      ".s0{fill:#0072b2;stroke:#0072b2}.s1{fill:#d55e00;stroke:#d55e00}.s2{fill:#009e73;stroke:#009e73}"
      ".s3{fill:#cc79a7;stroke:#cc79a7}.s4{fill:#b8860b;stroke:#b8860b}.s5{fill:#56b4e9;stroke:#56b4e9}"
      ".s6{fill:#7f56c5;stroke:#7f56c5}.s7{fill:#808080;stroke:#808080}.s8{fill:#a0522d;stroke:#a0522d}"
      ".s9{fill:#2e8b8b;stroke:#2e8b8b}\n"
      ".attention{fill:#9a9aa2}.mlp{fill:#3b7dc4}.kv{fill:#4aa564}.error{fill:#d62728;stroke:#d62728}\n"
      ".box{stroke:none}.quartiles{fill:#bcd3ea;stroke:#35567a;stroke-width:1}.line{fill:none;stroke-width:1.6}\n"
      ".whisker{stroke:#35567a;stroke-width:1.3}.median{stroke:#b3261e;stroke-width:2.2}.outlier{fill:none;stroke:#35567a}\n"
      ".grid{stroke:#e2e2e8;stroke-width:1}.axis{stroke:#555;stroke-width:1}.bar{stroke:#333;stroke-width:1.1}\n"
      ".cut{stroke:#fff;stroke-width:3}.reference{stroke:#777;stroke-dasharray:5 4}\n"
      "@media(prefers-color-scheme:dark){.page{fill:#15161a}.t,.h{fill:#e6e6ea}.grid{stroke:#2f3138}.axis{stroke:#9a9aa6}"
      ".cut{stroke:#15161a}.bar{stroke:#d8d8e0}.reference{stroke:#a0a0aa}.s0{fill:#4aa3df;stroke:#4aa3df}.s6{fill:#a98bea;stroke:#a98bea}"
      ".s8{fill:#cd853f;stroke:#cd853f}.s7{fill:#a8a8b0;stroke:#a8a8b0}.error{fill:#ff6b6b;stroke:#ff6b6b}"
      ".quartiles{fill:#2c4a68;stroke:#9cc0e6}.whisker,.outlier{stroke:#9cc0e6}.median{stroke:#ff8a80}.line,.outlier{fill:none}}\n";
  return absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\">\n"
      "<title>%s</title>\n<desc>%s</desc>\n<style>\n%s</style>\n<rect class=\"page\" width=\"100%%\" height=\"100%%\"/>\n%s</svg>\n",
      width, height, width, height, Escape(title), Escape(description), kStyle, elements);
}

}  // namespace samebits::render
