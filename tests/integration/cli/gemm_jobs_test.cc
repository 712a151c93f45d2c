// gemm probe and gemm emulate by workers of a server, which may be killed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "tests/integration/cli/program.h"

namespace samebits::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr char kDesc[] = "gemm/1 types=f16,f16,f32,f16 family=split_k instruction=wgmma:16 cuts=contiguous:2048x2:ascending";

class GemmJobsTest : public ::testing::Test {
 protected:
  Outcome Ask(const std::vector<std::string>& words) { return RunSamebits(Joined(words, {"--server", server_.address()})); }
  Json Operation(const std::string& name) { return Json::parse(Ask({"jobs", name, "--format", "json"}).out); }
  std::string Start(std::vector<std::string> words) {
    const Outcome started = Ask(Joined(std::move(words), {"--no-wait"}));
    EXPECT_EQ(started.exit_code, 0) << started.err;
    return started.out.substr(0, started.out.find('\n'));
  }
  void AwaitSome(const std::string& name) {
    for (uint64_t done = 0; done == 0; std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
      const Json operation = Operation(name);
      ASSERT_TRUE(operation["state"] == "QUEUED" || operation["state"] == "RUNNING") << "the job is too short to be killed";
      done = std::stoull(operation["tasks"][0]["done"].get<std::string>());
    }
  }
  // The job's end, where the worker that began it is killed when some of it is done.
  Json Disturbed(const std::vector<std::string>& words) {
    std::string name;
    {
      // as many slots as cores: a thread for each, so that no job is too short
      const unsigned cores = std::clamp(std::thread::hardware_concurrency(), 1u, 64u);
      WorkerProcess first(server_.address(), "first", {"--cpu-slots", std::to_string(cores)});
      name = Start(words);
      AwaitSome(name);
      first.Kill();
    }
    WorkerProcess second(server_.address(), "second");
    EXPECT_EQ(Ask({"jobs", name, "--watch", "--quiet"}).exit_code, 0);
    Json operation = Operation(name);
    EXPECT_EQ(operation["state"], "SUCCEEDED") << operation.dump();
    EXPECT_EQ(operation["tasks"][0]["worker"], "second");
    return operation;
  }

  const Folder data_, files_;
  ServerProcess server_{data_.path(), {"--lease-seconds", "1"}};
};

std::vector<std::string> Probe(int shapes) {
  std::vector<std::string> words = {"gemm", "probe", "--library", "simulated", "--types", "bf16,bf16,f32,f32", "--layout", "NT", "--quiet"};
  for (int i = 0; i < shapes; ++i) words = Joined(words, {"--shape", std::to_string(2 + i) + "x24x" + std::to_string(2000 + 16 * i)});
  return words;
}

TEST_F(GemmJobsTest, ProbesGoOnWhereAWorkerWasKilledAndTheResultIsTheSame) {
  const Json operation = Disturbed(Probe(12));
  EXPECT_EQ(operation["method"], "RecoverGemms");
  WorkerProcess worker(server_.address(), "third");
  const Outcome undisturbed = Ask(Joined(Probe(12), {"--format", "json"}));
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.err;
  EXPECT_EQ(Json::parse(undisturbed.out), operation["recover_gemms"]);
  EXPECT_EQ(operation["recover_gemms"]["gemms"].size(), 12u);
  EXPECT_EQ(operation["recover_gemms"]["gemms"][11]["shape"]["k"], "2176");
  const Outcome one = Ask({"gemm", "probe", "--library", "simulated", "--types", "bf16,bf16,f32,f32", "--m", "4", "--n", "24", "--k", "512"});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(one.out, AllOf(HasSubstr("simulated 1 on simulated, sm_90"), HasSubstr("4 x 24 x 512"), HasSubstr("launches")));
  EXPECT_EQ(RunSamebits({"fsck", "--data", data_.path()}).exit_code, 0);
}

