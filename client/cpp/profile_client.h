#ifndef SAMEBITS_CLIENT_CPP_PROFILE_CLIENT_H_
#define SAMEBITS_CLIENT_CPP_PROFILE_CLIENT_H_

// C++ client of arch profiles: samebits.v1.ArchProfileService.

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/client.h"
#include "samebits/v1/arch_profile_service.pb.h"

namespace samebits::client {

// Thread-safe. Calls block; errors as Client's. Every call may be repeated without harm, as the retry policy says.
class ProfileClient {
 public:
  static absl::StatusOr<std::unique_ptr<ProfileClient>> Connect(const ClientOptions& options);
  virtual ~ProfileClient() = default;

  virtual absl::StatusOr<v1::ArchProfile> Import(const std::string& text) = 0;
  // Give a request_id, so that a repeated call makes no second job; JobClient::Watch follows it.
  virtual absl::StatusOr<v1::Operation> Reconstruct(const v1::ReconstructArchProfileRequest& request) = 0;
  virtual absl::StatusOr<v1::ArchProfile> Get(const std::string& name) = 0;
  virtual absl::StatusOr<v1::ListArchProfilesResponse> List() = 0;
  virtual absl::StatusOr<std::string> Export(const std::string& name) = 0;
  virtual absl::Status Delete(const std::string& name) = 0;
  virtual absl::StatusOr<v1::DescribeGemmResponse> DescribeGemm(const v1::DescribeGemmRequest& request) = 0;
  virtual absl::StatusOr<v1::EmulateGemmResponse> EmulateGemm(const v1::EmulateGemmRequest& request) = 0;
  // Jobs of workers, as Reconstruct.
  virtual absl::StatusOr<v1::Operation> RecoverGemms(const v1::RecoverGemmsRequest& request) = 0;
  virtual absl::StatusOr<v1::Operation> EmulateGemmOnWorker(const v1::EmulateGemmOnWorkerRequest& request) = 0;
  virtual absl::StatusOr<v1::ReportBatchInvarianceResponse> ReportBatchInvariance(
      const v1::ReportBatchInvarianceRequest& request) = 0;
  virtual absl::StatusOr<v1::CompareArchProfilesResponse> Compare(const v1::CompareArchProfilesRequest& request) = 0;
};

}  // namespace samebits::client

#endif  // SAMEBITS_CLIENT_CPP_PROFILE_CLIENT_H_
