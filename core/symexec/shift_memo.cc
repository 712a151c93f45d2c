#include "core/symexec/shift_memo.h"

#include <utility>

namespace samebits::symexec {

namespace {
constexpr size_t kMostGroups = 64;
constexpr size_t kMostRemembered = 8192;
}

void ShiftMemo::Begin(uint64_t function) {
  key_.assign(1, function);
  groups_.clear();
  remembered_ = true;
}

int ShiftMemo::GroupOf(expr::BufferId buffer, uint32_t symbolic) const {
  for (size_t g = 0; g < groups_.size(); ++g)
    if (groups_[g].buffer == buffer && groups_[g].symbolic == symbolic) return static_cast<int>(g);
  return -1;
}

void ShiftMemo::Operand(const Lanes& v) {
  remembered_ &= v.uniform();
  if (!remembered_) return;
  key_.push_back(v.nodes | static_cast<uint64_t>(v.anchors.size()) << 32);
  for (size_t i = 0; i < v.anchors.size(); ++i) {
    const LaneAnchor& a = v.anchors[i];
    const expr::BufferId buffer = nodes_.slot_buffer(v.nodes, static_cast<int>(i));
    int g = GroupOf(buffer, a.symbolic);
    if (g < 0) {
      g = static_cast<int>(groups_.size());
      groups_.push_back({buffer, a.symbolic, a.constant});
    }
    remembered_ &= (a.symbolic & kMixed) == 0 && groups_.size() <= kMostGroups;
    key_.push_back(a.array | static_cast<uint64_t>(a.symbolic) << 32);
    key_.push_back(static_cast<uint64_t>(a.constant - groups_[static_cast<size_t>(g)].first));
  }
}

bool ShiftMemo::Find(std::vector<Lanes>* results) const {
  if (!remembered_) return false;
  const auto it = results_.find(key_);
  if (it == results_.end()) return false;
  results->resize(it->second.size());
  for (size_t i = 0; i < results->size(); ++i) {
    const Result& r = it->second[i];
    Lanes& v = (*results)[i];
    v = r.value;
    for (size_t a = 0; a < v.anchors.size(); ++a) v.anchors[a].constant += groups_[r.groups[a]].first;
  }
  return true;
}

void ShiftMemo::Add(const std::vector<Lanes>& results) {
  if (!remembered_) return;
  std::vector<Result> kept(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const Lanes& v = results[i];
    if (!v.uniform()) return;
    kept[i].value = v;
    for (size_t a = 0; a < v.anchors.size(); ++a) {
      const int g = GroupOf(nodes_.slot_buffer(v.nodes, static_cast<int>(a)), v.anchors[a].symbolic);
      if (g < 0) return;
      kept[i].groups.push_back(static_cast<uint8_t>(g));
      kept[i].value.anchors[a].constant -= groups_[static_cast<size_t>(g)].first;
    }
  }
  if (results_.size() == kMostRemembered) {
    results_.clear();
    memory_bytes_ = 0;
  }
  memory_bytes_ += key_.size() * 8 + kept.size() * (sizeof(Result) + 8 * sizeof(LaneAnchor));
  results_.emplace(key_, std::move(kept));
}

}  // namespace samebits::symexec
