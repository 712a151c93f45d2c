#ifndef SAMEBITS_CORE_HEAL_STATISTICS_THEIL_SEN_H_
#define SAMEBITS_CORE_HEAL_STATISTICS_THEIL_SEN_H_

// Robust fits of "HEAL", appendix B.2 (equations 20 to 23). Deterministic: equal rows in equal order give equal bits.

#include <cstdint>
#include <optional>
#include <span>

namespace samebits::heal {

inline constexpr int64_t kMostPairs = 1 << 18;  // all pairs of 724 rows

// Median over pairs of rows with different x of (y_r - y_s) / (x_r - x_s) (23); nullopt where all x of the pairs are
// equal. All pairs where they are at most `most_pairs`; else, of n rows, the pairs (r, (r + d) mod n) for as many
// offsets d as fit (one at least), spread evenly over 1 .. (n - 1) / 2: every row is then in equally many pairs. x and y
// have the same size; values are finite.
std::optional<double> TheilSenSlope(std::span<const double> x, std::span<const double> y,
                                    int64_t most_pairs = kMostPairs);

// y ~ slope * x + offset: the mean of y - slope * x. A slope that cannot be told is 0.
struct LineFit {
  double slope = 0, offset = 0;
};
LineFit FitLine(std::span<const double> x, std::span<const double> y, int64_t most_pairs = kMostPairs);

// y ~ first * x1 + second * x2 + offset by alternating Theil-Sen updates, `first` first, from second = 0, until both
// slopes have settled: a change of at most 1e-5 of the slope, or one that, over the range of its feature between the
// quantiles 0.1 and 0.9, is at most 1e-5 of y's range. `settled` is false where 64 rounds did not suffice.
struct PlaneFit {
  double first = 0, second = 0, offset = 0;
  int rounds = 0;
  bool settled = false;
};
PlaneFit FitPlane(std::span<const double> x1, std::span<const double> x2, std::span<const double> y,
                  int64_t most_pairs = kMostPairs);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_STATISTICS_THEIL_SEN_H_
