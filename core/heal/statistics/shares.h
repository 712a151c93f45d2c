#ifndef SAMEBITS_CORE_HEAL_STATISTICS_SHARES_H_
#define SAMEBITS_CORE_HEAL_STATISTICS_SHARES_H_

// Which source an error comes from ("HEAL", appendix B.2 and B.3).

#include <span>
#include <vector>

namespace samebits::heal {

// Of one layer: attention, KV cache, MLP.
struct Shares {
  double attention = 0, kv = 0, mlp = 0;
};

// Equation 24. A share of an expected error of 0 is 0.
struct Sources {
  double beta_a = 0, beta_k = 0, beta_m = 0, lambda_pk = 0;
  double e_post = 0, e_next = 0;  // means over rows
};
Shares LocalShares(const Sources& sources);

// Equations 25 to 27, from the last layer to the first: c_A, c_K, c_M of each layer and what is left. They sum to 1 up
// to rounding, whatever the local shares are.
struct Allocation {
  std::vector<Shares> layers;
  Shares total;
  double remainder = 1;
};
Allocation Allocate(std::span<const Shares> local);

// Equation 28 with total error E, truncation error T and discrepancy L; NaN where E is not positive.
double ShapleyRatio(double total, double truncation, double discrepancy);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_STATISTICS_SHARES_H_
