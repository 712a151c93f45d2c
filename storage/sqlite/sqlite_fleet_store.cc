#include "storage/sqlite/sqlite_fleet_store.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "storage/sqlite/times.h"

namespace samebits::storage {
namespace {

using sqlite::Blob;
using sqlite::FromMicros;
using sqlite::SharedDatabase;
using sqlite::Statement;
using sqlite::ToMicros;
using sqlite::Transaction;

constexpr char kNextSession[] = "UPDATE counters SET value = value + 1 WHERE name = 'session'";
constexpr char kOpenSession[] =
    "INSERT INTO workers (id, create_time_micros, last_seen_micros, session, description)"
    " SELECT ?1, ?2, ?2, value, ?3 FROM counters WHERE name = 'session'"
    " ON CONFLICT (id) DO UPDATE SET last_seen_micros = excluded.last_seen_micros, session = excluded.session,"
    " description = excluded.description";
constexpr char kTouch[] = "UPDATE workers SET last_seen_micros = ? WHERE id = ? AND session = ?";
constexpr char kSetDraining[] = "UPDATE workers SET draining = ? WHERE id = ?";
constexpr char kGetWorker[] =
    "SELECT id, create_time_micros, last_seen_micros, session, draining, description FROM workers WHERE id = ?";
constexpr char kListWorkers[] =
    "SELECT id, create_time_micros, last_seen_micros, session, draining, description FROM workers ORDER BY id";
constexpr char kDeleteWorker[] = "DELETE FROM workers WHERE id = ?";

constexpr absl::Duration kStoreEvery = absl::Seconds(5);

absl::Status NotFound() { return absl::NotFoundError("no such worker"); }

WorkerRecord ReadWorker(const Statement& row) {
  return {std::string(row.Text(0)), FromMicros(row.Int(1)), FromMicros(row.Int(2)),
          row.Int(3),               row.Int(4) != 0,        std::string(row.Blob(5))};
}

class SqliteFleetStore : public FleetStore {
 public:
  explicit SqliteFleetStore(std::shared_ptr<SharedDatabase> database)
      : database_(std::move(database)), db_(*database_) {}

  absl::StatusOr<WorkerRecord> OpenSession(std::string_view id, std::string_view description, absl::Time now) override {
    absl::MutexLock lock(&db_.mutex());
    absl::StatusOr<Transaction> transaction = db_.Begin();
    if (!transaction.ok()) return transaction.status();
    if (absl::Status status = db_.Run(kNextSession); !status.ok()) return status;
    absl::Status status = db_.Run(kOpenSession, id, ToMicros(now), Blob{description});
    if (!status.ok()) return status;
    heard_.erase(Key(id));
    absl::StatusOr<WorkerRecord> worker = Get(id);
    if (!worker.ok()) return worker;
    if (status = db_.CommitDurably(*transaction); !status.ok()) return status;
    return worker;
  }

  absl::Status Touch(std::string_view id, int64_t session, absl::Time now) override {
    absl::MutexLock lock(&db_.mutex());
    const auto known = heard_.find(Key(id));
    if (known != heard_.end() && known->second.session == session && now - known->second.stored < kStoreEvery) {
      known->second.last_seen = absl::FromUnixMicros(ToMicros(now));
      return absl::OkStatus();
    }
    absl::StatusOr<Transaction> transaction = db_.Begin();
    if (!transaction.ok()) return transaction.status();
    if (absl::Status status = db_.Run(kTouch, ToMicros(now), id, session); !status.ok()) return status;
    if (db_.changes() != 0) {
      heard_[Key(id)] = {session, absl::FromUnixMicros(ToMicros(now)), now};
      return transaction->Commit();
    }
    const absl::StatusOr<WorkerRecord> worker = Get(id);
    return worker.ok() ? absl::AbortedError("the worker has opened another session") : worker.status();
  }

  absl::StatusOr<WorkerRecord> SetDraining(std::string_view id, bool draining) override {
    absl::MutexLock lock(&db_.mutex());
    absl::StatusOr<Transaction> transaction = db_.Begin();
    if (!transaction.ok()) return transaction.status();
    if (absl::Status status = db_.Run(kSetDraining, draining, id); !status.ok()) return status;
    absl::StatusOr<WorkerRecord> worker = Get(id);
    if (!worker.ok()) return worker;
    if (absl::Status status = db_.CommitDurably(*transaction); !status.ok()) return status;
    return worker;
  }

  absl::StatusOr<WorkerRecord> GetWorker(std::string_view id) override {
    absl::MutexLock lock(&db_.mutex());
    return Get(id);
  }

  absl::StatusOr<std::vector<WorkerRecord>> ListWorkers() override {
    absl::MutexLock lock(&db_.mutex());
    std::vector<WorkerRecord> workers;
    absl::Status status = db_.Query(kListWorkers, [&](const Statement& row) {
      workers.push_back(WithLastSeen(ReadWorker(row)));
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return workers;
  }

  absl::Status DeleteWorker(std::string_view id) override {
    absl::MutexLock lock(&db_.mutex());
    absl::StatusOr<Transaction> transaction = db_.Begin();
    if (!transaction.ok()) return transaction.status();
    if (absl::Status status = db_.Run(kDeleteWorker, id); !status.ok()) return status;
    heard_.erase(Key(id));
    return db_.changes() == 0 ? NotFound() : db_.CommitDurably(*transaction);
  }

 private:
  // Of a worker whose session is valid: when it was last heard of is written only now and then.
  struct Heard {
    int64_t session = 0;
    absl::Time last_seen, stored;
  };
  static absl::string_view Key(std::string_view id) { return {id.data(), id.size()}; }
  WorkerRecord WithLastSeen(WorkerRecord worker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(db_.mutex()) {
    const auto heard = heard_.find(worker.id);
    if (heard != heard_.end() && heard->second.session == worker.session) worker.last_seen = heard->second.last_seen;
    return worker;
  }
  absl::StatusOr<WorkerRecord> Get(std::string_view id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(db_.mutex()) {
    absl::StatusOr<WorkerRecord> found = NotFound();
    absl::Status status = db_.Query(
        kGetWorker,
        [&](const Statement& row) {
          found = WithLastSeen(ReadWorker(row));
          return absl::OkStatus();
        },
        id);
    return status.ok() ? found : status;
  }

  const std::shared_ptr<SharedDatabase> database_;
  SharedDatabase& db_;
  absl::flat_hash_map<std::string, Heard> heard_ ABSL_GUARDED_BY(db_.mutex());
};

}  // namespace

std::unique_ptr<FleetStore> MakeSqliteFleetStore(std::shared_ptr<SharedDatabase> database) {
  return std::make_unique<SqliteFleetStore>(std::move(database));
}

}  // namespace samebits::storage
