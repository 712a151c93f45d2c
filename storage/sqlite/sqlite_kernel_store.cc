#include "storage/sqlite/sqlite_kernel_store.h"

#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "storage/sqlite/reader.h"

namespace samebits::storage {
namespace {

using sqlite::AsBlob;
using sqlite::Blob;
using sqlite::Reader;
using sqlite::ReaderPool;
using sqlite::SharedDatabase;
using sqlite::Transaction;

constexpr char kPutKernel[] = "INSERT INTO kernels VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";
constexpr char kPutText[] = "INSERT INTO kernel_texts VALUES (?, ?)";
constexpr char kDeleteKernel[] = "DELETE FROM kernels WHERE digest = ?";
constexpr char kPutSignature[] =
    "INSERT INTO signatures SELECT ?1, ?2, ?3, nullif(?4, ''), ?5"
    " WHERE EXISTS (SELECT 1 FROM kernels WHERE digest = ?1)"
    " ON CONFLICT DO UPDATE SET digest = excluded.digest, body = excluded.body";
constexpr char kPruneSignatures[] = "DELETE FROM signatures WHERE version < ?";

class SqliteKernelStore : public KernelStore {
 public:
  SqliteKernelStore(std::shared_ptr<SharedDatabase> database, std::vector<std::unique_ptr<Reader>> readers)
      : database_(std::move(database)), db_(*database_), readers_(std::move(readers)) {}

  absl::StatusOr<PutResult> PutKernel(const KernelRecord& kernel, std::string_view text) override;
  absl::StatusOr<KernelRecord> GetKernel(const Digest& digest) override {
    return readers_.With([&](Reader& reader) { return reader.GetKernel(digest); });
  }
  absl::StatusOr<std::string> GetText(const Digest& digest) override {
    return readers_.With([&](Reader& reader) { return reader.GetText(digest); });
  }
  absl::StatusOr<KernelPage> ListKernels(const std::optional<Digest>& after, int limit) override {
    return readers_.With([&](Reader& reader) { return reader.ListKernels(after, limit); });
  }
  absl::Status DeleteKernel(const Digest& digest) override;
  absl::Status PutSignatures(absl::Span<const SignatureRecord> signatures) override;
  absl::StatusOr<std::optional<SignatureRecord>> GetSignature(const SignatureKey& key) override {
    return readers_.With([&](Reader& reader) { return reader.GetSignature(key); });
  }
  absl::Status PruneSignatures(int version) override;
  absl::StatusOr<StoreSizes> Sizes() override {
    return readers_.With([](Reader& reader) { return reader.Sizes(); });
  }

 private:
  absl::StatusOr<bool> Insert(const KernelRecord& kernel, std::string_view text);

  const std::shared_ptr<SharedDatabase> database_;
  SharedDatabase& db_;
  ReaderPool readers_;
};

// True if the kernel was new.
absl::StatusOr<bool> SqliteKernelStore::Insert(const KernelRecord& kernel, std::string_view text) {
  absl::MutexLock lock(&db_.mutex());
  absl::StatusOr<Transaction> transaction = db_.Begin();
  if (!transaction.ok()) return transaction.status();
  absl::Status status = db_.Run(kPutKernel, Blob{AsBlob(kernel.digest)}, absl::ToUnixMicros(kernel.create_time),
                                kernel.size_bytes, Blob{kernel.description});
  if (!status.ok()) return status;
  if (db_.changes() == 0) return false;
  status = db_.Run(kPutText, Blob{AsBlob(kernel.digest)}, Blob{text});
  if (!status.ok()) return status;
  if (status = db_.CommitDurably(*transaction); !status.ok()) return status;
  return true;
}

absl::StatusOr<KernelStore::PutResult> SqliteKernelStore::PutKernel(const KernelRecord& kernel,
                                                                    std::string_view text) {
  if (absl::StatusOr<KernelRecord> stored = GetKernel(kernel.digest); stored.ok()) {
    if (absl::Status status = db_.Await(); !status.ok()) return status;  // another caller may have just stored it
    return PutResult{*std::move(stored), false};
  }
  const absl::StatusOr<bool> created = Insert(kernel, text);
  if (!created.ok()) return created.status();
  if (*created) {
    PutResult result{kernel, true};
    result.kernel.create_time = absl::FromUnixMicros(absl::ToUnixMicros(kernel.create_time));
    return result;
  }
  absl::StatusOr<KernelRecord> stored = GetKernel(kernel.digest);
  if (absl::IsNotFound(stored.status())) return absl::UnavailableError("the kernel was deleted meanwhile; try again");
  if (!stored.ok()) return stored.status();
  return PutResult{*std::move(stored), false};
}

absl::Status SqliteKernelStore::DeleteKernel(const Digest& digest) {
  absl::MutexLock lock(&db_.mutex());
  absl::StatusOr<Transaction> transaction = db_.Begin();
  if (!transaction.ok()) return transaction.status();
  if (absl::Status status = db_.Run(kDeleteKernel, Blob{AsBlob(digest)}); !status.ok()) return status;
  if (db_.changes() == 0) return absl::NotFoundError("no such kernel");
  return db_.CommitDurably(*transaction);
}

absl::Status SqliteKernelStore::PutSignatures(absl::Span<const SignatureRecord> signatures) {
  absl::MutexLock lock(&db_.mutex());
  absl::StatusOr<Transaction> transaction = db_.Begin();
  if (!transaction.ok()) return transaction.status();
  for (const SignatureRecord& signature : signatures) {
    absl::Status status =
        db_.Run(kPutSignature, Blob{AsBlob(signature.key.kernel)}, Blob{AsBlob(signature.key.launch)},
                signature.key.version, std::string_view(signature.digest), Blob{signature.body});
    if (!status.ok()) return status;
  }
  return transaction->Commit();
}

absl::Status SqliteKernelStore::PruneSignatures(int version) {
  absl::MutexLock lock(&db_.mutex());
  return db_.Run(kPruneSignatures, version);
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelStore>> MakeSqliteKernelStore(std::shared_ptr<SharedDatabase> database) {
  const SqliteOptions& options = database->options();
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < options.readers; ++i) {
    absl::StatusOr<std::unique_ptr<Reader>> reader = Reader::Open(options.path, options.busy_timeout);
    if (!reader.ok()) return reader.status();
    readers.push_back(*std::move(reader));
  }
  return std::make_unique<SqliteKernelStore>(std::move(database), std::move(readers));
}

absl::StatusOr<std::unique_ptr<KernelStore>> OpenSqliteKernelStore(const SqliteOptions& options) {
  absl::StatusOr<std::shared_ptr<SharedDatabase>> database = SharedDatabase::Open(options);
  if (!database.ok()) return database.status();
  return MakeSqliteKernelStore(*std::move(database));
}

}  // namespace samebits::storage
