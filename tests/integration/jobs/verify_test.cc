// VerifyKernels from the request to the result: a server in this process, agents in this process, kernels in children.

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "client/cpp/job_client.h"
#include "samebits/v1/operations.grpc.pb.h"
#include "server/registry/checker_backend.h"
#include "server/server.h"
#include "tests/integration/cli/kernels.h"
#include "tests/integration/cli/program.h"
#include "tests/support/fake_checker.h"
#include "workers/agent/agent.h"
#include "workers/executor/cpu/cpu_executor.h"

namespace samebits {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using v1::Operation;
using v1::VerifyKernelsResponse;

// A worker with CPU devices, in this process, until it goes.
class Worker {
 public:
  Worker(const std::string& server, const std::string& id, int devices = 1, bool runs_submitted_kernels = true,
         absl::Duration launch_timeout = absl::Seconds(20), const char* program = SAMEBITS_TEST_WORKER) {
    workers::AgentConfig config;
    config.worker = id;
    config.version = "test";
    config.runs_submitted_kernels = runs_submitted_kernels;
    config.retry_interval = absl::Milliseconds(20);
    config.limits.program = program;
    config.limits.launch_timeout = launch_timeout;
    config.limits.memory_bytes = 2ull << 30;
    for (int i = 0; i < devices; ++i)
      config.devices.push_back({workers::MakeCpuExecutor({}, static_cast<uint32_t>(i))->device(), "cpu:0"});
    agent_ = workers::MakeAgent(config, grpc::CreateChannel(server, grpc::InsecureChannelCredentials()));
    thread_ = std::thread([this] { status_ = agent_->Run(); });
  }
  ~Worker() {
    if (thread_.joinable()) Stop().IgnoreError();
  }
  absl::Status Stop() {
    agent_->Stop();
    thread_.join();
    return status_;
  }

 private:
  std::unique_ptr<workers::Agent> agent_;
  absl::Status status_;
  std::thread thread_;
};

void SetKernel(const std::string& text, v1::KernelLaunch* kernel) {
  kernel->set_text(text);
  v1::Launch* launch = kernel->mutable_launch();
  for (v1::Dim3* dim : {launch->mutable_block(), launch->mutable_grid()}) {
    dim->set_x(2);
    dim->set_y(1);
    dim->set_z(1);
  }
  launch->mutable_block()->set_x(32);
  launch->mutable_args()->add_arguments()->mutable_pointer()->set_buffer("x");
  launch->mutable_args()->add_arguments()->mutable_pointer()->set_buffer("o");
  launch->mutable_args()->add_arguments()->set_float32_bits(0x3f800000);
}

v1::VerifyKernelsRequest Request(const std::vector<std::pair<std::string, std::string>>& kernels) {
  v1::VerifyKernelsRequest request;
  for (const auto& [id, text] : kernels) {
    v1::VerifyLaunch* launch = request.add_launches();
    launch->set_id(id);
    SetKernel(text, launch->mutable_kernel());
  }
  for (const char* name : {"x", "o"}) {
    v1::BufferSpec* buffer = request.add_buffers();
    buffer->set_name(name);
    buffer->set_type("f32");
    buffer->set_elements(64);
    buffer->set_role(*name == 'x' ? v1::BufferSpec::IN : v1::BufferSpec::OUT);
  }
  return request;
}

// Certifies any two texts as equal.
class Certifier : public server::FakeChecker {
 public:
  absl::StatusOr<checker::TextInfo> DescribeText(std::string_view, const checker::Limits&) const override {
    return checker::TextInfo{
        "ptx", "sm_80", "8.0", {{"k", {{"p", "u64", 8, true}, {"q", "u64", 8, true}, {"x", "f32", 4, false}}, {}, 0}}};
  }
};

// All threads write their element to one address.
std::string LastWriterWins() { return test::ElementKernel("mov.f32 %f3, %f1;", "st.global.f32 [%rd2], %f3;"); }

class VerifyTest : public testing::Test {
 protected:
  VerifyTest() {
    config_.listen = "127.0.0.1:0";
    config_.metrics_listen.clear();
    config_.log_level = server::LogLevel::kError;
    config_.drain_timeout = absl::Seconds(2);
    config_.limits.check.max_steps = 1'000'000;  // of endless kernels
    config_.dispatch.tick = absl::Milliseconds(20);
    config_.dispatch.least_poll = absl::Milliseconds(20);
    config_.dispatch.retry_delay = absl::Milliseconds(20);
  }
  server::Server& server() {
    if (server_ == nullptr) {
      auto server = server::Server::Start(config_);
      EXPECT_TRUE(server.ok()) << server.status();
      server_ = *std::move(server);
    }
    return *server_;
  }
  client::JobClient& client() {
    if (client_ == nullptr) {
      client::ClientOptions options;
      options.target = server().address();
      options.retry.max_attempts = 1;
      auto client = client::JobClient::Connect(options);
      EXPECT_TRUE(client.ok()) << client.status();
      client_ = *std::move(client);
    }
    return *client_;
  }
  // Until so many workers are there.
  void AwaitWorkers(int count) {
    const absl::Time limit = absl::Now() + absl::Seconds(20);
    while (client().ListWorkers()->workers_size() < count) {
      ASSERT_LT(absl::Now(), limit);
      absl::SleepFor(absl::Milliseconds(5));
    }
  }
  Operation Start(const v1::VerifyKernelsRequest& request) {
    auto operation = client().VerifyKernels(request);
    EXPECT_TRUE(operation.ok()) << operation.status();
    return operation.ok() ? *std::move(operation) : Operation();
  }
  VerifyKernelsResponse Verify(const v1::VerifyKernelsRequest& request) {
    const auto ended = client().Watch(Start(request).name(), nullptr);
    EXPECT_TRUE(ended.ok()) << ended.status();
    EXPECT_TRUE(ended->has_verify_kernels()) << ended->DebugString();
    return ended->verify_kernels();
  }
  static std::string Reason(const absl::Status& status) {
    const auto info = client::GetErrorInfo(status);
    return info ? info->reason : "";
  }

