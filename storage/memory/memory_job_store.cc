#include "storage/memory/memory_job_store.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace samebits::storage {
namespace {

absl::Status NotFound() { return absl::NotFoundError("no such job"); }

absl::Time ToMicros(absl::Time time) {
  return time == kNever ? kNever : absl::FromUnixMicros(absl::ToUnixMicros(time));
}

bool IsOpen(const TaskRecord& task) { return task.state == TaskState::kQueued || task.state == TaskState::kLeased; }

// Queues the task again or ends it.
void EndAttempt(const absl::Status& error, bool retry, absl::Time now, absl::Time not_before, JobRecord* job,
                TaskRecord* task, std::vector<AttemptRecord>* attempts) {
  task->error_code = static_cast<int32_t>(error.code());
  task->error = std::string(error.message());
  attempts->push_back({task->index, task->attempt, task->worker, ToMicros(now), task->error_code, task->error});
  task->lease_deadline = kNever;
  task->not_before = ToMicros(not_before);
  const bool again = retry && task->attempt < task->max_attempts;
  task->state = again ? TaskState::kQueued : TaskState::kFailed;
  if (!again) --job->open_tasks;
}

}  // namespace

MemoryJobStore::Entry* MemoryJobStore::Find(std::string_view id) {
  const auto at = sequences_.find(id);
  return at == sequences_.end() ? nullptr : &jobs_.at(at->second);
}

absl::StatusOr<JobStore::Created> MemoryJobStore::CreateJob(const JobRecord& job, absl::Span<const TaskRecord> tasks,
                                                            const OpenLimits& limits) {
  absl::MutexLock lock(&mutex_);
  if (tasks.empty()) return absl::InvalidArgumentError("a job needs a task");
  if (!job.request_id.empty()) {
    const auto known = requests_.find({job.principal, job.request_id});
    if (known != requests_.end()) {
      const JobRecord& stored = jobs_.at(known->second).job;
      if (stored.request_digest != job.request_digest)
        return absl::AlreadyExistsError("the request id was used for another request");
      return Created{stored, false};
    }
  }
  if (Find(job.id) != nullptr) return absl::InternalError("the job id is taken");
  uint32_t open = 0, own = 0;
  for (const auto& [sequence, entry] : jobs_) {
    if (entry.job.state != JobState::kOpen) continue;
    ++open;
    own += entry.job.principal == job.principal;
  }
  if (limits.open_jobs != 0 && open >= limits.open_jobs) return absl::ResourceExhaustedError("open_jobs");
  if (limits.open_jobs_of_principal != 0 && own >= limits.open_jobs_of_principal)
    return absl::ResourceExhaustedError("open_jobs_of_principal");
  const int64_t sequence = next_sequence_++;
  Entry& entry = jobs_[sequence];
  entry.job = job;
  entry.job.sequence = sequence;
  entry.job.create_time = ToMicros(job.create_time);
  entry.job.deadline = ToMicros(job.deadline);
  entry.job.open_tasks = static_cast<uint32_t>(tasks.size());
  for (const TaskRecord& from : tasks) {
    TaskRecord& task = entry.tasks.emplace_back();
    task.job = job.id;
    task.index = static_cast<uint32_t>(entry.tasks.size() - 1);
    task.target = from.target;
    task.max_attempts = from.max_attempts;
    task.not_before = ToMicros(job.create_time);
  }
  sequences_[job.id] = sequence;
  if (!job.request_id.empty()) requests_[{job.principal, job.request_id}] = sequence;
  return Created{entry.job, true};
}

absl::StatusOr<JobRecord> MemoryJobStore::GetJob(std::string_view id) {
  absl::MutexLock lock(&mutex_);
  const Entry* entry = Find(id);
  return entry == nullptr ? absl::StatusOr<JobRecord>(NotFound()) : entry->job;
}

absl::StatusOr<std::vector<TaskRecord>> MemoryJobStore::GetTasks(std::string_view id) {
  absl::MutexLock lock(&mutex_);
  const Entry* entry = Find(id);
  return entry == nullptr ? absl::StatusOr<std::vector<TaskRecord>>(NotFound()) : entry->tasks;
}

