#ifndef SAMEBITS_SERVER_RECONSTRUCTION_RECONSTRUCTION_H_
#define SAMEBITS_SERVER_RECONSTRUCTION_RECONSTRUCTION_H_

// Jobs that study a library of matrix products: from a request to a task, and from its result to a stored profile.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/gemm/profile.h"
#include "server/dispatch/dispatcher.h"
#include "storage/fleet_store.h"
#include "storage/profile_store.h"

namespace samebits::v1 {
class ArchProfile;
class Device;
class ReconstructArchProfileRequest;
}  // namespace samebits::v1
namespace samebits::worker::v1 {
class CreateWorkerSessionRequest;
}

namespace samebits::server {

inline constexpr char kReconstructKind[] = "ReconstructArchProfile";
inline constexpr size_t kMostProfileBytes = 32 << 20;

// What the device of a worker can be asked for by: "LIBRARY@" before each of the device's targets (server/verify), for the
// libraries that the worker has for its backend.
std::vector<std::string> ReconstructionTargetsOf(const worker::v1::CreateWorkerSessionRequest& worker,
                                                 const v1::Device& device);

// Where a job that needs the library goes; `device` as in requests. NO_DEVICE where nobody offers it.
absl::StatusOr<std::string> ChooseLibraryTarget(const std::string& library, const std::string& device,
                                                const std::vector<storage::WorkerRecord>& workers);

// Parses and stores a profile. INVALID_ARGUMENT where the text is none; errors of the store.
absl::StatusOr<v1::ArchProfile> StoreProfile(storage::ProfileStore& store, const std::string& text);

// A stored profile as the API shows it. DATA_LOSS where the record is damaged.
absl::Status ToMessage(const storage::ProfileRecord& record, v1::ArchProfile* out);

// The job that a request asks for, with the rules of the profile that it names. `workers`: those that registered. Errors:
// INVALID_FIELD, NO_DEVICE, NOT_FOUND for that profile.
absl::StatusOr<Submission> MakeReconstructionSubmission(const v1::ReconstructArchProfileRequest& request,
                                                        const std::vector<storage::WorkerRecord>& workers,
                                                        storage::ProfileStore& profiles);

// Stores the profile; the job's result is its v1.ArchProfile. The store outlives it.
std::unique_ptr<JobFinisher> MakeReconstructionFinisher(storage::ProfileStore& profiles);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_RECONSTRUCTION_RECONSTRUCTION_H_
