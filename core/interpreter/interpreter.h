#ifndef SAMEBITS_CORE_INTERPRETER_INTERPRETER_H_
#define SAMEBITS_CORE_INTERPRETER_INTERPRETER_H_

// A direct PTX interpreter: runs one grid launch on concrete bytes. It shares no code with the symbolic executor, so
// that each checks the other; workers without a GPU execute with it.
//
// Every thread has its own program counter, registers and call stack; blocks run one after another in ascending order
// (x fastest), and the threads of a block take turns: each runs until it exits or waits for others. The order can be
// turned round, which shows results that depend on it. Instructions of a
// whole warp (shfl, vote, redux, ldmatrix, mma, ...) or warpgroup (wgmma) execute when every live lane of the member
// mask waits at the same instruction. Asynchronous copies and matrix steps take effect at once.
//
// Semantics follow the PTX ISA; arithmetic is core/softfloat's. Adds and multiplications are never contracted.
// Approximate instructions use softfloat's stand-ins (see RunResult). Choices where the ISA leaves results open:
// integer division by zero gives all ones and leaves the dividend as remainder; registers and memory start as zero;
// fragments of wmma have a layout of our own. What is not modelled (tensor maps, mbarriers, clusters, tcgen05,
// textures, clocks) is UNIMPLEMENTED.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/isa/module.h"
#include "core/interpreter/memory.h"

namespace samebits::interpreter {

using Dim3 = std::array<uint32_t, 3>;

struct LaunchConfig {
  Dim3 grid{1, 1, 1};
  Dim3 block{1, 1, 1};
  uint32_t shared_bytes = 0;               // dynamic shared memory
  std::vector<std::vector<uint8_t>> args;  // one a kernel parameter, as laid out in memory; missing bytes are zero
  uint64_t max_steps = 4'000'000'000;      // lane-instructions
  int sm = 0;                              // architecture whose matrix units compute; 0: the text's target
  bool descending = false;                 // blocks and threads take turns in descending order
};

// Bytes of one argument.
template <typename T>
std::vector<uint8_t> Bytes(const T& value) {
  const auto* first = reinterpret_cast<const uint8_t*>(&value);
  return std::vector<uint8_t>(first, first + sizeof(T));
}

struct RunResult {
  uint64_t steps = 0;          // lane-instructions executed
  uint64_t model_results = 0;  // results of approximate instructions that are stand-ins: with 0 all bits are claimed
};

// Runs the entry named `entry` (empty: the only one). Errors: NOT_FOUND (no such entry), INVALID_ARGUMENT (launch),
// UNIMPLEMENTED (instruction outside the model), OUT_OF_RANGE (access outside every buffer or misaligned),
// FAILED_PRECONDITION (threads wait forever, a lane reads one that takes no part, trap), RESOURCE_EXHAUSTED (steps).
// Messages name the line. `memory` keeps what was written up to an error.
absl::StatusOr<RunResult> Run(const isa::Module& module, std::string_view entry, const LaunchConfig& config,
                              Memory& memory);

}  // namespace samebits::interpreter

#endif  // SAMEBITS_CORE_INTERPRETER_INTERPRETER_H_