  server::ServerConfig config_;

 private:
  std::unique_ptr<server::Server> server_;
  std::unique_ptr<client::JobClient> client_;
};

TEST_F(VerifyTest, GroupsLaunchesByTheirBytes) {
  Worker worker(server().address(), "w");
  AwaitWorkers(1);
  const auto result =
      Verify(Request({{"sum", test::Added()}, {"swapped", test::AddedSwapped()}, {"product", test::Multiplied()}}));
  EXPECT_EQ(result.agreement(), VerifyKernelsResponse::CONSISTENT);
  EXPECT_THAT(result.launch_ids(), ElementsAre("sum", "swapped", "product"));
  ASSERT_EQ(result.classes_size(), 2);
  EXPECT_THAT(result.classes(0).launches(), ElementsAre(0, 1));
  EXPECT_THAT(result.classes(1).launches(), ElementsAre(2));
  EXPECT_EQ(result.signatures(0).digest(), result.signatures(1).digest());
  EXPECT_NE(result.signatures(0).digest(), result.signatures(2).digest());
  EXPECT_EQ(result.pairs(), 3);
  EXPECT_EQ(result.certified_pairs(), 1);
  ASSERT_EQ(result.devices_size(), 1);
  EXPECT_EQ(result.devices(0).worker(), "w");
  EXPECT_EQ(result.devices(0).device().backend(), "cpu");
  for (const auto& outcome : result.devices(0).outcomes()) {
    EXPECT_TRUE(outcome.stable());
    EXPECT_EQ(outcome.digests_size(), 5);
    EXPECT_EQ(outcome.digests(0).size(), 32);
  }
}

TEST_F(VerifyTest, KeepsAReproducerWhereTheHardwareContradictsACertificate) {
  config_.checker = std::make_shared<Certifier>();
  Worker worker(server().address(), "w");
  AwaitWorkers(1);
  auto request = Request({{"sum", test::Added()}, {"product", test::Multiplied()}, {"race", LastWriterWins()}});
  request.add_distributions("integers");
  const auto result = Verify(request);
  EXPECT_EQ(result.agreement(), VerifyKernelsResponse::CONTRADICTED);
  ASSERT_GE(result.contradictions_size(), 2);
  EXPECT_EQ(result.contradictions(result.contradictions_size() - 1).kind(), v1::Contradiction::UNSTABLE);
  EXPECT_EQ(result.contradictions(0).kind(), v1::Contradiction::PAIR_DIFFERS);
  EXPECT_EQ(result.contradictions(0).a(), "sum");
  EXPECT_EQ(result.contradictions(0).b(), "product");
  EXPECT_EQ(result.contradictions(0).distribution(), "integers");
  EXPECT_THAT(result.contradictions(0).reproducer(), HasSubstr("reproducers/"));
}

// The whole way of an alarm: a device with wrong bits, the certificate that it contradicts, the reproducer, its files,
// and the same pair again on the wrong device and on a sound one.
TEST_F(VerifyTest, AReproducerIsListedFetchedRunAgainAndDeleted) {
  Worker faulty(server().address(), "faulty", 1, true, absl::Seconds(20), SAMEBITS_FAULTY_WORKER);
  AwaitWorkers(1);
  auto request = Request({{"it's", test::Added()}, {"b/../c", "// flip\n" + test::AddedSwapped()}});
  request.add_distributions("normal");
  request.add_devices("workers/faulty/devices/0");
  const auto result = Verify(request);
  EXPECT_EQ(result.agreement(), VerifyKernelsResponse::CONTRADICTED);
  ASSERT_EQ(result.contradictions_size(), 1);
  EXPECT_THAT(result.contradictions(0).assumptions(), ElementsAre(HasSubstr("do not overlap")));
  const auto page = client().ListReproducers("");
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->reproducers_size(), 1);
  const std::string name = page->reproducers(0).name();
  EXPECT_EQ(name, result.contradictions(0).reproducer());
  const auto kept = client().GetReproducer(name);
  ASSERT_TRUE(kept.ok()) << kept.status();
  ASSERT_EQ(kept->request().launches_size(), 2);
  EXPECT_EQ(kept->request().launches(0).kernel().text(), test::Added());
  EXPECT_EQ(kept->signatures(0).digest(), kept->signatures(1).digest());
  EXPECT_NE(kept->device().outcomes(0).digests(0), kept->device().outcomes(1).digests(0));
  EXPECT_TRUE(client().DeleteOperation(kept->operation()).ok());  // the reproducer outlives it

