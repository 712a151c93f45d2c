#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "samebits/v1/operations.grpc.pb.h"
#include "server/rpc/job_services.h"
#include "server/rpc/operation_followers.h"
#include "server/rpc/operation_messages.h"
#include "server/rpc/reply_reactor.h"

namespace samebits::server {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

constexpr int kDefaultPage = 100, kLargestPage = 1000;
constexpr absl::Duration kLongestWait = absl::Minutes(10);

// Ends a stream at once.
class RefusedWatch : public grpc::ServerWriteReactor<v1::Operation> {
 public:
  RefusedWatch(CallScope scope, const absl::Status& status) { Finish(scope.End(status)); }
  void OnDone() override { delete this; }
};

class OperationsService : public v1::Operations::CallbackService {
 public:
  explicit OperationsService(const JobRpc& rpc) : rpc_(rpc) {}

  ServerUnaryReactor* GetOperation(CallbackServerContext* context, const v1::GetOperationRequest* request,
                                   v1::Operation* response) override {
    return RunOnPool(rpc_, Method::kGetOperation, context, [this, request, response](const Identity&) {
      return Answer(request->name(), [this](const std::string& id) { return rpc_.dispatcher->Get(id); }, response);
    });
  }

  ServerUnaryReactor* ListOperations(CallbackServerContext* context, const v1::ListOperationsRequest* request,
                                     v1::ListOperationsResponse* response) override {
    return RunOnPool(rpc_, Method::kListOperations, context, [this, request, response](const Identity&) {
      return List(*request, response);
    });
  }

  ServerUnaryReactor* WaitOperation(CallbackServerContext* context, const v1::WaitOperationRequest* request,
                                    v1::Operation* response) override {
    CallScope scope(Method::kWaitOperation, context, rpc_);
    const absl::StatusOr<std::string> id = IdOf(request->name(), "operations");
    absl::Status refusal = scope.refusal().ok() ? id.status() : scope.refusal();
    FollowerPlace place(rpc_);
    if (refusal.ok() && !place.taken()) refusal = QueueFull("max_following_calls", rpc_.max_followers);
    if (!refusal.ok()) {
      ServerUnaryReactor* reactor = context->DefaultReactor();
      reactor->Finish(scope.End(refusal));
      return reactor;
    }
    const absl::Duration timeout = request->has_timeout() ? FromMessage(request->timeout()) : kLongestWait;
    return StartWait(rpc_, std::move(scope), std::move(place), *id, std::clamp(timeout, absl::ZeroDuration(), kLongestWait), response);
  }

  grpc::ServerWriteReactor<v1::Operation>* WatchOperation(CallbackServerContext* context,
                                                          const v1::WatchOperationRequest* request) override {
    CallScope scope(Method::kWatchOperation, context, rpc_);
    const absl::StatusOr<std::string> id = IdOf(request->name(), "operations");
    absl::Status refusal = scope.refusal().ok() ? id.status() : scope.refusal();
    FollowerPlace place(rpc_);
    if (refusal.ok() && !place.taken()) refusal = QueueFull("max_following_calls", rpc_.max_followers);
    if (!refusal.ok()) return new RefusedWatch(std::move(scope), refusal);
    return StartWatch(rpc_, std::move(scope), std::move(place), *id);
  }

  ServerUnaryReactor* CancelOperation(CallbackServerContext* context, const v1::CancelOperationRequest* request,
                                      v1::Operation* response) override {
    return RunOnPool(rpc_, Method::kCancelOperation, context, [this, request, response](const Identity& identity) {
      return Answer(request->name(), [&](const std::string& id) { return Cancel(id, identity); }, response);
    }, [request] { return request->name(); });
  }

  ServerUnaryReactor* DeleteOperation(CallbackServerContext* context, const v1::DeleteOperationRequest* request,
                                      google::protobuf::Empty*) override {
    return RunOnPool(rpc_, Method::kDeleteOperation, context, [this, request](const Identity&) {
      const absl::StatusOr<std::string> id = IdOf(request->name(), "operations");
      return id.ok() ? rpc_.dispatcher->Delete(*id) : id.status();
    }, [request] { return request->name(); });
  }

