#include "core/isa/ptx/names.h"

#include <cstring>
#include <random>

namespace samebits::isa::ptx {
namespace {

constexpr size_t kFirstSlots = 256;

uint64_t Seed() {
  static const uint64_t seed = [] {
    std::random_device device;
    return (static_cast<uint64_t>(device()) << 32) | device();
  }();
  return seed;
}

// All bytes of a text of at most 7 bytes, in one word; injective for each size.
uint64_t LoadShort(const char* from, size_t size) {
  if (size >= 4) {
    uint32_t first, last;
    std::memcpy(&first, from, 4);
    std::memcpy(&last, from + size - 4, 4);
    return (static_cast<uint64_t>(first) << 32) | last;
  }
  if (size == 0) return 0;
  return static_cast<uint8_t>(from[0]) | static_cast<uint64_t>(static_cast<uint8_t>(from[size / 2])) << 8 |
         static_cast<uint64_t>(static_cast<uint8_t>(from[size - 1])) << 16;
}

uint64_t Load8(const char* from) {
  uint64_t word;
  std::memcpy(&word, from, 8);
  return word;
}

uint64_t MulFold(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

NameTable::NameTable() : slots_(kFirstSlots, kNone32), mask_(kFirstSlots - 1) { names_.reserve(kFirstSlots / 2); }

uint64_t NameTable::Hash(std::string_view text) {
  constexpr uint64_t kOdd1 = 0x9e3779b97f4a7c15, kOdd2 = 0xd6e8feb86659fd93;
  uint64_t hash = Seed() ^ (text.size() * kOdd1);
  const char* at = text.data();
  size_t left = text.size();
  for (; left > 8; left -= 8, at += 8) hash = MulFold(hash ^ Load8(at) ^ kOdd1, hash ^ kOdd2);
  uint64_t tail;
  if (left == 8) {
    tail = Load8(at);
  } else if (text.size() > 8) {
    tail = Load8(text.data() + text.size() - 8);
  } else {
    tail = LoadShort(at, left);
  }
  return MulFold(hash ^ tail ^ kOdd2, hash ^ kOdd1);
}

uint32_t NameTable::Intern(std::string_view text) {
  const uint64_t hash = Hash(text);
  size_t slot = Locate(text, hash);
  if (slots_[slot] != kNone32) return slots_[slot];
  if ((names_.size() + 1) * 2 > slots_.size()) {
    Grow();
    slot = Locate(text, hash);
  }
  const uint32_t id = static_cast<uint32_t>(names_.size());
  slots_[slot] = id;
  Name& name = names_.emplace_back();
  name.text = text;
  name.hash = hash;
  return id;
}

void NameTable::Grow() {
  slots_.assign(slots_.size() * 2, kNone32);
  mask_ = slots_.size() - 1;
  for (uint32_t id = 0; id < names_.size(); ++id) {
    size_t slot = names_[id].hash & mask_;
    while (slots_[slot] != kNone32) slot = (slot + 1) & mask_;
    slots_[slot] = id;
  }
}

}  // namespace samebits::isa::ptx
