#ifndef SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_DISASSEMBLY_H_
#define SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_DISASSEMBLY_H_

// Disassembly text -> instruction mixes. Reads what `cuobjdump -sass`, `nvdisasm` and `llvm-objdump -d` (of AMD code
// objects) print, without being told which, and `nvdisasm -json`. Any bytes give a result or an error.

#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/heal/instruction_mix/kernel_mix.h"

namespace samebits::heal {

inline constexpr size_t kMostLine = 1 << 16;           // longer lines are cut
inline constexpr size_t kMostKernels = 200000;
inline constexpr size_t kMostOpcodesOfKernel = 4096;   // distinct ones
inline constexpr size_t kMostKernelName = 8192;        // longer names are cut

// What is counted. Kernels without instructions are not.
struct MixFilter {
  TextFilter kernel;   // by name, or by readable name; empty: all
  std::string target;  // "sm_90" (also "sm_90a"), "gfx942"; empty: all
};
// Whether `target` is `wanted`, or `wanted` with a letter after it. An unknown target is any.
bool IsTarget(std::string_view target, std::string_view wanted);
bool IsKernel(const MixFilter& filter, const std::string& kernel);

// Lines as they come. Not thread-safe.
class DisassemblyReader {
 public:
  // `target`: of the code, where the text does not say.
  DisassemblyReader(std::string module, std::string target, const MixFilter& filter);

  // RESOURCE_EXHAUSTED beyond the limits above.
  absl::Status Feed(std::string_view bytes);

  // The mixes, in order of the text. Nothing is left.
  absl::StatusOr<std::vector<KernelMix>> Finish();

  // Kernels with instructions that the text had, those that were filtered out included.
  int64_t kernels_seen() const { return kernels_seen_; }

 private:
  enum class Dialect : uint8_t { kNone, kSass, kAmdgcn };

  absl::Status Line(std::string_view line);
  bool Heading(std::string_view line);
  void Open(Dialect dialect, std::string_view name);
  void Close();
  absl::Status SassLine(std::string_view line);
  absl::Status AmdgcnLine(std::string_view line);
  absl::Status Count(std::string_view opcode, InstructionClass kind);

  const std::string module_;
  const MixFilter& filter_;
  std::string target_;
  std::string rest_;           // of a line that has no end yet
  Dialect dialect_ = Dialect::kNone;
  bool counted_ = false;       // the open kernel passes the filter
  bool seen_ = false;          // the open kernel has an instruction
  KernelMix kernel_;
  std::vector<KernelMix> done_;
  int64_t kernels_seen_ = 0;
};

struct DisassemblyMixes {
  std::vector<KernelMix> kernels;
  int64_t kernels_seen = 0;
};
// A whole text. INVALID_ARGUMENT where it holds no instruction of a GPU.
absl::StatusOr<DisassemblyMixes> ReadDisassembly(std::istream& text, const std::string& module, const MixFilter& filter);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_DISASSEMBLY_H_
