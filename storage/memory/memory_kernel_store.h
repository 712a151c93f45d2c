#ifndef SAMEBITS_STORAGE_MEMORY_MEMORY_KERNEL_STORE_H_
#define SAMEBITS_STORAGE_MEMORY_MEMORY_KERNEL_STORE_H_

#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "storage/kernel_store.h"

namespace samebits::storage {

// Keeps everything in memory; lost with the object.
class MemoryKernelStore : public KernelStore {
 public:
  absl::StatusOr<PutResult> PutKernel(const KernelRecord& kernel, std::string_view text) override;
  absl::StatusOr<KernelRecord> GetKernel(const Digest& digest) override;
  absl::StatusOr<std::string> GetText(const Digest& digest) override;
  absl::StatusOr<KernelPage> ListKernels(const std::optional<Digest>& after, int limit) override;
  absl::Status DeleteKernel(const Digest& digest) override;
  absl::Status PutSignatures(absl::Span<const SignatureRecord> signatures) override;
  absl::StatusOr<std::optional<SignatureRecord>> GetSignature(const SignatureKey& key) override;
  absl::Status PruneSignatures(int version) override;
  absl::StatusOr<StoreSizes> Sizes() override;

 private:
  struct Entry {
    KernelRecord record;
    std::string text;
    std::map<std::pair<int, Digest>, SignatureRecord> signatures;  // by version and launch
  };

  absl::Mutex mutex_;
  std::map<Digest, Entry> kernels_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace samebits::storage

#endif  // SAMEBITS_STORAGE_MEMORY_MEMORY_KERNEL_STORE_H_
