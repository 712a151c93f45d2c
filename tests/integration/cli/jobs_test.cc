// verify, jobs and fleet, with server and worker as processes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/integration/cli/kernels.h"
#include "tests/integration/cli/program.h"
#include "tests/support/fake_gpu/scoped_variable.h"

namespace samebits::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class JobsTest : public ::testing::Test {
 protected:
  Outcome Ask(std::vector<std::string> words) {
    words.insert(words.end(), {"--server", server_.address()});
    return RunSamebits(words);
  }
  // `verify` of these kernels on 2 blocks of 32 threads.
  Outcome Verify(const std::vector<std::string>& kernels, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"verify"};
    words.insert(words.end(), kernels.begin(), kernels.end());
    for (const char* word : {"--block", "32", "--grid", "2", "--arg", "x=ptr:x", "--arg", "o=ptr:o", "--arg", "s=1.5",
                             "--buffer", "x=f32:64:in", "--buffer", "o=f32:64:out", "--distribution", "scales"})
      words.push_back(word);
    words.insert(words.end(), more.begin(), more.end());
    return Ask(words);
  }

  const Folder data_, files_;
  ServerProcess server_{data_.path()};
  const std::string sum_ = files_.Write("sum.ptx", Added()), swapped_ = files_.Write("swapped.ptx", AddedSwapped()),
                    product_ = files_.Write("product.ptx", Multiplied());
};

TEST_F(JobsTest, NamesThatMatchNothingAreErrors) {
  const Outcome wrong = Verify({sum_}, {"--buffer", "z=f32:64:in"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("--buffer z"), HasSubstr("they have: o, x")));
}

TEST_F(JobsTest, NoJobsIsSaid) {
  EXPECT_THAT(Ask({"jobs"}).out, HasSubstr("no jobs"));
  EXPECT_EQ(Ask({"jobs", "--format", "json"}).out, "");
}

TEST_F(JobsTest, VerifyComparesBytes) {
  const Outcome nobody = Verify({sum_, swapped_});
  EXPECT_EQ(nobody.exit_code, 2);
  EXPECT_THAT(nobody.err, HasSubstr("samebits-worker"));
  EXPECT_THAT(Ask({"fleet"}).out, HasSubstr("no workers"));
  WorkerProcess worker(server_.address(), "w");
  const Outcome equal = Verify({sum_, swapped_});
  EXPECT_EQ(equal.exit_code, 0) << equal.err;
  EXPECT_THAT(equal.out, AllOf(HasSubstr("CONSISTENT"), HasSubstr("interpreter of PTX"), HasSubstr("1 of 1")));
  const Outcome different = Verify({sum_, product_});
  EXPECT_EQ(different.exit_code, 1) << different.err;
  EXPECT_THAT(different.out, AllOf(HasSubstr("bytes 1"), HasSubstr("bytes 2")));
  const Outcome refused = Verify({files_.Write("sine.ptx", ElementKernel("sin.approx.f32 %f3, %f1;"))});
  EXPECT_EQ(refused.exit_code, 3) << refused.err;
  EXPECT_THAT(refused.out, HasSubstr("approximate"));
  const Outcome json = Verify({sum_}, {"--format", "json"});
  EXPECT_EQ(json.exit_code, 0) << json.err;
  EXPECT_EQ(Json::parse(json.out)["verify_kernels"]["agreement"], "CONSISTENT");
  const Outcome misspelt = Verify({files_.Write("bad.ptx", Misspelt())});
  EXPECT_EQ(misspelt.exit_code, 2);
  EXPECT_EQ(worker.Stop(), 0);
}

