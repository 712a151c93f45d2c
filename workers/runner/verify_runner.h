#ifndef SAMEBITS_WORKERS_RUNNER_VERIFY_RUNNER_H_
#define SAMEBITS_WORKERS_RUNNER_VERIFY_RUNNER_H_

#include <functional>

#include "absl/status/status.h"
#include "workers/executor/executor.h"

namespace samebits::v1 {
class LaunchOutcome;
class VerifyKernelsRequest;
}  // namespace samebits::v1

namespace samebits::workers {

struct VerifyEvents {
  std::function<void()> on_step;  // a launch on one input ended
  std::function<void(const v1::LaunchOutcome&)> on_outcome;
};

// Runs the request's launches from number `first` on, one after another, on every distribution, `runs` times each.
// Returns early, after the outcome, where a launch ended in a way that may have spoilt the device's context (`fragile`
// devices only): the caller goes on with the next launch in another process. INVALID_ARGUMENT for requests that no
// server makes.
absl::Status RunVerification(const v1::VerifyKernelsRequest& request, int first, bool fragile, Executor& executor,
                             const VerifyEvents& events);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_RUNNER_VERIFY_RUNNER_H_
