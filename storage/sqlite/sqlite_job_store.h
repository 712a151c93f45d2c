#ifndef SAMEBITS_STORAGE_SQLITE_SQLITE_JOB_STORE_H_
#define SAMEBITS_STORAGE_SQLITE_SQLITE_JOB_STORE_H_

#include <memory>

#include "storage/job_store.h"
#include "storage/sqlite/shared_database.h"

namespace samebits::storage {

// The jobs of a database. Every change is synchronised fully but the renewal of leases.
std::unique_ptr<JobStore> MakeSqliteJobStore(std::shared_ptr<sqlite::SharedDatabase> database);

}  // namespace samebits::storage

#endif  // SAMEBITS_STORAGE_SQLITE_SQLITE_JOB_STORE_H_
