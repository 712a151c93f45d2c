#include "storage/sqlite/check.h"

#include <gmock/gmock.h>

#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "storage/sqlite/migrations.h"
#include "tests/unit/storage/sqlite/sample_database.h"

namespace samebits::storage::sqlite {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

class CheckTest : public SampleDatabase {
 protected:
  static std::vector<std::string> Names(const CheckReport& report) {
    std::vector<std::string> names;
    for (const Finding& finding : report.findings) names.push_back(finding.check);
    return names;
  }
  // What a copy of the sample says after `sql`.
  CheckReport After(const std::string& sql) {
    const std::string copy = (folder_ / "copy.db").string();
    std::filesystem::copy_file(path_, copy, std::filesystem::copy_options::overwrite_existing);
    for (const char* part : {"-wal", "-shm"}) std::filesystem::remove(copy + part);
    {
      auto connection = Connection::Open(copy, Connection::Mode::kReadWriteCreate, absl::Seconds(1));
      EXPECT_TRUE(connection.ok());
      const absl::Status status = connection->Execute(sql.c_str());
      EXPECT_TRUE(status.ok()) << sql << ": " << status;
    }
    auto report = CheckDatabase(copy, {});
    EXPECT_TRUE(report.ok()) << sql << ": " << report.status();
    return report.ok() ? *std::move(report) : CheckReport();
  }
};

TEST_F(CheckTest, AWholeDatabaseHasNoFindingsAlsoWhileAServerUsesIt) {
  Fill();
  for (const bool open : {true, false}) {
    if (!open) Close();
    const auto report = CheckDatabase(path_, {});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_THAT(Names(*report), IsEmpty());
    EXPECT_EQ(report->schema_version, LatestSchemaVersion());
    EXPECT_EQ(report->kernels, 2);
    EXPECT_EQ(report->signatures, 2);
    EXPECT_EQ(report->jobs, 5);
    EXPECT_EQ(report->tasks, 6);
    EXPECT_EQ(report->reproducers, 1);
    EXPECT_EQ(report->workers, 1);
  }
}

TEST_F(CheckTest, FindsRowsThatBreakARule) {
  Fill();
  Close();
  const std::string leased = "(SELECT sequence FROM jobs WHERE id = 'leased')";
  const std::pair<const char*, std::string> cases[] = {
      {"references", "DELETE FROM jobs WHERE id = 'failed'"},  // foreign keys are off
      {"schema", "DROP INDEX tasks_queued"},
      {"schema", "CREATE TABLE more (x INTEGER)"},
      {"schema", "DROP TRIGGER kernel_added"},
      {"kernels-text", "DELETE FROM kernel_texts WHERE text = CAST('text a' AS BLOB)"},
      {"kernels-size", "UPDATE kernel_texts SET text = x'00'"},
      {"signatures-digest", "UPDATE signatures SET digest = 'A123456789abcdef0123456789abcdef'"},
      {"totals", "UPDATE totals SET signatures = 3"},
      {"totals", "UPDATE totals SET text_bytes = 3"},
      {"totals-row", "DELETE FROM totals"},
      {"jobs-body", "DELETE FROM job_bodies WHERE job = 5"},
      {"jobs-tasks", "DELETE FROM tasks WHERE job = 5"},
      {"jobs-tasks", "UPDATE tasks SET task = 7 WHERE job = 5"},
      {"jobs-open-tasks", "UPDATE jobs SET open_tasks = 1 WHERE id = 'leased'"},
      {"jobs-open-end", "UPDATE jobs SET error_code = 1 WHERE id = 'queued'"},
      {"jobs-ended-tasks", "UPDATE tasks SET state = 0 WHERE job = 1"},
      {"jobs-ended-tasks", "UPDATE jobs SET open_tasks = 1 WHERE id = 'done'"},
      {"jobs-ended-time", "UPDATE jobs SET end_time_micros = 9223372036854775807 WHERE id = 'done'"},
      {"jobs-succeeded", "UPDATE tasks SET state = 3, error_code = 2 WHERE job = 1"},
      {"jobs-cause", "UPDATE jobs SET error_code = 0 WHERE id = 'cancelled'"},
      {"jobs-start", "UPDATE jobs SET start_time_micros = 9223372036854775807 WHERE id = 'leased'"},
      {"leases-held", absl::StrCat("UPDATE tasks SET worker = '' WHERE job = ", leased)},
      {"leases-held", absl::StrCat("UPDATE tasks SET lease_deadline_micros = 9223372036854775807 WHERE job = ", leased)},
      {"leases-ended", "UPDATE tasks SET lease_deadline_micros = 5 WHERE job = 5"},
      {"leases-tokens", "UPDATE tasks SET token = 1 WHERE token > 0"},
      {"leases-counter", "UPDATE counters SET value = 1 WHERE name = 'lease_token'"},
      {"tasks-attempts", "UPDATE tasks SET attempt = max_attempts + 1 WHERE job = 1"},
      {"tasks-done", "UPDATE tasks SET attempt = 0 WHERE job = 1"},
      {"tasks-failed", "UPDATE tasks SET error_code = 0 WHERE state = 3"},
      {"tasks-cancelled", "UPDATE tasks SET state = 4 WHERE job = 5"},
      {"tasks-priority", "UPDATE tasks SET priority = 7 WHERE job = 5"},
      {"attempts-once", "UPDATE task_attempts SET attempt = 1"},
      {"attempts-task", "UPDATE task_attempts SET attempt = attempt + 2"},
      {"attempts-task", "UPDATE task_attempts SET task = 3"},
      {"units-ended", "UPDATE task_units SET job = 1"},
      {"units-leased", "UPDATE task_units SET task = 1"},
      {"counters", "DELETE FROM counters WHERE name = 'session'"},
      {"counters-finished", "UPDATE counters SET value = 1 WHERE name = 'finished_jobs'"},
      {"sessions", "UPDATE workers SET session = 100"},
      {"reproducers-name", "UPDATE reproducers SET id = ''"},
  };
  for (const auto& [check, sql] : cases) {
    const CheckReport report = After(sql);
    EXPECT_THAT(Names(report), Contains(check)) << sql;
    for (const Finding& finding : report.findings) {
      EXPECT_FALSE(finding.what.empty() || finding.example.empty() || finding.remedy.empty()) << finding.check;
      EXPECT_GT(finding.count, 0);
    }
  }
}

TEST_F(CheckTest, FindsDamageOfTheFile) {
  Fill();
  for (int i = 0; i < 50; ++i) AddKernel(absl::StrCat("text ", i, std::string(5000, 'x')));
  Close();
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  for (const int page : {3, 5, 9, 12}) {
    file.seekp(4096 * page);
    file << std::string(64, '\x5a');
  }
  file.close();
  const auto report = CheckDatabase(path_, {});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(Names(*report), Contains("file"));
}

TEST_F(CheckTest, AsksTheOwnerOfTheBytes) {
  Fill();
  const auto wrong_if = [](std::string_view wanted) {
    return [wanted](std::string_view a, std::string_view b) {
      return a == wanted || b == wanted ? std::string("seen") : std::string();
    };
  };
  const auto one = [](std::string_view wanted) {
    return [wanted](std::string_view bytes) { return bytes == wanted ? std::string("seen") : std::string(); };
  };
  const ContentChecks checks[] = {
      {[](const Digest& digest, std::string_view text) {
        return digest == Sha256(text) && absl::StrContains(absl::string_view(text.data(), text.size()), "a") ? "seen" : "";
      }},
      {.kernel = one("about")},   {.signature = wrong_if("body")}, {.job = wrong_if("spec")},
      {.result = wrong_if("result")}, {.reproducer = one("case")}, {.worker = one("worker")},
      {.profile_text = [](const Digest& digest, std::string_view text) { return digest == Sha256(text) ? "seen" : ""; }},
      {.profile = one("a profile")},
  };
  const char* names[] = {"kernels-digest", "kernels-description", "signatures-body", "jobs-request",
                         "jobs-result",    "reproducers-body",    "workers-description",
                         "profiles-digest",      "profiles-description"};
  const uint64_t counts[] = {1, 2, 2, 5, 1, 1, 1, 1, 1};
  for (size_t i = 0; i < std::size(checks); ++i) {
    const auto report = CheckDatabase(path_, checks[i]);
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_EQ(report->findings.size(), 1) << names[i];
    EXPECT_EQ(report->findings[0].check, names[i]);
    EXPECT_EQ(report->findings[0].count, counts[i]) << names[i];
    EXPECT_TRUE(absl::StrContains(report->findings[0].example, "seen")) << report->findings[0].example;
  }
}

TEST_F(CheckTest, RefusesWhatItCannotCheck) {
  EXPECT_TRUE(absl::IsNotFound(CheckDatabase(path_, {}).status()));
  std::ofstream(path_) << "This is no database, but a text that is long enough to be taken for one by a careless reader. "
                          "It goes on for more than a hundred bytes.";
  EXPECT_TRUE(absl::IsDataLoss(CheckDatabase(path_, {}).status())) << CheckDatabase(path_, {}).status();
  std::filesystem::remove(path_);
  {
    auto other = Connection::Open(path_, Connection::Mode::kReadWriteCreate, absl::Seconds(1));
    ASSERT_TRUE(other->Execute("CREATE TABLE theirs (x INTEGER)").ok());
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckDatabase(path_, {}).status()));
  std::filesystem::remove(path_);
  Fill();
  Close();
  {
    auto newer = Connection::Open(path_, Connection::Mode::kReadWriteCreate, absl::Seconds(1));
    ASSERT_TRUE(newer->Execute("INSERT INTO schema_migrations VALUES (999, 0)").ok());
  }
  const absl::Status status = CheckDatabase(path_, {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "newer program")) << status;
}

}  // namespace
}  // namespace samebits::storage::sqlite
