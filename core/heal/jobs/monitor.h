#ifndef SAMEBITS_CORE_HEAL_JOBS_MONITOR_H_
#define SAMEBITS_CORE_HEAL_JOBS_MONITOR_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "core/heal/jobs/job.h"

namespace samebits::heal {

// Tells progress and asks for cancellation on behalf of one unit.
class Monitor {
 public:
  Monitor(JobEvents& events, int64_t done, int64_t total, std::string unit)
      : events_(events), done_(done), total_(total), unit_(std::move(unit)) {}

  // Before every pass; tells every 16th. CANCELLED.
  absl::Status Pass(const std::string& doing);
  // Before a long step, which is always told. CANCELLED.
  absl::Status Step(const std::string& doing);

 private:
  absl::Status CheckCancelled();

  JobEvents& events_;
  const int64_t done_, total_;
  const std::string unit_;
  int64_t passes_ = 0;
};

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_JOBS_MONITOR_H_
