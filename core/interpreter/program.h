#ifndef SAMEBITS_CORE_INTERPRETER_PROGRAM_H_
#define SAMEBITS_CORE_INTERPRETER_PROGRAM_H_

// Placement of a module's variables for one launch.

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/isa/module.h"
#include "core/interpreter/interpreter.h"
#include "core/interpreter/memory.h"

namespace samebits::interpreter {

// Windows of the generic address space; below them is global memory. Offsets in a window are the addresses of the
// state space itself.
inline constexpr uint64_t kFunctionWindow = 0x7c0000000000;  // addresses of functions; no bytes there
inline constexpr uint64_t kFunctionStride = 16;
inline constexpr uint64_t kParamWindow = 0x7d0000000000;
inline constexpr uint64_t kSharedWindow = 0x7e0000000000;
inline constexpr uint64_t kLocalWindow = 0x7f0000000000;
inline constexpr uint64_t kWindowBytes = 0x010000000000;

// First address of shared variables: the system keeps what is below.
inline constexpr uint32_t kSharedBase = 1024;

struct FunctionLayout {
  uint32_t param_bytes = 0, local_bytes = 0;  // of one activation
};

struct Program {
  const isa::Module* module = nullptr;
  const LaunchConfig* config = nullptr;
  uint32_t entry = 0;                    // index in module->functions
  std::vector<uint64_t> symbol_address;  // in the symbol's own state space; local and param: in the activation
  std::vector<FunctionLayout> functions;
  std::vector<uint32_t> function_by_symbol;  // kNone32 for other symbols
  uint32_t shared_end = kSharedBase;         // one past the last byte of shared memory
  uint32_t dynamic_shared = kSharedBase;     // where extern arrays begin
};

// Checks the launch, places all variables and writes the initial bytes of global and constant ones into `memory`.
absl::StatusOr<Program> Load(const isa::Module& module, std::string_view entry, const LaunchConfig& config,
                             Memory& memory);

}  // namespace samebits::interpreter

#endif  // SAMEBITS_CORE_INTERPRETER_PROGRAM_H_
