#include "server/dispatch/dispatcher.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/registry/errors.h"

namespace samebits::server {
namespace {

constexpr int kLongestRetry = 64;  // times the first retry's delay
constexpr int kBatch = 100;  // jobs or leases handled by one call of the store
constexpr size_t kFinishers = 8;
constexpr int kDeletions = 500;  // of jobs in one transaction
constexpr absl::Duration kCollectionPeriod = absl::Minutes(1);

std::string NewId() {
  static thread_local std::mt19937_64 random{std::random_device{}()};
  return absl::StrFormat("%016x%016x", random(), random());
}

absl::Status NotFound(std::string_view what, const std::string& id) {
  const std::string name = absl::StrCat(std::string(what), "/", id);
  return WithDetail(absl::NotFoundError(absl::StrCat("there is no ", name)), "RESOURCE_NOT_FOUND", {{"name", name}});
}

absl::Status FromJobStore(const absl::Status& status, const std::string& id) {
  if (absl::IsNotFound(status)) return NotFound("operations", id);
  if (absl::IsFailedPrecondition(status))
    return WithDetail(absl::FailedPreconditionError("the operation has not ended; cancel it first"), "NOT_ENDED",
                      {{"name", absl::StrCat("operations/", id)}});
  return WithDetail(status, "STORAGE", {});
}

absl::Status FromFleetStore(const absl::Status& status, const std::string& id) {
  if (absl::IsNotFound(status)) return NotFound("workers", id);
  if (absl::IsAborted(status)) return WithDetail(status, "SESSION_LOST", {});
  return WithDetail(status, "STORAGE", {});
}

absl::Status FromReproducers(const absl::Status& status, const std::string& id) {
  return absl::IsNotFound(status) ? NotFound("reproducers", id) : FromJobStore(status, id);
}

// Another attempt may end otherwise.
bool IsRetryable(const absl::Status& status) { return absl::IsUnavailable(status) || absl::IsAborted(status); }

}  // namespace

Dispatcher::Dispatcher(DispatchConfig config, storage::JobStore& jobs, storage::FleetStore& fleet,
                       std::map<std::string, std::unique_ptr<JobFinisher>> finishers, Metrics& metrics)
    : config_(std::move(config)), jobs_(jobs), fleet_(fleet), finishers_(std::move(finishers)), metrics_(metrics) {}

Dispatcher::~Dispatcher() { Stop(); }

void Dispatcher::Start() {
  thread_ = std::thread([this] {
    while (true) {
      Tick();
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(+[](std::atomic<bool>* stop) { return stop->load(); }, &stopping_),
                              config_.tick);
      if (stopping_) return;
    }
  });
}

void Dispatcher::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void Dispatcher::BeginStop() {
  absl::MutexLock calling(&calling_);
  std::vector<std::shared_ptr<const std::function<void()>>> receivers;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    for (const auto& [number, subscription] : subscriptions_) receivers.push_back(subscription.on_change);
  }
  for (const auto& receiver : receivers) (*receiver)();
}

// The server was away where it has just started, was held, or its clock was set, forward or back.
bool Dispatcher::WasHere() {
  const absl::Time now = Now();
  {
    absl::MutexLock lock(&mutex_);
    const absl::Duration since = now - last_tick_;
    if (since >= absl::ZeroDuration() && since <= config_.lease_duration / 2) {
      last_tick_ = now;
      return true;
    }
  }
  if (!jobs_.RestartLeases(now + config_.lease_duration, now + config_.retry_delay).ok()) {
    metrics_.CountStoreError();
    return false;  // and the next tick tries again
  }
  absl::MutexLock lock(&mutex_);
  last_tick_ = now;
  return true;
}

void Dispatcher::Tick() {
  if (WasHere()) ExpireLeases();
  EndOverdue();
  FinishReady();
  CollectGarbage();
  CountWorkers();
}

void Dispatcher::CountWorkers() {
  if (const auto workers = fleet_.ListWorkers(); workers.ok()) workers_ = workers->size();
}

void Dispatcher::Notify(const std::string& job) {
  absl::MutexLock calling(&calling_);
  std::vector<std::shared_ptr<const std::function<void()>>> receivers;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [number, subscription] : subscriptions_)
      if (subscription.job == job) receivers.push_back(subscription.on_change);
  }
  for (const auto& receiver : receivers) (*receiver)();
}