  const test::Folder folder;
  const auto ask = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--server", server().address()});
    return test::RunSamebits(words);
  };
  EXPECT_THAT(ask({"reproducers"}).out, HasSubstr(name));
  const test::Outcome fetched = ask({"reproducers", name, "--out", folder.path() + "/case"});
  ASSERT_EQ(fetched.exit_code, 0) << fetched.err;
  EXPECT_THAT(fetched.out, HasSubstr("--seed 'samebits'"));
  const std::string manifest = folder.path() + "/case/manifest.jsonl";
  EXPECT_EQ(test::RunSamebits({"compare", "--local", "--manifest", manifest, "a", "b"}).exit_code, 0);
  const test::Outcome again = ask({"verify", "--manifest", manifest, "--distribution", "normal"});
  EXPECT_EQ(again.exit_code, 1) << again.err;
  EXPECT_THAT(again.out, HasSubstr("CONTRADICTED"));
  EXPECT_TRUE(faulty.Stop().ok());
  Worker sound(server().address(), "faulty");
  const test::Outcome agreed = ask({"verify", "--manifest", manifest, "--distribution", "normal"});
  EXPECT_EQ(agreed.exit_code, 0) << agreed.out << agreed.err;

  EXPECT_EQ(ask({"reproducers", name, "--delete"}).exit_code, 0);
  EXPECT_EQ(ask({"reproducers", name}).exit_code, 2);
  EXPECT_EQ(Reason(client().GetReproducer(name).status()), "RESOURCE_NOT_FOUND");
  EXPECT_EQ(client().ListReproducers("")->reproducers_size(), 1);  // of the second run
}

