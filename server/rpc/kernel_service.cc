#include "server/rpc/kernel_service.h"

#include <utility>

#include "server/rpc/arena_allocator.h"
#include "server/rpc/call_scope.h"
#include "server/rpc/messages.h"
#include "server/rpc/operation_messages.h"
#include "server/rpc/partition_reactor.h"
#include "server/rpc/reply_reactor.h"
#include "server/rpc/submit_job.h"

namespace samebits::server {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

class KernelServiceImpl : public v1::KernelService::CallbackService {
 public:
  KernelServiceImpl(Registry& registry, const JobRpc& jobs) : registry_(registry), jobs_(jobs) {
    SetMessageAllocatorFor_CompareKernels(&compare_allocator_);
  }

  ServerUnaryReactor* RegisterKernel(CallbackServerContext* context, const v1::RegisterKernelRequest* request,
                                     v1::Kernel* response) override {
    auto* reactor = new ReplyReactor(Scope(Method::kRegisterKernel, context));
    if (reactor->Refused()) return reactor;
    registry_.Register(request->text(), [reactor, response](const absl::StatusOr<Kernel>& kernel) {
      if (kernel.ok()) {
        ToMessage(*kernel, response);
        reactor->set_resource(response->name());
      }
      reactor->Reply(kernel.status());
    });
    return reactor;
  }

  ServerUnaryReactor* GetKernel(CallbackServerContext* context, const v1::GetKernelRequest* request,
                                v1::Kernel* response) override {
    auto* reactor = new ReplyReactor(Scope(Method::kGetKernel, context));
    if (reactor->Refused()) return reactor;
    registry_.GetKernel(request->name(), request->view() == v1::KERNEL_VIEW_FULL, Into<Kernel>(reactor, response));
    return reactor;
  }

  ServerUnaryReactor* ListKernels(CallbackServerContext* context, const v1::ListKernelsRequest* request,
                                  v1::ListKernelsResponse* response) override {
    auto* reactor = new ReplyReactor(Scope(Method::kListKernels, context));
    if (reactor->Refused()) return reactor;
    registry_.ListKernels(request->page_size(), request->page_token(), Into<KernelList>(reactor, response));
    return reactor;
  }

  ServerUnaryReactor* DeleteKernel(CallbackServerContext* context, const v1::DeleteKernelRequest* request,
                                   google::protobuf::Empty*) override {
    auto* reactor = new ReplyReactor(Scope(Method::kDeleteKernel, context));
    reactor->set_resource(request->name());
    if (reactor->Refused()) return reactor;
    registry_.DeleteKernel(request->name(), [reactor](const absl::StatusOr<absl::monostate>& answer) {
      reactor->Reply(answer.status());
    });
    return reactor;
  }

  ServerUnaryReactor* ComputeKernelSignature(CallbackServerContext* context,
                                             const v1::ComputeKernelSignatureRequest* request,
                                             v1::KernelSignature* response) override {
    auto* reactor = new ReplyReactor(Scope(Method::kComputeKernelSignature, context));
    if (reactor->Refused()) return reactor;
    const absl::StatusOr<KernelLaunch> kernel = FromMessage(request->kernel(), "kernel");
    if (!kernel.ok()) {
      reactor->Reply(kernel.status());
    } else {
      reactor->Watch(registry_.ComputeSignature(*kernel, FromMessage(request->options()), TaskPool::Admission::kQueue,
                                                IntoVersioned<SignatureAnswer>(reactor, response)));
    }
    return reactor;
  }

  ServerUnaryReactor* CompareKernels(CallbackServerContext* context, const v1::CompareKernelsRequest* request,
                                     v1::CompareKernelsResponse* response) override;

