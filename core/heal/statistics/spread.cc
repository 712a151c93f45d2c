#include "core/heal/statistics/spread.h"

#include <algorithm>
#include <cmath>

namespace samebits::heal {

Spread SpreadOf(std::span<const float> values) {
  Spread spread;
  double sum = 0, squares = 0;
  for (const float value : values) {
    const double v = value;
    spread.abs_max = std::max(spread.abs_max, std::abs(v));
    sum += v;
    squares += v * v;
  }
  const double n = static_cast<double>(values.size());
  spread.mean_square = squares / n;
  double deviation = 0;
  for (const float value : values) deviation += (value - sum / n) * (value - sum / n);
  spread.sigma = std::sqrt(deviation / n);
  return spread;
}

double PredictedInt16Mse(double abs_max) {
  const double step = abs_max / 32767;
  return step * step / 12;
}

double PredictedF16Mse(double mean_square) { return std::ldexp(mean_square, -22) / 12; }

double MeanSquaredError(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - b[i];
    sum += difference * difference;
  }
  return a.empty() ? 0 : sum / static_cast<double>(a.size());
}

}  // namespace samebits::heal
