#ifndef SAMEBITS_SERVER_STATUS_STATUS_PAGE_H_
#define SAMEBITS_SERVER_STATUS_STATUS_PAGE_H_

// The page for people at the metrics port: fleet, queue, verdicts, profiles, alarms. HTML and CSS in one answer, no script.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace samebits::server {

struct StatusData {
  struct Device {
    uint32_t index = 0;
    std::string name, backend, architecture;
    std::string libraries, assembler;  // "driver 580.159.04, cublaslt 13.1.0"; "ptxas V12.8.93"; empty: not told
  };
  struct Worker {
    std::string id;
    bool online = false, draining = false, runs_submitted_kernels = false;
    absl::Duration silent;  // since it was last heard of
    std::vector<Device> devices;
  };
  struct Job {
    std::string id, kind, state, principal, error;  // state as in the API: "QUEUED", ...
    int32_t priority = 0;
    absl::Duration age;
  };
  struct Profile {
    std::string id, device, library;  // library: with its version
    int64_t shapes = 0, explained = 0;
    absl::Time time;
  };
  struct Reproducer {
    std::string id, job;
    absl::Time time;
  };
  using Counts = std::vector<std::pair<std::string, uint64_t>>;  // by label

  std::string address;  // of the gRPC endpoint
  int signature_version = 0;
  absl::Time now;
  absl::Duration uptime;
  std::vector<Worker> workers;  // online ones first; at most as many as are shown
  uint64_t workers_online = 0, workers_offline = 0, workers_draining = 0;
  uint64_t open_jobs = 0, finished_jobs = 0, queued_tasks = 0, leased_tasks = 0;
  absl::Duration oldest_queued;  // zero: nothing waits
  std::vector<Job> jobs;         // the latest first
  uint64_t kernels = 0, signatures = 0, file_bytes = 0;
  // Since the start of the server.
  Counts verdicts, checks, unknown_reasons, verifications;
  uint64_t store_errors = 0, contradictions = 0;
  std::vector<Profile> profiles;  // the latest first; at most as many as are shown
  uint64_t profiles_stored = 0;
  uint64_t reproducers = 0;
  std::vector<Reproducer> latest_reproducers;
};

// Pure. All texts are escaped.
std::string RenderStatusPage(const StatusData& data);

// "3 d", "5 h", "12 min", "7 s", "now".
std::string ShortDuration(absl::Duration duration);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_STATUS_STATUS_PAGE_H_
