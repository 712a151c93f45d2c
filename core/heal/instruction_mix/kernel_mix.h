#ifndef SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_KERNEL_MIX_H_
#define SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_KERNEL_MIX_H_

// Static counts of a kernel's machine instructions: how often each stands in its code, not how often it runs.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/heal/instruction_mix/instruction_class.h"

namespace samebits::heal {

struct KernelMix {
  std::string kernel;  // as the code object names it
  std::string target;  // "sm_90a", "gfx942"; empty: the text did not say
  std::string module;  // file, and member where it has several
  // An opcode with its modifiers can be of two classes (HFMA2 that computes, HFMA2 that sets a constant).
  std::map<std::pair<std::string, InstructionClass>, int64_t> opcodes;
  std::array<int64_t, kInstructionClasses> per_class{};
  int64_t instructions = 0;

  int64_t Of(InstructionClass kind) const { return per_class[static_cast<size_t>(kind)]; }
  int64_t Arithmetic() const;  // floating-point arithmetic, of which table 1's shares are
};

// "rms_norm(float const*)" of a mangled name; the name itself where it is no mangled one.
std::string ReadableName(const std::string& kernel);
// The same for names from anybody: a short name may stand for gigabytes (each part may repeat the ones before), which are
// not tried. The name itself where its readable form could have more than `most` bytes.
std::string ReadableNameWithin(const std::string& kernel, size_t most = 1 << 16);

// Kernels that a report shows in one row: shares from the least to the most of its kernels, as table 1 gives them.
struct OpcodeRange {
  std::string opcode;
  InstructionClass kind = InstructionClass::kOther;
  int64_t count = 0;              // over all kernels of the row
  double least = 0, most = 0;     // of each kernel's floating-point arithmetic
};
struct MixRow {
  std::string name;
  int64_t kernels = 0;
  int64_t without_arithmetic = 0;  // kernels, left out of the ranges
  int64_t instructions = 0, arithmetic = 0, conversions = 0, unrecognized = 0;
  std::array<int64_t, kInstructionClasses> per_class{};
  double least_conversions = 0, most_conversions = 0;  // per instruction of floating-point arithmetic, over kernels
  std::vector<OpcodeRange> opcodes;  // all but integer and other; by class, then by count
};

// Rows in order of their names. `row_of`: the row of a kernel.
std::vector<MixRow> MakeRows(const std::vector<KernelMix>& kernels, const std::function<std::string(const KernelMix&)>& row_of);

// Whether text has a match of a POSIX extended regular expression.
using TextFilter = std::function<bool(std::string_view)>;
inline constexpr size_t kMostPattern = 512;
// INVALID_ARGUMENT with what is wrong with it. An empty pattern matches everything.
absl::StatusOr<TextFilter> CompileFilter(const std::string& pattern);
// Text -> first group of its first match (the whole match where the pattern has no group); "others" without a match.
absl::StatusOr<std::function<std::string(std::string_view)>> CompileGrouping(const std::string& pattern);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_KERNEL_MIX_H_
