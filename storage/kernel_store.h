#ifndef SAMEBITS_STORAGE_KERNEL_STORE_H_
#define SAMEBITS_STORAGE_KERNEL_STORE_H_

// Kernels, their texts and the signatures of their launches. Implementations: memory/, sqlite/. All of them pass
// tests/conformance/storage.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace samebits::storage {

using Digest = std::array<uint8_t, 32>;  // SHA-256

struct KernelRecord {
  Digest digest{};
  absl::Time create_time;    // kept to the microsecond
  uint64_t size_bytes = 0;   // of the text
  std::string description;   // what the text holds; the store does not look into it
};

// A signature is known by kernel, launch (options included) and version of the checker's rules.
struct SignatureKey {
  Digest kernel{};
  Digest launch{};
  int version = 0;
  friend bool operator==(const SignatureKey& a, const SignatureKey& b) {
    return a.version == b.version && a.kernel == b.kernel && a.launch == b.launch;
  }
};

struct SignatureRecord {
  SignatureKey key;
  std::string digest;        // signature digest; empty where the launch has none
  std::string body;          // the whole signature; the store does not look into it
};

struct KernelPage {
  std::vector<KernelRecord> kernels;  // ascending by digest
  bool more = false;                  // kernels follow the last one
};

struct StoreSizes {
  uint64_t kernels = 0, text_bytes = 0, signatures = 0;
  uint64_t file_bytes = 0;   // 0 for stores without files
};

// Thread-safe; calls may block on I/O. Errors common to all calls: UNAVAILABLE (busy: try again), RESOURCE_EXHAUSTED
// (disk full), DATA_LOSS (damaged), INTERNAL.
class KernelStore {
 public:
  struct PutResult {
    KernelRecord kernel;   // as stored
    bool created = false;  // false: it was there before, and stays as it was
  };

  virtual ~KernelStore() = default;

  // Stores the text under kernel.digest. Durable when it returns OK.
  virtual absl::StatusOr<PutResult> PutKernel(const KernelRecord& kernel, std::string_view text) = 0;
  // NOT_FOUND where there is none.
  virtual absl::StatusOr<KernelRecord> GetKernel(const Digest& digest) = 0;
  virtual absl::StatusOr<std::string> GetText(const Digest& digest) = 0;
  // Up to `limit` (> 0) kernels with digests above `after`, or from the first.
  virtual absl::StatusOr<KernelPage> ListKernels(const std::optional<Digest>& after, int limit) = 0;
  // Deletes text and signatures too. NOT_FOUND where there is none.
  virtual absl::Status DeleteKernel(const Digest& digest) = 0;

  // Adds or replaces signatures; those of kernels that are not stored are skipped. All or none on failure. May be
  // lost in a power failure, never torn.
  virtual absl::Status PutSignatures(absl::Span<const SignatureRecord> signatures) = 0;
  virtual absl::StatusOr<std::optional<SignatureRecord>> GetSignature(const SignatureKey& key) = 0;
  // Deletes signatures of versions below `version`.
  virtual absl::Status PruneSignatures(int version) = 0;

  virtual absl::StatusOr<StoreSizes> Sizes() = 0;
};

}  // namespace samebits::storage

#endif  // SAMEBITS_STORAGE_KERNEL_STORE_H_
