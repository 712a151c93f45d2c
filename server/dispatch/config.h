#ifndef SAMEBITS_SERVER_DISPATCH_CONFIG_H_
#define SAMEBITS_SERVER_DISPATCH_CONFIG_H_

#include <cstdint>
#include <functional>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "storage/job_store.h"

namespace samebits::server {

struct DispatchConfig {
  storage::OpenLimits limits{20'000, 1'000};              // "max_open_jobs", "max_open_jobs_of_principal"
  uint32_t max_attempts = 5;                              // of a task
  storage::UnitLimits unit_limits{100'000, 256ull << 20};  // of a task: "max_task_units", "max_task_unit_bytes"
  absl::Duration lease_duration = absl::Seconds(15);
  absl::Duration retry_delay = absl::Seconds(1);          // doubles with each attempt
  absl::Duration keep_finished = absl::Hours(24 * 7);     // then deleted
  uint64_t max_finished = 100'000;                        // of those that ended longest ago more are deleted; 0: any number
  absl::Duration offline_after = absl::Seconds(15);       // not heard of for so long
  absl::Duration tick = absl::Milliseconds(200);
  absl::Duration least_poll = absl::Milliseconds(100);    // of a worker
  double polls_a_second = 1000;                           // of all workers together
  std::function<absl::Time()> clock = absl::Now;
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_DISPATCH_CONFIG_H_
