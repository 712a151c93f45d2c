// Shared memory between the trips of a loop of open length: contents along a line, and what orders later accesses.

#include <algorithm>
#include <map>

#include "core/symexec/shared_memory.h"

namespace samebits::symexec {

using expr::Scalar;

SharedMemory SharedMemory::Along(const SharedMemory& later, const Line& line, const Scalar& unknown) const {
  constexpr uint32_t kNone = 0xffffffffu;
  SharedMemory out = *this;
  out.guards_ = {{}};
  std::vector<uint32_t> partner(segments_.size(), 0);
  for (uint32_t i = 0; i < count_; ++i) {
    const Cell mine = CellAt(i), other = later.CellAt(i);
    if (mine.segment == 0) continue;
    uint32_t& p = partner[mine.segment];
    const bool fits = other.segment != 0 && other.offset == mine.offset && (p == 0 || p == other.segment);
    p = fits ? other.segment : kNone;
  }
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> guards;  // guard here and later -> guard of `out`, or kNone
  const auto guard_of = [&](uint32_t here, uint32_t there) {
    const auto [it, fresh] = guards.try_emplace({here, there}, kNone);
    if (!fresh) return it->second;
    const std::vector<Scalar>&a = guards_[here], &b = later.guards_[there];
    if (a.size() != b.size()) return kNone;
    std::vector<Scalar> conditions(a.size());
    for (size_t i = 0; i < a.size(); ++i)
      if (!line(a[i], b[i], &conditions[i])) return kNone;
    return it->second = out.AddGuard(conditions);
  };
  for (size_t id = 1; id < segments_.size(); ++id) {
    Segment& s = out.segments_[id];
    const uint32_t p = partner[id];
    bool known = p != 0 && p != kNone && later.segments_[p].bytes == s.bytes;
    if (known) s.guard = guard_of(segments_[id].guard, later.segments_[p].guard);
    Scalar on_line;
    known = known && s.guard != kNone && line(segments_[id].value.Get(), later.segments_[p].value.Get(), &on_line);
    s.value = known ? on_line : unknown;
    if (!known) s.guard = 0;
  }
  return out;
}

bool SharedMemory::Holds(const SharedMemory& general, expr::NodeId unknown) const {
  for (uint32_t i = 0; i < count_; ++i) {
    const Cell mine = CellAt(i), other = general.CellAt(i);
    if (other.segment == 0) continue;
    const Segment& known = general.segments_[other.segment];
    if (known.value.node() == unknown) continue;
    const Segment& s = segments_[mine.segment];
    if (mine.segment == 0 || mine.offset != other.offset || s.bytes != known.bytes || !expr::Same(s.value.Get(), known.value.Get()))
      return false;
    const std::vector<Scalar>&a = guards_[s.guard], &b = general.guards_[known.guard];
    if (!std::equal(a.begin(), a.end(), b.begin(), b.end(), expr::Same)) return false;
  }
  return true;
}

namespace {

// What a later access can tell of an earlier moment: its block epoch is over, its warp's is, or neither.
int Age(Epoch now, Epoch then) { return now.block > then.block ? 2 : now.warp > then.warp ? 1 : 0; }

}  // namespace

bool SharedMemory::SameOrder(const SharedMemory& other) const {
  if (owing_ || other.owing_ || count_ != other.count_) return false;
  const auto same_groups = [](const std::vector<AsyncGroups>& a, const std::vector<AsyncGroups>& b) {
    for (size_t i = 0; i < a.size(); ++i)
      if (a[i].uncommitted != b[i].uncommitted || a[i].issued - a[i].completed != b[i].issued - b[i].completed) return false;
    return true;
  };
  if (!same_groups(copies, other.copies) || !same_groups(matrix, other.matrix)) return false;
  // Everything that CheckRead, CheckWrite, Repeats and the reads look at, relative to now.
  struct Trace {
    int reader = -1, reader_warp = -1, read_age = 2;
    bool written = false;
    int lane = -1, warp = -1, any_lane = -1, age = 2;
    uint32_t pending = 0;  // groups from the copy's to the one under construction
    bool fenced = true;
    bool operator==(const Trace&) const = default;
  };
  const auto warp_now = [](const SharedMemory& m, uint16_t warp) {
    return Epoch{m.block_epoch, warp == kManyLanes ? 0 : m.warp_epoch[warp]};
  };
  const auto trace = [&](const SharedMemory& m, uint32_t i) {
    Trace t;
    const Cell c = m.CellAt(i);
    if (c.was_read && c.read.block == m.block_epoch) {
      t.reader = c.reader;
      t.reader_warp = c.reader_warp;
      t.read_age = c.reader_warp == kManyLanes ? 0 : Age(warp_now(m, c.reader_warp), c.read);
    }
    if (c.segment == 0) return t;
    const Segment& s = m.segments_[c.segment];
    t.written = true;
    Epoch when = s.when;
    if (s.async_group != 0 && !m.copies[s.lane].CompletedAt(s.async_group, &when)) {
      t.lane = s.lane;
      t.warp = s.warp;
      t.pending = m.copies[s.lane].issued - s.async_group + 1;
      t.age = 0;
      return t;
    }
    t.age = s.warp == kManyLanes && when.block == m.block_epoch ? 0 : Age(warp_now(m, s.warp), when);
    if (t.age < 2) {
      t.lane = s.lane;
      t.warp = s.warp;
    }
    if (s.async_group == 0) {
      t.fenced = m.proxy_fences[s.any_lane] > s.proxy_fences;
      if (!t.fenced || t.age < 2) t.any_lane = s.any_lane;
    }
    return t;
  };
  for (uint32_t i = 0; i < count_; ++i)
    if (!(trace(*this, i) == trace(other, i))) return false;
  // Matrix reads: under way, complete since the last barrier, or over.
  const auto reads = [](const SharedMemory& m, uint32_t i, size_t g) -> uint32_t {
    const uint32_t group = m.line_reads_.empty() ? 0 : m.ReadsOf(i)[g];
    if (group == 0) return 0;
    Epoch done;
    if (!m.matrix[g].CompletedAt(group, &done)) return 2 + m.matrix[g].issued - group;
    return m.block_epoch > done.block ? 0 : 1;
  };
  for (uint32_t i = 0; i < count_ && !(line_reads_.empty() && other.line_reads_.empty()); ++i)
    for (size_t g = 0; g < matrix.size(); ++g)
      if (reads(*this, i, g) != reads(other, i, g)) return false;
  return true;
}

namespace {

bool AnyPending(const std::vector<AsyncGroups>& issuers) {
  return std::any_of(issuers.begin(), issuers.end(),
                     [](const AsyncGroups& g) { return g.uncommitted || g.completed + 1 < g.issued; });
}

}  // namespace

bool SharedMemory::CopiesPending() const { return AnyPending(copies); }

bool SharedMemory::MatrixPending() const { return AnyPending(matrix); }

void SharedMemory::Owe(bool copies_pending, bool matrix_pending) {
  owing_ = true;
  owed_copies_.assign(copies.size(), copies_pending);
  owed_matrix_.assign(matrix.size(), matrix_pending);
}

void SharedMemory::SettleAtBarrier() {
  const auto any = [](const std::vector<bool>& v) { return std::find(v.begin(), v.end(), true) != v.end(); };
  if (!owing_ || any(owed_copies_) || any(owed_matrix_)) return;
  owing_ = false;
  Clear();
}

}  // namespace samebits::symexec
