#include "core/heal/statistics/shares.h"

#include <limits>

namespace samebits::heal {

Shares LocalShares(const Sources& sources) {
  Shares shares;
  if (sources.e_post > 0) {
    shares.attention = sources.beta_a / sources.e_post;
    shares.kv = sources.lambda_pk * sources.beta_k / sources.e_post;
  }
  if (sources.e_next > 0) shares.mlp = sources.beta_m / sources.e_next;
  return shares;
}

Allocation Allocate(std::span<const Shares> local) {
  Allocation result;
  result.layers.resize(local.size());
  for (size_t i = local.size(); i-- > 0;) {
    Shares& layer = result.layers[i];
    layer.mlp = result.remainder * local[i].mlp;
    const double rest = result.remainder * (1 - local[i].mlp);
    layer.attention = rest * local[i].attention;
    layer.kv = rest * local[i].kv;
    result.remainder = rest * (1 - local[i].attention - local[i].kv);
    result.total.attention += layer.attention;
    result.total.kv += layer.kv;
    result.total.mlp += layer.mlp;
  }
  return result;
}

double ShapleyRatio(double total, double truncation, double discrepancy) {
  if (!(total > 0)) return std::numeric_limits<double>::quiet_NaN();
  return (total - truncation + discrepancy) / (2 * total);
}

}  // namespace samebits::heal
