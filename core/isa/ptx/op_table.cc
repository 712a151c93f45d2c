#include "core/isa/ptx/op_table.h"

#include <array>
#include <vector>

namespace samebits::isa::ptx {
namespace {

struct OpInfo {
  std::string_view name;
  uint8_t destinations, min_operands, max_operands;
};

constexpr OpInfo kOps[] = {
    {"", 0, 0, 255},
#define X(name, text, dests, min_operands, max_operands) {text, dests, min_operands, max_operands},
    SAMEBITS_PTX_OPS(X)
#undef X
};

constexpr std::string_view kMods[] = {
    "",
#define X(name, text) text,
    SAMEBITS_PTX_MODIFIERS(X)
#undef X
};

struct Spelling {
  std::string_view text;
  uint16_t value;
};

constexpr Spelling kOpSpellings[] = {
#define X(name, text, dests, min_operands, max_operands) {text, static_cast<uint16_t>(Op::name)},
    SAMEBITS_PTX_OPS(X)
#undef X
#define X(name, text) {text, static_cast<uint16_t>(Op::name)},
        SAMEBITS_PTX_OP_ALIASES(X)
#undef X
};

constexpr Spelling kModSpellings[] = {
#define X(name, text) {text, static_cast<uint16_t>(Mod::name)},
    SAMEBITS_PTX_MODIFIERS(X)
#undef X
};

// No spelling has more dotted pieces, so a prefix search ends there.
constexpr int kMaxOpPieces = 5;

constexpr uint32_t HashSpelling(std::string_view text) {
  uint32_t hash = 2166136261u;
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return hash ^ (hash >> 15);
}

// Fixed open-addressing set of spellings, at most half full, filled once before use.
class SpellingTable {
 public:
  static constexpr size_t kSlots = 1024;

  template <size_t kCount>
  explicit SpellingTable(const Spelling (&spellings)[kCount]) {
    static_assert(kCount * 2 <= kSlots);
    for (const Spelling& spelling : spellings) Insert(spelling);
  }

  // 0 if absent: no enumerator of a spelling is 0.
  uint16_t Find(std::string_view text) const {
    if (text.size() > longest_) return 0;
    size_t slot = HashSpelling(text) % kSlots;
    while (!slots_[slot].text.empty()) {
      if (slots_[slot].text == text) return slots_[slot].value;
      slot = (slot + 1) % kSlots;
    }
    return 0;
  }

 private:
  void Insert(const Spelling& spelling) {
    size_t slot = HashSpelling(spelling.text) % kSlots;
    while (!slots_[slot].text.empty()) slot = (slot + 1) % kSlots;
    slots_[slot] = spelling;
    if (spelling.text.size() > longest_) longest_ = spelling.text.size();
  }

  std::array<Spelling, kSlots> slots_{};
  size_t longest_ = 0;
};

}  // namespace

int DestinationCount(Op op) { return kOps[static_cast<int>(op)].destinations; }
int MinOperands(Op op) { return kOps[static_cast<int>(op)].min_operands; }
int MaxOperands(Op op) { return kOps[static_cast<int>(op)].max_operands; }
std::string_view OpName(Op op) { return kOps[static_cast<int>(op)].name; }
std::string_view ModName(Mod mod) { return kMods[static_cast<int>(mod)]; }

Op FindOp(std::string_view name, size_t* length) {
  static const SpellingTable* const table = new SpellingTable(kOpSpellings);
  Op found = Op::kUnknown;
  *length = name.find('.');
  if (*length == std::string_view::npos) *length = name.size();
  size_t end = *length;
  for (int piece = 0; piece < kMaxOpPieces; ++piece) {
    if (uint16_t value = table->Find(name.substr(0, end)); value != 0) {
      found = static_cast<Op>(value);
      *length = end;
    }
    if (end >= name.size()) break;
    end = name.find('.', end + 1);
    if (end == std::string_view::npos) end = name.size();
  }
  return found;
}

Mod FindMod(std::string_view piece) {
  static const SpellingTable* const table = new SpellingTable(kModSpellings);
  return static_cast<Mod>(table->Find(piece));
}

}  // namespace samebits::isa::ptx
