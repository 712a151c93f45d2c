#include "storage/memory/memory_token_store.h"

#include <algorithm>

namespace samebits::storage {
namespace {

absl::Time ToMicros(absl::Time time) { return absl::FromUnixMicros(absl::ToUnixMicros(time)); }

}  // namespace

absl::Status MemoryTokenStore::AddEnrolment(const EnrolmentRecord& enrolment) {
  absl::MutexLock lock(&mutex_);
  std::erase_if(enrolments_, [&](const auto& entry) { return entry.second.expire_time <= enrolment.create_time; });
  EnrolmentRecord record = enrolment;
  record.create_time = ToMicros(record.create_time);
  record.expire_time = ToMicros(record.expire_time);
  if (!enrolments_.emplace(record.digest, record).second) return absl::AlreadyExistsError("the enrolment is there");
  return absl::OkStatus();
}

absl::StatusOr<std::vector<EnrolmentRecord>> MemoryTokenStore::ListEnrolments() {
  absl::MutexLock lock(&mutex_);
  std::vector<EnrolmentRecord> listed;
  for (const auto& [digest, enrolment] : enrolments_) listed.push_back(enrolment);
  return listed;
}

absl::Status MemoryTokenStore::Enrol(const Digest& enrolment, const WorkerTokenRecord& token) {
  absl::MutexLock lock(&mutex_);
  const auto at = enrolments_.find(enrolment);
  if (at == enrolments_.end() || at->second.expire_time <= token.create_time)
    return absl::NotFoundError("no such enrolment");
  if (!at->second.worker.empty() && at->second.worker != token.worker)
    return absl::PermissionDeniedError("the enrolment is for another worker");
  const auto known = tokens_.find(token.worker);
  if (known != tokens_.end() && known->second.digest == token.digest) return absl::OkStatus();
  if (known != tokens_.end() && at->second.worker.empty())
    return absl::AlreadyExistsError("the worker has another token");
  if (std::any_of(tokens_.begin(), tokens_.end(), [&](const auto& e) { return e.second.digest == token.digest; }))
    return absl::AlreadyExistsError("another worker has this token");
  if (at->second.uses_left == 0) return absl::FailedPreconditionError("the enrolment is used up");
  --at->second.uses_left;
  WorkerTokenRecord& stored = tokens_[token.worker] = token;
  stored.create_time = ToMicros(token.create_time);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<WorkerTokenRecord>> MemoryTokenStore::ListWorkerTokens() {
  absl::MutexLock lock(&mutex_);
  std::vector<WorkerTokenRecord> listed;
  for (const auto& [worker, token] : tokens_) listed.push_back(token);
  return listed;
}

absl::Status MemoryTokenStore::DeleteWorkerToken(std::string_view worker) {
  absl::MutexLock lock(&mutex_);
  const auto at = tokens_.find(worker);
  if (at == tokens_.end()) return absl::NotFoundError("the worker has no token");
  tokens_.erase(at);
  return absl::OkStatus();
}

}  // namespace samebits::storage
