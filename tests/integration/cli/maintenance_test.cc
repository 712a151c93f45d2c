// backup, restore and fsck on what a server really stores, beside it and after its death.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "storage/sqlite/database.h"
#include "tests/integration/cli/kernels.h"
#include "tests/integration/cli/program.h"

namespace samebits::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class MaintenanceTest : public ::testing::Test {
 protected:
  // With a registered pair, signatures, an arch profile, and an ended and a waiting job.
  void Fill(const ServerProcess& server) {
    const auto ask = [&](std::vector<std::string> words) {
      words.insert(words.end(), {"--server", server.address()});
      const Outcome run = RunSamebits(words);
      EXPECT_EQ(run.exit_code, 0) << run.err;
      return run.out;
    };
    for (const std::string& path : {sum_, swapped_})
      names_.push_back(Json::parse(ask({"register", path, "--format", "json"}))["name"]);
    ask({"compare", names_[0], names_[1], "--block", "32"});
    ask({"profile", "import", profile_});
    WorkerProcess worker(server.address(), "w");
    const std::vector<std::string> verify = {"verify", sum_, swapped_, "--block", "32", "--grid", "2", "--arg", "x=ptr:x",
                                             "--arg", "o=ptr:o", "--arg", "s=1.5", "--buffer", "x=f32:64:in", "--buffer",
                                             "o=f32:64:out", "--distribution", "scales"};
    ask(verify);
    ask({"fleet", "w", "--drain"});
    std::vector<std::string> waiting = verify;
    waiting.push_back("--no-wait");
    ask(waiting);
  }
  Outcome Run(std::vector<std::string> words) {
    words.insert(words.end(), {"--data", data_.path()});
    return RunSamebits(words);
  }
  static void Spoil(const std::string& database, const char* sql) {
    using storage::sqlite::Connection;
    auto connection = Connection::Open(database, Connection::Mode::kReadWriteCreate, absl::Seconds(1));
    ASSERT_TRUE(connection.ok());
    EXPECT_TRUE(connection->Execute(sql).ok());
  }

  const Folder data_, files_;
  const std::string sum_ = files_.Write("sum.ptx", Added()), swapped_ = files_.Write("swapped.ptx", AddedSwapped());
  const std::string profile_ = files_.Write("p", "samebits-profile/1\ndevice made up\narch 90 132\nlibrary simulated\nversion 1\n"
                                                "driver none\nworkspace 33554432\n");
  const std::string backup_ = files_.path() + "/backup.db", database_ = data_.path() + "/samebits.db";
  std::vector<std::string> names_;
};

TEST_F(MaintenanceTest, BackupBesideAServerRestoreAfterItsDeath) {
  {
    ServerProcess server(data_.path());
    Fill(server);
    const Outcome backup = Run({"backup", backup_});
    ASSERT_EQ(backup.exit_code, 0) << backup.err << backup.out;
    EXPECT_THAT(backup.out, AllOf(HasSubstr("whole"), HasSubstr("2 kernels"), HasSubstr("2 jobs")));
    EXPECT_EQ(Run({"backup", backup_}).exit_code, 2);  // is there already
    const Outcome live = Run({"fsck", "--format", "json"});
    ASSERT_EQ(live.exit_code, 0) << live.err;
    const Json report = Json::parse(live.out);
    EXPECT_EQ(report["whole"], true);
    EXPECT_GE(report["signatures"], 2);
    const Outcome refused = Run({"restore", backup_, "--replace"});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("another server uses this database"));
    const Outcome product = RunSamebits({"register", files_.Write("p.ptx", Multiplied()), "--server", server.address()});
    EXPECT_EQ(product.exit_code, 0);
    server.Kill();
  }
  EXPECT_EQ(Run({"fsck"}).exit_code, 0);
  const Outcome there = Run({"restore", backup_});
  EXPECT_EQ(there.exit_code, 2);
  EXPECT_THAT(there.err, HasSubstr("--replace"));
  const Outcome restored = Run({"restore", backup_, "--replace"});
  ASSERT_EQ(restored.exit_code, 0) << restored.err;
  EXPECT_THAT(restored.out, HasSubstr(".before-"));
  EXPECT_THAT(Run({"fsck"}).out, HasSubstr("2 kernels"));  // without the third
  ServerProcess server(data_.path());
  const Outcome known = RunSamebits({"compare", names_[0], names_[1], "--block", "32", "--server", server.address()});
  EXPECT_EQ(known.exit_code, 0) << known.err;
  EXPECT_THAT(RunSamebits({"jobs", "--open", "--server", server.address()}).out, HasSubstr("QUEUED"));
  EXPECT_THAT(RunSamebits({"profile", "list", "--server", server.address()}).out, HasSubstr("made up"));
  EXPECT_EQ(server.Stop(), 0);
}

TEST_F(MaintenanceTest, FindingsNameTheirRemedyAndStopARestore) {
  {
    ServerProcess server(data_.path());
    Fill(server);
    EXPECT_EQ(server.Stop(), 0);
  }
  ASSERT_EQ(Run({"backup", backup_}).exit_code, 0);
  const std::pair<const char*, const char*> cases[] = {
      {"kernels-digest", "UPDATE kernel_texts SET text = CAST(replace(text, 'add', 'sub') AS BLOB)"},
      {"signatures-body", "UPDATE signatures SET digest = '0123456789abcdef0123456789abcdef'"},
      {"signatures-body", "UPDATE signatures SET body = x'ffff'"},
      {"jobs-request", "UPDATE job_bodies SET spec = x'ffff'"},
      {"jobs-result", "UPDATE job_bodies SET result = x''"},
      {"workers-description", "UPDATE workers SET description = x'ffff'"},
      {"profiles-digest", "UPDATE arch_profiles SET text = CAST(replace(text, '90', '80') AS BLOB)"},
      {"profiles-description", "UPDATE arch_profiles SET description = x'ffff'"},
      {"leases-counter", "UPDATE counters SET value = 0 WHERE name = 'lease_token'"},
  };
  for (const auto& [check, sql] : cases) {
    const std::string bad = files_.path() + "/bad.db";
    std::filesystem::copy_file(backup_, bad, std::filesystem::copy_options::overwrite_existing);
    Spoil(bad, sql);
    const Outcome fsck = Run({"fsck", bad});
    EXPECT_EQ(fsck.exit_code, 1) << sql << fsck.err;
    EXPECT_THAT(fsck.out, AllOf(HasSubstr(check), HasSubstr("remedy: "), HasSubstr("NOT WHOLE")));
    const Json report = Json::parse(Run({"fsck", bad, "--format", "json"}).out);
    EXPECT_EQ(report["findings"][0]["check"], check);
    const Outcome refused = Run({"restore", bad, "--replace"});
    EXPECT_EQ(refused.exit_code, 4) << refused.out;
    EXPECT_THAT(refused.err, HasSubstr("nothing was restored"));
  }
  EXPECT_EQ(Run({"fsck"}).exit_code, 0);
  EXPECT_EQ(Run({"fsck", files_.path() + "/none.db"}).exit_code, 2);
  EXPECT_EQ(Run({"fsck", sum_}).exit_code, 4);
  const Folder empty;
  EXPECT_EQ(RunSamebits({"backup", files_.path() + "/x.db", "--data", empty.path()}).exit_code, 2);
  const std::string made = empty.path() + "/new/folder";
  EXPECT_EQ(RunSamebits({"restore", backup_, "--data", made}).exit_code, 0);
  EXPECT_EQ(RunSamebits({"fsck", "--data", made}).exit_code, 0);
}

}  // namespace
}  // namespace samebits::test
