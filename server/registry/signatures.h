#ifndef SAMEBITS_SERVER_REGISTRY_SIGNATURES_H_
#define SAMEBITS_SERVER_REGISTRY_SIGNATURES_H_

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/metrics/metrics.h"
#include "server/registry/call.h"
#include "server/registry/checker_backend.h"
#include "server/registry/launch_digest.h"
#include "server/registry/limits.h"
#include "server/registry/sharded_lru.h"
#include "server/registry/task_pool.h"
#include "server/registry/text_budget.h"
#include "storage/kernel_store.h"

namespace samebits::server {

// A launch to check, resolved to its key. Views belong to the caller.
struct Subject {
  storage::SignatureKey key;
  bool registered = false;     // named by the caller: must be in the store
  std::string_view text;       // otherwise
  const checker::Launch* launch = nullptr;
  const std::vector<uint8_t>* float_widths = nullptr;
  CheckOptions options;
};

struct SignatureAnswer {
  std::shared_ptr<const checker::Signature> signature;
  bool cached = false;         // it was known before
};

// Signatures of launches: memory, then the store, then the checker on a thread of the pool. Requests for the same
// signature share one computation, which stops when the last of them is cancelled. Results that depend on how fast
// the machine is (a check that ran out of time) are not kept, and UNKNOWN is not stored. Thread-safe.
class Signatures {
 public:
  struct Parts {
    std::shared_ptr<const CheckerBackend> checker;
    storage::KernelStore* store;
    TaskPool* pool;
    TextBudget* texts;
    Metrics* metrics;
  };
  Signatures(Parts parts, const ServerLimits& limits, uint64_t cache_entries);
  ~Signatures();  // no call may be under way

  // The signature if memory has it. Never blocks on I/O.
  std::optional<SignatureAnswer> TryGet(const Subject& subject);
  // Errors: of the checker, KERNEL_NOT_FOUND, limits, the store.
  CallHandle Get(const Subject& subject, TaskPool::Admission admission, Done<SignatureAnswer> done);
  // Adds a signature that came about elsewhere.
  void Add(const Subject& subject, const checker::Signature& signature, absl::Duration wall);

  // Makes requests by name fail from now on; call it after the kernel left the store.
  void Forget(const Digest& kernel);
  uint64_t size() const { return cache_.size(); }

  // The text of a registered kernel, verified against its digest. Blocks.
  absl::StatusOr<std::string> LoadText(const Digest& kernel) const;
  // INVALID_ARGUMENT where a float argument was given in another width than its parameter has.
  absl::Status CheckFloatWidths(std::string_view text, const checker::Launch& launch,
                                const std::vector<uint8_t>& widths) const;

 private:
  struct Flight;
  class Waiter;
  struct Entry {
    std::shared_ptr<const checker::Signature> signature;
    bool registered = false;   // the kernel was in the store, and was not deleted since
  };
  struct Traits {
    size_t operator()(const storage::SignatureKey& key) const {
      uint64_t kernel, launch;
      std::memcpy(&kernel, key.kernel.data(), 8);
      std::memcpy(&launch, key.launch.data(), 8);
      return kernel ^ (launch * 0x9e3779b97f4a7c15ull);
    }
    static size_t Shard(const Digest& kernel) { return kernel[31]; }
    static const Digest& GroupOf(const storage::SignatureKey& key) { return key.kernel; }
  };
  struct FlightKey {
    storage::SignatureKey key;
    bool registered;
    friend bool operator==(const FlightKey& a, const FlightKey& b) {
      return a.registered == b.registered && a.key == b.key;
    }
    struct Hash {
      size_t operator()(const FlightKey& key) const { return Traits()(key.key) + key.registered; }
    };
  };

  // Adds a waiter to the flight of the subject's key, which is made where there is none.
  std::shared_ptr<Flight> Join(const Subject& subject, Done<SignatureAnswer> done, bool* created, uint64_t* waiter);
  absl::Status Launch(const std::shared_ptr<Flight>& flight, const Subject& subject, TaskPool::Admission admission);
  void Run(const std::shared_ptr<Flight>& flight);
  absl::StatusOr<SignatureAnswer> Obtain(Flight& flight);
  absl::StatusOr<SignatureAnswer> Compute(Flight& flight, uint64_t generation);
  absl::StatusOr<std::optional<SignatureAnswer>> FromStoreOrNone(Flight& flight, uint64_t generation);
  void Finish(const std::shared_ptr<Flight>& flight, const absl::StatusOr<SignatureAnswer>& answer);
  void Abandon(const std::shared_ptr<Flight>& flight, uint64_t waiter);
  bool Keepable(const checker::Signature& signature, absl::Duration wall) const;
  void Save(const storage::SignatureKey& key, const checker::Signature& signature);

  const Parts parts_;
  const checker::Limits check_limits_;
  ShardedLru<storage::SignatureKey, Entry, Digest, Traits> cache_;
  absl::Mutex mutex_;
  absl::flat_hash_map<FlightKey, std::shared_ptr<Flight>, FlightKey::Hash> flights_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_REGISTRY_SIGNATURES_H_
