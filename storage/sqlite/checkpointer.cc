#include "storage/sqlite/checkpointer.h"

#include <utility>

#include "absl/time/time.h"

namespace samebits::storage::sqlite {
namespace {

constexpr absl::Duration kPeriod = absl::Milliseconds(500);

}  // namespace

absl::StatusOr<std::unique_ptr<Checkpointer>> Checkpointer::Start(const std::string& path, int64_t log_pages,
                                                                    absl::Mutex* writers) {
  absl::StatusOr<Connection> connection =
      Connection::Open(path, Connection::Mode::kReadWriteCreate, /*busy_timeout=*/absl::ZeroDuration());
  if (!connection.ok()) return connection.status();
  if (absl::Status status = connection->Execute("PRAGMA synchronous = NORMAL"); !status.ok()) return status;
  return std::unique_ptr<Checkpointer>(new Checkpointer(*std::move(connection), log_pages, writers));
}

Checkpointer::Checkpointer(Connection connection, int64_t log_pages, absl::Mutex* writers)
    : connection_(std::move(connection)), log_pages_(log_pages), writers_(writers), thread_([this] { Run(); }) {}

Checkpointer::~Checkpointer() {
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
  }
  thread_.join();
}

int64_t Checkpointer::Checkpoint() {
  absl::StatusOr<Statement> statement = connection_.Prepare("PRAGMA wal_checkpoint(PASSIVE)");
  if (!statement.ok()) return 0;
  const absl::StatusOr<bool> row = statement->Step();  // an error leaves the log as it is: the next time
  return row.ok() && *row ? statement->Int(1) : 0;
}

void Checkpointer::Run() {
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithTimeout(absl::Condition(&stopped_), kPeriod)) return;
    }
    if (Checkpoint() < log_pages_) continue;
    // What is left is short. The next writer begins the log anew.
    absl::MutexLock lock(writers_);
    Checkpoint();
  }
}

}  // namespace samebits::storage::sqlite
