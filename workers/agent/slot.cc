#include "workers/agent/slot.h"

#include <utility>

#include "absl/time/clock.h"
#include "proto/convert/convert.h"
#include "workers/agent/device_message.h"

namespace samebits::workers {
namespace {

bool Same(const worker::v1::TaskKey& a, const worker::v1::TaskKey& b) {
  return a.token() == b.token() && a.task() == b.task() && a.operation() == b.operation();
}

absl::Duration ToDuration(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

}  // namespace

Slot::Slot(DeviceHandle device, const ChildLimits& limits, bool runs_submitted_kernels, std::function<void()> on_end)
    : device_(std::move(device)), limits_(limits), runs_submitted_kernels_(runs_submitted_kernels),
      on_end_(std::move(on_end)), thread_([this] { Work(); }) {}

Slot::~Slot() {
  cancelled_ = true;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void Slot::Start(worker::v1::UpdateWorkerSessionResponse::Leased lease) {
  absl::MutexLock lock(&mutex_);
  cancelled_ = false;
  progress_.Clear();
  *progress_.mutable_key() = lease.key();
  lease_ = std::move(lease);
}

void Slot::Cancel(const worker::v1::TaskKey& key) {
  absl::MutexLock lock(&mutex_);
  if (lease_ && Same(lease_->key(), key)) cancelled_ = true;
}

Slot::State Slot::state() const {
  absl::MutexLock lock(&mutex_);
  if (result_) return State::kEnded;
  return lease_ ? State::kRunning : State::kFree;
}

worker::v1::TaskProgress Slot::progress() const {
  absl::MutexLock lock(&mutex_);
  return progress_;
}

worker::v1::TaskResult Slot::result() const {
  absl::MutexLock lock(&mutex_);
  return result_.value_or(worker::v1::TaskResult());
}

void Slot::Delivered(const worker::v1::TaskKey& key) {
  absl::MutexLock lock(&mutex_);
  if (!result_ || !Same(result_->key(), key)) return;
  result_.reset();
  lease_.reset();
}

worker::v1::TaskResult Slot::Execute(const worker::v1::UpdateWorkerSessionResponse::Leased& lease) {
  worker::v1::TaskResult result;
  *result.mutable_key() = lease.key();
  absl::StatusOr<worker::v1::VerifyTaskResult> verified = absl::UnimplementedError("the worker is too old for this task");
  if (lease.has_verify() && !runs_submitted_kernels_) {
    verified = absl::UnavailableError("the worker's operator does not let it run submitted kernels");
  } else if (lease.has_verify()) {
    verified = RunInChildren(device_, lease.verify().request(), limits_, absl::Now() + ToDuration(lease.timeout()),
                             cancelled_, [this](uint64_t done, uint64_t total) {
                               absl::MutexLock lock(&mutex_);
                               progress_.set_done(done);
                               progress_.set_total(total);
                             });
  }
  if (verified.ok()) {
    SetDevice(device_.info, verified->mutable_device());
    *result.mutable_verify() = *std::move(verified);
    return result;
  }
  // A task that was stopped here can be done elsewhere; where the server revoked it, nobody listens.
  const bool stopped = absl::IsCancelled(verified.status());
  const auto code = stopped ? absl::StatusCode::kUnavailable : verified.status().code();
  result.mutable_error()->set_code(static_cast<int>(code));
  const absl::string_view message = stopped ? "the worker is stopping" : verified.status().message();
  proto::SetText({message.data(), message.size()}, result.mutable_error()->mutable_message());
  return result;
}

void Slot::Work() {
  while (true) {
    worker::v1::UpdateWorkerSessionResponse::Leased lease;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(
          +[](Slot* slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(slot->mutex_) {
            return slot->stopping_ || (slot->lease_ && !slot->result_);
          },
          this));
      if (stopping_) return;
      lease = *lease_;
    }
    worker::v1::TaskResult result = Execute(lease);
    {
      absl::MutexLock lock(&mutex_);
      result_ = std::move(result);
    }
    on_end_();
  }
}

}  // namespace samebits::workers
