#include "core/isa/module.h"

namespace samebits::isa {
namespace {

constexpr std::string_view kSpecialNames[] = {
    "",
#define X(name, text) text,
    SAMEBITS_PTX_SPECIALS(X)
#undef X
};

}  // namespace

std::string_view SpecialName(Special special) { return kSpecialNames[static_cast<int>(special)]; }

Special ParseSpecial(std::string_view text) {
  constexpr int kCount = sizeof(kSpecialNames) / sizeof(kSpecialNames[0]);
  for (int i = 1; i < kCount; ++i) {
    if (kSpecialNames[i] == text) return static_cast<Special>(i);
  }
  return Special::kOther;
}

uint32_t Module::FindEntry(std::string_view name) const {
  uint32_t found = kNone32;
  for (uint32_t i = 0; i < functions.size(); ++i) {
    if (!functions[i].is_entry || functions[i].is_declaration) continue;
    if (!name.empty() && functions[i].name != name) continue;
    if (found != kNone32) return kNone32;
    found = i;
  }
  return found;
}

}  // namespace samebits::isa
