#ifndef SAMEBITS_STORAGE_MEMORY_MEMORY_JOB_STORE_H_
#define SAMEBITS_STORAGE_MEMORY_MEMORY_JOB_STORE_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "storage/job_store.h"

namespace samebits::storage {

// Keeps everything in memory; lost with the object. Leasing and listing walk all jobs.
class MemoryJobStore : public JobStore {
 public:
  absl::StatusOr<Created> CreateJob(const JobRecord& job, absl::Span<const TaskRecord> tasks,
                                    const OpenLimits& limits) override;
  absl::StatusOr<JobRecord> GetJob(std::string_view id) override;
  absl::StatusOr<std::vector<TaskRecord>> GetTasks(std::string_view id) override;
  absl::StatusOr<std::vector<AttemptRecord>> GetAttempts(std::string_view id) override;
  absl::StatusOr<JobPage> ListJobs(const JobFilter& filter, int64_t before, int limit) override;
  absl::StatusOr<std::vector<Lease>> LeaseTasks(const LeaseRequest& request) override;
  absl::StatusOr<std::vector<bool>> RenewLeases(absl::Span<const LeaseKey> leases, absl::Time deadline) override;
  absl::StatusOr<bool> AddUnits(const LeaseKey& lease, absl::Span<const UnitRecord> units,
                                const UnitLimits& limits) override;
  absl::StatusOr<TaskEnd> CompleteTask(const LeaseKey& lease, std::string_view result) override;
  absl::StatusOr<TaskEnd> FailTask(const LeaseKey& lease, const absl::Status& error, bool retry, absl::Time now,
                                   absl::Time not_before) override;
  absl::StatusOr<std::vector<LeaseKey>> ExpireLeases(absl::Time now, const absl::Status& error, absl::Time not_before,
                                                     int limit) override;
  absl::StatusOr<std::vector<LeaseKey>> ReleaseLeases(std::string_view worker, absl::Time now,
                                                      const absl::Status& error) override;
  absl::Status RestartLeases(absl::Time deadline, absl::Time not_before) override;
  absl::StatusOr<bool> FinishJob(std::string_view id, const JobEnd& end) override;
  absl::StatusOr<std::vector<std::string>> ListFinishable(int limit) override;
  absl::StatusOr<std::vector<std::string>> ListOverdue(absl::Time now, int limit) override;
  absl::Status DeleteJob(std::string_view id) override;
  absl::StatusOr<int> DeleteFinished(absl::Time time, int limit) override;
  absl::StatusOr<ReproducerRecord> GetReproducer(std::string_view id) override;
  absl::StatusOr<ReproducerPage> ListReproducers(int64_t before, int limit) override;
  absl::Status DeleteReproducer(std::string_view id) override;
  absl::StatusOr<JobStats> Stats() override;

 private:
  struct Entry {
    JobRecord job;
    std::vector<TaskRecord> tasks;
    std::vector<AttemptRecord> attempts;
    std::map<uint32_t, std::map<uint32_t, std::string>> units;  // bodies by task and index
  };
  using Entries = std::map<int64_t, Entry>;  // by sequence

  Entry* Find(std::string_view id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The task of a current lease, or null with how the lease stands.
  TaskRecord* FindLeased(const LeaseKey& lease, TaskState repeated, Entry** entry, TaskEnd* end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Erase(Entries::iterator at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  Entries jobs_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int64_t, std::less<>> sequences_ ABSL_GUARDED_BY(mutex_);  // by id
  std::map<std::pair<std::string, std::string>, int64_t> requests_ ABSL_GUARDED_BY(mutex_);
  std::vector<ReproducerRecord> reproducers_ ABSL_GUARDED_BY(mutex_);
  int64_t last_reproducer_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t next_sequence_ ABSL_GUARDED_BY(mutex_) = 1, next_token_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace samebits::storage

#endif  // SAMEBITS_STORAGE_MEMORY_MEMORY_JOB_STORE_H_
