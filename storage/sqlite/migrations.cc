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

absl::Status Migrate(Connection& connection) {
  bool fresh = false;
  if (absl::Status status = ReadOwner(connection, &fresh); !status.ok()) return status;
  if (fresh) {
    if (absl::Status status = Initialise(connection); !status.ok()) return status;
  }
  absl::StatusOr<int64_t> version = SchemaVersion(connection);
  if (!version.ok()) return version.status();
  if (*version > LatestSchemaVersion())
    return absl::FailedPreconditionError(
        absl::StrCat("the database has schema version ", *version, ", this program knows up to ",
                     LatestSchemaVersion(), "; run the newer program"));
  for (int64_t from = *version; from < LatestSchemaVersion(); ++from) {
    if (absl::Status status = Apply(connection, from); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace samebits::storage::sqlite
