#include "storage/sqlite/sqlite_job_store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "storage/sqlite/reader.h"
#include "storage/sqlite/times.h"

namespace samebits::storage {
namespace {

using sqlite::AsBlob;
using sqlite::Blob;
using sqlite::FromMicros;
using sqlite::SharedDatabase;
using sqlite::Statement;
using sqlite::ToMicros;
using sqlite::Transaction;

#define SAMEBITS_JOB_COLUMNS                                                                              \
  "sequence, id, kind, principal, coalesce(request_id, ''), request_digest, priority, create_time_micros," \
  " deadline_micros, state, start_time_micros, end_time_micros, open_tasks, error_code, error"
#define SAMEBITS_TASK_COLUMNS                                                                               \
  "task, target, max_attempts, state, attempt, token, worker, lease_deadline_micros, not_before_micros, error_code," \
  " error, result"
constexpr char kJobById[] = "SELECT " SAMEBITS_JOB_COLUMNS " FROM jobs WHERE id = ?";
constexpr char kJobByRequest[] = "SELECT " SAMEBITS_JOB_COLUMNS " FROM jobs WHERE principal = ? AND request_id = ?";
constexpr char kJobsBefore[] = "SELECT " SAMEBITS_JOB_COLUMNS
                               " FROM jobs WHERE sequence < ?1 AND (?2 = '' OR principal = ?2) AND (?3 = 0 OR state ="
                               " 0) ORDER BY sequence DESC LIMIT ?4";
constexpr char kBodyOf[] = "SELECT spec, result FROM job_bodies WHERE job = ?";
constexpr char kTasksOf[] = "SELECT " SAMEBITS_TASK_COLUMNS " FROM tasks WHERE job = ? ORDER BY task";
constexpr char kTaskOf[] = "SELECT " SAMEBITS_TASK_COLUMNS " FROM tasks WHERE job = ? AND task = ?";
#undef SAMEBITS_JOB_COLUMNS
#undef SAMEBITS_TASK_COLUMNS
constexpr char kAttemptsOf[] =
    "SELECT task, attempt, worker, end_time_micros, error_code, error FROM task_attempts WHERE job = ?"
    " ORDER BY sequence";
constexpr char kCountOpen[] = "SELECT principal, count(*) FROM jobs WHERE state = 0 GROUP BY principal";
constexpr char kInsertJob[] =
    "INSERT INTO jobs (id, kind, principal, request_id, request_digest, priority, create_time_micros,"
    " deadline_micros, start_time_micros, end_time_micros, open_tasks)"
    " VALUES (?, ?, ?, nullif(?, ''), ?, ?, ?, ?, ?, ?, ?) RETURNING sequence";
constexpr char kInsertBody[] = "INSERT INTO job_bodies VALUES (?, ?, x'')";
constexpr char kInsertTask[] =
    "INSERT INTO tasks (job, task, target, priority, max_attempts, lease_deadline_micros, not_before_micros)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)";
constexpr char kQueuedFor[] =
    "SELECT priority, job, task FROM tasks WHERE state = 0 AND target = ? AND not_before_micros <= ?"
    " ORDER BY priority DESC, job, task LIMIT ?";
constexpr char kNextToken[] = "UPDATE counters SET value = value + 1 WHERE name = 'lease_token' RETURNING value";
constexpr char kLeaseTask[] =
    "UPDATE tasks SET state = 1, attempt = attempt + 1, token = ?, worker = ?, lease_deadline_micros = ?"
    " WHERE job = ? AND task = ?";
constexpr char kStartJob[] =
    "UPDATE jobs SET start_time_micros = ? WHERE sequence = ? AND start_time_micros = 9223372036854775807";
constexpr char kJobOfLease[] =
    "SELECT j.id, j.kind, j.deadline_micros, b.spec FROM jobs j JOIN job_bodies b ON b.job = j.sequence"
    " WHERE j.sequence = ?";
constexpr char kRenew[] =
    "UPDATE tasks SET lease_deadline_micros = ? WHERE state = 1 AND task = ? AND token = ?"
    " AND worker = ? AND job = (SELECT sequence FROM jobs WHERE id = ?)";
constexpr char kRenewAll[] = "UPDATE tasks SET lease_deadline_micros = ? WHERE state = 1";
constexpr char kWaitAtMost[] = "UPDATE tasks SET not_before_micros = ?1 WHERE state = 0 AND not_before_micros > ?1";
constexpr char kUnitsOf[] = "SELECT unit, body FROM task_units WHERE job = ? AND task = ? ORDER BY unit";
constexpr char kAddUnit[] = "INSERT INTO task_units VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";
constexpr char kSizeOfUnits[] =
    "SELECT count(*), coalesce(sum(length(body)), 0) FROM task_units WHERE job = ? AND task = ?";
constexpr char kForgetUnits[] = "DELETE FROM task_units WHERE job = ?";
constexpr char kCompleteTask[] =
    "UPDATE tasks SET state = 2, lease_deadline_micros = 9223372036854775807, result = ? WHERE job = ? AND task = ?";
constexpr char kEndAttempt[] =
    "UPDATE tasks SET state = ?, lease_deadline_micros = 9223372036854775807, not_before_micros = ?, error_code = ?,"
    " error = ? WHERE job = ? AND task = ?";
constexpr char kAddAttempt[] =
    "INSERT INTO task_attempts (job, task, attempt, worker, end_time_micros, error_code, error)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)";
constexpr char kCloseTask[] = "UPDATE jobs SET open_tasks = open_tasks - 1 WHERE sequence = ? RETURNING open_tasks";
constexpr char kExpired[] =
    "SELECT t.task, t.token, t.worker, j.id FROM tasks t JOIN jobs j ON j.sequence = t.job"
    " WHERE t.state = 1 AND t.lease_deadline_micros < ? ORDER BY t.lease_deadline_micros LIMIT ?";
constexpr char kHeldBy[] =
    "SELECT t.task, t.token, t.worker, j.id FROM tasks t JOIN jobs j ON j.sequence = t.job"
    " WHERE t.state = 1 AND t.worker = ?";
constexpr char kFinishJob[] =
    "UPDATE jobs SET state = ?, end_time_micros = ?, error_code = ?, error = ?, open_tasks = 0 WHERE sequence = ?";
constexpr char kSetResult[] = "UPDATE job_bodies SET result = ? WHERE job = ?";
constexpr char kCancelTasks[] =
    "UPDATE tasks SET state = 4, lease_deadline_micros = 9223372036854775807 WHERE job = ? AND state < 2";
constexpr char kAddReproducer[] =
    "INSERT INTO reproducers (id, job, create_time_micros, body) VALUES (?, ?, ?, ?)";
constexpr char kFinishable[] =
    "SELECT id FROM jobs WHERE state = 0 AND open_tasks = 0 ORDER BY sequence LIMIT ?";
constexpr char kOverdue[] =
    "SELECT id FROM jobs WHERE state = 0 AND deadline_micros < ? ORDER BY deadline_micros LIMIT ?";
constexpr char kDeleteJob[] = "DELETE FROM jobs WHERE sequence = ?";
constexpr char kDeleteFinished[] =
    "DELETE FROM jobs WHERE sequence IN (SELECT sequence FROM jobs WHERE state <> 0 AND end_time_micros < ?"
    " ORDER BY end_time_micros LIMIT ?)";
constexpr char kReproducer[] = "SELECT id, job, create_time_micros, body, sequence FROM reproducers WHERE id = ?";
constexpr char kReproducers[] =
    "SELECT id, job, create_time_micros, sequence FROM reproducers WHERE sequence < ? ORDER BY sequence DESC LIMIT ?";
constexpr char kDeleteReproducer[] = "DELETE FROM reproducers WHERE id = ?";
constexpr char kStats[] =
    "SELECT (SELECT count(*) FROM jobs WHERE state = 0), (SELECT count(*) FROM tasks WHERE state = 0),"
    " (SELECT count(*) FROM tasks WHERE state = 1), (SELECT value FROM counters WHERE name = 'finished_jobs'),"
    " (SELECT count(*) FROM reproducers), (SELECT coalesce(min(create_time_micros), 9223372036854775807) FROM jobs"
    " WHERE sequence = (SELECT min(job) FROM tasks WHERE state = 0))";

absl::Status NotFound() { return absl::NotFoundError("no such job"); }

absl::StatusOr<JobRecord> ReadJob(const Statement& row) {
  JobRecord job;
  job.sequence = row.Int(0);
  job.id = std::string(row.Text(1));
  job.kind = std::string(row.Text(2));
  job.principal = std::string(row.Text(3));
  job.request_id = std::string(row.Text(4));
  const std::string_view digest = row.Blob(5);
  if (digest.size() != job.request_digest.size()) return absl::DataLossError("a stored digest has a wrong length");
  std::copy(digest.begin(), digest.end(), job.request_digest.begin());
  job.priority = static_cast<int32_t>(row.Int(6));
  job.create_time = FromMicros(row.Int(7));
  job.deadline = FromMicros(row.Int(8));
  job.state = static_cast<JobState>(row.Int(9));
  job.start_time = FromMicros(row.Int(10));
  job.end_time = FromMicros(row.Int(11));
  job.open_tasks = static_cast<uint32_t>(row.Int(12));
  job.error_code = static_cast<int32_t>(row.Int(13));
  job.error = std::string(row.Text(14));
  return job;
}

TaskRecord ReadTask(const Statement& row, std::string_view job) {
  TaskRecord task;
  task.job = std::string(job);
  task.index = static_cast<uint32_t>(row.Int(0));
  task.target = std::string(row.Text(1));
  task.max_attempts = static_cast<uint32_t>(row.Int(2));
  task.state = static_cast<TaskState>(row.Int(3));
  task.attempt = static_cast<uint32_t>(row.Int(4));
  task.token = row.Int(5);
  task.worker = std::string(row.Text(6));
  task.lease_deadline = FromMicros(row.Int(7));
  task.not_before = FromMicros(row.Int(8));
  task.error_code = static_cast<int32_t>(row.Int(9));
  task.error = std::string(row.Text(10));
  task.result = std::string(row.Blob(11));
  return task;
}

class SqliteJobStore : public JobStore {
 public:
  explicit SqliteJobStore(std::shared_ptr<SharedDatabase> database) : database_(std::move(database)), db_(*database_) {}

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
  absl::StatusOr<std::vector<std::string>> ListFinishable(int limit) override { return Ids(kFinishable, limit); }
  absl::StatusOr<std::vector<std::string>> ListOverdue(absl::Time now, int limit) override {
    return Ids(kOverdue, ToMicros(now), limit);
  }
  absl::Status DeleteJob(std::string_view id) override;
  absl::StatusOr<int> DeleteFinished(absl::Time time, int limit) override;
  absl::StatusOr<ReproducerRecord> GetReproducer(std::string_view id) override;
  absl::StatusOr<ReproducerPage> ListReproducers(int64_t before, int limit) override;
  absl::Status DeleteReproducer(std::string_view id) override;
  absl::StatusOr<JobStats> Stats() override;

