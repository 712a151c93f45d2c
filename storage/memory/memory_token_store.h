#ifndef SAMEBITS_STORAGE_MEMORY_MEMORY_TOKEN_STORE_H_
#define SAMEBITS_STORAGE_MEMORY_MEMORY_TOKEN_STORE_H_

#include <functional>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "storage/token_store.h"

namespace samebits::storage {

// Keeps everything in memory; lost with the object.
class MemoryTokenStore : public TokenStore {
 public:
  absl::Status AddEnrolment(const EnrolmentRecord& enrolment) override;
  absl::StatusOr<std::vector<EnrolmentRecord>> ListEnrolments() override;
  absl::Status Enrol(const Digest& enrolment, const WorkerTokenRecord& token) override;
  absl::StatusOr<std::vector<WorkerTokenRecord>> ListWorkerTokens() override;
  absl::Status DeleteWorkerToken(std::string_view worker) override;

 private:
  absl::Mutex mutex_;
  std::map<Digest, EnrolmentRecord> enrolments_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, WorkerTokenRecord, std::less<>> tokens_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace samebits::storage

#endif  // SAMEBITS_STORAGE_MEMORY_MEMORY_TOKEN_STORE_H_
