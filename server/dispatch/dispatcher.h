#ifndef SAMEBITS_SERVER_DISPATCH_DISPATCHER_H_
#define SAMEBITS_SERVER_DISPATCH_DISPATCHER_H_

// Jobs from acceptance to their end: queue, leases, retries, deadlines, cancellation, garbage collection. The state is
// in the stores; what only helps to show it, the progress of running tasks, is in memory.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/dispatch/config.h"
#include "server/metrics/metrics.h"
#include "storage/fleet_store.h"
#include "storage/job_store.h"

namespace samebits::server {

// Makes a finished job of the results of its tasks. Called without locks, for several jobs at a time, possibly again after
// a crash; may block.
class JobFinisher {
 public:
  virtual ~JobFinisher() = default;
  virtual storage::JobEnd Finish(const storage::JobRecord& job, const std::vector<storage::TaskRecord>& tasks) = 0;
};

struct Submission {
  std::string kind, principal, request_id, spec;
  storage::Digest request_digest{};
  int32_t priority = 0;
  absl::Duration timeout = absl::Hours(1);
  std::vector<std::string> targets;  // one task each
};

struct TaskProgress {
  uint64_t done = 0, total = 0;
};

struct JobView {
  storage::JobRecord job;
  std::vector<storage::TaskRecord> tasks;
  std::vector<storage::AttemptRecord> attempts;
  std::vector<TaskProgress> progress;  // by task
};

// What a worker reports and asks for in one call.
struct WorkerReport {
  struct Running {
    storage::LeaseKey lease;
    TaskProgress progress;
    std::vector<storage::UnitRecord> units;  // finished, to be kept
  };
  struct Finished {
    storage::LeaseKey lease;
    absl::Status error;      // OK: `result` is set
    std::string result;
  };
  struct Free {
    uint32_t device = 0;
    std::vector<std::string> targets;
  };
  std::string worker;
  int64_t session = 0;
  std::vector<Running> running;
  std::vector<Finished> finished;
  std::vector<Free> free;
};

struct WorkerOrders {
  std::vector<std::pair<uint32_t, storage::Lease>> leased;  // by device
  std::vector<storage::LeaseKey> revoked;
  absl::Duration poll_interval;
};

// Thread-safe. Calls may block on I/O. Errors carry an ErrorDetail (server/registry/errors.h).
class Dispatcher {
 public:
  // The stores and `metrics` outlive the dispatcher. `finishers` by kind of job.
  Dispatcher(DispatchConfig config, storage::JobStore& jobs, storage::FleetStore& fleet,
             std::map<std::string, std::unique_ptr<JobFinisher>> finishers, Metrics& metrics);
  ~Dispatcher();  // as Stop

  // Starts the thread that expires leases, ends overdue jobs, finishes and deletes.
  void Start();
  void Stop();
  // Tells all subscribers that the server stops: stopping() is true from now on.
  void BeginStop();
  bool stopping() const { return stopping_; }
  // What that thread does once.
  void Tick();

  // Accepts a job; the job is durable when this returns. The same principal's request_id gives the same job.
  absl::StatusOr<storage::JobRecord> Submit(const Submission& submission);
  absl::StatusOr<JobView> Get(const std::string& id);
  absl::StatusOr<storage::JobPage> List(const storage::JobFilter& filter, int64_t before, int limit);
  absl::StatusOr<JobView> Cancel(const std::string& id, const std::string& principal);
  absl::Status Delete(const std::string& id);
  absl::StatusOr<storage::ReproducerPage> ListReproducers(int64_t before, int limit);
  absl::StatusOr<storage::ReproducerRecord> GetReproducer(const std::string& id);
  absl::Status DeleteReproducer(const std::string& id);

  // Calls `on_change` soon after each change of the job, on any thread, until Unsubscribe returns; it must not block.
  uint64_t Subscribe(const std::string& id, std::function<void()> on_change);
  void Unsubscribe(uint64_t subscription);

  // A new session: what the worker held is queued again at once, for whoever opens one has started anew.
  absl::StatusOr<storage::WorkerRecord> OpenSession(const std::string& worker, std::string_view description);
  // Queues again what the worker holds; `cause` is kept with the attempt.
  absl::Status ReleaseLeases(const std::string& worker, std::string_view cause);
  // SESSION_LOST where the session is not the worker's latest.
  absl::StatusOr<WorkerOrders> Update(const WorkerReport& report);
  absl::StatusOr<storage::WorkerRecord> GetWorker(const std::string& id);
  absl::StatusOr<std::vector<storage::WorkerRecord>> ListWorkers();
  absl::StatusOr<storage::WorkerRecord> SetDraining(const std::string& id, bool draining);
  bool IsOnline(const storage::WorkerRecord& worker) const;
  const DispatchConfig& config() const { return config_; }

 private:
  using Key = std::pair<std::string, uint32_t>;  // job and task
  absl::Time Now() const { return config_.clock(); }
  void Notify(const std::string& job);
  void FinishReady();
  void FinishOne(const std::string& id);
  void FinishAll(const std::vector<std::string>& ids);
  void EndOverdue();
  // Whether leases may expire: not right after the server was away, for nobody could report meanwhile.
  bool WasHere();
  void ExpireLeases();
  void CollectGarbage();
  void CountWorkers();
  void Requeued(const std::vector<storage::LeaseKey>& leases, const char* event);
  absl::Status TakeResult(const std::string& worker, const WorkerReport::Finished& finished);
  absl::Status Renew(const WorkerReport& report, WorkerOrders* orders);
  // Whether the lease is still current.
  absl::StatusOr<bool> KeepUnits(const storage::LeaseKey& lease, const std::vector<storage::UnitRecord>& units);
  absl::Status Lease(const WorkerReport& report, WorkerOrders* orders);
  absl::Duration RetryDelay(const storage::LeaseKey& lease);

  const DispatchConfig config_;
  storage::JobStore& jobs_;
  storage::FleetStore& fleet_;
  const std::map<std::string, std::unique_ptr<JobFinisher>> finishers_;
  Metrics& metrics_;

  absl::Mutex mutex_;
  struct Subscription {
    std::string job;
    std::shared_ptr<const std::function<void()>> on_change;
  };
  std::map<uint64_t, Subscription> subscriptions_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_subscription_ ABSL_GUARDED_BY(mutex_) = 1;
  absl::flat_hash_map<Key, TaskProgress> progress_ ABSL_GUARDED_BY(mutex_);
  absl::Time last_tick_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time last_collection_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  bool ready_ ABSL_GUARDED_BY(mutex_) = true;  // some job may be finishable
  std::atomic<bool> stopping_{false};
  absl::Mutex calling_;                        // held while subscribers are called
  std::atomic<size_t> workers_{0};
  std::thread thread_;
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_DISPATCH_DISPATCHER_H_
