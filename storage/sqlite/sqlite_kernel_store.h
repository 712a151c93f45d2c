#ifndef SAMEBITS_STORAGE_SQLITE_SQLITE_KERNEL_STORE_H_
#define SAMEBITS_STORAGE_SQLITE_SQLITE_KERNEL_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/kernel_store.h"

namespace samebits::storage {

struct SqliteOptions {
  std::string path;                             // the folder must exist; the file is made, readable by its owner only
  absl::Duration busy_timeout = absl::Seconds(10);  // waits for locks that other processes hold
  int readers = 4;                              // connections that read at the same time
  uint64_t check_file_bytes = 512ull << 20;     // files up to this size are checked for damage when opened
};

// Opens or creates the database: write-ahead log, foreign keys, full synchronisation for kernels; one process at a
// time (a lock file beside the database). Errors name the path: FAILED_PRECONDITION where it is in use, cannot be
// written, belongs to another program or to a newer version; DATA_LOSS where it is damaged or no database.
absl::StatusOr<std::unique_ptr<KernelStore>> OpenSqliteKernelStore(const SqliteOptions& options);

}  // namespace samebits::storage

#endif  // SAMEBITS_STORAGE_SQLITE_SQLITE_KERNEL_STORE_H_
