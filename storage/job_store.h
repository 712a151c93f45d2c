#ifndef SAMEBITS_STORAGE_JOB_STORE_H_
#define SAMEBITS_STORAGE_JOB_STORE_H_

// Jobs, the tasks that workers lease of them, and what they left behind. Implementations: memory/, sqlite/. All of
// them pass tests/conformance/storage.
//
// A job is accepted with all its tasks at once. A task is queued, then leased to one worker at a time until it is done
// or has failed; each lease has a token that no other lease ever had, and only the holder of the current token can
// complete the task. A job without unfinished tasks is finished by its owner, once. Nothing leaves a final state.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "storage/kernel_store.h"

namespace samebits::storage {

// Times are kept to the microsecond. InfiniteFuture stands for "none" or "not yet".
inline constexpr absl::Time kNever = absl::InfiniteFuture();

enum class JobState : uint8_t { kOpen, kSucceeded, kFailed, kCancelled };  // stored as numbers
enum class TaskState : uint8_t { kQueued, kLeased, kDone, kFailed, kCancelled };

struct JobRecord {
  // Chosen by the caller of CreateJob.
  std::string id;              // unique
  std::string kind;
  std::string principal;       // who asked for it
  std::string request_id;      // of that principal; empty: none
  Digest request_digest{};     // of the request without its id
  int32_t priority = 0;        // higher goes first
  absl::Time create_time;
  absl::Time deadline = kNever;
  std::string spec;            // the store does not look into it
  // Kept by the store.
  int64_t sequence = 0;        // order of acceptance, from 1
  JobState state = JobState::kOpen;
  absl::Time start_time = kNever;  // first lease of a task
  absl::Time end_time = kNever;
  uint32_t open_tasks = 0;     // queued or leased
  int32_t error_code = 0;      // canonical code of a job that failed or was cancelled
  std::string error;
  std::string result;          // of a job that succeeded
};

struct TaskRecord {
  std::string job;
  uint32_t index = 0;          // in the job
  std::string target;          // what a worker must offer to lease it
  uint32_t max_attempts = 3;
  // Kept by the store.
  TaskState state = TaskState::kQueued;
  uint32_t attempt = 0;        // leases given so far
  int64_t token = 0;           // of the last lease
  std::string worker;          // of the last lease
  absl::Time lease_deadline = kNever;
  absl::Time not_before;       // of the next lease
  int32_t error_code = 0;      // of the last attempt that failed
  std::string error;
  std::string result;
};

// An attempt that ended without a result.
struct AttemptRecord {
  uint32_t task = 0, attempt = 0;  // attempts count from 1
  std::string worker;
  absl::Time end_time;
  int32_t error_code = 0;
  std::string error;
};

// A finished part of a task, kept until the job ends, so that the next lease of the task need not do it again.
struct UnitRecord {
  uint32_t index = 0;
  std::string body;            // the store does not look into it
};

// Of one task; 0: none.
struct UnitLimits {
  uint64_t units = 0, bytes = 0;
};

// Names one lease.
struct LeaseKey {
  std::string job;
  uint32_t task = 0;
  int64_t token = 0;
  std::string worker;          // that holds it; of another worker it is no current lease
};

struct Lease {
  TaskRecord task;
  std::string kind, spec;      // of the job
  absl::Time deadline = kNever;  // of the job
  std::vector<UnitRecord> units;  // that earlier leases finished, by index
};

struct LeaseRequest {
  std::string worker;
  std::vector<std::string> targets;  // what the worker offers
  uint32_t count = 1;
  absl::Time now, lease_deadline;
};

// Bounds that CreateJob enforces; 0: none.
struct OpenLimits {
  uint32_t open_jobs = 0, open_jobs_of_principal = 0;
};

struct JobFilter {
  std::string principal;       // empty: all
  bool open_only = false;
};

struct JobPage {
  std::vector<JobRecord> jobs;  // the latest first, without spec and result
  bool more = false;
};

// Evidence that a verdict was wrong. Outlives its job.
struct ReproducerRecord {
  std::string id;              // unique
  std::string job;
  absl::Time create_time;
  std::string body;            // the store does not look into it
  int64_t sequence = 0;        // kept by the store: order of storing, from 1
};

struct ReproducerPage {
  std::vector<ReproducerRecord> reproducers;  // the latest first, without bodies
  bool more = false;
};

struct JobEnd {
  JobState state = JobState::kSucceeded;  // not kOpen
  absl::Time time;
  int32_t error_code = 0;
  std::string error, result;
  std::vector<ReproducerRecord> reproducers;
};

struct JobStats {
  uint64_t open_jobs = 0, queued_tasks = 0, leased_tasks = 0, finished_jobs = 0, reproducers = 0;
  absl::Time oldest_queued = kNever;  // acceptance of the longest waiting job with a queued task
};

// How the store took the end of a task.
enum class Outcome : uint8_t {
  kAccepted,
  kRepeated,  // this very lease ended so before: nothing changed
  kStale,     // the lease is not current, or the job has ended: nothing changed
};

struct TaskEnd {
  Outcome outcome = Outcome::kStale;
  bool last = false;           // the job has no unfinished task left
};

// Thread-safe; calls may block on I/O. What a call reports is durable. Errors common to all calls as KernelStore's;
// NOT_FOUND where a job is named that is not there.
class JobStore {
 public:
  struct Created {
    JobRecord job;
    bool created = false;      // false: the principal's request_id is known, and `job` is what it made
  };

