#include "storage/memory/memory_fleet_store.h"

namespace samebits::storage {
namespace {

absl::Status NotFound() { return absl::NotFoundError("no such worker"); }
absl::Time ToMicros(absl::Time time) { return absl::FromUnixMicros(absl::ToUnixMicros(time)); }

}  // namespace

absl::StatusOr<WorkerRecord> MemoryFleetStore::OpenSession(std::string_view id, std::string_view description,
                                                           absl::Time now) {
  absl::MutexLock lock(&mutex_);
  const auto [at, created] = workers_.try_emplace(std::string(id));
  WorkerRecord& worker = at->second;
  if (created) {
    worker.id = at->first;
    worker.create_time = ToMicros(now);
  }
  worker.last_seen = ToMicros(now);
  worker.session = next_session_++;
  worker.description = std::string(description);
  return worker;
}

absl::Status MemoryFleetStore::Touch(std::string_view id, int64_t session, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  const auto at = workers_.find(id);
  if (at == workers_.end()) return NotFound();
  if (at->second.session != session) return absl::AbortedError("the worker has opened another session");
  at->second.last_seen = ToMicros(now);
  return absl::OkStatus();
}

absl::StatusOr<WorkerRecord> MemoryFleetStore::SetDraining(std::string_view id, bool draining) {
  absl::MutexLock lock(&mutex_);
  const auto at = workers_.find(id);
  if (at == workers_.end()) return NotFound();
  at->second.draining = draining;
  return at->second;
}

absl::StatusOr<WorkerRecord> MemoryFleetStore::GetWorker(std::string_view id) {
  absl::MutexLock lock(&mutex_);
  const auto at = workers_.find(id);
  return at == workers_.end() ? absl::StatusOr<WorkerRecord>(NotFound()) : at->second;
}

absl::StatusOr<std::vector<WorkerRecord>> MemoryFleetStore::ListWorkers() {
  absl::MutexLock lock(&mutex_);
  std::vector<WorkerRecord> workers;
  for (const auto& [id, worker] : workers_) workers.push_back(worker);
  return workers;
}

absl::Status MemoryFleetStore::DeleteWorker(std::string_view id) {
  absl::MutexLock lock(&mutex_);
  const auto at = workers_.find(id);
  if (at == workers_.end()) return NotFound();
  workers_.erase(at);
  return absl::OkStatus();
}

}  // namespace samebits::storage
