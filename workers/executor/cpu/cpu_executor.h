#ifndef SAMEBITS_WORKERS_EXECUTOR_CPU_CPU_EXECUTOR_H_
#define SAMEBITS_WORKERS_EXECUTOR_CPU_CPU_EXECUTOR_H_

#include <cstdint>
#include <memory>

#include "workers/executor/executor.h"

namespace samebits::workers {

struct CpuOptions {
  int sm = 0;                            // whose matrix units it computes for PTX; 0: the text's target
  uint64_t max_steps = 20'000'000'000;   // lane-instructions of one run
};

// Interprets PTX and AMDGCN (core/interpreter). Refused, because the bits would be a guess: approximate functions outside
// the operands for which the ISA fixes the result, sums that an assembler may contract, matrix steps whose arithmetic is not
// established, and everything outside the interpreters' models. NaNs that AMDGCN arithmetic makes are the canonical one,
// where processors keep payloads. Odd variants take blocks and threads in descending order.
std::unique_ptr<Executor> MakeCpuExecutor(const CpuOptions& options, uint32_t index);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_EXECUTOR_CPU_CPU_EXECUTOR_H_
