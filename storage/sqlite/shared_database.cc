#include "storage/sqlite/shared_database.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/sqlite/migrations.h"

namespace samebits::storage::sqlite {
namespace {

// The error with the path in front.
absl::Status AtPath(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("database ", path, ": ", status.message()));
}

absl::Status CreatePrivate(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return absl::FailedPreconditionError(absl::StrCat("cannot open for writing: ", strerror(errno)));
  close(fd);
  return absl::OkStatus();
}

absl::Status CheckForDamage(Connection& connection, const SqliteOptions& options) {
  struct stat info {};
  if (stat(options.path.c_str(), &info) != 0 || static_cast<uint64_t>(info.st_size) > options.check_file_bytes)
    return absl::OkStatus();
  const absl::StatusOr<std::string> result = connection.QueryText("PRAGMA quick_check(1)");
  if (!result.ok()) return result.status();
  return *result == "ok" ? absl::OkStatus() : absl::DataLossError(absl::StrCat("damaged: ", *result));
}

absl::Status Configure(Connection& connection) {
  const absl::StatusOr<std::string> mode = connection.QueryText("PRAGMA journal_mode = WAL");
  if (!mode.ok()) return mode.status();
  if (*mode != "wal") return absl::FailedPreconditionError("the file system does not support a write-ahead log");
  return connection.Execute(
      "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0; PRAGMA foreign_keys = ON;"
      " PRAGMA journal_size_limit = 67108864; PRAGMA trusted_schema = OFF");
}

absl::StatusOr<Connection> OpenWriter(const SqliteOptions& options) {
  absl::StatusOr<Connection> connection =
      Connection::Open(options.path, Connection::Mode::kReadWriteCreate, options.busy_timeout);
  if (!connection.ok()) return connection.status();
  if (absl::Status status = CheckOwner(*connection); !status.ok()) return status;
  if (absl::Status status = Configure(*connection); !status.ok()) return status;
  if (absl::Status status = CheckForDamage(*connection, options); !status.ok()) return status;
  if (absl::Status status = Migrate(*connection); !status.ok()) return status;
  return connection;
}

}  // namespace

absl::StatusOr<std::shared_ptr<SharedDatabase>> SharedDatabase::Open(const SqliteOptions& options) {
  if (absl::Status status = CreatePrivate(options.path); !status.ok()) return AtPath(options.path, status);
  absl::StatusOr<FileLock> lock = FileLock::Acquire(options.path + ".lock");
  if (!lock.ok()) return AtPath(options.path, lock.status());
  absl::StatusOr<Connection> connection = OpenWriter(options);
  if (!connection.ok()) return AtPath(options.path, connection.status());
  // Reading the schema made the log, if it was not there.
  absl::StatusOr<GroupSync> log = GroupSync::Open(options.path + "-wal");
  if (!log.ok()) return AtPath(options.path, log.status());
  std::shared_ptr<SharedDatabase> database(
      new SharedDatabase(options, *std::move(lock), *std::move(connection), *std::move(log)));
  auto checkpointer = Checkpointer::Start(options.path, options.log_pages, &database->mutex_);
  if (!checkpointer.ok()) return AtPath(options.path, checkpointer.status());
  database->checkpointer_ = *std::move(checkpointer);
  return database;
}

absl::StatusOr<Transaction> SharedDatabase::Begin() {
  if (absl::Status status = log_.health(); !status.ok()) return status;
  return Transaction::Begin(connection_);
}

absl::Status SharedDatabase::Commit(Transaction& transaction) {
  absl::Status status = transaction.Commit();
  log_.Wrote();
  return status;
}

absl::Status SharedDatabase::AwaitHeld() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if (log_.IsSynced()) return log_.health();
  mutex_.Unlock();
  absl::Status status = log_.Await();
  mutex_.Lock();
  return status;
}

absl::Status SharedDatabase::Await() { return log_.Await(); }

absl::StatusOr<Statement*> SharedDatabase::Prepared(const char* sql) {
  std::unique_ptr<Statement>& statement = statements_[sql];
  if (statement == nullptr) {
    absl::StatusOr<Statement> prepared = connection_.Prepare(sql);
    if (!prepared.ok()) return prepared.status();
    statement = std::make_unique<Statement>(*std::move(prepared));
  }
  return statement.get();
}

}  // namespace samebits::storage::sqlite