  virtual ~JobStore() = default;

  // Accepts a job of at least one task. ALREADY_EXISTS where the request_id was used with another digest;
  // RESOURCE_EXHAUSTED with "open_jobs" or "open_jobs_of_principal" as message where that limit is reached.
  virtual absl::StatusOr<Created> CreateJob(const JobRecord& job, absl::Span<const TaskRecord> tasks,
                                            const OpenLimits& limits) = 0;
  virtual absl::StatusOr<JobRecord> GetJob(std::string_view id) = 0;
  virtual absl::StatusOr<std::vector<TaskRecord>> GetTasks(std::string_view id) = 0;         // by index
  virtual absl::StatusOr<std::vector<AttemptRecord>> GetAttempts(std::string_view id) = 0;   // in order of their end
  // Up to `limit` jobs with sequence below `before` (0: from the latest).
  virtual absl::StatusOr<JobPage> ListJobs(const JobFilter& filter, int64_t before, int limit) = 0;

  // Leases queued tasks of open jobs: higher priority first, then in order of acceptance.
  virtual absl::StatusOr<std::vector<Lease>> LeaseTasks(const LeaseRequest& request) = 0;
  // Extends leases; for each, whether it is still current.
  virtual absl::StatusOr<std::vector<bool>> RenewLeases(absl::Span<const LeaseKey> leases, absl::Time deadline) = 0;
  // Keeps units of the lease's task; one that is there stays as it is. False where the lease is not current. Nothing is
  // kept and RESOURCE_EXHAUSTED returned, with "task_units" or "task_unit_bytes" as message, where the task would have more.
  virtual absl::StatusOr<bool> AddUnits(const LeaseKey& lease, absl::Span<const UnitRecord> units,
                                        const UnitLimits& limits) = 0;
  virtual absl::StatusOr<TaskEnd> CompleteTask(const LeaseKey& lease, std::string_view result) = 0;
  // Ends an attempt with an error. The task is queued again, not before `not_before`, if `retry` and attempts are
  // left; else it has failed.
  virtual absl::StatusOr<TaskEnd> FailTask(const LeaseKey& lease, const absl::Status& error, bool retry,
                                           absl::Time now, absl::Time not_before) = 0;
  // As FailTask with `error` and retry, for up to `limit` leases whose deadline is before `now`. Returns them.
  virtual absl::StatusOr<std::vector<LeaseKey>> ExpireLeases(absl::Time now, const absl::Status& error,
                                                             absl::Time not_before, int limit) = 0;
  // The same for all leases of one worker, which may be leased again at once. Returns them.
  virtual absl::StatusOr<std::vector<LeaseKey>> ReleaseLeases(std::string_view worker, absl::Time now,
                                                              const absl::Status& error) = 0;
  // Sets the deadline of all leases, and lets queued tasks wait until `not_before` at most.
  virtual absl::Status RestartLeases(absl::Time deadline, absl::Time not_before) = 0;

  // Ends an open job, cancels its unfinished tasks and forgets the units of all; false where the job had ended before. All or nothing.
  virtual absl::StatusOr<bool> FinishJob(std::string_view id, const JobEnd& end) = 0;
  // Open jobs, up to `limit`: without unfinished tasks; with a deadline before `now`.
  virtual absl::StatusOr<std::vector<std::string>> ListFinishable(int limit) = 0;
  virtual absl::StatusOr<std::vector<std::string>> ListOverdue(absl::Time now, int limit) = 0;
  // FAILED_PRECONDITION while the job is open.
  virtual absl::Status DeleteJob(std::string_view id) = 0;
  // Deletes up to `limit` jobs that ended before `time`, the first to end first; returns how many.
  virtual absl::StatusOr<int> DeleteFinished(absl::Time time, int limit) = 0;

  virtual absl::StatusOr<ReproducerRecord> GetReproducer(std::string_view id) = 0;
  // Up to `limit` reproducers with sequence below `before` (0: from the latest).
  virtual absl::StatusOr<ReproducerPage> ListReproducers(int64_t before, int limit) = 0;
  virtual absl::Status DeleteReproducer(std::string_view id) = 0;
  virtual absl::StatusOr<JobStats> Stats() = 0;
};

}  // namespace samebits::storage

#endif  // SAMEBITS_STORAGE_JOB_STORE_H_
