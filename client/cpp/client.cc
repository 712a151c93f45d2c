#include "client/cpp/client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "client/cpp/channel.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "samebits/v1/kernel_service.grpc.pb.h"

namespace samebits::client {
namespace {

using std::chrono::system_clock;

system_clock::time_point Deadline(absl::Time time) { return absl::ToChronoTime(time); }

class GrpcClient : public Client {
 public:
  GrpcClient(ClientOptions options, std::string token, std::shared_ptr<grpc::Channel> channel)
      : options_(std::move(options)), token_(std::move(token)), channel_(std::move(channel)),
        stub_(v1::KernelService::NewStub(channel_)) {}

  absl::StatusOr<v1::Kernel> RegisterKernel(std::string_view text) override {
    v1::RegisterKernelRequest request;
    request.set_text(text.data(), text.size());
    return Call<v1::Kernel>(&v1::KernelService::Stub::RegisterKernel, request);
  }
  absl::StatusOr<v1::Kernel> GetKernel(const std::string& name, bool with_text) override {
    v1::GetKernelRequest request;
    request.set_name(name);
    request.set_view(with_text ? v1::KERNEL_VIEW_FULL : v1::KERNEL_VIEW_BASIC);
    return Call<v1::Kernel>(&v1::KernelService::Stub::GetKernel, request);
  }
  absl::StatusOr<v1::ListKernelsResponse> ListKernels(int page_size, const std::string& page_token) override {
    v1::ListKernelsRequest request;
    request.set_page_size(page_size);
    request.set_page_token(page_token);
    return Call<v1::ListKernelsResponse>(&v1::KernelService::Stub::ListKernels, request);
  }
  absl::Status DeleteKernel(const std::string& name) override {
    v1::DeleteKernelRequest request;
    request.set_name(name);
    return Call<google::protobuf::Empty>(&v1::KernelService::Stub::DeleteKernel, request).status();
  }
  absl::StatusOr<v1::KernelSignature> ComputeSignature(const v1::ComputeKernelSignatureRequest& request) override {
    return Call<v1::KernelSignature>(&v1::KernelService::Stub::ComputeKernelSignature, request);
  }
  absl::StatusOr<v1::Comparison> Compare(const v1::CompareKernelsRequest& request) override {
    auto response = Call<v1::CompareKernelsResponse>(&v1::KernelService::Stub::CompareKernels, request);
    if (!response.ok()) return response.status();
    return std::move(*response->mutable_comparison());
  }
  absl::StatusOr<v1::Comparison> Explain(const v1::ExplainDifferenceRequest& request) override {
    auto response = Call<v1::ExplainDifferenceResponse>(&v1::KernelService::Stub::ExplainDifference, request);
    if (!response.ok()) return response.status();
    return std::move(*response->mutable_comparison());
  }
  absl::StatusOr<v1::Partition> Partition(const v1::PartitionConfig& config, const ItemSource& next,
                                          const ItemSink& on_result) override;
  absl::Status CheckHealth() override;

 private:
  using Stream = grpc::ClientReaderWriter<v1::PartitionKernelsRequest, v1::PartitionKernelsResponse>;

  template <typename Response, typename Request>
  absl::StatusOr<Response> Call(grpc::Status (v1::KernelService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                                Response*),
                                const Request& request) {
    return CallWithRetry(options_, token_, *stub_, method, request);
  }

  const ClientOptions options_;
  const std::string token_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::KernelService::Stub> stub_;
};

absl::StatusOr<v1::Partition> GrpcClient::Partition(const v1::PartitionConfig& config, const ItemSource& next,
                                                    const ItemSink& on_result) {
  grpc::ClientContext context;
  AddToken(token_, &context);
  const std::unique_ptr<Stream> stream = stub_->PartitionKernels(&context);
  v1::Partition partition;
  bool complete = false, cancelled = false;
  std::thread reader([&] {
    v1::PartitionKernelsResponse response;
    while (stream->Read(&response)) {
      if (response.has_partition()) {
        partition.Swap(response.mutable_partition());
        complete = true;
      } else if (response.has_item() && on_result != nullptr && !cancelled && !on_result(response.item())) {
        cancelled = true;
        context.TryCancel();
      }
    }
  });
  v1::PartitionKernelsRequest request;
  *request.mutable_config() = config;
  bool open = stream->Write(request);
  while (open) {
    request.mutable_item()->Clear();
    if (!next(request.mutable_item())) break;
    open = stream->Write(request);
  }
  stream->WritesDone();
  reader.join();
  const absl::Status status = FromGrpcStatus(stream->Finish());
  if (cancelled) return absl::CancelledError("cancelled by the caller");
  if (!status.ok()) return status;
  if (!complete) return absl::InternalError("the server ended the stream without a partition");
  return partition;
}

absl::Status GrpcClient::CheckHealth() {
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(v1::KernelService::service_full_name());
  grpc::health::v1::HealthCheckResponse response;
  grpc::ClientContext context;
  context.set_deadline(Deadline(absl::Now() + options_.call_timeout));
  const absl::Status status =
      FromGrpcStatus(grpc::health::v1::Health::NewStub(channel_)->Check(&context, request, &response));
  if (!status.ok()) return status;
  using Response = grpc::health::v1::HealthCheckResponse;
  if (response.status() == Response::SERVING) return absl::OkStatus();
  return absl::UnavailableError("the server answers, but is not serving: it starts or stops");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const ClientOptions& options) {
  return ConnectAs<GrpcClient>(options);
}

}  // namespace samebits::client
