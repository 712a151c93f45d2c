// Reading any text as a prompt file ends with a set within its bounds or an error.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/heal/jobs/prompt_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto set = samebits::heal::ParsePrompts(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!set.ok()) return 0;
  const size_t vocabulary = set->token_bytes.size();
  for (const samebits::heal::Prompt& prompt : set->prompts) {
    if (prompt.id.empty() || prompt.tokens.empty()) std::abort();
    for (const int32_t token : prompt.tokens) {
      if (token < 0 || (vocabulary > 0 && token >= vocabulary)) std::abort();
    }
    samebits::heal::ReadAnswer(*set, prompt.tokens);
  }
  return 0;
}
