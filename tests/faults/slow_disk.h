#ifndef SAMEBITS_TESTS_FAULTS_SLOW_DISK_H_
#define SAMEBITS_TESTS_FAULTS_SLOW_DISK_H_

namespace samebits::faults {

// From now on each fsync and fdatasync of this process takes `*seconds` longer, as it stands at that moment. Call once,
// before other threads start; `seconds` outlives them.
void SlowDown(const volatile double* seconds);

}  // namespace samebits::faults

#endif  // SAMEBITS_TESTS_FAULTS_SLOW_DISK_H_
