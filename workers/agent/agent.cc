#include "workers/agent/agent.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "samebits/worker/v1/worker_sessions.grpc.pb.h"
#include "workers/agent/device_message.h"
#include "workers/agent/slot.h"

namespace samebits::workers {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(10);
constexpr absl::Duration kLeastPoll = absl::Milliseconds(10), kMostPoll = absl::Seconds(5);

absl::Duration ToDuration(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

absl::Status ToStatus(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

// What a later call may mend.
bool IsPassing(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsResourceExhausted(status) ||
         absl::IsInternal(status) || absl::IsCancelled(status);
}

class AgentImpl : public Agent {
 public:
  AgentImpl(AgentConfig config, std::shared_ptr<grpc::Channel> channel)
      : config_(std::move(config)), stub_(worker::v1::WorkerSessions::NewStub(std::move(channel))) {
    for (const DeviceHandle& device : config_.devices)
      slots_.push_back(std::make_unique<Slot>(device, config_, [this] { Wake(); }));
  }

  absl::Status Run() override;
  void Stop() override {
    absl::MutexLock lock(&mutex_);
    stopping_ = woken_ = true;
  }

 private:
  void Wake() {
    absl::MutexLock lock(&mutex_);
    woken_ = true;
  }
  bool stopping() {
    absl::MutexLock lock(&mutex_);
    return stopping_;
  }
  // Waits for a wake-up, at most this long.
  void Sleep(absl::Duration time) {
    absl::MutexLock lock(&mutex_);
    mutex_.AwaitWithTimeout(absl::Condition(&woken_), time);
    woken_ = stopping_;
  }
  absl::Status OpenSession();
  absl::Status Update();
  bool AllFree() const {
    return std::all_of(slots_.begin(), slots_.end(), [](const auto& s) { return s->state() == Slot::State::kFree; });
  }
  void StopTasks();

  const AgentConfig config_;
  const std::unique_ptr<worker::v1::WorkerSessions::Stub> stub_;
  std::vector<std::unique_ptr<Slot>> slots_;  // by index of the device
  int64_t session_ = 0;                       // 0: none
  absl::Duration poll_interval_ = absl::Seconds(1);
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false, woken_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::Status AgentImpl::OpenSession() {
  worker::v1::CreateWorkerSessionRequest request;
  request.set_worker(config_.worker);
  request.set_version(config_.version);
  request.set_runs_submitted_kernels(config_.runs_submitted_kernels);
  request.set_runs_numerics(config_.runs_numerics);
  for (const auto& [name, path] : config_.models) request.add_models(name);
  for (const std::string& source : config_.instruction_sources) request.add_instruction_sources(source);
  for (const auto& [backend, libraries] : config_.gemm_libraries) {
    for (const std::string& name : libraries) {
      auto* library = request.add_gemm_libraries();
      library->set_backend(backend);
      library->set_library(name);
    }
  }
  request.set_emulates_gemms(config_.emulates_gemms);
  for (const DeviceHandle& device : config_.devices) SetDevice(device.info, request.add_devices());
  grpc::ClientContext context;
  if (!config_.token.empty()) context.AddMetadata("authorization", absl::StrCat("Bearer ", config_.token));
  context.set_deadline(absl::ToChronoTime(absl::Now() + kCallTimeout));
  worker::v1::WorkerSession session;
  const absl::Status status = ToStatus(stub_->CreateWorkerSession(&context, request, &session));
  if (!status.ok()) return status;
  session_ = session.session();
  poll_interval_ = std::clamp(ToDuration(session.poll_interval()), kLeastPoll, kMostPoll);
  return absl::OkStatus();
}

absl::Status AgentImpl::Update() {
  worker::v1::UpdateWorkerSessionRequest request;
  request.set_worker(config_.worker);
  request.set_session(session_);
  const bool takes_work = !stopping();
  for (size_t i = 0; i < slots_.size(); ++i) {
    const Slot::State state = slots_[i]->state();
    if (state == Slot::State::kRunning) *request.add_running() = slots_[i]->progress();
    if (state == Slot::State::kEnded) *request.add_finished() = slots_[i]->result();
    if (state == Slot::State::kFree && takes_work) request.add_free_devices(static_cast<uint32_t>(i));
  }
  grpc::ClientContext context;
  if (!config_.token.empty()) context.AddMetadata("authorization", absl::StrCat("Bearer ", config_.token));
  context.set_deadline(absl::ToChronoTime(absl::Now() + kCallTimeout));
  worker::v1::UpdateWorkerSessionResponse response;
  const absl::Status status = ToStatus(stub_->UpdateWorkerSession(&context, request, &response));
  if (!status.ok()) return status;
  for (const worker::v1::TaskProgress& progress : request.running())
    for (const auto& slot : slots_) slot->UnitsDelivered(progress.key(), progress.units_size());
  for (const worker::v1::TaskResult& result : request.finished())
    for (const auto& slot : slots_) slot->Delivered(result.key());
  for (const worker::v1::TaskKey& key : response.revoked())
    for (const auto& slot : slots_) slot->Cancel(key);
  for (auto& lease : *response.mutable_leased())
    if (lease.device() < slots_.size() && slots_[lease.device()]->state() == Slot::State::kFree)
      slots_[lease.device()]->Start(std::move(lease));
  poll_interval_ = std::clamp(ToDuration(response.poll_interval()), kLeastPoll, kMostPoll);
  return absl::OkStatus();
}

void AgentImpl::StopTasks() {
  for (const auto& slot : slots_)
    if (slot->state() == Slot::State::kRunning) slot->CancelAny();
}

absl::Status AgentImpl::Run() {
  absl::Time give_up = absl::InfiniteFuture();  // once stopping
  while (true) {
    if (stopping()) {
      StopTasks();
      if (give_up == absl::InfiniteFuture()) give_up = absl::Now() + kCallTimeout;
      if (AllFree() || absl::Now() > give_up) return absl::OkStatus();
    }
    absl::Status status = session_ == 0 ? OpenSession() : Update();
    if (absl::IsNotFound(status)) {  // a server without memory of us
      session_ = 0;
      status = absl::UnavailableError(status.message());
    }
    if (!status.ok() && !IsPassing(status)) return status;
    Sleep(status.ok() ? poll_interval_ : config_.retry_interval);
    if (stopping()) absl::SleepFor(kLeastPoll);
  }
}

}  // namespace

std::unique_ptr<Agent> MakeAgent(AgentConfig config, std::shared_ptr<grpc::Channel> channel) {
  return std::make_unique<AgentImpl>(std::move(config), std::move(channel));
}

}  // namespace samebits::workers
