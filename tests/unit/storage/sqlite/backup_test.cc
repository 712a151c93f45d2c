#include "storage/sqlite/backup.h"

#include <sys/stat.h>

#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "storage/sqlite/check.h"
#include "tests/unit/storage/sqlite/sample_database.h"

namespace samebits::storage::sqlite {
namespace {

class BackupTest : public SampleDatabase {
 protected:
  // Names in the folder, but for locks.
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      if (entry.path().extension() != ".lock") files.push_back(entry.path().filename().string());
    std::sort(files.begin(), files.end());
    return files;
  }
  const std::string copy_ = path_ + ".backup";
};

TEST_F(BackupTest, CopiesBesideAWriterOneStateAtATime) {
  Open();
  std::atomic<bool> stop{false};
  std::atomic<int> written{0};
  // Each job comes with its tasks in one transaction: a copy that mixes two states has a job without them, or the
  // reverse.
  std::thread writer([&] {
    while (!stop) AddJob(absl::StrCat("j", written++), {"a", "b", "c"});
  });
  uint64_t last = 0;
  for (int i = 0; i < 10; ++i) {
    const std::string copy = absl::StrCat(copy_, i);
    const absl::Status status = CopyDatabase(path_, copy);
    ASSERT_TRUE(status.ok()) << status;
    const auto report = CheckDatabase(copy, {});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->findings.empty()) << report->findings[0].what << ": " << report->findings[0].example;
    EXPECT_EQ(report->tasks, 3 * report->jobs);
    EXPECT_GE(report->jobs, last);
    last = report->jobs;
  }
  stop = true;
  writer.join();
  EXPECT_GT(written, 10);
  EXPECT_GT(last, 0);
}

TEST_F(BackupTest, TheCopyIsPrivateAndNeedsNoOtherFile) {
  Fill();
  ASSERT_TRUE(CopyDatabase(path_, copy_).ok());
  Close();
  struct stat info {};
  ASSERT_EQ(stat(copy_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
  EXPECT_THAT(Files(), testing::ElementsAre("samebits.db", "samebits.db.backup"));
  auto copy = Connection::Open(copy_, Connection::Mode::kReadOnly, absl::Seconds(1));
  EXPECT_EQ(*copy->QueryText("PRAGMA journal_mode"), "delete");
}

TEST_F(BackupTest, OverwritesNothingAndLeavesNothingBehind) {
  EXPECT_TRUE(absl::IsNotFound(CopyDatabase(path_, copy_)));
  Fill();
  Close();
  std::ofstream(copy_) << "precious";
  EXPECT_TRUE(absl::IsAlreadyExists(CopyDatabase(path_, copy_)));
  EXPECT_EQ(std::filesystem::file_size(copy_), 8);
  EXPECT_TRUE(absl::IsFailedPrecondition(CopyDatabase(path_, (folder_ / "none" / "copy").string())));
  EXPECT_FALSE(CopyDatabase(copy_, path_ + ".of_no_database").ok());
  EXPECT_THAT(Files(), testing::ElementsAre("samebits.db", "samebits.db.backup"));
}

TEST_F(BackupTest, RestoresIntoAnEmptyPlaceAndOverADatabase) {
  Fill();
  ASSERT_TRUE(CopyDatabase(path_, copy_).ok());
  AddJob("later");
  const absl::Status in_use = RestoreDatabase(copy_, path_, true).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(in_use)) << in_use;
  Close();
  EXPECT_TRUE(absl::IsAlreadyExists(RestoreDatabase(copy_, path_, false).status()));
  std::ofstream(path_ + "-wal") << "of a server that was killed";
  const auto aside = RestoreDatabase(copy_, path_, true);
  ASSERT_TRUE(aside.ok()) << aside.status();
  EXPECT_TRUE(absl::StartsWith(*aside, path_ + ".before-")) << *aside;
  EXPECT_TRUE(std::filesystem::exists(*aside + "-wal"));
  EXPECT_FALSE(std::filesystem::exists(path_ + "-wal"));
  Open();
  EXPECT_TRUE(absl::IsNotFound(jobs_->GetJob("later").status()));
  EXPECT_EQ(jobs_->GetJob("queued")->state, JobState::kOpen);
  EXPECT_EQ(kernels_->Sizes()->kernels, 2);
  Close();
  const std::string elsewhere = (folder_ / "elsewhere.db").string();
  const auto nothing = RestoreDatabase(copy_, elsewhere, false);
  ASSERT_TRUE(nothing.ok()) << nothing.status();
  EXPECT_EQ(*nothing, "");
  EXPECT_TRUE(absl::IsNotFound(RestoreDatabase(copy_ + "x", elsewhere, true).status()));
}

// A worker that got its lease after the backup must not hold the lease that the restored server gives to another.
TEST_F(BackupTest, LeasesAndSessionsFromAfterTheBackupAreVoid) {
  Fill();
  ASSERT_TRUE(CopyDatabase(path_, copy_).ok());
  const Lease lost = Take("cpu");
  const int64_t session = fleet_->OpenSession("w", "worker", At(5))->session;
  Close();
  ASSERT_TRUE(RestoreDatabase(copy_, path_, true).ok());
  Open();
  EXPECT_EQ(jobs_->CompleteTask(Key(lost), "result")->outcome, Outcome::kStale);
  const Lease current = Take("cpu");
  EXPECT_EQ(current.task.job, lost.task.job);
  EXPECT_GT(current.task.token, lost.task.token);
  EXPECT_EQ(jobs_->CompleteTask(Key(lost), "result")->outcome, Outcome::kStale);
  EXPECT_TRUE(absl::IsAborted(fleet_->Touch("w", session, At(6))));
  EXPECT_GT(fleet_->OpenSession("w", "worker", At(7))->session, session);
  const auto report = CheckDatabase(path_, {});
  EXPECT_TRUE(report->findings.empty());
}

}  // namespace
}  // namespace samebits::storage::sqlite
