#ifndef SAMEBITS_SERVER_REGISTRY_CALL_H_
#define SAMEBITS_SERVER_REGISTRY_CALL_H_

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/registry/errors.h"

namespace samebits::server {

// A request under way. Thread-safe.
class Call {
 public:
  virtual ~Call() = default;
  // Answers with CANCELLED at once, unless the answer is out, and stops work that nobody else waits for.
  virtual void Cancel() = 0;
};

// May be null where the answer came before the function returned.
using CallHandle = std::shared_ptr<Call>;

// Receives the answer exactly once, on any thread.
template <typename T>
using Done = absl::AnyInvocable<void(absl::StatusOr<T>)>;

// A Done that whoever comes first may call. Thread-safe.
template <typename T>
class DoneOnce {
 public:
  explicit DoneOnce(Done<T> done) : done_(std::move(done)) {}
  // True if this call delivered the answer.
  bool Deliver(absl::StatusOr<T> answer) {
    Done<T> done;
    {
      absl::MutexLock lock(&mutex_);
      if (done_ == nullptr) return false;
      done = std::exchange(done_, nullptr);
    }
    done(std::move(answer));
    return true;
  }

 private:
  absl::Mutex mutex_;
  Done<T> done_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_REGISTRY_CALL_H_