 private:
  struct Place {  // of a queued task, in the order of leasing
    int64_t priority, job, task;
    bool operator<(const Place& other) const {
      if (priority != other.priority) return priority > other.priority;
      return job != other.job ? job < other.job : task < other.task;
    }
  };

  // The first row's job; NOT_FOUND without one.
  template <typename... Args>
  absl::StatusOr<JobRecord> OneJob(const char* sql, const Args&... args) ABSL_EXCLUSIVE_LOCKS_REQUIRED(db_.mutex()) {
    absl::StatusOr<JobRecord> found = NotFound();
    absl::Status status = db_.Query(
        sql,
        [&](const Statement& row) {
          found = ReadJob(row);
          return found.status();
        },
        args...);
    return status.ok() ? found : status;
  }
  template <typename... Args>
  absl::StatusOr<std::vector<std::string>> Ids(const char* sql, const Args&... args);
  absl::Status CheckLimits(const JobRecord& job, const OpenLimits& limits)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(db_.mutex());
  absl::StatusOr<std::vector<Place>> Queued(const LeaseRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(db_.mutex());
  absl::StatusOr<Lease> LeaseOne(const LeaseRequest& request, const Place& place)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(db_.mutex());
  absl::StatusOr<std::optional<TaskRecord>> FindLeased(const LeaseKey& lease, TaskState repeated, int64_t* job,
                                                       TaskEnd* end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(db_.mutex());
  absl::StatusOr<bool> CloseTask(int64_t job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(db_.mutex());
  absl::StatusOr<bool> EndAttempt(int64_t job, const TaskRecord& task, const absl::Status& error, bool retry,
                                  absl::Time now, absl::Time not_before) ABSL_EXCLUSIVE_LOCKS_REQUIRED(db_.mutex());
  // Ends the leases that a query of task, token, worker and job's id lists, as attempts to repeat.
  template <typename... Args>
  absl::StatusOr<std::vector<LeaseKey>> TakeBack(absl::Time now, const absl::Status& error, absl::Time not_before,
                                                 const char* sql, const Args&... args);

  // How many jobs are open, counted once; this store alone opens and ends them.
  struct OpenJobs {
    int64_t all = 0;
    absl::flat_hash_map<std::string, int64_t> of_principal;
  };

  const std::shared_ptr<SharedDatabase> database_;
  SharedDatabase& db_;
  std::optional<OpenJobs> open_ ABSL_GUARDED_BY(db_.mutex());
};

absl::Status SqliteJobStore::CheckLimits(const JobRecord& job, const OpenLimits& limits) {
  if (!open_) {
    OpenJobs counted;
    absl::Status status = db_.Query(kCountOpen, [&](const Statement& row) {
      counted.of_principal[std::string(row.Text(0))] = row.Int(1);
      counted.all += row.Int(1);
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    open_ = std::move(counted);
  }
  const auto own = open_->of_principal.find(job.principal);
  if (limits.open_jobs != 0 && open_->all >= limits.open_jobs) return absl::ResourceExhaustedError("open_jobs");
  if (limits.open_jobs_of_principal != 0 && own != open_->of_principal.end() &&
      own->second >= limits.open_jobs_of_principal)
    return absl::ResourceExhaustedError("open_jobs_of_principal");
  return absl::OkStatus();
}

absl::StatusOr<JobStore::Created> SqliteJobStore::CreateJob(const JobRecord& job, absl::Span<const TaskRecord> tasks,
                                                            const OpenLimits& limits) {
  if (tasks.empty()) return absl::InvalidArgumentError("a job needs a task");
  absl::MutexLock lock(&db_.mutex());
  absl::StatusOr<Transaction> transaction = db_.Begin();
  if (!transaction.ok()) return transaction.status();
  if (!job.request_id.empty()) {
    absl::StatusOr<JobRecord> known = OneJob(kJobByRequest, job.principal, job.request_id);
    if (known.ok() && known->request_digest != job.request_digest)
      return absl::AlreadyExistsError("the request id was used for another request");
    if (known.ok()) return Created{*std::move(known), false};
    if (!absl::IsNotFound(known.status())) return known.status();
  }
  if (absl::Status status = CheckLimits(job, limits); !status.ok()) return status;
  const int64_t never = ToMicros(kNever), now = ToMicros(job.create_time);
  int64_t sequence = 0;
  absl::Status status = db_.Query(
      kInsertJob,
      [&](const Statement& row) {
        sequence = row.Int(0);
        return absl::OkStatus();
      },
      job.id, job.kind, job.principal, job.request_id, Blob{AsBlob(job.request_digest)}, job.priority, now,
      ToMicros(job.deadline), never, never, tasks.size());
  if (!status.ok()) return status;
  if (status = db_.Run(kInsertBody, sequence, Blob{job.spec}); !status.ok()) return status;
  for (size_t i = 0; i < tasks.size(); ++i) {
    status = db_.Run(kInsertTask, sequence, i, tasks[i].target, job.priority, tasks[i].max_attempts, never, now);
    if (!status.ok()) return status;
  }
  absl::StatusOr<JobRecord> created = OneJob(kJobById, job.id);
  if (!created.ok()) return created.status();
  created->spec = job.spec;
  if (status = db_.Commit(*transaction); !status.ok()) {
    open_.reset();  // it may have been committed all the same
    return status;
  }
  ++open_->all;
  ++open_->of_principal[job.principal];
  if (status = db_.AwaitHeld(); !status.ok()) return status;
  return Created{*std::move(created), true};
}

absl::StatusOr<JobRecord> SqliteJobStore::GetJob(std::string_view id) {
  absl::MutexLock lock(&db_.mutex());
  absl::StatusOr<JobRecord> job = OneJob(kJobById, id);
  if (!job.ok()) return job;
  absl::Status status = db_.Query(
      kBodyOf,
      [&](const Statement& row) {
        job->spec = std::string(row.Blob(0));
        job->result = std::string(row.Blob(1));
        return absl::OkStatus();
      },
      job->sequence);
  if (status.ok()) status = db_.AwaitHeld();
  return status.ok() ? job : status;
}

absl::StatusOr<std::vector<TaskRecord>> SqliteJobStore::GetTasks(std::string_view id) {
  absl::MutexLock lock(&db_.mutex());
  const absl::StatusOr<JobRecord> job = OneJob(kJobById, id);
  if (!job.ok()) return job.status();
  std::vector<TaskRecord> tasks;
  absl::Status status = db_.Query(
      kTasksOf,
      [&](const Statement& row) {
        tasks.push_back(ReadTask(row, id));
        return absl::OkStatus();
      },
      job->sequence);
  if (status.ok()) status = db_.AwaitHeld();
  if (!status.ok()) return status;
  return tasks;
}

absl::StatusOr<std::vector<AttemptRecord>> SqliteJobStore::GetAttempts(std::string_view id) {
  absl::MutexLock lock(&db_.mutex());
  const absl::StatusOr<JobRecord> job = OneJob(kJobById, id);
  if (!job.ok()) return job.status();
  std::vector<AttemptRecord> attempts;
  absl::Status status = db_.Query(
      kAttemptsOf,
      [&](const Statement& row) {
        attempts.push_back({static_cast<uint32_t>(row.Int(0)), static_cast<uint32_t>(row.Int(1)),
                            std::string(row.Text(2)), FromMicros(row.Int(3)), static_cast<int32_t>(row.Int(4)),
                            std::string(row.Text(5))});
        return absl::OkStatus();
      },
      job->sequence);
  if (status.ok()) status = db_.AwaitHeld();
  if (!status.ok()) return status;
  return attempts;
}

absl::StatusOr<JobPage> SqliteJobStore::ListJobs(const JobFilter& filter, int64_t before, int limit) {
  absl::MutexLock lock(&db_.mutex());
  JobPage page;
  absl::Status status = db_.Query(
      kJobsBefore,
      [&](const Statement& row) {
        absl::StatusOr<JobRecord> job = ReadJob(row);
        if (!job.ok()) return job.status();
        page.jobs.push_back(*std::move(job));
        return absl::OkStatus();
      },
      before == 0 ? INT64_MAX : before, filter.principal, filter.open_only, static_cast<int64_t>(limit) + 1);
  if (status.ok()) status = db_.AwaitHeld();
  if (!status.ok()) return status;
  page.more = page.jobs.size() > static_cast<size_t>(limit);
  if (page.more) page.jobs.pop_back();
  return page;
}

absl::StatusOr<std::vector<SqliteJobStore::Place>> SqliteJobStore::Queued(const LeaseRequest& request) {
  std::vector<Place> places;
  for (const std::string& target : request.targets) {
    absl::Status status = db_.Query(
        kQueuedFor,
        [&](const Statement& row) {
          places.push_back({row.Int(0), row.Int(1), row.Int(2)});
          return absl::OkStatus();
        },
        target, ToMicros(request.now), request.count);
    if (!status.ok()) return status;
  }
  std::sort(places.begin(), places.end());
  places.resize(std::min<size_t>(places.size(), request.count));
  return places;
}

absl::StatusOr<Lease> SqliteJobStore::LeaseOne(const LeaseRequest& request, const Place& place) {
  int64_t token = 0;
  absl::Status status = db_.Query(kNextToken, [&](const Statement& row) {
    token = row.Int(0);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  status = db_.Run(kLeaseTask, token, request.worker, ToMicros(request.lease_deadline), place.job, place.task);
  if (!status.ok()) return status;
  if (status = db_.Run(kStartJob, ToMicros(request.now), place.job); !status.ok()) return status;
  Lease lease;
  std::string id;
  status = db_.Query(
      kJobOfLease,
      [&](const Statement& row) {
        id = std::string(row.Text(0));
        lease.kind = std::string(row.Text(1));
        lease.deadline = FromMicros(row.Int(2));
        lease.spec = std::string(row.Blob(3));
        return absl::OkStatus();
      },
      place.job);
  if (!status.ok()) return status;
  status = db_.Query(
      kTaskOf,
      [&](const Statement& row) {
        lease.task = ReadTask(row, id);
        return absl::OkStatus();
      },
      place.job, place.task);
  if (!status.ok()) return status;
  status = db_.Query(
      kUnitsOf,
      [&](const Statement& row) {
        lease.units.push_back({static_cast<uint32_t>(row.Int(0)), std::string(row.Blob(1))});
        return absl::OkStatus();
      },
      place.job, place.task);
  if (!status.ok()) return status;
  return lease;
}

absl::StatusOr<std::vector<Lease>> SqliteJobStore::LeaseTasks(const LeaseRequest& request) {
  absl::MutexLock lock(&db_.mutex());
  absl::StatusOr<std::vector<Place>> places = Queued(request);
  if (!places.ok()) return places.status();
  std::vector<Lease> leases;
  if (places->empty()) return leases;
  absl::StatusOr<Transaction> transaction = db_.Begin();
  if (!transaction.ok()) return transaction.status();
  for (const Place& place : *places) {
    absl::StatusOr<Lease> lease = LeaseOne(request, place);
    if (!lease.ok()) return lease.status();
    leases.push_back(*std::move(lease));
  }
  if (absl::Status status = db_.CommitDurably(*transaction); !status.ok()) return status;
  return leases;
}

absl::StatusOr<std::vector<bool>> SqliteJobStore::RenewLeases(absl::Span<const LeaseKey> leases, absl::Time deadline) {
  absl::MutexLock lock(&db_.mutex());
  absl::StatusOr<Transaction> transaction = db_.Begin();
  if (!transaction.ok()) return transaction.status();
  std::vector<bool> current;
  for (const LeaseKey& lease : leases) {
    absl::Status status = db_.Run(kRenew, ToMicros(deadline), lease.task, lease.token, lease.worker, lease.job);
    if (!status.ok()) return status;
    current.push_back(db_.changes() != 0);
  }
  if (absl::Status status = transaction->Commit(); !status.ok()) return status;
  return current;
}

// The task of a current lease, or none with how the lease stands.
absl::StatusOr<std::optional<TaskRecord>> SqliteJobStore::FindLeased(const LeaseKey& lease, TaskState repeated,
                                                                     int64_t* job, TaskEnd* end) {
  *end = {};
  const absl::StatusOr<JobRecord> record = OneJob(kJobById, lease.job);
  if (absl::IsNotFound(record.status())) return std::nullopt;
  if (!record.ok()) return record.status();
  *job = record->sequence;
  std::optional<TaskRecord> task;
  absl::Status status = db_.Query(
      kTaskOf,
      [&](const Statement& row) {
        task = ReadTask(row, lease.job);
        return absl::OkStatus();
      },
      *job, lease.task);
  if (!status.ok()) return status;
  if (!task || task->token != lease.token || task->worker != lease.worker) return std::nullopt;
  if (task->state == TaskState::kLeased) return task;
  const bool requeued = repeated == TaskState::kFailed && task->state == TaskState::kQueued;
  if (task->state == repeated || requeued) end->outcome = Outcome::kRepeated;
  return std::nullopt;
}

// Whether it was the job's last.
absl::StatusOr<bool> SqliteJobStore::CloseTask(int64_t job) {
  bool last = false;
  absl::Status status = db_.Query(
      kCloseTask,
      [&](const Statement& row) {
        last = row.Int(0) == 0;
        return absl::OkStatus();
      },
      job);
  if (!status.ok()) return status;
  return last;
}

absl::StatusOr<bool> SqliteJobStore::AddUnits(const LeaseKey& lease, absl::Span<const UnitRecord> units,
                                              const UnitLimits& limits) {
  absl::MutexLock lock(&db_.mutex());
  absl::StatusOr<Transaction> transaction = db_.Begin();
  if (!transaction.ok()) return transaction.status();
  int64_t job = 0;
  TaskEnd end;
  const absl::StatusOr<std::optional<TaskRecord>> task = FindLeased(lease, TaskState::kDone, &job, &end);
  if (!task.ok()) return task.status();
  if (!task->has_value()) return false;
  for (const UnitRecord& unit : units)
    if (absl::Status status = db_.Run(kAddUnit, job, lease.task, unit.index, Blob{unit.body}); !status.ok()) return status;
  uint64_t number = 0, bytes = 0;
  absl::Status status = db_.Query(
      kSizeOfUnits,
      [&](const Statement& row) {
        number = static_cast<uint64_t>(row.Int(0));
        bytes = static_cast<uint64_t>(row.Int(1));
        return absl::OkStatus();
      },
      job, lease.task);
  if (!status.ok()) return status;
  if (limits.units != 0 && number > limits.units) return absl::ResourceExhaustedError("task_units");
  if (limits.bytes != 0 && bytes > limits.bytes) return absl::ResourceExhaustedError("task_unit_bytes");
  if (status = db_.CommitDurably(*transaction); !status.ok()) return status;
  return true;
}

absl::StatusOr<TaskEnd> SqliteJobStore::CompleteTask(const LeaseKey& lease, std::string_view result) {
  absl::MutexLock lock(&db_.mutex());
  absl::StatusOr<Transaction> transaction = db_.Begin();
  if (!transaction.ok()) return transaction.status();
  int64_t job = 0;
  TaskEnd end;
  const absl::StatusOr<std::optional<TaskRecord>> task = FindLeased(lease, TaskState::kDone, &job, &end);
  if (!task.ok()) return task.status();
  if (!task->has_value()) return end;
  absl::Status status = db_.Run(kCompleteTask, Blob{result}, job, lease.task);
  if (!status.ok()) return status;
  const absl::StatusOr<bool> last = CloseTask(job);
  if (!last.ok()) return last.status();
  if (status = db_.CommitDurably(*transaction); !status.ok()) return status;
  return TaskEnd{Outcome::kAccepted, *last};
}

// Queues the task again or ends it; whether it was the job's last.
absl::StatusOr<bool> SqliteJobStore::EndAttempt(int64_t job, const TaskRecord& task, const absl::Status& error,
                                                bool retry, absl::Time now, absl::Time not_before) {
  const bool again = retry && task.attempt < task.max_attempts;
  const std::string message(error.message());
  absl::Status status = db_.Run(kEndAttempt, again ? TaskState::kQueued : TaskState::kFailed, ToMicros(not_before),
                                error.code(), message, job, task.index);
  if (!status.ok()) return status;
  status = db_.Run(kAddAttempt, job, task.index, task.attempt, task.worker, ToMicros(now), error.code(), message);
  if (!status.ok()) return status;
  if (again) return false;
  return CloseTask(job);
}

absl::StatusOr<TaskEnd> SqliteJobStore::FailTask(const LeaseKey& lease, const absl::Status& error, bool retry,
                                                 absl::Time now, absl::Time not_before) {
  absl::MutexLock lock(&db_.mutex());
  absl::StatusOr<Transaction> transaction = db_.Begin();
  if (!transaction.ok()) return transaction.status();
  int64_t job = 0;
  TaskEnd end;
  const absl::StatusOr<std::optional<TaskRecord>> task = FindLeased(lease, TaskState::kFailed, &job, &end);
  if (!task.ok()) return task.status();
  if (!task->has_value()) return end;
  const absl::StatusOr<bool> last = EndAttempt(job, **task, error, retry, now, not_before);
  if (!last.ok()) return last.status();
  if (absl::Status status = db_.CommitDurably(*transaction); !status.ok()) return status;
  return TaskEnd{Outcome::kAccepted, *last};
}

template <typename... Args>
absl::StatusOr<std::vector<LeaseKey>> SqliteJobStore::TakeBack(absl::Time now, const absl::Status& error,
                                                               absl::Time not_before, const char* sql,
                                                               const Args&... args) {
  absl::MutexLock lock(&db_.mutex());
  std::vector<LeaseKey> leases;
  absl::Status status = db_.Query(
      sql,
      [&](const Statement& row) {
        leases.push_back({std::string(row.Text(3)), static_cast<uint32_t>(row.Int(0)), row.Int(1),
                          std::string(row.Text(2))});
        return absl::OkStatus();
      },
      args...);
  if (!status.ok()) return status;
  if (leases.empty()) return leases;
  absl::StatusOr<Transaction> transaction = db_.Begin();
  if (!transaction.ok()) return transaction.status();
  for (const LeaseKey& lease : leases) {
    int64_t job = 0;
    TaskEnd end;
    const absl::StatusOr<std::optional<TaskRecord>> task = FindLeased(lease, TaskState::kFailed, &job, &end);
    if (!task.ok()) return task.status();
    if (!task->has_value()) return absl::DataLossError("a leased task is not in its job");
    const absl::StatusOr<bool> last = EndAttempt(job, **task, error, /*retry=*/true, now, not_before);
    if (!last.ok()) return last.status();
  }
  if (status = db_.CommitDurably(*transaction); !status.ok()) return status;
  return leases;
}

absl::StatusOr<std::vector<LeaseKey>> SqliteJobStore::ExpireLeases(absl::Time now, const absl::Status& error,
                                                                   absl::Time not_before, int limit) {
  return TakeBack(now, error, not_before, kExpired, ToMicros(now), limit);
}

absl::StatusOr<std::vector<LeaseKey>> SqliteJobStore::ReleaseLeases(std::string_view worker, absl::Time now,
                                                                    const absl::Status& error) {
  return TakeBack(now, error, now, kHeldBy, worker);
}

absl::Status SqliteJobStore::RestartLeases(absl::Time deadline, absl::Time not_before) {
  absl::MutexLock lock(&db_.mutex());
  absl::StatusOr<Transaction> transaction = db_.Begin();
  if (!transaction.ok()) return transaction.status();
  if (absl::Status status = db_.Run(kRenewAll, ToMicros(deadline)); !status.ok()) return status;
  if (absl::Status status = db_.Run(kWaitAtMost, ToMicros(not_before)); !status.ok()) return status;
  return transaction->Commit();
}

absl::StatusOr<bool> SqliteJobStore::FinishJob(std::string_view id, const JobEnd& end) {
  absl::MutexLock lock(&db_.mutex());
  absl::StatusOr<Transaction> transaction = db_.Begin();
  if (!transaction.ok()) return transaction.status();
  const absl::StatusOr<JobRecord> job = OneJob(kJobById, id);
  if (!job.ok()) return job.status();
  if (job->state != JobState::kOpen) return false;
  absl::Status status = db_.Run(kFinishJob, end.state, ToMicros(end.time), end.error_code, end.error, job->sequence);
  if (!status.ok()) return status;
  if (status = db_.Run(kSetResult, Blob{end.result}, job->sequence); !status.ok()) return status;
  if (status = db_.Run(kCancelTasks, job->sequence); !status.ok()) return status;
  if (status = db_.Run(kForgetUnits, job->sequence); !status.ok()) return status;
  for (const ReproducerRecord& reproducer : end.reproducers) {
    status = db_.Run(kAddReproducer, reproducer.id, reproducer.job, ToMicros(reproducer.create_time),
                     Blob{reproducer.body});
    if (!status.ok()) return status;
  }
  if (status = db_.Commit(*transaction); !status.ok()) {
    open_.reset();
    return status;
  }
  if (open_) {
    --open_->all;
    const auto own = open_->of_principal.find(job->principal);
    if (own != open_->of_principal.end() && --own->second == 0) open_->of_principal.erase(own);
  }
  if (status = db_.AwaitHeld(); !status.ok()) return status;
  return true;
}

template <typename... Args>
absl::StatusOr<std::vector<std::string>> SqliteJobStore::Ids(const char* sql, const Args&... args) {
  absl::MutexLock lock(&db_.mutex());
  std::vector<std::string> ids;
  absl::Status status = db_.Query(
      sql,
      [&](const Statement& row) {
        ids.emplace_back(row.Text(0));
        return absl::OkStatus();
      },
      args...);
  if (!status.ok()) return status;
  return ids;
}

absl::Status SqliteJobStore::DeleteJob(std::string_view id) {
  absl::MutexLock lock(&db_.mutex());
  absl::StatusOr<Transaction> transaction = db_.Begin();
  if (!transaction.ok()) return transaction.status();
  const absl::StatusOr<JobRecord> job = OneJob(kJobById, id);
  if (!job.ok()) return job.status();
  if (job->state == JobState::kOpen) return absl::FailedPreconditionError("the job has not ended");
  if (absl::Status status = db_.Run(kDeleteJob, job->sequence); !status.ok()) return status;
  return db_.CommitDurably(*transaction);
}

absl::StatusOr<int> SqliteJobStore::DeleteFinished(absl::Time time, int limit) {
  absl::MutexLock lock(&db_.mutex());
  absl::StatusOr<Transaction> transaction = db_.Begin();
  if (!transaction.ok()) return transaction.status();
  absl::Status status = db_.Run(kDeleteFinished, ToMicros(time), limit);
  if (!status.ok()) return status;
  const int deleted = static_cast<int>(db_.changes());
  if (status = db_.CommitDurably(*transaction); !status.ok()) return status;
  return deleted;
}

absl::StatusOr<ReproducerRecord> SqliteJobStore::GetReproducer(std::string_view id) {
  absl::MutexLock lock(&db_.mutex());
  absl::StatusOr<ReproducerRecord> found = absl::NotFoundError("no such reproducer");
  absl::Status status = db_.Query(
      kReproducer,
      [&](const Statement& row) {
        found = ReproducerRecord{std::string(row.Text(0)), std::string(row.Text(1)), FromMicros(row.Int(2)),
                                 std::string(row.Blob(3)), row.Int(4)};
        return absl::OkStatus();
      },
      id);
  if (status.ok()) status = db_.AwaitHeld();
  return status.ok() ? found : status;
}

absl::StatusOr<ReproducerPage> SqliteJobStore::ListReproducers(int64_t before, int limit) {
  absl::MutexLock lock(&db_.mutex());
  ReproducerPage page;
  absl::Status status = db_.Query(
      kReproducers,
      [&](const Statement& row) {
        page.reproducers.push_back(
            {std::string(row.Text(0)), std::string(row.Text(1)), FromMicros(row.Int(2)), "", row.Int(3)});
        return absl::OkStatus();
      },
      before == 0 ? INT64_MAX : before, static_cast<int64_t>(limit) + 1);
  if (status.ok()) status = db_.AwaitHeld();
  if (!status.ok()) return status;
  page.more = page.reproducers.size() > static_cast<size_t>(limit);
  if (page.more) page.reproducers.pop_back();
  return page;
}

absl::Status SqliteJobStore::DeleteReproducer(std::string_view id) {
  absl::MutexLock lock(&db_.mutex());
  absl::StatusOr<Transaction> transaction = db_.Begin();
  if (!transaction.ok()) return transaction.status();
  if (absl::Status status = db_.Run(kDeleteReproducer, id); !status.ok()) return status;
  return db_.changes() == 0 ? absl::NotFoundError("no such reproducer") : db_.CommitDurably(*transaction);
}

absl::StatusOr<JobStats> SqliteJobStore::Stats() {
  absl::MutexLock lock(&db_.mutex());
  JobStats stats;
  absl::Status status = db_.Query(kStats, [&](const Statement& row) {
    stats = {static_cast<uint64_t>(row.Int(0)), static_cast<uint64_t>(row.Int(1)), static_cast<uint64_t>(row.Int(2)),
             static_cast<uint64_t>(row.Int(3)), static_cast<uint64_t>(row.Int(4)), FromMicros(row.Int(5))};
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return stats;
}

}  // namespace

std::unique_ptr<JobStore> MakeSqliteJobStore(std::shared_ptr<SharedDatabase> database) {
  return std::make_unique<SqliteJobStore>(std::move(database));
}

}  // namespace samebits::storage
