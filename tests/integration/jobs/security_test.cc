// Who may call what: tokens, roles, enrolment, leases of others, TLS, limits under a crowd. Over gRPC.

#include <google/protobuf/descriptor.h>
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/unknown_field_set.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/client.h"
#include "client/cpp/job_client.h"
#include "samebits/v1/kernel_service.grpc.pb.h"
#include "samebits/v1/operations.grpc.pb.h"
#include "samebits/worker/v1/worker_sessions.grpc.pb.h"
#include "server/auth/tokens.h"
#include "server/registry/digest.h"
#include "server/server.h"
#include "tests/support/fake_checker.h"
#include "workers/agent/agent.h"

namespace samebits {
namespace {

using server::Role;
using ::testing::HasSubstr;
using ::testing::Not;

// Which roles may call each method. A method that is not here fails the test: decide who may call it.
const std::map<std::string, std::string>& Rules() {
  static const auto* rules = new std::map<std::string, std::string>{
      {"samebits.v1.KernelService/RegisterKernel", "submitter admin"},
      {"samebits.v1.KernelService/GetKernel", "viewer submitter admin"},
      {"samebits.v1.KernelService/ListKernels", "viewer submitter admin"},
      {"samebits.v1.KernelService/DeleteKernel", "admin"},
      {"samebits.v1.KernelService/ComputeKernelSignature", "viewer submitter admin"},
      {"samebits.v1.KernelService/CompareKernels", "viewer submitter admin"},
      {"samebits.v1.KernelService/ExplainDifference", "viewer submitter admin"},
      {"samebits.v1.KernelService/PartitionKernels", "viewer submitter admin"},
      {"samebits.v1.KernelService/VerifyKernels", "submitter admin"},
      {"samebits.v1.Operations/GetOperation", "viewer submitter admin"},
      {"samebits.v1.Operations/ListOperations", "viewer submitter admin"},
      {"samebits.v1.Operations/WaitOperation", "viewer submitter admin"},
      {"samebits.v1.Operations/WatchOperation", "viewer submitter admin"},
      {"samebits.v1.Operations/CancelOperation", "submitter admin"},
      {"samebits.v1.Operations/DeleteOperation", "admin"},
      {"samebits.v1.Operations/ListReproducers", "viewer submitter admin"},
      {"samebits.v1.Operations/GetReproducer", "viewer submitter admin"},
      {"samebits.v1.Operations/DeleteReproducer", "admin"},
      {"samebits.v1.FleetService/GetWorker", "viewer submitter admin"},
      {"samebits.v1.FleetService/ListWorkers", "viewer submitter admin"},
      {"samebits.v1.FleetService/ListDevices", "viewer submitter admin"},
      {"samebits.v1.FleetService/DrainWorker", "admin"},
      {"samebits.v1.FleetService/CreateEnrolment", "admin"},
      {"samebits.v1.FleetService/RevokeWorker", "admin"},
      {"samebits.v1.ArchProfileService/ImportArchProfile", "submitter admin"},
      {"samebits.v1.ArchProfileService/ReconstructArchProfile", "submitter admin"},
      {"samebits.v1.ArchProfileService/RecoverGemms", "submitter admin"},
      {"samebits.v1.ArchProfileService/EmulateGemmOnWorker", "submitter admin"},
      {"samebits.v1.ArchProfileService/GetArchProfile", "viewer submitter admin"},
      {"samebits.v1.ArchProfileService/ListArchProfiles", "viewer submitter admin"},
      {"samebits.v1.ArchProfileService/ExportArchProfile", "viewer submitter admin"},
      {"samebits.v1.ArchProfileService/DeleteArchProfile", "admin"},
      {"samebits.v1.ArchProfileService/DescribeGemm", "viewer submitter admin"},
      {"samebits.v1.ArchProfileService/EmulateGemm", "viewer submitter admin"},
      {"samebits.v1.ArchProfileService/ReportBatchInvariance", "viewer submitter admin"},
      {"samebits.v1.ArchProfileService/CompareArchProfiles", "viewer submitter admin"},
      {"samebits.v1.NumericsService/EvaluateReproducibility", "submitter admin"},
      {"samebits.v1.NumericsService/AttributeErrors", "submitter admin"},
      {"samebits.v1.NumericsService/DecomposeErrors", "submitter admin"},
      {"samebits.v1.NumericsService/SweepSignificand", "submitter admin"},
      {"samebits.v1.NumericsService/MeasureQkv", "submitter admin"},
      {"samebits.v1.NumericsService/ChooseSkipPolicy", "submitter admin"},
      {"samebits.v1.NumericsService/MeasureServingCost", "submitter admin"},
      {"samebits.v1.NumericsService/MeasureInstructionMix", "submitter admin"},
      {"samebits.v1.NumericsService/CountInstructions", "viewer submitter admin"},
      {"samebits.worker.v1.WorkerSessions/EnrolWorker", "enrolment"},
      {"samebits.worker.v1.WorkerSessions/CreateWorkerSession", "worker"},
      {"samebits.worker.v1.WorkerSessions/UpdateWorkerSession", "worker"},
  };
  return *rules;
}

// The bytes of each occurrence of one field in the encoding of a message of unknown type.
std::vector<std::string> Field(const std::string& message, int number) {
  google::protobuf::UnknownFieldSet fields;
  EXPECT_TRUE(fields.ParseFromString(message));
  std::vector<std::string> found;
  for (int i = 0; i < fields.field_count(); ++i)
    if (fields.field(i).number() == number) found.push_back(fields.field(i).length_delimited());
  return found;
}

class SecurityTest : public testing::Test {
 protected:
  SecurityTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "samebits_security_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    config_.listen = "127.0.0.1:0";
    config_.metrics_listen.clear();
    config_.log_level = server::LogLevel::kError;
    config_.drain_timeout = absl::Seconds(1);
    config_.dispatch.tick = absl::Milliseconds(20);
    config_.checker = checker_;
  }
  ~SecurityTest() override {
    checker_->Release();
    server_.reset();
    std::filesystem::remove_all(folder_);
  }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(Path(name), std::ios::binary) << text;
    chmod(Path(name).c_str(), 0600);
    return Path(name);
  }
  // A token of each role, "w" for the worker, another worker's and submitter's, and one that has expired.
  void AskForTokens() {
    std::string lines;
    const auto add = [&](Role role, const std::string& principal, absl::Time expires, const std::string& key) {
      const auto token = server::MakeToken(role, principal, expires);
      secrets_[key] = token->secret;
      absl::StrAppend(&lines, token->line, "\n");
    };
    for (const Role role : {Role::kViewer, Role::kSubmitter, Role::kAdmin}) {
      const std::string name(server::RoleName(role));
      add(role, "a-" + name, absl::InfiniteFuture(), name);
    }
    add(Role::kWorker, "w", absl::InfiniteFuture(), "worker");
    add(Role::kWorker, "v", absl::InfiniteFuture(), "other worker");
    add(Role::kSubmitter, "mallory", absl::InfiniteFuture(), "other submitter");
    add(Role::kAdmin, "late", absl::Now() - absl::Seconds(1), "expired");
    config_.token_file = Write("tokens", lines);
  }
  void Start() {
    auto server = server::Server::Start(config_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = Channel();
  }
  std::shared_ptr<grpc::Channel> Channel() {
    return grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
  }
  static void Authorize(grpc::ClientContext* context, const std::string& secret) {
    context->set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
    if (!secret.empty()) context->AddMetadata("authorization", "Bearer " + secret);
  }
  // Calls "package.Service/Method" with an empty request.
  static grpc::Status Call(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                           const std::string& secret) {
    grpc::GenericStub stub(channel);
    grpc::ClientContext context;
    Authorize(&context, secret);
    grpc::CompletionQueue queue;
    const grpc::Slice empty("");
    const auto call = stub.PrepareUnaryCall(&context, "/" + method, grpc::ByteBuffer(&empty, 1), &queue);
    call->StartCall();
    grpc::ByteBuffer answer;
    grpc::Status status;
    call->Finish(&answer, &status, nullptr);
    void* tag;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    return status;
  }
  template <typename Stub, typename Request, typename Response>
  grpc::Status As(const std::string& who, Stub& stub,
                  grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*), const Request& request,
                  Response* response) {
    grpc::ClientContext context;
    Authorize(&context, secrets_.count(who) ? secrets_[who] : who);
    return (stub.*method)(&context, request, response);
  }
  std::unique_ptr<client::JobClient> Admin() {
    client::ClientOptions options;
    options.target = server_->address();
    options.retry.max_attempts = 1;
    options.token_file = Write("admin", secrets_["admin"]);
    return *client::JobClient::Connect(options);
  }
  std::string MakeEnrolment(const std::string& worker = "", uint32_t uses = 1, int seconds = 60) {
    v1::CreateEnrolmentRequest request;
    request.set_worker(worker);
    request.set_uses(uses);
    request.mutable_time_to_live()->set_seconds(seconds);
    const auto made = Admin()->CreateEnrolment(request);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? made->secret() : "";
  }
  grpc::Status Enrol(const std::string& enrolment, const std::string& worker, const std::string& secret) {
    worker::v1::EnrolWorkerRequest request;
    request.set_worker(worker);
    const server::Digest digest = server::ContentDigest(secret);
    request.set_token_sha256(digest.data(), digest.size());
    worker::v1::EnrolWorkerResponse response;
    return As(enrolment, *Sessions(), &worker::v1::WorkerSessions::Stub::EnrolWorker, request, &response);
  }
  std::unique_ptr<worker::v1::WorkerSessions::Stub> Sessions() { return worker::v1::WorkerSessions::NewStub(channel_); }
  // A session of a worker with one CPU.
  grpc::Status Open(const std::string& who, const std::string& worker, int64_t* session = nullptr) {
    worker::v1::CreateWorkerSessionRequest request;
    request.set_worker(worker);
    request.set_runs_submitted_kernels(true);
    request.add_devices()->set_backend("cpu");
    worker::v1::WorkerSession response;
    const grpc::Status status =
        As(who, *Sessions(), &worker::v1::WorkerSessions::Stub::CreateWorkerSession, request, &response);
    if (session != nullptr) *session = response.session();
    return status;
  }
  // All methods of the running server, as its reflection lists them, but those of gRPC itself.
  std::set<std::string> Methods();