  ServerUnaryReactor* ListReproducers(CallbackServerContext* context, const v1::ListReproducersRequest* request,
                                      v1::ListReproducersResponse* response) override {
    return RunOnPool(rpc_, Method::kListReproducers, context, [this, request, response](const Identity&) {
      return ListReproducers(*request, response);
    });
  }

  ServerUnaryReactor* GetReproducer(CallbackServerContext* context, const v1::GetReproducerRequest* request,
                                    v1::Reproducer* response) override {
    return RunOnPool(rpc_, Method::kGetReproducer, context, [this, request, response](const Identity&) {
      const absl::StatusOr<std::string> id = IdOf(request->name(), "reproducers");
      if (!id.ok()) return id.status();
      const absl::StatusOr<storage::ReproducerRecord> record = rpc_.dispatcher->GetReproducer(*id);
      return record.ok() ? ToMessage(*record, response) : record.status();
    });
  }

  ServerUnaryReactor* DeleteReproducer(CallbackServerContext* context, const v1::DeleteReproducerRequest* request,
                                       google::protobuf::Empty*) override {
    return RunOnPool(rpc_, Method::kDeleteReproducer, context, [this, request](const Identity&) {
      const absl::StatusOr<std::string> id = IdOf(request->name(), "reproducers");
      return id.ok() ? rpc_.dispatcher->DeleteReproducer(*id) : id.status();
    }, [request] { return request->name(); });
  }

 private:
  // Submitters cancel what is theirs.
  absl::StatusOr<JobView> Cancel(const std::string& id, const Identity& identity) {
    const absl::StatusOr<JobView> view = rpc_.dispatcher->Get(id);
    if (!view.ok()) return view.status();
    if (identity.role != Role::kAdmin && view->job.principal != identity.principal)
      return WithDetail(absl::PermissionDeniedError("the operation is another principal's"), "NOT_PERMITTED",
                        {{"role", std::string(RoleName(identity.role))}});
    return rpc_.dispatcher->Cancel(id, identity.principal);
  }

  // Checks what lists have in common; the size of the page.
  template <typename Request>
  static absl::StatusOr<int> ReadPage(const Request& request, int64_t* before) {
    if (request.page_size() < 0) return InvalidField("page_size", "must not be negative");
    if (!request.page_token().empty() && (!absl::SimpleAtoi(request.page_token(), before) || *before <= 0))
      return InvalidField("page_token", "is not a token of this service");
    return std::min(request.page_size() == 0 ? kDefaultPage : request.page_size(), kLargestPage);
  }

  absl::Status ListReproducers(const v1::ListReproducersRequest& request, v1::ListReproducersResponse* response) {
    int64_t before = 0;
    const absl::StatusOr<int> size = ReadPage(request, &before);
    if (!size.ok()) return size.status();
    const absl::StatusOr<storage::ReproducerPage> page = rpc_.dispatcher->ListReproducers(before, *size);
    if (!page.ok()) return page.status();
    for (const storage::ReproducerRecord& record : page->reproducers)
      if (absl::Status status = ToMessage(record, response->add_reproducers()); !status.ok()) return status;
    if (page->more) response->set_next_page_token(absl::StrCat(page->reproducers.back().sequence));
    return absl::OkStatus();
  }

  template <typename Find>
  static absl::Status Answer(const std::string& name, Find find, v1::Operation* response) {
    const absl::StatusOr<std::string> id = IdOf(name, "operations");
    if (!id.ok()) return id.status();
    const absl::StatusOr<JobView> view = find(*id);
    if (view.ok()) ToMessage(*view, response);
    return view.status();
  }

  absl::Status List(const v1::ListOperationsRequest& request, v1::ListOperationsResponse* response) {
    int64_t before = 0;
    const absl::StatusOr<int> size = ReadPage(request, &before);
    if (!size.ok()) return size.status();
    const absl::StatusOr<storage::JobPage> page = rpc_.dispatcher->List({"", request.open_only()}, before, *size);
    if (!page.ok()) return page.status();
    for (const storage::JobRecord& job : page->jobs) ToMessage(job, response->add_operations());
    if (page->more) response->set_next_page_token(absl::StrCat(page->jobs.back().sequence));
    return absl::OkStatus();
  }

  const JobRpc rpc_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeOperationsService(const JobRpc& rpc) {
  return std::make_unique<OperationsService>(rpc);
}

}  // namespace samebits::server
