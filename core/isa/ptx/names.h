#ifndef SAMEBITS_CORE_ISA_PTX_NAMES_H_
#define SAMEBITS_CORE_ISA_PTX_NAMES_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/isa/module.h"

namespace samebits::isa::ptx {

// What an identifier means at one place. `order` grows with each declaration: of two visible ones, the later is the
// inner one.
struct Binding {
  enum class Kind : uint8_t { kNone, kRegister, kSymbol, kSymbolRange };
  Kind kind = Kind::kNone;
  uint32_t index = kNone32;  // of a register declaration, or of a symbol
  uint32_t scope = kNone32;
  uint32_t order = 0;
};

// An identifier of the text and its present meanings.
struct Name {
  std::string_view text;
  uint64_t hash = 0;
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
  uint32_t Find(std::string_view text) const {
    return slots_[Locate(text, Hash(text))];
  }
  Name& operator[](uint32_t id) { return names_[id]; }
  const Name& operator[](uint32_t id) const { return names_[id]; }

  static uint64_t Hash(std::string_view text);

 private:
  size_t Locate(std::string_view text, uint64_t hash) const {
    size_t slot = hash & mask_;
    while (slots_[slot] != kNone32) {
      const Name& name = names_[slots_[slot]];
      if (name.hash == hash && name.text == text) break;
      slot = (slot + 1) & mask_;
    }
    return slot;
  }
  void Grow();

  std::vector<Name> names_;
  std::vector<uint32_t> slots_;  // ids, kNone32 where free; at most half full
  size_t mask_;
};

}  // namespace samebits::isa::ptx

#endif  // SAMEBITS_CORE_ISA_PTX_NAMES_H_
