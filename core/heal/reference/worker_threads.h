#ifndef SAMEBITS_CORE_HEAL_REFERENCE_WORKER_THREADS_H_
#define SAMEBITS_CORE_HEAL_REFERENCE_WORKER_THREADS_H_

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace samebits::heal {

// Threads that share the items of a loop.
class WorkerThreads {
 public:
  // `count` in all, the caller's included; 0 for one per core.
  explicit WorkerThreads(int count);
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  // Calls work(begin, end) for ranges that cover [0, items), each at least `least` long where there are that many, and
  // returns when all are done. From one thread at a time; work must not call this.
  void Run(int64_t items, int64_t least, const std::function<void(int64_t, int64_t)>& work) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Serve(int number);
  void Part(int number, int parts, int64_t items, const std::function<void(int64_t, int64_t)>& work) const;

  absl::Mutex mutex_;
  int64_t round_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  int busy_ ABSL_GUARDED_BY(mutex_) = 0, parts_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t items_ ABSL_GUARDED_BY(mutex_) = 0;
  const std::function<void(int64_t, int64_t)>* work_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::vector<std::thread> threads_;
};

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_REFERENCE_WORKER_THREADS_H_
