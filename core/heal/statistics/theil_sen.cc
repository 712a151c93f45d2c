#include "core/heal/statistics/theil_sen.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/heal/statistics/summary.h"

namespace samebits::heal {
namespace {

constexpr int kMostRounds = 64;
constexpr double kTolerance = 1e-5;

template <typename Visit>
void ForEachPair(int64_t n, int64_t most_pairs, const Visit& visit) {
  if (n < 2) return;
  if (n * (n - 1) / 2 <= most_pairs) {
    for (int64_t r = 0; r < n; ++r) {
      for (int64_t s = r + 1; s < n; ++s) visit(r, s);
    }
    return;
  }
  const int64_t widest = std::max<int64_t>(1, (n - 1) / 2);
  const int64_t offsets = std::clamp<int64_t>(most_pairs / n, 1, widest);
  for (int64_t i = 0; i < offsets; ++i) {
    const int64_t offset = 1 + i * widest / offsets;
    for (int64_t r = 0; r < n; ++r) visit(r, (r + offset) % n);
  }
}

double MeanOf(std::span<const double> values) { return MeanAndSem(values).mean; }

std::vector<double> Without(std::span<const double> y, double slope, std::span<const double> x) {
  std::vector<double> rest(y.begin(), y.end());
  for (size_t i = 0; i < rest.size(); ++i) rest[i] -= slope * x[i];
  return rest;
}

double RangeOf(std::span<const double> values) {
  const std::vector<double> list(values.begin(), values.end());
  return list.empty() ? 0 : Quantile(list, 0.9) - Quantile(list, 0.1);
}

bool Close(double before, double after, double x_range, double y_range) {
  const double change = std::abs(after - before);
  return change <= kTolerance * std::abs(after) || (x_range > 0 && change * x_range <= kTolerance * y_range);
}

}  // namespace

std::optional<double> TheilSenSlope(std::span<const double> x, std::span<const double> y, int64_t most_pairs) {
  std::vector<double> slopes;
  ForEachPair(static_cast<int64_t>(x.size()), most_pairs, [&](int64_t r, int64_t s) {
    if (x[r] != x[s]) slopes.push_back((y[r] - y[s]) / (x[r] - x[s]));
  });
  if (slopes.empty()) return std::nullopt;
  return Median(std::move(slopes));
}

LineFit FitLine(std::span<const double> x, std::span<const double> y, int64_t most_pairs) {
  LineFit fit;
  fit.slope = TheilSenSlope(x, y, most_pairs).value_or(0);
  fit.offset = MeanOf(y) - fit.slope * MeanOf(x);
  return fit;
}

PlaneFit FitPlane(std::span<const double> x1, std::span<const double> x2, std::span<const double> y,
                  int64_t most_pairs) {
  PlaneFit fit;
  const double range1 = RangeOf(x1), range2 = RangeOf(x2), range = RangeOf(y);
  while (!fit.settled && fit.rounds < kMostRounds) {
    const double first = TheilSenSlope(x1, Without(y, fit.second, x2), most_pairs).value_or(0);
    const double second = TheilSenSlope(x2, Without(y, first, x1), most_pairs).value_or(0);
    fit.settled = Close(fit.first, first, range1, range) && Close(fit.second, second, range2, range);
    fit.first = first;
    fit.second = second;
    ++fit.rounds;
  }
  fit.offset = MeanOf(y) - fit.first * MeanOf(x1) - fit.second * MeanOf(x2);
  return fit;
}

}  // namespace samebits::heal
