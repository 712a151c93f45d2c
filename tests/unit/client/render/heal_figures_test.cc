#include "client/render/heal_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "client/render/chart.h"
#include "tests/unit/client/render/heal_samples.h"
#include "tests/unit/client/render/xml.h"

namespace samebits::render {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

struct Region {
  double left, right, top, bottom;
  std::string text;
};

std::vector<const Element*> OfClass(const Element& root, const std::string& name, const std::string& part) {
  std::vector<const Element*> out;
  for (const Element* e : FindAll(root, name)) {
    const auto it = e->attributes.find("class");
    if (it != e->attributes.end() && (" " + it->second + " ").find(" " + part + " ") != std::string::npos) out.push_back(e);
  }
  return out;
}

std::vector<std::string> Texts(const Element& root) {
  std::vector<std::string> out;
  for (const Element* e : FindAll(root, "text")) out.push_back(e->text);
  return out;
}

// Well-formed, named and described, nothing beyond the page, no number that is none, upright texts apart.
Element Checked(const std::string& svg) {
  EXPECT_THAT(svg, AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf")), Not(HasSubstr("href")), HasSubstr("prefers-color-scheme:dark")));
  Element root = ParseXml(svg);
  EXPECT_EQ(root.attributes.at("role"), "img");
  EXPECT_EQ(root.children.at(0).name, "title");
  EXPECT_FALSE(root.children.at(0).text.empty());
  EXPECT_EQ(root.children.at(1).name, "desc");
  EXPECT_FALSE(root.children.at(1).text.empty());
  const double width = std::stod(root.attributes.at("width")), height = std::stod(root.attributes.at("height"));
  std::vector<Region> regions;
  for (const Element* e : FindAll(root, "text")) {
    if (e->attributes.count("transform") || e->text.empty()) continue;
    const double x = std::stod(e->attributes.at("x")), y = std::stod(e->attributes.at("y")), wide = TextWidth(e->text);
    const std::string classes = " " + e->attributes.at("class") + " ";
    const double left = classes.find(" m ") != std::string::npos ? x - wide / 2 : classes.find(" e ") != std::string::npos ? x - wide : x;
    EXPECT_GE(left, -1) << e->text;
    EXPECT_LE(left + wide, width + 1) << e->text;
    EXPECT_LE(y, height) << e->text;
    regions.push_back({left, left + wide, y - 9, y, e->text});
  }
  for (size_t i = 0; i < regions.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Region &a = regions[i], &b = regions[j];
      EXPECT_FALSE(a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) << a.text << " over " << b.text;
    }
  return root;
}

TEST(HealFiguresTest, FlipRates) {
  const Element svg = Checked(FlipRateFigure(SampleEvaluate()));
  EXPECT_EQ(OfClass(svg, "path", "mark").size(), 14u) << "7 in the plot, 7 in the legend";
  EXPECT_THAT(Texts(svg), AllOf(Contains("Final hidden MSE (log scale)"), Contains("Answer flip rate (%)"), Contains("0"), Contains("heal-full")));
  EXPECT_THAT(svg.children.at(1).text, HasSubstr("bf16: MSE 0.0021 ± 0.00042, 23 ± 1.2 %"));
  heal::EvaluateResult unknown = SampleEvaluate();
  unknown.anchor.answers_known = false;
  unknown.configurations.resize(2);
  unknown.configurations[0].divergence_rate = {0.5, NAN, 1};
  const Element other = Checked(FlipRateFigure(unknown));
  EXPECT_THAT(Texts(other), AllOf(Contains("Generated sequences that differ (%)"), Contains("Not measured: fp16.")));
}

TEST(HealFiguresTest, AttributionHasABarOfThreeForEachLayerAndACurve) {
  const Element svg = Checked(AttributionFigure(SampleAttribute(30)));
  for (const char* part : {"attention", "mlp", "kv"}) EXPECT_EQ(OfClass(svg, "rect", part).size(), 61u) << "2 x 30 and the legend: " << part;
  EXPECT_EQ(OfClass(svg, "path", "error").size(), 3u);
  EXPECT_THAT(Texts(svg), AllOf(Contains("Layer"), Contains("Part of the final error (%)"), Contains("MSE after the layer (log scale)")));
  // The stack's height is what the parts sum to.
  heal::AttributeResult one = SampleAttribute(1);
  one.configurations.resize(1);
  one.configurations[0].layers[0] = {.e_next = 0, .attention = 0.25, .kv = 0.25, .mlp = 0.5};
  const Element single = Checked(AttributionFigure(one));
  double height = 0;
  for (const char* part : {"attention", "mlp", "kv"}) height += std::stod(OfClass(single, "rect", part).at(1)->attributes.at("height"));
  EXPECT_NEAR(height, 240, 0.2) << "100 % is the axis's end";
  EXPECT_EQ(OfClass(single, "path", "error").size(), 1u) << "no curve through an error of zero";
  Checked(AttributionFigure(SampleAttribute(300)));
}

TEST(HealFiguresTest, BoxesOfFamilies) {
  const Element svg = Checked(DecompositionFigure(SampleDecompose()));
  EXPECT_EQ(OfClass(svg, "rect", "quartiles").size(), 5u);
  EXPECT_EQ(OfClass(svg, "path", "median").size(), 5u);
  size_t outliers = 0;
  for (const heal::FamilyOutcome& f : SampleDecompose().families) outliers += f.ratio.outliers.size();
  EXPECT_GT(outliers, 0u);
  EXPECT_EQ(OfClass(svg, "path", "outlier").size(), outliers);
  EXPECT_THAT(Texts(svg), AllOf(Contains("Attention, n = 8"), Contains("median 23.5 %"), Contains("Shapley ratio of arithmetic (%)")));
}

TEST(HealFiguresTest, SweepHasThresholdAndBaselines) {
  const Element svg = Checked(SweepFigure(SampleSweep()));
  EXPECT_EQ(OfClass(svg, "path", "mark").size(), 24u + 5u);
  EXPECT_EQ(OfClass(svg, "path", "reference").size(), 2u);
  EXPECT_THAT(svg.children.at(1).text, HasSubstr("tf32, 10 bits: 9 ± 2 %"));
  bool threshold = false;
  for (const std::string& text : Texts(svg)) threshold |= text.find("Threshold: 17 bits") != std::string::npos;
  EXPECT_TRUE(threshold);
}

TEST(HealFiguresTest, DensitiesIntegrateToOne) {
  const Element svg = Checked(QkvFigure(SampleQkv()));
  EXPECT_EQ(OfClass(svg, "path", "s0").size(), 5u) << "4 plots and the legend";
  heal::QkvResult one = SampleQkv();
  one.distributions.resize(1);
  heal::QkvDistribution& d = one.distributions[0];
  std::fill(d.histogram.begin(), d.histogram.end(), 0);
  d.histogram[10] = 7;
  const Element single = Checked(QkvFigure(one));
  EXPECT_THAT(Texts(single), Contains("4")) << "one bin of a quarter: density 4";
  d.layer = 3;
  EXPECT_THAT(QkvFigure(one), HasSubstr("Nothing to draw")) << "single layers are not drawn";
}

TEST(HealFiguresTest, PoliciesAndTheirBudget) {
  const Element svg = Checked(PolicyFigure(SamplePolicy()));
  EXPECT_EQ(OfClass(svg, "path", "mark").size(), 26u);
  EXPECT_EQ(OfClass(svg, "path", "reference").size(), 2u);
}

TEST(HealFiguresTest, CostsWithOneFarAbove) {
  const Element svg = Checked(ServeCostFigure(SampleServeCost()));
  EXPECT_EQ(OfClass(svg, "rect", "box").size(), 22u + 4u) << "6 groups of 4 without the 2 that do not fit; the legend";
  EXPECT_EQ(OfClass(svg, "path", "cut").size(), 8u) << "4 bars of fp32";
  EXPECT_EQ(OfClass(svg, "text", "none").size(), 2u);
  EXPECT_THAT(Texts(svg), AllOf(Contains("315"), Contains("Overhead (%)"), Contains("16 (2048)")));
}

TEST(HealFiguresTest, BarsOfInstructionsFillTheirShares) {
  std::vector<heal::MixRow> rows(70);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].name = "kernel " + std::to_string(i) + (i == 0 ? std::string(500, 'x') + "é" : "");
    rows[i].per_class[static_cast<size_t>(heal::InstructionClass::kTensor)] = 1;
    rows[i].per_class[static_cast<size_t>(heal::InstructionClass::kCompare)] = 1;
    rows[i].per_class[static_cast<size_t>(heal::InstructionClass::kConstant)] = 2;
    rows[i].instructions = 4;
  }
  const Element svg = Checked(InstructionMixFigure(rows));
  const auto tensor = OfClass(svg, "rect", "s0"), constant = OfClass(svg, "rect", "s7");
  ASSERT_EQ(tensor.size(), 61u) << "60 rows and the legend";
  ASSERT_EQ(constant.size(), 61u);
  EXPECT_NEAR(3 * std::stod(tensor[1]->attributes.at("width")), std::stod(constant[1]->attributes.at("width")), 0.5);
  EXPECT_THAT(Texts(svg), AllOf(Contains("10 more rows are not drawn."), Contains("kernel 1, 4 instructions")));
}

