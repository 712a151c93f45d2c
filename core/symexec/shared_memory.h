#ifndef SAMEBITS_CORE_SYMEXEC_SHARED_MEMORY_H_
#define SAMEBITS_CORE_SYMEXEC_SHARED_MEMORY_H_

// Shared memory of one block as a byte map of values, with the ordering model of docs/soundness.md: who wrote each
// byte and since which barrier, warp barrier, wait or fence it is visible to whom. An access that nothing orders after
// a conflicting one is a race.
//
// The map has a cell a granule. Aligned lines of 16 bytes that were only ever accessed as wholes have one cell, so that
// copies and matrix operands of 16 bytes cost a cell each; the first finer access splits a line.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "core/expr/node.h"

namespace samebits::symexec {

// A moment in the order that barriers make: block barriers passed, and barriers of one warp passed.
struct Epoch {
  uint32_t block = 0, warp = 0;
};

// One operand of asynchronous completion: group `sequence` (from 1) of one issuer.
struct AsyncGroups {
  uint32_t issued = 1;      // group under construction
  uint32_t completed = 0;   // groups up to this one have been waited for
  bool uncommitted = false; // the group under construction has an operation
  // Groups up to this one were known complete in block epochs before that of the last wait.
  uint32_t settled = 0;
  Epoch settled_when;       // the last of those
  struct Wait {
    uint32_t up_to;
    Epoch when;
  };
  absl::InlinedVector<Wait, 2> waits;  // of the block epoch of the last wait, ascending
  // When the issuer knew group `sequence` complete, or any moment between that and the block barrier that followed;
  // false if it does not yet.
  bool CompletedAt(uint32_t sequence, Epoch* when) const {
    if (sequence > completed) return false;
    *when = sequence <= settled ? settled_when : WaitFor(sequence);
    return true;
  }
  void CompleteUpTo(uint32_t sequence, Epoch now);

 private:
  // Of a group that `waits` completes.
  Epoch WaitFor(uint32_t sequence) const {
    if (waits.size() == 1) return waits[0].when;
    return std::lower_bound(waits.begin(), waits.end(), sequence,
                            [](const Wait& w, uint32_t s) { return w.up_to < s; })->when;
  }
};

// A scalar in little room: most have two anchors at most.
class StoredScalar {
 public:
  StoredScalar() = default;
  StoredScalar(const expr::Scalar& s) { *this = s; }  // NOLINT(google-explicit-constructor)
  StoredScalar& operator=(const expr::Scalar& s) {
    node_ = s.node;
    if (anchors_.size() == s.slots) std::copy_n(s.anchor.begin(), s.slots, anchors_.begin());
    else anchors_.assign(s.anchor.begin(), s.anchor.begin() + s.slots);
    return *this;
  }
  expr::NodeId node() const { return node_; }
  const expr::Anchor& anchor(int i) const { return anchors_[i]; }
  expr::Scalar Get() const {
    expr::Scalar s;
    s.node = node_;
    s.slots = static_cast<uint8_t>(anchors_.size());
    for (size_t i = 0; i < anchors_.size(); ++i) s.anchor[i] = anchors_[i];
    return s;
  }

 private:
  expr::NodeId node_ = 0;
  absl::InlinedVector<expr::Anchor, 2> anchors_;
};

class SharedMemory {
 public:
  // `granule`: a power of two.
  SharedMemory(uint32_t bytes, uint32_t granule, int lanes, int warp_lanes = 32);

  uint32_t granule() const { return granule_; }  // bytes of the finest access; writes are multiples of it
  uint32_t bytes() const { return count_ << granule_log2_; }

  enum class Race : uint8_t {
    kNone, kReadAfterWrite, kWriteAfterRead, kWriteAfterWrite, kAsyncCopy, kMatrixRead, kProxy,
    kUnsettled,  // no race found: uses of a loop may still be under way (Owe)
  };
  static std::string_view RaceText(Race race);

