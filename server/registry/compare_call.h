#ifndef SAMEBITS_SERVER_REGISTRY_COMPARE_CALL_H_
#define SAMEBITS_SERVER_REGISTRY_COMPARE_CALL_H_

#include <array>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/registry/call.h"
#include "server/registry/registry.h"

namespace samebits::server {

// "a" or "b", as error metadata.
const char* SideName(int side);

// The answer from both signatures; counts the verdict.
ComparisonAnswer Answer(const CheckerBackend& checker, Metrics& metrics, SignatureAnswer a, SignatureAnswer b);

// Joins the signatures of two sides. The first error answers and cancels the other side.
class CompareCall : public Call, public std::enable_shared_from_this<CompareCall> {
 public:
  CompareCall(const CheckerBackend& checker, Metrics& metrics, Done<ComparisonAnswer> done)
      : checker_(checker), metrics_(metrics), done_(std::move(done)) {}

  void Start(Signatures& signatures, const std::array<Subject, 2>& subjects);
  void Cancel() override;

 private:
  void OnSide(int side, absl::StatusOr<SignatureAnswer> answer);
  void CancelSides();
  bool finished() {
    absl::MutexLock lock(&mutex_);
    return finished_;
  }

  const CheckerBackend& checker_;
  Metrics& metrics_;
  DoneOnce<ComparisonAnswer> done_;
  absl::Mutex mutex_;
  std::array<std::optional<SignatureAnswer>, 2> answers_ ABSL_GUARDED_BY(mutex_);
  std::array<CallHandle, 2> sides_ ABSL_GUARDED_BY(mutex_);
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_REGISTRY_COMPARE_CALL_H_