  std::filesystem::path folder_;
  const std::shared_ptr<server::FakeChecker> checker_ = std::make_shared<server::FakeChecker>();
  server::ServerConfig config_;
  std::unique_ptr<server::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::map<std::string, std::string> secrets_;
};

std::set<std::string> SecurityTest::Methods() {
  grpc::GenericStub stub(channel_);
  grpc::ClientContext context;
  Authorize(&context, "");
  grpc::CompletionQueue queue;
  const auto wait = [&] {
    void* tag;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(&context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  call->StartCall(nullptr);
  EXPECT_TRUE(wait());
  const grpc::Slice list_services("\x3a\x01*");  // field 7: "*"
  call->Write(grpc::ByteBuffer(&list_services, 1), nullptr);
  EXPECT_TRUE(wait());
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  EXPECT_TRUE(wait());
  grpc::Slice bytes;
  EXPECT_TRUE(answer.DumpToSingleSlice(&bytes).ok());
  std::set<std::string> methods;
  for (const std::string& list : Field(std::string(bytes.begin(), bytes.end()), 6)) {
    for (const std::string& service : Field(list, 1)) {
      const std::string name = Field(service, 1).at(0);
      if (absl::StartsWith(name, "grpc.")) continue;
      const auto* about = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
      EXPECT_NE(about, nullptr) << name;
      for (int m = 0; about != nullptr && m < about->method_count(); ++m)
        methods.insert(absl::StrCat(name, "/", about->method(m)->name()));
    }
  }
  return methods;
}

TEST_F(SecurityTest, EachMethodRefusesEachWrongCaller) {
  AskForTokens();
  Start();
  secrets_["enrolment"] = MakeEnrolment();
  const std::set<std::string> methods = Methods();
  EXPECT_GE(methods.size(), Rules().size());
  for (const std::string& method : methods) {
    const auto rule = Rules().find(method);
    ASSERT_NE(rule, Rules().end()) << method << " has no rule who may call it";
    const std::set<std::string> may = absl::StrSplit(rule->second, ' ');
    for (const std::string& secret : {std::string(), secrets_["expired"], std::string("samebits_guess"),
                                      secrets_["admin"] + "0", secrets_["admin"].substr(1)})
      EXPECT_EQ(Call(channel_, method, secret).error_code(), grpc::StatusCode::UNAUTHENTICATED) << method;
    for (const std::string role : {"viewer", "submitter", "worker", "admin", "enrolment"}) {
      const grpc::Status status = Call(channel_, method, secrets_[role]);
      EXPECT_NE(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << method << " " << role;
      EXPECT_NE(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << method << " " << status.error_message();
      const bool by_role = absl::StrContains(status.error_message(), absl::StrCat("the role ", role, " may not call"));
      EXPECT_EQ(by_role, !may.count(role)) << method << " " << role << " " << status.error_message();
      if (by_role) {
        EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << method << " " << role;
      }
    }
  }
}

TEST_F(SecurityTest, AnEnrolmentGivesAWorkerATokenOfItsOwn) {
  AskForTokens();
  config_.database = Path("store.db");
  Start();
  const std::string enrolment = MakeEnrolment("", 2);
  ASSERT_TRUE(Enrol(enrolment, "gpu-7", "secret of 7").ok());
  EXPECT_TRUE(Enrol(enrolment, "gpu-7", "secret of 7").ok());  // again: nothing changes
  EXPECT_EQ(Enrol(enrolment, "gpu-7", "another's").error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(Enrol(enrolment, "w", "mine").error_code(), grpc::StatusCode::ALREADY_EXISTS);  // a worker of the file
  EXPECT_EQ(Enrol(enrolment, "gpu-8", "secret of 7").error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(Enrol(enrolment, "a/b", "secret").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(Enrol(enrolment, "gpu-8", "secret of 8").ok());
  EXPECT_EQ(Enrol(enrolment, "gpu-9", "secret of 9").error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(Enrol(enrolment, "gpu-8", "secret of 8").ok());  // the answer may have been lost
  EXPECT_TRUE(Open("secret of 7", "gpu-7").ok());
  EXPECT_EQ(Open("secret of 7", "gpu-8").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  server_.reset();  // tokens outlast the process
  Start();
  EXPECT_TRUE(Open("secret of 7", "gpu-7").ok());
  const std::string own = MakeEnrolment("workers/gpu-7");
  EXPECT_EQ(Enrol(own, "gpu-8", "x").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(Enrol(own, "gpu-7", "new secret").ok());  // replaces
  EXPECT_EQ(Open("secret of 7", "gpu-7").error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_TRUE(Open("new secret", "gpu-7").ok());
  EXPECT_TRUE(Admin()->RevokeWorker("workers/gpu-7").ok());
  EXPECT_EQ(Open("new secret", "gpu-7").error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_TRUE(absl::IsNotFound(Admin()->RevokeWorker("workers/gpu-7")));
  EXPECT_TRUE(Open("secret of 8", "gpu-8").ok());
}

TEST_F(SecurityTest, EnrolmentsExpireAndHaveBounds) {
  AskForTokens();
  Start();
  const std::string enrolment = MakeEnrolment("", 10, 1);
  EXPECT_TRUE(Enrol(enrolment, "a", "secret a").ok());
  absl::SleepFor(absl::Milliseconds(1100));
  EXPECT_EQ(Enrol(enrolment, "b", "secret b").error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Enrol(enrolment, "a", "secret a").error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_TRUE(Open("secret a", "a").ok());
  v1::CreateEnrolmentRequest request;
  request.mutable_time_to_live()->set_seconds(31 * 24 * 3600);
  EXPECT_TRUE(absl::IsInvalidArgument(Admin()->CreateEnrolment(request).status()));
  request.mutable_time_to_live()->set_seconds(0);
  EXPECT_TRUE(absl::IsInvalidArgument(Admin()->CreateEnrolment(request).status()));
  request.clear_time_to_live();
  request.set_uses(10'001);
  EXPECT_TRUE(absl::IsResourceExhausted(Admin()->CreateEnrolment(request).status()));
}

TEST_F(SecurityTest, AServerWithoutTokensHasNoEnrolments) {
  Start();
  client::ClientOptions options;
  options.target = server_->address();
  const auto client = *client::JobClient::Connect(options);
  EXPECT_TRUE(absl::IsFailedPrecondition(client->CreateEnrolment({}).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(client->RevokeWorker("workers/w")));
  EXPECT_EQ(Enrol("x", "w", "s").error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

// Jobs on a worker's CPU, submitted by a-submitter.
class LeaseTest : public SecurityTest {
 protected:
  LeaseTest() { AskForTokens(); }
  static v1::VerifyKernelsRequest Request() {
    v1::VerifyKernelsRequest request;
    v1::VerifyLaunch* launch = request.add_launches();
    launch->set_id("k");
    launch->mutable_kernel()->set_text("k");
    for (v1::Dim3* dim : {launch->mutable_kernel()->mutable_launch()->mutable_block(),
                          launch->mutable_kernel()->mutable_launch()->mutable_grid()}) {
      dim->set_x(1);
      dim->set_y(1);
      dim->set_z(1);
    }
    v1::ArgumentList* args = launch->mutable_kernel()->mutable_launch()->mutable_args();
    args->add_arguments()->mutable_pointer()->set_buffer("o");
    args->add_arguments()->set_float32_bits(0x3f800000);
    args->add_arguments()->set_float64_bits(0x3ff0000000000000);
    v1::BufferSpec* buffer = request.add_buffers();
    buffer->set_name("o");
    buffer->set_type("f32");
    buffer->set_elements(4);
    buffer->set_role(v1::BufferSpec::OUT);
    return request;
  }
  std::string Submit() {
    v1::Operation operation;
    const auto stub = v1::KernelService::NewStub(channel_);
    const grpc::Status status =
        As("submitter", *stub, &v1::KernelService::Stub::VerifyKernels, Request(), &operation);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return operation.name();
  }
  worker::v1::UpdateWorkerSessionResponse Update(const std::string& who, const worker::v1::UpdateWorkerSessionRequest& request,
                                                 grpc::StatusCode expected = grpc::StatusCode::OK) {
    worker::v1::UpdateWorkerSessionResponse response;
    const grpc::Status status =
        As(who, *Sessions(), &worker::v1::WorkerSessions::Stub::UpdateWorkerSession, request, &response);
    EXPECT_EQ(status.error_code(), expected) << status.error_message();
    return response;
  }
  static worker::v1::UpdateWorkerSessionRequest Report(const std::string& worker, int64_t session) {
    worker::v1::UpdateWorkerSessionRequest request;
    request.set_worker(worker);
    request.set_session(session);
    return request;
  }
  v1::Operation Get(const std::string& name) {
    v1::GetOperationRequest request;
    request.set_name(name);
    v1::Operation operation;
    EXPECT_TRUE(
        As("admin", *v1::Operations::NewStub(channel_), &v1::Operations::Stub::GetOperation, request, &operation).ok());
    return operation;
  }
};

TEST_F(LeaseTest, AWorkerNeitherReadsNorEndsAnothersLease) {
  Start();
  int64_t own = 0, other = 0;
  ASSERT_TRUE(Open("worker", "w", &own).ok());
  ASSERT_TRUE(Open("other worker", "v", &other).ok());
  const std::string name = Submit();
  worker::v1::UpdateWorkerSessionRequest take = Report("w", own);
  take.add_free_devices(0);
  const auto leased = Update("worker", take);
  ASSERT_EQ(leased.leased_size(), 1);

  Update("other worker", Report("w", own), grpc::StatusCode::PERMISSION_DENIED);
  Update("other worker", Report("v", own), grpc::StatusCode::ABORTED);
  worker::v1::UpdateWorkerSessionRequest forged = Report("v", other);
  forged.add_free_devices(0);
  *forged.add_running()->mutable_key() = leased.leased(0).key();
  for (int i = 0; i < 2; ++i) *forged.add_finished()->mutable_key() = leased.leased(0).key();
  forged.mutable_finished(0)->mutable_verify();
  forged.mutable_finished(1)->mutable_error()->set_code(3);
  const auto refused = Update("other worker", forged);
  EXPECT_EQ(refused.revoked_size(), 1);
  EXPECT_LE(refused.leased_size(), 1);  // the job's task on its own device, if it has one
  for (const auto& lease : refused.leased()) EXPECT_NE(lease.key().task(), leased.leased(0).key().task());
  absl::SleepFor(absl::Milliseconds(100));
  EXPECT_EQ(Get(name).state(), v1::Operation::RUNNING);

  worker::v1::UpdateWorkerSessionRequest running = Report("w", own);
  *running.add_running()->mutable_key() = leased.leased(0).key();
  EXPECT_EQ(Update("worker", running).revoked_size(), 0);
  for (const std::string method : {"GetOperation", "ListOperations", "WaitOperation", "WatchOperation"})
    EXPECT_EQ(Call(channel_, "samebits.v1.Operations/" + method, secrets_["worker"]).error_code(),
              grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(LeaseTest, ARestartedWorkersTasksAreQueuedAtOnce) {
  Start();
  int64_t first = 0, second = 0;
  ASSERT_TRUE(Open("worker", "w", &first).ok());
  const std::string name = Submit();
  worker::v1::UpdateWorkerSessionRequest take = Report("w", first);
  take.add_free_devices(0);
  const auto lost = Update("worker", take);
  ASSERT_EQ(lost.leased_size(), 1);
  ASSERT_TRUE(Open("worker", "w", &second).ok());
  Update("worker", take, grpc::StatusCode::ABORTED);
  take.set_session(second);
  *take.add_finished() = {};
  *take.mutable_finished(0)->mutable_key() = lost.leased(0).key();
  take.mutable_finished(0)->mutable_verify();
  const auto again = Update("worker", take);  // far within the lease's time; the old lease's result counts no more
  ASSERT_EQ(again.leased_size(), 1);
  EXPECT_EQ(again.leased(0).key().operation(), lost.leased(0).key().operation());
  EXPECT_GT(again.leased(0).key().token(), lost.leased(0).key().token());
  EXPECT_EQ(Get(name).state(), v1::Operation::RUNNING);
}

TEST_F(LeaseTest, SubmittersCancelWhatIsTheirs) {
  Start();
  ASSERT_TRUE(Open("worker", "w").ok());
  v1::CancelOperationRequest request;
  request.set_name(Submit());
  const auto stub = v1::Operations::NewStub(channel_);
  const auto cancel = [&](const std::string& who) {
    v1::Operation operation;
    return As(who, *stub, &v1::Operations::Stub::CancelOperation, request, &operation).error_code();
  };
  EXPECT_EQ(cancel("other submitter"), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Get(request.name()).state(), v1::Operation::QUEUED);
  EXPECT_EQ(cancel("submitter"), grpc::StatusCode::OK);
  EXPECT_EQ(Get(request.name()).state(), v1::Operation::CANCELLED);
  request.set_name(Submit());
  EXPECT_EQ(cancel("admin"), grpc::StatusCode::OK);
}

TEST_F(SecurityTest, AWorkerSpeaksForItselfOnly) {
  AskForTokens();
  Start();
  EXPECT_TRUE(Open("worker", "w").ok());
  EXPECT_EQ(Open("worker", "v").error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(SecurityTest, ClientsSendTheirToken) {
  AskForTokens();
  Start();
  client::ClientOptions options;
  options.target = server_->address();
  options.retry.max_attempts = 1;
  EXPECT_TRUE(absl::IsUnauthenticated((*client::JobClient::Connect(options))->ListWorkers().status()));
  options.token_file = Write("mine", secrets_["viewer"] + "\n");
  EXPECT_TRUE((*client::JobClient::Connect(options))->ListWorkers().ok());
  EXPECT_TRUE((*client::Client::Connect(options))->ListKernels(1, "").ok());
  options.target = "203.0.113.1:7433";  // no token leaves the machine in the clear
  options.connect_timeout = absl::Milliseconds(50);
  EXPECT_TRUE(absl::IsInvalidArgument(client::JobClient::Connect(options).status()));
  options.token_over_plaintext = true;
  EXPECT_FALSE(absl::IsInvalidArgument(client::JobClient::Connect(options).status()));
  // Not a token: refused before it can reach a header, and not repeated.
  options.target = server_->address();
  for (const char* bad : {"", "\n", "abc\ndef\n", "abc def", "\xff\xfe"}) {
    options.token_file = Write("bad", bad);
    const absl::Status status = client::JobClient::Connect(options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_FALSE(absl::StrContains(status.message(), "abc")) << status;
  }
  options.token_file = Path("none");
  EXPECT_TRUE(absl::IsInvalidArgument(client::JobClient::Connect(options).status()));
}

TEST_F(SecurityTest, ChangesAreAuditedAndNoSecretIsLogged) {
  AskForTokens();
  const int log = memfd_create("log", 0), kept = dup(2);
  config_.log_level = server::LogLevel::kDebug;
  config_.audit_file = Path("audit");
  dup2(log, 2);
  Start();
  Call(channel_, "samebits.v1.KernelService/RegisterKernel", secrets_["submitter"]);
  Call(channel_, "samebits.v1.KernelService/DeleteKernel", secrets_["viewer"]);
  Call(channel_, "samebits.v1.KernelService/ListKernels", secrets_["viewer"]);
  Call(channel_, "samebits.v1.KernelService/RegisterKernel", secrets_["expired"]);
  secrets_["enrolment"] = MakeEnrolment();
  secrets_["enrolled"] = "samebits_secret of seven";
  EXPECT_TRUE(Enrol(secrets_["enrolment"], "gpu-7", secrets_["enrolled"]).ok());
  EXPECT_TRUE(Open("enrolled", "gpu-7").ok());
  server_.reset();
  dup2(kept, 2);
  close(kept);
  std::string text(static_cast<size_t>(lseek(log, 0, SEEK_END)), '\0');
  ASSERT_EQ(pread(log, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  close(log);
  EXPECT_THAT(text, HasSubstr("\"method\":\"RegisterKernel\""));
  EXPECT_THAT(text, Not(HasSubstr("\"audit\"")));
  std::ifstream file(Path("audit"));
  const std::string audit((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto line = [](const char* principal, const char* method, const char* resource) {
    return absl::StrCat("\"message\":\"audit\",\"principal\":\"", principal, "\",\"method\":\"", method,
                        "\",\"resource\":\"", resource, "\"");
  };
  EXPECT_THAT(audit, HasSubstr(line("a-submitter", "RegisterKernel", "")));
  EXPECT_THAT(audit, HasSubstr(line("a-viewer", "DeleteKernel", "")));
  EXPECT_THAT(audit, HasSubstr(line("anonymous", "RegisterKernel", "")));
  EXPECT_THAT(audit, HasSubstr(line("a-admin", "CreateEnrolment", "")));
  EXPECT_THAT(audit, HasSubstr(line("a-admin", "EnrolWorker", "workers/gpu-7")));
  EXPECT_THAT(audit, HasSubstr(line("gpu-7", "CreateWorkerSession", "workers/gpu-7")));
  EXPECT_THAT(audit, HasSubstr("\"code\":\"PERMISSION_DENIED\""));
  EXPECT_THAT(audit, Not(HasSubstr("ListKernels")));
  for (const auto& [who, secret] : secrets_)
    EXPECT_EQ((text + audit).find(secret.substr(9)), std::string::npos) << who;
}

// A server that gives a worker a submitted kernel whatever the worker said of itself.
class PushyServer : public worker::v1::WorkerSessions::Service {
 public:
  grpc::Status CreateWorkerSession(grpc::ServerContext*, const worker::v1::CreateWorkerSessionRequest* request,
                                   worker::v1::WorkerSession* response) override {
    EXPECT_FALSE(request->runs_submitted_kernels());
    response->set_session(1);
    return grpc::Status::OK;
  }
  grpc::Status UpdateWorkerSession(grpc::ServerContext*, const worker::v1::UpdateWorkerSessionRequest* request,
                                   worker::v1::UpdateWorkerSessionResponse* response) override {
    absl::MutexLock lock(&mutex_);
    if (request->finished_size() > 0) result_ = request->finished(0);
    if (request->free_devices_size() == 0 || std::exchange(pushed_, true)) return grpc::Status::OK;
    auto* lease = response->add_leased();
    lease->mutable_key()->set_operation("o");
    lease->mutable_key()->set_token(1);
    lease->mutable_timeout()->set_seconds(60);
    lease->mutable_verify();
    return grpc::Status::OK;
  }
  worker::v1::TaskResult AwaitResult() {
    absl::MutexLock lock(&mutex_);
    mutex_.AwaitWithTimeout(absl::Condition(+[](std::optional<worker::v1::TaskResult>* r) { return r->has_value(); }, &result_),
                            absl::Seconds(20));
    return result_.value_or(worker::v1::TaskResult());
  }

 private:
  absl::Mutex mutex_;
  std::optional<worker::v1::TaskResult> result_;
  bool pushed_ = false;
};

TEST(WorkerTest, RefusesSubmittedKernelsByItself) {
  PushyServer service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  workers::AgentConfig config;
  config.worker = "w";
  config.devices.push_back({workers::DeviceInfo{}, "cpu:0"});
  const auto agent = workers::MakeAgent(
      config, grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials()));
  std::thread thread([&] { EXPECT_TRUE(agent->Run().ok()); });
  const worker::v1::TaskResult result = service.AwaitResult();
  EXPECT_EQ(result.error().code(), static_cast<int>(grpc::StatusCode::UNAVAILABLE));
  EXPECT_THAT(result.error().message(), HasSubstr("operator"));
  agent->Stop();
  thread.join();
  server->Shutdown();
}

// Each a connection of its own, all at once: 1,000 calls of one method. Returns how many ended with which code.
class CrowdTest : public LeaseTest {
 protected:
  static constexpr int kClients = 1000;
  CrowdTest() {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    enough_files_ = files.rlim_cur >= 4096;
  }
  ~CrowdTest() override {
    for (const auto& call : calls_) call->context.TryCancel();
    queue_.Shutdown();
    void* tag;
    bool ok;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  struct CallOf {
    std::unique_ptr<grpc::GenericStub> stub;
    grpc::ClientContext context;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
    grpc::ByteBuffer first;
    grpc::Status status;
    bool finishing = false, ended = false;
  };
  // Starts the calls; call i sends request(i). They keep their side open where `open`.
  template <typename MakeRequest>
  void StartAll(const std::string& method, MakeRequest request, const std::string& secret, bool open = false) {
    for (int i = 0; i < kClients; ++i) {
      CallOf& call = *calls_.emplace_back(std::make_unique<CallOf>());
      grpc::ChannelArguments own;
      own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      call.stub = std::make_unique<grpc::GenericStub>(
          grpc::CreateCustomChannel(server_->address(), grpc::InsecureChannelCredentials(), own));
      Authorize(&call.context, secret);
      call.context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(120)));
      call.context.set_initial_metadata_corked(true);  // it goes with the request
      call.stream = call.stub->PrepareCall(&call.context, "/" + method, &queue_);
      call.stream->StartCall(nullptr);
      const grpc::Slice bytes(request(i).SerializeAsString());
      const grpc::ByteBuffer message(&bytes, 1);
      if (open) {
        call.stream->Write(message, nullptr);
      } else {
        call.stream->WriteLast(message, grpc::WriteOptions(), nullptr);
      }
      call.stream->Read(&call.first, &call);
    }
  }
  // Waits until so many calls have ended.
  void AwaitEnds(int count) {
    const auto deadline = absl::ToChronoTime(absl::Now() + absl::Seconds(60));
    void* tag;
    bool ok = false;
    while (ended_ < count && queue_.AsyncNext(&tag, &ok, deadline) == grpc::CompletionQueue::GOT_EVENT) {
      if (tag == nullptr) continue;
      CallOf& call = *static_cast<CallOf*>(tag);
      if (!std::exchange(call.finishing, true)) {
        call.stream->Finish(&call.status, &call);
        continue;
      }
      call.ended = true;
      ++ended_;
    }
    EXPECT_EQ(ended_, count) << "calls have ended in a minute";
  }
  int Ended(grpc::StatusCode code) const {
    return static_cast<int>(std::count_if(calls_.begin(), calls_.end(), [&](const auto& call) {
      return call->ended && call->status.error_code() == code;
    }));
  }
  // Whether the server answers somebody else meanwhile.
  void ExpectAnAnswer() {
    v1::ListKernelsResponse response;
    const absl::Time begin = absl::Now();
    EXPECT_TRUE(As("viewer", *v1::KernelService::NewStub(channel_), &v1::KernelService::Stub::ListKernels,
                   v1::ListKernelsRequest(), &response)
                    .ok());
    EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
  }

  bool enough_files_ = false;
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<CallOf>> calls_;
  int ended_ = 0;
};

TEST_F(CrowdTest, ChecksThatWaitAreBounded) {
  if (!enough_files_) GTEST_SKIP() << "needs 4096 open files";
  config_.check_threads = 2;
  config_.limits.max_queued_checks = 100;
  Start();
  const auto compare = [](int i) {
    v1::CompareKernelsRequest request;
    for (v1::KernelLaunch* side : {request.mutable_a(), request.mutable_b()}) {
      side->set_text(absl::StrCat("k", i, side == request.mutable_a() ? " wait" : " wait too"));
      side->mutable_launch()->mutable_block()->set_x(1);
      side->mutable_launch()->mutable_block()->set_y(1);
      side->mutable_launch()->mutable_block()->set_z(1);
    }
    return request;
  };
  StartAll("samebits.v1.KernelService/CompareKernels", compare, secrets_["viewer"]);
  AwaitEnds(kClients - 102);
  EXPECT_GE(Ended(grpc::StatusCode::RESOURCE_EXHAUSTED), kClients - 102);
  ExpectAnAnswer();
  checker_->Release();
  AwaitEnds(kClients);
  EXPECT_GT(Ended(grpc::StatusCode::OK), 0);
  EXPECT_EQ(Ended(grpc::StatusCode::OK) + Ended(grpc::StatusCode::RESOURCE_EXHAUSTED), kClients);
}

TEST_F(CrowdTest, StreamsAreBounded) {
  if (!enough_files_) GTEST_SKIP() << "needs 4096 open files";
  Start();
  const auto first = [](int) {
    v1::PartitionKernelsRequest request;
    request.mutable_config();
    return request;
  };
  StartAll("samebits.v1.KernelService/PartitionKernels", first, secrets_["viewer"], /*open=*/true);
  const int most = static_cast<int>(config_.limits.max_partition_streams);
  AwaitEnds(kClients - most);
  EXPECT_EQ(Ended(grpc::StatusCode::RESOURCE_EXHAUSTED), kClients - most);
  ExpectAnAnswer();
}

TEST_F(CrowdTest, CallsThatFollowAnOperationAreBounded) {
  if (!enough_files_) GTEST_SKIP() << "needs 4096 open files";
  config_.limits.max_following_calls = 300;
  Start();
  ASSERT_TRUE(Open("worker", "w").ok());
  const std::string name = Submit();
  const auto wait = [&](int) {
    v1::WaitOperationRequest request;
    request.set_name(name);
    return request;
  };
  StartAll("samebits.v1.Operations/WaitOperation", wait, secrets_["viewer"]);
  AwaitEnds(kClients - 300);
  EXPECT_EQ(Ended(grpc::StatusCode::RESOURCE_EXHAUSTED), kClients - 300);
  ExpectAnAnswer();
  v1::CancelOperationRequest cancel;
  cancel.set_name(name);
  v1::Operation operation;
  EXPECT_TRUE(
      As("admin", *v1::Operations::NewStub(channel_), &v1::Operations::Stub::CancelOperation, cancel, &operation).ok());
  AwaitEnds(kClients);
  EXPECT_EQ(Ended(grpc::StatusCode::OK), 300);
  v1::WaitOperationRequest again;
  again.set_name(name);
  EXPECT_TRUE(  // the places are free again
      As("viewer", *v1::Operations::NewStub(channel_), &v1::Operations::Stub::WaitOperation, again, &operation).ok());
}

TEST_F(CrowdTest, OpenJobsOfAPrincipalAreBounded) {
  if (!enough_files_) GTEST_SKIP() << "needs 4096 open files";
  config_.dispatch.limits.open_jobs_of_principal = 50;
  Start();
  ASSERT_TRUE(Open("worker", "w").ok());
  StartAll("samebits.v1.KernelService/VerifyKernels", [](int) { return Request(); }, secrets_["submitter"]);
  AwaitEnds(kClients);
  EXPECT_EQ(Ended(grpc::StatusCode::OK), 50);
  EXPECT_EQ(Ended(grpc::StatusCode::RESOURCE_EXHAUSTED), kClients - 50);
}

TEST_F(CrowdTest, GuessesAreRefused) {
  if (!enough_files_) GTEST_SKIP() << "needs 4096 open files";
  Start();
  StartAll("samebits.v1.KernelService/VerifyKernels", [](int) { return Request(); }, "samebits_guess");
  AwaitEnds(kClients);
  EXPECT_EQ(Ended(grpc::StatusCode::UNAUTHENTICATED), kClients);
}

// A CA, a server's and a client's certificate of it, and another client's of none.
class TlsTest : public SecurityTest {
 protected:
  void SetUp() override {
    if (std::system("openssl version >/dev/null 2>&1") != 0) GTEST_SKIP() << "needs openssl";
    const std::string self = "openssl req -x509 -days 1 -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 ";
    Shell(self + "-subj /CN=ca -keyout ca.key -out ca.pem");
    Shell(self + "-subj /CN=other -keyout other.key -out other.pem");
    Write("names", "subjectAltName=IP:127.0.0.1,DNS:localhost\n");
    for (const std::string name : {"server", "client"}) {
      Shell("openssl req -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -subj /CN=" + name + " -keyout " + name +
            ".key -out " + name + ".csr");
      Sign(name, "ca");
    }
    config_.tls_cert = Path("server.pem");
    config_.tls_key = Path("server.key");
  }
  void Shell(const std::string& command) {
    ASSERT_EQ(std::system(absl::StrCat("cd ", folder_.string(), " && ", command, " >/dev/null 2>&1").c_str()), 0) << command;
  }
  void Sign(const std::string& name, const std::string& ca, const std::string& days = "1") {
    Shell("openssl x509 -req -days " + days + " -in " + name + ".csr -CA " + ca + ".pem -CAkey " + ca +
          ".key -CAcreateserial -extfile names -out " + name + ".pem");
  }
  // How a call ends, given the client's files.
  absl::Status Try(const std::string& ca, const std::string& client) {
    client::ClientOptions options;
    options.target = server_->address();
    options.connect_timeout = absl::Milliseconds(700);
    options.retry.max_attempts = 1;
    if (!ca.empty()) options.tls_ca = Path(ca);
    if (!client.empty()) {
      options.tls_cert = Path(client + ".pem");
      options.tls_key = Path(client + ".key");
    }
    const auto connected = client::JobClient::Connect(options);
    return connected.ok() ? (*connected)->ListWorkers().status() : connected.status();
  }
  std::string Read(const std::string& name) {
    std::ifstream file(Path(name));
    return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  }
};

TEST_F(TlsTest, EncryptsAndProvesTheServer) {
  Start();
  EXPECT_TRUE(Try("ca.pem", "").ok());
  EXPECT_FALSE(Try("", "").ok());
  EXPECT_FALSE(Try("other.pem", "").ok());
  config_.listen = "0.0.0.0:0";  // allowed with TLS
  EXPECT_TRUE(server::Server::Start(config_).ok());
}

TEST_F(TlsTest, PlaintextStaysOnLoopbackUnlessForced) {
  config_.tls_cert.clear();
  config_.tls_key.clear();
  config_.listen = "0.0.0.0:0";
  EXPECT_TRUE(absl::IsInvalidArgument(server::Server::Start(config_).status()));
  config_.allow_remote_plaintext = true;
  EXPECT_TRUE(server::Server::Start(config_).ok());
}

TEST_F(TlsTest, EachMethodRefusesAWrongCertificate) {
  config_.tls_client_ca = Path("ca.pem");
  AskForTokens();
  Start();
  EXPECT_TRUE(absl::IsUnauthenticated(Try("ca.pem", "client")));  // a certificate is no token
  EXPECT_FALSE(Try("ca.pem", "").ok());
  EXPECT_FALSE(Try("ca.pem", "other").ok());
  for (const std::string client : {"client", "other", ""}) {
    grpc::SslCredentialsOptions options{Read("ca.pem"), "", ""};
    if (!client.empty()) options.pem_private_key = Read(client + ".key");
    if (!client.empty()) options.pem_cert_chain = Read(client + ".pem");
    const auto channel = grpc::CreateChannel(server_->address(), grpc::SslCredentials(options));
    for (const auto& [method, rule] : Rules()) {
      const std::string role = std::vector<std::string>(absl::StrSplit(rule, ' '))[0];
      const grpc::Status status = Call(channel, method, secrets_[role]);
      EXPECT_EQ(status.error_code() == grpc::StatusCode::UNAVAILABLE, client != "client")
          << method << " as '" << client << "': " << status.error_message();
    }
  }
}

TEST_F(TlsTest, RefusesAnExpiredCertificate) {
  Sign("client", "ca", "0");
  config_.tls_client_ca = Path("ca.pem");
  Start();
  absl::SleepFor(absl::Milliseconds(1100));
  EXPECT_FALSE(Try("ca.pem", "client").ok());
}

// Until the call ends as wanted, for at most some seconds.
#define EXPECT_SOON(condition)                                                                   \
  for (const absl::Time limit = absl::Now() + absl::Seconds(10); !(condition);) {                \
    ASSERT_LT(absl::Now(), limit) << #condition;                                                 \
    absl::SleepFor(absl::Milliseconds(50));                                                      \
  }

TEST_F(TlsTest, ANewCertificateCountsWithoutARestart) {
  Start();
  ASSERT_TRUE(Try("ca.pem", "").ok());
  Sign("server", "other");  // the same key, another signer
  EXPECT_SOON(Try("other.pem", "").ok());
  EXPECT_FALSE(Try("ca.pem", "").ok());
  Shell("openssl ecparam -name prime256v1 -genkey -noout -out server.key");  // no longer the certificate's
  absl::SleepFor(absl::Milliseconds(2500));
  EXPECT_TRUE(Try("other.pem", "").ok());
  Write("server.pem", "-----BEGIN CERTIFICATE-----\n");
  absl::SleepFor(absl::Milliseconds(2500));
  EXPECT_TRUE(Try("other.pem", "").ok());
  Shell("openssl req -new -key server.key -subj /CN=server -out server.csr");
  Sign("server", "ca");
  EXPECT_SOON(Try("ca.pem", "").ok());
}

TEST_F(TlsTest, NewSignersOfClientsCountWithoutARestart) {
  config_.tls_client_ca = Path("clients.pem");
  Shell("cp ca.pem clients.pem");
  Start();
  ASSERT_TRUE(Try("ca.pem", "client").ok());
  ASSERT_FALSE(Try("ca.pem", "other").ok());
  Shell("cp other.pem clients.pem");
  EXPECT_SOON(Try("ca.pem", "other").ok());
  EXPECT_FALSE(Try("ca.pem", "client").ok());
}

TEST_F(TlsTest, SaysWhichFileDoesNotFit) {
  const auto refusal = [&] { return std::string(server::Server::Start(config_).status().message()); };
  config_.tls_key = Path("other.key");
  EXPECT_THAT(refusal(), HasSubstr("server.pem: is of another key"));
  config_.tls_key = Path("ca.pem");
  EXPECT_THAT(refusal(), HasSubstr("holds no private key"));
  config_.tls_key = Path("server.key");
  config_.tls_client_ca = Path("names");
  EXPECT_THAT(refusal(), HasSubstr("names: holds no certificate"));
}

TEST_F(TlsTest, RefusesHalfAConfiguration) {
  config_.tls_key.clear();
  EXPECT_TRUE(absl::IsInvalidArgument(server::Server::Start(config_).status()));
  config_.tls_key = Path("none.key");
  EXPECT_THAT(std::string(server::Server::Start(config_).status().message()), HasSubstr("none.key"));
  client::ClientOptions options;
  options.tls_cert = Path("client.pem");
  EXPECT_TRUE(absl::IsInvalidArgument(client::JobClient::Connect(options).status()));
}

}  // namespace
}  // namespace samebits
