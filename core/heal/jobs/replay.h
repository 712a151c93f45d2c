#ifndef SAMEBITS_CORE_HEAL_JOBS_REPLAY_H_
#define SAMEBITS_CORE_HEAL_JOBS_REPLAY_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/heal/engine/engine.h"
#include "core/heal/jobs/generate.h"
#include "core/heal/jobs/monitor.h"
#include "core/heal/jobs/spec.h"

namespace samebits::heal {

// A prompt and what the anchor generated, without its last token, which nothing follows. Row `first` is the one that
// the first generated token came from: rows first .. end are those of the trajectory, one for each generated token.
struct Sequence {
  Tokens tokens;
  int first = 0;
  int generated() const { return static_cast<int>(tokens.size()) - first; }
};

// Rows of one pass, of which sequence and at which position.
struct PassRows {
  std::vector<int32_t> sequence, slot, position, token;
  size_t size() const { return sequence.size(); }
};
using Visit = std::function<absl::Status(const PassRows& rows, const ForwardResult& result)>;

// Teacher forcing. kFixed: sequence after sequence, `slots` of them as a batch, in passes of `rows` rows. The others:
// every slot takes rows / slots rows of its sequence in each pass, and a slot whose sequence has ended takes the next
// one. `rows` is at most the engine's.
struct ReplayRequest {
  std::span<const Sequence> sequences;
  Schedule schedule = Schedule::kFixed;
  int rows = 1;
  Wanted wanted;
};
absl::Status Replay(Engine& engine, const ReplayRequest& request, Monitor& monitor, const Visit& visit);

// Final hidden states of the trajectory's rows: generated x hidden values a sequence.
using Hidden = std::vector<std::vector<float>>;
absl::StatusOr<Hidden> ReplayHidden(Engine& engine, std::span<const Sequence> sequences, Monitor& monitor);

// Final Hidden MSE of every row of the trajectory against the anchor's.
absl::StatusOr<std::vector<std::vector<double>>> ReplayErrors(Engine& engine, std::span<const Sequence> sequences,
                                                              Schedule schedule, const Hidden& anchor,
                                                              Monitor& monitor);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_JOBS_REPLAY_H_
