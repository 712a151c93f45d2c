#ifndef SAMEBITS_SERVER_RECONSTRUCTION_GEMM_JOBS_H_
#define SAMEBITS_SERVER_RECONSTRUCTION_GEMM_JOBS_H_

// Jobs about single products: descriptors of a library's products by probes, and products that a descriptor gives.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/dispatch/dispatcher.h"
#include "storage/fleet_store.h"

namespace samebits::v1 {
class Device;
class EmulateGemmOnWorkerRequest;
class RecoverGemmsRequest;
}  // namespace samebits::v1
namespace samebits::worker::v1 {
class CreateWorkerSessionRequest;
}

namespace samebits::server {

inline constexpr char kRecoverGemmsKind[] = "RecoverGemms", kEmulateGemmKind[] = "EmulateGemmOnWorker";

// What the device of a worker can be asked for by as an emulator: "emulate:gemm@" before each of its targets
// (server/verify), for CPUs of workers that emulate. For libraries: ReconstructionTargetsOf.
std::vector<std::string> EmulationTargetsOf(const worker::v1::CreateWorkerSessionRequest& worker, const v1::Device& device);

// The job that a request asks for. `workers`: those that registered. Errors: INVALID_FIELD, LIMIT_EXCEEDED, NO_DEVICE;
// UNIMPLEMENTED where a descriptor's arithmetic on the architecture is not established.
absl::StatusOr<Submission> MakeRecoverGemmsSubmission(const v1::RecoverGemmsRequest& request,
                                                      const std::vector<storage::WorkerRecord>& workers);
absl::StatusOr<Submission> MakeEmulateGemmSubmission(const v1::EmulateGemmOnWorkerRequest& request,
                                                     const std::vector<storage::WorkerRecord>& workers);

// Whether these are bytes of such a job's response.
bool IsRecoverGemmsResult(const std::string& bytes);
bool IsEmulateGemmResult(const std::string& bytes);

std::unique_ptr<JobFinisher> MakeRecoverGemmsFinisher();
std::unique_ptr<JobFinisher> MakeEmulateGemmFinisher();

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_RECONSTRUCTION_GEMM_JOBS_H_