TEST_F(JobsTest, JobsAreListedShownWatchedCancelledAndDeleted) {
  WorkerProcess worker(server_.address(), "w");
  ASSERT_EQ(Ask({"fleet", "w", "--drain"}).exit_code, 0);
  const Outcome started = Verify({sum_}, {"--no-wait", "--request-id", "r"});
  ASSERT_EQ(started.exit_code, 0) << started.err;
  const std::string name = started.out.substr(0, started.out.find('\n'));
  EXPECT_EQ(Verify({sum_}, {"--no-wait", "--request-id", "r"}).out, started.out);
  EXPECT_THAT(Ask({"jobs", "--open"}).out, AllOf(HasSubstr(name), HasSubstr("QUEUED")));
  EXPECT_EQ(Ask({"jobs", name, "--delete"}).exit_code, 2);
  ASSERT_EQ(Ask({"fleet", "w", "--undrain"}).exit_code, 0);
  const Outcome watched = Ask({"jobs", name, "--watch"});
  EXPECT_EQ(watched.exit_code, 0) << watched.err;
  EXPECT_THAT(watched.out, AllOf(HasSubstr("SUCCEEDED"), HasSubstr("CONSISTENT")));
  EXPECT_THAT(Ask({"jobs", "--open"}).out, Not(HasSubstr(name)));
  EXPECT_EQ(Ask({"jobs", name, "--delete"}).exit_code, 0);
  EXPECT_EQ(Ask({"jobs", name}).exit_code, 2);
  ASSERT_EQ(Ask({"fleet", "w", "--drain"}).exit_code, 0);
  const Outcome another = Verify({sum_}, {"--no-wait"});
  const std::string second = another.out.substr(0, another.out.find('\n'));
  EXPECT_THAT(Ask({"jobs", second, "--cancel"}).out, HasSubstr("CANCELLED"));
  EXPECT_EQ(Ask({"jobs", second}).exit_code, 1);
  EXPECT_EQ(Ask({"jobs", "--cancel"}).exit_code, 2);
}

TEST_F(JobsTest, FleetShowsWorkers) {
  WorkerProcess worker(server_.address(), "w");
  EXPECT_THAT(Ask({"fleet"}).out, AllOf(HasSubstr("ONLINE"), HasSubstr("workers/w"), HasSubstr("interpreter of PTX")));
  const Json shown = Json::parse(Ask({"fleet", "--format", "json"}).out);
  EXPECT_EQ(shown["devices"][0]["backend"], "cpu");
  EXPECT_EQ(Ask({"fleet", "nobody"}).exit_code, 2);
}

