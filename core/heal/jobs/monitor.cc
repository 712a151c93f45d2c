#include "core/heal/jobs/monitor.h"

#include "absl/strings/str_cat.h"

namespace samebits::heal {

absl::Status Monitor::CheckCancelled() {
  return events_.Cancelled() ? absl::CancelledError(absl::StrCat("cancelled in unit ", unit_)) : absl::OkStatus();
}

absl::Status Monitor::Pass(const std::string& doing) {
  constexpr int64_t kPassesPerReport = 16;
  if (absl::Status s = CheckCancelled(); !s.ok()) return s;
  if (passes_ % kPassesPerReport == 0) {
    events_.OnProgress(done_, total_, absl::StrCat(unit_, ": ", doing, ", pass ", passes_ + 1));
  }
  ++passes_;
  return absl::OkStatus();
}

absl::Status Monitor::Step(const std::string& doing) {
  if (absl::Status s = CheckCancelled(); !s.ok()) return s;
  events_.OnProgress(done_, total_, absl::StrCat(unit_, ": ", doing));
  return absl::OkStatus();
}

}  // namespace samebits::heal