absl::StatusOr<std::vector<AttemptRecord>> MemoryJobStore::GetAttempts(std::string_view id) {
  absl::MutexLock lock(&mutex_);
  const Entry* entry = Find(id);
  return entry == nullptr ? absl::StatusOr<std::vector<AttemptRecord>>(NotFound()) : entry->attempts;
}

absl::StatusOr<JobPage> MemoryJobStore::ListJobs(const JobFilter& filter, int64_t before, int limit) {
  absl::MutexLock lock(&mutex_);
  JobPage page;
  for (auto it = jobs_.rbegin(); it != jobs_.rend(); ++it) {
    const JobRecord& job = it->second.job;
    if (before != 0 && job.sequence >= before) continue;
    if (!filter.principal.empty() && job.principal != filter.principal) continue;
    if (filter.open_only && job.state != JobState::kOpen) continue;
    if (page.jobs.size() == static_cast<size_t>(limit)) {
      page.more = true;
      break;
    }
    JobRecord& listed = page.jobs.emplace_back(job);
    listed.spec.clear();
    listed.result.clear();
  }
  return page;
}

absl::StatusOr<std::vector<Lease>> MemoryJobStore::LeaseTasks(const LeaseRequest& request) {
  absl::MutexLock lock(&mutex_);
  std::vector<std::pair<Entry*, TaskRecord*>> candidates;
  for (auto& [sequence, entry] : jobs_) {
    if (entry.job.state != JobState::kOpen) continue;
    for (TaskRecord& task : entry.tasks) {
      const auto& targets = request.targets;
      if (task.state == TaskState::kQueued && task.not_before <= request.now &&
          std::find(targets.begin(), targets.end(), task.target) != targets.end())
        candidates.emplace_back(&entry, &task);
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.first->job.priority > b.first->job.priority; });
  std::vector<Lease> leases;
  for (const auto& [entry, task] : candidates) {
    if (leases.size() == request.count) break;
    task->state = TaskState::kLeased;
    task->token = next_token_++;
    ++task->attempt;
    task->worker = request.worker;
    task->lease_deadline = ToMicros(request.lease_deadline);
    if (entry->job.start_time == kNever) entry->job.start_time = ToMicros(request.now);
    Lease& lease = leases.emplace_back(Lease{*task, entry->job.kind, entry->job.spec, entry->job.deadline, {}});
    for (const auto& [index, body] : entry->units[task->index]) lease.units.push_back({index, body});
  }
  return leases;
}

TaskRecord* MemoryJobStore::FindLeased(const LeaseKey& lease, TaskState repeated, Entry** entry, TaskEnd* end) {
  *entry = Find(lease.job);
  *end = {};
  if (*entry == nullptr || lease.task >= (*entry)->tasks.size()) return nullptr;
  TaskRecord& task = (*entry)->tasks[lease.task];
  if (task.token != lease.token || task.worker != lease.worker) return nullptr;
  if (task.state == TaskState::kLeased) return &task;
  const bool requeued = repeated == TaskState::kFailed && task.state == TaskState::kQueued;
  if (task.state == repeated || requeued) end->outcome = Outcome::kRepeated;
  return nullptr;
}

absl::StatusOr<std::vector<bool>> MemoryJobStore::RenewLeases(absl::Span<const LeaseKey> leases, absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  std::vector<bool> current;
  for (const LeaseKey& lease : leases) {
    Entry* entry;
    TaskEnd end;
    TaskRecord* task = FindLeased(lease, TaskState::kDone, &entry, &end);
    if (task != nullptr) task->lease_deadline = ToMicros(deadline);
    current.push_back(task != nullptr);
  }
  return current;
}

absl::StatusOr<bool> MemoryJobStore::AddUnits(const LeaseKey& lease, absl::Span<const UnitRecord> units,
                                              const UnitLimits& limits) {
  absl::MutexLock lock(&mutex_);
  Entry* entry;
  TaskEnd end;
  const TaskRecord* task = FindLeased(lease, TaskState::kDone, &entry, &end);
  if (task == nullptr) return false;
  std::map<uint32_t, std::string> kept = entry->units[task->index];
  for (const UnitRecord& unit : units) kept.emplace(unit.index, unit.body);
  uint64_t bytes = 0;
  for (const auto& [index, body] : kept) bytes += body.size();
  if (limits.units != 0 && kept.size() > limits.units) return absl::ResourceExhaustedError("task_units");
  if (limits.bytes != 0 && bytes > limits.bytes) return absl::ResourceExhaustedError("task_unit_bytes");
  entry->units[task->index] = std::move(kept);
  return true;
}

