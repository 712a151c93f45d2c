#ifndef SAMEBITS_CORE_HEAL_JOBS_GENERATE_H_
#define SAMEBITS_CORE_HEAL_JOBS_GENERATE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/heal/engine/engine.h"
#include "core/heal/jobs/monitor.h"
#include "core/heal/jobs/spec.h"

namespace samebits::heal {

using Tokens = std::vector<int32_t>;

struct GenerateRequest {
  std::span<const Prompt> prompts;
  std::span<const int32_t> stop_tokens;
  Schedule schedule = Schedule::kFixed;
  int max_new_tokens = 1;
};

// Greedy continuations, in the order of the prompts. Each pass takes one row of every sequence that generates, then
// rows of prompts not yet read, up to the engine's rows. kFixed reads all prompts of a batch before any sequence
// generates.
absl::StatusOr<std::vector<Tokens>> Generate(Engine& engine, const GenerateRequest& request, Monitor& monitor);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_JOBS_GENERATE_H_
