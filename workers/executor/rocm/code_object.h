#ifndef SAMEBITS_WORKERS_EXECUTOR_ROCM_CODE_OBJECT_H_
#define SAMEBITS_WORKERS_EXECUTOR_ROCM_CODE_OBJECT_H_

// Machine code of AMDGCN texts.

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace samebits::workers {

// The text as assemblers of every release take it, line by line, and the processor as they name it. Compilers spell a
// processor's triple differently from release to release, so it is written anew, where it stands in the text too; sizes of
// symbols, which nothing loads by, are left out, for they may refer to labels that a stripped text lacks.
struct AssemblerInput {
  std::string text;
  std::string processor;  // "gfx942", "gfx90a:sramecc+:xnack-"
  std::string Triple() const { return "amdgcn-amd-amdhsa--" + processor; }
};
// `text` must have been parsed (core/isa/amdgcn), which refuses directives that read files. INVALID_ARGUMENT.
absl::StatusOr<AssemblerInput> PrepareForAssembler(std::string_view text);

class Assembler {
 public:
  virtual ~Assembler() = default;
  // An ELF file that HIP loads. INVALID_ARGUMENT with the assembler's words, UNAVAILABLE, RESOURCE_EXHAUSTED, INTERNAL.
  virtual absl::StatusOr<std::string> Assemble(const AssemblerInput& input) const = 0;
};

// The clang that the variable SAMEBITS_AMDGCN_CLANG names; else libamd_comgr.so (comgr.h); else the clang of /opt/rocm.
// UNAVAILABLE, saying what was looked for. A clang needs ld.lld beside it; it writes to the folder of temporary
// files.
absl::StatusOr<std::unique_ptr<Assembler>> FindAssembler();

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_EXECUTOR_ROCM_CODE_OBJECT_H_
