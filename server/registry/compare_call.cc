#include "server/registry/compare_call.h"

#include <utility>

namespace samebits::server {

const char* SideName(int side) { return side == 0 ? "a" : "b"; }

ComparisonAnswer Answer(const CheckerBackend& checker, Metrics& metrics, SignatureAnswer a, SignatureAnswer b) {
  ComparisonAnswer answer;
  answer.comparison = checker.CompareSignatures(*a.signature, *b.signature);
  answer.a = std::move(a);
  answer.b = std::move(b);
  metrics.CountVerdict(checker::VerdictName(answer.comparison.verdict));
  return answer;
}

void CompareCall::Start(Signatures& signatures, const std::array<Subject, 2>& subjects) {
  for (int side = 0; side < 2; ++side) {
    if (finished()) return;
    CallHandle handle =
        signatures.Get(subjects[side], TaskPool::Admission::kQueue,
                       [self = shared_from_this(), side](absl::StatusOr<SignatureAnswer> answer) {
                         self->OnSide(side, std::move(answer));
                       });
    absl::MutexLock lock(&mutex_);
    sides_[side] = std::move(handle);
  }
  if (finished()) CancelSides();  // the end came between the two
}

void CompareCall::OnSide(int side, absl::StatusOr<SignatureAnswer> answer) {
  if (!answer.ok()) {
    {
      absl::MutexLock lock(&mutex_);
      finished_ = true;
    }
    if (done_.Deliver(WithMetadata(answer.status(), "side", SideName(side)))) CancelSides();
    return;
  }
  std::optional<SignatureAnswer> a, b;
  {
    absl::MutexLock lock(&mutex_);
    answers_[side] = *std::move(answer);
    if (finished_ || !answers_[0] || !answers_[1]) return;
    finished_ = true;
    a = std::move(answers_[0]);
    b = std::move(answers_[1]);
    sides_ = {};
  }
  done_.Deliver(Answer(checker_, metrics_, *std::move(a), *std::move(b)));
}

void CompareCall::CancelSides() {
  std::array<CallHandle, 2> sides;
  {
    absl::MutexLock lock(&mutex_);
    sides.swap(sides_);
  }
  for (const CallHandle& side : sides)
    if (side != nullptr) side->Cancel();
}

void CompareCall::Cancel() {
  {
    absl::MutexLock lock(&mutex_);
    finished_ = true;
  }
  done_.Deliver(Abandoned());
  CancelSides();
}

}  // namespace samebits::server
