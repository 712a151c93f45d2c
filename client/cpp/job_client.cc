#include "client/cpp/job_client.h"

#include <utility>

#include "client/cpp/channel.h"
#include "samebits/v1/fleet_service.grpc.pb.h"
#include "samebits/v1/kernel_service.grpc.pb.h"
#include "samebits/v1/numerics_service.grpc.pb.h"
#include "samebits/v1/operations.grpc.pb.h"

namespace samebits::client {
namespace {

bool HasEnded(const v1::Operation& operation) {
  return operation.state() == v1::Operation::SUCCEEDED || operation.state() == v1::Operation::FAILED ||
         operation.state() == v1::Operation::CANCELLED;
}

class GrpcJobClient : public JobClient {
 public:
  GrpcJobClient(ClientOptions options, std::string token, const std::shared_ptr<grpc::Channel>& channel)
      : options_(std::move(options)), token_(std::move(token)), kernels_(v1::KernelService::NewStub(channel)),
        operations_(v1::Operations::NewStub(channel)), numerics_(v1::NumericsService::NewStub(channel)),
        fleet_(v1::FleetService::NewStub(channel)) {}

  absl::StatusOr<v1::Operation> VerifyKernels(const v1::VerifyKernelsRequest& request) override {
    return CallWithRetry(options_, token_, *kernels_, &v1::KernelService::Stub::VerifyKernels, request);
  }
  absl::StatusOr<v1::Operation> SubmitNumerics(const v1::NumericsRequest& request) override;
  absl::StatusOr<v1::Operation> GetOperation(const std::string& name) override {
    return CallWithRetry(options_, token_, *operations_, &v1::Operations::Stub::GetOperation,
                         Named<v1::GetOperationRequest>(name));
  }
  absl::StatusOr<v1::ListOperationsResponse> ListOperations(bool open_only, const std::string& page_token) override {
    v1::ListOperationsRequest request;
    request.set_open_only(open_only);
    request.set_page_token(page_token);
    return CallWithRetry(options_, token_, *operations_, &v1::Operations::Stub::ListOperations, request);
  }
  absl::StatusOr<v1::Operation> CancelOperation(const std::string& name) override {
    return CallWithRetry(options_, token_, *operations_, &v1::Operations::Stub::CancelOperation,
                         Named<v1::CancelOperationRequest>(name));
  }
  absl::Status DeleteOperation(const std::string& name) override {
    return CallWithRetry(options_, token_, *operations_, &v1::Operations::Stub::DeleteOperation,
                         Named<v1::DeleteOperationRequest>(name))
        .status();
  }
  absl::StatusOr<v1::ListReproducersResponse> ListReproducers(const std::string& page_token) override {
    v1::ListReproducersRequest request;
    request.set_page_token(page_token);
    return CallWithRetry(options_, token_, *operations_, &v1::Operations::Stub::ListReproducers, request);
  }
  absl::StatusOr<v1::Reproducer> GetReproducer(const std::string& name) override {
    return CallWithRetry(options_, token_, *operations_, &v1::Operations::Stub::GetReproducer,
                         Named<v1::GetReproducerRequest>(name));
  }
  absl::Status DeleteReproducer(const std::string& name) override {
    return CallWithRetry(options_, token_, *operations_, &v1::Operations::Stub::DeleteReproducer,
                         Named<v1::DeleteReproducerRequest>(name))
        .status();
  }
  absl::StatusOr<v1::Operation> Watch(const std::string& name,
                                      const std::function<void(const v1::Operation&)>& on_state) override;

  absl::StatusOr<v1::ListWorkersResponse> ListWorkers() override {
    return CallWithRetry(options_, token_, *fleet_, &v1::FleetService::Stub::ListWorkers, v1::ListWorkersRequest());
  }
  absl::StatusOr<v1::Worker> GetWorker(const std::string& name) override {
    return CallWithRetry(options_, token_, *fleet_, &v1::FleetService::Stub::GetWorker, Named<v1::GetWorkerRequest>(name));
  }
  absl::StatusOr<v1::Worker> DrainWorker(const std::string& name, bool undo) override {
    v1::DrainWorkerRequest request = Named<v1::DrainWorkerRequest>(name);
    request.set_undo(undo);
    return CallWithRetry(options_, token_, *fleet_, &v1::FleetService::Stub::DrainWorker, request);
  }
  absl::StatusOr<v1::Enrolment> CreateEnrolment(const v1::CreateEnrolmentRequest& request) override {
    return CallWithRetry(options_, token_, *fleet_, &v1::FleetService::Stub::CreateEnrolment, request);
  }
  absl::Status RevokeWorker(const std::string& name) override {
    return CallWithRetry(options_, token_, *fleet_, &v1::FleetService::Stub::RevokeWorker,
                         Named<v1::RevokeWorkerRequest>(name))
        .status();
  }

 private:
  const ClientOptions options_;
  const std::string token_;
  const std::unique_ptr<v1::KernelService::Stub> kernels_;
  const std::unique_ptr<v1::Operations::Stub> operations_;
  const std::unique_ptr<v1::NumericsService::Stub> numerics_;
  const std::unique_ptr<v1::FleetService::Stub> fleet_;
};

absl::StatusOr<v1::Operation> GrpcJobClient::SubmitNumerics(const v1::NumericsRequest& request) {
  using Stub = v1::NumericsService::Stub;
  const auto call = [this](const auto& method, const auto& job) {
    return CallWithRetry(options_, token_, *numerics_, method, job);
  };
  switch (request.job_case()) {
    case v1::NumericsRequest::kEvaluate:
      return call(&Stub::EvaluateReproducibility, request.evaluate());
    case v1::NumericsRequest::kAttribute:
      return call(&Stub::AttributeErrors, request.attribute());
    case v1::NumericsRequest::kDecompose:
      return call(&Stub::DecomposeErrors, request.decompose());
    case v1::NumericsRequest::kSweep:
      return call(&Stub::SweepSignificand, request.sweep());
    case v1::NumericsRequest::kQkv:
      return call(&Stub::MeasureQkv, request.qkv());
    case v1::NumericsRequest::kPolicy:
      return call(&Stub::ChooseSkipPolicy, request.policy());
    case v1::NumericsRequest::kServeCost:
      return call(&Stub::MeasureServingCost, request.serve_cost());
    case v1::NumericsRequest::kInstructionMix:
      return call(&Stub::MeasureInstructionMix, request.instruction_mix());
    case v1::NumericsRequest::JOB_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("the request holds no job");
}

absl::StatusOr<v1::Operation> GrpcJobClient::Watch(const std::string& name,
                                                   const std::function<void(const v1::Operation&)>& on_state) {
  for (int attempt = 1;; ++attempt) {
    grpc::ClientContext context;
    AddToken(token_, &context);
    const auto stream = operations_->WatchOperation(&context, Named<v1::WatchOperationRequest>(name));
    v1::Operation operation;
    while (stream->Read(&operation)) {
      attempt = 1;
      if (on_state != nullptr) on_state(operation);
    }
    const absl::Status status = FromGrpcStatus(stream->Finish());
    if (status.ok() && HasEnded(operation)) return operation;
    if (status.ok()) return absl::InternalError("the server ended the stream before the operation");
    if (attempt >= options_.retry.max_attempts || !IsRetryable(status)) return status;
    absl::SleepFor(Backoff(options_.retry, attempt));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobClient>> JobClient::Connect(const ClientOptions& options) {
  return ConnectAs<GrpcJobClient>(options);
}

}  // namespace samebits::client
