#include "server/port.h"
#include "server/reconstruction/gemm_jobs.h"
#include "server/reconstruction/reconstruction.h"
#include "server/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <fcntl.h>
#include <grpcpp/health_check_service_interface.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "core/base/loopback.h"
#include "samebits/worker/v1/worker_sessions.pb.h"
#include "server/auth/authenticator.h"
#include "server/dispatch/dispatcher.h"
#include "server/metrics/metrics.h"
#include "server/numerics/numerics.h"
#include "server/registry/checker_backend.h"
#include "server/registry/registry.h"
#include "server/rpc/arch_profile_service.h"
#include "server/rpc/call_gate.h"
#include "server/rpc/job_services.h"
#include "server/rpc/kernel_service.h"
#include "server/status/collect.h"
#include "server/tls/tls_files.h"
#include "server/verify/verify.h"
#include "storage/memory/memory_fleet_store.h"
#include "storage/memory/memory_job_store.h"
#include "storage/memory/memory_kernel_store.h"
#include "storage/memory/memory_profile_store.h"
#include "storage/memory/memory_token_store.h"
#include "storage/sqlite/sqlite_fleet_store.h"
#include "storage/sqlite/sqlite_job_store.h"
#include "storage/sqlite/sqlite_kernel_store.h"
#include "storage/sqlite/sqlite_profile_store.h"
#include "storage/sqlite/sqlite_token_store.h"

