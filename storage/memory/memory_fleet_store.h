#ifndef SAMEBITS_STORAGE_MEMORY_MEMORY_FLEET_STORE_H_
#define SAMEBITS_STORAGE_MEMORY_MEMORY_FLEET_STORE_H_

#include <functional>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "storage/fleet_store.h"

namespace samebits::storage {

// Keeps everything in memory; lost with the object.
class MemoryFleetStore : public FleetStore {
 public:
  absl::StatusOr<WorkerRecord> OpenSession(std::string_view id, std::string_view description, absl::Time now) override;
  absl::Status Touch(std::string_view id, int64_t session, absl::Time now) override;
  absl::StatusOr<WorkerRecord> SetDraining(std::string_view id, bool draining) override;
  absl::StatusOr<WorkerRecord> GetWorker(std::string_view id) override;
  absl::StatusOr<std::vector<WorkerRecord>> ListWorkers() override;
  absl::Status DeleteWorker(std::string_view id) override;

 private:
  absl::Mutex mutex_;
  std::map<std::string, WorkerRecord, std::less<>> workers_ ABSL_GUARDED_BY(mutex_);
  int64_t next_session_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace samebits::storage

#endif  // SAMEBITS_STORAGE_MEMORY_MEMORY_FLEET_STORE_H_
