#include "client/cli/watch.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace samebits::cli {
namespace {

namespace fs = std::filesystem;

class WatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / "watch_test";
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "below");
  }

  void Write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }
  uint64_t Now() const { return Fingerprint({folder_.string()}); }

  fs::path folder_;
};

TEST_F(WatchTest, SeesWhatIsMadeWrittenRenamedAndDeleted) {
  const uint64_t empty = Now();
  Write("below/a.ptx", "one");
  const uint64_t made = Now();
  Write("below/a.ptx", "longer");
  const uint64_t written = Now();
  fs::rename(folder_ / "below/a.ptx", folder_ / "below/b.ptx");
  const uint64_t renamed = Now();
  fs::remove(folder_ / "below/b.ptx");
  EXPECT_NE(empty, made);
  EXPECT_NE(made, written);
  EXPECT_NE(written, renamed);
  EXPECT_NE(renamed, Now());
  EXPECT_EQ(Now(), Now());
  EXPECT_EQ(Fingerprint({(folder_ / "none").string()}), 0u);
}

TEST_F(WatchTest, WaitsUntilAChangeIsComplete) {
  Write("a.ptx", "one");
  const uint64_t known = Now();
  std::thread writer([&] {
    absl::SleepFor(absl::Milliseconds(30));
    Write("a.ptx", "another");
  });
  EXPECT_NE(AwaitChange({folder_.string()}, known, absl::Milliseconds(10)), known);
  writer.join();
}

TEST_F(WatchTest, WatchesWhatIsAskedAbout) {
  CommandLine line;
  line.kernels = {"x/a.ptx", "b.ptx@how.json", "-", "kernels/0123"};
  EXPECT_EQ(WatchedPaths(line), (std::vector<std::string>{"x/a.ptx", "x/a.launch.json", "x/a.json", "b.ptx", "how.json",
                                                          "b.launch.json", "b.json"}));
  line.manifest = "corpus/manifest.jsonl";
  EXPECT_EQ(WatchedPaths(line), std::vector<std::string>{"corpus"});
  CommandLine ci;
  ci.ci.baseline = "old.json";
  ci.ci.candidate = "new";
  EXPECT_EQ(WatchedPaths(ci), (std::vector<std::string>{"old.json", "new"}));
}

TEST(WatchCommand, NeedsAFile) {
  CommandLine line;
  line.kernels = {"-"};
  line.quiet = true;
  EXPECT_EQ(Watch(line, [] { return ExitCode::kEquivalent; }), ExitCode::kBadInput);
}

}  // namespace
}  // namespace samebits::cli
