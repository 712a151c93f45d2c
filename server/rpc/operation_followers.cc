#include "server/rpc/operation_followers.h"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <grpcpp/alarm.h>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "samebits/v1/operations.pb.h"
#include "server/registry/errors.h"
#include "server/rpc/operation_messages.h"

namespace samebits::server {
namespace {

bool HasEnded(const v1::Operation& operation) {
  return operation.state() == v1::Operation::SUCCEEDED || operation.state() == v1::Operation::FAILED ||
         operation.state() == v1::Operation::CANCELLED;
}

// Reads the operation on the pool after each change, one reading at a time, and hands it on. Thread-safe.
class Follower : public std::enable_shared_from_this<Follower> {
 public:
  using OnState = std::function<void(absl::StatusOr<v1::Operation>)>;
  Follower(const JobRpc& rpc, std::string id, OnState on_state)
      : rpc_(rpc), id_(std::move(id)), on_state_(std::move(on_state)) {}

  void Start() {
    std::weak_ptr<Follower> weak = weak_from_this();
    const uint64_t subscription = rpc_.dispatcher->Subscribe(id_, [weak] {
      if (const auto self = weak.lock()) self->Look();
    });
    {
      absl::MutexLock lock(&mutex_);
      subscription_ = subscription;
    }
    Look();
  }
  // No state is handed on that is not already on its way.
  void Stop() {
    std::optional<uint64_t> subscription;
    {
      absl::MutexLock lock(&mutex_);
      stopped_ = true;
      subscription = std::exchange(subscription_, std::nullopt);
    }
    if (subscription) rpc_.dispatcher->Unsubscribe(*subscription);
  }
  void Look() {
    {
      absl::MutexLock lock(&mutex_);
      if (stopped_) return;
      again_ = true;
      if (std::exchange(looking_, true)) return;
    }
    Submit();
  }

 private:
  void Submit() {
    const absl::Status status = rpc_.pool->Submit([self = shared_from_this()](bool run) { self->Read(run); },
                                                  TaskPool::Admission::kReserved);
    if (!status.ok()) on_state_(status);
  }
  void Read(bool run) {
    {
      absl::MutexLock lock(&mutex_);
      again_ = false;
    }
    absl::StatusOr<v1::Operation> state = ShuttingDown();
    if (run && !rpc_.dispatcher->stopping()) {
      const absl::StatusOr<JobView> view = rpc_.dispatcher->Get(id_);
      state = view.ok() ? absl::StatusOr<v1::Operation>(v1::Operation()) : view.status();
      if (view.ok()) ToMessage(*view, &*state);
    }
    on_state_(std::move(state));
    {
      absl::MutexLock lock(&mutex_);
      looking_ = again_ && !stopped_;
      if (!looking_) return;
    }
    Submit();
  }

  const JobRpc rpc_;
  const std::string id_;
  const OnState on_state_;
  absl::Mutex mutex_;
  std::optional<uint64_t> subscription_ ABSL_GUARDED_BY(mutex_);
  bool looking_ ABSL_GUARDED_BY(mutex_) = false, again_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

class WaitReactor : public grpc::ServerUnaryReactor, public std::enable_shared_from_this<WaitReactor> {
 public:
  WaitReactor(CallScope scope, FollowerPlace place, v1::Operation* response)
      : scope_(std::move(scope)), place_(std::move(place)), response_(response) {}

  void Start(const JobRpc& rpc, const std::string& id, absl::Duration timeout) {
    self_ = shared_from_this();
    std::weak_ptr<WaitReactor> weak = weak_from_this();
    follower_ = std::make_shared<Follower>(rpc, id, [weak](absl::StatusOr<v1::Operation> state) {
      if (const auto self = weak.lock()) self->OnState(std::move(state));
    });
    alarm_.Set(absl::ToChronoTime(absl::Now() + timeout), [weak](bool expired) {
      if (const auto self = weak.lock(); self != nullptr && expired) self->OnTimeout();
    });
    follower_->Start();
  }
  void OnCancel() override { End(Abandoned()); }
  void OnDone() override {
    const auto self = std::move(self_);
    follower_->Stop();
    alarm_.Cancel();
  }

