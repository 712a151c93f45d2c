// Health, reflection, metrics, configuration, restart and shutdown.

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/integration/service_fixture.h"

namespace samebits {

namespace {

using testing::HasSubstr;

grpc::health::v1::HealthCheckResponse::ServingStatus Health(const std::shared_ptr<grpc::Channel>& channel,
                                                           const std::string& service) {
  grpc::ClientContext context;
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  grpc::health::v1::HealthCheckResponse response;
  const grpc::Status status = grpc::health::v1::Health::NewStub(channel)->Check(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.status();
}

TEST_F(ServiceTest, IsHealthy) {
  EXPECT_EQ(Health(Channel(), ""), grpc::health::v1::HealthCheckResponse::SERVING);
  EXPECT_EQ(Health(Channel(), "samebits.v1.KernelService"), grpc::health::v1::HealthCheckResponse::SERVING);
  EXPECT_TRUE(client().CheckHealth().ok());
}

TEST_F(ServiceTest, ReflectsItsServices) {
  grpc::GenericStub stub(Channel());
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto stream = stub.PrepareCall(&context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                                       &queue);
  const auto wait = [&queue] {
    void* tag;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  stream->StartCall(nullptr);
  ASSERT_TRUE(wait());
  const grpc::Slice list_services("\x3a\x01*");  // field 7 of ServerReflectionRequest
  stream->WriteLast(grpc::ByteBuffer(&list_services, 1), grpc::WriteOptions(), nullptr);
  ASSERT_TRUE(wait());
  grpc::ByteBuffer answer;
  stream->Read(&answer, nullptr);
  ASSERT_TRUE(wait());
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(answer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  EXPECT_THAT(bytes, HasSubstr("samebits.v1.KernelService"));
  grpc::Status status;
  stream->Finish(&status, nullptr);
  wait();
  EXPECT_TRUE(status.ok());
}

TEST_F(ServiceTest, ExposesItsMetrics) {
  config_.metrics_listen = "127.0.0.1:0";
  config_.limits.max_text_bytes = 1000;
  const std::string name = Register("a");
  ASSERT_TRUE(client().Compare(CompareNames(name, name)).ok());
  ASSERT_TRUE(client().Compare(CompareNames(name, name)).ok());
  ASSERT_TRUE(client().Compare(CompareTexts("b", "unknown")).ok());
  EXPECT_FALSE(client().RegisterKernel(std::string(1001, 'x')).ok());
  EXPECT_FALSE(client().Compare(v1::CompareKernelsRequest()).ok());
  const auto partition = client().Partition({}, [done = false](v1::PartitionItem* item) mutable {
    item->set_id("1");
    SetText(item->mutable_kernel(), "a");
    return !std::exchange(done, true);
  }, nullptr);
  ASSERT_TRUE(partition.ok());
  const std::string metrics = Scrape();
  EXPECT_EQ(metrics.substr(0, 15), "HTTP/1.1 200 OK");
  for (const char* line : {
           "samebits_rpc_requests_total{code=\"OK\",method=\"CompareKernels\"} 3",
           "samebits_rpc_requests_total{code=\"INVALID_ARGUMENT\",method=\"CompareKernels\"} 1",
           "samebits_rpc_requests_total{code=\"RESOURCE_EXHAUSTED\",method=\"RegisterKernel\"} 1",
           "samebits_rpc_requests_total{code=\"OK\",method=\"PartitionKernels\"} 1",
           "samebits_rpc_duration_seconds_count{method=\"CompareKernels\"} 4",
           "samebits_rpc_duration_seconds_bucket{method=\"CompareKernels\",le=\"0.001\"}",
           "samebits_check_stage_duration_seconds_count{stage=\"parse\"} 3",
           "samebits_check_stage_duration_seconds_count{stage=\"execute\"} 3",
           "samebits_check_stage_duration_seconds_count{stage=\"map\"} 3",
           "samebits_check_stage_duration_seconds_count{stage=\"queue\"} 3",
           "samebits_signature_requests_total{source=\"computed\"} 3",
           "samebits_signature_requests_total{source=\"coalesced\"}",
           "samebits_signature_requests_total{source=\"memory\"}",
           "samebits_signature_requests_total{source=\"store\"} 0",
           "samebits_verdicts_total{verdict=\"EQUIVALENT\"} 2",
           "samebits_verdicts_total{verdict=\"UNKNOWN\"} 1",
           "samebits_checks_total{status=\"OK\"} 2",
           "samebits_checks_total{status=\"UNKNOWN\"} 1",
           "samebits_unknown_total{reason=\"UNMODELLED_INSTRUCTION\"} 1",
           "samebits_limit_rejections_total{limit=\"max_text_bytes\"} 1",
           "samebits_partition_items_total 1",
           "samebits_queue_depth{queue=\"checks\"} 0",
           "samebits_queue_depth{queue=\"store\"} 0",
           "samebits_queue_running{queue=\"checks\"} 0",
           "samebits_pending_text_bytes 0",
           "samebits_partition_streams 0",
           "samebits_signature_cache_entries 3",
           "samebits_store_kernels 1",
           "samebits_store_text_bytes 1",
           "samebits_store_signatures 1",
           "samebits_store_errors_total 0",
           "samebits_process_start_time_seconds",
       })
    EXPECT_NE(metrics.find(std::string("\n") + line), std::string::npos) << line;
}

TEST_F(ServiceTest, ShowsAStatusPage) {
  config_.metrics_listen = "127.0.0.1:0";
  ASSERT_TRUE(client().Compare(CompareTexts("a", "a")).ok());
  const std::string page = HttpGet(server().metrics_address(), "/");
  EXPECT_EQ(page.substr(0, 15), "HTTP/1.1 200 OK");
  for (const char* part : {"Content-Type: text/html; charset=utf-8", "Content-Security-Policy: default-src 'none'",
                           "No worker has registered yet", "EQUIVALENT", "</html>"})
    EXPECT_THAT(page, HasSubstr(part));
  EXPECT_THAT(page, HasSubstr("samebits-worker --server " + server().address()));
  for (const char* path : {"/none", "/metrics/x", "/../etc/passwd", "/index.html"})
    EXPECT_EQ(HttpGet(server().metrics_address(), path).substr(8, 5), " 404 ") << path;
}

TEST_F(ServiceTest, NeedsNoMetricsEndpoint) {
  EXPECT_EQ(server().metrics_address(), "");
  EXPECT_TRUE(client().CheckHealth().ok());
}

TEST_F(ServiceTest, RefusesPlaintextOnANetwork) {
  for (const char* listen : {"0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.com:0"}) {
    config_.listen = listen;
    const auto server = server::Server::Start(config_);
    EXPECT_TRUE(absl::IsInvalidArgument(server.status())) << listen << ": " << server.status();
    EXPECT_THAT(std::string(server.status().message()), HasSubstr("loopback"));
  }
  config_.listen = "0.0.0.0:0";
  config_.allow_remote_plaintext = true;
  EXPECT_TRUE(server::Server::Start(config_).ok());
}

TEST_F(ServiceTest, ReportsATakenPort) {
  config_.metrics_listen = "127.0.0.1:0";
  config_.listen = server().address();
  const auto second = server::Server::Start(config_);
  EXPECT_TRUE(absl::IsUnavailable(second.status())) << second.status();
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(server().address()));
  config_.listen = "127.0.0.1:0";
  config_.metrics_listen = server().metrics_address();
  const auto third = server::Server::Start(config_);
  EXPECT_TRUE(absl::IsUnavailable(third.status())) << third.status();
}

TEST_F(ServiceTest, ListensOnAUnixSocket) {
  const std::string path = (std::filesystem::temp_directory_path() / ("samebits_" + std::to_string(getpid()))).string();
  config_.listen = "unix:" + path;
  EXPECT_EQ(server().address(), "unix:" + path);
  EXPECT_TRUE(client().RegisterKernel("a").ok());
}

TEST_F(ServiceTest, ReportsThatNoServerAnswers) {
  client::ClientOptions options;
  options.target = "127.0.0.1:1";
  options.connect_timeout = absl::Milliseconds(200);
  const auto client = client::Client::Connect(options);
  EXPECT_TRUE(absl::IsUnavailable(client.status()));
  EXPECT_THAT(std::string(client.status().message()), HasSubstr("127.0.0.1:1"));
}

class RestartTest : public testing::Test {
 protected:
  RestartTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "samebits_restart_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    config_.listen = "127.0.0.1:0";
    config_.metrics_listen.clear();
    config_.log_level = server::LogLevel::kError;
    config_.database = (folder_ / "store.db").string();
    config_.checker = checker_;
  }
  ~RestartTest() override { std::filesystem::remove_all(folder_); }
  std::unique_ptr<client::Client> Connect(const server::Server& server) {
    client::ClientOptions options;
    options.target = server.address();
    auto client = client::Client::Connect(options);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  const std::shared_ptr<server::FakeChecker> checker_ = std::make_shared<server::FakeChecker>();
  server::ServerConfig config_;
  std::filesystem::path folder_;
};

TEST_F(RestartTest, KeepsKernelsAndSignatures) {
  std::string name;
  {
    const auto server = server::Server::Start(config_);
    ASSERT_TRUE(server.ok()) << server.status();
    const auto client = Connect(**server);
    name = client->RegisterKernel("a")->name();
    ASSERT_FALSE(client->Compare(CompareNames(name, name))->a().cached());
  }
  const auto server = server::Server::Start(config_);
  ASSERT_TRUE(server.ok()) << server.status();
  const auto client = Connect(**server);
  EXPECT_EQ(client->GetKernel(name, true)->text(), "a");
  EXPECT_TRUE(client->Compare(CompareNames(name, name))->a().cached());
  EXPECT_EQ(checker_->runs, 1);
}

TEST_F(RestartTest, RecomputesSignaturesOfAnotherVersion) {
  std::string name;
  for (const int version : {1, 2}) {
    checker_->version = version;
    const auto server = server::Server::Start(config_);
    ASSERT_TRUE(server.ok()) << server.status();
    const auto client = Connect(**server);
    name = client->RegisterKernel("a")->name();
    const auto comparison = client->Compare(CompareNames(name, name));
    ASSERT_TRUE(comparison.ok());
    EXPECT_FALSE(comparison->a().cached());
    EXPECT_EQ(comparison->a().signature_version(), version);
  }
  EXPECT_EQ(checker_->runs, 2);
}

TEST_F(RestartTest, RefusesADatabaseInUse) {
  const auto first = server::Server::Start(config_);
  ASSERT_TRUE(first.ok());
  const auto second = server::Server::Start(config_);
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("another server"));
}

TEST_F(RestartTest, ShutdownLetsRunningCallsEnd) {
  config_.drain_timeout = absl::Seconds(20);
  const auto server = server::Server::Start(config_);
  ASSERT_TRUE(server.ok());
  const auto client = Connect(**server);
  absl::StatusOr<v1::Comparison> answer;
  std::thread caller([&] { answer = client->Compare(CompareTexts("a wait", "b")); });
  ASSERT_TRUE(checker_->AwaitRuns(1));
  std::thread stopper([&] { (*server)->Shutdown(); });
  absl::SleepFor(absl::Milliseconds(100));
  checker_->Release();
  caller.join();
  stopper.join();
  EXPECT_TRUE(answer.ok()) << answer.status();
}

TEST_F(RestartTest, ShutdownRefusesWhatIsNew) {
  config_.drain_timeout = absl::Seconds(20);
  const auto server = server::Server::Start(config_);
  ASSERT_TRUE(server.ok());
  client::ClientOptions options;
  options.target = (*server)->address();
  options.retry.max_attempts = 1;
  const auto client = *client::Client::Connect(options);
  std::thread caller([&] { EXPECT_TRUE(client->Compare(CompareTexts("a wait", "b")).ok()); });
  ASSERT_TRUE(checker_->AwaitRuns(1));
  std::thread stopper([&] { (*server)->Shutdown(); });
  absl::Status health;
  while ((health = client->CheckHealth()).ok()) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_TRUE(absl::IsUnavailable(health)) << health;
  absl::SleepFor(absl::Milliseconds(50));
  const std::vector<absl::Status> refused = {
      client->RegisterKernel("x").status(), client->GetKernel("x", false).status(),
      client->ListKernels(0, "").status(), client->DeleteKernel("x"), client->ComputeSignature({}).status(),
      client->Compare({}).status(), client->Explain({}).status(),
      client->Partition({}, [](v1::PartitionItem*) { return false; }, nullptr).status()};
  for (const absl::Status& status : refused) {
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_EQ(ReasonOf(status), "SHUTTING_DOWN");
  }
  checker_->Release();
  caller.join();
  stopper.join();
}

TEST_F(RestartTest, ShutdownCancelsWhatDoesNotEnd) {
  config_.drain_timeout = absl::Milliseconds(100);
  const auto server = server::Server::Start(config_);
  ASSERT_TRUE(server.ok());
  client::ClientOptions options;
  options.target = (*server)->address();
  options.retry.max_attempts = 1;
  const auto client = *client::Client::Connect(options);
  absl::StatusOr<v1::Comparison> answer;
  std::thread caller([&] { answer = client->Compare(CompareTexts("a wait", "b wait")); });
  absl::StatusOr<v1::Partition> partition;
  std::thread streamer([&] {
    int i = 0;
    partition = client->Partition({}, [&](v1::PartitionItem* item) {
      item->set_id(std::to_string(i));
      SetText(item->mutable_kernel(), "p" + std::to_string(i) + " wait");
      return ++i <= 100;
    }, nullptr);
  });
  ASSERT_TRUE(checker_->AwaitRuns(2));
  (*server)->Shutdown();  // hangs if the checks are not told
  (*server)->Shutdown();  // harmless
  caller.join();
  streamer.join();
  EXPECT_FALSE(answer.ok());
  EXPECT_FALSE(partition.ok());
}

}  // namespace
}  // namespace samebits