namespace samebits::server {
namespace {

constexpr int kMaxConcurrentStreams = 1000;  // per connection
constexpr size_t kMostLibrarySeries = 200;  // what a worker says of itself must not swell the metrics
constexpr int kJobThreads = 16;              // for calls about jobs and workers, which wait for the disk together
constexpr uint32_t kMaxQueuedJobCalls = 4096;
constexpr absl::Duration kRefusalTime = absl::Milliseconds(200);

absl::Status CheckConfig(const ServerConfig& config) {
  if (config.tls_cert.empty() != config.tls_key.empty() || (!config.tls_client_ca.empty() && config.tls_cert.empty()))
    return absl::InvalidArgumentError("TLS needs both tls_cert and tls_key");
  if (config.tls_cert.empty() && !config.allow_remote_plaintext && !IsLoopback(config.listen))
    return absl::InvalidArgumentError(absl::StrCat(
        config.listen, " is not a loopback address, and the server would not encrypt: listen on 127.0.0.1, give "
        "tls_cert and tls_key, or set allow_remote_plaintext if everyone on that network may read all that is sent"));
  if (config.limits.max_message_bytes <= 0) return absl::InvalidArgumentError("max_message_bytes must be positive");
  return absl::OkStatus();
}

struct Stores {
  std::unique_ptr<storage::KernelStore> kernels;
  std::unique_ptr<storage::JobStore> jobs;
  std::unique_ptr<storage::FleetStore> fleet;
  std::unique_ptr<storage::TokenStore> tokens;
  std::unique_ptr<storage::ProfileStore> profiles;
};

absl::StatusOr<Stores> OpenStores(const ServerConfig& config) {
  Stores stores;
  if (config.database.empty()) {
    stores.kernels = std::make_unique<storage::MemoryKernelStore>();
    stores.jobs = std::make_unique<storage::MemoryJobStore>();
    stores.fleet = std::make_unique<storage::MemoryFleetStore>();
    stores.tokens = std::make_unique<storage::MemoryTokenStore>();
    stores.profiles = std::make_unique<storage::MemoryProfileStore>();
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
  stores.tokens = storage::MakeSqliteTokenStore(*database);
  stores.profiles = storage::MakeSqliteProfileStore(*database);
  stores.fleet = storage::MakeSqliteFleetStore(*std::move(database));
  return stores;
}

void CountDevices(const std::string& description, Levels* levels) {
  worker::v1::CreateWorkerSessionRequest about;
  if (!about.ParseFromString(description)) return;
  for (const v1::Device& device : about.devices()) {
    ++levels->devices[{device.backend(), device.architecture()}];
    for (const v1::Device::Library& library : device.libraries()) {
      const std::pair key(library.name(), library.version());
      if (levels->libraries.size() < kMostLibrarySeries || levels->libraries.contains(key)) ++levels->libraries[key];
    }
  }
}

class ServerImpl : public Server {
 public:
  explicit ServerImpl(const ServerConfig& config) : config_(config), log_(config.log_level) {}
  ~ServerImpl() override {
    Shutdown();
    if (audit_fd_ >= 0) close(audit_fd_);
  }

  absl::Status Start();
  std::string address() const override { return address_; }
  std::string metrics_address() const override { return endpoint_ == nullptr ? "" : endpoint_->address(); }
  void Shutdown() override;

 private:
  absl::Status StartRegistry();
  absl::Status StartAuth();
  absl::Status StartTls();
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
  int audit_fd_ = -1;
  std::optional<Log> audit_;               // on a file of its own
  std::atomic<uint32_t> followers_{0};
  std::unique_ptr<storage::JobStore> jobs_;
  std::unique_ptr<storage::FleetStore> fleet_;
  std::unique_ptr<storage::TokenStore> token_store_;
  std::unique_ptr<Authenticator> tokens_;  // null: nobody needs a token
  std::unique_ptr<storage::ProfileStore> profiles_;
  std::unique_ptr<TlsFiles> tls_;          // null: no encryption
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
  std::atomic<bool> draining_{false};
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
  token_store_ = std::move(stores->tokens);
  profiles_ = std::move(stores->profiles);
  registry_ = std::make_unique<Registry>(std::move(config));
  return absl::OkStatus();
}

absl::Status ServerImpl::StartAuth() {
  if (!config_.audit_file.empty()) {
    audit_fd_ = open(config_.audit_file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (audit_fd_ < 0)
      return absl::InvalidArgumentError(absl::StrCat(config_.audit_file, ": cannot be written: ", strerror(errno)));
    audit_.emplace(LogLevel::kInfo, audit_fd_);
  }
  if (config_.token_file.empty()) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<Authenticator>> tokens = Authenticator::Open(config_.token_file, *token_store_);
  if (!tokens.ok()) return tokens.status();
  tokens_ = *std::move(tokens);
  return absl::OkStatus();
}

absl::Status ServerImpl::StartTls() {
  if (config_.tls_cert.empty()) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<TlsFiles>> tls =
      TlsFiles::Open({config_.tls_cert, config_.tls_key, config_.tls_client_ca}, log_);
  if (!tls.ok()) return tls.status();
  tls_ = *std::move(tls);
  return absl::OkStatus();
}

void ServerImpl::StartDispatcher() {
  std::map<std::string, std::unique_ptr<JobFinisher>> finishers;
  finishers[kVerifyKind] = MakeVerifyFinisher(*registry_);
  for (const std::string& kind : NumericsKinds()) finishers[kind] = MakeNumericsFinisher();
  finishers[kReconstructKind] = MakeReconstructionFinisher(*profiles_);
  finishers[kRecoverGemmsKind] = MakeRecoverGemmsFinisher();
  finishers[kEmulateGemmKind] = MakeEmulateGemmFinisher();
  dispatcher_ = std::make_unique<Dispatcher>(config_.dispatch, *jobs_, *fleet_, std::move(finishers), metrics_);
  dispatcher_->Start();
  job_calls_ = std::make_unique<TaskPool>(kJobThreads, kMaxQueuedJobCalls, "max_queued_job_calls");
}

Levels ServerImpl::ReadLevels() {
  Levels levels = registry_->ReadLevels();
  if (tls_ != nullptr) levels.certificate_expiry = absl::ToUnixSeconds(tls_->expires());
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
  StatusData data = CollectStatus(*dispatcher_, *profiles_, ReadLevels(), metrics_);
  data.address = address_;
  data.signature_version = registry_->checker().SignatureVersion();
  data.uptime = absl::Now() - start_time_;
  return RenderStatusPage(data);
}

absl::Status ServerImpl::StartMetrics() {
  if (config_.metrics_listen.empty()) return absl::OkStatus();
  if (absl::Status status = CheckPortIsFree(config_.metrics_listen, "metrics_listen"); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<MetricsEndpoint>> endpoint = MetricsEndpoint::Start(
      config_.metrics_listen, metrics_, metrics_.MakeLevels([this] { return ReadLevels(); }), [this] { return Page(); },
      [this] { return !draining_; });
  if (!endpoint.ok()) return endpoint.status();
  endpoint_ = *std::move(endpoint);
  return absl::OkStatus();
}

absl::Status ServerImpl::StartGrpc() {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  JobRpc rpc;
  rpc.dispatcher = dispatcher_.get();
  rpc.pool = job_calls_.get();
  rpc.gate = &gate_;
  rpc.metrics = &metrics_;
  rpc.log = &log_;
  rpc.audit = audit_ ? &*audit_ : &log_;
  rpc.tokens = tokens_.get();
  rpc.followers = &followers_;
  rpc.max_followers = config_.limits.max_following_calls;
  services_.push_back(MakeKernelService(*registry_, rpc));
  services_.push_back(MakeOperationsService(rpc));
  services_.push_back(MakeNumericsService(rpc));
  services_.push_back(MakeFleetService(rpc));
  services_.push_back(MakeWorkerSessionsService(rpc));
  services_.push_back(MakeArchProfileService(*profiles_, rpc));
  if (absl::Status status = CheckPortIsFree(config_.listen, "listen"); !status.ok()) return status;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(config_.listen, tls_ == nullptr ? grpc::InsecureServerCredentials() : tls_->credentials(),
                           &port);
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
  if (absl::Status status = StartAuth(); !status.ok()) return status;
  if (absl::Status status = StartTls(); !status.ok()) return status;
  StartDispatcher();
  if (absl::Status status = StartGrpc(); !status.ok()) return status;
  if (absl::Status status = StartMetrics(); !status.ok()) return status;  // shows the address
  log_.Line(LogLevel::kInfo, "server started")
      .Add("address", address_)
      .Add("metrics", metrics_address())
      .Add("database", config_.database)
      .Add("tls", config_.tls_cert.empty() ? "no" : config_.tls_client_ca.empty() ? "server" : "mutual")
      .Add("tokens", tokens_ == nullptr ? "no" : "yes")
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
    draining_ = true;
    if (grpc_->GetHealthCheckService() != nullptr) grpc_->GetHealthCheckService()->SetServingStatus(false);
    Drain();
  }
  endpoint_.reset();
  if (job_calls_ != nullptr) job_calls_->Stop();
  if (dispatcher_ != nullptr) dispatcher_->Stop();
  if (registry_ != nullptr) registry_->Stop();
  grpc_.reset();
  services_.clear();
  tls_.reset();
  dispatcher_.reset();
  registry_.reset();
  tokens_.reset();
  token_store_.reset();
  profiles_.reset();
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
