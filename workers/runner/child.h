#ifndef SAMEBITS_WORKERS_RUNNER_CHILD_H_
#define SAMEBITS_WORKERS_RUNNER_CHILD_H_

// Submitted kernels run in a child process, which may crash, hang or use up its memory without harm to the worker.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "workers/executor/cuda/assembler.h"
#include "workers/executor/executor.h"

namespace samebits::v1 {
class VerifyKernelsRequest;
}
namespace samebits::worker::v1 {
class VerifyTaskResult;
}

namespace samebits::workers {

// How a child gets its device: "cpu:SM", "cuda:ORDINAL" or "rocm:ORDINAL". Verification adds "/UUID" where the device
// has one.
struct DeviceHandle {
  DeviceInfo info;
  std::string argument;
  std::string assembler;  // path of the ptxas that assembles texts in place of the driver, or of the clang for AMDGCN; empty: none
};

struct ChildLimits {
  std::string program;                              // that calls ChildMain; empty: this one
  absl::Duration launch_timeout = absl::Seconds(60);  // wall time of one launch on all inputs
  uint64_t memory_bytes = 4ull << 30;               // address space of a child on the CPU, and of an assembler
};

// Runs all launches of the request, in as many processes as it takes: a launch that ends its process, or is over a
// limit, gets an error as outcome (INTERNAL, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED). `on_progress(done, total)` on the
// calling thread. CANCELLED soon after `cancelled` is set. UNAVAILABLE where no process can be started or the device
// cannot be opened.
absl::StatusOr<worker::v1::VerifyTaskResult> RunInChildren(const DeviceHandle& device,
                                                           const samebits::v1::VerifyKernelsRequest& request,
                                                           const ChildLimits& limits, absl::Time deadline,
                                                           const std::atomic<bool>& cancelled,
                                                           const std::function<void(uint64_t, uint64_t)>& on_progress);

// The first argument by which a program knows that it is a child.
inline constexpr char kChildCommand[] = "run-task";

// The child: device, number of the first launch, memory limit and, if any, assembler as arguments, the request on standard input, frames on
// standard output. Returns the exit code.
int ChildMain(int argc, char** argv);

// The same with another way to open a device from the argument that names it.
using OpenExecutor =
    std::function<absl::StatusOr<std::unique_ptr<Executor>>(const std::string& device, const AssemblerOptions& assembler)>;
int ChildMain(int argc, char** argv, const OpenExecutor& open);

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_RUNNER_CHILD_H_
