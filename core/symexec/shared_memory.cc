#include "core/symexec/shared_memory.h"

#include <algorithm>
#include <bit>

namespace samebits::symexec {

using expr::Scalar;

namespace {
constexpr uint32_t kLineBytes = 16;
}

void AsyncGroups::CompleteUpTo(uint32_t sequence, Epoch now) {
  if (sequence <= completed) return;
  completed = sequence;
  if (!waits.empty() && waits.back().when.block < now.block) {
    settled = waits.back().up_to;
    settled_when = waits.back().when;
    waits.clear();
  }
  waits.push_back({sequence, now});
}

std::string_view SharedMemory::RaceText(Race race) {
  switch (race) {
    case Race::kNone: return "";
    case Race::kReadAfterWrite: return "shared-memory read that no barrier orders after another lane's write";
    case Race::kWriteAfterRead: return "shared-memory write that no barrier orders after another lane's read";
    case Race::kWriteAfterWrite: return "shared-memory writes of two lanes to one address without a barrier between";
    case Race::kAsyncCopy: return "shared memory used before the asynchronous copy to it was waited for";
    case Race::kMatrixRead: return "shared memory overwritten while an asynchronous matrix instruction may read it";
    case Race::kProxy: return "asynchronous matrix read of shared memory written without a proxy fence";
    case Race::kUnsettled: return "shared memory is used after a loop of open length before all its copies and matrix "
                                  "instructions were awaited and a barrier was met";
  }
  return "";
}

SharedMemory::SharedMemory(uint32_t bytes, uint32_t granule, int lanes, int warp_lanes)
    : warp_epoch((lanes + warp_lanes - 1) / warp_lanes), copies(lanes), matrix((lanes + 127) / 128), proxy_fences(lanes),
      granule_(granule), granule_log2_(std::countr_zero(granule)), warp_lanes_(warp_lanes),
      line_(std::max(1u, kLineBytes >> granule_log2_)), line_log2_(std::countr_zero(line_)),
      count_((bytes + granule - 1) >> granule_log2_) {
  Clear();
}

void SharedMemory::Clear() {
  const size_t lines = (count_ + line_ - 1) >> line_log2_;
  whole_.assign(lines, 1);
  lines_.assign(lines, Cell());
  cells_.clear();
  segments_.assign(1, Segment());
  references_.assign(1, 0);
  line_reads_.clear();
  cell_reads_.clear();
  free_.clear();
  guards_.assign(1, {});
  if ((count_ & (line_ - 1)) != 0) Split(static_cast<uint32_t>(lines - 1));
}

void SharedMemory::Split(uint32_t line) {
  if (cells_.empty()) cells_.resize(whole_.size() << line_log2_);
  if (!line_reads_.empty() && cell_reads_.empty()) cell_reads_.resize(cells_.size() * matrix.size());
  whole_[line] = 0;
  const size_t first = size_t{line} << line_log2_, groups = line_reads_.empty() ? 0 : matrix.size();
  for (uint32_t i = 0; i < line_; ++i) {
    Cell& c = cells_[first + i] = lines_[line];
    c.offset = static_cast<uint16_t>(c.offset + (i << granule_log2_));
    std::copy_n(line_reads_.data() + line * groups, groups, cell_reads_.data() + (first + i) * groups);
  }
}

void SharedMemory::Unite(uint32_t line) {
  const size_t first = size_t{line} << line_log2_, groups = line_reads_.empty() ? 0 : matrix.size();
  const Cell& head = cells_[first];
  const uint32_t* reads = cell_reads_.data() + first * groups;
  for (uint32_t i = 1; i < line_; ++i) {
    const Cell& c = cells_[first + i];
    if (c.segment != head.segment || c.offset != head.offset + (i << granule_log2_) || c.was_read != head.was_read) return;
    if (c.was_read && (c.read.block != head.read.block || c.read.warp != head.read.warp || c.reader != head.reader ||
                       c.reader_warp != head.reader_warp))
      return;
    if (!std::equal(reads, reads + groups, reads + i * groups)) return;
  }
  whole_[line] = 1;
  lines_[line] = head;
  std::copy_n(reads, groups, line_reads_.data() + line * groups);
}

SharedMemory::Cell SharedMemory::CellAt(uint32_t index) const {
  Cell c = CellOf(index);
  if (Whole(index)) c.offset = static_cast<uint16_t>(c.offset + ((index & (line_ - 1)) << granule_log2_));
  return c;
}

inline bool SharedMemory::Ordered(int earlier_lane, int earlier_warp, Epoch earlier, int lane) const {
  if (earlier_lane == lane || block_epoch > earlier.block) return true;
  return earlier_warp == lane / warp_lanes_ && warp_epoch[lane / warp_lanes_] > earlier.warp;
}

// A write of the value that already stands there, by another lane that nothing orders: harmless, whoever is first, as
// long as it is ordered after the reads (the caller checks). Later accesses must then be ordered after both.
bool SharedMemory::Repeats(uint32_t first, uint32_t count, int lane, const Scalar& value, uint32_t bytes,
                           uint32_t async_group) {
  const uint32_t id = CellOf(first).segment;
  if (id == 0 || async_group != 0) return false;
  Segment& s = segments_[id];
  if (s.async_group != 0 || s.guard != 0 || s.bytes != bytes || s.value.node() != value.node) return false;
  for (uint32_t i = 0; i < count; i += Extent(first + i)) {
    const Cell& c = CellOf(first + i);
    if (c.segment != id || c.offset != i << granule_log2_) return false;
  }
  for (int i = 0; i < value.slots; ++i)
    if (s.value.anchor(i).offset != value.anchor[i].offset || s.value.anchor(i).symbolic != value.anchor[i].symbolic) return false;
  if (s.when.block != block_epoch) return false;
  s.lane = kManyLanes;
  if (s.warp != lane / warp_lanes_) s.warp = kManyLanes;
  s.when.warp = std::max(s.when.warp, warp_epoch[lane / warp_lanes_]);
  s.proxy_fences = std::max(s.proxy_fences, proxy_fences[lane]);
  return true;
}

inline SharedMemory::Race SharedMemory::CheckRead(const Segment& s, int lane) const {
  if (s.settled) return Race::kNone;
  if (s.async_group == 0) return Ordered(s.lane, s.warp, s.when, lane) ? Race::kNone : Race::kReadAfterWrite;
  Epoch done;
  if (!copies[s.lane].CompletedAt(s.async_group, &done) || !Ordered(s.lane, s.warp, done, lane)) return Race::kAsyncCopy;
  return Race::kNone;
}

inline bool SharedMemory::Settled(Segment* s) const {
  if (s->settled) return true;
  Epoch done = s->when;
  if (s->async_group != 0 && !copies[s->lane].CompletedAt(s->async_group, &done)) return false;
  return s->settled = block_epoch > done.block;
}

// The instruction starts when all lanes of the warpgroup have reached it. A write by one of them precedes it only across
// a barrier, unless the warpgroup's warps are ordered by one since.
inline SharedMemory::Race SharedMemory::CheckReadAsync(Segment* s) const {
  if (!Settled(s)) return s->async_group != 0 ? Race::kAsyncCopy : Race::kReadAfterWrite;
  return s->async_group == 0 && proxy_fences[s->any_lane] <= s->proxy_fences ? Race::kProxy : Race::kNone;
}

inline SharedMemory::Race SharedMemory::CheckWrite(uint32_t index, int lane, uint32_t checked) const {
  const Cell& cell = CellOf(index);
  if (cell.was_read && block_epoch == cell.read.block) {
    const bool same_lane = cell.reader == lane;
    const bool warp_ordered = cell.reader_warp == lane / warp_lanes_ && warp_epoch[lane / warp_lanes_] > cell.read.warp;
    if (!same_lane && !warp_ordered) return Race::kWriteAfterRead;
  }
  const size_t groups = line_reads_.empty() ? 0 : matrix.size();
  for (size_t g = 0; g < groups; ++g) {
    const uint32_t group = ReadsOf(index)[g];
    Epoch done;
    if (group == 0) continue;
    if (!matrix[g].CompletedAt(group, &done)) return Race::kMatrixRead;
    if (static_cast<size_t>(lane / 128) != g && block_epoch <= done.block) return Race::kMatrixRead;
  }
  if (cell.segment != 0 && cell.segment != checked && !segments_[cell.segment].settled) {
    const Race race = CheckRead(segments_[cell.segment], lane);
    if (race != Race::kNone) return race == Race::kReadAfterWrite ? Race::kWriteAfterWrite : race;
  }
  return Race::kNone;
}

uint32_t SharedMemory::NewSegment() {
  if (!free_.empty()) {
    const uint32_t id = free_.back();
    free_.pop_back();
    return id;
  }
  segments_.emplace_back();
  references_.push_back(0);
  return static_cast<uint32_t>(segments_.size() - 1);
}

SharedMemory::Race SharedMemory::Write(int lane, uint32_t address, uint32_t bytes, const Scalar& value,
                                       uint32_t async_group, uint32_t guard) {
  if (owing_) return Race::kUnsettled;
  const uint32_t first = address >> granule_log2_, count = bytes >> granule_log2_;
  Focus(first, count);
  Race race = Race::kNone;
  uint32_t checked = 0;  // segment that the write may replace
  bool sole = true;      // all cells hold `old`
  const uint32_t old = CellOf(first).segment;
  for (uint32_t i = 0; i < count && (race == Race::kNone || race == Race::kWriteAfterWrite); i += Extent(first + i)) {
    const uint32_t holds = CellOf(first + i).segment;
    sole &= holds == old;
    if (const Race r = CheckWrite(first + i, lane, checked); r != Race::kNone) race = r;
    else checked = holds;
  }
  if (race == Race::kWriteAfterWrite && guard == 0 && Repeats(first, count, lane, value, bytes, async_group)) return Race::kNone;
  const bool replaces = sole && old != 0 && references_[old] == count;  // takes its place: the cells stay as they are
  const uint32_t id = replaces ? old : NewSegment();
  Segment& s = segments_[id];
  s.value = value;
  s.bytes = bytes;
  s.async_group = async_group;
  s.proxy_fences = proxy_fences[lane];
  s.guard = guard;
  s.when = Now(lane);
  s.lane = static_cast<uint16_t>(lane);
  s.warp = static_cast<uint16_t>(lane / warp_lanes_);
  s.any_lane = s.lane;
  s.settled = false;
  if (!replaces) references_[id] = count;
  for (uint32_t i = 0, extent; i < count; i += extent) {
    Cell& c = CellOf(first + i);
    extent = Extent(first + i);
    // Who read stays: another lane that writes the same value is a repetition of this write, but not after that read.
    c.offset = static_cast<uint16_t>(i << granule_log2_);
    if (replaces) continue;
    if (c.segment != 0 && (references_[c.segment] -= extent) == 0) free_.push_back(c.segment);
    c.segment = id;
  }
  for (uint32_t line = (first + line_ - 1) >> line_log2_; (line + 1) << line_log2_ <= first + count; ++line)
    if (!whole_[line]) Unite(line);
  return race;
}

SharedMemory::Race SharedMemory::Read(int lane, uint32_t address, uint32_t bytes, std::vector<Fragment>* out) {
  const uint32_t first = address >> granule_log2_, count = bytes >> granule_log2_;
  Focus(first, count);
  const Epoch now = Now(lane);
  const uint16_t warp = static_cast<uint16_t>(lane / warp_lanes_);
  Race race = owing_ ? Race::kUnsettled : Race::kNone;
  uint32_t last = 0;
  for (uint32_t i = 0, extent; i < count; i += extent) {
    Cell& c = CellOf(first + i);
    extent = Extent(first + i);
    if (i > 0 && c.segment == last && (c.segment == 0 || c.offset == out->back().offset + out->back().bytes)) {
      out->back().bytes += extent << granule_log2_;
    } else {
      Segment& s = segments_[c.segment];
      if (c.segment != 0 && race == Race::kNone && !Settled(&s)) race = CheckRead(s, lane);
      out->push_back({c.segment == 0 ? nullptr : &s.value, c.offset, extent << granule_log2_, s.bytes, s.any_lane, s.guard});
      last = c.segment;
    }
    if (!c.was_read || c.read.block != now.block) {
      c.was_read = true;
      c.reader = static_cast<uint16_t>(lane);
      c.reader_warp = warp;
      c.read = now;
    } else {
      if (c.reader != lane) c.reader = kManyLanes;
      if (c.reader_warp != warp) c.reader_warp = kManyLanes;
      c.read.warp = now.warp;
    }
  }
  return race;
}

SharedMemory::Race SharedMemory::ReadAsync(int warpgroup, uint32_t group, uint32_t address, uint32_t bytes,
                                           std::vector<Fragment>* out) {
  if (line_reads_.empty()) {
    line_reads_.resize(lines_.size() * matrix.size());
    cell_reads_.resize(cells_.size() * matrix.size());
  }
  const uint32_t first = address >> granule_log2_, count = bytes >> granule_log2_;
  Focus(first, count);
  Race race = owing_ ? Race::kUnsettled : Race::kNone;
  uint32_t last = 0;
  for (uint32_t i = 0, extent; i < count; i += extent) {
    const Cell& c = CellOf(first + i);
    extent = Extent(first + i);
    if (i > 0 && c.segment == last && (c.segment == 0 || c.offset == out->back().offset + out->back().bytes)) {
      out->back().bytes += extent << granule_log2_;
    } else {
      Segment& s = segments_[c.segment];
      if (c.segment != 0 && race == Race::kNone) race = CheckReadAsync(&s);
      out->push_back({c.segment == 0 ? nullptr : &s.value, c.offset, extent << granule_log2_, s.bytes, s.any_lane, s.guard});
      last = c.segment;
    }
    ReadsOf(first + i)[warpgroup] = group;
  }
  return race;
}

uint32_t SharedMemory::AddGuard(const std::vector<Scalar>& conditions) {
  if (conditions.empty()) return 0;
  for (size_t g = guards_.size(); g-- > 1 && guards_.size() - g < 64;) {
    const std::vector<Scalar>& known = guards_[g];
    if (std::equal(known.begin(), known.end(), conditions.begin(), conditions.end(), expr::Same)) return static_cast<uint32_t>(g);
  }
  guards_.push_back(conditions);
  return static_cast<uint32_t>(guards_.size() - 1);
}

void SharedMemory::Discharge(const Scalar& condition) {
  for (std::vector<Scalar>& g : guards_)
    g.erase(std::remove_if(g.begin(), g.end(), [&](const Scalar& c) { return expr::Same(c, condition); }), g.end());
}

void SharedMemory::ForgetWhere(const std::function<bool(const Scalar&)>& stale, const Scalar& unknown) {
  for (Segment& s : segments_) {
    bool any = stale(s.value.Get());
    for (const Scalar& c : guards_[s.guard]) any |= stale(c);
    if (any) s.value = unknown, s.guard = 0;
  }
}

}  // namespace samebits::symexec
