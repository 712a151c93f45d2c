#include "core/isa/ptx/names.h"

#include <random>

namespace samebits::isa::ptx {
namespace {

constexpr size_t kFirstSlots = 256;

uint64_t ProcessSeed() {
  static const uint64_t seed = [] {
    std::random_device device;
    return (static_cast<uint64_t>(device()) << 32) | device();
  }();
  return seed;
}

}  // namespace

NameTable::NameTable() : seed_(ProcessSeed()), slots_(kFirstSlots, kNone32), mask_(kFirstSlots - 1) {
  names_.reserve(kFirstSlots / 2);
}

uint32_t NameTable::Intern(std::string_view text) {
  const uint64_t hash = Hash(text), short_key = ShortKey(text);
  size_t slot = Locate(text, hash, short_key);
  if (slots_[slot] != kNone32) return slots_[slot];
  if ((names_.size() + 1) * 2 > slots_.size()) {
    Grow();
    slot = Locate(text, hash, short_key);
  }
  const uint32_t id = static_cast<uint32_t>(names_.size());
  slots_[slot] = id;
  Name& name = names_.emplace_back();
  name.text = text;
  name.hash = hash;
  name.short_key = short_key;
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
