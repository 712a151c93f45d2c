// NumericsService over gRPC: what a request may be, and what is answered at once. Whole jobs: cli/heal_test.cc.

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <string>

#include "client/cpp/status.h"
#include "samebits/v1/numerics_service.grpc.pb.h"
#include "samebits/worker/v1/worker_sessions.grpc.pb.h"
#include "tests/integration/service_fixture.h"

namespace samebits {
namespace {

using ::testing::HasSubstr;

class NumericsTest : public ServiceTest {
 protected:
  NumericsTest() { config_.dispatch.tick = absl::Milliseconds(20); }
  static v1::EvaluateReproducibilityRequest Request() {
    v1::EvaluateReproducibilityRequest request;
    request.mutable_run()->set_model("synthetic:tiny:7");
    request.mutable_run()->mutable_synthetic_prompts()->set_count(2);
    request.mutable_run()->mutable_synthetic_prompts()->set_length(4);
    return request;
  }
  absl::StatusOr<v1::Operation> Submit(const v1::EvaluateReproducibilityRequest& request) {
    grpc::ClientContext context;
    v1::Operation operation;
    const auto status = client::FromGrpcStatus(
        v1::NumericsService::NewStub(Channel())->EvaluateReproducibility(&context, request, &operation));
    if (!status.ok()) return status;
    return operation;
  }
  absl::Status Open(const worker::v1::CreateWorkerSessionRequest& request, worker::v1::WorkerSession* session) {
    grpc::ClientContext context;
    return client::FromGrpcStatus(
        worker::v1::WorkerSessions::NewStub(Channel())->CreateWorkerSession(&context, request, session));
  }
  absl::StatusOr<worker::v1::UpdateWorkerSessionResponse> Update(const worker::v1::UpdateWorkerSessionRequest& request) {
    grpc::ClientContext context;
    worker::v1::UpdateWorkerSessionResponse response;
    const auto status = client::FromGrpcStatus(
        worker::v1::WorkerSessions::NewStub(Channel())->UpdateWorkerSession(&context, request, &response));
    if (!status.ok()) return status;
    return response;
  }
  static worker::v1::CreateWorkerSessionRequest Worker(bool runs_numerics = true) {
    worker::v1::CreateWorkerSessionRequest request;
    request.set_worker("w");
    request.add_devices()->set_backend("cpu");
    request.set_runs_numerics(runs_numerics);
    return request;
  }
  // A call of the worker "w" with its device free.
  worker::v1::UpdateWorkerSessionRequest Free(int64_t session) {
    worker::v1::UpdateWorkerSessionRequest request;
    request.set_worker("w");
    request.set_session(session);
    request.add_free_devices(0);
    return request;
  }
};

TEST_F(NumericsTest, ErrorsHaveReasonAndField) {
  EXPECT_EQ(ReasonOf(Submit(Request()).status()), "NO_DEVICE");
  worker::v1::WorkerSession session;
  ASSERT_TRUE(Open(Worker(/*runs_numerics=*/false), &session).ok());
  EXPECT_EQ(ReasonOf(Submit(Request()).status()), "NO_DEVICE");
  ASSERT_TRUE(Open(Worker(), &session).ok());
  const auto field = [&](const v1::EvaluateReproducibilityRequest& request) {
    const absl::Status status = Submit(request).status();
    EXPECT_EQ(ReasonOf(status), "INVALID_FIELD") << status;
    return MetadataOf(status, "field");
  };
  auto request = Request();
  request.mutable_run()->set_model("synthetic:none");
  EXPECT_EQ(field(request), "run.model");
  request.mutable_run()->set_model("/etc/passwd");
  EXPECT_EQ(field(request), "run.model");
  request = Request();
  request.mutable_run()->set_priority(101);
  EXPECT_EQ(field(request), "run.priority");
  request = Request();
  request.mutable_run()->mutable_timeout()->set_seconds(-1);
  EXPECT_EQ(field(request), "run.timeout");
  request = Request();
  request.add_configurations("bf17");
  EXPECT_EQ(field(request), "configurations");
  request = Request();
  request.mutable_run()->mutable_synthetic_prompts()->set_count(1 << 20);
  EXPECT_EQ(field(request), "run.synthetic_prompts.count");
  request = Request();
  request.mutable_run()->set_device("cuda");
  EXPECT_EQ(ReasonOf(Submit(request).status()), "NO_DEVICE");
  request = Request();
  request.mutable_run()->set_model("unknown");
  EXPECT_EQ(ReasonOf(Submit(request).status()), "NO_DEVICE");
}

TEST_F(NumericsTest, OneRequestIdMakesOneJob) {
  worker::v1::WorkerSession session;
  ASSERT_TRUE(Open(Worker(), &session).ok());
  auto request = Request();
  request.mutable_run()->set_request_id("r");
  const auto first = Submit(request), second = Submit(request);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->name(), second->name());
  EXPECT_EQ(first->method(), "EvaluateReproducibility");
  request.set_skip_mse(true);
  EXPECT_EQ(ReasonOf(Submit(request).status()), "REQUEST_ID_REUSED");
}

TEST_F(NumericsTest, UnitsGoToTheNextLease) {
  worker::v1::WorkerSession session;
  ASSERT_TRUE(Open(Worker(), &session).ok());
  ASSERT_TRUE(Submit(Request()).ok());
  auto leased = Update(Free(session.session()));
  ASSERT_TRUE(leased.ok()) << leased.status();
  ASSERT_EQ(leased->leased_size(), 1);
  EXPECT_TRUE(leased->leased(0).numerics().request().has_evaluate());
  EXPECT_EQ(leased->leased(0).units_size(), 0);
  auto report = Free(session.session());
  report.clear_free_devices();
  worker::v1::TaskProgress* running = report.add_running();
  *running->mutable_key() = leased->leased(0).key();
  worker::v1::TaskUnit* unit = running->add_units();
  unit->set_index(3);
  unit->set_body(std::string((4 << 20) + 1, 'x'));
  EXPECT_EQ(ReasonOf(Update(report).status()), "LIMIT_EXCEEDED");
  unit->set_body("three");
  ASSERT_TRUE(Update(report).ok());
  ASSERT_TRUE(Update(report).ok());  // repeated
  ASSERT_TRUE(Open(Worker(), &session).ok());  // started anew
  leased = Update(Free(session.session()));
  ASSERT_TRUE(leased.ok()) << leased.status();
  ASSERT_EQ(leased->leased_size(), 1);
  ASSERT_EQ(leased->leased(0).units_size(), 1);
  EXPECT_EQ(leased->leased(0).units(0).index(), 3);
  EXPECT_EQ(leased->leased(0).units(0).body(), "three");
}

TEST_F(NumericsTest, ATaskThatHasTooManyUnitsFails) {
  config_.dispatch.unit_limits = {2, 100};
  worker::v1::WorkerSession session;
  ASSERT_TRUE(Open(Worker(), &session).ok());
  const auto operation = Submit(Request());
  ASSERT_TRUE(operation.ok());
  const auto leased = Update(Free(session.session()));
  auto report = Free(session.session());
  report.clear_free_devices();
  *report.add_running()->mutable_key() = leased->leased(0).key();
  for (uint32_t i = 0; i < 3; ++i) report.mutable_running(0)->add_units()->set_index(i);
  const auto answer = Update(report);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->revoked_size(), 1);
}

