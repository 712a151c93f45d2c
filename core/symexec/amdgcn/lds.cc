#include "core/symexec/amdgcn/lds.h"

#include <algorithm>
#include <bit>

namespace samebits::symexec {

Lds::Lds(uint32_t bytes, uint32_t granule, int wave_lanes)
    : granule_(granule), granule_log2_(static_cast<uint32_t>(std::countr_zero(granule))), wave_lanes_(wave_lanes),
      cells_((bytes + granule - 1) / granule), records_(kInFlight + 1) {}

// Bytes that already stand there, written by another lane.
bool Lds::SameValue(const Cell& c, uint32_t record, int lane, const VectorOps& ops) const {
  if (c.record == kNothing || records_[c.record].bytes != records_[record].bytes) return false;
  return expr::Same(ops.At(records_[c.record].value, c.source), ops.At(records_[record].value, lane));
}

uint32_t Lds::NewRecord(const Lanes& value, uint32_t bytes) {
  uint32_t id = static_cast<uint32_t>(records_.size());
  if (free_.empty()) {
    records_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Record& r = records_[id];
  r.value = value;
  r.bytes = bytes;
  r.cells = r.all_cells = 0;
  r.serial = ++serial_;
  r.version = 0;
  r.written = r.read = 0;
  return id;
}

void Lds::Release(uint32_t record) {
  if (record > kInFlight && --records_[record].cells == 0) free_.push_back(record);
}

void Lds::MarkRead(Cell* c, const Access& now) {
  if (c->read.block != now.block) {
    c->read = now;
    return;
  }
  if (c->read.lane != now.lane) c->read.lane = kMany;
  if (c->read.of != now.of) c->read.of = kMany;
  c->read.wave = now.wave;
}

void Lds::MarkRereads(Moment now) {
  for (const Unmarked& u : unmarked_) {
    if (unmarked_at_ != now) break;
    for (const uint16_t lane : u.lanes) {
      Cell* const first = CellsAt(u.addresses[lane], u.at);
      for (uint32_t i = 0; i < u.bytes >> granule_log2_; ++i) MarkRead(&first[i], AccessOf(lane, u.block, u.waves));
    }
  }
  unmarked_.clear();
}

bool Lds::Rewrite(const Written& written, uint32_t bytes, const Lanes& value, const SharedMemory& order) {
  if (!Stands(written) || records_[written.record].bytes != bytes) return false;
  Record& r = records_[written.record];
  const Moment now = Now(order);
  if (r.written >= now || r.read >= now || r.version == 0xffff) return false;
  r.value = value;
  ++r.version;
  r.block = order.block_epoch + 1;
  r.waves.assign(order.warp_epoch.begin(), order.warp_epoch.end());
  r.written = now;
  return true;
}

bool Lds::Reread(std::span<const uint32_t> records, std::span<const uint16_t> lanes, const int64_t* addresses, uint32_t at,
                 uint32_t bytes, const SharedMemory& order) {
  const Moment now = Now(order);
  for (const uint32_t r : records)
    if (records_[r].written >= now) return false;
  for (const uint32_t r : records) records_[r].read = now;
  // What came before a barrier is ordered before all that follows.
  if (unmarked_at_ != now) unmarked_.clear();
  unmarked_at_ = now;
  unmarked_.push_back({lanes, addresses, at, bytes, order.block_epoch + 1, {order.warp_epoch.begin(), order.warp_epoch.end()}});
  return true;
}

Lds::Race Lds::Write(std::span<const uint16_t> lanes, const int64_t* addresses, uint32_t at, uint32_t bytes,
                     const Lanes& value, const VectorOps& ops, const SharedMemory& order, Written* written) {
  if (lanes.empty()) return Race::kNone;
  MarkRereads(Now(order));
  const uint32_t id = NewRecord(value, bytes), count = bytes >> granule_log2_;
  const Moment moment = Now(order);
  for (const uint16_t lane : lanes) {
    const Access now = AccessOf(lane, order.block_epoch + 1, order.warp_epoch);
    Cell* const first = CellsAt(addresses[lane], at);
    for (uint32_t i = 0; i < count; ++i) {
      Cell& c = first[i];
      const uint16_t offset = static_cast<uint16_t>(i << granule_log2_);
      if (c.record == kInFlight) return Race::kAsyncCopy;
      if (!Ordered(c.read, now)) return Race::kWriteAfterRead;
      const Access before = WriteOf(c);
      if (Ordered(before, now)) {
        Release(c.record);
        c.record = id;
        c.version = 0;
        c.offset = offset;
        c.source = lane;
        c.write = now;
        ++records_[id].cells;
        continue;
      }
      // Nothing orders the two writes: harmless where both leave the same bytes. What follows is then ordered after both.
      if (c.offset != offset || !SameValue(c, id, lane, ops)) return Race::kWriteAfterWrite;
      Record& r = records_[c.record];
      r.written = moment;
      c.version = r.version;
      c.write = before;
      c.write.lane = kMany;
      if (c.write.of != now.of) c.write.of = kMany;
      c.write.wave = std::max(c.write.wave, now.wave);
    }
  }
  Record& r = records_[id];
  r.written = moment;
  r.all_cells = static_cast<uint32_t>(lanes.size()) * count;
  if (r.cells == 0) free_.push_back(id);
  if (written != nullptr) *written = {id, r.serial};
  return Race::kNone;
}

Lds::Race Lds::Reserve(std::span<const uint16_t> lanes, const int64_t* addresses, uint32_t bytes, const SharedMemory& order) {
  MarkRereads(Now(order));
  for (const uint16_t lane : lanes) {
    const Access now = AccessOf(lane, order.block_epoch + 1, order.warp_epoch);
    Cell* const first = CellsAt(addresses[lane], 0);
    for (uint32_t i = 0; i < bytes >> granule_log2_; ++i) {
      Cell& c = first[i];
      if (c.record == kInFlight) return Race::kAsyncCopy;
      if (!Ordered(c.read, now)) return Race::kWriteAfterRead;
      if (!Ordered(WriteOf(c), now)) return Race::kWriteAfterWrite;
      Release(c.record);
      c.record = kInFlight;
      c.version = 0;
      c.write = now;
    }
  }
  return Race::kNone;
}

Lds::Race Lds::Land(std::span<const uint16_t> lanes, const int64_t* addresses, uint32_t bytes, const Lanes& value,
                    const VectorOps& ops, const SharedMemory& order) {
  for (const uint16_t lane : lanes)
    for (uint32_t i = 0; i < bytes >> granule_log2_; ++i) CellsAt(addresses[lane], 0)[i].record = kNothing;
  return Write(lanes, addresses, 0, bytes, value, ops, order);
}

Lds::Race Lds::Read(std::span<const uint16_t> lanes, const int64_t* addresses, uint32_t at, uint32_t bytes, const SharedMemory& order) {
  MarkRereads(Now(order));
  const uint32_t count = bytes >> granule_log2_;
  const Moment moment = Now(order);
  for (const uint16_t lane : lanes) {
    const Access now = AccessOf(lane, order.block_epoch + 1, order.warp_epoch);
    Cell* const first = CellsAt(addresses[lane], at);
    for (uint32_t i = 0; i < count; ++i) {
      Cell& c = first[i];
      if (c.record == kInFlight) return Race::kAsyncCopy;
      if (!Ordered(WriteOf(c), now)) return Race::kReadAfterWrite;
      records_[c.record].read = moment;
      MarkRead(&c, now);
    }
  }
  return Race::kNone;
}

}  // namespace samebits::symexec
