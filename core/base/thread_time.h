#ifndef SAMEBITS_CORE_BASE_THREAD_TIME_H_
#define SAMEBITS_CORE_BASE_THREAD_TIME_H_

#include "absl/time/time.h"

namespace samebits {

// Processor time that the calling thread has used, user and system. Limits on work are set in it, not in wall time, so
// that an answer does not depend on how many others share the machine. Values of different threads do not compare.
absl::Duration ThreadCpuTime();

}  // namespace samebits

#endif  // SAMEBITS_CORE_BASE_THREAD_TIME_H_
