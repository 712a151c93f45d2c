#include "storage/sqlite/group_sync.h"

#include <gtest/gtest.h>

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "absl/strings/match.h"

namespace samebits::storage::sqlite {
namespace {

TEST(GroupSyncTest, WaitsForWhatWasWritten) {
  std::string path = (std::filesystem::temp_directory_path() / "samebits_sync_XXXXXX").string();
  close(mkstemp(path.data()));
  auto sync = GroupSync::Open(path);
  ASSERT_TRUE(sync.ok()) << sync.status();
  EXPECT_TRUE(sync->IsSynced());
  EXPECT_TRUE(sync->Await().ok());
  sync->Wrote();
  EXPECT_FALSE(sync->IsSynced());
  EXPECT_TRUE(sync->Await().ok());
  EXPECT_TRUE(sync->IsSynced());
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        sync->Wrote();
        EXPECT_TRUE(sync->Await().ok());
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(sync->IsSynced());
  std::filesystem::remove(path);
}

TEST(GroupSyncTest, AFailureStays) {
  auto sync = GroupSync::Open("/dev/null");  // which cannot be synced
  ASSERT_TRUE(sync.ok()) << sync.status();
  EXPECT_TRUE(sync->health().ok());
  sync->Wrote();
  EXPECT_TRUE(absl::IsInternal(sync->Await())) << sync->Await();
  EXPECT_TRUE(absl::StrContains(sync->health().message(), "restart the server"));
  EXPECT_FALSE(sync->Await().ok());
  EXPECT_FALSE(sync->IsSynced());
}

TEST(GroupSyncTest, NeedsTheFile) { EXPECT_TRUE(absl::IsFailedPrecondition(GroupSync::Open("/nonexistent/x").status())); }

}  // namespace
}  // namespace samebits::storage::sqlite
