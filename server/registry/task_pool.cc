#include "server/registry/task_pool.h"

#include <utility>

#include "server/registry/errors.h"

namespace samebits::server {

TaskPool::TaskPool(int threads, uint32_t queue_limit, std::string limit_name)
    : queue_limit_(queue_limit), limit_name_(std::move(limit_name)) {
  threads_.reserve(threads);
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

TaskPool::~TaskPool() { Stop(); }

absl::Status TaskPool::Submit(Task task, Admission admission) {
  absl::MutexLock lock(&mutex_);
  if (stopping_) return ShuttingDown();
  if (admission == Admission::kQueue) {
    if (limited_ >= queue_limit_) return QueueFull(limit_name_, queue_limit_);
    ++limited_;
  }
  queue_.push_back({std::move(task), admission});
  return absl::OkStatus();
}

void TaskPool::Work() {
  while (true) {
    Waiting next;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &TaskPool::HasWork));
      if (stopping_) return;
      next = std::move(queue_.front());
      queue_.pop_front();
      if (next.admission == Admission::kQueue) --limited_;
      ++running_;
    }
    next.task(true);
    next.task = nullptr;
    absl::MutexLock lock(&mutex_);
    --running_;
  }
}

void TaskPool::Stop() {
  std::deque<Waiting> dropped;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    dropped.swap(queue_);
    limited_ = 0;
  }
  for (Waiting& waiting : dropped) waiting.task(false);
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

TaskPool::Load TaskPool::load() const {
  absl::MutexLock lock(&mutex_);
  return {queue_.size(), running_};
}

}  // namespace samebits::server
