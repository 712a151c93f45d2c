#include "storage/sqlite/sqlite_token_store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "storage/sqlite/reader.h"
#include "storage/sqlite/times.h"

namespace samebits::storage {
namespace {

using sqlite::AsBlob;
using sqlite::Blob;
using sqlite::FromMicros;
using sqlite::SharedDatabase;
using sqlite::Statement;
using sqlite::ToMicros;
using sqlite::Transaction;

#define SAMEBITS_ENROLMENT_COLUMNS "digest, worker, creator, create_time_micros, expire_time_micros, uses_left"
constexpr char kDeleteExpired[] = "DELETE FROM enrolments WHERE expire_time_micros <= ?";
constexpr char kAddEnrolment[] =
    "INSERT INTO enrolments (" SAMEBITS_ENROLMENT_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
constexpr char kListEnrolments[] = "SELECT " SAMEBITS_ENROLMENT_COLUMNS " FROM enrolments ORDER BY digest";
constexpr char kEnrolment[] = "SELECT " SAMEBITS_ENROLMENT_COLUMNS " FROM enrolments WHERE digest = ?";
#undef SAMEBITS_ENROLMENT_COLUMNS
constexpr char kTakeUse[] = "UPDATE enrolments SET uses_left = uses_left - 1 WHERE digest = ?";
constexpr char kTokens[] = "SELECT worker, digest, create_time_micros FROM worker_tokens ORDER BY worker";
constexpr char kTokensLike[] =
    "SELECT worker, digest, create_time_micros FROM worker_tokens WHERE worker = ? OR digest = ?";
constexpr char kSetToken[] =
    "INSERT INTO worker_tokens (worker, digest, create_time_micros) VALUES (?, ?, ?)"
    " ON CONFLICT (worker) DO UPDATE SET digest = excluded.digest, create_time_micros = excluded.create_time_micros";
constexpr char kDeleteToken[] = "DELETE FROM worker_tokens WHERE worker = ?";

absl::Status ReadDigest(std::string_view bytes, Digest* digest) {
  if (bytes.size() != digest->size()) return absl::DataLossError("a stored digest has a wrong length");
  std::copy(bytes.begin(), bytes.end(), digest->begin());
  return absl::OkStatus();
}

absl::StatusOr<EnrolmentRecord> ReadEnrolment(const Statement& row) {
  EnrolmentRecord enrolment;
  if (absl::Status status = ReadDigest(row.Blob(0), &enrolment.digest); !status.ok()) return status;
  enrolment.worker = std::string(row.Text(1));
  enrolment.creator = std::string(row.Text(2));
  enrolment.create_time = FromMicros(row.Int(3));
  enrolment.expire_time = FromMicros(row.Int(4));
  enrolment.uses_left = static_cast<uint32_t>(row.Int(5));
  return enrolment;
}

absl::StatusOr<WorkerTokenRecord> ReadToken(const Statement& row) {
  WorkerTokenRecord token;
  token.worker = std::string(row.Text(0));
  if (absl::Status status = ReadDigest(row.Blob(1), &token.digest); !status.ok()) return status;
  token.create_time = FromMicros(row.Int(2));
  return token;
}

class SqliteTokenStore : public TokenStore {
 public:
  explicit SqliteTokenStore(std::shared_ptr<SharedDatabase> database)
      : database_(std::move(database)), db_(*database_) {}

  absl::Status AddEnrolment(const EnrolmentRecord& enrolment) override {
    absl::MutexLock lock(&db_.mutex());
    absl::StatusOr<Transaction> transaction = db_.Begin();
    if (!transaction.ok()) return transaction.status();
    absl::Status status = db_.Run(kDeleteExpired, ToMicros(enrolment.create_time));
    if (!status.ok()) return status;
    status = db_.Run(kAddEnrolment, Blob{AsBlob(enrolment.digest)}, enrolment.worker, enrolment.creator,
                     ToMicros(enrolment.create_time), ToMicros(enrolment.expire_time), enrolment.uses_left);
    if (!status.ok()) return status;
    return db_.changes() == 0 ? absl::AlreadyExistsError("the enrolment is there") : db_.CommitDurably(*transaction);
  }

