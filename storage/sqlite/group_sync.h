#ifndef SAMEBITS_STORAGE_SQLITE_GROUP_SYNC_H_
#define SAMEBITS_STORAGE_SQLITE_GROUP_SYNC_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace samebits::storage::sqlite {

// Makes writes to a file durable, one fdatasync for all that wait at the time. Thread-safe. A failed one cannot be
// repeated, because the system may have dropped what it did not write: all later calls return its error.
class GroupSync {
 public:
  // The file must be there. FAILED_PRECONDITION with the reason.
  static absl::StatusOr<GroupSync> Open(const std::string& path);
  GroupSync(GroupSync&&) = default;
  GroupSync& operator=(GroupSync&&) = delete;

  void Wrote();                 // something was written to the file
  bool IsSynced() const;        // nothing was written since the last fdatasync began
  absl::Status health() const;  // the error, OK while there is none
  // Returns once all that was written before the call is durable.
  absl::Status Await();

 private:
  struct State {
    explicit State(int file) : fd(file) {}
    ~State();
    const int fd;
    mutable absl::Mutex mutex;
    uint64_t written ABSL_GUARDED_BY(mutex) = 0, synced ABSL_GUARDED_BY(mutex) = 0;
    bool syncing ABSL_GUARDED_BY(mutex) = false;
    absl::Status error ABSL_GUARDED_BY(mutex);
  };
  explicit GroupSync(int fd) : state_(std::make_unique<State>(fd)) {}
  std::unique_ptr<State> state_;
};

}  // namespace samebits::storage::sqlite

#endif  // SAMEBITS_STORAGE_SQLITE_GROUP_SYNC_H_
