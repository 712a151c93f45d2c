// The program as a server, and what only a server can do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/integration/cli/kernels.h"
#include "tests/integration/cli/program.h"

namespace samebits::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

TEST(ServerCommandTest, RegisteredKernelsOutliveAKilledServer) {
  const Folder data, files;
  const std::string a = files.Write("a.ptx", Added()), b = files.Write("b.ptx", AddedSwapped());
  std::vector<std::string> names;
  {
    ServerProcess server(data.path());
    for (const std::string& path : {a, b, a}) {
      const Outcome run = RunSamebits({"register", path, "--format", "json", "--server", server.address()});
      ASSERT_EQ(run.exit_code, 0) << run.err;
      names.push_back(Json::parse(run.out)["name"]);
      EXPECT_THAT(names.back(), StartsWith("kernels/"));
    }
    server.Kill();
  }
  EXPECT_EQ(names[0], names[2]);
  EXPECT_NE(names[0], names[1]);
  ServerProcess server(data.path());
  const Outcome compare = RunSamebits({"compare", names[0], names[1], "--block", "32", "--server", server.address()});
  EXPECT_EQ(compare.exit_code, 0) << compare.err;
  const Outcome mixed = RunSamebits({"compare", names[0], b, "--block", "32", "--server", server.address()});
  EXPECT_EQ(mixed.exit_code, 0) << mixed.err;
  const Outcome inspect = RunSamebits({"inspect", names[0], "--block", "32", "--server", server.address()});
  EXPECT_EQ(inspect.exit_code, 0) << inspect.err;
  EXPECT_EQ(server.Stop(), 0);
}

TEST(ServerCommandTest, ErrorsOfRegistration) {
  const Folder data, files;
  ServerProcess server(data.path());
  const std::string good = files.Write("a.ptx", Added()), bad = files.Write("bad.ptx", Misspelt());
  const Outcome run = RunSamebits({"register", bad, files.path() + "/none.ptx", good, "--server", server.address()});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("bad.ptx: "), HasSubstr("none.ptx: No such file")));
  EXPECT_THAT(run.out, HasSubstr("kernels/"));
  const std::string unregistered = "kernels/" + std::string(64, '0');
  const Outcome missing = RunSamebits({"compare", unregistered, good, "--block", "32", "--server", server.address()});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr(unregistered));
}

TEST(ServerCommandTest, AServerThatIsNotThere) {
  const Folder files;
  const std::string a = files.Write("a.ptx", Added());
  const Outcome run = RunSamebits({"compare", a, a, "--block", "32", "--server", "127.0.0.1:1"});
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err, AllOf(HasSubstr("127.0.0.1:1"), HasSubstr("--local"), HasSubstr("samebits serve")));
}

TEST(ServerCommandTest, StartErrorsSayWhatToDo) {
  const Folder data, other;
  ServerProcess server(data.path());
  const Outcome taken =
      RunSamebits({"serve", "--listen", server.address(), "--metrics", "none", "--data", other.path()});
  EXPECT_NE(taken.exit_code, 0);
  EXPECT_THAT(taken.err, AllOf(HasSubstr("cannot listen on " + server.address()), HasSubstr("--listen")));
  EXPECT_THAT(taken.err, Not(HasSubstr("bind"))) << "no library's own words";
  const Outcome metrics = RunSamebits({"serve", "--listen", "127.0.0.1:0", "--metrics", server.address(), "--data", other.path()});
  EXPECT_THAT(metrics.err, AllOf(HasSubstr("cannot listen on " + server.address()), HasSubstr("--metrics")));
  const Outcome remote = RunSamebits({"serve", "--listen", "0.0.0.0:0", "--metrics", "none", "--data", other.path()});
  EXPECT_EQ(remote.exit_code, 2);
  EXPECT_THAT(remote.err, HasSubstr("allow-remote-plaintext"));
  other.Write("file", "");
  const Outcome folder = RunSamebits({"serve", "--listen", "127.0.0.1:0", "--data", other.path() + "/file"});
  EXPECT_EQ(folder.exit_code, 2);
  EXPECT_THAT(folder.err, HasSubstr("--data"));
}

TEST(LocalCommandTest, WhatNeedsAServerSaysSo) {
  const Folder files;
  const std::string a = files.Write("a.ptx", Added());
  const Outcome run = RunSamebits({"register", a, "--local"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("drop --local"));
  const std::string name = "kernels/" + std::string(64, '0');
  const Outcome compare = RunSamebits({"compare", name, a, "--block", "32", "--local"});
  EXPECT_EQ(compare.exit_code, 2);
  EXPECT_THAT(compare.err, HasSubstr("drop --local"));
}

TEST(LocalCommandTest, Version) {
  const Outcome run = RunSamebits({"version", "--format", "json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_GE(Json::parse(run.out)["signature_version"], 1);
}

}  // namespace
}  // namespace samebits::test
