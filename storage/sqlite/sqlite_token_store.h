#ifndef SAMEBITS_STORAGE_SQLITE_SQLITE_TOKEN_STORE_H_
#define SAMEBITS_STORAGE_SQLITE_SQLITE_TOKEN_STORE_H_

#include <memory>

#include "storage/sqlite/shared_database.h"
#include "storage/token_store.h"

namespace samebits::storage {

// The tokens of a database.
std::unique_ptr<TokenStore> MakeSqliteTokenStore(std::shared_ptr<sqlite::SharedDatabase> database);

}  // namespace samebits::storage

#endif  // SAMEBITS_STORAGE_SQLITE_SQLITE_TOKEN_STORE_H_