 private:
  void OnTimeout() {
    {
      absl::MutexLock lock(&mutex_);
      timed_out_ = true;
    }
    follower_->Look();
  }
  void OnState(absl::StatusOr<v1::Operation> state) {
    if (!state.ok()) return End(state.status());
    {
      absl::MutexLock lock(&mutex_);
      if (ended_ || (!timed_out_ && !HasEnded(*state))) return;
      *response_ = *std::move(state);
    }
    End(absl::OkStatus());
  }
  void End(const absl::Status& status) {
    {
      absl::MutexLock lock(&mutex_);
      if (std::exchange(ended_, true)) return;
    }
    Finish(scope_.End(status));
  }

  CallScope scope_;
  const FollowerPlace place_;
  v1::Operation* const response_;
  std::shared_ptr<WaitReactor> self_;  // until OnDone
  std::shared_ptr<Follower> follower_;
  grpc::Alarm alarm_;
  absl::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false, timed_out_ ABSL_GUARDED_BY(mutex_) = false;
};

class WatchReactor : public grpc::ServerWriteReactor<v1::Operation>, public std::enable_shared_from_this<WatchReactor> {
 public:
  WatchReactor(CallScope scope, FollowerPlace place) : scope_(std::move(scope)), place_(std::move(place)) {}

  void Start(const JobRpc& rpc, const std::string& id) {
    self_ = shared_from_this();
    std::weak_ptr<WatchReactor> weak = weak_from_this();
    follower_ = std::make_shared<Follower>(rpc, id, [weak](absl::StatusOr<v1::Operation> state) {
      if (const auto self = weak.lock()) self->OnState(std::move(state));
    });
    follower_->Start();
  }
  void OnWriteDone(bool ok) override {
    bool next = false;
    std::optional<absl::Status> end;
    {
      absl::MutexLock lock(&mutex_);
      writing_ = false;
      if (!ok && !end_) end_ = Abandoned();
      if (HasEnded(current_) && !end_) end_ = absl::OkStatus();
      next = Next(&end);
    }
    Act(next, end);
  }
  void OnCancel() override { OnState(Abandoned()); }
  void OnDone() override {
    const auto self = std::move(self_);
    follower_->Stop();
  }

 private:
  void OnState(absl::StatusOr<v1::Operation> state) {
    bool next = false;
    std::optional<absl::Status> end;
    {
      absl::MutexLock lock(&mutex_);
      if (!state.ok() && !end_) end_ = state.status();
      if (state.ok()) pending_ = *std::move(state);
      next = Next(&end);
    }
    Act(next, end);
  }
  // Whether to write current_, or with what to finish.
  bool Next(std::optional<absl::Status>* end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || finished_) return false;
    if (end_) {
      finished_ = true;
      *end = end_;
      return false;
    }
    if (!pending_) return false;
    current_ = std::move(*pending_);
    pending_.reset();
    writing_ = true;
    return true;
  }
  void Act(bool write, const std::optional<absl::Status>& end) {
    if (write) StartWrite(&current_);
    if (end) Finish(scope_.End(*end));
  }

  CallScope scope_;
  const FollowerPlace place_;
  std::shared_ptr<WatchReactor> self_;  // until OnDone
  std::shared_ptr<Follower> follower_;
  v1::Operation current_;               // of the write under way
  absl::Mutex mutex_;
  std::optional<v1::Operation> pending_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);  // to finish with
  bool writing_ ABSL_GUARDED_BY(mutex_) = false, finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

grpc::ServerUnaryReactor* StartWait(const JobRpc& rpc, CallScope scope, FollowerPlace place, const std::string& id,
                                    absl::Duration timeout, v1::Operation* response) {
  const auto reactor = std::make_shared<WaitReactor>(std::move(scope), std::move(place), response);
  reactor->Start(rpc, id, timeout);
  return reactor.get();
}

grpc::ServerWriteReactor<v1::Operation>* StartWatch(const JobRpc& rpc, CallScope scope, FollowerPlace place,
                                                   const std::string& id) {
  const auto reactor = std::make_shared<WatchReactor>(std::move(scope), std::move(place));
  reactor->Start(rpc, id);
  return reactor.get();
}

}  // namespace samebits::server
