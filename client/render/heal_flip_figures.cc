#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "client/render/heal_figures.h"
#include "client/render/heal_page.h"

namespace samebits::render {
namespace {

double UpperEnd(const heal::MeanSem& rate) { return rate.mean + (std::isfinite(rate.sem) ? rate.sem : 0); }

bool HasRate(const heal::MeanSem& rate) { return rate.count > 0 && std::isfinite(rate.mean); }

std::string WithError(const heal::MeanSem& value, double scale, const char* unit) {
  return absl::StrCat(Number(value.mean * scale), std::isfinite(value.sem) && value.count > 1 ? absl::StrCat(" ± ", Number(value.sem * scale)) : "", unit);
}

struct FlipPoint {
  std::string name;
  heal::MeanSem mse, rate;
};

heal::MeanSem InPercent(const heal::MeanSem& rate) { return {100 * rate.mean, 100 * rate.sem, rate.count}; }

}  // namespace

std::string FlipRateFigure(const heal::EvaluateResult& result) {
  const std::string what = result.anchor.answers_known ? "Answer flip rate" : "Generated sequences that differ";
  const std::string title = absl::StrCat(what, " against error, anchor ", result.anchor.configuration);
  std::vector<FlipPoint> points;
  std::vector<std::string> missing;
  for (const heal::ConfigurationOutcome& c : result.configurations) {
    const heal::MeanSem& rate = result.anchor.answers_known ? c.flip_rate : c.divergence_rate;
    if (c.mse.count > 0 && std::isfinite(c.mse.mean) && HasRate(rate)) {
      points.push_back({c.configuration, c.mse, InPercent(rate)});
    } else {
      missing.push_back(c.configuration);
    }
  }
  if (points.empty()) return EmptyFigure(title, "no configuration has both an error and a rate");
  std::vector<double> errors;
  double most = 1;
  for (const FlipPoint& p : points) {
    errors.push_back(p.mse.mean);
    if (p.mse.mean > 0 && std::isfinite(p.mse.sem)) errors.push_back(p.mse.mean + p.mse.sem);
    most = std::max(most, UpperEnd(p.rate));
  }
  std::vector<LegendEntry> legend;
  for (size_t i = 0; i < points.size(); ++i) legend.push_back({SeriesClass(i), points[i].name, Key::kMark, static_cast<int>(i)});
  Page page(title);
  page.Legend(legend);
  Plot plot(page.NextFrame(), LogAxis("Final hidden MSE (log scale)", errors), LinearAxis(what + " (%)", 0, most));
  plot.DrawAxes();
  std::string said;
  for (size_t i = 0; i < points.size(); ++i) {
    const FlipPoint& p = points[i];
    const std::string series = SeriesClass(i), text = absl::StrCat(p.name, ": MSE ", WithError(p.mse, 1, ""), ", ", WithError(p.rate, 1, " %"));
    plot.ErrorBarY(plot.X(p.mse.mean), p.rate.mean, p.rate.sem, series);
    if (p.mse.mean > 0) plot.ErrorBarX(p.mse.mean, p.mse.sem, plot.Y(p.rate.mean), series);
    plot.Mark(plot.X(p.mse.mean), plot.Y(p.rate.mean), static_cast<int>(i), series, text);
    absl::StrAppend(&said, text, ". ");
  }
  page.Add(plot);
  page.Note(absl::StrCat(result.anchor.prompts, " prompts; bars: one standard error."));
  page.Note(LeftOut("Not measured", missing));
  return page.Finish(said);
}

std::string SweepFigure(const heal::SweepResult& result) {
  const std::string title = absl::StrCat("Flip rate by kept significand bits, anchor ", result.anchor.configuration);
  std::vector<const heal::SweepPoint*> swept, others;
  std::vector<std::string> missing;
  double least_bits = HUGE_VAL, most_bits = -HUGE_VAL, most = std::max(1.0, 100 * result.tolerated_rate);
  for (const heal::SweepPoint& p : result.points) {
    if (!HasRate(p.flip_rate) || p.bits < 0) {
      missing.push_back(p.configuration);
      continue;
    }
    (p.configuration.starts_with("trunc") ? swept : others).push_back(&p);
    least_bits = std::min<double>(least_bits, p.bits);
    most_bits = std::max<double>(most_bits, p.bits);
    most = std::max(most, UpperEnd(InPercent(p.flip_rate)));
  }
  if (swept.empty() && others.empty()) return EmptyFigure(title, "no width has a rate");
  std::vector<LegendEntry> legend;
  if (!swept.empty()) legend.push_back({"s0", "FP32, each boundary truncated", Key::kMark, 0});
  for (size_t i = 0; i < others.size(); ++i) legend.push_back({SeriesClass(i + 1), others[i]->configuration, Key::kMark, static_cast<int>(i + 1)});
  if (std::isfinite(result.tolerated_rate) && result.tolerated_rate >= 0) legend.push_back({"reference", "tolerated: " + PercentText(result.tolerated_rate), Key::kDashed});
  Page page(title);
  page.Legend(legend);
  Axis bits = NamedAxis("Kept significand bits", {});
  bits.low = least_bits - 0.5;
  bits.high = most_bits + 0.5;
  for (int i = static_cast<int>(least_bits); i <= most_bits; ++i) bits.ticks.push_back({static_cast<double>(i), absl::StrCat(i), ""});
  Plot plot(page.NextFrame(), bits, LinearAxis("Answer flip rate (%)", 0, most));
  plot.DrawAxes();
  std::string said;
  if (std::isfinite(result.tolerated_rate) && result.tolerated_rate >= 0) {
    const double y = plot.Y(100 * result.tolerated_rate);
    plot.Segment(plot.X(bits.low), y, plot.X(bits.high), y, "reference");
  }
  std::vector<std::pair<double, double>> line;
  for (const heal::SweepPoint* p : swept) line.emplace_back(plot.X(p->bits), plot.Y(100 * p->flip_rate.mean));
  plot.Path(line, "s0", "");
  const auto mark = [&](const heal::SweepPoint& p, size_t series, double shift) {
    const heal::MeanSem rate = InPercent(p.flip_rate);
    const std::string text = absl::StrCat(p.configuration, ", ", p.bits, " bits: ", WithError(rate, 1, " %"), ", MSE ", Number(p.mse.mean));
    plot.ErrorBarY(plot.X(p.bits) + shift, rate.mean, rate.sem, SeriesClass(series));
    plot.Mark(plot.X(p.bits) + shift, plot.Y(rate.mean), static_cast<int>(series), SeriesClass(series), text);
    absl::StrAppend(&said, text, ". ");
  };
  for (const heal::SweepPoint* p : swept) mark(*p, 0, 0);
  // Baselines of one width stand beside each other.
  for (size_t i = 0; i < others.size(); ++i) mark(*others[i], i + 1, i % 2 == 0 ? -4 : 4);
  page.Add(plot);
  page.Note(result.threshold_bits ? absl::StrCat("Threshold: ", *result.threshold_bits, " bits (mean MSE ", Number(result.threshold_mse), "): from there on no width flips more than is tolerated.")
                                  : "No threshold: the widest one flips more than is tolerated.");
  page.Note(LeftOut("Not drawn", missing));
  return page.Finish(said);
}

std::string PolicyFigure(const heal::PolicyResult& result) {
  const std::string title = absl::StrCat("Layers that ", result.variant, " may skip");
  std::vector<const heal::PolicyPoint*> orders[2];
  double most_skipped = 1, most = std::isfinite(result.budget) ? result.budget : 1;
  std::vector<std::string> missing;
  for (const heal::PolicyPoint& p : result.points) {
    if (!std::isfinite(p.ratio)) {
      missing.push_back(p.configuration);
      continue;
    }
    orders[p.prefix ? 1 : 0].push_back(&p);
    most_skipped = std::max<double>(most_skipped, p.skipped);
    most = std::max(most, p.ratio);
  }
  if (orders[0].empty() && orders[1].empty()) return EmptyFigure(title, "no policy was measured");
  Page page(title);
  page.Legend({{"s0", "least contribution first", Key::kMark, 0}, {"s1", "from the first layer on", Key::kMark, 1}, {"reference", "budget: " + Number(result.budget), Key::kDashed}});
  Plot plot(page.NextFrame(), LinearAxis("Skipped layers", 0, most_skipped), LinearAxis("Median MSE over the unskipped variant's", 0, most));
  plot.DrawAxes();
  plot.Segment(plot.X(plot.x().low), plot.Y(result.budget), plot.X(plot.x().high), plot.Y(result.budget), "reference");
  std::string said;
  for (size_t order = 0; order < 2; ++order) {
    std::vector<std::pair<double, double>> line;
    for (const heal::PolicyPoint* p : orders[order]) line.emplace_back(plot.X(p->skipped), plot.Y(p->ratio));
    std::sort(line.begin(), line.end());
    plot.Path(line, SeriesClass(order), "");
    for (const heal::PolicyPoint* p : orders[order]) {
      const std::string text = absl::StrCat(p->configuration, ": ", Number(p->ratio));
      plot.Mark(plot.X(p->skipped), plot.Y(p->ratio), static_cast<int>(order), SeriesClass(order), text);
      absl::StrAppend(&said, text, ". ");
    }
  }
  page.Add(plot);
  page.Note(absl::StrCat("Chosen: ", result.configuration, ", ", result.skipped, " layers, ", result.prefix ? "from the first on." : "least contribution first."));
  page.Note(LeftOut("Not finite", missing));
  return page.Finish(said);
}

}  // namespace samebits::render
