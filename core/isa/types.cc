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

}  // namespace

int BitWidth(ScalarType type) { return kTypes[static_cast<int>(type)].bits; }

std::string_view TypeName(ScalarType type) { return kTypes[static_cast<int>(type)].name; }

ScalarType ParseType(std::string_view text) {
  if (text.size() < 2 || text.size() > kMaxNameLength) return ScalarType::kNone;
  for (int i = 1; i < kTypeCount; ++i) {
    if (kTypes[i].name == text) return static_cast<ScalarType>(i);
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
