#include "core/heal/statistics/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace samebits::heal {
namespace {

constexpr int64_t kMostOutliers = 256;

double SortedQuantile(std::span<const double> sorted, double p) {
  if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double rank = p * static_cast<double>(sorted.size() - 1);
  const size_t below = std::min(static_cast<size_t>(rank), sorted.size() - 1);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (rank - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

void Moments::Add(double sample) {
  ++count_;
  const double change = sample - mean_;
  mean_ += change / static_cast<double>(count_);
  squares_ += change * (sample - mean_);
}

void Moments::Add(const Moments& other) {
  if (other.count_ == 0) return;
  const double mine = static_cast<double>(count_), theirs = static_cast<double>(other.count_);
  const double change = other.mean_ - mean_;
  count_ += other.count_;
  const double all = static_cast<double>(count_);
  mean_ += change * (theirs / all);
  squares_ += other.squares_ + change * change * (mine * theirs / all);
}

MeanSem Moments::Summary() const {
  MeanSem summary{mean_, 0, count_};
  const double n = static_cast<double>(count_);
  if (count_ == 1) summary.sem = std::numeric_limits<double>::quiet_NaN();
  if (count_ > 1) summary.sem = std::sqrt(squares_ / (n - 1) / n);
  return summary;
}

MeanSem MeanAndSem(std::span<const double> samples) {
  Moments moments;
  for (const double sample : samples) moments.Add(sample);
  return moments.Summary();
}

double Median(std::vector<double> samples) {
  if (samples.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = samples.begin() + samples.size() / 2;
  std::nth_element(samples.begin(), middle, samples.end());
  if (samples.size() % 2 == 1) return *middle;
  const double lower = *std::max_element(samples.begin(), middle);
  return lower + (*middle - lower) / 2;
}

double Quantile(std::vector<double> samples, double p) {
  std::sort(samples.begin(), samples.end());
  return SortedQuantile(samples, p);
}

BoxPlot MakeBoxPlot(std::vector<double> samples) {
  BoxPlot box;
  if (samples.empty()) return box;
  std::sort(samples.begin(), samples.end());
  box.count = static_cast<int64_t>(samples.size());
  box.first = SortedQuantile(samples, 0.25);
  box.median = SortedQuantile(samples, 0.5);
  box.third = SortedQuantile(samples, 0.75);
  box.least = samples.front();
  box.most = samples.back();
  box.mean = MeanAndSem(samples).mean;
  const double reach = 1.5 * (box.third - box.first);
  const auto low = std::lower_bound(samples.begin(), samples.end(), box.first - reach);
  const auto high = std::upper_bound(samples.begin(), samples.end(), box.third + reach);
  box.low = *low;
  box.high = *(high - 1);
  box.outliers.assign(samples.begin(), samples.begin() + std::min<int64_t>(low - samples.begin(), kMostOutliers));
  box.outliers.insert(box.outliers.end(), samples.end() - std::min<int64_t>(samples.end() - high, kMostOutliers),
                      samples.end());
  return box;
}

}  // namespace samebits::heal
