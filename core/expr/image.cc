#include <algorithm>
#include <cstring>

#include "core/expr/program.h"

namespace samebits::expr {

namespace {

// A data-dependent address beyond this is taken for one outside its buffer.
constexpr int64_t kPlausibleBytes = 1 << 16;

}  // namespace

void Image::Cover(BufferId buffer, int64_t offset, int bytes) {
  int64_t begin = offset, end = offset + bytes;
  // Ranges that overlap or touch become one.
  auto it = ranges_.lower_bound({buffer, begin});
  if (it != ranges_.begin() && std::prev(it)->first.first == buffer && std::prev(it)->second.end >= begin) --it;
  if (it != ranges_.end() && it->first.first == buffer && it->first.second <= begin && it->second.end >= end) return;
  while (it != ranges_.end() && it->first.first == buffer && it->first.second <= end) {
    begin = std::min(begin, it->first.second);
    end = std::max(end, it->second.end);
    it = ranges_.erase(it);
  }
  ranges_[{buffer, begin}] = {end, 0};
  bytes_.clear();
}

void Image::Settle() {
  size_t position = 0;
  for (auto& [place, range] : ranges_) {
    range.position = position;
    position += static_cast<size_t>(range.end - place.second);
  }
  bytes_.assign(position, 0);
}

int64_t Image::Find(BufferId buffer, int64_t offset, int bytes) const {
  auto it = ranges_.upper_bound({buffer, offset});
  if (it == ranges_.begin()) return -1;
  --it;
  if (it->first.first != buffer || it->second.end < offset + bytes) return -1;
  return static_cast<int64_t>(it->second.position) + offset - it->first.second;
}

bool Image::Read(BufferId buffer, int64_t offset, int bytes, uint8_t* out) const {
  if (const int64_t at = Find(buffer, offset, bytes); at >= 0) {
    std::memcpy(out, bytes_.data() + at, static_cast<size_t>(bytes));
    return true;
  }
  if (offset < 0 || offset + bytes > kPlausibleBytes) return false;
  for (int i = 0; i < bytes; ++i) {
    const int64_t at = Find(buffer, offset + i, 1);
    out[i] = at < 0 ? 0 : bytes_[static_cast<size_t>(at)];
  }
  return true;
}

}  // namespace samebits::expr
