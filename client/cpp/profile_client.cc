#include "client/cpp/profile_client.h"

#include <utility>

#include "client/cpp/channel.h"
#include "samebits/v1/arch_profile_service.grpc.pb.h"

namespace samebits::client {
namespace {

using Stub = v1::ArchProfileService::Stub;

class GrpcProfileClient : public ProfileClient {
 public:
  GrpcProfileClient(ClientOptions options, std::string token, const std::shared_ptr<grpc::Channel>& channel)
      : options_(std::move(options)), token_(std::move(token)), stub_(v1::ArchProfileService::NewStub(channel)) {}

  absl::StatusOr<v1::ArchProfile> Import(const std::string& text) override {
    v1::ImportArchProfileRequest request;
    request.set_text(text);
    return CallWithRetry(options_, token_, *stub_, &Stub::ImportArchProfile, request);
  }
  absl::StatusOr<v1::Operation> Reconstruct(const v1::ReconstructArchProfileRequest& request) override {
    return CallWithRetry(options_, token_, *stub_, &Stub::ReconstructArchProfile, request);
  }
  absl::StatusOr<v1::ArchProfile> Get(const std::string& name) override {
    return CallWithRetry(options_, token_, *stub_, &Stub::GetArchProfile, Named<v1::GetArchProfileRequest>(name));
  }
  absl::StatusOr<v1::ListArchProfilesResponse> List() override {
    return CallWithRetry(options_, token_, *stub_, &Stub::ListArchProfiles, v1::ListArchProfilesRequest());
  }
  absl::StatusOr<std::string> Export(const std::string& name) override {
    auto response =
        CallWithRetry(options_, token_, *stub_, &Stub::ExportArchProfile, Named<v1::ExportArchProfileRequest>(name));
    if (!response.ok()) return response.status();
    return std::move(*response->mutable_text());
  }
  absl::Status Delete(const std::string& name) override {
    return CallWithRetry(options_, token_, *stub_, &Stub::DeleteArchProfile, Named<v1::DeleteArchProfileRequest>(name)).status();
  }
  absl::StatusOr<v1::DescribeGemmResponse> DescribeGemm(const v1::DescribeGemmRequest& request) override {
    return CallWithRetry(options_, token_, *stub_, &Stub::DescribeGemm, request);
  }
  absl::StatusOr<v1::EmulateGemmResponse> EmulateGemm(const v1::EmulateGemmRequest& request) override {
    return CallWithRetry(options_, token_, *stub_, &Stub::EmulateGemm, request);
  }
  absl::StatusOr<v1::Operation> RecoverGemms(const v1::RecoverGemmsRequest& request) override {
    return CallWithRetry(options_, token_, *stub_, &Stub::RecoverGemms, request);
  }
  absl::StatusOr<v1::Operation> EmulateGemmOnWorker(const v1::EmulateGemmOnWorkerRequest& request) override {
    return CallWithRetry(options_, token_, *stub_, &Stub::EmulateGemmOnWorker, request);
  }
  absl::StatusOr<v1::ReportBatchInvarianceResponse> ReportBatchInvariance(
      const v1::ReportBatchInvarianceRequest& request) override {
    return CallWithRetry(options_, token_, *stub_, &Stub::ReportBatchInvariance, request);
  }
  absl::StatusOr<v1::CompareArchProfilesResponse> Compare(const v1::CompareArchProfilesRequest& request) override {
    return CallWithRetry(options_, token_, *stub_, &Stub::CompareArchProfiles, request);
  }

 private:
  const ClientOptions options_;
  const std::string token_;
  const std::unique_ptr<Stub> stub_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ProfileClient>> ProfileClient::Connect(const ClientOptions& options) {
  return ConnectAs<GrpcProfileClient>(options);
}

}  // namespace samebits::client
