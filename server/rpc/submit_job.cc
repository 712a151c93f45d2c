#include "server/rpc/submit_job.h"

#include <utility>

#include "server/rpc/operation_messages.h"
#include "server/rpc/reply_reactor.h"

namespace samebits::server {

grpc::ServerUnaryReactor* SubmitJob(
    const JobRpc& rpc, Method method, grpc::CallbackServerContext* context,
    std::function<absl::StatusOr<Submission>(const std::vector<storage::WorkerRecord>& workers)> make,
    v1::Operation* response) {
  Dispatcher* const dispatcher = rpc.dispatcher;
  return RunOnPool(rpc, method, context, [dispatcher, make = std::move(make), response](const Identity& identity) -> absl::Status {
    const auto workers = dispatcher->ListWorkers();
    if (!workers.ok()) return workers.status();
    absl::StatusOr<Submission> submission = make(*workers);
    if (!submission.ok()) return submission.status();
    submission->principal = identity.principal;
    const absl::StatusOr<storage::JobRecord> record = dispatcher->Submit(*submission);
    if (!record.ok()) return record.status();
    const absl::StatusOr<JobView> view = dispatcher->Get(record->id);
    if (!view.ok()) return view.status();
    ToMessage(*view, response);
    return absl::OkStatus();
  }, [response] { return response->name(); });
}

}  // namespace samebits::server
