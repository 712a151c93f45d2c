#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "samebits/v1/fleet_service.grpc.pb.h"
#include "server/registry/errors.h"
#include "server/rpc/job_services.h"
#include "server/rpc/operation_messages.h"
#include "server/rpc/reply_reactor.h"

namespace samebits::server {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

constexpr uint32_t kMostUses = 10'000;
constexpr absl::Duration kDefaultLife = absl::Hours(1), kLongestLife = absl::Hours(24 * 30);

class FleetService : public v1::FleetService::CallbackService {
 public:
  explicit FleetService(const JobRpc& rpc) : rpc_(rpc) {}

  ServerUnaryReactor* GetWorker(CallbackServerContext* context, const v1::GetWorkerRequest* request,
                                v1::Worker* response) override {
    return RunOnPool(rpc_, Method::kGetWorker, context, [this, request, response](const Identity&) {
      const absl::StatusOr<std::string> id = IdOf(request->name(), "workers");
      return id.ok() ? Answer(rpc_.dispatcher->GetWorker(*id), response) : id.status();
    });
  }

  ServerUnaryReactor* ListWorkers(CallbackServerContext* context, const v1::ListWorkersRequest*,
                                  v1::ListWorkersResponse* response) override {
    return RunOnPool(rpc_, Method::kListWorkers, context, [this, response](const Identity&) {
      const auto workers = rpc_.dispatcher->ListWorkers();
      if (!workers.ok()) return workers.status();
      for (const storage::WorkerRecord& worker : *workers)
        ToMessage(worker, rpc_.dispatcher->IsOnline(worker), response->add_workers());
      return absl::OkStatus();
    });
  }

  ServerUnaryReactor* DrainWorker(CallbackServerContext* context, const v1::DrainWorkerRequest* request,
                                  v1::Worker* response) override {
    return RunOnPool(rpc_, Method::kDrainWorker, context, [this, request, response](const Identity&) {
      const absl::StatusOr<std::string> id = IdOf(request->name(), "workers");
      return id.ok() ? Answer(rpc_.dispatcher->SetDraining(*id, !request->undo()), response) : id.status();
    }, [request] { return request->name(); });
  }

  ServerUnaryReactor* ListDevices(CallbackServerContext* context, const v1::ListDevicesRequest*,
                                  v1::ListDevicesResponse* response) override {
    return RunOnPool(rpc_, Method::kListDevices, context, [this, response](const Identity&) {
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

  ServerUnaryReactor* CreateEnrolment(CallbackServerContext* context, const v1::CreateEnrolmentRequest* request,
                                      v1::Enrolment* response) override {
    return RunOnPool(rpc_, Method::kCreateEnrolment, context, [this, request, response](const Identity& identity) {
      return Enrol(identity, *request, response);
    }, [request] { return request->worker(); });
  }

  ServerUnaryReactor* RevokeWorker(CallbackServerContext* context, const v1::RevokeWorkerRequest* request,
                                   google::protobuf::Empty*) override {
    return RunOnPool(rpc_, Method::kRevokeWorker, context, [this, request](const Identity&) {
      const absl::StatusOr<std::string> id = IdOf(request->name(), "workers");
      if (!id.ok()) return id.status();
      if (rpc_.tokens == nullptr) return NoTokens();
      if (absl::Status status = rpc_.tokens->Revoke(*id); !status.ok()) return status;
      return rpc_.dispatcher->ReleaseLeases(*id, "the worker's token was revoked");
    }, [request] { return request->name(); });
  }

 private:
  static absl::Status NoTokens() {
    return WithDetail(absl::FailedPreconditionError("this server asks for no tokens: workers need not enrol"),
                      "NO_TOKENS", {});
  }

  absl::Status Enrol(const Identity& identity, const v1::CreateEnrolmentRequest& request, v1::Enrolment* response) {
    if (rpc_.tokens == nullptr) return NoTokens();
    std::string worker;
    if (!request.worker().empty()) {
      const absl::StatusOr<std::string> id = IdOf(request.worker(), "workers");
      if (!id.ok()) return id.status();
      worker = *id;
    }
    if (request.uses() > kMostUses) return LimitExceeded("max_enrolment_uses", kMostUses, request.uses());
    const uint32_t uses = std::max<uint32_t>(request.uses(), 1);
    const absl::Duration life = request.has_time_to_live() ? FromMessage(request.time_to_live()) : kDefaultLife;
    if (life <= absl::ZeroDuration() || life > kLongestLife)
      return InvalidField("time_to_live", "must be positive and at most 30 days");
    const absl::Time now = absl::Now();
    const auto made = rpc_.tokens->CreateEnrolment(identity.principal, worker, uses, now, now + life);
    if (!made.ok()) return made.status();
    response->set_secret(made->secret);
    ToMessage(made->expires, response->mutable_expire_time());
    response->set_uses(uses);
    response->set_worker(request.worker());
    return absl::OkStatus();
  }

  absl::Status Answer(const absl::StatusOr<storage::WorkerRecord>& worker, v1::Worker* response) {
    if (worker.ok()) ToMessage(*worker, rpc_.dispatcher->IsOnline(*worker), response);
    return worker.status();
  }

  const JobRpc rpc_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeFleetService(const JobRpc& rpc) { return std::make_unique<FleetService>(rpc); }

}  // namespace samebits::server
