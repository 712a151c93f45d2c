#include "core/interpreter/memory.h"

#include <algorithm>
#include <cassert>

namespace samebits::interpreter {
namespace {
constexpr uint64_t kPage = 4096;
}  // namespace

uint64_t Memory::Allocate(uint64_t bytes) {
  Region region;
  region.address = next_;
  region.bytes.assign(bytes, 0);
  region.written.assign(bytes, false);
  next_ += (bytes + kPage - 1) / kPage * kPage + kPage;
  regions_.push_back(std::move(region));
  return regions_.back().address;
}

uint64_t Memory::Allocate(std::span<const uint8_t> contents) {
  const uint64_t address = Allocate(contents.size());
  std::copy(contents.begin(), contents.end(), regions_.back().bytes.begin());
  return address;
}

Memory::Region* Memory::Lookup(uint64_t address, uint64_t bytes) {
  const auto holds = [&](const Region& region) {
    return address >= region.address && address - region.address <= region.bytes.size() &&
           bytes <= region.bytes.size() - (address - region.address);
  };
  if (last_ < regions_.size() && holds(regions_[last_])) return &regions_[last_];
  auto after = std::upper_bound(regions_.begin(), regions_.end(), address,
                                [](uint64_t value, const Region& region) { return value < region.address; });
  if (after == regions_.begin()) return nullptr;
  Region& region = *std::prev(after);
  if (!holds(region)) return nullptr;
  last_ = static_cast<size_t>(&region - regions_.data());
  return &region;
}

uint8_t* Memory::Find(uint64_t address, uint64_t bytes) {
  Region* region = Lookup(address, bytes);
  return region == nullptr ? nullptr : region->bytes.data() + (address - region->address);
}

void Memory::MarkWritten(uint64_t address, uint64_t bytes) {
  Region* region = Lookup(address, bytes);
  assert(region != nullptr);
  const uint64_t first = address - region->address;
  std::fill_n(region->written.begin() + static_cast<ptrdiff_t>(first), bytes, true);
}

std::span<uint8_t> Memory::Buffer(uint64_t address) {
  Region* region = Lookup(address, 0);
  assert(region != nullptr && region->address == address);
  return region->bytes;
}

const std::vector<bool>& Memory::Written(uint64_t address) const {
  Region* region = const_cast<Memory*>(this)->Lookup(address, 0);
  assert(region != nullptr && region->address == address);
  return region->written;
}

}  // namespace samebits::interpreter
