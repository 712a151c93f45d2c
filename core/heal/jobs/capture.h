#ifndef SAMEBITS_CORE_HEAL_JOBS_CAPTURE_H_
#define SAMEBITS_CORE_HEAL_JOBS_CAPTURE_H_

#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/heal/engine/engine.h"

namespace samebits::heal {

// Copies of tapped values. Rows from `first_row` of a pass on; successive passes are joined.
class Capture {
 public:
  explicit Capture(const ModelShape& shape) : shape_(shape) {}

  void Want(TapPoint point, int layer) { values_[{point, layer}]; }
  void Clear();
  // To be given to a pass of `rows` rows, of which the first `skipped` are left out but for points in `whole`.
  Tap MakeTap(size_t rows, size_t skipped, const std::set<TapPoint>& whole = {});
  // INTERNAL where a wanted point did not come or had another size than its rows x width.
  absl::Status Check(size_t rows, size_t whole_rows, const std::set<TapPoint>& whole = {}) const;
  std::span<const float> Values(TapPoint point, int layer) const { return values_.at({point, layer}); }

 private:
  const ModelShape& shape_;
  std::map<std::pair<TapPoint, int>, std::vector<float>> values_;
};

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_JOBS_CAPTURE_H_
