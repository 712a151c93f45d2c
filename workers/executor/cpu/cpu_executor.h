#ifndef SAMEBITS_WORKERS_EXECUTOR_CPU_CPU_EXECUTOR_H_
#define SAMEBITS_WORKERS_EXECUTOR_CPU_CPU_EXECUTOR_H_

#include <cstdint>
#include <memory>

#include "workers/executor/executor.h"

namespace samebits::workers {

struct CpuOptions {
  int sm = 0;                            // whose matrix units it computes; 0: the text's target
  uint64_t max_steps = 20'000'000'000;   // lane-instructions of one run
};

// Interprets PTX (core/interpreter). Refused, because the bits would be a guess: approximate functions outside the
// operands for which the ISA fixes the result, sums that an assembler may contract, and everything outside the
// interpreter's model. Odd variants take blocks and threads in descending order.
std::unique_ptr<Executor> MakeCpuExecutor(const CpuOptions& options, uint32_t index);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_EXECUTOR_CPU_CPU_EXECUTOR_H_
