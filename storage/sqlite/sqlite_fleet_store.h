#ifndef SAMEBITS_STORAGE_SQLITE_SQLITE_FLEET_STORE_H_
#define SAMEBITS_STORAGE_SQLITE_SQLITE_FLEET_STORE_H_

#include <memory>

#include "storage/fleet_store.h"
#include "storage/sqlite/shared_database.h"

namespace samebits::storage {

// The workers of a database. Every change is synchronised fully but Touch.
std::unique_ptr<FleetStore> MakeSqliteFleetStore(std::shared_ptr<sqlite::SharedDatabase> database);

}  // namespace samebits::storage

#endif  // SAMEBITS_STORAGE_SQLITE_SQLITE_FLEET_STORE_H_
