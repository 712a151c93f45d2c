// What every ProfileStore does.

#include "storage/profile_store.h"

#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "storage/memory/memory_profile_store.h"
#include "storage/sqlite/sqlite_profile_store.h"

namespace samebits::storage {
namespace {

class ProfileStoreTest : public testing::TestWithParam<bool> {
 protected:
  ProfileStoreTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "samebits_profiles_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    Open();
  }
  ~ProfileStoreTest() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  void Open() {
    store_.reset();
    if (!GetParam()) {
      store_ = std::make_unique<MemoryProfileStore>();
      return;
    }
    SqliteOptions options;
    options.path = (folder_ / "store.db").string();
    auto database = sqlite::SharedDatabase::Open(options);
    ASSERT_TRUE(database.ok()) << database.status();
    store_ = MakeSqliteProfileStore(*std::move(database));
  }
  static Digest Of(uint8_t first) {
    Digest digest{};
    digest[0] = first;
    return digest;
  }
  const absl::Time start_ = absl::FromUnixMicros(1'700'000'000'123'456);
  std::filesystem::path folder_;
  std::unique_ptr<ProfileStore> store_;
};

TEST_P(ProfileStoreTest, KeepsWhatWasStoredFirst) {
  const std::string text("a\0b", 3);
  const auto stored = store_->PutProfile({Of(2), start_ + absl::Nanoseconds(7), "about"}, text);
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(stored->create_time, start_);
  const auto again = store_->PutProfile({Of(2), start_ + absl::Seconds(1), "other"}, "other");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->create_time, start_);
  EXPECT_EQ(again->description, "about");
  EXPECT_EQ(*store_->GetProfileText(Of(2)), text);
  EXPECT_EQ(store_->GetProfile(Of(2))->digest, Of(2));
}

TEST_P(ProfileStoreTest, ListsByDigestAndDeletes) {
  EXPECT_TRUE(store_->ListProfiles()->empty());
  for (uint8_t first : {9, 1, 5}) ASSERT_TRUE(store_->PutProfile({Of(first), start_, ""}, "t").ok());
  ASSERT_TRUE(store_->DeleteProfile(Of(5)).ok());
  const auto profiles = store_->ListProfiles();
  ASSERT_EQ(profiles->size(), 2);
  EXPECT_EQ((*profiles)[0].digest, Of(1));
  EXPECT_EQ((*profiles)[1].digest, Of(9));
}

TEST_P(ProfileStoreTest, ReportsMissingProfiles) {
  EXPECT_TRUE(absl::IsNotFound(store_->GetProfile(Of(3)).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->GetProfileText(Of(3)).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->DeleteProfile(Of(3))));
}

TEST_P(ProfileStoreTest, FilesOutlastTheirStore) {
  if (!GetParam()) GTEST_SKIP() << "memory is lost";
  ASSERT_TRUE(store_->PutProfile({Of(3), start_, "d"}, "text").ok());
  Open();
  EXPECT_EQ(*store_->GetProfileText(Of(3)), "text");
}

INSTANTIATE_TEST_SUITE_P(All, ProfileStoreTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& info) { return info.param ? "sqlite" : "memory"; });

}  // namespace
}  // namespace samebits::storage
