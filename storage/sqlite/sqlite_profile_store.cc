#include "storage/sqlite/sqlite_profile_store.h"

#include <algorithm>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "storage/sqlite/times.h"

namespace samebits::storage {
namespace {

using sqlite::Blob;
using sqlite::FromMicros;
using sqlite::SharedDatabase;
using sqlite::Statement;
using sqlite::ToMicros;
using sqlite::Transaction;

constexpr char kPut[] = "INSERT INTO arch_profiles VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";
constexpr char kGet[] = "SELECT digest, create_time_micros, description FROM arch_profiles WHERE digest = ?";
constexpr char kGetText[] = "SELECT text FROM arch_profiles WHERE digest = ?";
constexpr char kList[] = "SELECT digest, create_time_micros, description FROM arch_profiles ORDER BY digest";
constexpr char kDelete[] = "DELETE FROM arch_profiles WHERE digest = ?";

absl::Status NotFound() { return absl::NotFoundError("no such arch profile"); }

Blob BlobOf(const Digest& digest) { return {{reinterpret_cast<const char*>(digest.data()), digest.size()}}; }

ProfileRecord ReadProfile(const Statement& row) {
  ProfileRecord profile;
  const std::string_view digest = row.Blob(0);
  std::copy_n(digest.begin(), std::min(digest.size(), profile.digest.size()), profile.digest.begin());
  profile.create_time = FromMicros(row.Int(1));
  profile.description = std::string(row.Blob(2));
  return profile;
}

class SqliteProfileStore : public ProfileStore {
 public:
  explicit SqliteProfileStore(std::shared_ptr<SharedDatabase> database)
      : database_(std::move(database)), db_(*database_) {}

  absl::StatusOr<ProfileRecord> PutProfile(const ProfileRecord& profile, std::string_view text) override {
    absl::MutexLock lock(&db_.mutex());
    absl::StatusOr<Transaction> transaction = db_.Begin();
    if (!transaction.ok()) return transaction.status();
    absl::Status status =
        db_.Run(kPut, BlobOf(profile.digest), ToMicros(profile.create_time), Blob{profile.description}, Blob{text});
    if (!status.ok()) return status;
    absl::StatusOr<ProfileRecord> stored = Get(profile.digest);
    if (!stored.ok()) return stored;
    if (status = db_.CommitDurably(*transaction); !status.ok()) return status;
    return stored;
  }

  absl::StatusOr<ProfileRecord> GetProfile(const Digest& digest) override {
    absl::MutexLock lock(&db_.mutex());
    return Get(digest);
  }

  absl::StatusOr<std::string> GetProfileText(const Digest& digest) override {
    absl::MutexLock lock(&db_.mutex());
    absl::StatusOr<std::string> text = NotFound();
    const auto read = [&](const Statement& row) {
      text = std::string(row.Blob(0));
      return absl::OkStatus();
    };
    if (absl::Status status = db_.Query(kGetText, read, BlobOf(digest)); !status.ok()) return status;
    return text;
  }

  absl::StatusOr<std::vector<ProfileRecord>> ListProfiles() override {
    absl::MutexLock lock(&db_.mutex());
    std::vector<ProfileRecord> profiles;
    const auto read = [&](const Statement& row) {
      profiles.push_back(ReadProfile(row));
      return absl::OkStatus();
    };
    if (absl::Status status = db_.Query(kList, read); !status.ok()) return status;
    return profiles;
  }

  absl::Status DeleteProfile(const Digest& digest) override {
    absl::MutexLock lock(&db_.mutex());
    absl::StatusOr<Transaction> transaction = db_.Begin();
    if (!transaction.ok()) return transaction.status();
    if (absl::Status status = db_.Run(kDelete, BlobOf(digest)); !status.ok()) return status;
    if (db_.changes() == 0) return NotFound();
    return db_.CommitDurably(*transaction);
  }

 private:
  absl::StatusOr<ProfileRecord> Get(const Digest& digest) ABSL_EXCLUSIVE_LOCKS_REQUIRED(db_.mutex()) {
    absl::StatusOr<ProfileRecord> profile = NotFound();
    const auto read = [&](const Statement& row) {
      profile = ReadProfile(row);
      return absl::OkStatus();
    };
    if (absl::Status status = db_.Query(kGet, read, BlobOf(digest)); !status.ok()) return status;
    return profile;
  }

  const std::shared_ptr<SharedDatabase> database_;
  SharedDatabase& db_;
};

}  // namespace

std::unique_ptr<ProfileStore> MakeSqliteProfileStore(std::shared_ptr<SharedDatabase> database) {
  return std::make_unique<SqliteProfileStore>(std::move(database));
}

}  // namespace samebits::storage
