#ifndef SAMEBITS_STORAGE_FLEET_STORE_H_
#define SAMEBITS_STORAGE_FLEET_STORE_H_

// Workers that have registered, and their sessions. Implementations: memory/, sqlite/. All of them pass
// tests/conformance/storage.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace samebits::storage {

struct WorkerRecord {
  std::string id;
  absl::Time create_time, last_seen;  // kept to the microsecond
  int64_t session = 0;                // the only valid one; each opening gives a greater number
  bool draining = false;              // gets no new leases
  std::string description;            // what the worker said of itself; the store does not look into it
};

// Thread-safe; calls may block on I/O. Errors common to all calls as KernelStore's; NOT_FOUND where a worker is named
// that is not there.
class FleetStore {
 public:
  virtual ~FleetStore() = default;

  // Registers the worker where it is new, replaces its description and opens a session, which ends the one before.
  // Durable. Draining stays as it was.
  virtual absl::StatusOr<WorkerRecord> OpenSession(std::string_view id, std::string_view description,
                                                   absl::Time now) = 0;
  // Notes that the worker of a session was heard of; ABORTED where the session is not the valid one. After a restart
  // last_seen may be some seconds behind.
  virtual absl::Status Touch(std::string_view id, int64_t session, absl::Time now) = 0;
  virtual absl::StatusOr<WorkerRecord> SetDraining(std::string_view id, bool draining) = 0;
  virtual absl::StatusOr<WorkerRecord> GetWorker(std::string_view id) = 0;
  virtual absl::StatusOr<std::vector<WorkerRecord>> ListWorkers() = 0;  // by id
  virtual absl::Status DeleteWorker(std::string_view id) = 0;
};

}  // namespace samebits::storage

#endif  // SAMEBITS_STORAGE_FLEET_STORE_H_
