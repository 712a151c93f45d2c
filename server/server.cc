#include "server/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "samebits/worker/v1/worker_sessions.pb.h"
#include "server/dispatch/dispatcher.h"
#include "server/metrics/metrics.h"
#include "server/registry/checker_backend.h"
#include "server/registry/registry.h"
#include "server/rpc/call_gate.h"
#include "server/rpc/job_services.h"
#include "server/rpc/kernel_service.h"
#include "server/status/collect.h"
#include "server/verify/verify.h"
#include "storage/memory/memory_fleet_store.h"
#include "storage/memory/memory_job_store.h"
#include "storage/memory/memory_kernel_store.h"
#include "storage/sqlite/sqlite_fleet_store.h"
#include "storage/sqlite/sqlite_job_store.h"
#include "storage/sqlite/sqlite_kernel_store.h"

namespace samebits::server {
namespace {

constexpr int kMaxConcurrentStreams = 1000;  // per connection
constexpr int kJobThreads = 16;              // for calls about jobs and workers, which wait for the disk together
constexpr uint32_t kMaxQueuedJobCalls = 4096;
constexpr absl::Duration kRefusalTime = absl::Milliseconds(200);

bool IsLoopback(const std::string& listen) {
  for (const char* prefix : {"127.", "localhost:", "[::1]:", "unix:"})
    if (absl::StartsWith(listen, prefix)) return true;
  return false;
}

absl::Status CheckConfig(const ServerConfig& config) {
  if (!config.allow_remote_plaintext && !IsLoopback(config.listen))
    return absl::InvalidArgumentError(absl::StrCat(
        config.listen, " is not a loopback address, and the server has neither encryption nor authentication: listen "
        "on 127.0.0.1, or set allow_remote_plaintext if everyone on that network may read and write the kernels"));
  if (config.limits.max_message_bytes <= 0) return absl::InvalidArgumentError("max_message_bytes must be positive");
  return absl::OkStatus();
}

struct Stores {
  std::unique_ptr<storage::KernelStore> kernels;
  std::unique_ptr<storage::JobStore> jobs;
  std::unique_ptr<storage::FleetStore> fleet;
};

absl::StatusOr<Stores> OpenStores(const ServerConfig& config) {
  Stores stores;
  if (config.database.empty()) {
    stores.kernels = std::make_unique<storage::MemoryKernelStore>();
    stores.jobs = std::make_unique<storage::MemoryJobStore>();
    stores.fleet = std::make_unique<storage::MemoryFleetStore>();
    return stores;
  }
  storage::SqliteOptions options;
  options.path = config.database;
  auto database = storage::sqlite::SharedDatabase::Open(options);
  if (!database.ok()) return database.status();
  auto kernels = storage::MakeSqliteKernelStore(*database);
  if (!kernels.ok()) return kernels.status();
  stores.kernels = *std::move(kernels);
  stores.jobs = storage::MakeSqliteJobStore(*database);
  stores.fleet = storage::MakeSqliteFleetStore(*std::move(database));
  return stores;
}

void CountDevices(const std::string& description, Levels* levels) {
  worker::v1::CreateWorkerSessionRequest about;
  if (!about.ParseFromString(description)) return;
  for (const v1::Device& device : about.devices()) ++levels->devices[{device.backend(), device.architecture()}];
}

class ServerImpl : public Server {
 public:
  explicit ServerImpl(const ServerConfig& config) : config_(config), log_(config.log_level) {}
  ~ServerImpl() override { Shutdown(); }

  absl::Status Start();
  std::string address() const override { return address_; }
  std::string metrics_address() const override { return endpoint_ == nullptr ? "" : endpoint_->address(); }
  void Shutdown() override;

 private:
  absl::Status StartRegistry();
  void StartDispatcher();
  Levels ReadLevels();
  std::string Page();
  absl::Status StartMetrics();
  absl::Status StartGrpc();
  void Drain();

