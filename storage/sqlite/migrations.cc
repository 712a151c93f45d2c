#include "storage/sqlite/migrations.h"

#include <cstdint>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace samebits::storage::sqlite {
namespace {

constexpr int64_t kApplicationId = 0x53424954;  // "SBIT"

// Entry i brings version i to i + 1. Released entries never change.
constexpr const char* kMigrations[] = {
    R"sql(
    CREATE TABLE kernels (
      digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
      create_time_micros INTEGER NOT NULL,
      size_bytes INTEGER NOT NULL,
      description BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE kernel_texts (
      kernel BLOB NOT NULL PRIMARY KEY REFERENCES kernels (digest) ON DELETE CASCADE,
      text BLOB NOT NULL
    ) STRICT;

    CREATE TABLE signatures (
      kernel BLOB NOT NULL REFERENCES kernels (digest) ON DELETE CASCADE,
      launch BLOB NOT NULL CHECK (length(launch) = 32),
      version INTEGER NOT NULL,
      digest TEXT,
      body BLOB NOT NULL,
      PRIMARY KEY (kernel, launch, version)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX signatures_by_digest ON signatures (digest) WHERE digest IS NOT NULL;
    CREATE INDEX signatures_by_version ON signatures (version);

    CREATE TABLE totals (
      id INTEGER NOT NULL PRIMARY KEY CHECK (id = 0),
      kernels INTEGER NOT NULL,
      text_bytes INTEGER NOT NULL,
      signatures INTEGER NOT NULL
    ) STRICT;
    INSERT INTO totals VALUES (0, 0, 0, 0);
    CREATE TRIGGER kernel_added AFTER INSERT ON kernels BEGIN
      UPDATE totals SET kernels = kernels + 1, text_bytes = text_bytes + NEW.size_bytes;
    END;
    CREATE TRIGGER kernel_deleted AFTER DELETE ON kernels BEGIN
      UPDATE totals SET kernels = kernels - 1, text_bytes = text_bytes - OLD.size_bytes;
    END;
    CREATE TRIGGER signature_added AFTER INSERT ON signatures BEGIN
      UPDATE totals SET signatures = signatures + 1;
    END;
    CREATE TRIGGER signature_deleted AFTER DELETE ON signatures BEGIN
      UPDATE totals SET signatures = signatures - 1;
    END;
    )sql",
    R"sql(
    CREATE TABLE jobs (
      sequence INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      kind TEXT NOT NULL,
      principal TEXT NOT NULL,
      request_id TEXT,
      request_digest BLOB NOT NULL CHECK (length(request_digest) = 32),
      priority INTEGER NOT NULL,
      create_time_micros INTEGER NOT NULL,
      deadline_micros INTEGER NOT NULL,
      state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 3),
      start_time_micros INTEGER NOT NULL,
      end_time_micros INTEGER NOT NULL,
      open_tasks INTEGER NOT NULL CHECK (open_tasks >= 0),
      error_code INTEGER NOT NULL DEFAULT 0,
      error TEXT NOT NULL DEFAULT ''
    ) STRICT;
    CREATE UNIQUE INDEX jobs_by_request ON jobs (principal, request_id) WHERE request_id IS NOT NULL;
    CREATE INDEX jobs_open ON jobs (principal) WHERE state = 0;
    CREATE INDEX jobs_finishable ON jobs (sequence) WHERE state = 0 AND open_tasks = 0;
    CREATE INDEX jobs_by_deadline ON jobs (deadline_micros) WHERE state = 0;
    CREATE INDEX jobs_by_end ON jobs (end_time_micros) WHERE state <> 0;

    CREATE TABLE job_bodies (
      job INTEGER NOT NULL PRIMARY KEY REFERENCES jobs (sequence) ON DELETE CASCADE,
      spec BLOB NOT NULL,
      result BLOB NOT NULL
    ) STRICT;

    CREATE TABLE tasks (
      job INTEGER NOT NULL REFERENCES jobs (sequence) ON DELETE CASCADE,
      task INTEGER NOT NULL,
      target TEXT NOT NULL,
      priority INTEGER NOT NULL,
      max_attempts INTEGER NOT NULL,
      state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 4),
      attempt INTEGER NOT NULL DEFAULT 0,
      token INTEGER NOT NULL DEFAULT 0,
      worker TEXT NOT NULL DEFAULT '',
      lease_deadline_micros INTEGER NOT NULL,
      not_before_micros INTEGER NOT NULL,
      error_code INTEGER NOT NULL DEFAULT 0,
      error TEXT NOT NULL DEFAULT '',
      result BLOB NOT NULL DEFAULT x'',
      PRIMARY KEY (job, task)
    ) STRICT;
    CREATE INDEX tasks_queued ON tasks (target, priority DESC, job, task) WHERE state = 0;
    CREATE INDEX tasks_leased ON tasks (lease_deadline_micros) WHERE state = 1;

    CREATE TABLE task_attempts (
      sequence INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
      job INTEGER NOT NULL REFERENCES jobs (sequence) ON DELETE CASCADE,
      task INTEGER NOT NULL,
      attempt INTEGER NOT NULL,
      worker TEXT NOT NULL,
      end_time_micros INTEGER NOT NULL,
      error_code INTEGER NOT NULL,
      error TEXT NOT NULL
    ) STRICT;
    CREATE INDEX task_attempts_by_job ON task_attempts (job);

    CREATE TABLE reproducers (
      sequence INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      job TEXT NOT NULL,
      create_time_micros INTEGER NOT NULL,
      body BLOB NOT NULL
    ) STRICT;

