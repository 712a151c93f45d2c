#include "absl/strings/str_cat.h"
#include "samebits/v1/fleet_service.grpc.pb.h"
#include "server/rpc/job_services.h"
#include "server/rpc/operation_messages.h"
#include "server/rpc/reply_reactor.h"

namespace samebits::server {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

class FleetService : public v1::FleetService::CallbackService {
 public:
  explicit FleetService(const JobRpc& rpc) : rpc_(rpc) {}

  ServerUnaryReactor* GetWorker(CallbackServerContext* context, const v1::GetWorkerRequest* request,
                                v1::Worker* response) override {
    return RunOnPool(rpc_, Method::kGetWorker, context, [this, request, response] {
      const absl::StatusOr<std::string> id = IdOf(request->name(), "workers");
      return id.ok() ? Answer(rpc_.dispatcher->GetWorker(*id), response) : id.status();
    });
  }

  ServerUnaryReactor* ListWorkers(CallbackServerContext* context, const v1::ListWorkersRequest*,
                                  v1::ListWorkersResponse* response) override {
    return RunOnPool(rpc_, Method::kListWorkers, context, [this, response] {
      const auto workers = rpc_.dispatcher->ListWorkers();
      if (!workers.ok()) return workers.status();
      for (const storage::WorkerRecord& worker : *workers)
        ToMessage(worker, rpc_.dispatcher->IsOnline(worker), response->add_workers());
      return absl::OkStatus();
    });
  }

  ServerUnaryReactor* DrainWorker(CallbackServerContext* context, const v1::DrainWorkerRequest* request,
                                  v1::Worker* response) override {
    return RunOnPool(rpc_, Method::kDrainWorker, context, [this, request, response] {
      const absl::StatusOr<std::string> id = IdOf(request->name(), "workers");
      return id.ok() ? Answer(rpc_.dispatcher->SetDraining(*id, !request->undo()), response) : id.status();
    });
  }

  ServerUnaryReactor* ListDevices(CallbackServerContext* context, const v1::ListDevicesRequest*,
                                  v1::ListDevicesResponse* response) override {
    return RunOnPool(rpc_, Method::kListDevices, context, [this, response] {
      const auto workers = rpc_.dispatcher->ListWorkers();
      if (!workers.ok()) return workers.status();
      for (const storage::WorkerRecord& record : *workers) {
        v1::Worker worker;
        ToMessage(record, rpc_.dispatcher->IsOnline(record), &worker);
        for (v1::Device& device : *worker.mutable_devices()) {
          auto* entry = response->add_devices();
          entry->set_name(absl::StrCat(worker.name(), "/devices/", device.index()));
          entry->set_state(worker.state());
          entry->mutable_device()->Swap(&device);
        }
      }
      return absl::OkStatus();
    });
  }

 private:
  absl::Status Answer(const absl::StatusOr<storage::WorkerRecord>& worker, v1::Worker* response) {
    if (worker.ok()) ToMessage(*worker, rpc_.dispatcher->IsOnline(*worker), response);
    return worker.status();
  }

  const JobRpc rpc_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeFleetService(const JobRpc& rpc) { return std::make_unique<FleetService>(rpc); }

}  // namespace samebits::server
