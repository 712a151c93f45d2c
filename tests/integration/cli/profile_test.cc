// profile build: a study of a library by a worker of a server, which may be killed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "tests/integration/cli/program.h"
#include "tests/support/http_get.h"

namespace samebits::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

std::vector<std::string> Build(const std::vector<std::string>& more, const char* shapes = "96") {
  return Joined({"profile", "build", "--library", "simulated", "--kinds", "f16,f16,f32,f16;bf16,bf16,f32,f32:NT", "--shapes", shapes,
                 "--most-k", "1500", "--no-models", "--seed", "5", "--quiet"},
                more);
}

class ProfileTest : public ::testing::Test {
 protected:
  Outcome Ask(const std::vector<std::string>& words) { return RunSamebits(Joined(words, {"--server", server_.address()})); }
  Json Operation(const std::string& name) { return Json::parse(Ask({"jobs", name, "--format", "json"}).out); }
  std::string Start(const char* shapes) {
    const Outcome started = Ask(Build({"--no-wait"}, shapes));
    EXPECT_EQ(started.exit_code, 0) << started.err;
    return started.out.substr(0, started.out.find('\n'));
  }
  // Until the task has so many parts of 32 shapes.
  void AwaitShapes(const std::string& name, uint64_t shapes) {
    for (uint64_t done = 0; done < shapes; std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
      const Json task = Operation(name)["tasks"][0];
      ASSERT_NE(task["state"], "SUCCEEDED") << "the job is too short to be killed";
      done = std::stoull(task["done"].get<std::string>());
    }
  }

  const Folder data_, files_;
  ServerProcess server_{data_.path(), {"--lease-seconds", "1"}};
};

TEST_F(ProfileTest, AnotherWorkerGoesOnWhereOneWasKilledAndTheProfileIsTheSame) {
  const std::string here = files_.path() + "/here.txt", there = files_.path() + "/there.txt";
  ASSERT_EQ(RunSamebits(Build({"--out", here, "--threads", "2"})).exit_code, 0);
  std::string name;
  {
    WorkerProcess first(server_.address(), "first");
    name = Start("96");
    AwaitShapes(name, 70);
    first.Kill();
  }
  WorkerProcess second(server_.address(), "second");
  ASSERT_EQ(Ask({"jobs", name, "--watch", "--quiet"}).exit_code, 0);
  const Json operation = Operation(name);
  EXPECT_EQ(operation["method"], "ReconstructArchProfile");
  EXPECT_EQ(operation["state"], "SUCCEEDED");
  EXPECT_EQ(operation["tasks"][0]["worker"], "second");
  EXPECT_EQ(operation["arch_profile"]["shapes"], "192");
  const std::string profile = operation["arch_profile"]["name"];
  ASSERT_EQ(Ask({"profile", "export", profile, "--out", there}).exit_code, 0);
  EXPECT_EQ(ReadAll(there), ReadAll(here));
  // What the first worker had finished was not done again: 192 shapes are 6 parts.
  const std::string metrics = HttpGet(server_.metrics(), "/metrics");
  const size_t at = metrics.find("\nsamebits_task_units_total ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_GE(std::stod(metrics.substr(at + 27)), 2);
  EXPECT_LE(std::stod(metrics.substr(at + 27)), 6);
}

TEST_F(ProfileTest, OneCommandBuildsAndStoresAndACancelledJobLeavesNothing) {
  WorkerProcess worker(server_.address(), "w");
  EXPECT_THAT(Ask({"fleet"}).out, HasSubstr("libraries: simulated, simulated-2"));
  const std::string out = files_.path() + "/profile.txt";
  const Outcome built = Ask(Build({"--out", out}, "4"));
  ASSERT_EQ(built.exit_code, 0) << built.err;
  EXPECT_THAT(built.out, AllOf(HasSubstr("archProfiles/"), HasSubstr("simulated (sm_90")));
  EXPECT_THAT(ReadAll(out), HasSubstr("samebits-profile/1"));
  EXPECT_THAT(Ask({"profile", "list"}).out, HasSubstr("8 of 8 shapes explained"));
  const std::string name = Start("3000");
  AwaitShapes(name, 33);
  EXPECT_EQ(Ask({"jobs", name, "--cancel"}).exit_code, 0);
  EXPECT_EQ(Operation(name)["state"], "CANCELLED");
  EXPECT_EQ(Ask(Build({}, "4")).exit_code, 0);  // the worker serves on
  const Outcome fsck = RunSamebits({"fsck", "--data", data_.path()});
  EXPECT_EQ(fsck.exit_code, 0) << fsck.out;
}

TEST_F(ProfileTest, BadRequestsSayWhatIsWrong) {
  const auto expect = [](const Outcome& outcome, const std::string& words) {
    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_THAT(outcome.err, HasSubstr(words));
  };
  expect(Ask(Build({}, "4")), "no worker that has 'simulated'");
  WorkerProcess worker(server_.address(), "w");
  expect(Ask(Build({"--on", "cuda"}, "4")), "on cuda");
  expect(Ask(Build({"--rules-of", "archProfiles/1"}, "4")), "rules_of");
  expect(RunSamebits(Build({}, "4")), "--out");
}

}  // namespace
}  // namespace samebits::test
