#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "samebits/worker/v1/worker_sessions.grpc.pb.h"
#include "server/numerics/numerics.h"
#include "server/reconstruction/gemm_jobs.h"
#include "server/reconstruction/reconstruction.h"
#include "server/rpc/job_services.h"
#include "server/rpc/operation_messages.h"
#include "server/rpc/reply_reactor.h"

namespace samebits::server {
namespace {

namespace wire = worker::v1;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

constexpr size_t kLongestId = 64;
constexpr int kMostDevices = 256, kMostReports = 1024, kMostModels = 32, kMostSources = 16, kMostGemmLibraries = 16,
              kMostLibraries = 32;
constexpr size_t kMostUnitBytes = 4 << 20;

bool IsWorkerId(const std::string& id) {
  return !id.empty() && id.size() <= kLongestId && std::all_of(id.begin(), id.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
  });
}

absl::Status BadWorkerId() { return InvalidField("worker", "must be 1 to 64 letters, digits, '-', '_' or '.'"); }

storage::LeaseKey KeyOf(const wire::TaskKey& key) { return {key.operation(), key.task(), key.token()}; }

void SetKey(const storage::LeaseKey& key, wire::TaskKey* out) {
  out->set_operation(key.job);
  out->set_task(key.task);
  out->set_token(key.token);
}

WorkerReport::Finished FinishedOf(const wire::TaskResult& result) {
  WorkerReport::Finished finished{KeyOf(result.key()), absl::OkStatus(), ""};
  switch (result.outcome_case()) {
    case wire::TaskResult::kVerify:
      finished.result = result.verify().SerializeAsString();
      break;
    case wire::TaskResult::kNumerics:
      finished.result = result.numerics().result().SerializeAsString();
      break;
    case wire::TaskResult::kProfile:
      finished.result = result.profile().text();
      break;
    case wire::TaskResult::kRecoverGemms:
      finished.result = result.recover_gemms().SerializeAsString();
      break;
    case wire::TaskResult::kEmulateGemm:
      finished.result = result.emulate_gemm().SerializeAsString();
      break;
    case wire::TaskResult::kError: {
      const bool is_error = result.error().code() > 0 && result.error().code() <= 16;
      finished.error = absl::Status(is_error ? static_cast<absl::StatusCode>(result.error().code())
                                             : absl::StatusCode::kUnknown,
                                    result.error().message());
      break;
    }
    case wire::TaskResult::OUTCOME_NOT_SET:
      finished.error = absl::InternalError("the worker reported an end without an outcome");
      break;
  }
  return finished;
}

class WorkerSessionsService : public wire::WorkerSessions::CallbackService {
 public:
  explicit WorkerSessionsService(const JobRpc& rpc) : rpc_(rpc) {}

  ServerUnaryReactor* EnrolWorker(CallbackServerContext* context, const wire::EnrolWorkerRequest* request,
                                  wire::EnrolWorkerResponse*) override {
    return RunOnPool(rpc_, Method::kEnrolWorker, context, [this, request](const Identity& identity) {
      if (!IsWorkerId(request->worker())) return BadWorkerId();
      storage::Digest digest;
      if (request->token_sha256().size() != digest.size()) return InvalidField("token_sha256", "must have 32 bytes");
      std::copy(request->token_sha256().begin(), request->token_sha256().end(), digest.begin());
      if (rpc_.tokens == nullptr)
        return WithDetail(absl::FailedPreconditionError("this server asks for no tokens"), "NO_TOKENS", {});
      return rpc_.tokens->Enrol(identity, request->worker(), digest, absl::Now());
    }, [request] { return absl::StrCat("workers/", request->worker()); });
  }

  ServerUnaryReactor* CreateWorkerSession(CallbackServerContext* context, const wire::CreateWorkerSessionRequest* request,
                                          wire::WorkerSession* response) override {
    return RunOnPool(rpc_, Method::kCreateWorkerSession, context,
                     [this, request, response](const Identity& identity) -> absl::Status {
      if (absl::Status status = CheckWorker(identity, request->worker()); !status.ok()) return status;
      if (!IsWorkerId(request->worker()))
        return BadWorkerId();
      if (request->devices_size() > kMostDevices)
        return LimitExceeded("max_worker_devices", kMostDevices, static_cast<uint64_t>(request->devices_size()));
      for (const samebits::v1::Device& device : request->devices())
        if (device.libraries_size() > kMostLibraries)
          return LimitExceeded("max_device_libraries", kMostLibraries, static_cast<uint64_t>(device.libraries_size()));
      if (request->models_size() > kMostModels)
        return LimitExceeded("max_worker_models", kMostModels, static_cast<uint64_t>(request->models_size()));
      if (request->instruction_sources_size() > kMostSources)
        return LimitExceeded("max_instruction_sources", kMostSources, static_cast<uint64_t>(request->instruction_sources_size()));
      for (const std::string& model : request->models())
        if (!IsModelName(model) || model == "synthetic")
          return InvalidField("models", "must be 1 to 64 letters, digits, '-', '_' or '.', other than synthetic");
      if (request->gemm_libraries_size() > kMostGemmLibraries)
        return LimitExceeded("max_worker_gemm_libraries", kMostGemmLibraries, static_cast<uint64_t>(request->gemm_libraries_size()));
      for (const auto& library : request->gemm_libraries())
        if (!IsModelName(library.library()) || !IsModelName(library.backend()))
          return InvalidField("gemm_libraries", "must be 1 to 64 letters, digits, '-', '_' or '.'");
      const auto worker = rpc_.dispatcher->OpenSession(request->worker(), request->SerializeAsString());
      if (!worker.ok()) return worker.status();
      response->set_session(worker->session);
      ToMessage(rpc_.dispatcher->config().least_poll, response->mutable_poll_interval());
      ToMessage(rpc_.dispatcher->config().lease_duration, response->mutable_lease_duration());
      return absl::OkStatus();
    }, [request] { return absl::StrCat("workers/", request->worker()); });
  }

