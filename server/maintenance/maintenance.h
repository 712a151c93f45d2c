#ifndef SAMEBITS_SERVER_MAINTENANCE_MAINTENANCE_H_
#define SAMEBITS_SERVER_MAINTENANCE_MAINTENANCE_H_

// What an operator does with a database from outside of the server: check, back up, restore.

#include <string>

#include "absl/status/statusor.h"
#include "storage/sqlite/check.h"

namespace samebits::server {

// storage::sqlite::CheckDatabase with all that the server knows of the stored bytes: texts are hashed, messages parsed.
absl::StatusOr<storage::sqlite::CheckReport> CheckDatabase(const std::string& path);

// Copies the database to the new file `copy` and checks the copy; a copy with findings is kept, for the caller to judge.
absl::StatusOr<storage::sqlite::CheckReport> BackUp(const std::string& path, const std::string& copy);

struct Restored {
  storage::sqlite::CheckReport report;  // of the backup
  std::string aside;                    // where the former database is; empty: there was none
};
// Checks `backup`, and puts it in place of the database unless the check has findings: DATA_LOSS then, with the first
// one. Other errors as storage::sqlite::RestoreDatabase.
absl::StatusOr<Restored> Restore(const std::string& backup, const std::string& path, bool replace);

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_MAINTENANCE_MAINTENANCE_H_
