#ifndef SAMEBITS_SERVER_REGISTRY_SHARDED_LRU_H_
#define SAMEBITS_SERVER_REGISTRY_SHARDED_LRU_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <list>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace samebits::server {

// A bounded map that drops what was used least recently, in shards with a lock each. `Traits` has
//   size_t operator()(const Key&)       hash
//   static size_t Shard(const Group&)   any number
//   static const Group& GroupOf(const Key&)
// Values are copied out: make them cheap to copy. Keys of one group share a shard. Thread-safe.
//
// A value read from elsewhere may be outdated by the time it is put: take Generation before reading, and Put drops
// the value if its group's shard saw an EraseGroup since.
template <typename Key, typename Value, typename Group, typename Traits>
class ShardedLru {
 public:
  explicit ShardedLru(uint64_t capacity) : shard_capacity_(std::max<uint64_t>(1, capacity / kShards)) {}

  std::optional<Value> Get(const Key& key) {
    Shard& shard = shards_[Traits::Shard(Traits::GroupOf(key)) % kShards];
    absl::MutexLock lock(&shard.mutex);
    const auto it = shard.index.find(key);
    if (it == shard.index.end()) return std::nullopt;
    shard.entries.splice(shard.entries.begin(), shard.entries, it->second);
    return it->second->second;
  }

  uint64_t Generation(const Key& key) const {
    const Shard& shard = shards_[Traits::Shard(Traits::GroupOf(key)) % kShards];
    absl::MutexLock lock(&shard.mutex);
    return shard.generation;
  }

  // Adds or replaces. False if the value came too late.
  bool Put(const Key& key, Value value, uint64_t generation) {
    Shard& shard = shards_[Traits::Shard(Traits::GroupOf(key)) % kShards];
    absl::MutexLock lock(&shard.mutex);
    if (shard.generation != generation) return false;
    if (const auto it = shard.index.find(key); it != shard.index.end()) {
      it->second->second = std::move(value);
      shard.entries.splice(shard.entries.begin(), shard.entries, it->second);
      return true;
    }
    if (shard.entries.size() >= shard_capacity_) {
      shard.index.erase(shard.entries.back().first);
      shard.entries.pop_back();
    }
    shard.entries.emplace_front(key, std::move(value));
    shard.index.emplace(key, shard.entries.begin());
    return true;
  }

  // Drops all keys of a group. Linear in the shard.
  void EraseGroup(const Group& group) {
    Shard& shard = shards_[Traits::Shard(group) % kShards];
    absl::MutexLock lock(&shard.mutex);
    ++shard.generation;
    for (auto it = shard.entries.begin(); it != shard.entries.end();) {
      if (!(Traits::GroupOf(it->first) == group)) {
        ++it;
        continue;
      }
      shard.index.erase(it->first);
      it = shard.entries.erase(it);
    }
  }

  uint64_t size() const {
    uint64_t size = 0;
    for (const Shard& shard : shards_) {
      absl::MutexLock lock(&shard.mutex);
      size += shard.entries.size();
    }
    return size;
  }

 private:
  static constexpr size_t kShards = 16;
  using Entries = std::list<std::pair<Key, Value>>;  // most recent first
  struct alignas(64) Shard {
    mutable absl::Mutex mutex;
    Entries entries ABSL_GUARDED_BY(mutex);
    absl::flat_hash_map<Key, typename Entries::iterator, Traits> index ABSL_GUARDED_BY(mutex);
    uint64_t generation ABSL_GUARDED_BY(mutex) = 0;
  };

  const uint64_t shard_capacity_;
  std::array<Shard, kShards> shards_;
};

}  // namespace samebits::server

#endif  // SAMEBITS_SERVER_REGISTRY_SHARDED_LRU_H_