  ServerUnaryReactor* UpdateWorkerSession(CallbackServerContext* context, const wire::UpdateWorkerSessionRequest* request,
                                          wire::UpdateWorkerSessionResponse* response) override {
    return RunOnPool(rpc_, Method::kUpdateWorkerSession, context,
                     [this, request, response](const Identity& identity) -> absl::Status {
      if (absl::Status status = CheckWorker(identity, request->worker()); !status.ok()) return status;
      absl::StatusOr<WorkerReport> report = ReportOf(*request);
      if (!report.ok()) return report.status();
      absl::StatusOr<WorkerOrders> orders = rpc_.dispatcher->Update(*report);
      if (!orders.ok()) return orders.status();
      for (auto& [device, lease] : orders->leased) AddLease(device, lease, response->add_leased());
      for (const storage::LeaseKey& key : orders->revoked) SetKey(key, response->add_revoked());
      ToMessage(orders->poll_interval, response->mutable_poll_interval());
      return absl::OkStatus();
    });
  }

 private:
  using LeasedMessage = wire::UpdateWorkerSessionResponse::Leased;

  // With tokens a worker speaks for itself only.
  absl::Status CheckWorker(const Identity& identity, const std::string& worker) const {
    if (rpc_.tokens == nullptr || identity.principal == worker) return absl::OkStatus();
    return WithDetail(absl::PermissionDeniedError(absl::StrCat("the token is for the worker ", identity.principal)),
                      "NOT_PERMITTED", {{"role", "worker"}});
  }

  absl::StatusOr<WorkerReport> ReportOf(const wire::UpdateWorkerSessionRequest& request) {
    for (const int count : {request.running_size(), request.finished_size(), request.free_devices_size()})
      if (count > kMostReports)
        return LimitExceeded("max_worker_reports", kMostReports, static_cast<uint64_t>(count));
    WorkerReport report;
    report.worker = request.worker();
    report.session = request.session();
    for (const wire::TaskProgress& running : request.running()) {
      report.running.push_back({KeyOf(running.key()), {running.done(), running.total()}, {}});
      if (running.units_size() > kMostReports)
        return LimitExceeded("max_worker_reports", kMostReports, static_cast<uint64_t>(running.units_size()));
      for (const wire::TaskUnit& unit : running.units()) {
        if (unit.body().size() > kMostUnitBytes)
          return LimitExceeded("max_task_unit_size", kMostUnitBytes, unit.body().size());
        report.running.back().units.push_back({unit.index(), unit.body()});
      }
    }
    for (const wire::TaskResult& result : request.finished()) report.finished.push_back(FinishedOf(result));
    if (request.free_devices().empty()) return report;
    const auto worker = rpc_.dispatcher->GetWorker(request.worker());
    if (!worker.ok()) return worker.status();
    wire::CreateWorkerSessionRequest about;
    if (!about.ParseFromString(worker->description)) return report;
    for (const uint32_t index : request.free_devices()) {
      if (index >= static_cast<uint32_t>(about.devices_size())) continue;
      const v1::Device& device = about.devices(static_cast<int>(index));
      std::vector<std::string> targets = NumericsTargetsOf(about, device);
      for (std::string& target : ReconstructionTargetsOf(about, device)) targets.push_back(std::move(target));
      for (std::string& target : EmulationTargetsOf(about, device)) targets.push_back(std::move(target));
      if (about.runs_submitted_kernels())
        for (std::string& target : TargetsOf(worker->id, device)) targets.push_back(std::move(target));
      if (!targets.empty()) report.free.push_back({index, std::move(targets)});
    }
    return report;
  }

  void AddLease(uint32_t device, const storage::Lease& lease, LeasedMessage* out) {
    SetKey({lease.task.job, lease.task.index, lease.task.token}, out->mutable_key());
    out->set_device(device);
    ToMessage(std::min(lease.deadline - rpc_.dispatcher->config().clock(), absl::Hours(24 * 30)), out->mutable_timeout());
    if (lease.kind == kVerifyKind && !out->mutable_verify()->mutable_request()->ParseFromString(lease.spec))
      out->clear_verify();  // the worker reports a task that it does not know
    if (IsNumericsKind(lease.kind) && !out->mutable_numerics()->mutable_request()->ParseFromString(lease.spec))
      out->clear_numerics();
    if (lease.kind == kReconstructKind && !out->mutable_profile()->ParseFromString(lease.spec)) out->clear_profile();
    if (lease.kind == kRecoverGemmsKind && !out->mutable_recover_gemms()->ParseFromString(lease.spec)) out->clear_recover_gemms();
    if (lease.kind == kEmulateGemmKind && !out->mutable_emulate_gemm()->ParseFromString(lease.spec)) out->clear_emulate_gemm();
    for (const storage::UnitRecord& unit : lease.units) {
      wire::TaskUnit* to = out->add_units();
      to->set_index(unit.index);
      to->set_body(unit.body);
    }
  }

  const JobRpc rpc_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeWorkerSessionsService(const JobRpc& rpc) {
  return std::make_unique<WorkerSessionsService>(rpc);
}

}  // namespace samebits::server