uint64_t Dispatcher::Subscribe(const std::string& id, std::function<void()> on_change) {
  absl::MutexLock lock(&mutex_);
  subscriptions_[next_subscription_] = {id, std::make_shared<const std::function<void()>>(std::move(on_change))};
  return next_subscription_++;
}

void Dispatcher::Unsubscribe(uint64_t subscription) {
  absl::MutexLock calling(&calling_);
  absl::MutexLock lock(&mutex_);
  subscriptions_.erase(subscription);
}

absl::StatusOr<storage::JobRecord> Dispatcher::Submit(const Submission& submission) {
  storage::JobRecord job;
  job.id = NewId();
  job.kind = submission.kind;
  job.principal = submission.principal;
  job.request_id = submission.request_id;
  job.request_digest = submission.request_digest;
  job.priority = submission.priority;
  job.create_time = Now();
  job.deadline = job.create_time + submission.timeout;
  job.spec = submission.spec;
  std::vector<storage::TaskRecord> tasks;
  for (const std::string& target : submission.targets) {
    storage::TaskRecord& task = tasks.emplace_back();
    task.target = target;
    task.max_attempts = config_.max_attempts;
  }
  absl::StatusOr<storage::JobStore::Created> created = jobs_.CreateJob(job, tasks, config_.limits);
  if (created.ok()) {
    if (created->created) metrics_.CountJob("accepted");
    return std::move(created->job);
  }
  if (absl::IsAlreadyExists(created.status()))
    return WithDetail(created.status(), "REQUEST_ID_REUSED", {{"request_id", submission.request_id}});
  if (absl::IsResourceExhausted(created.status()) && created.status().message() == "open_jobs")
    return QueueFull("max_open_jobs", config_.limits.open_jobs);
  if (absl::IsResourceExhausted(created.status()) && created.status().message() == "open_jobs_of_principal")
    return QueueFull("max_open_jobs_of_principal", config_.limits.open_jobs_of_principal);
  return FromJobStore(created.status(), job.id);
}

absl::StatusOr<JobView> Dispatcher::Get(const std::string& id) {
  JobView view;
  absl::StatusOr<storage::JobRecord> job = jobs_.GetJob(id);
  if (!job.ok()) return FromJobStore(job.status(), id);
  absl::StatusOr<std::vector<storage::TaskRecord>> tasks = jobs_.GetTasks(id);
  if (!tasks.ok()) return FromJobStore(tasks.status(), id);
  absl::StatusOr<std::vector<storage::AttemptRecord>> attempts = jobs_.GetAttempts(id);
  if (!attempts.ok()) return FromJobStore(attempts.status(), id);
  view.job = *std::move(job);
  view.tasks = *std::move(tasks);
  view.attempts = *std::move(attempts);
  absl::MutexLock lock(&mutex_);
  for (const storage::TaskRecord& task : view.tasks) {
    const auto at = progress_.find(Key{id, task.index});
    view.progress.push_back(at == progress_.end() ? TaskProgress() : at->second);
  }
  return view;
}

absl::StatusOr<storage::JobPage> Dispatcher::List(const storage::JobFilter& filter, int64_t before, int limit) {
  absl::StatusOr<storage::JobPage> page = jobs_.ListJobs(filter, before, limit);
  if (!page.ok()) return FromJobStore(page.status(), "");
  return page;
}

absl::StatusOr<JobView> Dispatcher::Cancel(const std::string& id, const std::string& principal) {
  storage::JobEnd end;
  end.state = storage::JobState::kCancelled;
  end.time = Now();
  end.error_code = static_cast<int32_t>(absl::StatusCode::kCancelled);
  end.error = absl::StrCat("cancelled by ", principal);
  const absl::StatusOr<bool> ended = jobs_.FinishJob(id, end);
  if (!ended.ok()) return FromJobStore(ended.status(), id);
  if (*ended) {
    metrics_.CountJob("cancelled");
    Notify(id);
  }
  return Get(id);
}

absl::Status Dispatcher::Delete(const std::string& id) {
  const absl::Status status = jobs_.DeleteJob(id);
  return status.ok() ? status : FromJobStore(status, id);
}

