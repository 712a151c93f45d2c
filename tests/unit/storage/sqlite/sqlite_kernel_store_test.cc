#include "storage/sqlite/sqlite_kernel_store.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/sha256.h"
#include "storage/sqlite/database.h"
#include "storage/sqlite/migrations.h"

namespace samebits::storage {
namespace {

using sqlite::Connection;
using testing::HasSubstr;

class SqliteKernelStoreTest : public testing::Test {
 protected:
  SqliteKernelStoreTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "samebits_sqlite_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    options_.path = (folder_ / "store.db").string();
  }
  ~SqliteKernelStoreTest() override { std::filesystem::remove_all(folder_); }

  absl::StatusOr<std::unique_ptr<KernelStore>> Open() { return OpenSqliteKernelStore(options_); }
  // A store with some kernels, closed again.
  void Fill(int kernels) {
    const auto store = Open();
    ASSERT_TRUE(store.ok()) << store.status();
    for (int i = 0; i < kernels; ++i) {
      const std::string text = "kernel " + std::to_string(i) + std::string(5000, 'x');
      ASSERT_TRUE((*store)->PutKernel({Sha256(text), absl::UnixEpoch(), text.size(), "{}"}, text).ok());
    }
  }
  Connection Raw() {
    auto connection = Connection::Open(options_.path, Connection::Mode::kReadWriteCreate, absl::Seconds(1));
    EXPECT_TRUE(connection.ok()) << connection.status();
    return *std::move(connection);
  }
  void Overwrite(std::streamoff offset, const std::string& bytes) {
    std::fstream file(options_.path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(offset);
    file << bytes;
  }

  std::filesystem::path folder_;
  SqliteOptions options_;
};

TEST_F(SqliteKernelStoreTest, KeepsKernelsAcrossOpenings) {
  Fill(3);
  const auto store = Open();
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ((*store)->Sizes()->kernels, 3);
  EXPECT_GT((*store)->Sizes()->file_bytes, 15'000);
  EXPECT_TRUE((*store)->GetText(Sha256("kernel 1" + std::string(5000, 'x'))).ok());
}

TEST_F(SqliteKernelStoreTest, UsesTheWriteAheadLogAndStrictTables) {
  Fill(1);
  Connection raw = Raw();
  EXPECT_EQ(*raw.QueryText("PRAGMA journal_mode"), "wal");
  EXPECT_EQ(*raw.QueryInt("SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite_%'"
                          " AND type = 'table' AND strict = 0"),
            0);
  EXPECT_EQ(*raw.QueryInt("SELECT max(version) FROM schema_migrations"), sqlite::LatestSchemaVersion());
}

TEST_F(SqliteKernelStoreTest, KeepsTheFilePrivate) {
  Fill(1);
  struct stat info {};
  ASSERT_EQ(stat(options_.path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
}

TEST_F(SqliteKernelStoreTest, RefusesASecondOpener) {
  const auto first = Open();
  ASSERT_TRUE(first.ok());
  const auto second = Open();
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("another server uses this database"));
}

TEST_F(SqliteKernelStoreTest, RefusesAFileThatIsNoDatabase) {
  std::ofstream(options_.path) << std::string(8192, 'n') << "ot a database";
  const auto store = Open();
  EXPECT_TRUE(absl::IsDataLoss(store.status())) << store.status();
  EXPECT_THAT(std::string(store.status().message()), HasSubstr(options_.path));
}

TEST_F(SqliteKernelStoreTest, RefusesADatabaseOfAnotherProgramAndLeavesItAlone) {
  {
    Connection raw = Raw();
    ASSERT_TRUE(raw.Execute("CREATE TABLE notes (body TEXT); INSERT INTO notes VALUES ('mine')").ok());
  }
  const auto store = Open();
  EXPECT_TRUE(absl::IsFailedPrecondition(store.status())) << store.status();
  EXPECT_THAT(std::string(store.status().message()), HasSubstr("another program"));
  Connection raw = Raw();
  EXPECT_EQ(*raw.QueryInt("SELECT count(*) FROM sqlite_schema"), 1);
  EXPECT_EQ(*raw.QueryText("PRAGMA journal_mode"), "delete");
}

TEST_F(SqliteKernelStoreTest, RefusesANewerSchema) {
  Fill(1);
  ASSERT_TRUE(Raw().Execute("INSERT INTO schema_migrations VALUES (9999, 0)").ok());
  const auto store = Open();
  EXPECT_TRUE(absl::IsFailedPrecondition(store.status())) << store.status();
  EXPECT_THAT(std::string(store.status().message()), HasSubstr("schema version 9999"));
}

TEST_F(SqliteKernelStoreTest, FindsDamageWhenOpening) {
  Fill(50);
  const auto size = std::filesystem::file_size(options_.path);
  for (std::streamoff offset = 4096; offset + 4096 <= static_cast<std::streamoff>(size); offset += 4096)
    Overwrite(offset, std::string(100, '\xee'));
  const auto store = Open();
  EXPECT_TRUE(absl::IsDataLoss(store.status())) << store.status();
}

TEST_F(SqliteKernelStoreTest, FindsATruncatedFile) {
  Fill(50);
  std::filesystem::resize_file(options_.path, 4096 * 3 + 17);
  const auto store = Open();
  EXPECT_TRUE(absl::IsDataLoss(store.status())) << store.status();
}

TEST_F(SqliteKernelStoreTest, ReportsAFolderThatDoesNotExist) {
  options_.path = (folder_ / "missing" / "store.db").string();
  const auto store = Open();
  EXPECT_TRUE(absl::IsFailedPrecondition(store.status())) << store.status();
  EXPECT_THAT(std::string(store.status().message()), HasSubstr("No such file or directory"));
}

// What the versions of the schema after the first added.
constexpr char kDropJobs[] =
    "DROP TABLE task_units; DROP TABLE reproducers; DROP TABLE task_attempts; DROP TABLE tasks; DROP TABLE job_bodies; DROP TABLE jobs;"
    " DROP TABLE workers; DROP TABLE counters; DROP TABLE enrolments; DROP TABLE worker_tokens;"
    " DROP TABLE arch_profiles;"
    " DELETE FROM schema_migrations WHERE version > 1;";

TEST_F(SqliteKernelStoreTest, BringsTheFirstVersionToTheLatest) {
  Fill(3);
  ASSERT_TRUE(Raw().Execute(kDropJobs).ok());
  const auto store = Open();
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ((*store)->Sizes()->kernels, 3);
  EXPECT_EQ(*Raw().QueryInt("SELECT max(version) FROM schema_migrations"), sqlite::LatestSchemaVersion());
  EXPECT_EQ(*Raw().QueryInt("SELECT count(*) FROM jobs"), 0);
}

TEST_F(SqliteKernelStoreTest, ContinuesAnInterruptedCreation) {
  std::ofstream(options_.path).close();  // the file was made, nothing written yet
  EXPECT_TRUE(Open().ok());
  ASSERT_TRUE(Raw().Execute((kDropJobs + std::string("DROP TABLE signatures; DROP TABLE kernel_texts;"
                             " DROP TABLE kernels; DROP TABLE totals; DELETE FROM schema_migrations")).c_str())
                  .ok());  // named, not yet migrated
  const auto store = Open();
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ((*store)->Sizes()->kernels, 0);
}

TEST_F(SqliteKernelStoreTest, ReportsALockHeldByAnotherProgram) {
  options_.busy_timeout = absl::Milliseconds(50);
  const auto store = Open();
  ASSERT_TRUE(store.ok());
  Connection other = Raw();
  ASSERT_TRUE(other.Execute("BEGIN IMMEDIATE").ok());
  const auto put = (*store)->PutKernel({Sha256("a"), absl::UnixEpoch(), 1, "{}"}, "a");
  EXPECT_TRUE(absl::IsUnavailable(put.status())) << put.status();
  ASSERT_TRUE(other.Execute("ROLLBACK").ok());
  EXPECT_TRUE((*store)->PutKernel({Sha256("a"), absl::UnixEpoch(), 1, "{}"}, "a").ok());
}

TEST_F(SqliteKernelStoreTest, ReportsATextOverTheFormatsLimitAndGoesOn) {
  const auto store = Open();
  ASSERT_TRUE(store.ok());
  const auto put = (*store)->PutKernel({Sha256("a"), absl::UnixEpoch(), 1, "{}"}, std::string(1'000'000'001, 'x'));
  EXPECT_TRUE(absl::IsResourceExhausted(put.status())) << put.status();
  EXPECT_TRUE(absl::IsNotFound((*store)->GetKernel(Sha256("a")).status()));
  EXPECT_TRUE((*store)->PutKernel({Sha256("b"), absl::UnixEpoch(), 1, "{}"}, "b").ok());
}

}  // namespace
}  // namespace samebits::storage
