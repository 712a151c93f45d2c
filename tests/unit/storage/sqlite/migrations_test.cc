// Databases that released versions made, opened by this one. tests/data/databases/README.md says how they were made.

#include "storage/sqlite/migrations.h"

#include <gmock/gmock.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "storage/sqlite/check.h"
#include "tests/unit/storage/sqlite/sample_database.h"

namespace samebits::storage::sqlite {
namespace {

std::string Stored(int version) {
  return absl::StrCat(SAMEBITS_SOURCE_DIR "/tests/data/databases/schema_", version, ".db");
}

class MigrationsTest : public SampleDatabase {
 protected:
  void Load(int version) {
    std::filesystem::copy_file(Stored(version), path_, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::permissions(path_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
};

TEST_F(MigrationsTest, EveryReleasedSchemaIsStored) {
  for (int version = 1; version < LatestSchemaVersion(); ++version)
    EXPECT_TRUE(std::filesystem::exists(Stored(version)))
        << "make a database with the last program of schema " << version << ", see tests/data/databases/README.md";
}

TEST_F(MigrationsTest, StoredDatabasesAreOfTheirVersionAndWhole) {
  for (int version = 1; std::filesystem::exists(Stored(version)); ++version) {
    Load(version);
    const auto report = CheckDatabase(path_, {});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->schema_version, version);
    EXPECT_TRUE(report->findings.empty()) << report->findings[0].what << ": " << report->findings[0].example;
    EXPECT_GE(report->kernels, 2);
    EXPECT_GE(report->signatures, 2);
  }
}

TEST_F(MigrationsTest, TheyOpenWithTheirContentAndTheSchemaOfANewOne) {
  for (int version = 1; std::filesystem::exists(Stored(version)); ++version) {
    Load(version);
    const CheckReport before = *CheckDatabase(path_, {});
    Open();
    const auto page = kernels_->ListKernels(std::nullopt, 100);
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_EQ(page->kernels.size(), before.kernels);
    for (const KernelRecord& kernel : page->kernels)
      EXPECT_EQ(Sha256(*kernels_->GetText(kernel.digest)), kernel.digest);
    EXPECT_EQ(kernels_->Sizes()->signatures, before.signatures);
    const auto jobs = jobs_->ListJobs({}, 0, 100);
    ASSERT_TRUE(jobs.ok()) << jobs.status();
    EXPECT_EQ(jobs->jobs.size(), before.jobs);
    std::map<JobState, int> states;
    for (const JobRecord& job : jobs->jobs) {
      ++states[job.state];
      EXPECT_FALSE(jobs_->GetJob(job.id)->spec.empty());
      EXPECT_FALSE(jobs_->GetTasks(job.id)->empty());
    }
    if (version >= 2) {
      for (const JobState state : {JobState::kOpen, JobState::kSucceeded, JobState::kFailed, JobState::kCancelled})
        EXPECT_GT(states[state], 0) << static_cast<int>(state);
      EXPECT_EQ(jobs_->ListReproducers(0, 100)->reproducers.size(), before.reproducers);
      EXPECT_GT(before.reproducers, 0);
      EXPECT_FALSE(fleet_->ListWorkers()->empty());
    }
    AddJob("new");  // and goes on
    AddKernel("new");
    Close();
    const auto after = CheckDatabase(path_, {});  // compares the schema with that of a fresh database
    ASSERT_TRUE(after.ok()) << after.status();
    EXPECT_EQ(after->schema_version, LatestSchemaVersion());
    EXPECT_TRUE(after->findings.empty()) << after->findings[0].what << ": " << after->findings[0].example;
  }
}

TEST_F(MigrationsTest, AFailedMigrationLeavesTheVersionBefore) {
  Load(1);
  {
    auto connection = Connection::Open(path_, Connection::Mode::kReadWriteCreate, absl::Seconds(1));
    ASSERT_TRUE(connection->Execute("CREATE TABLE workers (x INTEGER)").ok());  // in the way
  }
  SqliteOptions options;
  options.path = path_;
  EXPECT_FALSE(SharedDatabase::Open(options).ok());
  auto connection = Connection::Open(path_, Connection::Mode::kReadWriteCreate, absl::Seconds(1));
  EXPECT_EQ(*ReadSchemaVersion(*connection), 1);
  EXPECT_FALSE(connection->QueryInt("SELECT count(*) FROM jobs").ok());  // no part of it
  ASSERT_TRUE(connection->Execute("DROP TABLE workers").ok());
  EXPECT_TRUE(SharedDatabase::Open(options).ok());
}

}  // namespace
}  // namespace samebits::storage::sqlite
