#include "storage/memory/memory_kernel_store.h"

namespace samebits::storage {
namespace {

absl::Status NotFound() { return absl::NotFoundError("no such kernel"); }

}  // namespace

absl::StatusOr<KernelStore::PutResult> MemoryKernelStore::PutKernel(const KernelRecord& kernel,
                                                                    std::string_view text) {
  absl::MutexLock lock(&mutex_);
  auto [it, created] = kernels_.try_emplace(kernel.digest);
  if (created) {
    it->second.record = kernel;
    it->second.record.create_time = absl::FromUnixMicros(absl::ToUnixMicros(kernel.create_time));
    it->second.text = text;
  }
  return PutResult{it->second.record, created};
}

absl::StatusOr<KernelRecord> MemoryKernelStore::GetKernel(const Digest& digest) {
  absl::MutexLock lock(&mutex_);
  const auto it = kernels_.find(digest);
  if (it == kernels_.end()) return NotFound();
  return it->second.record;
}

absl::StatusOr<std::string> MemoryKernelStore::GetText(const Digest& digest) {
  absl::MutexLock lock(&mutex_);
  const auto it = kernels_.find(digest);
  if (it == kernels_.end()) return NotFound();
  return it->second.text;
}

absl::StatusOr<KernelPage> MemoryKernelStore::ListKernels(const std::optional<Digest>& after, int limit) {
  absl::MutexLock lock(&mutex_);
  KernelPage page;
  auto it = after ? kernels_.upper_bound(*after) : kernels_.begin();
  for (; it != kernels_.end() && page.kernels.size() < static_cast<size_t>(limit); ++it)
    page.kernels.push_back(it->second.record);
  page.more = it != kernels_.end();
  return page;
}

absl::Status MemoryKernelStore::DeleteKernel(const Digest& digest) {
  absl::MutexLock lock(&mutex_);
  return kernels_.erase(digest) != 0 ? absl::OkStatus() : NotFound();
}

absl::Status MemoryKernelStore::PutSignatures(absl::Span<const SignatureRecord> signatures) {
  absl::MutexLock lock(&mutex_);
  for (const SignatureRecord& signature : signatures) {
    const auto it = kernels_.find(signature.key.kernel);
    if (it == kernels_.end()) continue;
    it->second.signatures[{signature.key.version, signature.key.launch}] = signature;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<SignatureRecord>> MemoryKernelStore::GetSignature(const SignatureKey& key) {
  absl::MutexLock lock(&mutex_);
  const auto kernel = kernels_.find(key.kernel);
  if (kernel == kernels_.end()) return std::nullopt;
  const auto it = kernel->second.signatures.find({key.version, key.launch});
  if (it == kernel->second.signatures.end()) return std::nullopt;
  return it->second;
}

absl::Status MemoryKernelStore::PruneSignatures(int version) {
  absl::MutexLock lock(&mutex_);
  for (auto& [digest, entry] : kernels_)
    entry.signatures.erase(entry.signatures.begin(), entry.signatures.lower_bound({version, Digest{}}));
  return absl::OkStatus();
}

absl::StatusOr<StoreSizes> MemoryKernelStore::Sizes() {
  absl::MutexLock lock(&mutex_);
  StoreSizes sizes;
  sizes.kernels = kernels_.size();
  for (const auto& [digest, entry] : kernels_) {
    sizes.text_bytes += entry.text.size();
    sizes.signatures += entry.signatures.size();
  }
  return sizes;
}

}  // namespace samebits::storage
