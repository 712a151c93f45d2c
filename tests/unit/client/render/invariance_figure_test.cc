#include "client/render/invariance_figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/client/render/xml.h"

namespace samebits::render {
namespace {

using ::testing::HasSubstr;

gemm::InvarianceRun RunOf(int64_t first, int64_t last, int bits) {
  gemm::InvarianceRun run;
  run.first_m = first, run.last_m = last;
  run.known = bits >= 0, run.bits = bits;
  run.summed_k = 4096;
  if (bits < 0) run.why = "the <profile> does not say";
  if (bits > 0) run.changes = {"cuts none -> contiguous:2048x2:ascending"};
  return run;
}

gemm::InvarianceReport Report(std::vector<gemm::InvarianceRun> runs, int kinds) {
  gemm::InvarianceReport report;
  report.problem.n = 512, report.problem.k = 4096;
  report.runs = std::move(runs);
  report.kinds_of_bits = kinds;
  return report;
}

std::vector<const Element*> Boxes(const Element& root, const std::string& classes) {
  std::vector<const Element*> boxes;
  for (const Element* rect : FindAll(root, "rect")) {
    const auto at = rect->attributes.find("class");
    if (at != rect->attributes.end() && at->second == classes && !FindAll(*rect, "title").empty()) boxes.push_back(rect);
  }
  return boxes;
}

TEST(InvarianceFigureTest, DrawsABoxForEachRunInTheColourOfItsBits) {
  const Element root = ParseXml(InvarianceFigure({{"model a, qkv", Report({RunOf(1, 16, 0), RunOf(17, 24, -1), RunOf(25, 8192, 1)}, 2)},
                                                  {"", Report({RunOf(1, 8192, 0)}, 1)}}));
  const auto first = Boxes(root, "box s0"), second = Boxes(root, "box s1"), unknown = Boxes(root, "box attention");
  ASSERT_EQ(first.size(), 2);
  ASSERT_EQ(second.size(), 1);
  ASSERT_EQ(unknown.size(), 1);
  const auto number = [](const Element* e, const char* name) { return std::stod(e->attributes.at(name)); };
  // logarithmic: 1 to 17 of 1 to 8193
  const double whole = number(first[1], "width");
  EXPECT_NEAR(number(first[0], "width") / whole, std::log(17) / std::log(8193), 0.01);
  EXPECT_GT(number(second[0], "x"), number(unknown[0], "x"));
  EXPECT_GT(number(first[1], "y"), number(first[0], "y"));
  EXPECT_THAT(FindAll(*second[0], "title")[0]->text, HasSubstr("M from 25 to 8192: bits 1, changed: cuts none"));
  EXPECT_THAT(FindAll(*unknown[0], "title")[0]->text, HasSubstr("the <profile> does not say"));
  std::string texts;
  for (const Element* text : FindAll(root, "text")) texts += text->text + "\n";
  EXPECT_THAT(texts, HasSubstr("model a, qkv (n 512, k 4096)"));
}

TEST(InvarianceFigureTest, NothingToDrawIsSaid) {
  EXPECT_THAT(InvarianceFigure({}), HasSubstr("there is no product"));
}

}  // namespace
}  // namespace samebits::render
