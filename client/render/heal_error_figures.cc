#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "client/render/heal_figures.h"
#include "client/render/heal_page.h"

namespace samebits::render {
namespace {

constexpr double kPanel = 240;      // height of one of several plots
constexpr size_t kMostPanels = 16;  // of one document
constexpr double kHalvedRatio = 11.313708498984761;  // 256 sigma^2 / AbsMax^2 = 2 (equation 8)

double Finite(double value) { return std::isfinite(value) ? value : 0; }

// Parts of one layer's bar, above zero and below.
void StackBar(Plot* plot, double left, double right, const std::vector<std::pair<const char*, double>>& parts, const std::string& layer) {
  double up = 0, down = 0;
  for (const auto& [name, value] : parts) {
    if (value == 0) continue;
    double& end = value > 0 ? up : down;
    plot->Box(left, right, plot->Y(end + value), plot->Y(end), name, absl::StrCat(layer, ", ", name, ": ", PercentText(value / 100)));
    end += value;
  }
}

void AttributionPlot(const heal::Attribution& a, Page* page, std::string* said) {
  std::vector<std::string> names;
  std::vector<double> errors;
  double least = 0, most = 0;
  for (size_t i = 0; i < a.layers.size(); ++i) {
    const heal::LayerAttribution& l = a.layers[i];
    names.push_back(absl::StrCat(i));
    if (l.e_next > 0) errors.push_back(l.e_next);  // a layer without error has no point on the curve
    double up = 0, down = 0;
    for (const double c : {l.attention, l.mlp, l.kv}) (c > 0 ? up : down) += 100 * Finite(c);
    most = std::max(most, up);
    least = std::min(least, down);
  }
  page->Heading(absl::StrCat(a.configuration, ": attention ", PercentText(a.attention), ", MLP ", PercentText(a.mlp), ", KV cache ", PercentText(a.kv),
                             ", left at the first layer ", PercentText(a.remainder)));
  Plot plot(page->NextFrame(kPanel), NamedAxis("Layer", names), LinearAxis("Part of the final error (%)", least, most));
  plot.DrawAxes();
  const Axis error = LogAxis("MSE after the layer (log scale)", errors);
  plot.DrawRightAxis(error);
  const double half = std::min(14.0, 0.4 * (plot.X(1) - plot.X(0)));
  std::vector<std::pair<double, double>> curve;
  for (size_t i = 0; i < a.layers.size(); ++i) {
    const heal::LayerAttribution& l = a.layers[i];
    const double x = plot.X(static_cast<double>(i));
    StackBar(&plot, x - half, x + half, {{"attention", 100 * Finite(l.attention)}, {"mlp", 100 * Finite(l.mlp)}, {"kv", 100 * Finite(l.kv)}},
             absl::StrCat("layer ", i));
    if (error.Has(l.e_next)) curve.emplace_back(x, plot.YOn(error, l.e_next));
  }
  plot.Path(curve, "error", "MSE after each layer");
  if (curve.size() == 1) plot.Mark(curve[0].first, curve[0].second, 0, "error", "MSE after the layer");
  page->Add(plot, kPanel);
  absl::StrAppend(said, a.configuration, ": ", a.layers.size(), " layers, attention ", PercentText(a.attention), ", MLP ", PercentText(a.mlp), ", KV cache ",
                  PercentText(a.kv), ". ");
}

std::string TensorText(heal::QkvTensor tensor) {
  switch (tensor) {
    case heal::QkvTensor::kQuery: return "Q";
    case heal::QkvTensor::kKey: return "K";
    case heal::QkvTensor::kValue: return "V";
  }
  return "";
}

int64_t Total(const heal::QkvDistribution& d) {
  int64_t sum = 0;
  for (const int64_t count : d.histogram) sum += count;
  return sum;
}

// Bins as steps. The last bin has no end and is no density.
std::vector<std::pair<double, double>> Density(const heal::QkvDistribution& d) {
  std::vector<std::pair<double, double>> steps;
  const double scale = 1 / (static_cast<double>(Total(d)) * heal::kQkvBin);
  size_t first = 0, last = d.histogram.size() - 1;
  while (first < last && d.histogram[first] == 0) ++first;
  while (last > first && d.histogram[last - 1] == 0) --last;
  for (size_t i = first; i < last; ++i) {
    const double height = static_cast<double>(d.histogram[i]) * scale;
    steps.emplace_back(static_cast<double>(i) * heal::kQkvBin, height);
    steps.emplace_back(static_cast<double>(i + 1) * heal::kQkvBin, height);
  }
  return steps;
}

using Panel = std::vector<const heal::QkvDistribution*>;

void QkvPlot(const Panel& panel, Page* page, std::string* said) {
  double right = 16, top = 0, left = 0;
  std::string beyond;
  for (const heal::QkvDistribution* d : panel) {
    for (const auto& [x, height] : Density(*d)) {
      right = std::max(right, x);
      top = std::max(top, height);
    }
    if (d->histogram.back() > 0) absl::StrAppend(&beyond, beyond.empty() ? "" : ", ", TensorText(d->tensor), " ", PercentText(static_cast<double>(d->histogram.back()) / static_cast<double>(Total(*d))));
  }
  const std::string which = absl::StrCat(panel[0]->configuration, panel[0]->per_head ? ", each head of a token:" : ", all heads of a token:");
  std::string heading = which;
  for (const heal::QkvDistribution* d : panel) absl::StrAppend(&heading, " ", TensorText(d->tensor), " ", PercentText(d->halved), d == panel.back() ? "" : ",");
  page->Heading(heading + " left of the dashed line");
  Plot plot(page->NextFrame(kPanel), LinearAxis("AbsMax / σ", left, right), LinearAxis("Density", 0, top));
  plot.DrawAxes();
  plot.Segment(plot.X(kHalvedRatio), plot.Y(plot.y().low), plot.X(kHalvedRatio), plot.Y(plot.y().high), "reference");
  for (const heal::QkvDistribution* d : panel) {
    std::vector<std::pair<double, double>> line;
    for (const auto& [x, height] : Density(*d)) line.emplace_back(plot.X(x), plot.Y(height));
    const std::string text = absl::StrCat(TensorText(d->tensor), ": ", d->tensors, " tensors, median AbsMax / sigma ", Number(d->ratio_median));
    plot.Path(line, SeriesClass(static_cast<size_t>(d->tensor)), text);
    absl::StrAppend(said, panel[0]->configuration, ", ", text, ". ");
  }
  page->Add(plot, kPanel);
  if (!beyond.empty()) page->Note(absl::StrCat(which, " ", beyond, " are beyond ", (panel[0]->histogram.size() - 1) * heal::kQkvBin, " and not drawn."));
}

}  // namespace

std::string AttributionFigure(const heal::AttributeResult& result) {
  const std::string title = absl::StrCat("Where the error comes from, layer by layer, anchor ", result.anchor.configuration);
  Page page(title);
  page.Legend({{"attention", "attention, c_A", Key::kBox}, {"mlp", "MLP, c_M", Key::kBox}, {"kv", "KV cache, c_K", Key::kBox}, {"error", "MSE after the layer", Key::kLine}});
  std::string said;
  std::vector<std::string> missing;
  size_t drawn = 0;
  for (const heal::Attribution& a : result.configurations) {
    if (a.layers.empty() || drawn == kMostPanels) {
      missing.push_back(a.configuration);
      continue;
    }
    AttributionPlot(a, &page, &said);
    ++drawn;
  }
  if (drawn == 0) return EmptyFigure(title, "no configuration has layers");
  page.Note(LeftOut("Not drawn", missing));
  return page.Finish(said);
}

std::string DecompositionFigure(const heal::DecomposeResult& result) {
  const std::string title = absl::StrCat("Arithmetic's part of each operator's error, ", result.configuration);
  std::vector<const heal::FamilyOutcome*> families;
  std::vector<std::string> missing, names;
  double least = 0, most = 1;
  for (const heal::FamilyOutcome& f : result.families) {
    if (f.ratio.count == 0) {
      missing.push_back(heal::NameOf(f.family));
      continue;
    }
    families.push_back(&f);
    names.push_back(absl::StrCat(heal::NameOf(f.family), ", n = ", f.ratio.count));
    least = std::min(least, 100 * f.ratio.least);
    most = std::max(most, 100 * f.ratio.most);
  }
  if (families.empty()) return EmptyFigure(title, "no operator has an error");
  Page page(title, 700);
  Axis operators = NamedAxis("Operators, number of instances", names);
  for (size_t i = 0; i < families.size(); ++i) operators.ticks[i].note = "median " + PercentText(families[i]->ratio.median);
  Axis ratio = LinearAxis("Shapley ratio of arithmetic (%)", 0, most);
  if (least < 0) ratio.low = least - 0.02 * (ratio.high - least);  // a ratio may be a little below zero
  Plot plot(page.NextFrame(), operators, ratio);
  plot.DrawAxes();
  std::string said;
  for (size_t i = 0; i < families.size(); ++i) {
    const heal::BoxPlot& b = families[i]->ratio;
    const double x = plot.X(static_cast<double>(i)), half = std::min(28.0, 0.3 * (plot.X(1) - plot.X(0)));
    const auto y = [&](double ratio) { return plot.Y(100 * ratio); };
    const std::string text = absl::StrCat(names[i], ": median ", PercentText(b.median), ", quartiles ", PercentText(b.first), " and ", PercentText(b.third),
                                          ", most ", PercentText(b.most));
    plot.Segment(x, y(b.low), x, y(b.first), "whisker");
    plot.Segment(x, y(b.third), x, y(b.high), "whisker");
    for (const double end : {b.low, b.high}) plot.Segment(x - half / 2, y(end), x + half / 2, y(end), "whisker");
    plot.Box(x - half, x + half, y(b.third), y(b.first), "quartiles", text);
    plot.Segment(x - half, y(b.median), x + half, y(b.median), "median");
    for (const double outlier : b.outliers)
      if (std::isfinite(outlier)) plot.Mark(x, y(outlier), 0, "outlier", PercentText(outlier));
    absl::StrAppend(&said, text, ". ");
  }
  page.Add(plot);
  page.Note("Boxes: quartiles and median over instances; whiskers: the furthest within 1.5 box heights; circles: instances beyond.");
  page.Note(LeftOut("Without any error", missing));
  return page.Finish(said);
}

std::string QkvFigure(const heal::QkvResult& result) {
  const std::string title = "How far Q, K and V reach: AbsMax over standard deviation";
  std::vector<Panel> panels;
  for (const heal::QkvDistribution& d : result.distributions) {
    if (d.layer != -1 || d.histogram.size() < 2 || Total(d) == 0) continue;
    const auto same = std::find_if(panels.begin(), panels.end(), [&](const Panel& p) {
      return p[0]->configuration == d.configuration && p[0]->per_head == d.per_head;
    });
    if (same != panels.end()) {
      same->push_back(&d);
    } else if (panels.size() < kMostPanels) {
      panels.push_back({&d});
    }
  }
  if (panels.empty()) return EmptyFigure(title, "no tensor was measured");
  Page page(title);
  page.Legend({{"s0", "Q", Key::kLine}, {"s1", "K", Key::kLine}, {"s2", "V", Key::kLine}, {"reference", "left of it INT16 halves FP16's error or better", Key::kDashed}});
  std::string said;
  for (const Panel& panel : panels) QkvPlot(panel, &page, &said);
  return page.Finish(said);
}

}  // namespace samebits::render
