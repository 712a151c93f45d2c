#ifndef SAMEBITS_SERVER_REGISTRY_TASK_POOL_H_
#define SAMEBITS_SERVER_REGISTRY_TASK_POOL_H_

#include <cstdint>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace samebits::server {

// A fixed number of threads and a bounded queue, first in first out. Thread-safe.
class TaskPool {
 public:
  // Called once: with true on a thread of the pool, or with false, on any thread, if the pool stops before.
  using Task = absl::AnyInvocable<void(bool run)>;
  enum class Admission : uint8_t {
    kQueue,     // counts against the queue limit
    kReserved,  // bounded by the caller, always accepted
  };
  struct Load {
    uint64_t queued = 0, running = 0;
  };

  // `limit_name` is what errors call `queue_limit`.
  TaskPool(int threads, uint32_t queue_limit, std::string limit_name);
  ~TaskPool();  // as Stop

  // RESOURCE_EXHAUSTED where `queue_limit` tasks wait, UNAVAILABLE after Stop; then the task is not called.
  absl::Status Submit(Task task, Admission admission);
  // Lets running tasks end, calls waiting ones with false. Idempotent. Not from a task.
  void Stop();
  Load load() const;

 private:
  struct Waiting {
    Task task;
    Admission admission;
  };
  void Work();
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !queue_.empty(); }

  const uint32_t queue_limit_;
  const std::string limit_name_;
  mutable absl::Mutex mutex_;
  std::deque<Waiting> queue_ ABSL_GUARDED_BY(mutex_);
  uint32_t limited_ ABSL_GUARDED_BY(mutex_) = 0;  // waiting tasks that count against the limit
  uint32_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_REGISTRY_TASK_POOL_H_