TEST_F(VerifyTest, RunsOnEachDeviceOfEachWorkerAndOnChosenOnes) {
  Worker a(server().address(), "a", 2), b(server().address(), "b"), none(server().address(), "none", 1, false);
  AwaitWorkers(3);
  auto request = Request({{"sum", test::Added()}});
  std::vector<std::string> targets;
  const VerifyKernelsResponse all = Verify(request);
  for (const auto& device : all.devices()) targets.push_back(device.target());
  EXPECT_THAT(targets, ElementsAre("workers/a/devices/0", "workers/a/devices/1", "workers/b/devices/0"));
  request.add_devices("workers/b/devices/0");
  request.add_devices("cpu");
  const auto chosen = Verify(request);
  ASSERT_EQ(chosen.devices_size(), 2);
  EXPECT_EQ(chosen.devices(0).worker(), "b");
  ASSERT_EQ(chosen.classes_size(), 1);
  EXPECT_THAT(chosen.classes(0).devices(), ElementsAre(0, 1));
  request.add_devices("workers/none/devices/0");
  EXPECT_EQ(Reason(client().VerifyKernels(request).status()), "NO_DEVICE");
}

TEST_F(VerifyTest, BadKernelsHarmOnlyThemselves) {
  Worker worker(server().address(), "w", 1, true, absl::Seconds(1));
  AwaitWorkers(1);
  const auto result = Verify(Request({
      {"outside", test::ElementKernel("mov.f32 %f3, %f1;", "st.global.f32 [%rd4+65536], %f3;")},
      {"endless", test::ElementKernel("$L: bra $L; mov.f32 %f3, %f1;")},
      {"approximate", test::ElementKernel("sin.approx.f32 %f3, %f1;")},
      {"unknown", test::ElementKernel("frobnicate.f32 %f3, %f1;")},
      {"good", test::Added()},
  }));
  const auto& outcomes = result.devices(0).outcomes();
  EXPECT_EQ(outcomes[0].error().code(), static_cast<int>(absl::StatusCode::kOutOfRange)) << outcomes[0].DebugString();
  EXPECT_EQ(outcomes[1].error().code(), static_cast<int>(absl::StatusCode::kDeadlineExceeded));
  EXPECT_EQ(outcomes[2].error().code(), static_cast<int>(absl::StatusCode::kUnimplemented));
  EXPECT_EQ(outcomes[3].error().code(), static_cast<int>(absl::StatusCode::kUnimplemented));
  EXPECT_FALSE(outcomes[4].has_error());
  EXPECT_TRUE(outcomes[4].stable());
  EXPECT_EQ(Verify(Request({{"next", test::Added()}})).agreement(), VerifyKernelsResponse::CONSISTENT);
}

TEST_F(VerifyTest, RacesShowAsNotRepeating) {
  Worker worker(server().address(), "w");
  AwaitWorkers(1);
  auto request = Request({{"race", LastWriterWins()}});
  request.add_distributions("scales");
  const auto result = Verify(request);
  EXPECT_FALSE(result.devices(0).outcomes(0).stable());
  EXPECT_EQ(result.agreement(), VerifyKernelsResponse::NOT_TESTED);
  EXPECT_EQ(result.classes_size(), 0);
}

