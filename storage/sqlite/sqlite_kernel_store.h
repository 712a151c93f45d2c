#ifndef SAMEBITS_STORAGE_SQLITE_SQLITE_KERNEL_STORE_H_
#define SAMEBITS_STORAGE_SQLITE_SQLITE_KERNEL_STORE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "storage/kernel_store.h"
#include "storage/sqlite/shared_database.h"

namespace samebits::storage {

// The kernels of a database: full synchronisation for kernels, less for signatures.
absl::StatusOr<std::unique_ptr<KernelStore>> MakeSqliteKernelStore(std::shared_ptr<sqlite::SharedDatabase> database);

// The same of a database that is opened for it alone. Errors as SharedDatabase::Open.
absl::StatusOr<std::unique_ptr<KernelStore>> OpenSqliteKernelStore(const SqliteOptions& options);

}  // namespace samebits::storage

#endif  // SAMEBITS_STORAGE_SQLITE_SQLITE_KERNEL_STORE_H_
