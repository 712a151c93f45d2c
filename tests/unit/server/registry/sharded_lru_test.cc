#include "server/registry/sharded_lru.h"

#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace samebits::server {
namespace {

using Key = std::pair<int, int>;  // group, member

struct Traits {
  size_t operator()(const Key& key) const { return key.first * 1000 + key.second; }
  static size_t Shard(const int& group) { return group; }
  static const int& GroupOf(const Key& key) { return key.first; }
};
using Lru = ShardedLru<Key, int, int, Traits>;

constexpr int kShards = 16;

TEST(ShardedLruTest, ReturnsWhatWasPut) {
  Lru lru(100);
  EXPECT_EQ(lru.Get({1, 1}), std::nullopt);
  EXPECT_TRUE(lru.Put({1, 1}, 11, lru.Generation({1, 1})));
  EXPECT_TRUE(lru.Put({1, 2}, 12, lru.Generation({1, 2})));
  EXPECT_EQ(lru.Get({1, 1}), 11);
  EXPECT_EQ(lru.Get({1, 2}), 12);
  EXPECT_TRUE(lru.Put({1, 1}, 13, lru.Generation({1, 1})));
  EXPECT_EQ(lru.Get({1, 1}), 13);
  EXPECT_EQ(lru.size(), 2);
}

TEST(ShardedLruTest, DropsWhatWasUsedLeastRecently) {
  Lru lru(3 * kShards);  // three entries a shard
  for (int i = 0; i < 3; ++i) lru.Put({0, i}, i, 0);
  EXPECT_EQ(lru.Get({0, 0}), 0);  // now 1 is the oldest
  lru.Put({0, 3}, 3, 0);
  EXPECT_EQ(lru.Get({0, 1}), std::nullopt);
  EXPECT_EQ(lru.Get({0, 0}), 0);
  EXPECT_EQ(lru.Get({0, 2}), 2);
  EXPECT_EQ(lru.Get({0, 3}), 3);
  lru.Put({0, 0}, 5, 0);  // replacing refreshes too
  lru.Put({0, 4}, 4, 0);
  EXPECT_EQ(lru.Get({0, 2}), std::nullopt);
  EXPECT_EQ(lru.Get({0, 0}), 5);
  EXPECT_EQ(lru.size(), 3);
}

TEST(ShardedLruTest, ErasesAGroupOnly) {
  Lru lru(1000);
  lru.Put({1, 1}, 1, 0);
  lru.Put({1, 2}, 2, 0);
  lru.Put({1 + kShards, 1}, 3, 0);  // same shard, other group
  lru.Put({2, 1}, 4, 0);
  lru.EraseGroup(1);
  EXPECT_EQ(lru.Get({1, 1}), std::nullopt);
  EXPECT_EQ(lru.Get({1, 2}), std::nullopt);
  EXPECT_EQ(lru.Get({1 + kShards, 1}), 3);
  EXPECT_EQ(lru.Get({2, 1}), 4);
}

TEST(ShardedLruTest, RefusesAValueReadBeforeAnErase) {
  Lru lru(1000);
  const uint64_t before = lru.Generation({1, 1});
  lru.EraseGroup(1);
  EXPECT_FALSE(lru.Put({1, 1}, 1, before));
  EXPECT_EQ(lru.Get({1, 1}), std::nullopt);
  EXPECT_TRUE(lru.Put({1, 1}, 1, lru.Generation({1, 1})));
}

TEST(ShardedLruTest, StaysWithinItsCapacityUnderManyThreads) {
  Lru lru(64);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&lru, t] {
      for (int i = 0; i < 5000; ++i) {
        const Key key{(i * 7 + t) % 50, i % 20};
        lru.Put(key, key.first * 100 + key.second, lru.Generation(key));
        const auto value = lru.Get({i % 50, i % 20});
        if (value) {
          EXPECT_EQ(*value, i % 50 * 100 + i % 20);
        }
        if (i % 1000 == 0) lru.EraseGroup(i % 50);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(lru.size(), 64);
}

}  // namespace
}  // namespace samebits::server
