#ifndef SAMEBITS_WORKERS_AGENT_SLOT_H_
#define SAMEBITS_WORKERS_AGENT_SLOT_H_

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "samebits/worker/v1/worker_sessions.pb.h"
#include "workers/agent/agent.h"

namespace samebits::workers {

// One device and the task that it runs. Thread-safe.
class Slot {
 public:
  // `config`, which outlives the slot, says what it runs: other tasks end with an error here, whatever the server asks
  // for. `on_end` is called on the slot's thread when a task has ended.
  Slot(DeviceHandle device, const AgentConfig& config, std::function<void()> on_end);
  ~Slot();  // stops the task

  const DeviceInfo& device() const { return device_.info; }
  // Starts a task; the slot must be free.
  void Start(worker::v1::UpdateWorkerSessionResponse::Leased lease);
  // Stops the task of that lease, if it is the one.
  void Cancel(const worker::v1::TaskKey& key);
  void CancelAny() { cancelled_ = true; }

  enum class State { kFree, kRunning, kEnded };
  State state() const;
  // With finished units, as many as a call may carry. A task that has failed is running until they are delivered.
  worker::v1::TaskProgress progress() const;   // kRunning
  void UnitsDelivered(const worker::v1::TaskKey& key, int number);
  worker::v1::TaskResult result() const;       // kEnded
  void Delivered(const worker::v1::TaskKey& key);  // kEnded becomes kFree, where the result is that of `key`

 private:
  void Work();
  using Leased = worker::v1::UpdateWorkerSessionResponse::Leased;
  worker::v1::TaskResult Execute(const Leased& lease);
  // These fill the result's outcome.
  absl::Status Verify(const Leased& lease, worker::v1::TaskResult* result);
  absl::Status RunNumerics(const Leased& lease, worker::v1::TaskResult* result);
  absl::Status BuildProfile(const Leased& lease, worker::v1::TaskResult* result);
  absl::Status RecoverGemms(const Leased& lease, worker::v1::TaskResult* result);
  absl::Status EmulateGemm(const Leased& lease, worker::v1::TaskResult* result);
  absl::Status CheckLibrary(const std::string& library) const;
  UnitTaskEvents Events();
  void SetProgress(uint64_t done, uint64_t total);

  const DeviceHandle device_;
  const AgentConfig& config_;
  const std::function<void()> on_end_;
  std::atomic<bool> cancelled_{false};
  mutable absl::Mutex mutex_;
  std::optional<worker::v1::UpdateWorkerSessionResponse::Leased> lease_ ABSL_GUARDED_BY(mutex_);
  std::optional<worker::v1::TaskResult> result_ ABSL_GUARDED_BY(mutex_);
  worker::v1::TaskProgress progress_ ABSL_GUARDED_BY(mutex_);
  std::deque<worker::v1::TaskUnit> units_ ABSL_GUARDED_BY(mutex_);  // not delivered yet
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace samebits::workers

#endif  // SAMEBITS_WORKERS_AGENT_SLOT_H_
