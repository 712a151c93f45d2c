#ifndef SAMEBITS_SERVER_REGISTRY_REGISTRY_H_
#define SAMEBITS_SERVER_REGISTRY_REGISTRY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/metrics/metrics.h"
#include "server/registry/call.h"
#include "server/registry/checker_backend.h"
#include "server/registry/limits.h"
#include "server/registry/signatures.h"
#include "server/registry/task_pool.h"
#include "server/registry/text_budget.h"
#include "storage/kernel_store.h"

namespace samebits::server {

// One side of a request. Views belong to the caller and must live until the function that takes it returns.
struct KernelLaunch {
  std::string_view name;              // "kernels/{sha256}"; used if `has_name`, else `text`
  std::string_view text;
  bool has_name = false;
  checker::Launch launch;
  // Bytes in which each float argument was given, 0 for others; empty where no argument is a float.
  std::vector<uint8_t> float_widths;
};

struct Kernel {
  storage::KernelRecord record;
  checker::TextInfo info;
  std::string text;                   // only where asked for
};

struct KernelList {
  std::vector<Kernel> kernels;
  std::string next_page_token;        // empty on the last page
};

struct ComparisonAnswer {
  checker::Comparison comparison;     // its signatures are those of a and b
  SignatureAnswer a, b;
};

// What the service does, without RPC: kernels, signatures, comparisons. Functions with a Done never block on I/O or
// checks. Thread-safe.
class Registry {
 public:
  struct Config {
    ServerLimits limits;
    int check_threads = 0;            // 0: one per core, at least 2
    int store_threads = 2;
    uint64_t cache_entries = 200'000;
    std::shared_ptr<const CheckerBackend> checker;
    std::unique_ptr<storage::KernelStore> store;
    Metrics* metrics = nullptr;       // outlives the registry
  };
  explicit Registry(Config config);
  ~Registry();                        // as Stop

  // Ends the threads; what waits for one is answered with UNAVAILABLE. Cancel running calls before.
  void Stop();

  void Register(std::string_view text, Done<Kernel> done);
  void GetKernel(std::string_view name, bool with_text, Done<Kernel> done);
  // 0 <= page_size; 0 means 100, more than 1,000 means 1,000.
  void ListKernels(int page_size, std::string_view page_token, Done<KernelList> done);
  void DeleteKernel(std::string_view name, Done<absl::monostate> done);

  CallHandle ComputeSignature(const KernelLaunch& kernel, const CheckOptions& options, TaskPool::Admission admission,
                              Done<SignatureAnswer> done);
  // The comparison if memory has both signatures; nullopt if not.
  absl::StatusOr<std::optional<ComparisonAnswer>> TryCompare(const KernelLaunch& a, const KernelLaunch& b,
                                                             const CheckOptions& options);
  CallHandle Compare(const KernelLaunch& a, const KernelLaunch& b, const CheckOptions& options,
                     Done<ComparisonAnswer> done);
  CallHandle Explain(const KernelLaunch& a, const KernelLaunch& b, const CheckOptions& options,
                     Done<ComparisonAnswer> done);

  // Takes one of max_partition_streams; false if none is left. Each true needs one LeavePartition.
  bool EnterPartition();
  void LeavePartition() { --partitions_; }

  const CheckerBackend& checker() const { return *config_.checker; }
  const ServerLimits& limits() const { return config_.limits; }
  Metrics& metrics() const { return *config_.metrics; }
  int check_threads() const { return check_threads_; }
  Levels ReadLevels();

 private:
  absl::StatusOr<Subject> Resolve(const KernelLaunch& kernel, const CheckOptions& options) const;
  absl::StatusOr<Kernel> RegisterNow(const std::string& text);
  absl::StatusOr<KernelList> ListNow(int page_size, const std::optional<storage::Digest>& after);
  // Runs `work` on the store's threads and answers with what it returns.
  template <typename T, typename Work>
  void OnStoreThread(Done<T> done, Work work);
  absl::StatusOr<Kernel> ToKernel(storage::KernelRecord record) const;

  const Config config_;
  const int check_threads_;
  TextBudget texts_;
  TaskPool checks_;
  TaskPool store_calls_;
  Signatures signatures_;
  std::atomic<uint32_t> partitions_{0};
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_REGISTRY_REGISTRY_H_
