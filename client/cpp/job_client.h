#ifndef SAMEBITS_CLIENT_CPP_JOB_CLIENT_H_
#define SAMEBITS_CLIENT_CPP_JOB_CLIENT_H_

// C++ client of jobs and workers: VerifyKernels, samebits.v1.NumericsService, samebits.v1.Operations, samebits.v1.FleetService.

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/client.h"
#include "samebits/v1/fleet_service.pb.h"
#include "samebits/v1/numerics.pb.h"
#include "samebits/v1/operations.pb.h"
#include "samebits/v1/verification.pb.h"

namespace samebits::client {

// Thread-safe. Calls block; errors as Client's. Calls are repeated as the retry policy says; give VerifyKernels and
// jobs of numerics a request_id, so that a repeated call makes no second job.
class JobClient {
 public:
  static absl::StatusOr<std::unique_ptr<JobClient>> Connect(const ClientOptions& options);
  virtual ~JobClient() = default;

  virtual absl::StatusOr<v1::Operation> VerifyKernels(const v1::VerifyKernelsRequest& request) = 0;
  // The method of the service of numerics that takes the job that the request holds.
  virtual absl::StatusOr<v1::Operation> SubmitNumerics(const v1::NumericsRequest& request) = 0;
  virtual absl::StatusOr<v1::Operation> GetOperation(const std::string& name) = 0;
  // One page; pass the response's next_page_token on to get the next.
  virtual absl::StatusOr<v1::ListOperationsResponse> ListOperations(bool open_only, const std::string& page_token) = 0;
  virtual absl::StatusOr<v1::Operation> CancelOperation(const std::string& name) = 0;
  virtual absl::Status DeleteOperation(const std::string& name) = 0;
  virtual absl::StatusOr<v1::ListReproducersResponse> ListReproducers(const std::string& page_token) = 0;
  virtual absl::StatusOr<v1::Reproducer> GetReproducer(const std::string& name) = 0;
  virtual absl::Status DeleteReproducer(const std::string& name) = 0;
  // Waits for the end, however long it takes, and calls `on_state` (may be null) with each state on the way; follows
  // the operation across restarts of the server as long as the retry policy lets it.
  virtual absl::StatusOr<v1::Operation> Watch(const std::string& name,
                                              const std::function<void(const v1::Operation&)>& on_state) = 0;

  virtual absl::StatusOr<v1::ListWorkersResponse> ListWorkers() = 0;
  virtual absl::StatusOr<v1::Worker> GetWorker(const std::string& name) = 0;
  virtual absl::StatusOr<v1::Worker> DrainWorker(const std::string& name, bool undo) = 0;
  virtual absl::StatusOr<v1::Enrolment> CreateEnrolment(const v1::CreateEnrolmentRequest& request) = 0;
  virtual absl::Status RevokeWorker(const std::string& name) = 0;
};

}  // namespace samebits::client

#endif  // SAMEBITS_CLIENT_CPP_JOB_CLIENT_H_