  // One lane's write of `bits` bits (a multiple of the granule) of `value`. async: group of the lane, 0 if synchronous.
  // guard: of AddGuard.
  Race Write(int lane, uint32_t address, uint32_t bytes, const expr::Scalar& value, uint32_t async_group,
             uint32_t guard = 0);
  // Conditions on a written value: where one is false, zeros were written instead. No conditions is guard 0.
  uint32_t AddGuard(const std::vector<expr::Scalar>& conditions);
  const std::vector<expr::Scalar>& guard(uint32_t id) const { return guards_[id]; }
  // `condition` holds from here on.
  void Discharge(const expr::Scalar& condition);
  // Part of a value that stands in memory: bits [8 * offset, ...) of `value`.
  struct Fragment {
    const StoredScalar* value;   // null: never written
    uint32_t offset, bytes;      // of the value; how many bytes follow contiguously
    uint32_t value_bytes;
    int writer;                  // lane that wrote it
    uint32_t guard;
  };
  // The fragments that cover [address, address + bytes), in order, appended to `out`. Checks and records the access.
  Race Read(int lane, uint32_t address, uint32_t bytes, std::vector<Fragment>* out);
  // A matrix unit's read on behalf of a warpgroup: ordered like its lanes' reads, complete when its group is.
  Race ReadAsync(int warpgroup, uint32_t group, uint32_t address, uint32_t bytes, std::vector<Fragment>* out);

  // All contents become `unknown`; who accessed what and when stays.
  void Forget(const expr::Scalar& unknown) {
    for (Segment& s : segments_) s.value = unknown, s.guard = 0;
  }
  // Contents for which `stale` holds become `unknown`.
  void ForgetWhere(const std::function<bool(const expr::Scalar&)>& stale, const expr::Scalar& unknown);

  // Loops of open length (loop_ring.cc).
  // A point of the line that leads through two values in equal time; false: they do not lie on one.
  using Line = std::function<bool(const expr::Scalar& here, const expr::Scalar& later, expr::Scalar* out)>;
  // This memory with contents on the lines through its own and `later`'s, and `unknown` where there is no line.
  SharedMemory Along(const SharedMemory& later, const Line& line, const expr::Scalar& unknown) const;
  // All contents that `general` knows stand here.
  bool Holds(const SharedMemory& general, expr::NodeId unknown) const;
  // The same accesses are ordered before whatever follows here and in `other`.
  bool SameOrder(const SharedMemory& other) const;
  // After a number of trips that is not known: contents are unknown, and nothing may be accessed before each issuer of
  // copies (of matrix instructions) has awaited all its groups, where some may be pending, and the block has then met a
  // barrier.
  void Owe(bool copies_pending, bool matrix_pending);
  bool CopiesPending() const;
  bool MatrixPending() const;
  void PaidCopies(int lane) { owed_copies_[lane] = false; }
  void PaidMatrix(size_t warpgroup) { owed_matrix_[warpgroup] = false; }
  bool owing() const { return owing_; }
  // At a block barrier.
  void SettleAtBarrier();

  // Sizes of what the model counts; the executor advances them.
  uint32_t block_epoch = 0;
  std::vector<uint32_t> warp_epoch;
  std::vector<AsyncGroups> copies;          // per lane: cp.async
  std::vector<AsyncGroups> matrix;          // per warpgroup: wgmma
  std::vector<uint32_t> proxy_fences;       // per lane: fence.proxy.async executed
  Epoch Now(int lane) const { return {block_epoch, warp_epoch[lane / warp_lanes_]}; }
  uint64_t memory_bytes() const {
    return (lines_.capacity() + cells_.capacity()) * sizeof(Cell) + segments_.capacity() * sizeof(Segment);
  }

