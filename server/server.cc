#include "server/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "server/metrics/metrics.h"
#include "server/registry/checker_backend.h"
#include "server/registry/registry.h"
#include "server/rpc/call_gate.h"
#include "server/rpc/kernel_service.h"
#include "storage/memory/memory_kernel_store.h"
#include "storage/sqlite/sqlite_kernel_store.h"

namespace samebits::server {
namespace {

constexpr int kMaxConcurrentStreams = 1000;  // per connection
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

absl::StatusOr<std::unique_ptr<storage::KernelStore>> OpenStore(const ServerConfig& config) {
  if (config.database.empty()) return std::make_unique<storage::MemoryKernelStore>();
  storage::SqliteOptions options;
  options.path = config.database;
  return storage::OpenSqliteKernelStore(options);
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
  absl::Status StartMetrics();
  absl::Status StartGrpc();
  void Drain();

  const ServerConfig config_;
  const Log log_;
  Metrics metrics_;
  CallGate gate_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<MetricsEndpoint> endpoint_;
  std::unique_ptr<grpc::Service> service_;
  std::unique_ptr<grpc::Server> grpc_;
  std::string address_;
  absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::Status ServerImpl::StartRegistry() {
  absl::StatusOr<std::unique_ptr<storage::KernelStore>> store = OpenStore(config_);
  if (!store.ok()) return store.status();
  Registry::Config config;
  config.limits = config_.limits;
  config.check_threads = config_.check_threads;
  config.cache_entries = config_.signature_cache_entries;
  config.checker = config_.checker != nullptr ? config_.checker : StaticChecker();
  config.metrics = &metrics_;
  if (absl::Status status = (*store)->PruneSignatures(config.checker->SignatureVersion()); !status.ok()) return status;
  config.store = *std::move(store);
  registry_ = std::make_unique<Registry>(std::move(config));
  return absl::OkStatus();
}

absl::Status ServerImpl::StartMetrics() {
  if (config_.metrics_listen.empty()) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<MetricsEndpoint>> endpoint = MetricsEndpoint::Start(
      config_.metrics_listen, metrics_, metrics_.MakeLevels([registry = registry_.get()] {
        return registry->ReadLevels();
      }));
  if (!endpoint.ok()) return endpoint.status();
  endpoint_ = *std::move(endpoint);
  return absl::OkStatus();
}

absl::Status ServerImpl::StartGrpc() {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  service_ = MakeKernelService(*registry_, gate_, log_);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(config_.listen, grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(config_.limits.max_message_bytes);
  builder.SetMaxSendMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a taken port is an error
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxConcurrentStreams);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);  // reflection only
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
  builder.RegisterService(service_.get());
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
  if (absl::Status status = StartMetrics(); !status.ok()) return status;
  if (absl::Status status = StartGrpc(); !status.ok()) return status;
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
  if (registry_ != nullptr) registry_->Stop();
  grpc_.reset();
  service_.reset();
  registry_.reset();
  log_.Line(LogLevel::kInfo, "server stopped");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerConfig& config) {
  auto server = std::make_unique<ServerImpl>(config);
  if (absl::Status status = server->Start(); !status.ok()) return status;
  return server;
}

}  // namespace samebits::server
