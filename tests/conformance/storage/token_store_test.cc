// What every TokenStore does.

#include "storage/token_store.h"

#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "storage/memory/memory_token_store.h"
#include "storage/sqlite/sqlite_token_store.h"

namespace samebits::storage {
namespace {

Digest DigestOf(uint8_t byte) {
  Digest digest;
  digest.fill(byte);
  return digest;
}

class TokenStoreTest : public testing::TestWithParam<bool> {
 protected:
  TokenStoreTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "samebits_tokens_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    Open();
  }
  ~TokenStoreTest() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  void Open() {
    store_.reset();
    if (!GetParam()) {
      store_ = std::make_unique<MemoryTokenStore>();
      return;
    }
    SqliteOptions options;
    options.path = (folder_ / "store.db").string();
    auto database = sqlite::SharedDatabase::Open(options);
    EXPECT_TRUE(database.ok()) << database.status();
    store_ = MakeSqliteTokenStore(*std::move(database));
  }
  void Add(uint8_t byte, const std::string& worker = "", uint32_t uses = 1, int seconds = 60) {
    ASSERT_TRUE(store_->AddEnrolment({DigestOf(byte), worker, "alice", now_, now_ + absl::Seconds(seconds), uses}).ok());
  }
  absl::Status Enrol(uint8_t enrolment, const std::string& worker, uint8_t token, int at = 0) {
    return store_->Enrol(DigestOf(enrolment), {worker, DigestOf(token), now_ + absl::Seconds(at)});
  }
  uint32_t Uses(size_t index = 0) { return store_->ListEnrolments()->at(index).uses_left; }

  const absl::Time now_ = absl::FromUnixMicros(1'700'000'000'123'456);
  std::filesystem::path folder_;
  std::unique_ptr<TokenStore> store_;
};

TEST_P(TokenStoreTest, KeepsWhatItIsGiven) {
  Add(1, "gpu-7", 3);
  const auto listed = store_->ListEnrolments();
  ASSERT_EQ(listed->size(), 1);
  EXPECT_EQ((*listed)[0].digest, DigestOf(1));
  EXPECT_EQ((*listed)[0].worker, "gpu-7");
  EXPECT_EQ((*listed)[0].creator, "alice");
  EXPECT_EQ((*listed)[0].create_time, now_);
  EXPECT_EQ((*listed)[0].expire_time, now_ + absl::Seconds(60));
  EXPECT_EQ((*listed)[0].uses_left, 3);
  EXPECT_TRUE(absl::IsAlreadyExists(store_->AddEnrolment({DigestOf(1), "", "bob", now_, now_ + absl::Seconds(1), 1})));
  ASSERT_TRUE(Enrol(1, "gpu-7", 9, 5).ok());
  if (GetParam()) Open();
  const auto tokens = store_->ListWorkerTokens();
  ASSERT_EQ(tokens->size(), 1);
  EXPECT_EQ((*tokens)[0].worker, "gpu-7");
  EXPECT_EQ((*tokens)[0].digest, DigestOf(9));
  EXPECT_EQ((*tokens)[0].create_time, now_ + absl::Seconds(5));
  EXPECT_EQ(Uses(), 2);
}

TEST_P(TokenStoreTest, EachUseCountsOnce) {
  Add(1, "", 2);
  EXPECT_TRUE(Enrol(1, "a", 10).ok());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Enrol(1, "a", 10).ok());
  EXPECT_EQ(Uses(), 1);
  EXPECT_TRUE(absl::IsAlreadyExists(Enrol(1, "a", 11)));
  EXPECT_TRUE(absl::IsAlreadyExists(Enrol(1, "b", 10)));
  EXPECT_TRUE(Enrol(1, "b", 12).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Enrol(1, "c", 13)));
  EXPECT_TRUE(Enrol(1, "b", 12).ok());
  EXPECT_EQ(Uses(), 0);
  EXPECT_EQ(store_->ListWorkerTokens()->size(), 2);
}

TEST_P(TokenStoreTest, AnEnrolmentForAWorkerReplacesItsToken) {
  Add(1, "", 1);
  ASSERT_TRUE(Enrol(1, "a", 10).ok());
  Add(2, "a", 1);
  EXPECT_TRUE(absl::IsPermissionDenied(Enrol(2, "b", 11)));
  EXPECT_TRUE(Enrol(2, "a", 11).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Enrol(2, "a", 12)));
  ASSERT_EQ(store_->ListWorkerTokens()->size(), 1);
  EXPECT_EQ(store_->ListWorkerTokens()->at(0).digest, DigestOf(11));
}

TEST_P(TokenStoreTest, ExpiredEnrolmentsDoNothingAndGo) {
  Add(1, "", 5, 10);
  EXPECT_TRUE(Enrol(1, "a", 10, 9).ok());
  EXPECT_TRUE(absl::IsNotFound(Enrol(1, "b", 11, 10)));
  EXPECT_TRUE(absl::IsNotFound(Enrol(7, "b", 11)));
  ASSERT_TRUE(store_->AddEnrolment({DigestOf(2), "", "alice", now_ + absl::Seconds(10), now_ + absl::Hours(1), 1}).ok());
  ASSERT_EQ(store_->ListEnrolments()->size(), 1);
  EXPECT_EQ(store_->ListEnrolments()->at(0).digest, DigestOf(2));
  EXPECT_EQ(store_->ListWorkerTokens()->size(), 1);
}

TEST_P(TokenStoreTest, DeletesTokens) {
  Add(1, "", 2);
  ASSERT_TRUE(Enrol(1, "a", 10).ok());
  EXPECT_TRUE(store_->DeleteWorkerToken("a").ok());
  EXPECT_TRUE(absl::IsNotFound(store_->DeleteWorkerToken("a")));
  EXPECT_TRUE(store_->ListWorkerTokens()->empty());
  EXPECT_TRUE(Enrol(1, "a", 10).ok());  // its second use
}

INSTANTIATE_TEST_SUITE_P(All, TokenStoreTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& info) { return info.param ? "sqlite" : "memory"; });

}  // namespace
}  // namespace samebits::storage
