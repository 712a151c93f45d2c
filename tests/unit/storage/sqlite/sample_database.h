#ifndef SAMEBITS_TESTS_UNIT_STORAGE_SQLITE_SAMPLE_DATABASE_H_
#define SAMEBITS_TESTS_UNIT_STORAGE_SQLITE_SAMPLE_DATABASE_H_

// A database with something of everything that the stores keep, in a folder of its own.

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/sha256.h"
#include "storage/sqlite/sqlite_fleet_store.h"
#include "storage/sqlite/sqlite_job_store.h"
#include "storage/sqlite/sqlite_kernel_store.h"
#include "storage/sqlite/sqlite_profile_store.h"

namespace samebits::storage {

class SampleDatabase : public testing::Test {
 protected:
  SampleDatabase() {
    std::string pattern = (std::filesystem::temp_directory_path() / "samebits_sample_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    path_ = (folder_ / "samebits.db").string();
  }
  ~SampleDatabase() override {
    Close();
    std::filesystem::remove_all(folder_);
  }
  void Open() {
    SqliteOptions options;
    options.path = path_;
    auto database = sqlite::SharedDatabase::Open(options);
    ASSERT_TRUE(database.ok()) << database.status();
    kernels_ = *MakeSqliteKernelStore(*database);
    jobs_ = MakeSqliteJobStore(*database);
    profiles_ = MakeSqliteProfileStore(*database);
    fleet_ = MakeSqliteFleetStore(*std::move(database));
  }
  void Close() {
    kernels_.reset();
    jobs_.reset();
    profiles_.reset();
    fleet_.reset();
  }

  absl::Time At(int seconds) const { return absl::FromUnixSeconds(1'700'000'000 + seconds); }
  void AddKernel(const std::string& text) {
    ASSERT_TRUE(kernels_->PutKernel({Sha256(text), At(0), text.size(), "about"}, text).ok());
    const SignatureKey key{Sha256(text), Sha256("launch"), 1};
    ASSERT_TRUE(kernels_->PutSignatures({{key, "0123456789abcdef0123456789abcdef", "body"}}).ok());
  }
  void AddJob(const std::string& id, const std::vector<std::string>& targets = {"cpu"}) {
    JobRecord job;
    job.id = id;
    job.kind = "verify";
    job.principal = "alice";
    job.create_time = At(0);
    job.spec = "spec";
    std::vector<TaskRecord> tasks;
    for (const std::string& target : targets) tasks.emplace_back().target = target;
    ASSERT_TRUE(jobs_->CreateJob(job, tasks, {}).ok());
  }
  Lease Take(const std::string& target) {
    const auto leases = jobs_->LeaseTasks({"w", {target}, 1, At(1), At(10)});
    EXPECT_EQ(leases->size(), 1);
    return leases->at(0);
  }
  static LeaseKey Key(const Lease& lease) {
    return {lease.task.job, lease.task.index, lease.task.token, lease.task.worker};
  }

  // Jobs: 1 done, 2 failed with a retried attempt, 3 cancelled, 4 leased, 5 queued.
  void Fill() {
    Open();
    AddKernel("text a");
    AddKernel("text b");
    ASSERT_TRUE(fleet_->OpenSession("w", "worker", At(0)).ok());
    ASSERT_TRUE(profiles_->PutProfile({Sha256("profile"), At(0), "a profile"}, "profile").ok());
    AddJob("done", {"one"});
    ASSERT_TRUE(jobs_->CompleteTask(Key(Take("one")), "result").ok());
    ASSERT_TRUE(*jobs_->FinishJob("done", {JobState::kSucceeded, At(2), 0, "", "result", {{"r", "done", At(2), "case"}}}));
    AddJob("failed", {"two"});
    ASSERT_TRUE(jobs_->FailTask(Key(Take("two")), absl::UnavailableError("lost"), true, At(1), At(1)).ok());
    ASSERT_TRUE(jobs_->FailTask(Key(Take("two")), absl::InternalError("broken"), false, At(2), At(2)).ok());
    ASSERT_TRUE(*jobs_->FinishJob("failed", {JobState::kFailed, At(3), 13, "broken"}));
    AddJob("cancelled", {"three"});
    ASSERT_TRUE(*jobs_->FinishJob("cancelled", {JobState::kCancelled, At(3), 1, "cancelled by alice"}));
    AddJob("leased", {"four", "five"});
    ASSERT_TRUE(*jobs_->AddUnits(Key(Take("four")), {{0, "unit"}, {7, "another"}}, {}));
    AddJob("queued");
  }

  std::filesystem::path folder_;
  std::string path_;
  std::unique_ptr<KernelStore> kernels_;
  std::unique_ptr<JobStore> jobs_;
  std::unique_ptr<ProfileStore> profiles_;
  std::unique_ptr<FleetStore> fleet_;
};

}  // namespace samebits::storage

#endif  // SAMEBITS_TESTS_UNIT_STORAGE_SQLITE_SAMPLE_DATABASE_H_
