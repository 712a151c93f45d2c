#include "server/rpc/partition_reactor.h"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/registry/partition.h"
#include "server/rpc/messages.h"

namespace samebits::server {
namespace {

using Request = v1::PartitionKernelsRequest;
using Response = v1::PartitionKernelsResponse;

// Reads items as long as few are open (read, and the result not yet written), so that a stream holds little memory
// and takes a bounded share of the check queue. One thread at a time starts operations on the stream (`Pump`), never
// under the lock: gRPC may run the completion before the start returns.
class PartitionReactor : public grpc::ServerBidiReactor<Request, Response>,
                         public std::enable_shared_from_this<PartitionReactor> {
 public:
  PartitionReactor(Registry& registry, CallScope scope)
      : registry_(registry), scope_(std::move(scope)), window_(2 * registry.check_threads() + 2),
        request_id_(scope_.request_id()) {}

  void Start() {
    self_ = shared_from_this();
    if (!scope_.refusal().ok()) return Fail(scope_.refusal());
    if (!registry_.EnterPartition())
      return Fail(QueueFull("max_partition_streams", registry_.limits().max_partition_streams));
    entered_ = true;
    Pump();
  }

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { Fail(Abandoned()); }
  void OnDone() override;

 private:
  enum class Action : uint8_t { kNone, kRead, kWrite, kPartition, kFinish };

  void OnConfig(const v1::PartitionConfig& config);
  void OnItem(const v1::PartitionItem& item);
  void OnAnswer(const PartitionItemAnswer& answer);
  std::shared_ptr<PartitionSession> Session();
  void OpenSession(CheckOptions options, std::string reference_id);
  void Fail(const absl::Status& status);
  void Pump();
  Action Next() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MakePartition();

  Registry& registry_;
  CallScope scope_;
  const int window_;
  const std::string request_id_;
  std::shared_ptr<PartitionReactor> self_;  // until OnDone
  bool entered_ = false;
  Request request_;                         // of the read under way
  Response response_;                       // of the write under way

  absl::Mutex mutex_;
  std::shared_ptr<PartitionSession> session_ ABSL_GUARDED_BY(mutex_);
  std::deque<Response> outbox_ ABSL_GUARDED_BY(mutex_);
  int64_t received_ ABSL_GUARDED_BY(mutex_) = 0, decided_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t written_ ABSL_GUARDED_BY(mutex_) = 0;
  bool pumping_ ABSL_GUARDED_BY(mutex_) = false, reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false, input_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool partition_made_ ABSL_GUARDED_BY(mutex_) = false, finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);  // to finish with
};

void PartitionReactor::OpenSession(CheckOptions options, std::string reference_id) {
  std::weak_ptr<PartitionReactor> weak = weak_from_this();
  auto session = std::make_shared<PartitionSession>(registry_, options, std::move(reference_id),
                                                    [weak](PartitionItemAnswer answer) {
                                                      if (const auto self = weak.lock()) self->OnAnswer(answer);
                                                    });
  absl::MutexLock lock(&mutex_);
  entered_ = false;  // the session leaves
  session_ = std::move(session);
}

std::shared_ptr<PartitionSession> PartitionReactor::Session() {
  absl::MutexLock lock(&mutex_);
  return session_;
}

void PartitionReactor::OnConfig(const v1::PartitionConfig& config) {
  if (Session() != nullptr) return Fail(InvalidField("config", "must be the first message"));
  OpenSession(FromMessage(config.options()), config.reference_id());
}

void PartitionReactor::OnItem(const v1::PartitionItem& item) {
  if (Session() == nullptr) OpenSession({}, "");
  {
    absl::MutexLock lock(&mutex_);
    ++received_;
  }
  const absl::Status status = Session()->Add(item.id(), FromMessage(item.kernel(), "item.kernel"));
  if (!status.ok()) Fail(status);
}

void PartitionReactor::OnReadDone(bool ok) {
  const auto self = shared_from_this();
  if (ok) {
    switch (request_.message_case()) {
      case Request::kConfig:
        OnConfig(request_.config());
        break;
      case Request::kItem:
        OnItem(request_.item());
        break;
      case Request::MESSAGE_NOT_SET:
        Fail(InvalidField("message", "set either config or item"));
        break;
    }
  }
  {
    absl::MutexLock lock(&mutex_);
    reading_ = false;
    if (!ok) input_ended_ = true;
  }
  Pump();
}

void PartitionReactor::OnAnswer(const PartitionItemAnswer& answer) {
  Response response;
  ToMessage(answer, registry_.checker().SignatureVersion(), request_id_, response.mutable_item());
  {
    absl::MutexLock lock(&mutex_);
    response.mutable_item()->set_decided(++decided_);
    response.mutable_item()->set_received(received_);
    outbox_.push_back(std::move(response));
  }
  Pump();
}

void PartitionReactor::OnWriteDone(bool ok) {
  const auto self = shared_from_this();
  {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    ++written_;
    if (!ok && !end_) end_ = Abandoned();
    if (ok && partition_made_ && outbox_.empty() && !end_) end_ = absl::OkStatus();
  }
  Pump();
}

void PartitionReactor::Fail(const absl::Status& status) {
  const auto self = shared_from_this();
  std::shared_ptr<PartitionSession> session;
  {
    absl::MutexLock lock(&mutex_);
    if (!end_) end_ = status;
    session = session_;
  }
  if (session != nullptr) session->Cancel();
  Pump();
}

void PartitionReactor::MakePartition() {
  if (Session() == nullptr) OpenSession({}, "");
  const absl::StatusOr<PartitionAnswer> partition = Session()->Finish();
  Response response;
  if (partition.ok()) ToMessage(*partition, response.mutable_partition());
  absl::MutexLock lock(&mutex_);
  partition_made_ = true;
  if (partition.ok()) {
    outbox_.push_back(std::move(response));
  } else if (!end_) {
    end_ = partition.status();
  }
}

PartitionReactor::Action PartitionReactor::Next() {
  if (finished_) return Action::kNone;
  if (end_) {
    if (writing_) return Action::kNone;
    finished_ = true;
    return Action::kFinish;
  }
  if (!writing_ && !outbox_.empty()) {
    writing_ = true;
    response_ = std::move(outbox_.front());
    outbox_.pop_front();
    return Action::kWrite;
  }
  if (input_ended_) {
    const bool all_written = !writing_ && decided_ == received_ && !partition_made_;
    return all_written ? Action::kPartition : Action::kNone;
  }
  if (!reading_ && received_ - written_ < window_) {
    reading_ = true;
    return Action::kRead;
  }
  return Action::kNone;
}

void PartitionReactor::Pump() {
  const auto self = shared_from_this();
  while (true) {
    Action action;
    std::optional<absl::Status> end;
    {
      absl::MutexLock lock(&mutex_);
      if (pumping_) return;  // the thread that pumps looks again before it ends
      action = Next();
      if (action == Action::kNone) return;
      if (action == Action::kFinish) end = end_;
      pumping_ = true;
    }
    switch (action) {
      case Action::kRead:
        StartRead(&request_);
        break;
      case Action::kWrite:
        StartWrite(&response_);
        break;
      case Action::kPartition:
        MakePartition();
        break;
      case Action::kFinish:
        Finish(scope_.End(*end));
        break;
      case Action::kNone:
        break;
    }
    absl::MutexLock lock(&mutex_);
    pumping_ = false;
  }
}

void PartitionReactor::OnDone() {
  const std::shared_ptr<PartitionReactor> self = std::move(self_);
  if (const std::shared_ptr<PartitionSession> session = Session()) session->Cancel();
  if (entered_) registry_.LeavePartition();
}

}  // namespace

grpc::ServerBidiReactor<Request, Response>* StartPartition(Registry& registry, CallScope scope) {
  const auto reactor = std::make_shared<PartitionReactor>(registry, std::move(scope));
  reactor->Start();
  return reactor.get();
}

}  // namespace samebits::server
