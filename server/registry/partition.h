#ifndef SAMEBITS_SERVER_REGISTRY_PARTITION_H_
#define SAMEBITS_SERVER_REGISTRY_PARTITION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/registry/registry.h"

namespace samebits::server {

struct PartitionItemAnswer {
  std::string id;
  absl::StatusOr<SignatureAnswer> answer;
  int32_t class_index = -1;  // -1 unless the signature's status is OK
};

struct PartitionAnswer {
  struct Class {
    std::string digest;
    std::vector<std::string> ids;
  };
  struct Verdict {
    std::string id;
    checker::Verdict verdict;
    std::string reason;
  };
  std::vector<Class> classes;                  // by index
  std::vector<std::string> nondeterministic, unknown, errors;
  std::vector<Verdict> reference_verdicts;
};

// One partition: launches in, classes of equal bits out. Thread-safe. Counts as one of max_partition_streams, which
// the caller entered; left when the object goes.
class PartitionSession : public std::enable_shared_from_this<PartitionSession> {
 public:
  using ItemSink = std::function<void(PartitionItemAnswer)>;
  // `on_item` is called once per item, on any thread, possibly before Add returns, and not after Cancel returned
  // except by calls that are under way.
  PartitionSession(Registry& registry, CheckOptions options, std::string reference_id, ItemSink on_item);
  ~PartitionSession();

  // Starts to check an item; `launch` may be the error that kept it from being read, which becomes the item's
  // answer. An error of Add itself ends the stream: no or a repeated id, or too many items.
  absl::Status Add(std::string_view id, const absl::StatusOr<KernelLaunch>& launch);
  // The result, once every item is decided and no more come. INVALID_ARGUMENT if the reference was not among them or
  // has no signature.
  absl::StatusOr<PartitionAnswer> Finish();
  // Stops all checks. Idempotent.
  void Cancel();

 private:
  struct Item {
    std::string id;
    CallHandle call;                                          // while it is checked
    std::optional<absl::StatusOr<SignatureAnswer>> answer;
    int32_t class_index = -1;
  };
  absl::StatusOr<size_t> AddItem(std::string_view id);
  void OnAnswer(size_t index, absl::StatusOr<SignatureAnswer> answer);
  int32_t ClassOf(const checker::Signature& signature) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status AddVerdicts(PartitionAnswer* out) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Registry& registry_;
  const CheckOptions options_;
  const std::string reference_id_;
  absl::Mutex mutex_;
  std::shared_ptr<const ItemSink> on_item_ ABSL_GUARDED_BY(mutex_);
  std::vector<Item> items_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<std::string> ids_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, int32_t> classes_ ABSL_GUARDED_BY(mutex_);  // by signature digest
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_REGISTRY_PARTITION_H_