TEST(HealFiguresTest, NothingMeasuredIsSaid) {
  const heal::JobResult empty[] = {heal::EvaluateResult(), heal::AttributeResult(), heal::DecomposeResult(), heal::SweepResult(),
                                   heal::QkvResult(), heal::PolicyResult(), heal::ServeCostResult(), heal::MixReport()};
  for (const heal::JobResult& result : empty) {
    const Element svg = Checked(HealFigure(result));
    EXPECT_THAT(svg.children.at(1).text, Not(HasSubstr("NaN"))) << result.index();
    bool said = false;
    for (const std::string& text : Texts(svg)) said |= text.find("Nothing to draw") == 0;
    EXPECT_TRUE(said) << result.index();
  }
}

TEST(HealFiguresTest, ValuesThatAreNoNumbersAreLeftOut) {
  heal::EvaluateResult evaluate = SampleEvaluate();
  evaluate.configurations[0].mse.mean = NAN;
  evaluate.configurations[1].flip_rate = {0.1, NAN, 1};
  Checked(FlipRateFigure(evaluate));
  heal::AttributeResult attribute = SampleAttribute(4);
  attribute.configurations[0].layers[1].kv = NAN;
  attribute.configurations[0].layers[2].mlp = -0.2;
  attribute.configurations[0].layers[3].e_next = NAN;
  Checked(AttributionFigure(attribute));
  heal::PolicyResult policy = SamplePolicy();
  policy.points[0].ratio = HUGE_VAL;
  Checked(PolicyFigure(policy));
  heal::SweepResult sweep = SampleSweep();
  sweep.points.resize(1);
  sweep.points[0].flip_rate = {0, NAN, 1};
  sweep.threshold_bits.reset();
  Checked(SweepFigure(sweep));
}

TEST(HealFiguresTest, HostileNamesStayText) {
  const std::string name = "</text><script>alert(1)</script>&\"'\x01";
  heal::EvaluateResult evaluate = SampleEvaluate();
  evaluate.configurations[0].configuration = evaluate.anchor.configuration = name;
  heal::ServeCostResult cost = SampleServeCost();
  for (heal::ServeCostRow& row : cost.rows) row.configuration += name, row.missing = row.missing.empty() ? "" : name;
  heal::QkvResult qkv = SampleQkv();
  for (heal::QkvDistribution& d : qkv.distributions) d.configuration += name;
  for (const std::string& svg : {FlipRateFigure(evaluate), ServeCostFigure(cost), QkvFigure(qkv)}) EXPECT_TRUE(FindAll(ParseXml(svg), "script").empty());
}

}  // namespace
}  // namespace samebits::render
