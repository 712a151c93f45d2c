#ifndef SAMEBITS_STORAGE_SQLITE_DATABASE_H_
#define SAMEBITS_STORAGE_SQLITE_DATABASE_H_

// Owners of SQLite's connection and statement, and the mapping of its errors. One thread at a time per connection.

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace samebits::storage::sqlite {

// Canonical status of an SQLite result code: BUSY and LOCKED are UNAVAILABLE, FULL is RESOURCE_EXHAUSTED, CORRUPT
// and NOTADB are DATA_LOSS, READONLY, PERM and CANTOPEN are FAILED_PRECONDITION, others INTERNAL.
absl::Status ToStatus(int code, std::string_view what, const char* detail);

// A prepared statement, reusable: bind, step, reset.
class Statement {
 public:
  Statement() = default;
  bool valid() const { return statement_ != nullptr; }

  // Parameters count from 1. Texts and blobs are copied by reference: they must live until Reset.
  Statement& BindInt(int index, int64_t value);
  Statement& BindText(int index, std::string_view value);
  Statement& BindBlob(int index, std::string_view value);
  Statement& BindNull(int index);

  // True with a row, false at the end.
  absl::StatusOr<bool> Step();
  // Steps to the end of a statement that returns no rows, and resets it.
  absl::Status Run();
  void Reset();

  // Columns count from 0. Views live until the next Step or Reset.
  int64_t Int(int column) const;
  std::string_view Text(int column) const;
  std::string_view Blob(int column) const;

 private:
  friend class Connection;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bind_error_ = SQLITE_OK;
};

// Resets a statement at the end of a scope, so that it holds no lock and no pointer to bound bytes.
class StatementScope {
 public:
  explicit StatementScope(Statement& statement) : statement_(statement) {}
  ~StatementScope() { statement_.Reset(); }
  StatementScope(const StatementScope&) = delete;
  StatementScope& operator=(const StatementScope&) = delete;
  Statement* operator->() { return &statement_; }

 private:
  Statement& statement_;
};

class Connection {
 public:
  enum class Mode { kReadWriteCreate, kReadOnly };
  Connection() = default;

  // Waits up to `busy_timeout` for locks of other processes.
  static absl::StatusOr<Connection> Open(const std::string& path, Mode mode, absl::Duration busy_timeout);

  absl::Status Execute(const char* sql);
  absl::StatusOr<Statement> Prepare(std::string_view sql);
  // First column of the first row; NOT_FOUND without a row.
  absl::StatusOr<int64_t> QueryInt(std::string_view sql);
  absl::StatusOr<std::string> QueryText(std::string_view sql);
  int64_t changes() const { return sqlite3_changes64(db_.get()); }
  // Replaces what `target` holds by a consistent copy of this database, which others may go on writing.
  absl::Status CopyInto(Connection& target);

 private:
  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
  };
  std::unique_ptr<sqlite3, Close> db_;
};

// BEGIN IMMEDIATE; rolls back at the end of the scope unless committed.
class Transaction {
 public:
  static absl::StatusOr<Transaction> Begin(Connection& connection);
  ~Transaction();
  Transaction(Transaction&& other) noexcept : connection_(other.connection_) { other.connection_ = nullptr; }
  Transaction& operator=(Transaction&&) = delete;
  absl::Status Commit();

 private:
  explicit Transaction(Connection* connection) : connection_(connection) {}
  Connection* connection_;
};

}  // namespace samebits::storage::sqlite

#endif  // SAMEBITS_STORAGE_SQLITE_DATABASE_H_