TEST_F(VerifyTest, RefusesRequestsThatCannotRun) {
  Worker worker(server().address(), "w");
  AwaitWorkers(1);
  const auto reason = [&](const std::function<void(v1::VerifyKernelsRequest*)>& spoil) {
    auto request = Request({{"sum", test::Added()}});
    spoil(&request);
    return Reason(client().VerifyKernels(request).status());
  };
  EXPECT_EQ(reason([](auto* r) { r->clear_launches(); }), "INVALID_FIELD");
  EXPECT_EQ(reason([](auto* r) { *r->add_launches() = r->launches(0); }), "INVALID_FIELD");
  EXPECT_EQ(reason([](auto* r) { r->mutable_launches(0)->mutable_kernel()->mutable_launch()->clear_grid(); }),
            "INVALID_FIELD");
  EXPECT_EQ(reason([](auto* r) { r->mutable_launches(0)->mutable_kernel()->mutable_launch()->clear_args(); }),
            "INVALID_FIELD");
  EXPECT_EQ(reason([](auto* r) { r->mutable_launches(0)->mutable_kernel()->set_text(test::Misspelt()); }),
            "PTX_SYNTAX");
  EXPECT_EQ(reason([](auto* r) {
              r->mutable_launches(0)->mutable_kernel()->set_kernel("kernels/" + std::string(64, '0'));
            }),
            "KERNEL_NOT_FOUND");
  EXPECT_EQ(reason([](auto* r) { r->mutable_buffers(0)->set_type("f31"); }), "INVALID_FIELD");
  EXPECT_EQ(reason([](auto* r) { r->mutable_buffers(0)->set_elements(1ull << 40); }), "LIMIT_EXCEEDED");
  EXPECT_EQ(reason([](auto* r) { r->mutable_buffers(1)->set_role(v1::BufferSpec::IN); }), "INVALID_FIELD");
  EXPECT_EQ(reason([](auto* r) { r->add_distributions("gaussian"); }), "INVALID_FIELD");
  EXPECT_EQ(reason([](auto* r) { r->set_runs(101); }), "INVALID_FIELD");
  EXPECT_EQ(reason([](auto* r) { r->set_priority(101); }), "INVALID_FIELD");
  EXPECT_EQ(reason([](auto* r) { r->mutable_options()->set_ignore_signed_zero(true); }), "INVALID_FIELD");
  EXPECT_EQ(reason([](auto* r) { r->add_devices("cuda"); }), "NO_DEVICE");
  EXPECT_EQ(reason([](auto*) {}), "");
}

TEST_F(VerifyTest, OneRequestIdMakesOneOperation) {
  Worker worker(server().address(), "w");
  AwaitWorkers(1);
  auto request = Request({{"sum", test::Added()}});
  request.set_request_id("r");
  const std::string name = Start(request).name();
  EXPECT_EQ(Start(request).name(), name);
  request.set_runs(3);
  EXPECT_EQ(Reason(client().VerifyKernels(request).status()), "REQUEST_ID_REUSED");
}

TEST_F(VerifyTest, ACancelledOperationEndsAtOnceAndItsKernelToo) {
  Worker worker(server().address(), "w", 1, true, absl::Hours(1));
  AwaitWorkers(1);
  const std::string name = Start(Request({{"endless", test::ElementKernel("$L: bra $L; mov.f32 %f3, %f1;")}})).name();
  const absl::Time limit = absl::Now() + absl::Seconds(20);
  while (client().GetOperation(name)->state() != Operation::RUNNING && absl::Now() < limit)
    absl::SleepFor(absl::Milliseconds(5));
  const auto cancelled = client().CancelOperation(name);
  ASSERT_TRUE(cancelled.ok());
  EXPECT_EQ(cancelled->state(), Operation::CANCELLED);
  EXPECT_EQ(cancelled->error().code(), static_cast<int>(absl::StatusCode::kCancelled));
  Verify(Request({{"next", test::Added()}}));  // the device is free again
  EXPECT_TRUE(client().DeleteOperation(name).ok());
  EXPECT_EQ(Reason(client().GetOperation(name).status()), "RESOURCE_NOT_FOUND");
}

TEST_F(VerifyTest, AStoppingWorkersTaskGoesToAnotherWithItsCause) {
  auto first = std::make_unique<Worker>(server().address(), "first", 1, true, absl::Seconds(3));
  AwaitWorkers(1);
  auto request = Request({{"endless", test::ElementKernel("$L: bra $L; mov.f32 %f3, %f1;")}});
  request.add_devices("cpu");
  const std::string name = Start(request).name();
  const absl::Time limit = absl::Now() + absl::Seconds(20);
  while (client().GetOperation(name)->state() != Operation::RUNNING && absl::Now() < limit)
    absl::SleepFor(absl::Milliseconds(5));
  EXPECT_TRUE(first->Stop().ok());
  Worker second(server().address(), "second", 1, true, absl::Milliseconds(300));
  const auto ended = client().Watch(name, nullptr);
  ASSERT_TRUE(ended.ok()) << ended.status();
  ASSERT_EQ(ended->tasks_size(), 1);
  EXPECT_EQ(ended->tasks(0).worker(), "second");
  EXPECT_EQ(ended->tasks(0).attempt(), 2);
  ASSERT_EQ(ended->tasks(0).attempt_errors_size(), 1);
  EXPECT_EQ(ended->tasks(0).attempt_errors(0).message(), "the worker is stopping");
}

