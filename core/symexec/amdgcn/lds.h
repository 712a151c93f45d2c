#ifndef SAMEBITS_CORE_SYMEXEC_AMDGCN_LDS_H_
#define SAMEBITS_CORE_SYMEXEC_AMDGCN_LDS_H_

// LDS of one workgroup. What one instruction wrote stays one value of all its lanes, so that reading it back in another
// order of lanes moves that value once. The order of accesses is that of SharedMemory (docs/soundness.md): barriers of
// the workgroup, and within a wave the order of its instructions.

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
  // One access of each of `lanes`, in this order, `at` bytes behind its address; `addresses` is indexed by lane, `bytes`
  // from there exist. `value`: all lanes' values of `bytes` bytes, settled. `order` counts the workgroup's barriers and
  // the waves' instructions.
  Race Write(std::span<const uint16_t> lanes, const int64_t* addresses, uint32_t at, uint32_t bytes, const Lanes& value,
             const VectorOps& ops, const SharedMemory& order);
  // From here until Land the same lanes' bytes may be written at any moment; whoever accesses them meanwhile races.
  Race Reserve(std::span<const uint16_t> lanes, const int64_t* addresses, uint32_t bytes, const SharedMemory& order);
  // As Write, of reserved bytes: they are written no later than now.
  Race Land(std::span<const uint16_t> lanes, const int64_t* addresses, uint32_t bytes, const Lanes& value,
            const VectorOps& ops, const SharedMemory& order);
  // Checks and records the read; From then tells what was read.
  Race Read(std::span<const uint16_t> lanes, const int64_t* addresses, uint32_t bytes, const SharedMemory& order);

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
  uint64_t memory_bytes() const { return cells_.capacity() * sizeof(Cell) + records_.capacity() * sizeof(Record); }

 private:
  static constexpr uint16_t kMany = 0xffff;
  struct Access {
    uint32_t block = 0, wave = 0;       // barriers of the workgroup, instructions of the wave before it
    uint16_t lane = kMany, of = kMany;  // kMany: of several lanes, of several waves
  };
  struct Cell {
    uint32_t record = kNothing;
    uint16_t offset = 0, source = 0;
    Access write, read;                 // the last ones; `read.block` counts from 1, 0 none
  };
  struct Record {
    Lanes value;
    uint32_t bytes = 0, cells = 0;      // `cells` hold part of it; 0: free
  };
  static bool Ordered(const Access& earlier, const Access& now) {
    return earlier.block < now.block || earlier.lane == now.lane || (earlier.of == now.of && earlier.wave < now.wave);
  }
  bool SameValue(const Cell& c, uint32_t record, int lane, const VectorOps& ops) const;
  uint32_t NewRecord(const Lanes& value, uint32_t bytes);
  void Release(uint32_t record);

  uint32_t granule_ = 4, granule_log2_ = 2;
  int wave_lanes_ = 64;
  std::vector<Cell> cells_;
  std::vector<Record> records_;
  std::vector<uint32_t> free_;
};

}  // namespace samebits::symexec

#endif  // SAMEBITS_CORE_SYMEXEC_AMDGCN_LDS_H_
