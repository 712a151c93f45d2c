#ifndef SAMEBITS_CORE_SYMEXEC_LANE_SPACE_H_
#define SAMEBITS_CORE_SYMEXEC_LANE_SPACE_H_

// Interned vectors over the lanes of a block: integer offsets, nodes, masks, permutations. Equal content has one id,
// so operations on whole vectors are remembered by id and a repeated one costs a look-up.

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/hash.h"
#include "core/expr/node.h"

namespace samebits::symexec {

using ArrayId = uint32_t;  // int64 per lane with lane 0 at 0; id 0: all zero
using MaskId = uint32_t;   // 0: no lane, 1: all lanes
using PermId = uint32_t;   // source lane per lane; 0: identity
inline constexpr MaskId kNoLanes = 0, kAllLanes = 1;

// A set of fixed-length vectors of T, each kept once.
template <typename T>
class InternedVectors {
 public:
  explicit InternedVectors(int length) : length_(length), table_(1024, 0xffffffffu) {}
  uint32_t Intern(const T* v) {
    const uint64_t h = Hash(v);
    size_t mask = table_.size() - 1, at = h & mask;
    for (; table_[at] != 0xffffffffu; at = (at + 1) & mask)
      if (hashes_[table_[at]] == h && std::equal(v, v + length_, data_.data() + size_t{table_[at]} * length_))
        return table_[at];
    const uint32_t id = static_cast<uint32_t>(hashes_.size());
    hashes_.push_back(h);
    data_.insert(data_.end(), v, v + length_);
    table_[at] = id;
    if (hashes_.size() * 2 > table_.size()) Grow();
    return id;
  }
  const T* operator[](uint32_t id) const { return data_.data() + size_t{id} * length_; }
  size_t size() const { return hashes_.size(); }
  uint64_t memory_bytes() const { return data_.capacity() * sizeof(T) + hashes_.capacity() * 8; }

 private:
  // Over words, in four streams that the processor runs side by side.
  uint64_t Hash(const T* v) const {
    constexpr int kPerWord = static_cast<int>(8 / sizeof(T));
    uint64_t h[4] = {0x51ed270b153a4d2full, 0x2545f4914f6cdd1dull, 0x9e3779b97f4a7c15ull, 0xd1342543de82ef95ull};
    const int words = length_ / kPerWord;
    for (int w = 0; w < words; ++w) {
      uint64_t word;
      std::memcpy(&word, v + w * kPerWord, 8);
      h[w & 3] = (h[w & 3] ^ word) * 0x9fb21c651e98df25ull + (h[w & 3] >> 29);
    }
    for (int i = words * kPerWord; i < length_; ++i) h[0] = (h[0] ^ static_cast<uint64_t>(v[i])) * 0x9fb21c651e98df25ull + (h[0] >> 29);
    const uint64_t all = ((h[0] * 31 + h[1]) * 0x9fb21c651e98df25ull + h[2]) * 0x9fb21c651e98df25ull + h[3];
    return all ^ (all >> 31);
  }
  void Grow() {
    std::vector<uint32_t> bigger(table_.size() * 2, 0xffffffffu);
    for (uint32_t id = 0; id < hashes_.size(); ++id) {
      size_t at = hashes_[id] & (bigger.size() - 1);
      while (bigger[at] != 0xffffffffu) at = (at + 1) & (bigger.size() - 1);
      bigger[at] = id;
    }
    table_.swap(bigger);
  }
  int length_;
  std::vector<T> data_;
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> table_;
};

class LaneSpace {
 public:
  explicit LaneSpace(int lanes);
  int lanes() const { return lanes_; }

  struct ArrayInfo {
    int64_t min = 0, max = 0;
    int trailing_zeros = 63;  // every element is a multiple of 2^this
  };
  struct Offsets {
    ArrayId id = 0;
    int64_t constant = 0;  // what lane 0 held
  };
  // `v` is clobbered (made relative to lane 0).
  Offsets InternArray(int64_t* v);
  // The same, quick where `v` is `likely` and a constant.
  Offsets InternArray(int64_t* v, ArrayId likely);
  const int64_t* array(ArrayId id) const { return arrays_[id]; }
  const ArrayInfo& info(ArrayId id) const { return array_info_[id]; }

