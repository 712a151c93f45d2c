// Any bytes: a disassembly's reader answers with kernels whose counts add up, or with an error; an image's section names
// are read within its bounds.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include "core/heal/instruction_mix/code_object.h"
#include "core/heal/instruction_mix/disassembly.h"

namespace samebits::heal {
namespace {

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void Check(const std::string& text) {
  KindOf(text);
  TextSections(text);
  std::istringstream in(text);
  const absl::StatusOr<DisassemblyMixes> mixes = ReadDisassembly(in, "module", {});
  if (!mixes.ok()) return Require(!mixes.status().message().empty(), "an error without a message");
  for (const KernelMix& kernel : mixes->kernels) {
    int64_t sum = 0;
    for (const auto& [key, count] : kernel.opcodes) sum += count;
    Require(sum == kernel.instructions && sum > 0, "counts do not add up");
  }
}

}  // namespace
}  // namespace samebits::heal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  samebits::heal::Check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
