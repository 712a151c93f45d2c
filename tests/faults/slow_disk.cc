#include "tests/faults/slow_disk.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace {

const volatile double* delay = nullptr;

long AfterTheDelay(long call, int fd) {
  if (const double seconds = delay == nullptr ? 0 : *delay; seconds > 0)
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return syscall(call, fd);
}

}  // namespace

// In place of the C library's, for this program and the libraries that it is linked with.
extern "C" int fsync(int fd) { return static_cast<int>(AfterTheDelay(SYS_fsync, fd)); }
extern "C" int fdatasync(int fd) { return static_cast<int>(AfterTheDelay(SYS_fdatasync, fd)); }

namespace samebits::faults {

void SlowDown(const volatile double* seconds) { delay = seconds; }

}  // namespace samebits::faults