 private:
  static constexpr uint16_t kManyLanes = 0xffff;
  struct Segment {
    uint32_t bytes = 0;
    uint32_t async_group = 0;
    uint32_t proxy_fences = 0;
    uint32_t guard = 0;
    Epoch when;
    uint16_t lane = 0;         // writer, or kManyLanes when several wrote the same value
    uint16_t warp = 0;         // its warp, or kManyLanes
    uint16_t any_lane = 0;     // one of the writers
    bool settled = false;      // see Settled
    StoredScalar value;
  };
  struct Cell {
    uint32_t segment = 0;      // 0: never written
    Epoch read;                // last epoch with a read
    uint16_t reader = 0;       // lane, or kManyLanes
    uint16_t reader_warp = 0;  // warp, or kManyLanes
    uint16_t offset = 0;       // bytes into the segment's value
    bool was_read = false;
  };
  bool Whole(uint32_t index) const { return whole_[index >> line_log2_] != 0; }
  // How many cells one access of at least a line reaches at `index` by CellOf(index).
  uint32_t Extent(uint32_t index) const { return Whole(index) ? line_ : 1; }
  Cell& CellOf(uint32_t index) { return Whole(index) ? lines_[index >> line_log2_] : cells_[index]; }
  const Cell& CellOf(uint32_t index) const { return Whole(index) ? lines_[index >> line_log2_] : cells_[index]; }
  // Groups of the last asynchronous reads there by each warpgroup, 0 none. Only once `line_reads_` has them.
  const uint32_t* ReadsOf(uint32_t index) const {
    return Whole(index) ? &line_reads_[(index >> line_log2_) * matrix.size()] : &cell_reads_[index * matrix.size()];
  }
  uint32_t* ReadsOf(uint32_t index) { return const_cast<uint32_t*>(std::as_const(*this).ReadsOf(index)); }
  // Splits the lines that an access to [first, first + count) covers in part.
  void Focus(uint32_t first, uint32_t count) {
    const uint32_t end = first + count;
    if ((first & (line_ - 1)) != 0 && Whole(first)) Split(first >> line_log2_);
    if ((end & (line_ - 1)) != 0 && Whole(end)) Split(end >> line_log2_);
  }
  void Split(uint32_t line);
  // Makes a line whole whose cells were read alike and hold one segment in order.
  void Unite(uint32_t line);
  void Clear();
  // The cell as it would be alone.
  Cell CellAt(uint32_t index) const;
  bool Ordered(int earlier_lane, int earlier_warp, Epoch earlier, int lane) const;
  bool Repeats(uint32_t first, uint32_t count, int lane, const expr::Scalar& value, uint32_t bytes, uint32_t async_group);
  // `checked`: a segment that the lane may replace, or 0.
  Race CheckWrite(uint32_t cell, int lane, uint32_t checked) const;
  Race CheckRead(const Segment& segment, int lane) const;
  Race CheckReadAsync(Segment* segment) const;
  // Whether a block barrier has come since the segment was complete: then whatever follows is ordered after it.
  bool Settled(Segment* segment) const;
  uint32_t NewSegment();

  uint32_t granule_, granule_log2_;
  int warp_lanes_;
  uint32_t line_, line_log2_;         // cells of a line
  uint32_t count_;                    // cells
  std::vector<uint8_t> whole_;        // per line
  std::vector<Cell> lines_;           // of whole lines
  std::vector<Cell> cells_;           // of the others; empty as long as there are none
  std::vector<Segment> segments_;
  std::vector<uint32_t> references_;  // cells per segment
  std::vector<uint32_t> line_reads_, cell_reads_;  // per line or cell, and warpgroup; see ReadsOf
  std::vector<uint32_t> free_;
  std::vector<std::vector<expr::Scalar>> guards_ = {{}};
  bool owing_ = false;
  std::vector<bool> owed_copies_, owed_matrix_;
};

}  // namespace samebits::symexec

#endif  // SAMEBITS_CORE_SYMEXEC_SHARED_MEMORY_H_
