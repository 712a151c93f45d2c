#ifndef SAMEBITS_CORE_HEAL_STATISTICS_SPREAD_H_
#define SAMEBITS_CORE_HEAL_STATISTICS_SPREAD_H_

// How well 16 bits hold a tensor ("HEAL", section 3).

#include <span>

namespace samebits::heal {

struct Spread {
  double abs_max = 0;
  double sigma = 0;        // standard deviation round the mean, N below
  double mean_square = 0;
  double ratio() const { return abs_max / sigma; }  // infinite for values that are all equal
};
Spread SpreadOf(std::span<const float> values);  // not empty

double PredictedInt16Mse(double abs_max);    // equation 7: (AbsMax / (2^15 - 1))^2 / 12
double PredictedF16Mse(double mean_square);  // equation 8: a lower bound, E[x^2] 2^-22 / 12

// Mean of (a - b)^2; of nothing: 0. Sizes are equal.
double MeanSquaredError(std::span<const float> a, std::span<const float> b);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_STATISTICS_SPREAD_H_
