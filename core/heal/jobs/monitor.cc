#include "core/heal/jobs/monitor.h"

#include "absl/strings/str_cat.h"

namespace samebits::heal {

absl::Status Monitor::Pass(const std::string& doing) {
  constexpr int64_t kPassesPerReport = 16;
  if (events_.Cancelled()) return absl::CancelledError(absl::StrCat("cancelled in unit ", unit_));
  if (passes_ % kPassesPerReport == 0) {
    events_.OnProgress(done_, total_, absl::StrCat(unit_, ": ", doing, ", pass ", passes_ + 1));
  }
  ++passes_;
  return absl::OkStatus();
}

}  // namespace samebits::heal
