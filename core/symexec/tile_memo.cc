#include "core/symexec/tile_memo.h"

#include <algorithm>

namespace samebits::symexec {

bool TileMemo::Find(const Form& form, const std::vector<int64_t>& offsets, std::vector<Lanes>* out) const {
  for (const Entry& e : entries_) {
    if (!(e.form == form) || e.offsets.size() != offsets.size() || offsets.empty()) continue;
    const int64_t shift = offsets[0] - e.offsets[0];
    if (!std::equal(offsets.begin(), offsets.end(), e.offsets.begin(),
                    [shift](int64_t here, int64_t there) { return here - there == shift; }))
      continue;
    *out = e.vectors;
    for (Lanes& v : *out)
      for (LaneAnchor& a : v.anchors) a.constant += shift;
    return true;
  }
  return false;
}

void TileMemo::Add(const Form& form, const std::vector<int64_t>& offsets, const std::vector<Lanes>& vectors) {
  entries_[next_] = {form, offsets, vectors};
  next_ = (next_ + 1) % entries_.size();
}

}  // namespace samebits::symexec
