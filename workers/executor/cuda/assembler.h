#ifndef SAMEBITS_WORKERS_EXECUTOR_CUDA_ASSEMBLER_H_
#define SAMEBITS_WORKERS_EXECUTOR_CUDA_ASSEMBLER_H_

// NVIDIA's ptxas as a program, where kernels are to be assembled by the one that production uses and not by the driver:
// two assemblers may fuse and order otherwise.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace samebits::workers {

struct AssemblerOptions {
  std::string program;                          // path of a ptxas
  uint64_t memory_bytes = 4ull << 30;           // its address space
  absl::Duration timeout = absl::Minutes(10);   // wall time
};

// "ptxas V12.8.93". INVALID_ARGUMENT where the program does not start or does not say that it is ptxas.
absl::StatusOr<std::string> AssemblerVersion(const AssemblerOptions& options);

// Machine code of a PTX text for an architecture ("sm_90a"), with the program's own defaults, as Triton and nvcc run it.
// The program runs without a shell and without this process's environment, under the limits above, and dies with the
// calling thread. Errors: INVALID_ARGUMENT with what the program says of the text; RESOURCE_EXHAUSTED for its memory or
// more than 1 GiB of code; DEADLINE_EXCEEDED; INTERNAL where it crashes; UNAVAILABLE where it does not start.
absl::StatusOr<std::string> Assemble(const AssemblerOptions& options, const std::string& text,
                                     const std::string& architecture);

// What a text of this `.target` is assembled for on a device: the device's architecture ("sm_90"), with the target's
// suffix where it has one ("sm_90a"), for its instructions are refused without.
std::string AssembledArchitecture(std::string_view target, std::string_view device);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_EXECUTOR_CUDA_ASSEMBLER_H_