  const ServerConfig config_;
  const Log log_;
  Metrics metrics_;
  CallGate gate_;
  std::unique_ptr<storage::JobStore> jobs_;
  std::unique_ptr<storage::FleetStore> fleet_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<TaskPool> job_calls_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::unique_ptr<MetricsEndpoint> endpoint_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<grpc::Server> grpc_;
  std::string address_;
  const absl::Time start_time_ = absl::Now();
  absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::Status ServerImpl::StartRegistry() {
  absl::StatusOr<Stores> stores = OpenStores(config_);
  if (!stores.ok()) return stores.status();
  Registry::Config config;
  config.limits = config_.limits;
  config.check_threads = config_.check_threads;
  config.cache_entries = config_.signature_cache_entries;
  config.checker = config_.checker != nullptr ? config_.checker : StaticChecker();
  config.metrics = &metrics_;
  absl::Status status = stores->kernels->PruneSignatures(config.checker->SignatureVersion());
  if (!status.ok()) return status;
  config.store = std::move(stores->kernels);
  jobs_ = std::move(stores->jobs);
  fleet_ = std::move(stores->fleet);
  registry_ = std::make_unique<Registry>(std::move(config));
  return absl::OkStatus();
}

void ServerImpl::StartDispatcher() {
  std::map<std::string, std::unique_ptr<JobFinisher>> finishers;
  finishers[kVerifyKind] = MakeVerifyFinisher(*registry_);
  dispatcher_ = std::make_unique<Dispatcher>(config_.dispatch, *jobs_, *fleet_, std::move(finishers), metrics_);
  dispatcher_->Start();
  job_calls_ = std::make_unique<TaskPool>(kJobThreads, kMaxQueuedJobCalls, "max_queued_job_calls");
}

Levels ServerImpl::ReadLevels() {
  Levels levels = registry_->ReadLevels();
  if (const auto stats = jobs_->Stats(); stats.ok()) {
    levels.queued_tasks = stats->queued_tasks;
    levels.leased_tasks = stats->leased_tasks;
    levels.open_jobs = stats->open_jobs;
    levels.finished_jobs = stats->finished_jobs;
    levels.reproducers = stats->reproducers;
    if (stats->oldest_queued != storage::kNever)
      levels.oldest_queued_seconds = absl::ToDoubleSeconds(config_.dispatch.clock() - stats->oldest_queued);
  }
  const auto workers = fleet_->ListWorkers();
  if (!workers.ok()) return levels;
  for (const storage::WorkerRecord& worker : *workers) {
    const bool online = dispatcher_->IsOnline(worker);
    ++(online ? levels.workers_online : levels.workers_offline);
    levels.workers_draining += worker.draining;
    if (online) CountDevices(worker.description, &levels);
  }
  return levels;
}

std::string ServerImpl::Page() {
  StatusData data = CollectStatus(*dispatcher_, ReadLevels(), metrics_);
  data.address = address_;
  data.signature_version = registry_->checker().SignatureVersion();
  data.uptime = absl::Now() - start_time_;
  return RenderStatusPage(data);
}

absl::Status ServerImpl::StartMetrics() {
  if (config_.metrics_listen.empty()) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<MetricsEndpoint>> endpoint = MetricsEndpoint::Start(
      config_.metrics_listen, metrics_, metrics_.MakeLevels([this] { return ReadLevels(); }), [this] { return Page(); });
  if (!endpoint.ok()) return endpoint.status();
  endpoint_ = *std::move(endpoint);
  return absl::OkStatus();
}

absl::Status ServerImpl::StartGrpc() {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  const JobRpc rpc{dispatcher_.get(), job_calls_.get(), &gate_, &metrics_, &log_, {}};
  services_.push_back(MakeKernelService(*registry_, rpc));
  services_.push_back(MakeOperationsService(rpc));
  services_.push_back(MakeFleetService(rpc));
  services_.push_back(MakeWorkerSessionsService(rpc));
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(config_.listen, grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(config_.limits.max_message_bytes);
  builder.SetMaxSendMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a taken port is an error
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxConcurrentStreams);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);  // reflection only
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
  for (const auto& service : services_) builder.RegisterService(service.get());
  grpc_ = builder.BuildAndStart();
  const bool is_unix = absl::StartsWith(config_.listen, "unix:");
  if (grpc_ == nullptr || (port == 0 && !is_unix))
    return absl::UnavailableError(absl::StrCat("cannot listen on ", config_.listen, "; is the port taken?"));
  address_ = is_unix ? config_.listen : absl::StrCat(config_.listen.substr(0, config_.listen.rfind(':')), ":", port);
  grpc_->GetHealthCheckService()->SetServingStatus(v1::KernelService::service_full_name(), true);
  return absl::OkStatus();
}

absl::Status ServerImpl::Start() {
  if (absl::Status status = CheckConfig(config_); !status.ok()) return status;
  if (absl::Status status = StartRegistry(); !status.ok()) return status;
  StartDispatcher();
  if (absl::Status status = StartGrpc(); !status.ok()) return status;
  if (absl::Status status = StartMetrics(); !status.ok()) return status;  // shows the address
  log_.Line(LogLevel::kInfo, "server started")
      .Add("address", address_)
      .Add("metrics", metrics_address())
      .Add("database", config_.database)
      .Add("check_threads", registry_->check_threads())
      .Add("signature_version", registry_->checker().SignatureVersion());
  return absl::OkStatus();
}

// New calls are refused, running ones end or are cancelled at the deadline. Clients that were refused have a moment to
// go before the connections close.
void ServerImpl::Drain() {
  gate_.Close();
  dispatcher_->BeginStop();
  const bool empty = gate_.AwaitEmpty(absl::Now() + config_.drain_timeout);
  if (empty) absl::SleepFor(std::min(kRefusalTime, config_.drain_timeout));
  grpc_->Shutdown(absl::ToChronoTime(absl::Now() + (empty ? kRefusalTime : absl::ZeroDuration())));
  grpc_->Wait();
}

void ServerImpl::Shutdown() {
  absl::MutexLock lock(&mutex_);
  if (stopped_) return;
  stopped_ = true;
  if (grpc_ != nullptr) {
    log_.Line(LogLevel::kInfo, "server stopping")
        .Add("drain_seconds", absl::ToDoubleSeconds(config_.drain_timeout));
    if (grpc_->GetHealthCheckService() != nullptr) grpc_->GetHealthCheckService()->SetServingStatus(false);
    Drain();
  }
  endpoint_.reset();
  if (job_calls_ != nullptr) job_calls_->Stop();
  if (dispatcher_ != nullptr) dispatcher_->Stop();
  if (registry_ != nullptr) registry_->Stop();
  grpc_.reset();
  services_.clear();
  dispatcher_.reset();
  registry_.reset();
  fleet_.reset();
  jobs_.reset();
  log_.Line(LogLevel::kInfo, "server stopped");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerConfig& config) {
  auto server = std::make_unique<ServerImpl>(config);
  if (absl::Status status = server->Start(); !status.ok()) return status;
  return server;
}

}  // namespace samebits::server
