#ifndef SAMEBITS_CORE_ISA_PTX_NAMES_H_
#define SAMEBITS_CORE_ISA_PTX_NAMES_H_

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/isa/module.h"

namespace samebits::isa::ptx {

// What an identifier means at one place. `order` grows with each declaration: of two visible ones, the later is the
// inner one.
struct Binding {
  enum class Kind : uint8_t { kNone, kRegister, kSymbol, kSymbolRange };
  Kind kind = Kind::kNone;
  uint32_t index = kNone32;  // of a register declaration, a symbol, or a range of symbols
  uint32_t scope = kNone32;
  uint32_t order = 0;
};

// An identifier of the text and its present meanings.
struct Name {
  std::string_view text;
  uint64_t hash = 0;
  uint64_t short_key = 0;     // all bytes of a text below 8 bytes, else 0
  Binding exact;              // declared with this spelling
  Binding range;              // declared as `text<N>`: means text0 to text(N-1)
  uint32_t label = kNone32;   // used while labels are resolved
  bool has_numbered = false;  // some exact declaration was spelled as this name followed by digits
};

// Interns identifiers: one open-addressing table, keyed by spelling, with a seed of its own per process so that no
// text can aim at its collisions. Views must outlive it. Not thread-safe.
class NameTable {
 public:
  NameTable();

  // The id of `text`, added if it is new.
  uint32_t Intern(std::string_view text);
  // kNone32 if `text` was never interned.
  uint32_t Find(std::string_view text) const { return slots_[Locate(text, Hash(text), ShortKey(text))]; }
  Name& operator[](uint32_t id) { return names_[id]; }
  const Name& operator[](uint32_t id) const { return names_[id]; }

  uint64_t Hash(std::string_view text) const {
    uint64_t hash = seed_ ^ (text.size() * kOdd1);
    if (text.size() < 8) return Mix(hash ^ ShortKey(text) ^ kOdd2, hash ^ kOdd1);
    const char* at = text.data();
    for (size_t left = text.size(); left > 8; left -= 8, at += 8) hash = Mix(hash ^ Load8(at) ^ kOdd1, hash ^ kOdd2);
    return Mix(hash ^ Load8(text.data() + text.size() - 8) ^ kOdd2, hash ^ kOdd1);
  }

 private:
  static constexpr uint64_t kOdd1 = 0x9e3779b97f4a7c15, kOdd2 = 0xd6e8feb86659fd93;

  static uint64_t Mix(uint64_t a, uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }

  static uint64_t Load8(const char* from) {
    uint64_t word;
    std::memcpy(&word, from, 8);
    return word;
  }

  // The bytes of a text below 8 bytes in one word, different for different texts of one length; 0 for longer ones.
  static uint64_t ShortKey(std::string_view text) {
    const char* from = text.data();
    const size_t size = text.size();
    if (size >= 8 || size == 0) return 0;
    if (size >= 4) {
      uint32_t first, last;
      std::memcpy(&first, from, 4);
      std::memcpy(&last, from + size - 4, 4);
      return (static_cast<uint64_t>(first) << 32) | last;
    }
    const auto byte = [from](size_t i) { return static_cast<uint64_t>(static_cast<uint8_t>(from[i])); };
    return byte(0) | byte(size / 2) << 8 | byte(size - 1) << 16;
  }

  // The slot of `text`, or the free one where it would go.
  size_t Locate(std::string_view text, uint64_t hash, uint64_t short_key) const {
    size_t slot = hash & mask_;
    while (slots_[slot] != kNone32) {
      const Name& name = names_[slots_[slot]];
      if (name.hash == hash && name.short_key == short_key && name.text.size() == text.size() &&
          (text.size() < 8 || name.text == text)) {
        break;
      }
      slot = (slot + 1) & mask_;
    }
    return slot;
  }
  void Grow();

  const uint64_t seed_;
  std::vector<Name> names_;
  std::vector<uint32_t> slots_;  // ids, kNone32 where free; at most half full
  size_t mask_;
};

}  // namespace samebits::isa::ptx

#endif  // SAMEBITS_CORE_ISA_PTX_NAMES_H_