absl::StatusOr<storage::ReproducerPage> Dispatcher::ListReproducers(int64_t before, int limit) {
  absl::StatusOr<storage::ReproducerPage> page = jobs_.ListReproducers(before, limit);
  if (!page.ok()) return FromReproducers(page.status(), "");
  return page;
}

absl::StatusOr<storage::ReproducerRecord> Dispatcher::GetReproducer(const std::string& id) {
  absl::StatusOr<storage::ReproducerRecord> record = jobs_.GetReproducer(id);
  if (!record.ok()) return FromReproducers(record.status(), id);
  return record;
}

absl::Status Dispatcher::DeleteReproducer(const std::string& id) {
  const absl::Status status = jobs_.DeleteReproducer(id);
  return status.ok() ? status : FromReproducers(status, id);
}

void Dispatcher::ExpireLeases() {
  const absl::Time now = Now();
  const absl::Status cause = absl::UnavailableError("the worker did not report in time");
  const auto expired = jobs_.ExpireLeases(now, cause, now + config_.retry_delay, kBatch);
  if (!expired.ok()) return metrics_.CountStoreError();
  Requeued(*expired, "expired");
}

void Dispatcher::Requeued(const std::vector<storage::LeaseKey>& leases, const char* event) {
  for (const storage::LeaseKey& lease : leases) {
    metrics_.CountLease(event);
    {
      absl::MutexLock lock(&mutex_);
      progress_.erase(Key{lease.job, lease.task});
      ready_ = true;
    }
    Notify(lease.job);
  }
}

void Dispatcher::EndOverdue() {
  const absl::Time now = Now();
  const auto overdue = jobs_.ListOverdue(now, kBatch);
  if (!overdue.ok()) return metrics_.CountStoreError();
  for (const std::string& id : *overdue) {
    storage::JobEnd end;
    end.state = storage::JobState::kFailed;
    end.time = now;
    end.error_code = static_cast<int32_t>(absl::StatusCode::kDeadlineExceeded);
    end.error = "the operation did not end within its timeout";
    const absl::StatusOr<bool> ended = jobs_.FinishJob(id, end);
    if (!ended.ok()) metrics_.CountStoreError();
    if (!ended.ok() || !*ended) continue;
    metrics_.CountJob("failed");
    Notify(id);
  }
}

void Dispatcher::FinishReady() {
  {
    absl::MutexLock lock(&mutex_);
    if (!std::exchange(ready_, false)) return;
  }
  const auto ids = jobs_.ListFinishable(kBatch);
  if (!ids.ok()) metrics_.CountStoreError();
  if (!ids.ok() || ids->size() == kBatch) {
    absl::MutexLock lock(&mutex_);
    ready_ = true;
  }
  if (!ids.ok()) return;
  FinishAll(*ids);
}

// On a few threads, which wait for the disk together.
void Dispatcher::FinishAll(const std::vector<std::string>& ids) {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i; (i = next++) < ids.size();) FinishOne(ids[i]);
  };
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < std::min(ids.size(), kFinishers); ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
}

void Dispatcher::FinishOne(const std::string& id) {
  const absl::StatusOr<storage::JobRecord> job = jobs_.GetJob(id);
  const absl::StatusOr<std::vector<storage::TaskRecord>> tasks = jobs_.GetTasks(id);
  if (!job.ok() || !tasks.ok()) return;  // deleted meanwhile
  storage::JobEnd end;
  const auto finisher = finishers_.find(job->kind);
  if (finisher != finishers_.end()) {
    end = finisher->second->Finish(*job, *tasks);
  } else {
    end.state = storage::JobState::kFailed;
    end.error_code = static_cast<int32_t>(absl::StatusCode::kUnimplemented);
    end.error = "this server does not know the kind of operation";
  }
  end.time = Now();
  for (storage::ReproducerRecord& reproducer : end.reproducers) reproducer.create_time = end.time;
  const absl::StatusOr<bool> ended = jobs_.FinishJob(id, end);
  if (!ended.ok()) {
    metrics_.CountStoreError();
    absl::MutexLock lock(&mutex_);
    ready_ = true;
    return;
  }
  if (!*ended) return;
  metrics_.CountJob(end.state == storage::JobState::kSucceeded ? "succeeded" : "failed");
  metrics_.ObserveJob(end.time - job->create_time);
  metrics_.CountContradictions(end.reproducers.size());
  {
    absl::MutexLock lock(&mutex_);
    for (const storage::TaskRecord& task : *tasks) progress_.erase(Key{id, task.index});
  }
  Notify(id);
}