  absl::StatusOr<std::vector<EnrolmentRecord>> ListEnrolments() override {
    absl::MutexLock lock(&db_.mutex());
    return Rows<EnrolmentRecord>(ReadEnrolment, kListEnrolments);
  }

  absl::Status Enrol(const Digest& enrolment, const WorkerTokenRecord& token) override {
    absl::MutexLock lock(&db_.mutex());
    absl::StatusOr<Transaction> transaction = db_.Begin();
    if (!transaction.ok()) return transaction.status();
    const absl::StatusOr<bool> needed = NeedsUse(enrolment, token);
    if (!needed.ok()) return needed.status();
    if (!*needed) return db_.AwaitHeld();
    if (absl::Status status = db_.Run(kTakeUse, Blob{AsBlob(enrolment)}); !status.ok()) return status;
    absl::Status status =
        db_.Run(kSetToken, token.worker, Blob{AsBlob(token.digest)}, ToMicros(token.create_time));
    return status.ok() ? db_.CommitDurably(*transaction) : status;
  }

  absl::StatusOr<std::vector<WorkerTokenRecord>> ListWorkerTokens() override {
    absl::MutexLock lock(&db_.mutex());
    return Rows<WorkerTokenRecord>(ReadToken, kTokens);
  }

  absl::Status DeleteWorkerToken(std::string_view worker) override {
    absl::MutexLock lock(&db_.mutex());
    absl::StatusOr<Transaction> transaction = db_.Begin();
    if (!transaction.ok()) return transaction.status();
    if (absl::Status status = db_.Run(kDeleteToken, worker); !status.ok()) return status;
    return db_.changes() == 0 ? absl::NotFoundError("the worker has no token") : db_.CommitDurably(*transaction);
  }

 private:
  template <typename Record, typename Read, typename... Args>
  absl::StatusOr<std::vector<Record>> Rows(Read read, const char* sql, const Args&... args)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(db_.mutex()) {
    std::vector<Record> records;
    absl::Status status = db_.Query(
        sql,
        [&](const Statement& row) {
          absl::StatusOr<Record> record = read(row);
          if (record.ok()) records.push_back(*std::move(record));
          return record.status();
        },
        args...);
    if (!status.ok()) return status;
    return records;
  }

  // Whether the enrolment has to give a use; false where the worker has this token. Errors as Enrol's.
  absl::StatusOr<bool> NeedsUse(const Digest& enrolment, const WorkerTokenRecord& token)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(db_.mutex()) {
    const auto found = Rows<EnrolmentRecord>(ReadEnrolment, kEnrolment, Blob{AsBlob(enrolment)});
    if (!found.ok()) return found.status();
    if (found->empty() || (*found)[0].expire_time <= token.create_time) return absl::NotFoundError("no such enrolment");
    const EnrolmentRecord& record = (*found)[0];
    if (!record.worker.empty() && record.worker != token.worker)
      return absl::PermissionDeniedError("the enrolment is for another worker");
    const auto known = Rows<WorkerTokenRecord>(ReadToken, kTokensLike, token.worker, Blob{AsBlob(token.digest)});
    if (!known.ok()) return known.status();
    for (const WorkerTokenRecord& other : *known) {
      if (other.worker == token.worker && other.digest == token.digest) return false;
      if (other.worker != token.worker) return absl::AlreadyExistsError("another worker has this token");
      if (record.worker.empty()) return absl::AlreadyExistsError("the worker has another token");
    }
    if (record.uses_left == 0) return absl::FailedPreconditionError("the enrolment is used up");
    return true;
  }

  const std::shared_ptr<SharedDatabase> database_;
  SharedDatabase& db_;
};

}  // namespace

std::unique_ptr<TokenStore> MakeSqliteTokenStore(std::shared_ptr<SharedDatabase> database) {
  return std::make_unique<SqliteTokenStore>(std::move(database));
}

}  // namespace samebits::storage
