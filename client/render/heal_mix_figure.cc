#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "client/render/heal_figures.h"
#include "client/render/heal_page.h"

namespace samebits::render {
namespace {

using heal::InstructionClass;

constexpr double kRow = 34, kBar = 12, kWidth = 640;
constexpr size_t kMostRows = 60;

// What is drawn apart; classes of one part are drawn together.
struct MixPart {
  const char* name;
  std::array<InstructionClass, 2> classes;
};
constexpr std::array<MixPart, 10> kParts = {{
    {"tensor", {InstructionClass::kTensor, InstructionClass::kTensor}},
    {"half", {InstructionClass::kHalf, InstructionClass::kHalf}},
    {"single", {InstructionClass::kSingle, InstructionClass::kSingle}},
    {"special", {InstructionClass::kSpecial, InstructionClass::kSpecial}},
    {"double", {InstructionClass::kDouble, InstructionClass::kDouble}},
    {"atomic", {InstructionClass::kAtomic, InstructionClass::kAtomic}},
    {"conversion", {InstructionClass::kConversion, InstructionClass::kConversion}},
    {"compare, constant", {InstructionClass::kCompare, InstructionClass::kConstant}},
    {"integer", {InstructionClass::kInteger, InstructionClass::kInteger}},
    {"memory, control, other", {InstructionClass::kOther, InstructionClass::kUnrecognized}},
}};

int64_t CountOf(const heal::MixRow& row, const MixPart& part) {
  const int64_t first = row.per_class[static_cast<size_t>(part.classes[0])];
  return part.classes[0] == part.classes[1] ? first : first + row.per_class[static_cast<size_t>(part.classes[1])];
}

std::string Shortened(std::string name, double width) {
  if (TextWidth(name) <= width) return name;
  while (!name.empty() && TextWidth(name) > width - 10) {
    do {
      name.pop_back();
    } while (!name.empty() && (static_cast<unsigned char>(name.back()) & 0xc0) == 0x80);  // no half of a letter
  }
  return name + "…";
}

void DrawRow(const heal::MixRow& row, double top, Plot* plot) {
  const double left = plot->X(0);
  plot->Text(left + 2, top + 10, "t", Shortened(absl::StrCat(row.name, ", ", row.instructions, " instructions"), kWidth - 4));
  double at = 0;
  for (size_t i = 0; i < kParts.size(); ++i) {
    const int64_t count = CountOf(row, kParts[i]);
    if (count == 0) continue;
    const double share = 100 * static_cast<double>(count) / static_cast<double>(row.instructions);
    plot->Box(plot->X(at), plot->X(std::min(100.0, at + share)), top + 15, top + 15 + kBar, SeriesClass(i),
              absl::StrCat(Shortened(row.name, 400), ", ", kParts[i].name, ": ", count, ", ", PercentText(share / 100)));
    at += share;
  }
}

}  // namespace

std::string InstructionMixFigure(const std::vector<heal::MixRow>& rows) {
  const std::string title = "What kernels' instructions do";
  std::vector<const heal::MixRow*> drawn;
  for (const heal::MixRow& row : rows)
    if (row.instructions > 0 && drawn.size() < kMostRows) drawn.push_back(&row);
  if (drawn.empty()) return EmptyFigure(title, "no kernel has instructions");
  Page page(title, kWidth);
  std::vector<LegendEntry> legend;
  for (size_t i = 0; i < kParts.size(); ++i)
    if (std::any_of(drawn.begin(), drawn.end(), [&](const heal::MixRow* row) { return CountOf(*row, kParts[i]) > 0; }))
      legend.push_back({SeriesClass(i), kParts[i].name, Key::kBox});
  page.Legend(legend);
  const double height = kRow * static_cast<double>(drawn.size()) + 4;
  const Frame frame = page.NextFrame(height);
  Axis names;  // without ticks: names stand above their bars
  Plot plot(frame, LinearAxis("Share of the code's instructions (%)", 0, 100), names);
  plot.DrawAxes();
  std::string said;
  for (size_t i = 0; i < drawn.size(); ++i) {
    DrawRow(*drawn[i], frame.top + kRow * static_cast<double>(i), &plot);
    absl::StrAppend(&said, Shortened(drawn[i]->name, 400), ": ", drawn[i]->instructions, " instructions, ", drawn[i]->arithmetic,
                    " floating-point arithmetic, ", drawn[i]->conversions, " conversions. ");
  }
  page.Add(plot, height);
  page.Note("Each instruction of the code once, however often it runs.");
  if (drawn.size() < rows.size()) page.Note(absl::StrCat(rows.size() - drawn.size(), " more rows are not drawn."));
  return page.Finish(said);
}

}  // namespace samebits::render