absl::StatusOr<TaskEnd> MemoryJobStore::CompleteTask(const LeaseKey& lease, std::string_view result) {
  absl::MutexLock lock(&mutex_);
  Entry* entry;
  TaskEnd end;
  TaskRecord* task = FindLeased(lease, TaskState::kDone, &entry, &end);
  if (task == nullptr) return end;
  task->state = TaskState::kDone;
  task->lease_deadline = kNever;
  task->result = std::string(result);
  return TaskEnd{Outcome::kAccepted, --entry->job.open_tasks == 0};
}

absl::StatusOr<TaskEnd> MemoryJobStore::FailTask(const LeaseKey& lease, const absl::Status& error, bool retry,
                                                 absl::Time now, absl::Time not_before) {
  absl::MutexLock lock(&mutex_);
  Entry* entry;
  TaskEnd end;
  TaskRecord* task = FindLeased(lease, TaskState::kFailed, &entry, &end);
  if (task == nullptr) return end;
  EndAttempt(error, retry, now, not_before, &entry->job, task, &entry->attempts);
  return TaskEnd{Outcome::kAccepted, entry->job.open_tasks == 0};
}

absl::StatusOr<std::vector<LeaseKey>> MemoryJobStore::ExpireLeases(absl::Time now, const absl::Status& error,
                                                                   absl::Time not_before, int limit) {
  absl::MutexLock lock(&mutex_);
  std::vector<LeaseKey> expired;
  for (auto& [sequence, entry] : jobs_) {
    for (TaskRecord& task : entry.tasks) {
      if (expired.size() == static_cast<size_t>(limit)) return expired;
      if (task.state != TaskState::kLeased || task.lease_deadline >= now) continue;
      expired.push_back({task.job, task.index, task.token, task.worker});
      EndAttempt(error, /*retry=*/true, now, not_before, &entry.job, &task, &entry.attempts);
    }
  }
  return expired;
}

absl::StatusOr<std::vector<LeaseKey>> MemoryJobStore::ReleaseLeases(std::string_view worker, absl::Time now,
                                                                    const absl::Status& error) {
  absl::MutexLock lock(&mutex_);
  std::vector<LeaseKey> released;
  for (auto& [sequence, entry] : jobs_) {
    for (TaskRecord& task : entry.tasks) {
      if (task.state != TaskState::kLeased || task.worker != worker) continue;
      released.push_back({task.job, task.index, task.token, task.worker});
      EndAttempt(error, /*retry=*/true, now, now, &entry.job, &task, &entry.attempts);
    }
  }
  return released;
}