TEST_F(NumericsTest, WorkersNameTheirModelsWell) {
  worker::v1::WorkerSession session;
  for (const char* name : {"", "a/b", "synthetic", "a@b"}) {
    auto request = Worker();
    request.add_models(name);
    EXPECT_EQ(MetadataOf(Open(request, &session), "field"), "models") << name;
  }
  auto request = Worker();
  for (int i = 0; i < 33; ++i) request.add_models("m" + std::to_string(i));
  EXPECT_EQ(MetadataOf(Open(request, &session), "limit"), "max_worker_models");
}

TEST_F(NumericsTest, MachineCodeGoesOnlyToWorkersThatDisassemble) {
  std::string cubin("\x7f" "ELF\x02\x01\x01", 7);
  cubin.resize(64);
  cubin[18] = '\xbe';
  v1::MeasureInstructionMixRequest request;
  request.mutable_code_files()->add_files()->set_name("k.cubin");
  request.mutable_code_files()->mutable_files(0)->set_content(cubin);
  const auto submit = [&]() -> absl::StatusOr<v1::Operation> {
    grpc::ClientContext context;
    v1::Operation operation;
    const auto status = client::FromGrpcStatus(
        v1::NumericsService::NewStub(Channel())->MeasureInstructionMix(&context, request, &operation));
    if (!status.ok()) return status;
    return operation;
  };
  worker::v1::WorkerSession session;
  auto worker = Worker();
  worker.add_instruction_sources("text");
  ASSERT_TRUE(Open(worker, &session).ok());
  const absl::Status refused = submit().status();
  EXPECT_EQ(ReasonOf(refused), "NO_DEVICE");
  EXPECT_THAT(std::string(refused.message()), HasSubstr("nvdisasm"));
  worker.add_instruction_sources("cubin");
  ASSERT_TRUE(Open(worker, &session).ok());
  const auto operation = submit();
  ASSERT_TRUE(operation.ok()) << operation.status();
  EXPECT_EQ(operation->method(), "MeasureInstructionMix");
  EXPECT_EQ(operation->tasks(0).target(), "instruction-mix:cubin@any");
  const auto leased = Update(Free(session.session()));
  ASSERT_TRUE(leased.ok()) << leased.status();
  ASSERT_EQ(leased->leased_size(), 1);
  EXPECT_EQ(leased->leased(0).numerics().request().instruction_mix().code_files().files(0).content(), cubin);
  request.mutable_run()->set_device("cuda");
  EXPECT_EQ(ReasonOf(submit().status()), "NO_DEVICE");
  request.mutable_run()->clear_device();
  request.mutable_code_files()->mutable_files(0)->clear_content();
  EXPECT_EQ(MetadataOf(submit().status(), "field"), "code_files.files.content");
  request.mutable_engine_kernels();
  EXPECT_EQ(MetadataOf(submit().status(), "field"), "run.model");
  request.mutable_run()->set_model("synthetic:tiny");
  EXPECT_EQ(ReasonOf(submit().status()), "NO_DEVICE") << "it compiles no kernels of ours";
}

TEST_F(NumericsTest, InstructionsAreCountedAtOnce) {
  std::ifstream file(SAMEBITS_SOURCE_DIR "/tests/unit/core/heal/instruction_mix/fixtures/cuobjdump_sm_80.txt");
  v1::CountInstructionsRequest request;
  request.set_text(std::string(std::istreambuf_iterator<char>(file), {}));
  const auto count = [&](v1::CountInstructionsResponse* response) {
    grpc::ClientContext context;
    return client::FromGrpcStatus(v1::NumericsService::NewStub(Channel())->CountInstructions(&context, request, response));
  };
  v1::CountInstructionsResponse response;
  ASSERT_TRUE(count(&response).ok());
  ASSERT_GT(response.kernels_size(), 0);
  for (const auto& kernel : response.kernels()) {
    int64_t sum = 0;
    for (const auto& opcode : kernel.opcodes()) sum += opcode.count();
    EXPECT_EQ(sum, kernel.instructions()) << kernel.kernel();
    EXPECT_EQ(kernel.target(), "sm_80");
  }
  request.set_text("no code");
  EXPECT_EQ(MetadataOf(count(&response), "field"), "text");
}

}  // namespace
}  // namespace samebits
