#include "storage/sqlite/database.h"

#include "absl/strings/str_cat.h"

namespace samebits::storage::sqlite {
namespace {

constexpr int kCopyAttempts = 100, kCopyPauseMillis = 100;  // while another process holds a lock

absl::StatusCode CanonicalCode(int code) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::StatusCode::kUnavailable;
    case SQLITE_FULL:
    case SQLITE_TOOBIG:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::StatusCode::kDataLoss;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kInternal;
  }
}

absl::Status StatementError(int code, sqlite3_stmt* statement) {
  return ToStatus(code, "database call failed", sqlite3_errmsg(sqlite3_db_handle(statement)));
}

}  // namespace

absl::Status ToStatus(int code, std::string_view what, const char* detail) {
  return absl::Status(CanonicalCode(code), absl::StrCat(absl::string_view(what.data(), what.size()), ": ", detail,
                                                        " (SQLite code ", code, ")"));
}

Statement& Statement::BindInt(int index, int64_t value) {
  if (const int code = sqlite3_bind_int64(statement_.get(), index, value); code != SQLITE_OK) bind_error_ = code;
  return *this;
}

Statement& Statement::BindText(int index, std::string_view value) {
  const int code = sqlite3_bind_text64(statement_.get(), index, value.empty() ? "" : value.data(), value.size(),
                                       SQLITE_STATIC, SQLITE_UTF8);
  if (code != SQLITE_OK) bind_error_ = code;
  return *this;
}

Statement& Statement::BindBlob(int index, std::string_view value) {
  const int code = sqlite3_bind_blob64(statement_.get(), index, value.empty() ? "" : value.data(), value.size(),
                                       SQLITE_STATIC);
  if (code != SQLITE_OK) bind_error_ = code;
  return *this;
}

Statement& Statement::BindNull(int index) {
  if (const int code = sqlite3_bind_null(statement_.get(), index); code != SQLITE_OK) bind_error_ = code;
  return *this;
}

absl::StatusOr<bool> Statement::Step() {
  if (bind_error_ != SQLITE_OK) return StatementError(bind_error_, statement_.get());
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return StatementError(code, statement_.get());
}

absl::Status Statement::Run() {
  absl::Status status;
  while (true) {
    const absl::StatusOr<bool> row = Step();
    if (!row.ok()) status = row.status();
    if (!row.ok() || !*row) break;
  }
  Reset();
  return status;
}

void Statement::Reset() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
  bind_error_ = SQLITE_OK;
}

int64_t Statement::Int(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::string_view Statement::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  return text == nullptr ? std::string_view()
                         : std::string_view(text, sqlite3_column_bytes(statement_.get(), column));
}

std::string_view Statement::Blob(int column) const {
  const auto* blob = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  return blob == nullptr ? std::string_view()
                         : std::string_view(blob, sqlite3_column_bytes(statement_.get(), column));
}

absl::StatusOr<Connection> Connection::Open(const std::string& path, Mode mode, absl::Duration busy_timeout) {
  const int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                    (mode == Mode::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Connection connection;
  connection.db_.reset(raw);
  if (code != SQLITE_OK)
    return ToStatus(code, absl::StrCat("cannot open database ", path), raw ? sqlite3_errmsg(raw) : "out of memory");
  sqlite3_busy_timeout(raw, static_cast<int>(absl::ToInt64Milliseconds(busy_timeout)));
  return connection;
}

absl::Status Connection::Execute(const char* sql) {
  const int code = sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : ToStatus(code, "database call failed", sqlite3_errmsg(db_.get()));
}

absl::StatusOr<Statement> Connection::Prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(db_.get(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                      &raw, nullptr);
  if (code != SQLITE_OK) return ToStatus(code, "database call failed", sqlite3_errmsg(db_.get()));
  Statement statement;
  statement.statement_.reset(raw);
  return statement;
}

absl::StatusOr<int64_t> Connection::QueryInt(std::string_view sql) {
  absl::StatusOr<Statement> statement = Prepare(sql);
  if (!statement.ok()) return statement.status();
  const absl::StatusOr<bool> row = statement->Step();
  if (!row.ok()) return row.status();
  if (!*row) return absl::NotFoundError("no row");
  return statement->Int(0);
}

absl::StatusOr<std::string> Connection::QueryText(std::string_view sql) {
  absl::StatusOr<Statement> statement = Prepare(sql);
  if (!statement.ok()) return statement.status();
  const absl::StatusOr<bool> row = statement->Step();
  if (!row.ok()) return row.status();
  if (!*row) return absl::NotFoundError("no row");
  return std::string(statement->Text(0));
}

absl::Status Connection::CopyInto(Connection& target) {
  sqlite3_backup* copy = sqlite3_backup_init(target.db_.get(), "main", db_.get(), "main");
  if (copy == nullptr)
    return ToStatus(sqlite3_errcode(target.db_.get()), "cannot copy the database", sqlite3_errmsg(target.db_.get()));
  int code = SQLITE_OK;
  for (int attempt = 0; attempt < kCopyAttempts; ++attempt) {
    code = sqlite3_backup_step(copy, /*all pages*/ -1);
    if (code != SQLITE_BUSY && code != SQLITE_LOCKED) break;
    sqlite3_sleep(kCopyPauseMillis);
  }
  sqlite3_backup_finish(copy);
  return code == SQLITE_DONE ? absl::OkStatus() : ToStatus(code, "cannot copy the database", sqlite3_errstr(code));
}

absl::StatusOr<Transaction> Transaction::Begin(Connection& connection) {
  if (absl::Status status = connection.Execute("BEGIN IMMEDIATE"); !status.ok()) return status;
  return Transaction(&connection);
}

Transaction::~Transaction() {
  if (connection_ != nullptr) connection_->Execute("ROLLBACK").IgnoreError();
}

absl::Status Transaction::Commit() {
  absl::Status status = connection_->Execute("COMMIT");
  if (status.ok()) connection_ = nullptr;
  return status;
}

}  // namespace samebits::storage::sqlite
