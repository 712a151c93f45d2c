#include "core/isa/types.h"

#include <array>

namespace samebits::isa {
namespace {

struct TypeInfo {
  std::string_view name;
  int bits;
};

constexpr TypeInfo kTypes[] = {
    {"", 0},
#define X(name, text, bits) {text, bits},
    SAMEBITS_ISA_TYPES(X)
#undef X
};
constexpr int kTypeCount = sizeof(kTypes) / sizeof(kTypes[0]);

// No spelling is longer.
constexpr int kMaxNameLength = 10;

// Open addressing by spelling; 0 where free.
constexpr size_t kSlotCount = 256;
static_assert(2 * kTypeCount <= kSlotCount);

constexpr size_t SlotOf(std::string_view text) {
  uint32_t hash = 2166136261u;
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return (hash ^ hash >> 16) % kSlotCount;
}

constexpr std::array<uint8_t, kSlotCount> MakeSlots() {
  std::array<uint8_t, kSlotCount> slots{};
  for (int i = 1; i < kTypeCount; ++i) {
    size_t slot = SlotOf(kTypes[i].name);
    while (slots[slot] != 0) slot = (slot + 1) % kSlotCount;
    slots[slot] = static_cast<uint8_t>(i);
  }
  return slots;
}
constexpr std::array<uint8_t, kSlotCount> kSlots = MakeSlots();

}  // namespace

int BitWidth(ScalarType type) { return kTypes[static_cast<int>(type)].bits; }

std::string_view TypeName(ScalarType type) { return kTypes[static_cast<int>(type)].name; }

ScalarType ParseType(std::string_view text) {
  if (text.size() < 2 || text.size() > kMaxNameLength) return ScalarType::kNone;
  for (size_t slot = SlotOf(text); kSlots[slot] != 0; slot = (slot + 1) % kSlotCount) {
    if (kTypes[kSlots[slot]].name == text) return static_cast<ScalarType>(kSlots[slot]);
  }
  return ScalarType::kNone;
}

bool IsSigned(ScalarType type) {
  std::string_view name = TypeName(type);
  return name.size() > 1 && name[0] == 's' && name[1] >= '0' && name[1] <= '9';
}

bool IsFloat(ScalarType type) {
  std::string_view name = TypeName(type);
  if (name.empty()) return false;
  switch (name[0]) {
    case 'f':
    case 'e':
      return true;
    case 'b':
      return name[1] == 'f';
    case 't':
      return type == ScalarType::kTf32;
    case 'u':
      return name[1] == 'e';
    default:
      return false;
  }
}

bool IsInteger(ScalarType type) {
  switch (type) {
    case ScalarType::kB8:
    case ScalarType::kU8:
    case ScalarType::kS8:
    case ScalarType::kB16:
    case ScalarType::kU16:
    case ScalarType::kS16:
    case ScalarType::kB32:
    case ScalarType::kU32:
    case ScalarType::kS32:
    case ScalarType::kB64:
    case ScalarType::kU64:
    case ScalarType::kS64:
      return true;
    default:
      return false;
  }
}

}  // namespace samebits::isa
