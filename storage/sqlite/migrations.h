#ifndef SAMEBITS_STORAGE_SQLITE_MIGRATIONS_H_
#define SAMEBITS_STORAGE_SQLITE_MIGRATIONS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/sqlite/database.h"

namespace samebits::storage::sqlite {

// Version of the schema that this program writes.
int LatestSchemaVersion();

// OK for an empty database and for one that this program or a newer version of it made; FAILED_PRECONDITION for one of
// another program, DATA_LOSS for a file that is no database. Writes nothing.
absl::Status CheckOwner(Connection& connection);

// Version of the schema of a database of this program; 0: an empty one. Errors as CheckOwner.
absl::StatusOr<int> ReadSchemaVersion(Connection& connection);

// Brings an empty database or one of an older version to the latest, one transaction a version. Errors as
// CheckOwner; FAILED_PRECONDITION where a newer version made it: then nothing is written.
absl::Status Migrate(Connection& connection);

// The same up to `version`, which the database does not exceed and this program knows.
absl::Status MigrateTo(Connection& connection, int version);

}  // namespace samebits::storage::sqlite

#endif  // SAMEBITS_STORAGE_SQLITE_MIGRATIONS_H_
