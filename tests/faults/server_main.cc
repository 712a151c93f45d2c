// A server whose clock and disk the harness disturbs: faults_server ADDRESS DATABASE LEASE_SECONDS CONTROL. CONTROL is a
// file of two doubles in this machine's format: seconds that its clock is ahead, seconds that each synchronisation of
// the database takes longer. Prints a line once it answers; runs until SIGTERM.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "server/server.h"
#include "tests/faults/slow_disk.h"

namespace {

struct Control {
  double clock_seconds, sync_seconds;
};

const volatile Control* Map(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  void* mapped = fd < 0 ? MAP_FAILED : mmap(nullptr, sizeof(Control), PROT_READ, MAP_SHARED, fd, 0);
  if (fd >= 0) close(fd);
  return mapped == MAP_FAILED ? nullptr : static_cast<const volatile Control*>(mapped);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const volatile Control* control = Map(argv[4]);
  if (control == nullptr) return 2;
  samebits::faults::SlowDown(&control->sync_seconds);
  samebits::server::ServerConfig config;
  config.listen = argv[1];
  config.metrics_listen.clear();
  config.database = argv[2];
  config.drain_timeout = absl::Seconds(5);
  config.dispatch.lease_duration = config.dispatch.offline_after = absl::Seconds(std::atof(argv[3]));
  config.dispatch.clock = [control] { return absl::Now() + absl::Seconds(control->clock_seconds); };
  const absl::Status status = samebits::server::RunUntilSignal(
      config,
      [](const samebits::server::Server&, void*) {
        std::puts("ready");
        std::fflush(stdout);
      },
      nullptr);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
