#include "client/render/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/client/render/xml.h"

namespace samebits::render {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Texts(const Axis& axis) {
  std::vector<std::string> out;
  for (const Tick& tick : axis.ticks) out.push_back(tick.text);
  return out;
}

TEST(ChartTest, LinearAxesEndAtRoundNumbers) {
  EXPECT_THAT(Texts(LinearAxis("", 0, 23)), ElementsAre("0", "5", "10", "15", "20", "25"));
  EXPECT_THAT(Texts(LinearAxis("", -0.4, 1)), ElementsAre("-0.5", "0", "0.5", "1"));
  EXPECT_EQ(LinearAxis("", 5, 5).ticks.front().value, 5);
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{
           {0, 0}, {3, 3}, {-2, -2}, {NAN, 1}, {0, HUGE_VAL}, {5, 1}, {1e300, 1e305}, {0, 1e-300}, {1, 1 + 1e-15}}) {
    const Axis axis = LinearAxis("", low, high);
    EXPECT_LT(axis.low, axis.high) << low << " " << high;
    EXPECT_GE(axis.ticks.size(), 2u) << low << " " << high;
    EXPECT_LE(axis.ticks.size(), 32u) << low << " " << high;
  }
}

TEST(ChartTest, LogAxesHaveWholeDecadesAndAPlaceForZero) {
  const Axis axis = LogAxis("", {3e-5, 2e-2});
  EXPECT_THAT(Texts(axis), ElementsAre("10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²", "10⁻¹"));
  EXPECT_DOUBLE_EQ(axis.At(1e-3), 0.5);
  EXPECT_FALSE(axis.Has(0));
  EXPECT_FALSE(axis.Has(-1));
  EXPECT_FALSE(axis.Has(NAN));
  const Axis zero = LogAxis("", {0, 1e-3});
  EXPECT_TRUE(zero.Has(0));
  EXPECT_EQ(zero.ticks.front().text, "0");
  EXPECT_EQ(zero.At(0), 0);
  EXPECT_GT(zero.At(1e-3), 0.05) << "apart from zero";
  EXPECT_EQ(LogAxis("", {}).ticks.size(), 2u);
  EXPECT_LE(LogAxis("", {1e-300, 1e300}).ticks.size(), 16u);
  EXPECT_LT(LogAxis("", {-1, NAN}).low, LogAxis("", {-1, NAN}).high);
}

TEST(ChartTest, NamesThatDoNotFitAreThinnedOut) {
  std::vector<std::string> names;
  for (int i = 0; i < 300; ++i) names.push_back("layer " + std::to_string(i));
  Plot plot({50, 10, 400, 100}, NamedAxis("x", names), LinearAxis("y", 0, 1));
  plot.DrawAxes();
  const Element svg = ParseXml(ChartDocument("t", "d", 500, 200, plot.elements()));
  double last = -1000;
  size_t count = 0;
  for (const Element* text : FindAll(svg, "text")) {
    if (text->attributes.at("class").find("xt") == std::string::npos) continue;
    const double x = std::stod(text->attributes.at("x")), half = TextWidth(text->text) / 2;
    EXPECT_GE(x - half, last);
    last = x + half;
    ++count;
  }
  EXPECT_GT(count, 3u);
  EXPECT_LT(count, 20u);
}

TEST(ChartTest, LegendsWrapAndStayInside) {
  std::vector<LegendEntry> entries;
  for (int i = 0; i < 64; ++i) entries.push_back({SeriesClass(i), std::string(static_cast<size_t>(i) * 3, 'x'), Key::kMark, i});
  double height = 0;
  const std::string legend = DrawChartLegend(entries, 10, 20, 600, &height);
  EXPECT_GT(height, 100);
  for (const Element* text : FindAll(ParseXml(ChartDocument("", "", 1, 1, legend)), "text")) {
    EXPECT_LE(std::stod(text->attributes.at("x")) + TextWidth(text->text), 611);
    EXPECT_LE(std::stod(text->attributes.at("y")), 20 + height);
  }
}

TEST(ChartTest, TextIsWrappedAtWords) {
  EXPECT_THAT(WrappedText("aa bb cc", TextWidth("aa bb")), ElementsAre("aa bb", "cc"));
  EXPECT_THAT(WrappedText("abcdefghij", TextWidth("abcde")), ElementsAre("abcd…"));
  EXPECT_TRUE(WrappedText("  ", 10).empty());
}

}  // namespace
}  // namespace samebits::render