absl::Status MemoryJobStore::RestartLeases(absl::Time deadline, absl::Time not_before) {
  absl::MutexLock lock(&mutex_);
  for (auto& [sequence, entry] : jobs_) {
    for (TaskRecord& task : entry.tasks) {
      if (task.state == TaskState::kLeased) task.lease_deadline = ToMicros(deadline);
      if (task.state == TaskState::kQueued) task.not_before = std::min(task.not_before, ToMicros(not_before));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> MemoryJobStore::FinishJob(std::string_view id, const JobEnd& end) {
  absl::MutexLock lock(&mutex_);
  Entry* entry = Find(id);
  if (entry == nullptr) return NotFound();
  JobRecord& job = entry->job;
  if (job.state != JobState::kOpen) return false;
  job.state = end.state;
  job.end_time = ToMicros(end.time);
  job.error_code = end.error_code;
  job.error = end.error;
  job.result = end.result;
  job.open_tasks = 0;
  entry->units.clear();
  for (TaskRecord& task : entry->tasks)
    if (IsOpen(task)) {
      task.state = TaskState::kCancelled;
      task.lease_deadline = kNever;
    }
  for (const ReproducerRecord& reproducer : end.reproducers) {
    reproducers_.push_back(reproducer);
    reproducers_.back().create_time = ToMicros(reproducer.create_time);
    reproducers_.back().sequence = ++last_reproducer_;
  }
  return true;
}

absl::StatusOr<std::vector<std::string>> MemoryJobStore::ListFinishable(int limit) {
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> ids;
  for (const auto& [sequence, entry] : jobs_)
    if (entry.job.state == JobState::kOpen && entry.job.open_tasks == 0 && ids.size() < static_cast<size_t>(limit))
      ids.push_back(entry.job.id);
  return ids;
}

absl::StatusOr<std::vector<std::string>> MemoryJobStore::ListOverdue(absl::Time now, int limit) {
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> ids;
  for (const auto& [sequence, entry] : jobs_)
    if (entry.job.state == JobState::kOpen && entry.job.deadline < now && ids.size() < static_cast<size_t>(limit))
      ids.push_back(entry.job.id);
  return ids;
}

void MemoryJobStore::Erase(Entries::iterator at) {
  const JobRecord& job = at->second.job;
  sequences_.erase(job.id);
  if (!job.request_id.empty()) requests_.erase({job.principal, job.request_id});
  jobs_.erase(at);
}

absl::Status MemoryJobStore::DeleteJob(std::string_view id) {
  absl::MutexLock lock(&mutex_);
  const Entry* entry = Find(id);
  if (entry == nullptr) return NotFound();
  if (entry->job.state == JobState::kOpen) return absl::FailedPreconditionError("the job has not ended");
  Erase(jobs_.find(entry->job.sequence));
  return absl::OkStatus();
}

absl::StatusOr<int> MemoryJobStore::DeleteFinished(absl::Time time, int limit) {
  absl::MutexLock lock(&mutex_);
  std::vector<Entries::iterator> ended;
  for (auto it = jobs_.begin(); it != jobs_.end(); ++it)
    if (it->second.job.state != JobState::kOpen && it->second.job.end_time < time) ended.push_back(it);
  std::stable_sort(ended.begin(), ended.end(), [](Entries::iterator a, Entries::iterator b) {
    return a->second.job.end_time < b->second.job.end_time;
  });
  ended.resize(std::min<size_t>(ended.size(), static_cast<size_t>(limit)));
  for (const Entries::iterator at : ended) Erase(at);
  return static_cast<int>(ended.size());
}

absl::StatusOr<ReproducerRecord> MemoryJobStore::GetReproducer(std::string_view id) {
  absl::MutexLock lock(&mutex_);
  for (const ReproducerRecord& reproducer : reproducers_)
    if (reproducer.id == id) return reproducer;
  return absl::NotFoundError("no such reproducer");
}

absl::StatusOr<ReproducerPage> MemoryJobStore::ListReproducers(int64_t before, int limit) {
  absl::MutexLock lock(&mutex_);
  ReproducerPage page;
  for (auto it = reproducers_.rbegin(); it != reproducers_.rend(); ++it) {
    if (before != 0 && it->sequence >= before) continue;
    page.more = page.reproducers.size() == static_cast<size_t>(limit);
    if (page.more) break;
    page.reproducers.push_back({it->id, it->job, it->create_time, "", it->sequence});
  }
  return page;
}

absl::Status MemoryJobStore::DeleteReproducer(std::string_view id) {
  absl::MutexLock lock(&mutex_);
  for (auto it = reproducers_.begin(); it != reproducers_.end(); ++it) {
    if (it->id != id) continue;
    reproducers_.erase(it);
    return absl::OkStatus();
  }
  return absl::NotFoundError("no such reproducer");
}

absl::StatusOr<JobStats> MemoryJobStore::Stats() {
  absl::MutexLock lock(&mutex_);
  JobStats stats;
  stats.reproducers = reproducers_.size();
  for (const auto& [sequence, entry] : jobs_) {
    ++(entry.job.state == JobState::kOpen ? stats.open_jobs : stats.finished_jobs);
    for (const TaskRecord& task : entry.tasks) {
      if (task.state == TaskState::kQueued) {
        ++stats.queued_tasks;
        stats.oldest_queued = std::min(stats.oldest_queued, entry.job.create_time);
      }
      stats.leased_tasks += task.state == TaskState::kLeased;
    }
  }
  return stats;
}

}  // namespace samebits::storage
