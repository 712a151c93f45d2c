#ifndef SAMEBITS_WORKERS_EXECUTOR_ROCM_CODE_OBJECT_H_
#define SAMEBITS_WORKERS_EXECUTOR_ROCM_CODE_OBJECT_H_

// Machine code of AMDGCN texts.

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "workers/executor/rocm/assembler_input.h"

namespace samebits::workers {

class Assembler {
 public:
  virtual ~Assembler() = default;
  // "comgr 3.0", "clang 19.1.7".
  virtual std::string Version() const = 0;
  // An ELF file that HIP loads. INVALID_ARGUMENT with the assembler's words, UNAVAILABLE, RESOURCE_EXHAUSTED, INTERNAL.
  virtual absl::StatusOr<std::string> Assemble(const AssemblerInput& input) const = 0;
};

// The program `clang`; where that is empty, libamd_comgr.so (comgr.h), else the clang of /opt/rocm. UNAVAILABLE, saying what
// was looked for. A clang needs ld.lld beside it; it writes to the folder of temporary files.
absl::StatusOr<std::unique_ptr<Assembler>> FindAssembler(const std::string& clang);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_EXECUTOR_ROCM_CODE_OBJECT_H_
