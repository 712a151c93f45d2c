#include "core/heal/reference/worker_threads.h"

#include <algorithm>

namespace samebits::heal {

WorkerThreads::WorkerThreads(int count) {
  if (count <= 0) count = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  for (int number = 1; number < count; ++number) threads_.emplace_back([this, number] { Serve(number); });
}

WorkerThreads::~WorkerThreads() {
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

void WorkerThreads::Part(int number, int parts, int64_t items,
                         const std::function<void(int64_t, int64_t)>& work) const {
  if (number >= parts) return;
  const int64_t begin = items * number / parts, end = items * (number + 1) / parts;
  if (begin < end) work(begin, end);
}

void WorkerThreads::Run(int64_t items, int64_t least, const std::function<void(int64_t, int64_t)>& work) {
  const int64_t most = std::max<int64_t>(1, items / std::max<int64_t>(1, least));
  const int parts = static_cast<int>(std::min<int64_t>(most, static_cast<int64_t>(threads_.size()) + 1));
  if (parts == 1) return Part(0, 1, items, work);
  {
    absl::MutexLock lock(&mutex_);
    ++round_;
    busy_ = static_cast<int>(threads_.size());
    parts_ = parts, items_ = items, work_ = &work;
  }
  Part(0, parts, items, work);
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](int* busy) { return *busy == 0; }, &busy_));
}

void WorkerThreads::Serve(int number) {
  for (int64_t seen = 0;; ++seen) {
    int parts = 0;
    int64_t items = 0;
    const std::function<void(int64_t, int64_t)>* work = nullptr;
    {
      absl::MutexLock lock(&mutex_);
      const auto called = [this, seen]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopped_ || round_ > seen; };
      mutex_.Await(absl::Condition(&called));
      if (stopped_) return;
      parts = parts_, items = items_, work = work_;
    }
    Part(number, parts, items, *work);
    absl::MutexLock lock(&mutex_);
    --busy_;
  }
}

}  // namespace samebits::heal
