#include "storage/sqlite/sqlite_kernel_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "storage/sqlite/database.h"
#include "storage/sqlite/file_lock.h"
#include "storage/sqlite/migrations.h"
#include "storage/sqlite/reader.h"

namespace samebits::storage {
namespace {

using sqlite::AsBlob;
using sqlite::Connection;
using sqlite::FileLock;
using sqlite::Reader;
using sqlite::ReaderPool;
using sqlite::Statement;
using sqlite::StatementScope;
using sqlite::Transaction;

// The one connection that writes, with its statements.
struct Writer {
  Connection connection;
  Statement put_kernel, put_text, delete_kernel, put_signature, prune_signatures;
  bool full_sync = true;

  absl::Status PrepareAll();
  absl::Status SetFullSync(bool full);
};

absl::Status Writer::PrepareAll() {
  const std::pair<Statement*, const char*> statements[] = {
      {&put_kernel, "INSERT INTO kernels VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"},
      {&put_text, "INSERT INTO kernel_texts VALUES (?, ?)"},
      {&delete_kernel, "DELETE FROM kernels WHERE digest = ?"},
      {&put_signature,
       "INSERT INTO signatures SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM kernels WHERE digest = ?1)"
       " ON CONFLICT DO UPDATE SET digest = excluded.digest, body = excluded.body"},
      {&prune_signatures, "DELETE FROM signatures WHERE version < ?"},
  };
  for (const auto& [statement, sql] : statements) {
    absl::StatusOr<Statement> prepared = connection.Prepare(sql);
    if (!prepared.ok()) return prepared.status();
    *statement = *std::move(prepared);
  }
  return absl::OkStatus();
}

absl::Status Writer::SetFullSync(bool full) {
  if (full == full_sync) return absl::OkStatus();
  absl::Status status = connection.Execute(full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  if (status.ok()) full_sync = full;
  return status;
}

class SqliteKernelStore : public KernelStore {
 public:
  SqliteKernelStore(FileLock lock, Writer writer, std::vector<std::unique_ptr<Reader>> readers)
      : lock_(std::move(lock)), writer_(std::move(writer)), readers_(std::move(readers)) {}

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

  FileLock lock_;  // outlives the connections
  absl::Mutex mutex_;
  Writer writer_ ABSL_GUARDED_BY(mutex_);
  ReaderPool readers_;
};

// True if the kernel was new.
absl::StatusOr<bool> SqliteKernelStore::Insert(const KernelRecord& kernel, std::string_view text) {
  absl::MutexLock lock(&mutex_);
  if (absl::Status status = writer_.SetFullSync(true); !status.ok()) return status;
  absl::StatusOr<Transaction> transaction = Transaction::Begin(writer_.connection);
  if (!transaction.ok()) return transaction.status();
  writer_.put_kernel.BindBlob(1, AsBlob(kernel.digest))
      .BindInt(2, absl::ToUnixMicros(kernel.create_time))
      .BindInt(3, static_cast<int64_t>(kernel.size_bytes))
      .BindBlob(4, kernel.description);
  if (absl::Status status = writer_.put_kernel.Run(); !status.ok()) return status;
  if (writer_.connection.changes() == 0) return false;
  writer_.put_text.BindBlob(1, AsBlob(kernel.digest)).BindBlob(2, text);
  if (absl::Status status = writer_.put_text.Run(); !status.ok()) return status;
  if (absl::Status status = transaction->Commit(); !status.ok()) return status;
  return true;
}

absl::StatusOr<KernelStore::PutResult> SqliteKernelStore::PutKernel(const KernelRecord& kernel,
                                                                    std::string_view text) {
  if (absl::StatusOr<KernelRecord> stored = GetKernel(kernel.digest); stored.ok()) return PutResult{*stored, false};
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
  absl::MutexLock lock(&mutex_);
  if (absl::Status status = writer_.SetFullSync(true); !status.ok()) return status;
  absl::StatusOr<Transaction> transaction = Transaction::Begin(writer_.connection);
  if (!transaction.ok()) return transaction.status();
  writer_.delete_kernel.BindBlob(1, AsBlob(digest));
  if (absl::Status status = writer_.delete_kernel.Run(); !status.ok()) return status;
  if (writer_.connection.changes() == 0) return absl::NotFoundError("no such kernel");
  return transaction->Commit();
}

absl::Status SqliteKernelStore::PutSignatures(absl::Span<const SignatureRecord> signatures) {
  absl::MutexLock lock(&mutex_);
  if (absl::Status status = writer_.SetFullSync(false); !status.ok()) return status;
  absl::StatusOr<Transaction> transaction = Transaction::Begin(writer_.connection);
  if (!transaction.ok()) return transaction.status();
  for (const SignatureRecord& signature : signatures) {
    writer_.put_signature.BindBlob(1, AsBlob(signature.key.kernel))
        .BindBlob(2, AsBlob(signature.key.launch))
        .BindInt(3, signature.key.version)
        .BindBlob(5, signature.body);
    if (signature.digest.empty()) {
      writer_.put_signature.BindNull(4);
    } else {
      writer_.put_signature.BindText(4, signature.digest);
    }
    if (absl::Status status = writer_.put_signature.Run(); !status.ok()) return status;
  }
  return transaction->Commit();
}

absl::Status SqliteKernelStore::PruneSignatures(int version) {
  absl::MutexLock lock(&mutex_);
  writer_.prune_signatures.BindInt(1, version);
  return writer_.prune_signatures.Run();
}

// The error with the path in front.
absl::Status AtPath(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("database ", path, ": ", status.message()));
}

absl::Status CreatePrivate(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return absl::FailedPreconditionError(absl::StrCat("cannot open for writing: ", strerror(errno)));
  close(fd);
  return absl::OkStatus();
}

absl::Status CheckForDamage(Connection& connection, const SqliteOptions& options) {
  struct stat info {};
  if (stat(options.path.c_str(), &info) != 0 || static_cast<uint64_t>(info.st_size) > options.check_file_bytes)
    return absl::OkStatus();
  const absl::StatusOr<std::string> result = connection.QueryText("PRAGMA quick_check(1)");
  if (!result.ok()) return result.status();
  return *result == "ok" ? absl::OkStatus() : absl::DataLossError(absl::StrCat("damaged: ", *result));
}

absl::Status Configure(Connection& connection) {
  const absl::StatusOr<std::string> mode = connection.QueryText("PRAGMA journal_mode = WAL");
  if (!mode.ok()) return mode.status();
  if (*mode != "wal") return absl::FailedPreconditionError("the file system does not support a write-ahead log");
  return connection.Execute(
      "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA journal_size_limit = 67108864;"
      " PRAGMA trusted_schema = OFF");
}

absl::StatusOr<Writer> OpenWriter(const SqliteOptions& options) {
  Writer writer;
  absl::StatusOr<Connection> connection =
      Connection::Open(options.path, Connection::Mode::kReadWriteCreate, options.busy_timeout);
  if (!connection.ok()) return connection.status();
  writer.connection = *std::move(connection);
  if (absl::Status status = sqlite::CheckOwner(writer.connection); !status.ok()) return status;
  if (absl::Status status = Configure(writer.connection); !status.ok()) return status;
  if (absl::Status status = CheckForDamage(writer.connection, options); !status.ok()) return status;
  if (absl::Status status = sqlite::Migrate(writer.connection); !status.ok()) return status;
  if (absl::Status status = writer.PrepareAll(); !status.ok()) return status;
  return writer;
}

absl::StatusOr<std::unique_ptr<KernelStore>> Open(const SqliteOptions& options) {
  if (absl::Status status = CreatePrivate(options.path); !status.ok()) return status;
  absl::StatusOr<FileLock> lock = FileLock::Acquire(options.path + ".lock");
  if (!lock.ok()) return lock.status();
  absl::StatusOr<Writer> writer = OpenWriter(options);
  if (!writer.ok()) return writer.status();
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < options.readers; ++i) {
    absl::StatusOr<std::unique_ptr<Reader>> reader = Reader::Open(options.path, options.busy_timeout);
    if (!reader.ok()) return reader.status();
    readers.push_back(*std::move(reader));
  }
  return std::make_unique<SqliteKernelStore>(*std::move(lock), *std::move(writer), std::move(readers));
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelStore>> OpenSqliteKernelStore(const SqliteOptions& options) {
  absl::StatusOr<std::unique_ptr<KernelStore>> store = Open(options);
  if (!store.ok()) return AtPath(options.path, store.status());
  return store;
}

}  // namespace samebits::storage