void Dispatcher::CollectGarbage() {
  const absl::Time now = Now();
  {
    absl::MutexLock lock(&mutex_);
    if (now - last_collection_ < kCollectionPeriod) return;
    last_collection_ = now;
  }
  const auto count = [this](const absl::StatusOr<int>& deleted) {
    if (!deleted.ok()) metrics_.CountStoreError();
    return deleted.ok() ? *deleted : 0;
  };
  bool more = count(jobs_.DeleteFinished(now - config_.keep_finished, kDeletions)) == kDeletions;
  if (const auto stats = jobs_.Stats(); config_.max_finished != 0 && stats.ok()) {
    const uint64_t excess = stats->finished_jobs - std::min(stats->finished_jobs, config_.max_finished);
    if (excess != 0) count(jobs_.DeleteFinished(absl::InfiniteFuture(), static_cast<int>(std::min<uint64_t>(excess, kDeletions))));
    more |= excess > kDeletions;
  }
  if (!more) return;
  absl::MutexLock lock(&mutex_);
  last_collection_ = absl::InfinitePast();  // the next tick goes on
}

absl::StatusOr<storage::WorkerRecord> Dispatcher::OpenSession(const std::string& worker,
                                                              std::string_view description) {
  absl::StatusOr<storage::WorkerRecord> record = fleet_.OpenSession(worker, description, Now());
  if (!record.ok()) return FromFleetStore(record.status(), worker);
  if (absl::Status status = ReleaseLeases(worker, "the worker has started anew"); !status.ok()) return status;
  return record;
}

absl::Status Dispatcher::ReleaseLeases(const std::string& worker, std::string_view cause) {
  const auto released =
      jobs_.ReleaseLeases(worker, Now(), absl::UnavailableError(absl::string_view(cause.data(), cause.size())));
  if (!released.ok()) return FromJobStore(released.status(), "");
  Requeued(*released, "released");
  return absl::OkStatus();
}

absl::Duration Dispatcher::RetryDelay(const storage::LeaseKey& lease) {
  const auto tasks = jobs_.GetTasks(lease.job);
  const uint32_t attempt = tasks.ok() && lease.task < tasks->size() ? (*tasks)[lease.task].attempt : 1;
  return config_.retry_delay * std::min(1 << std::min<uint32_t>(attempt == 0 ? 0 : attempt - 1, 30), kLongestRetry);
}

absl::Status Dispatcher::TakeResult(const std::string& worker, const WorkerReport::Finished& finished) {
  const absl::Time now = Now();
  storage::LeaseKey lease = finished.lease;
  lease.worker = worker;
  absl::StatusOr<storage::TaskEnd> end;
  if (finished.error.ok()) {
    end = jobs_.CompleteTask(lease, finished.result);
  } else {
    const bool retry = IsRetryable(finished.error);
    end = jobs_.FailTask(lease, finished.error, retry, now, now + RetryDelay(lease));
  }
  if (!end.ok()) return FromJobStore(end.status(), finished.lease.job);
  if (end->outcome != storage::Outcome::kAccepted) {
    metrics_.CountLease(end->outcome == storage::Outcome::kRepeated ? "repeated" : "stale");
    return absl::OkStatus();
  }
  metrics_.CountLease(finished.error.ok() ? "completed" : "failed");
  {
    absl::MutexLock lock(&mutex_);
    progress_.erase(Key{finished.lease.job, finished.lease.task});
    ready_ |= end->last;
  }
  Notify(finished.lease.job);
  return absl::OkStatus();
}

absl::StatusOr<bool> Dispatcher::KeepUnits(const storage::LeaseKey& lease,
                                           const std::vector<storage::UnitRecord>& units) {
  if (units.empty()) return true;
  const absl::StatusOr<bool> kept = jobs_.AddUnits(lease, units, config_.unit_limits);
  if (kept.ok()) {
    if (*kept) metrics_.CountUnits(units.size());
    return kept;
  }
  if (!absl::IsResourceExhausted(kept.status())) return FromJobStore(kept.status(), lease.job);
  const absl::Status error = absl::ResourceExhaustedError(absl::StrCat(
      "the task has more finished parts than the server keeps: max_", kept.status().message(), ", ",
      kept.status().message() == "task_units" ? config_.unit_limits.units : config_.unit_limits.bytes));
  if (absl::Status status = TakeResult(lease.worker, {lease, error, ""}); !status.ok()) return status;
  return false;
}

