#ifndef SAMEBITS_STORAGE_SQLITE_SHARED_DATABASE_H_
#define SAMEBITS_STORAGE_SQLITE_SHARED_DATABASE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "storage/sqlite/checkpointer.h"
#include "storage/sqlite/database.h"
#include "storage/sqlite/file_lock.h"
#include "storage/sqlite/group_sync.h"

namespace samebits::storage {

struct SqliteOptions {
  std::string path;                             // the folder must exist; the file is made, readable by its owner only
  absl::Duration busy_timeout = absl::Seconds(10);  // waits for locks that other processes hold
  int readers = 4;                              // connections that read kernels at the same time
  uint64_t check_file_bytes = 512ull << 20;     // files up to this size are checked for damage when opened
  int64_t log_pages = 16384;                    // of 4 KiB: a longer write-ahead log is emptied while writers wait
};

namespace sqlite {

// Bytes to bind as a blob. The view must live until the call that takes it returns.
struct Blob {
  std::string_view bytes;
};

// The one connection that writes, which the stores of one file share; the file is locked against other processes.
class SharedDatabase {
 public:
  // Opens or creates the file and brings it to the latest schema. Errors name the path: FAILED_PRECONDITION where it
  // is in use, cannot be written, belongs to another program or to a newer version; DATA_LOSS where it is damaged or
  // no database.
  static absl::StatusOr<std::shared_ptr<SharedDatabase>> Open(const SqliteOptions& options);

  const SqliteOptions& options() const { return options_; }

  // The members below belong to whoever holds the mutex.
  absl::Mutex& mutex() ABSL_LOCK_RETURNED(mutex_) { return mutex_; }

  // A commit survives a crash of the process by itself.
  absl::StatusOr<Transaction> Begin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Commits what AwaitHeld then waits for.
  absl::Status Commit(Transaction& transaction) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns when all that was committed so survives a power failure: for callers that report what they wrote, or read.
  // Those that wait at the same time share one write to disk. The mutex is free meanwhile: this is the last that a caller
  // does with what it guards.
  absl::Status AwaitHeld() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CommitDurably(Transaction& transaction) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    absl::Status status = Commit(transaction);
    return status.ok() ? AwaitHeld() : status;
  }
  // The same for callers without the mutex.
  absl::Status Await() ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs a statement that returns no rows with integers, texts and Blobs bound in order.
  template <typename... Args>
  absl::Status Run(const char* sql, const Args&... args) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return Query(sql, [](const Statement&) { return absl::OkStatus(); }, args...);
  }
  // The same with `on_row(const Statement&) -> absl::Status` called for each row.
  template <typename OnRow, typename... Args>
  absl::Status Query(const char* sql, OnRow on_row, const Args&... args) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::StatusOr<Statement*> statement = Prepared(sql);
    if (!statement.ok()) return statement.status();
    StatementScope scope(**statement);
    int index = 0;
    (Bind(**statement, ++index, args), ...);
    while (true) {
      const absl::StatusOr<bool> row = (*statement)->Step();
      if (!row.ok()) return row.status();
      if (!*row) return absl::OkStatus();
      if (absl::Status status = on_row(**statement); !status.ok()) return status;
    }
  }
  int64_t changes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return connection_.changes(); }

 private:
  SharedDatabase(const SqliteOptions& options, FileLock lock, Connection connection, GroupSync log)
      : options_(options), lock_(std::move(lock)), connection_(std::move(connection)), log_(std::move(log)) {}
  // The statement of `sql`, which must be a literal: it is known by its address.
  absl::StatusOr<Statement*> Prepared(const char* sql) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  template <typename T>
  static void Bind(Statement& statement, int index, const T& value) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      statement.BindInt(index, static_cast<int64_t>(value));
    } else if constexpr (std::is_same_v<T, Blob>) {
      statement.BindBlob(index, value.bytes);
    } else {
      statement.BindText(index, value);
    }
  }

  const SqliteOptions options_;
  const FileLock lock_;  // outlives the connection
  absl::Mutex mutex_;
  Connection connection_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<const char*, std::unique_ptr<Statement>> statements_ ABSL_GUARDED_BY(mutex_);
  GroupSync log_;  // the write-ahead log
  std::unique_ptr<Checkpointer> checkpointer_;  // ends first
};

}  // namespace sqlite
}  // namespace samebits::storage

#endif  // SAMEBITS_STORAGE_SQLITE_SHARED_DATABASE_H_
