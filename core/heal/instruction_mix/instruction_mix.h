#ifndef SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_INSTRUCTION_MIX_H_
#define SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_INSTRUCTION_MIX_H_

// Job 8: files -> instruction mixes of their kernels, as a table and as JSON.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/heal/instruction_mix/disassembly.h"
#include "core/heal/instruction_mix/kernel_mix.h"

namespace samebits::heal {

// A file, or code objects that are made when it is their turn.
struct MixSource {
  std::string name;  // of the kernels' modules
  std::string path;  // machine code or disassembly text; empty: there is `make`
  std::function<absl::StatusOr<std::vector<std::string>>()> make;  // cubins
  std::string mark;  // tells what `make` gives from all else that it could give
};
MixSource FileSource(const std::string& path);  // named by its path

// The work is done in parts: each distinct code object of a file, and all that a source makes. Called by one thread at a
// time.
class MixEvents {
 public:
  virtual ~MixEvents() = default;
  // What an earlier run found for the part of that key, which says all that it depends on but target and expression;
  // null: nothing.
  virtual const DisassemblyMixes* Find(const std::string& /*key*/) { return nullptr; }
  // A part is done. An error ends the measurement with that error.
  virtual absl::Status OnPart(const std::string& /*key*/, const DisassemblyMixes& /*mixes*/) { return absl::OkStatus(); }
  // Parts done, of how many that are known so far: a file whose turn has not come counts as one.
  virtual void OnProgress(int64_t /*done*/, int64_t /*total*/, const std::string& /*text*/) {}
};

struct MixRequest {
  std::vector<MixSource> sources;
  std::string target;         // "sm_90", "gfx942"; empty: all
  std::string match;          // POSIX extended regular expression on kernel names, mangled or readable; empty: all
  int jobs = 0;               // disassemblers side by side; 0: as many as processors
  uint64_t most_extracted_bytes = 0;  // of a file's code objects together; 0: any number
};
struct MixReport {
  bool engine = false;  // modules are configurations of our own engine
  std::vector<KernelMix> kernels;  // in order of the files
  int64_t kernels_seen = 0;        // of the modules that were disassembled, those that do not match included
  int64_t modules = 0, distinct_modules = 0;  // code objects; of equal ones of a file one is read and counted
};

// Runs cuobjdump and nvdisasm (llvm-objdump) on machine code; modules of which no kernel matches are not disassembled.
// Errors name the file: NOT_FOUND for a file, a tool or where nothing matches; INVALID_ARGUMENT for a file without
// machine code and for a wrong expression; FAILED_PRECONDITION with the tool's messages; RESOURCE_EXHAUSTED; those of
// `make`.
absl::StatusOr<MixReport> MeasureInstructionMix(const MixRequest& request, MixEvents& events);

// A row for each kernel's readable name, or what `group` gives for it (empty: the name itself); kernels of our own engine
// are apart by configuration.
std::vector<MixRow> RowsOf(const MixReport& report, const std::function<std::string(std::string_view)>& group = {});

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
