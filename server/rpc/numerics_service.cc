#include <sstream>
#include <string>

#include "core/heal/instruction_mix/disassembly.h"
#include "proto/convert/numerics/instruction_mix.h"
#include "samebits/v1/numerics_service.grpc.pb.h"
#include "server/numerics/numerics.h"
#include "server/registry/errors.h"
#include "server/rpc/job_services.h"
#include "server/rpc/operation_messages.h"
#include "server/rpc/reply_reactor.h"
#include "server/rpc/submit_job.h"

namespace samebits::server {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using v1::NumericsRequest;
using v1::Operation;

class NumericsService : public v1::NumericsService::CallbackService {
 public:
  explicit NumericsService(const JobRpc& rpc) : rpc_(rpc) {}

  ServerUnaryReactor* EvaluateReproducibility(CallbackServerContext* context,
                                              const v1::EvaluateReproducibilityRequest* request,
                                              Operation* response) override {
    return Submit(Method::kEvaluateReproducibility, context, *request, &NumericsRequest::mutable_evaluate, response);
  }
  ServerUnaryReactor* AttributeErrors(CallbackServerContext* context, const v1::AttributeErrorsRequest* request,
                                      Operation* response) override {
    return Submit(Method::kAttributeErrors, context, *request, &NumericsRequest::mutable_attribute, response);
  }
  ServerUnaryReactor* DecomposeErrors(CallbackServerContext* context, const v1::DecomposeErrorsRequest* request,
                                      Operation* response) override {
    return Submit(Method::kDecomposeErrors, context, *request, &NumericsRequest::mutable_decompose, response);
  }
  ServerUnaryReactor* SweepSignificand(CallbackServerContext* context, const v1::SweepSignificandRequest* request,
                                       Operation* response) override {
    return Submit(Method::kSweepSignificand, context, *request, &NumericsRequest::mutable_sweep, response);
  }
  ServerUnaryReactor* MeasureQkv(CallbackServerContext* context, const v1::MeasureQkvRequest* request,
                                 Operation* response) override {
    return Submit(Method::kMeasureQkv, context, *request, &NumericsRequest::mutable_qkv, response);
  }
  ServerUnaryReactor* ChooseSkipPolicy(CallbackServerContext* context, const v1::ChooseSkipPolicyRequest* request,
                                       Operation* response) override {
    return Submit(Method::kChooseSkipPolicy, context, *request, &NumericsRequest::mutable_policy, response);
  }
  ServerUnaryReactor* MeasureServingCost(CallbackServerContext* context, const v1::MeasureServingCostRequest* request,
                                         Operation* response) override {
    return Submit(Method::kMeasureServingCost, context, *request, &NumericsRequest::mutable_serve_cost, response);
  }
  ServerUnaryReactor* MeasureInstructionMix(CallbackServerContext* context,
                                            const v1::MeasureInstructionMixRequest* request, Operation* response) override {
    return Submit(Method::kMeasureInstructionMix, context, *request, &NumericsRequest::mutable_instruction_mix, response);
  }
  ServerUnaryReactor* CountInstructions(CallbackServerContext* context, const v1::CountInstructionsRequest* request,
                                        v1::CountInstructionsResponse* response) override {
    return RunOnPool(rpc_, Method::kCountInstructions, context, [request, response](const Identity&) -> absl::Status {
      std::istringstream text(request->text());
      heal::MixFilter filter;
      filter.target = request->target();
      const absl::StatusOr<heal::DisassemblyMixes> mixes = heal::ReadDisassembly(text, "", filter);
      if (absl::IsInvalidArgument(mixes.status())) return InvalidField("text", std::string(mixes.status().message()));
      if (!mixes.ok()) return mixes.status();
      for (const heal::KernelMix& kernel : mixes->kernels) proto::ToMessage(kernel, response->add_kernels());
      return absl::OkStatus();
    });
  }

 private:
  template <typename Request>
  ServerUnaryReactor* Submit(Method method, CallbackServerContext* context, const Request& request,
                             Request* (NumericsRequest::*place)(), Operation* response) {
    return SubmitJob(rpc_, method, context, [&request, place](const std::vector<storage::WorkerRecord>& workers) {
      NumericsRequest job;
      *(job.*place)() = request;
      return MakeNumericsSubmission(job, workers);
    }, response);
  }

  const JobRpc rpc_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeNumericsService(const JobRpc& rpc) { return std::make_unique<NumericsService>(rpc); }

}  // namespace samebits::server
