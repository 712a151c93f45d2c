#ifndef SAMEBITS_STORAGE_SQLITE_BACKUP_H_
#define SAMEBITS_STORAGE_SQLITE_BACKUP_H_

// Whole copies of a database's file. Durable when they return OK; on failure nothing is left in place of the target.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace samebits::storage::sqlite {

// Copies the database `path`, beside a server that may use it, to the new file `copy`, readable by its owner only and
// complete without other files. ALREADY_EXISTS where `copy` is there, NOT_FOUND where `path` is not; else as
// SharedDatabase::Open.
absl::Status CopyDatabase(const std::string& path, const std::string& copy);

// Puts a copy of `backup` in place of the database `path`. Lease tokens and sessions go on far above the backup's, so
// that no worker's lease from after the backup is taken for a current one. FAILED_PRECONDITION where a server uses
// `path`; ALREADY_EXISTS where it is there and not `replace`. What was there is kept beside it: returns its path,
// empty where there was nothing.
absl::StatusOr<std::string> RestoreDatabase(const std::string& backup, const std::string& path, bool replace);

}  // namespace samebits::storage::sqlite

#endif  // SAMEBITS_STORAGE_SQLITE_BACKUP_H_
