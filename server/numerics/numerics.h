#ifndef SAMEBITS_SERVER_NUMERICS_NUMERICS_H_
#define SAMEBITS_SERVER_NUMERICS_NUMERICS_H_

// Jobs of numerics: from a request to a task, and from its result to the operation's.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/dispatch/dispatcher.h"
#include "storage/fleet_store.h"

namespace samebits::v1 {
class Device;
class NumericsRequest;
}  // namespace samebits::v1
namespace samebits::worker::v1 {
class CreateWorkerSessionRequest;
}

namespace samebits::server {

// The kinds of such jobs, which are the names of the service's methods.
std::vector<std::string> NumericsKinds();
bool IsNumericsKind(std::string_view kind);

// The name of a model: letters, digits, '-', '_' and '.', at most 64.
bool IsModelName(std::string_view name);

// What the device of a worker can be asked for by: "MODEL@" before each of the device's targets (server/verify), for
// "synthetic" and each model of the worker; "instruction-mix:SOURCE@" before each of them and before "any", for what the
// worker counts instructions of. None where it does not run numerics.
std::vector<std::string> NumericsTargetsOf(const worker::v1::CreateWorkerSessionRequest& worker, const v1::Device& device);

// The job that a request asks for. `workers`: those that registered. Errors: INVALID_FIELD, NO_DEVICE. What depends on
// a model that only a worker has is checked there.
absl::StatusOr<Submission> MakeNumericsSubmission(const v1::NumericsRequest& request,
                                                  const std::vector<storage::WorkerRecord>& workers);

std::unique_ptr<JobFinisher> MakeNumericsFinisher();

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_NUMERICS_NUMERICS_H_
