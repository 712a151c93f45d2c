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
  records_[id] = {value, bytes, 0};
  return id;
}

void Lds::Release(uint32_t record) {
  if (record > kInFlight && --records_[record].cells == 0) free_.push_back(record);
}

Lds::Race Lds::Write(std::span<const uint16_t> lanes, const int64_t* addresses, uint32_t at, uint32_t bytes,
                     const Lanes& value, const VectorOps& ops, const SharedMemory& order) {
  if (lanes.empty()) return Race::kNone;
  const uint32_t id = NewRecord(value, bytes), count = bytes >> granule_log2_;
  for (const uint16_t lane : lanes) {
    const int wave = lane / wave_lanes_;
    const Access now = {order.block_epoch + 1, order.warp_epoch[static_cast<size_t>(wave)], lane, static_cast<uint16_t>(wave)};
    Cell* const first = &cells_[(static_cast<uint64_t>(addresses[lane]) + at) >> granule_log2_];
    for (uint32_t i = 0; i < count; ++i) {
      Cell& c = first[i];
      const uint16_t offset = static_cast<uint16_t>(i << granule_log2_);
      if (c.record == kInFlight) return Race::kAsyncCopy;
      if (!Ordered(c.read, now)) return Race::kWriteAfterRead;
      if (Ordered(c.write, now)) {
        Release(c.record);
        c.record = id;
        c.offset = offset;
        c.source = lane;
        c.write = now;
        ++records_[id].cells;
        continue;
      }
      // Nothing orders the two writes: harmless where both leave the same bytes. What follows is then ordered after both.
      if (c.offset != offset || !SameValue(c, id, lane, ops)) return Race::kWriteAfterWrite;
      c.write.lane = kMany;
      if (c.write.of != now.of) c.write.of = kMany;
      c.write.wave = std::max(c.write.wave, now.wave);
    }
  }
  if (records_[id].cells == 0) free_.push_back(id);
  return Race::kNone;
}

Lds::Race Lds::Reserve(std::span<const uint16_t> lanes, const int64_t* addresses, uint32_t bytes, const SharedMemory& order) {
  for (const uint16_t lane : lanes) {
    const int wave = lane / wave_lanes_;
    const Access now = {order.block_epoch + 1, order.warp_epoch[static_cast<size_t>(wave)], lane, static_cast<uint16_t>(wave)};
    Cell* const first = &cells_[static_cast<uint64_t>(addresses[lane]) >> granule_log2_];
    for (uint32_t i = 0; i < bytes >> granule_log2_; ++i) {
      Cell& c = first[i];
      if (c.record == kInFlight) return Race::kAsyncCopy;
      if (!Ordered(c.read, now)) return Race::kWriteAfterRead;
      if (!Ordered(c.write, now)) return Race::kWriteAfterWrite;
      Release(c.record);
      c.record = kInFlight;
      c.write = now;
    }
  }
  return Race::kNone;
}

Lds::Race Lds::Land(std::span<const uint16_t> lanes, const int64_t* addresses, uint32_t bytes, const Lanes& value,
                    const VectorOps& ops, const SharedMemory& order) {
  for (const uint16_t lane : lanes)
    for (uint32_t i = 0; i < bytes >> granule_log2_; ++i)
      cells_[(static_cast<uint64_t>(addresses[lane]) >> granule_log2_) + i].record = kNothing;
  return Write(lanes, addresses, 0, bytes, value, ops, order);
}

Lds::Race Lds::Read(std::span<const uint16_t> lanes, const int64_t* addresses, uint32_t bytes, const SharedMemory& order) {
  const uint32_t count = bytes >> granule_log2_;
  for (const uint16_t lane : lanes) {
    const int wave = lane / wave_lanes_;
    const Access now = {order.block_epoch + 1, order.warp_epoch[static_cast<size_t>(wave)], lane, static_cast<uint16_t>(wave)};
    Cell* const first = &cells_[static_cast<uint64_t>(addresses[lane]) >> granule_log2_];
    for (uint32_t i = 0; i < count; ++i) {
      Cell& c = first[i];
      if (c.record == kInFlight) return Race::kAsyncCopy;
      if (!Ordered(c.write, now)) return Race::kReadAfterWrite;
      if (c.read.block != now.block) {
        c.read = now;
        continue;
      }
      if (c.read.lane != now.lane) c.read.lane = kMany;
      if (c.read.of != now.of) c.read.of = kMany;
      c.read.wave = now.wave;
    }
  }
  return Race::kNone;
}

}  // namespace samebits::symexec