std::vector<std::string> Emulate(const std::string& m) {
  return {"gemm", "emulate", kDesc, "--sm", "90", "--m", m, "--n", "256", "--k", "4096", "--a", "generate:s", "--b", "generate:s:normal", "--quiet"};
}

TEST_F(GemmJobsTest, EmulationGoesOnWhereAWorkerWasKilledAndTheBytesAreTheSame) {
  const Json operation = Disturbed(Emulate("480"));
  EXPECT_EQ(operation["method"], "EmulateGemmOnWorker");
  const Outcome here = RunSamebits(Joined(Emulate("480"), {"--format", "json"}));
  ASSERT_EQ(here.exit_code, 0) << here.err;
  EXPECT_EQ(Json::parse(here.out), operation["emulate_gemm"]);
}

TEST_F(GemmJobsTest, BytesComeBackAndACancelledJobLeavesTheWorkerFree) {
  WorkerProcess worker(server_.address(), "w");
  EXPECT_THAT(Ask({"fleet"}).out, HasSubstr("emulates matrix products"));
  const std::string name = Start(Emulate("100000"));
  AwaitSome(name);
  EXPECT_EQ(Ask({"jobs", name, "--cancel"}).exit_code, 0);
  EXPECT_EQ(Operation(name)["state"], "CANCELLED");
  // A of two rows of ones, B of a row of ones and one of twos; two thirds of K are summed.
  std::string ones, twos;
  for (int i = 0; i < 48; ++i) ones += std::string("\x00\x3c", 2), twos += std::string("\x00\x40", 2);
  const std::string a = files_.Write("a", ones + ones), b = files_.Write("b", ones + twos), d = files_.path() + "/d";
  const Outcome emulated = Ask({"gemm", "emulate", "gemm/1 types=f16,f16,f32,f16 instruction=wgmma:16", "--sm", "90", "--m", "2", "--n", "2",
                                "--k", "48", "--summed-k", "32", "--a", a, "--b", b, "--out", d, "--output", "1,1", "--output", "0,0"});
  ASSERT_EQ(emulated.exit_code, 0) << emulated.err;
  EXPECT_EQ(ReadAll(d), std::string("\x00\x54\x00\x50", 4));  // 64, 32
  EXPECT_THAT(emulated.out, HasSubstr("sha256 "));
}

TEST_F(GemmJobsTest, BadRequestsSayWhatIsWrong) {
  const auto expect = [](const Outcome& outcome, int exit_code, const std::string& words) {
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(words));
  };
  expect(Ask(Probe(1)), 2, "no worker that has 'simulated'");
  expect(Ask(Emulate("1")), 2, "no worker that emulates");
  WorkerProcess worker(server_.address(), "w", {"--no-emulation"});
  expect(Ask(Emulate("1")), 2, "no worker that emulates");
  expect(Ask(Joined(Probe(1), {"--on", "cuda"})), 2, "on cuda");
  expect(Ask(Joined(Probe(1), {"--shape", "1x2"})), 2, "MxNxK");
  expect(Ask(Joined(Probe(1), {"--shape", "0x64x512"})), 2, "--shape '0x64x512'");
  expect(Ask({"gemm", "emulate", kDesc, "--sm", "90", "--m", "1", "--n", "1", "--k", "4096", "--a", "/dev/zero", "--b", "generate:s"}), 2,
         "/dev/zero: more than the 32768 bytes");
  expect(Ask(Joined(Emulate("1"), {"--output", "1"})), 2, "ROW,COLUMN");
  expect(Ask(Joined(Emulate("1"), {"--output", "1,0"})), 2, "outputs[0]");
  expect(Ask(Joined(Emulate("1"), {"--summed-k", "5000"})), 2, "summed_k");
  expect(Ask(Joined(Emulate("1"), {"--c", "generate:s"})), 2, "epilogue");
  expect(Ask({"gemm", "emulate", kDesc, "--sm", "70", "--m", "1", "--n", "1", "--k", "4096", "--a", "generate:", "--b", "generate:"}), 2, "");
}

}  // namespace
}  // namespace samebits::test
