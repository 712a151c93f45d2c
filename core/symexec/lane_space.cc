#include "core/symexec/lane_space.h"

#include <algorithm>
#include <bit>

namespace samebits::symexec {

LaneSpace::LaneSpace(int lanes)
    : lanes_(lanes), mask_words_((lanes + 63) / 64), arrays_(lanes), perms_(lanes), nodes_(lanes), symbolics_(lanes),
      masks_((lanes + 63) / 64), buffer_(lanes) {
  InternArray(buffer_.data());
  std::vector<uint16_t> identity(lanes);
  for (int l = 0; l < lanes; ++l) identity[l] = static_cast<uint16_t>(l);
  perms_.Intern(identity.data());
  uint64_t w[16] = {};
  masks_.Intern(w);
  for (int l = 0; l < lanes; ++l) w[l >> 6] |= uint64_t{1} << (l & 63);
  masks_.Intern(w);
}

LaneSpace::Offsets LaneSpace::InternArray(int64_t* v) {
  const int64_t first = v[0];
  for (int l = 0; l < lanes_; ++l) v[l] = static_cast<int64_t>(static_cast<uint64_t>(v[l]) - static_cast<uint64_t>(first));
  const ArrayId id = arrays_.Intern(v);
  if (id == array_info_.size()) {
    ArrayInfo info;
    uint64_t bits = uint64_t{1} << 63;
    for (int l = 0; l < lanes_; ++l) {
      info.min = std::min(info.min, v[l]);
      info.max = std::max(info.max, v[l]);
      bits |= static_cast<uint64_t>(v[l]);
    }
    info.trailing_zeros = std::countr_zero(bits);
    array_info_.push_back(info);
  }
  return {id, first};
}

LaneSpace::Offsets LaneSpace::InternArray(int64_t* v, ArrayId likely) {
  const int64_t* known = arrays_[likely];
  uint64_t differ = 0;
  for (int l = 0; l < lanes_; ++l)
    differ |= (static_cast<uint64_t>(v[l]) - static_cast<uint64_t>(v[0])) ^ static_cast<uint64_t>(known[l]);
  return differ == 0 ? Offsets{likely, v[0]} : InternArray(v);
}

ArrayId LaneSpace::Add(ArrayId a, ArrayId b) {
  if (a == 0) return b;
  if (b == 0) return a;
  if (b < a) std::swap(a, b);
  const uint64_t key = static_cast<uint64_t>(a) << 32 | b;
  if (const auto it = add_memo_.find(key); it != add_memo_.end()) return it->second;
  const int64_t *x = arrays_[a], *y = arrays_[b];
  for (int l = 0; l < lanes_; ++l)
    buffer_[l] = static_cast<int64_t>(static_cast<uint64_t>(x[l]) + static_cast<uint64_t>(y[l]));
  const ArrayId id = InternArray(buffer_.data()).id;
  add_memo_.emplace(key, id);
  return id;
}

ArrayId LaneSpace::Scale(ArrayId a, int64_t factor) {
  if (a == 0 || factor == 1) return a;
  if (const auto it = scale_memo_.find({a, factor}); it != scale_memo_.end()) return it->second;
  const int64_t* x = arrays_[a];
  for (int l = 0; l < lanes_; ++l)
    buffer_[l] = static_cast<int64_t>(static_cast<uint64_t>(x[l]) * static_cast<uint64_t>(factor));
  const ArrayId id = InternArray(buffer_.data()).id;
  scale_memo_.emplace(std::pair{a, factor}, id);
  return id;
}

LaneSpace::Offsets LaneSpace::Permute(ArrayId a, PermId p) {
  if (a == 0 || p == 0) return {a, 0};
  const uint64_t key = static_cast<uint64_t>(a) << 32 | p;
  if (const auto it = perm_memo_.find(key); it != perm_memo_.end()) return it->second;
  const int64_t* x = arrays_[a];
  const uint16_t* source = perms_[p];
  for (int l = 0; l < lanes_; ++l) buffer_[l] = x[source[l]];
  const Offsets result = InternArray(buffer_.data());
  perm_memo_.emplace(key, result);
  return result;
}

LaneSpace::Offsets LaneSpace::Blend(MaskId m, ArrayId a, int64_t ca, ArrayId b, int64_t cb) {
  if (m == kAllLanes || (a == b && ca == cb)) return {a, ca};
  if (m == kNoLanes) return {b, cb};
  const int64_t *x = arrays_[a], *y = arrays_[b];
  for (int l = 0; l < lanes_; ++l) buffer_[l] = Test(m, l) ? x[l] + ca : y[l] + cb;
  return InternArray(buffer_.data());
}

template <typename Op>
MaskId LaneSpace::CombineMasks(MaskId a, MaskId b, Op op) {
  uint64_t w[16];
  for (int i = 0; i < mask_words_; ++i) w[i] = op(masks_[a][i], masks_[b][i]);
  return masks_.Intern(w);
}

MaskId LaneSpace::And(MaskId a, MaskId b) {
  if (a == b || b == kAllLanes) return a;
  if (a == kAllLanes) return b;
  return CombineMasks(a, b, [](uint64_t x, uint64_t y) { return x & y; });
}
MaskId LaneSpace::Or(MaskId a, MaskId b) {
  if (a == b || b == kNoLanes) return a;
  if (a == kNoLanes) return b;
  return CombineMasks(a, b, [](uint64_t x, uint64_t y) { return x | y; });
}
MaskId LaneSpace::AndNot(MaskId a, MaskId b) {
  if (b == kNoLanes) return a;
  if (b == kAllLanes || a == b) return kNoLanes;
  return CombineMasks(a, b, [](uint64_t x, uint64_t y) { return x & ~y; });
}
MaskId LaneSpace::Xor(MaskId a, MaskId b) {
  return CombineMasks(a, b, [](uint64_t x, uint64_t y) { return x ^ y; });
}

int LaneSpace::Count(MaskId id) const {
  int n = 0;
  for (int i = 0; i < mask_words_; ++i) n += std::popcount(masks_[id][i]);
  return n;
}

int LaneSpace::First(MaskId id) const {
  for (int i = 0; i < mask_words_; ++i)
    if (masks_[id][i] != 0) return i * 64 + std::countr_zero(masks_[id][i]);
  return -1;
}

}  // namespace samebits::symexec
