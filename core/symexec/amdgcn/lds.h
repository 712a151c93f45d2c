#ifndef SAMEBITS_CORE_SYMEXEC_AMDGCN_LDS_H_
#define SAMEBITS_CORE_SYMEXEC_AMDGCN_LDS_H_

// LDS of one workgroup. What one instruction wrote stays one value of all its lanes, so that reading it back in another
// order of lanes moves that value once. The order of accesses is that of SharedMemory (docs/soundness.md): barriers of
// the workgroup, and within a wave the order of its instructions.
//
// Loops write and read the same places again. A write that stands whole is known by its Written, and the next one of the
// same lanes to the same places, or a read of places that it filled, looks at no cell where barriers order it.

#include <cstdint>
#include <span>
#include <vector>

#include "core/symexec/lanes.h"
#include "core/symexec/shared_memory.h"

namespace samebits::symexec {

class Lds {
 public:
  using Race = SharedMemory::Race;
  static constexpr uint32_t kNothing = 0;   // record of cells that were never written
  static constexpr uint32_t kInFlight = 1;  // of cells that a load may write at any moment

  Lds() = default;
  // `granule`: bytes of the finest access; accesses are multiples of it.
  Lds(uint32_t bytes, uint32_t granule, int wave_lanes);

  uint32_t granule() const { return granule_; }
  // A write, for as long as all that it wrote stands and no two lanes wrote one place.
  struct Written {
    uint32_t record = kNothing, serial = 0;
  };
  // One access of each of `lanes`, in this order, `at` bytes behind its address; `addresses` is indexed by lane, `bytes`
  // from there exist. `value`: all lanes' values of `bytes` bytes, settled. `order` counts the workgroup's barriers and
  // the waves' instructions.
  Race Write(std::span<const uint16_t> lanes, const int64_t* addresses, uint32_t at, uint32_t bytes, const Lanes& value,
             const VectorOps& ops, const SharedMemory& order, Written* written = nullptr);
  // Write of `bytes` bytes by the lanes of `written` to the same places. False, with nothing done, unless that stands, is of
  // as many bytes, and a barrier orders all accesses there before this one.
  bool Rewrite(const Written& written, uint32_t bytes, const Lanes& value, const SharedMemory& order);
  // From here until Land the same lanes' bytes may be written at any moment; whoever accesses them meanwhile races.
  Race Reserve(std::span<const uint16_t> lanes, const int64_t* addresses, uint32_t bytes, const SharedMemory& order);
  // As Write, of reserved bytes: they are written no later than now.
  Race Land(std::span<const uint16_t> lanes, const int64_t* addresses, uint32_t bytes, const Lanes& value,
            const VectorOps& ops, const SharedMemory& order);
  // Checks and records the read; From then tells what was read.
  Race Read(std::span<const uint16_t> lanes, const int64_t* addresses, uint32_t at, uint32_t bytes, const SharedMemory& order);
  // Read of places that the writes of `records` filled and no other; all of them stand. False, with nothing done, unless a
  // barrier orders them before. `lanes` and `addresses` stay where they are until Flush or the next barrier.
  bool Reread(std::span<const uint32_t> records, std::span<const uint16_t> lanes, const int64_t* addresses, uint32_t at,
              uint32_t bytes, const SharedMemory& order);
  // Lets go of what Reread was given.
  void Flush() { MarkRereads(unmarked_at_); }

  // Where `bytes` bytes come from: a record's bytes from `offset` on, of its lane `source`.
  struct Place {
    uint32_t record = kNothing;
    uint16_t offset = 0, source = 0;
  };
  // False where they come from several, or some of them from nowhere.
  bool From(uint32_t address, uint32_t bytes, Place* out) const {
    const Cell* c = &cells_[address >> granule_log2_];
    *out = {c->record, c->offset, c->source};
    for (uint32_t i = 1; i < bytes >> granule_log2_; ++i)
      if (c[i].record != c->record || c[i].source != c->source ||
          (c->record != kNothing && c[i].offset != c->offset + (i << granule_log2_)))
        return false;
    return true;
  }
  const Lanes& value(uint32_t record) const { return records_[record].value; }
  uint32_t bytes(uint32_t record) const { return records_[record].bytes; }
  bool Stands(const Written& w) const {
    return w.record > kInFlight && records_[w.record].serial == w.serial && records_[w.record].cells == records_[w.record].all_cells;
  }
  uint64_t memory_bytes() const { return cells_.capacity() * sizeof(Cell) + records_.capacity() * sizeof(Record); }

 private:
  static constexpr uint16_t kMany = 0xffff;
  // Counts what orders all lanes' accesses: the barriers, and the instructions of a wave that is alone.
  using Moment = uint32_t;
  struct Access {
    uint32_t block = 0, wave = 0;       // barriers of the workgroup, instructions of the wave before it
    uint16_t lane = kMany, of = kMany;  // kMany: of several lanes, of several waves
  };
  struct Cell {
    uint32_t record = kNothing;
    uint16_t offset = 0, source = 0;
    uint16_t version = 0;               // of the record, when `write` was
    Access write, read;                 // the last ones; `read.block` counts from 1, 0 none
  };
  struct Record {
    Lanes value;
    uint32_t bytes = 0, cells = 0;      // `cells` hold part of it; 0: free
    uint32_t all_cells = 0;             // that one write fills
    uint32_t serial = 0;
    uint16_t version = 0;               // Rewrites
    // Of the last Rewrite: barriers, and instructions of each wave.
    uint32_t block = 0;
    absl::InlinedVector<uint32_t, 4> waves;
    Moment written = 0, read = 0;       // last access to any of its cells
  };
  // A Reread whose cells do not show it yet.
  struct Unmarked {
    std::span<const uint16_t> lanes;
    const int64_t* addresses;
    uint32_t at, bytes, block;
    absl::InlinedVector<uint32_t, 4> waves;
  };
  static bool Ordered(const Access& earlier, const Access& now) {
    return earlier.block < now.block || earlier.lane == now.lane || (earlier.of == now.of && earlier.wave < now.wave);
  }
  Moment Now(const SharedMemory& order) const {
    return order.block_epoch + 1 + (order.warp_epoch.size() == 1 ? order.warp_epoch[0] : 0);
  }
  Access AccessOf(uint16_t lane, uint32_t block, std::span<const uint32_t> waves) const {
    const uint16_t wave = static_cast<uint16_t>(lane / wave_lanes_);
    return {block, waves[wave], lane, wave};
  }
  Cell* CellsAt(int64_t address, uint32_t at) { return &cells_[(static_cast<uint64_t>(address) + at) >> granule_log2_]; }
  // The last write of a cell.
  Access WriteOf(const Cell& c) const {
    const Record& r = records_[c.record];
    return c.version == r.version ? c.write : AccessOf(c.source, r.block, r.waves);
  }
  void MarkRead(Cell* c, const Access& now);
  // Marks the reads that nothing orders before `now`.
  void MarkRereads(Moment now);
  bool SameValue(const Cell& c, uint32_t record, int lane, const VectorOps& ops) const;
  uint32_t NewRecord(const Lanes& value, uint32_t bytes);
  void Release(uint32_t record);

  uint32_t granule_ = 4, granule_log2_ = 2;
  int wave_lanes_ = 64;
  std::vector<Cell> cells_;
  std::vector<Record> records_;
  std::vector<uint32_t> free_;
  uint32_t serial_ = 0;
  std::vector<Unmarked> unmarked_;
  Moment unmarked_at_ = 0;              // of all of them
};

}  // namespace samebits::symexec

#endif  // SAMEBITS_CORE_SYMEXEC_AMDGCN_LDS_H_
