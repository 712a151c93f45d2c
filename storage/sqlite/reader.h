#ifndef SAMEBITS_STORAGE_SQLITE_READER_H_
#define SAMEBITS_STORAGE_SQLITE_READER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "storage/kernel_store.h"
#include "storage/sqlite/database.h"

namespace samebits::storage::sqlite {

// Bytes of a digest as a blob parameter; valid as long as the digest.
inline std::string_view AsBlob(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// One read-only connection with its statements. One thread at a time.
class Reader {
 public:
  static absl::StatusOr<std::unique_ptr<Reader>> Open(const std::string& path, absl::Duration busy_timeout);

  absl::StatusOr<KernelRecord> GetKernel(const Digest& digest);
  absl::StatusOr<std::string> GetText(const Digest& digest);
  absl::StatusOr<KernelPage> ListKernels(const std::optional<Digest>& after, int limit);
  absl::StatusOr<std::optional<SignatureRecord>> GetSignature(const SignatureKey& key);
  absl::StatusOr<StoreSizes> Sizes();

 private:
  Connection connection_;
  Statement get_kernel_, get_text_, list_first_, list_after_, get_signature_, sizes_;
};

// A fixed set of readers; a borrower waits for a free one.
class ReaderPool {
 public:
  explicit ReaderPool(std::vector<std::unique_ptr<Reader>> readers) : free_(std::move(readers)) {}

  // Calls `use(reader)` with a reader of its own and returns what it returns.
  template <typename Use>
  auto With(Use use) {
    std::unique_ptr<Reader> reader = Take();
    auto result = use(*reader);
    Return(std::move(reader));
    return result;
  }

 private:
  std::unique_ptr<Reader> Take();
  void Return(std::unique_ptr<Reader> reader);

  absl::Mutex mutex_;
  std::vector<std::unique_ptr<Reader>> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace samebits::storage::sqlite

#endif  // SAMEBITS_STORAGE_SQLITE_READER_H_
