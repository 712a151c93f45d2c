#include "storage/sqlite/reader.h"

#include <algorithm>
#include <utility>

namespace samebits::storage::sqlite {
namespace {

constexpr char kGetKernel[] = "SELECT digest, create_time_micros, size_bytes, description FROM kernels WHERE digest = ?";
constexpr char kGetText[] = "SELECT text FROM kernel_texts WHERE kernel = ?";
constexpr char kListFirst[] =
    "SELECT digest, create_time_micros, size_bytes, description FROM kernels ORDER BY digest LIMIT ?";
constexpr char kListAfter[] =
    "SELECT digest, create_time_micros, size_bytes, description FROM kernels WHERE digest > ? ORDER BY digest LIMIT ?";
constexpr char kGetSignature[] =
    "SELECT coalesce(digest, ''), body FROM signatures WHERE kernel = ? AND launch = ? AND version = ?";
constexpr char kSizes[] =
    "SELECT kernels, text_bytes, signatures, (SELECT page_count FROM pragma_page_count) *"
    " (SELECT page_size FROM pragma_page_size) FROM totals";

absl::Status NotFound() { return absl::NotFoundError("no such kernel"); }

absl::StatusOr<KernelRecord> ReadKernel(const Statement& row) {
  KernelRecord record;
  const std::string_view digest = row.Blob(0);
  if (digest.size() != record.digest.size()) return absl::DataLossError("a stored digest has a wrong length");
  std::copy(digest.begin(), digest.end(), record.digest.begin());
  record.create_time = absl::FromUnixMicros(row.Int(1));
  record.size_bytes = static_cast<uint64_t>(row.Int(2));
  record.description = std::string(row.Blob(3));
  return record;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Reader>> Reader::Open(const std::string& path, absl::Duration busy_timeout) {
  auto reader = std::make_unique<Reader>();
  absl::StatusOr<Connection> connection = Connection::Open(path, Connection::Mode::kReadOnly, busy_timeout);
  if (!connection.ok()) return connection.status();
  reader->connection_ = *std::move(connection);
  const std::pair<Statement*, const char*> statements[] = {
      {&reader->get_kernel_, kGetKernel}, {&reader->get_text_, kGetText},
      {&reader->list_first_, kListFirst}, {&reader->list_after_, kListAfter},
      {&reader->get_signature_, kGetSignature}, {&reader->sizes_, kSizes}};
  for (const auto& [statement, sql] : statements) {
    absl::StatusOr<Statement> prepared = reader->connection_.Prepare(sql);
    if (!prepared.ok()) return prepared.status();
    *statement = *std::move(prepared);
  }
  return reader;
}

absl::StatusOr<KernelRecord> Reader::GetKernel(const Digest& digest) {
  StatementScope scope(get_kernel_);
  const absl::StatusOr<bool> row = scope->BindBlob(1, AsBlob(digest)).Step();
  if (!row.ok()) return row.status();
  if (!*row) return NotFound();
  return ReadKernel(get_kernel_);
}

absl::StatusOr<std::string> Reader::GetText(const Digest& digest) {
  StatementScope scope(get_text_);
  const absl::StatusOr<bool> row = scope->BindBlob(1, AsBlob(digest)).Step();
  if (!row.ok()) return row.status();
  if (!*row) return NotFound();
  return std::string(scope->Blob(0));
}

absl::StatusOr<KernelPage> Reader::ListKernels(const std::optional<Digest>& after, int limit) {
  Statement& statement = after ? list_after_ : list_first_;
  StatementScope scope(statement);
  if (after) statement.BindBlob(1, AsBlob(*after));
  statement.BindInt(after ? 2 : 1, static_cast<int64_t>(limit) + 1);
  KernelPage page;
  while (true) {
    const absl::StatusOr<bool> row = statement.Step();
    if (!row.ok()) return row.status();
    if (!*row) return page;
    if (page.kernels.size() == static_cast<size_t>(limit)) break;
    absl::StatusOr<KernelRecord> record = ReadKernel(statement);
    if (!record.ok()) return record.status();
    page.kernels.push_back(*std::move(record));
  }
  page.more = true;
  return page;
}

absl::StatusOr<std::optional<SignatureRecord>> Reader::GetSignature(const SignatureKey& key) {
  StatementScope scope(get_signature_);
  scope->BindBlob(1, AsBlob(key.kernel)).BindBlob(2, AsBlob(key.launch)).BindInt(3, key.version);
  const absl::StatusOr<bool> row = scope->Step();
  if (!row.ok()) return row.status();
  if (!*row) return std::nullopt;
  return SignatureRecord{key, std::string(scope->Text(0)), std::string(scope->Blob(1))};
}

absl::StatusOr<StoreSizes> Reader::Sizes() {
  StatementScope scope(sizes_);
  const absl::StatusOr<bool> row = scope->Step();
  if (!row.ok()) return row.status();
  if (!*row) return absl::DataLossError("the table of totals is empty");
  return StoreSizes{static_cast<uint64_t>(scope->Int(0)), static_cast<uint64_t>(scope->Int(1)),
                    static_cast<uint64_t>(scope->Int(2)), static_cast<uint64_t>(scope->Int(3))};
}

std::unique_ptr<Reader> ReaderPool::Take() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(+[](std::vector<std::unique_ptr<Reader>>* free) { return !free->empty(); }, &free_));
  std::unique_ptr<Reader> reader = std::move(free_.back());
  free_.pop_back();
  return reader;
}

void ReaderPool::Return(std::unique_ptr<Reader> reader) {
  absl::MutexLock lock(&mutex_);
  free_.push_back(std::move(reader));
}

}  // namespace samebits::storage::sqlite
