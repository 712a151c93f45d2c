#ifndef SAMEBITS_WORKERS_HEAL_MIX_TASK_H_
#define SAMEBITS_WORKERS_HEAL_MIX_TASK_H_

// The task of an instruction mix: tools are run over submitted bytes, nothing of these is executed.

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/heal/instruction_mix/instruction_mix.h"
#include "samebits/worker/v1/worker_sessions.pb.h"

namespace samebits::workers {

// What this machine can count instructions of: "text", and with `disassembles` "cubin", "fatbin", "amdgcn" and "engine"
// as far as the tools are found.
std::vector<std::string> FindInstructionSources(bool disassembles);

// A part's units: its kernels in as many messages as the bound on a unit's size asks for.
std::vector<worker::v1::InstructionMixUnit> UnitsOf(const std::string& key, const heal::DisassemblyMixes& mixes);

struct MixTaskEvents {
  std::function<void(uint64_t done, uint64_t total)> on_progress;
  std::function<void(worker::v1::TaskUnit unit)> on_unit;
};
// Measures all but the parts whose units the lease brings; units that cannot be read are measured anew. Files are written
// below TMPDIR. Errors: those of MeasureInstructionMix; RESOURCE_EXHAUSTED for a result that is too long.
absl::StatusOr<v1::NumericsResult> RunMixTask(const worker::v1::UpdateWorkerSessionResponse::Leased& lease,
                                              const MixTaskEvents& events);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_HEAL_MIX_TASK_H_
