#ifndef SAMEBITS_WORKERS_AGENT_AGENT_H_
#define SAMEBITS_WORKERS_AGENT_AGENT_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "workers/heal/numerics_task.h"
#include "workers/profile/profile_task.h"
#include "workers/runner/child.h"

namespace grpc {
class Channel;
}

namespace samebits::workers {

struct AgentConfig {
  std::string worker;                     // its id
  std::string version;
  std::vector<DeviceHandle> devices;      // one task at a time each
  bool runs_submitted_kernels = false;
  std::string token;                      // sent with each call; empty: none
  ChildLimits limits;
  bool runs_numerics = false;
  std::map<std::string, std::string> models;  // path by the name that requests give: a folder, or a GGUF file
  std::vector<std::string> instruction_sources;  // what instructions can be counted of (workers/heal/mix_task.h)
  NumericsLimits numerics_limits;
  std::map<std::string, std::vector<std::string>> gemm_libraries;  // that may be studied, by backend
  UnitTaskLimits profile_limits;  // the program calls ProfileChildMain and GemmChildMain
  bool emulates_gemms = false;    // on its CPUs
  int cpu_threads = 1;            // of one emulation
  absl::Duration retry_interval = absl::Seconds(1);  // between attempts to reach the server
};

// Keeps a session with the server and runs what it leases, one thread a device. Results that could not be delivered
// are kept and delivered when the server answers again.
class Agent {
 public:
  virtual ~Agent() = default;
  // Until Stop. An error that no retry mends: another worker uses the id (ABORTED), the server refuses it.
  virtual absl::Status Run() = 0;
  // Stops tasks, reports them as UNAVAILABLE, so that another worker takes them at once, and ends Run. Thread-safe.
  virtual void Stop() = 0;
};

std::unique_ptr<Agent> MakeAgent(AgentConfig config, std::shared_ptr<grpc::Channel> channel);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_AGENT_AGENT_H_
