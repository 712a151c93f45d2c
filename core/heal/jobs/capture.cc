#include "core/heal/jobs/capture.h"

#include "absl/strings/str_cat.h"

namespace samebits::heal {

void Capture::Clear() {
  for (auto& [key, values] : values_) values.clear();
}

Tap Capture::MakeTap(size_t rows, size_t skipped, const std::set<TapPoint>& whole) {
  return [this, rows, skipped, whole](TapPoint point, int layer, std::span<const float> values) {
    const auto it = values_.find({point, layer});
    const size_t width = static_cast<size_t>(WidthOf(shape_, point));
    if (it == values_.end() || values.size() != rows * width) return;
    const std::span<const float> kept = whole.count(point) > 0 ? values : values.subspan(skipped * width);
    it->second.insert(it->second.end(), kept.begin(), kept.end());
  };
}

absl::Status Capture::Check(size_t rows, size_t whole_rows, const std::set<TapPoint>& whole) const {
  for (const auto& [key, values] : values_) {
    const size_t wanted = (whole.count(key.first) > 0 ? whole_rows : rows) * WidthOf(shape_, key.first);
    if (values.size() == wanted) continue;
    return absl::InternalError(absl::StrCat("tap point ", static_cast<int>(key.first), " of layer ", key.second,
                                            " gave ", values.size(), " values instead of ", wanted));
  }
  return absl::OkStatus();
}

}  // namespace samebits::heal
