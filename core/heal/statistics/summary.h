#ifndef SAMEBITS_CORE_HEAL_STATISTICS_SUMMARY_H_
#define SAMEBITS_CORE_HEAL_STATISTICS_SUMMARY_H_

// Summaries of samples. All sums run in the order of the samples in FP64, so that equal samples give equal bits.

#include <cstdint>
#include <span>
#include <vector>

namespace samebits::heal {

// "HEAL", equation 11: mean +- sigma / sqrt(N), sigma with N - 1 below.
struct MeanSem {
  double mean = 0;  // 0 without samples
  double sem = 0;   // NaN for a single sample, 0 without
  int64_t count = 0;
};
MeanSem MeanAndSem(std::span<const double> samples);

// Mean and spread of samples that came in parts.
class Moments {
 public:
  Moments() = default;
  Moments(int64_t count, double mean, double squares) : count_(count), mean_(mean), squares_(squares) {}
  void Add(double sample);
  void Add(const Moments& other);
  int64_t count() const { return count_; }
  double mean() const { return mean_; }
  double squares() const { return squares_; }  // sum of (sample - mean)^2
  MeanSem Summary() const;

 private:
  int64_t count_ = 0;
  double mean_ = 0, squares_ = 0;
};

// Middle value; the mean of the two middle ones where the count is even; NaN without samples. No sample may be NaN.
double Median(std::vector<double> samples);

// Quantile `p` in [0, 1], linear between the two nearest ranks p * (n - 1).
double Quantile(std::vector<double> samples, double p);

// Box: quartiles; whiskers: the furthest samples within 1.5 times the box's height of it; the rest are outliers.
struct BoxPlot {
  int64_t count = 0;
  double low = 0, first = 0, median = 0, third = 0, high = 0;
  double least = 0, most = 0, mean = 0;
  std::vector<double> outliers;  // ascending, at most 256 of each side's furthest
};
BoxPlot MakeBoxPlot(std::vector<double> samples);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_STATISTICS_SUMMARY_H_
