#ifndef SAMEBITS_WORKERS_RUNNER_UNIT_TASK_H_
#define SAMEBITS_WORKERS_RUNNER_UNIT_TASK_H_

// A task in a child process that reports finished parts, so that a crash or hang of a device or its driver harms nothing
// else, and another attempt goes on from these parts.

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "samebits/worker/v1/worker_sessions.pb.h"

namespace samebits::workers {

struct UnitTaskLimits {
  std::string program;                      // that calls the child's main; empty: this one
  uint64_t memory_bytes = 4ull << 30;       // address space of the child on the CPU
  absl::Duration silence = absl::Hours(1);  // longest time without progress
};

struct UnitTaskEvents {
  std::function<void(uint64_t done, uint64_t total)> on_progress;
  std::function<void(worker::v1::TaskUnit unit)> on_unit;  // a finished part, to be kept
};

// Runs the program with these arguments (and variables, as Process::Start), `input` on its standard input, and returns what it sends as result. Events come on
// the calling thread. Errors: those that the child sends; RESOURCE_EXHAUSTED for memory; ABORTED where the process died or
// fell silent, for another attempt may end otherwise; CANCELLED soon after `cancelled` is set; DEADLINE_EXCEEDED.
absl::StatusOr<std::string> RunUnitTask(const std::vector<std::string>& arguments, const std::string& input,
                                        const UnitTaskLimits& limits, absl::Time deadline,
                                        const std::atomic<bool>& cancelled, const UnitTaskEvents& events,
                                        const std::vector<std::string>& variables = {});

// The child's side: frames to the parent, progress at most ten times a second. Not thread-safe.
class UnitReporter {
 public:
  void Unit(int64_t index, std::string body);
  void Progress(int64_t done, int64_t total);

 private:
  int64_t done_ = -1;
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_RUNNER_UNIT_TASK_H_