    CREATE TABLE workers (
      id TEXT NOT NULL PRIMARY KEY,
      create_time_micros INTEGER NOT NULL,
      last_seen_micros INTEGER NOT NULL,
      session INTEGER NOT NULL,
      draining INTEGER NOT NULL DEFAULT 0 CHECK (draining IN (0, 1)),
      description BLOB NOT NULL
    ) STRICT;

    CREATE TABLE counters (
      name TEXT NOT NULL PRIMARY KEY,
      value INTEGER NOT NULL
    ) STRICT;
    INSERT INTO counters VALUES ('lease_token', 0), ('session', 0), ('finished_jobs', 0);
    CREATE TRIGGER job_finished AFTER UPDATE OF state ON jobs WHEN OLD.state = 0 AND NEW.state <> 0 BEGIN
      UPDATE counters SET value = value + 1 WHERE name = 'finished_jobs';
    END;
    CREATE TRIGGER finished_job_deleted AFTER DELETE ON jobs WHEN OLD.state <> 0 BEGIN
      UPDATE counters SET value = value - 1 WHERE name = 'finished_jobs';
    END;
    )sql",
    R"sql(
    CREATE TABLE enrolments (
      digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
      worker TEXT NOT NULL,
      creator TEXT NOT NULL,
      create_time_micros INTEGER NOT NULL,
      expire_time_micros INTEGER NOT NULL,
      uses_left INTEGER NOT NULL CHECK (uses_left >= 0)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE worker_tokens (
      worker TEXT NOT NULL PRIMARY KEY,
      digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
      create_time_micros INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    )sql",
    R"sql(
    CREATE TABLE arch_profiles (
      digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
      create_time_micros INTEGER NOT NULL,
      description BLOB NOT NULL,
      text BLOB NOT NULL
    ) STRICT;
    )sql",
    R"sql(
    CREATE TABLE task_units (
      job INTEGER NOT NULL,
      task INTEGER NOT NULL,
      unit INTEGER NOT NULL CHECK (unit >= 0),
      body BLOB NOT NULL,
      PRIMARY KEY (job, task, unit),
      FOREIGN KEY (job, task) REFERENCES tasks (job, task) ON DELETE CASCADE
    ) STRICT;
    )sql",
};

absl::Status ReadOwner(Connection& connection, bool* fresh) {
  const absl::StatusOr<int64_t> owner = connection.QueryInt("PRAGMA application_id");
  if (!owner.ok()) return owner.status();
  const absl::StatusOr<int64_t> objects = connection.QueryInt("SELECT count(*) FROM sqlite_schema");
  if (!objects.ok()) return objects.status();
  *fresh = *objects == 0 && *owner == 0;
  if (*fresh || *owner == kApplicationId) return absl::OkStatus();
  return absl::FailedPreconditionError("the file is a database of another program; give another path");
}

absl::StatusOr<int64_t> SchemaVersion(Connection& connection) {
  return connection.QueryInt("SELECT coalesce(max(version), 0) FROM schema_migrations");
}

absl::Status Initialise(Connection& connection) {
  absl::StatusOr<Transaction> transaction = Transaction::Begin(connection);
  if (!transaction.ok()) return transaction.status();
  absl::Status status = connection.Execute(absl::StrCat("PRAGMA application_id = ", kApplicationId).c_str());
  if (!status.ok()) return status;
  status = connection.Execute(
      "CREATE TABLE schema_migrations (version INTEGER NOT NULL PRIMARY KEY, applied_time_micros INTEGER NOT NULL)"
      " STRICT");
  if (!status.ok()) return status;
  return transaction->Commit();
}

absl::Status Apply(Connection& connection, int64_t from) {
  absl::StatusOr<Transaction> transaction = Transaction::Begin(connection);
  if (!transaction.ok()) return transaction.status();
  if (absl::Status status = connection.Execute(kMigrations[from]); !status.ok()) return status;
  const std::string record = absl::StrCat("INSERT INTO schema_migrations VALUES (", from + 1, ", ",
                                          absl::ToUnixMicros(absl::Now()), ")");
  if (absl::Status status = connection.Execute(record.c_str()); !status.ok()) return status;
  return transaction->Commit();
}

}  // namespace

int LatestSchemaVersion() { return static_cast<int>(std::size(kMigrations)); }

absl::Status CheckOwner(Connection& connection) {
  bool fresh = false;
  return ReadOwner(connection, &fresh);
}

absl::StatusOr<int> ReadSchemaVersion(Connection& connection) {
  bool fresh = false;
  if (absl::Status status = ReadOwner(connection, &fresh); !status.ok()) return status;
  if (fresh) return 0;
  const absl::StatusOr<int64_t> version = SchemaVersion(connection);
  if (!version.ok()) return version.status();
  return static_cast<int>(*version);
}

absl::Status Migrate(Connection& connection) { return MigrateTo(connection, LatestSchemaVersion()); }

absl::Status MigrateTo(Connection& connection, int version) {
  bool fresh = false;
  if (absl::Status status = ReadOwner(connection, &fresh); !status.ok()) return status;
  if (fresh) {
    if (absl::Status status = Initialise(connection); !status.ok()) return status;
  }
  absl::StatusOr<int64_t> current = SchemaVersion(connection);
  if (!current.ok()) return current.status();
  if (*current > LatestSchemaVersion())
    return absl::FailedPreconditionError(
        absl::StrCat("the database has schema version ", *current, ", this program knows up to ",
                     LatestSchemaVersion(), "; run the newer program"));
  for (int64_t from = *current; from < version; ++from) {
    if (absl::Status status = Apply(connection, from); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace samebits::storage::sqlite
