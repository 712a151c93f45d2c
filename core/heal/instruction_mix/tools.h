#ifndef SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_TOOLS_H_
#define SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_TOOLS_H_

// The disassemblers that come with CUDA, Triton and LLVM, and how they are run.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace samebits::heal {

enum class Tool : uint8_t { kCuobjdump, kNvdisasm, kLlvmObjdump };

// Path of the tool. Searched: NVDISASM_PATH (nvdisasm), PATH, bin of CUDA_HOME and CUDA_PATH, /usr/local/cuda/bin, Triton's
// package in the Python environments of VIRTUAL_ENV, of PATH and of the system; llvm-objdump: ROCM_PATH and /opt/rocm,
// then PATH, the highest version first. NOT_FOUND with where it was looked for and where to get it.
absl::StatusOr<std::string> FindTool(Tool tool);

// Runs a program without a shell and hands over what it prints. Thread-safe. `on_output` errors end the program and are
// returned. Other errors: UNAVAILABLE where it does not start, FAILED_PRECONDITION with the end of its messages where it
// fails.
absl::Status RunTool(const std::vector<std::string>& command, const std::string& folder,
                     const std::function<absl::Status(std::string_view)>& on_output);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_INSTRUCTION_MIX_TOOLS_H_
