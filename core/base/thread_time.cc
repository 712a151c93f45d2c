#include "core/base/thread_time.h"

#include <time.h>

namespace samebits {

absl::Duration ThreadCpuTime() {
  timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return absl::DurationFromTimespec(used);
}

}  // namespace samebits
