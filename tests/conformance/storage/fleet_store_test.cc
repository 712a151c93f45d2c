// What every FleetStore does.

#include "storage/fleet_store.h"

#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "storage/memory/memory_fleet_store.h"
#include "storage/sqlite/sqlite_fleet_store.h"

namespace samebits::storage {
namespace {

class FleetStoreTest : public testing::TestWithParam<bool> {
 protected:
  FleetStoreTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "samebits_fleet_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    if (!GetParam()) {
      store_ = std::make_unique<MemoryFleetStore>();
      return;
    }
    SqliteOptions options;
    options.path = (folder_ / "store.db").string();
    auto database = sqlite::SharedDatabase::Open(options);
    EXPECT_TRUE(database.ok()) << database.status();
    store_ = MakeSqliteFleetStore(*std::move(database));
  }
  ~FleetStoreTest() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  const absl::Time start_ = absl::FromUnixMicros(1'700'000'000'123'456);
  std::filesystem::path folder_;
  std::unique_ptr<FleetStore> store_;
};

TEST_P(FleetStoreTest, ANewSessionEndsTheOneBefore) {
  const auto first = store_->OpenSession("w", std::string_view("one\0", 4), start_);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->id, "w");
  EXPECT_EQ(first->create_time, start_);
  EXPECT_EQ(first->description, std::string_view("one\0", 4));
  EXPECT_TRUE(store_->Touch("w", first->session, start_).ok());
  const auto second = store_->OpenSession("w", "two", start_ + absl::Seconds(5));
  EXPECT_GT(second->session, first->session);
  EXPECT_EQ(second->create_time, start_);
  EXPECT_EQ(second->last_seen, start_ + absl::Seconds(5));
  EXPECT_EQ(second->description, "two");
  EXPECT_TRUE(absl::IsAborted(store_->Touch("w", first->session, start_)));
  EXPECT_TRUE(store_->Touch("w", second->session, start_ + absl::Seconds(9)).ok());
  EXPECT_EQ(store_->GetWorker("w")->last_seen, start_ + absl::Seconds(9));
}

TEST_P(FleetStoreTest, SessionsOfAllWorkersDiffer) {
  const auto a = store_->OpenSession("a", "", start_), b = store_->OpenSession("b", "", start_);
  EXPECT_NE(a->session, b->session);
  ASSERT_TRUE(store_->DeleteWorker("a").ok());
  EXPECT_GT(store_->OpenSession("a", "", start_)->session, b->session);
}

TEST_P(FleetStoreTest, ListsById) {
  for (const char* id : {"b", "a", "c"}) ASSERT_TRUE(store_->OpenSession(id, id, start_).ok());
  const auto workers = store_->ListWorkers();
  ASSERT_EQ(workers->size(), 3);
  EXPECT_EQ((*workers)[0].id, "a");
  EXPECT_EQ((*workers)[2].description, "c");
}

TEST_P(FleetStoreTest, DrainingOutlastsSessions) {
  ASSERT_TRUE(store_->OpenSession("w", "", start_).ok());
  EXPECT_FALSE(store_->GetWorker("w")->draining);
  EXPECT_TRUE(store_->SetDraining("w", true)->draining);
  EXPECT_TRUE(store_->OpenSession("w", "", start_)->draining);
  EXPECT_FALSE(store_->SetDraining("w", false)->draining);
}

TEST_P(FleetStoreTest, ReportsMissingWorkers) {
  EXPECT_TRUE(absl::IsNotFound(store_->GetWorker("w").status()));
  EXPECT_TRUE(absl::IsNotFound(store_->Touch("w", 1, start_)));
  EXPECT_TRUE(absl::IsNotFound(store_->SetDraining("w", true).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->DeleteWorker("w")));
}

INSTANTIATE_TEST_SUITE_P(All, FleetStoreTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& info) { return info.param ? "sqlite" : "memory"; });

}  // namespace
}  // namespace samebits::storage