TEST_F(VerifyTest, WatchShowsProgressAndWaitReturnsInTime) {
  Worker worker(server().address(), "w");
  AwaitWorkers(1);
  std::vector<Operation::State> states;
  uint64_t most = 0;
  const std::string name = Start(Request({{"a", test::Added()}, {"b", test::Multiplied()}})).name();
  const auto ended = client().Watch(name, [&](const Operation& operation) {
    states.push_back(operation.state());
    most = std::max(most, operation.tasks(0).total());
  });
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(states.back(), Operation::SUCCEEDED);
  const auto stub = v1::Operations::NewStub(grpc::CreateChannel(server().address(), grpc::InsecureChannelCredentials()));
  auto endless = Request({{"endless", test::ElementKernel("$L: bra $L; mov.f32 %f3, %f1;")}});
  v1::WaitOperationRequest request;
  request.set_name(Start(endless).name());
  request.mutable_timeout()->set_nanos(100'000'000);
  grpc::ClientContext context;
  Operation operation;
  const absl::Time begin = absl::Now();
  ASSERT_TRUE(stub->WaitOperation(&context, request, &operation).ok());
  EXPECT_LT(absl::Now() - begin, absl::Seconds(5));
  EXPECT_TRUE(operation.state() == Operation::QUEUED || operation.state() == Operation::RUNNING);
  client().CancelOperation(request.name()).IgnoreError();
  grpc::ClientContext again;
  request.mutable_timeout()->set_seconds(20);
  ASSERT_TRUE(stub->WaitOperation(&again, request, &operation).ok());
  EXPECT_EQ(operation.state(), Operation::CANCELLED);
}

TEST_F(VerifyTest, AStoppingServerEndsItsStreams) {
  Worker worker(server().address(), "w", 1, true, absl::Hours(1));
  AwaitWorkers(1);
  const std::string name = Start(Request({{"endless", test::ElementKernel("$L: bra $L; mov.f32 %f3, %f1;")}})).name();
  absl::Status status;
  std::atomic<bool> watching{false};
  std::thread watcher([&] {
    status = client().Watch(name, [&](const Operation&) { watching = true; }).status();
  });
  while (!watching) absl::SleepFor(absl::Milliseconds(5));
  const absl::Time begin = absl::Now();
  server().Shutdown();
  watcher.join();
  EXPECT_LT(absl::Now() - begin, config_.drain_timeout);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST_F(VerifyTest, FleetShowsWorkersAndDrainsThem) {
  Worker worker(server().address(), "w", 2);
  AwaitWorkers(1);
  const auto shown = client().GetWorker("workers/w");
  ASSERT_TRUE(shown.ok()) << shown.status();
  EXPECT_EQ(shown->state(), v1::Worker::ONLINE);
  EXPECT_EQ(shown->version(), "test");
  EXPECT_TRUE(shown->runs_submitted_kernels());
  EXPECT_EQ(shown->devices_size(), 2);
  EXPECT_TRUE(client().DrainWorker("workers/w", false)->draining());
  const std::string name = Start(Request({{"sum", test::Added()}})).name();
  absl::SleepFor(absl::Milliseconds(200));
  EXPECT_EQ(client().GetOperation(name)->state(), Operation::QUEUED);
  EXPECT_FALSE(client().DrainWorker("workers/w", true)->draining());
  EXPECT_EQ(client().Watch(name, nullptr)->state(), Operation::SUCCEEDED);
  EXPECT_EQ(Reason(client().GetWorker("workers/x").status()), "RESOURCE_NOT_FOUND");
  EXPECT_EQ(Reason(client().GetWorker("x").status()), "INVALID_FIELD");
}

TEST_F(VerifyTest, ASecondWorkerOfOneNameEndsTheFirst) {
  Worker first(server().address(), "w");
  AwaitWorkers(1);
  Worker second(server().address(), "w");
  const auto result = Verify(Request({{"sum", test::Added()}}));
  EXPECT_EQ(result.agreement(), VerifyKernelsResponse::CONSISTENT);
  EXPECT_TRUE(absl::IsAborted(first.Stop()));
}

}  // namespace
}  // namespace samebits