  ServerUnaryReactor* ExplainDifference(CallbackServerContext* context, const v1::ExplainDifferenceRequest* request,
                                        v1::ExplainDifferenceResponse* response) override {
    auto* reactor = new ReplyReactor(Scope(Method::kExplainDifference, context));
    if (reactor->Refused()) return reactor;
    const absl::StatusOr<KernelLaunch> a = FromMessage(request->a(), "a"), b = FromMessage(request->b(), "b");
    if (!a.ok() || !b.ok()) {
      reactor->Reply(a.ok() ? b.status() : a.status());
    } else {
      reactor->Watch(registry_.Explain(*a, *b, FromMessage(request->options()),
                                       IntoVersioned<ComparisonAnswer>(reactor, response->mutable_comparison())));
    }
    return reactor;
  }

  ServerUnaryReactor* VerifyKernels(CallbackServerContext* context, const v1::VerifyKernelsRequest* request,
                                    v1::Operation* response) override {
    return SubmitJob(jobs_, Method::kVerifyKernels, context, [this, request](const std::vector<storage::WorkerRecord>& workers) {
      return MakeVerifySubmission(*request, workers, jobs_.verify_limits, registry_);
    }, response);
  }

  grpc::ServerBidiReactor<v1::PartitionKernelsRequest, v1::PartitionKernelsResponse>* PartitionKernels(
      CallbackServerContext* context) override {
    return StartPartition(registry_, Scope(Method::kPartitionKernels, context));
  }

 private:
  CallScope Scope(Method method, CallbackServerContext* context) {
    return CallScope(method, context, jobs_);
  }

  // Receivers of the registry's answers.
  template <typename T, typename Message>
  static Done<T> Into(ReplyReactor* reactor, Message* message) {
    return [reactor, message](const absl::StatusOr<T>& answer) {
      if (answer.ok()) ToMessage(*answer, message);
      reactor->Reply(answer.status());
    };
  }
  template <typename T, typename Message>
  Done<T> IntoVersioned(ReplyReactor* reactor, Message* message) {
    return [this, reactor, message](const absl::StatusOr<T>& answer) {
      if (answer.ok()) ToMessage(*answer, registry_.checker().SignatureVersion(), message);
      reactor->Reply(answer.status());
    };
  }

  Registry& registry_;
  const JobRpc jobs_;
  ArenaAllocator<v1::CompareKernelsRequest, v1::CompareKernelsResponse> compare_allocator_;
};

// Answers from memory on gRPC's own thread, without a reactor of its own; else as the others.
ServerUnaryReactor* KernelServiceImpl::CompareKernels(CallbackServerContext* context,
                                                      const v1::CompareKernelsRequest* request,
                                                      v1::CompareKernelsResponse* response) {
  CallScope scope = Scope(Method::kCompareKernels, context);
  const auto finish = [&](const absl::Status& status) {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(scope.End(status, /*from_memory=*/true));
    return reactor;
  };
  if (!scope.refusal().ok()) return finish(scope.refusal());
  const absl::StatusOr<KernelLaunch> a = FromMessage(request->a(), "a");
  if (!a.ok()) return finish(a.status());
  const absl::StatusOr<KernelLaunch> b = FromMessage(request->b(), "b");
  if (!b.ok()) return finish(b.status());
  const CheckOptions options = FromMessage(request->options());
  const absl::StatusOr<std::optional<ComparisonAnswer>> known = registry_.TryCompare(*a, *b, options);
  if (!known.ok()) return finish(known.status());
  if (known->has_value()) {
    ToMessage(**known, registry_.checker().SignatureVersion(), response->mutable_comparison());
    return finish(absl::OkStatus());
  }
  auto* reactor = new ReplyReactor(std::move(scope));
  reactor->Watch(registry_.Compare(*a, *b, options,
                                   IntoVersioned<ComparisonAnswer>(reactor, response->mutable_comparison())));
  return reactor;
}

}  // namespace

std::unique_ptr<grpc::Service> MakeKernelService(Registry& registry, const JobRpc& jobs) {
  return std::make_unique<KernelServiceImpl>(registry, jobs);
}

}  // namespace samebits::server
