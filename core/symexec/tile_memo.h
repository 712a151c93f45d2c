#ifndef SAMEBITS_CORE_SYMEXEC_TILE_MEMO_H_
#define SAMEBITS_CORE_SYMEXEC_TILE_MEMO_H_

// What was gathered from tiles of matrix operands that lie in memory of one buffer. Tiles of the same form elsewhere in
// the buffer (as in the next trip of a loop over K) give the same vectors, moved.

#include <array>
#include <cstdint>
#include <vector>

#include "core/symexec/lanes.h"

namespace samebits::symexec {

// Not thread safe.
class TileMemo {
 public:
  // All that decides the vectors, beside the offsets.
  struct Form {
    bool rows = false;        // operand A, else B
    bool transposed = false;
    int n = 0, k = 0, bits = 0, group = 0;
    uint32_t active = 0;      // warpgroups, a bit each
    uint32_t by_element = 0;  // tiles whose offsets are those of elements, not chunks, a bit each
    expr::NodeId memory = 0;  // leaf of the buffer
    uint32_t symbolic = 0;    // part of all offsets
    friend bool operator==(const Form&, const Form&) = default;
  };
  // `offsets`: of the tiles' chunks or elements, in bytes, in a fixed order. True if a tile of this form that differs by one number
  // in all offsets was added: `out` has its vectors, moved.
  bool Find(const Form& form, const std::vector<int64_t>& offsets, std::vector<Lanes>* out) const;
  // Only for vectors whose anchors are all offsets in that buffer.
  void Add(const Form& form, const std::vector<int64_t>& offsets, const std::vector<Lanes>& vectors);

 private:
  struct Entry {
    Form form;
    std::vector<int64_t> offsets;
    std::vector<Lanes> vectors;
  };
  std::array<Entry, 8> entries_;
  size_t next_ = 0;
};

}  // namespace samebits::symexec

#endif  // SAMEBITS_CORE_SYMEXEC_TILE_MEMO_H_
