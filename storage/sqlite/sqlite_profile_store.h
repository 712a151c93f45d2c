#ifndef SAMEBITS_STORAGE_SQLITE_SQLITE_PROFILE_STORE_H_
#define SAMEBITS_STORAGE_SQLITE_SQLITE_PROFILE_STORE_H_

#include <memory>

#include "storage/profile_store.h"
#include "storage/sqlite/shared_database.h"

namespace samebits::storage {

// The arch profiles of a database.
std::unique_ptr<ProfileStore> MakeSqliteProfileStore(std::shared_ptr<sqlite::SharedDatabase> database);

}  // namespace samebits::storage

#endif  // SAMEBITS_STORAGE_SQLITE_SQLITE_PROFILE_STORE_H_
