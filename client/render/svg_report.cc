#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/render/drawing.h"
#include "client/render/escape.h"
#include "client/render/report.h"

namespace samebits::render {
namespace {

constexpr double kMargin = 16, kBetween = 48, kLine = 17, kMinWidth = 640;
constexpr size_t kMaxHeading = 160;

std::string TextAt(double x, double y, std::string_view classes, std::string_view text) {
  return absl::StrFormat("<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", std::string(classes), x, y,
                         Escape(Shortened(text, kMaxHeading)));
}

std::string At(double x, double y, const std::string& elements) {
  return absl::StrFormat("<g transform=\"translate(%.1f %.1f)\">\n%s\n</g>\n", x, y, elements);
}

std::string LaunchText(const Subject& subject) {
  std::string out;
  for (const auto& [name, value] : subject.launch) absl::StrAppend(&out, out.empty() ? "" : ", ", name, " ", value);
  return out;
}

std::string ThreadText(const checker::PartingSide& side) {
  if (side.nodes.empty()) return "stores nothing there";
  const auto dims = [](const checker::Dim3& d) { return absl::StrCat(d[0], ",", d[1], ",", d[2]); };
  return absl::StrCat("stored by thread ", dims(side.thread), " of block ", dims(side.block));
}

}  // namespace

std::string SvgReport(const Report& report) {
  const checker::Comparison& c = report.comparison;
  std::string body;
  double y = kMargin + kLine;
  const auto line = [&](std::string_view classes, std::string_view text) {
    if (text.empty()) return;
    body += TextAt(kMargin, y, classes, text);
    y += kLine;
  };
  const std::string verdict(checker::VerdictName(c.verdict));
  line("h", absl::StrCat(verdict, ": ", report.meaning));
  line("p", c.reason);
  double width = kMinWidth;
  if (c.difference) {
    line("p", c.difference->summary);
    const Drawing legend = DrawLegend();
    body += At(kMargin, y - 8, legend.elements);
    y += legend.height + 10;
    const Drawing a = DrawTree(c.difference->a.nodes, "a"), b = DrawTree(c.difference->b.nodes, "b");
    const double column = std::max(a.width, kMinWidth / 2), right = kMargin + column + kBetween;
    width = std::max(right + std::max(b.width, kMinWidth / 2) + kMargin, 2 * kMargin + legend.width);
    for (const auto& [x, subject, side] :
         {std::tuple(kMargin, &report.a, &c.difference->a), std::tuple(right, &report.b, &c.difference->b)}) {
      body += TextAt(x, y + 8, "h", subject->id);
      body += TextAt(x, y + 8 + kLine, "p", Shortened(LaunchText(*subject), static_cast<size_t>(column / 7.2)));
      body += TextAt(x, y + 8 + 2 * kLine, "p", ThreadText(*side));
    }
    y += 3 * kLine + 8;
    body += At(kMargin, y, a.elements) + At(right, y, b.elements);
    y += std::max(a.height, b.height);
  } else {
    line("p", absl::StrCat(report.a.id, "  ", LaunchText(report.a)));
    line("p", absl::StrCat(report.b.id, "  ", LaunchText(report.b)));
  }
  const double height = y + kMargin;
  return absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\">\n"
      "<title>%s</title>\n<style>\n.page{fill:#fff}\n.h,.p{font:13px system-ui,sans-serif;fill:#111}\n.h{font-weight:600}\n"
      "%s@media(prefers-color-scheme:dark){.page{fill:#15161a}.h,.p{fill:#e6e6ea}}\n</style>\n"
      "<rect class=\"page\" width=\"100%%\" height=\"100%%\"/>\n%s</svg>\n",
      width, height, width, height, Escape(absl::StrCat(verdict, ": ", report.a.id, ", ", report.b.id)),
      std::string(DrawingStyle()), body);
}

}  // namespace samebits::render
