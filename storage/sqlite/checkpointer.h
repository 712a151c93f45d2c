#ifndef SAMEBITS_STORAGE_SQLITE_CHECKPOINTER_H_
#define SAMEBITS_STORAGE_SQLITE_CHECKPOINTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "storage/sqlite/database.h"

namespace samebits::storage::sqlite {

// Moves what was committed from the write-ahead log into the database, on a thread and connection of its own, so that no
// writer waits for it. A log that writers never leave in peace is emptied with them shut out, once it has `log_pages`.
class Checkpointer {
 public:
  // `writers` is held by whoever writes, and outlives the object.
  static absl::StatusOr<std::unique_ptr<Checkpointer>> Start(const std::string& path, int64_t log_pages,
                                                             absl::Mutex* writers);
  ~Checkpointer();

 private:
  Checkpointer(Connection connection, int64_t log_pages, absl::Mutex* writers);
  void Run();
  // Pages in the log, 0 where they cannot be told.
  int64_t Checkpoint();

  Connection connection_;
  const int64_t log_pages_;
  absl::Mutex* const writers_;
  absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace samebits::storage::sqlite

#endif  // SAMEBITS_STORAGE_SQLITE_CHECKPOINTER_H_