TEST_F(JobsTest, FleetIsWatchedWithWhatItRuns) {
  SamebitsProcess watch({"fleet", "--watch", "--server", server_.address()});
  const auto says = [&](const char* text) {
    for (int i = 0; i < 300; ++i) {
      if (watch.out().find(text) != std::string::npos) return true;
      usleep(50'000);
    }
    return false;
  };
  EXPECT_TRUE(says("no workers")) << watch.out();
  WorkerProcess worker(server_.address(), "w");
  EXPECT_TRUE(says("ONLINE   workers/w")) << watch.out();
  const std::string endless = ElementKernel("add.f32 %f3, %f1, %f1;\nL: setp.eq.f32 %p1, %f1, %f1;\n@%p1 bra L;");
  const Outcome started = Verify({files_.Write("endless.ptx", endless)}, {"--no-wait"});
  ASSERT_EQ(started.exit_code, 0) << started.err;
  EXPECT_TRUE(says("    runs operations/")) << watch.out();
  EXPECT_THAT(watch.out(), HasSubstr("VerifyKernels"));
  EXPECT_TRUE(watch.Running());
  EXPECT_EQ(Ask({"jobs", started.out.substr(0, started.out.find('\n')), "--cancel"}).exit_code, 0);
}

// On a stand-in for a GPU, whose kernels tell which machine code was loaded.
TEST_F(JobsTest, FleetAndResultsSayWhichAssemblerAndLibrariesThereAre) {
  const fake_gpu::ScopedVariable driver("SAMEBITS_CUDA_DRIVER", SAMEBITS_FAKE_DRIVER),
      nvrtc("SAMEBITS_NVRTC", SAMEBITS_FAKE_DRIVER), cublaslt("SAMEBITS_CUBLASLT", SAMEBITS_FAKE_DRIVER);
  const std::string ptxas = files_.Write("ptxas", "#!/bin/sh\n[ \"$1\" = --version ] && echo 'ptxas: NVIDIA (R) Ptx optimizing assembler, release "
                                                  "12.8, V12.8.93' && exit\nprintf '\\177ELF' > \"$4\"\n");
  std::filesystem::permissions(ptxas, std::filesystem::perms::owner_all);
  WorkerProcess plain(server_.address(), "plain", {"--no-cpu", "--no-profiles"});
  WorkerProcess worker(server_.address(), "w", {"--no-cpu", "--no-profiles", "--ptxas", ptxas});
  EXPECT_THAT(Ask({"fleet", "w"}).out,
              AllOf(HasSubstr("Stand-in (cuda, sm_90, driver 13.1, assembled by ptxas V12.8.93), 132 SMs, 8 GiB, 1980 MHz, ECC"),
                    HasSubstr("nvrtc 13.2"), HasSubstr("cublaslt 13.2.7")));
  EXPECT_THAT(Ask({"fleet", "plain"}).out, Not(HasSubstr("assembled")));
  const Json shown = Json::parse(Ask({"fleet", "w", "--format", "json"}).out);
  EXPECT_EQ(shown["devices"][0]["assembler"], "ptxas V12.8.93");
  EXPECT_EQ(shown["devices"][0]["libraries"].back()["version"], "13.2.7");
  const Outcome both = Verify({sum_}, {"--device", "workers/w/devices/0", "--device", "workers/plain/devices/0"});
  EXPECT_EQ(both.exit_code, 0) << both.err;  // on each device by itself there is one class
  EXPECT_THAT(both.out, AllOf(HasSubstr("assembled by ptxas V12.8.93"), HasSubstr("bytes 1"), HasSubstr("bytes 2")));  // of other machine code
}

TEST_F(JobsTest, AnAssemblerThatHangsEndsWithTheTimeOfTheLaunch) {
  const fake_gpu::ScopedVariable driver("SAMEBITS_CUDA_DRIVER", SAMEBITS_FAKE_DRIVER);
  const std::string pid = files_.path() + "/pid";
  const std::string ptxas = files_.Write("ptxas", "#!/bin/sh\n[ \"$1\" = --version ] && echo 'ptxas, V12.8.93' && exit\n"
                                                  "echo $$ > " + pid + "\nexec /bin/sleep 600\n");
  std::filesystem::permissions(ptxas, std::filesystem::perms::owner_all);
  WorkerProcess worker(server_.address(), "w", {"--no-cpu", "--no-profiles", "--ptxas", ptxas, "--launch-seconds", "1"});
  const Outcome late = Verify({sum_});
  EXPECT_EQ(late.exit_code, 3) << late.err;
  EXPECT_THAT(late.out, HasSubstr("ran longer than 1s"));
  const int hung = std::atoi(ReadAll(pid).c_str());
  ASSERT_GT(hung, 0);
  for (int i = 0; i < 100 && kill(hung, 0) == 0; ++i) usleep(20'000);  // it died with the process of its task
  EXPECT_NE(kill(hung, 0), 0);
}

TEST_F(JobsTest, AnAssemblerThatIsNoneOrHasNoDeviceIsRefusedAtTheStart) {
  const std::string wrong = files_.Write("wrong", "#!/bin/sh\necho GNU assembler\n");
  std::filesystem::permissions(wrong, std::filesystem::perms::owner_all);
  EXPECT_THAT(RunWorker({"--ptxas", files_.path() + "/nothing"}).err, HasSubstr("nothing: No such file"));
  EXPECT_THAT(RunWorker({"--ptxas", wrong}).err, HasSubstr("does not say that it is NVIDIA's ptxas"));
  const std::string ptxas = files_.Write("ptxas", "#!/bin/sh\necho 'ptxas, V12.8.93'\n");
  std::filesystem::permissions(ptxas, std::filesystem::perms::owner_all);
  const Outcome none = RunWorker({"--no-cuda", "--ptxas", ptxas});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("no NVIDIA GPU"));
}

}  // namespace
}  // namespace samebits::test