absl::Status Dispatcher::Renew(const WorkerReport& report, WorkerOrders* orders) {
  if (report.running.empty()) return absl::OkStatus();
  std::vector<storage::LeaseKey> leases;
  for (const WorkerReport::Running& running : report.running) {
    leases.push_back(running.lease);
    leases.back().worker = report.worker;
  }
  const auto current = jobs_.RenewLeases(leases, Now() + config_.lease_duration);
  if (!current.ok()) return FromJobStore(current.status(), "");
  for (size_t i = 0; i < leases.size(); ++i) {
    if (!(*current)[i]) {
      orders->revoked.push_back(leases[i]);
      continue;
    }
    const absl::StatusOr<bool> kept = KeepUnits(leases[i], report.running[i].units);
    if (!kept.ok()) return kept.status();
    if (!*kept) {
      orders->revoked.push_back(leases[i]);
      continue;
    }
    bool changed = false;
    {
      absl::MutexLock lock(&mutex_);
      TaskProgress& known = progress_[Key{leases[i].job, leases[i].task}];
      changed = known.done != report.running[i].progress.done;
      known = report.running[i].progress;
    }
    if (changed) Notify(leases[i].job);
  }
  return absl::OkStatus();
}

absl::Status Dispatcher::Lease(const WorkerReport& report, WorkerOrders* orders) {
  for (const WorkerReport::Free& free : report.free) {
    storage::LeaseRequest request;
    request.worker = report.worker;
    request.targets = free.targets;
    request.now = Now();
    request.lease_deadline = request.now + config_.lease_duration;
    absl::StatusOr<std::vector<storage::Lease>> leases = jobs_.LeaseTasks(request);
    if (!leases.ok()) return FromJobStore(leases.status(), "");
    for (storage::Lease& lease : *leases) {
      metrics_.CountLease("granted");
      Notify(lease.task.job);
      orders->leased.emplace_back(free.device, std::move(lease));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<WorkerOrders> Dispatcher::Update(const WorkerReport& report) {
  if (absl::Status status = fleet_.Touch(report.worker, report.session, Now()); !status.ok())
    return FromFleetStore(status, report.worker);
  const absl::StatusOr<storage::WorkerRecord> worker = fleet_.GetWorker(report.worker);
  if (!worker.ok()) return FromFleetStore(worker.status(), report.worker);
  for (const WorkerReport::Finished& finished : report.finished)
    if (absl::Status status = TakeResult(report.worker, finished); !status.ok()) return status;
  WorkerOrders orders;
  if (absl::Status status = Renew(report, &orders); !status.ok()) return status;
  if (!worker->draining)
    if (absl::Status status = Lease(report, &orders); !status.ok()) return status;
  orders.poll_interval =
      std::max(config_.least_poll, absl::Seconds(static_cast<double>(workers_.load()) / config_.polls_a_second));
  return orders;
}

absl::StatusOr<storage::WorkerRecord> Dispatcher::GetWorker(const std::string& id) {
  absl::StatusOr<storage::WorkerRecord> worker = fleet_.GetWorker(id);
  if (!worker.ok()) return FromFleetStore(worker.status(), id);
  return worker;
}

absl::StatusOr<std::vector<storage::WorkerRecord>> Dispatcher::ListWorkers() {
  absl::StatusOr<std::vector<storage::WorkerRecord>> workers = fleet_.ListWorkers();
  if (!workers.ok()) return FromFleetStore(workers.status(), "");
  return workers;
}

absl::StatusOr<storage::WorkerRecord> Dispatcher::SetDraining(const std::string& id, bool draining) {
  absl::StatusOr<storage::WorkerRecord> worker = fleet_.SetDraining(id, draining);
  if (!worker.ok()) return FromFleetStore(worker.status(), id);
  return worker;
}

bool Dispatcher::IsOnline(const storage::WorkerRecord& worker) const {
  return Now() - worker.last_seen < config_.offline_after;
}

}  // namespace samebits::server