  ArrayId Add(ArrayId a, ArrayId b);
  ArrayId Scale(ArrayId a, int64_t factor);
  // out[l] = a[perm[l]].
  Offsets Permute(ArrayId a, PermId perm);
  // out[l] = op(a[l] + ca, b[l] + cb), remembered under `what`, which says what `op` is.
  template <typename Op>
  Offsets Combine(uint32_t what, ArrayId a, int64_t ca, ArrayId b, int64_t cb, Op op) {
    const auto [it, fresh] = combined_.try_emplace({what, a, ca, b, cb});
    if (!fresh) return it->second;
    const int64_t *x = arrays_[a], *y = arrays_[b];
    for (int l = 0; l < lanes_; ++l) buffer_[l] = op(x[l] + ca, y[l] + cb);
    return it->second = InternArray(buffer_.data());
  }
  // out[l] = mask(l) ? a[l] + ca : b[l] + cb.
  Offsets Blend(MaskId mask, ArrayId a, int64_t ca, ArrayId b, int64_t cb);

  PermId InternPerm(const uint16_t* source) { return perms_.Intern(source); }
  const uint16_t* perm(PermId id) const { return perms_[id]; }

  uint32_t InternNodes(const uint32_t* nodes) { return nodes_.Intern(nodes); }
  const uint32_t* nodes(uint32_t id) const { return nodes_[id]; }
  uint32_t InternSymbolics(const uint32_t* symbolics) { return symbolics_.Intern(symbolics); }
  const uint32_t* symbolics(uint32_t id) const { return symbolics_[id]; }

  int mask_words() const { return mask_words_; }
  MaskId InternMask(const uint64_t* words) { return masks_.Intern(words); }
  const uint64_t* mask(MaskId id) const { return masks_[id]; }
  bool Test(MaskId id, int lane) const { return masks_[id][lane >> 6] >> (lane & 63) & 1; }
  MaskId And(MaskId a, MaskId b);
  MaskId Or(MaskId a, MaskId b);
  MaskId AndNot(MaskId a, MaskId b);
  MaskId Xor(MaskId a, MaskId b);
  bool Contains(MaskId outer, MaskId inner) const {
    if (outer == inner || outer == kAllLanes || inner == kNoLanes) return true;
    for (int i = 0; i < mask_words_; ++i)
      if ((masks_[inner][i] & ~masks_[outer][i]) != 0) return false;
    return true;
  }
  int Count(MaskId id) const;
  int First(MaskId id) const;  // lane, or -1
  template <typename F>
  MaskId MaskWhere(F f) {
    uint64_t w[16] = {};
    for (int l = 0; l < lanes_; ++l) w[l >> 6] |= uint64_t{f(l)} << (l & 63);
    return InternMask(w);
  }
  uint64_t memory_bytes() const {
    return arrays_.memory_bytes() + perms_.memory_bytes() + nodes_.memory_bytes() + symbolics_.memory_bytes() +
           masks_.memory_bytes() + (add_memo_.size() + perm_memo_.size() + scale_memo_.size() + combined_.size()) * 64;
  }

 private:
  template <typename Op>
  MaskId CombineMasks(MaskId a, MaskId b, Op op);
  int lanes_, mask_words_;
  InternedVectors<int64_t> arrays_;
  InternedVectors<uint16_t> perms_;
  InternedVectors<uint32_t> nodes_, symbolics_;
  InternedVectors<uint64_t> masks_;
  std::vector<ArrayInfo> array_info_;
  std::vector<int64_t> buffer_;
  std::unordered_map<uint64_t, ArrayId> add_memo_;
  std::unordered_map<uint64_t, Offsets> perm_memo_;
  absl::flat_hash_map<std::pair<ArrayId, int64_t>, ArrayId> scale_memo_;
  absl::flat_hash_map<std::tuple<uint32_t, ArrayId, int64_t, ArrayId, int64_t>, Offsets> combined_;
};

}  // namespace samebits::symexec

#endif  // SAMEBITS_CORE_SYMEXEC_LANE_SPACE_H_
