#ifndef SAMEBITS_SERVER_VERIFY_VERIFY_H_
#define SAMEBITS_SERVER_VERIFY_VERIFY_H_

// VerifyKernels as a job: from a request to tasks, and from their results to the operation's.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/dispatch/dispatcher.h"
#include "server/registry/registry.h"
#include "storage/fleet_store.h"

namespace samebits::v1 {
class Device;
class VerifyKernelsRequest;
}  // namespace samebits::v1

namespace samebits::server {

inline constexpr char kVerifyKind[] = "VerifyKernels";

struct VerifyLimits {
  int max_launches = 256, max_devices = 64, max_runs = 100;
  uint64_t max_buffer_bytes = 256ull << 20;   // of all buffers together
  uint64_t max_request_bytes = 64ull << 20;   // with the texts of kernels in place of their names
};

// What the device of a worker can be asked for by: "cuda", "cuda/sm_90", "rocm/gfx942", "workers/a/devices/0".
std::vector<std::string> TargetsOf(const std::string& worker, const v1::Device& device);

// The job that a request asks for, its request complete as workers need it. `workers`: those that registered. Blocks
// on the registry. A device is only asked where it runs the language of some launch: PTX on cuda, AMDGCN on rocm, both on a
// cpu. Errors: INVALID_FIELD, LIMIT_EXCEEDED, KERNEL_NOT_FOUND, PTX_SYNTAX, AMDGCN_SYNTAX, INVALID_LAUNCH, NO_DEVICE.
absl::StatusOr<Submission> MakeVerifySubmission(const v1::VerifyKernelsRequest& request,
                                                const std::vector<storage::WorkerRecord>& workers,
                                                const VerifyLimits& limits, Registry& registry);

// Joins the results of devices, computes the static verdicts and compares. The registry outlives it.
std::unique_ptr<JobFinisher> MakeVerifyFinisher(Registry& registry);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_VERIFY_VERIFY_H_
