#ifndef SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_INSTRUCTION_MIX_H_
#define SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_INSTRUCTION_MIX_H_

// Job 8: files -> instruction mixes of their kernels, as a table and as JSON.

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/heal/instruction_mix/kernel_mix.h"

namespace samebits::heal {

struct MixRequest {
  std::vector<std::string> files;  // machine code or disassembly text
  std::string target;              // "sm_90", "gfx942"; empty: all
  std::string match;               // POSIX extended regular expression on kernel names, mangled or readable; empty: all
  int jobs = 0;                    // disassemblers side by side; 0: as many as processors
  std::function<void(const std::string&)> on_progress;  // what is being done; called by one thread at a time; may be empty
};
struct MixReport {
  std::vector<KernelMix> kernels;  // in order of the files
  int64_t kernels_seen = 0;        // of the modules that were disassembled, those that do not match included
  int64_t modules = 0, distinct_modules = 0;  // code objects; of equal ones of a file one is read and counted
};

// Runs cuobjdump and nvdisasm (llvm-objdump) on machine code; modules of which no kernel matches are not disassembled.
// Errors name the file: NOT_FOUND for a file, a tool or where nothing matches; INVALID_ARGUMENT for a file without
// machine code and for a wrong expression; FAILED_PRECONDITION with the tool's messages.
absl::StatusOr<MixReport> MeasureInstructionMix(const MixRequest& request);

struct MixTableOptions {
  double least_share = 0.01;  // opcodes below this in every kernel of a row are not listed
  bool ranges = true;         // "93.0-97.6%", or the mean alone
};
// A row for each: name, kernels, instructions, arithmetic by opcode and its share, then conversions by opcode.
std::string MixTable(const std::vector<MixRow>& rows, const MixTableOptions& options = {});
// {"rows": [...]} and, with `kernels`, {"kernels": [...]}: every count, nothing left out.
std::string MixJson(const std::vector<MixRow>& rows, const std::vector<KernelMix>& kernels);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_INSTRUCTION_MIX_H_
