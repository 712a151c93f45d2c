#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "client/cli/command_line.h"
#include "client/cli/commands.h"

namespace samebits::cli {
namespace {

using ::testing::HasSubstr;

struct Result {
  ExitCode code;
  std::string out, err;
};

Result RunLine(std::vector<std::string> arguments) {
  std::vector<const char*> argv{"samebits"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const ParsedCommandLine parsed = ParseCommandLine(static_cast<int>(argv.size()), argv.data());
  const ExitCode code = parsed.command_line ? RunCommand(*parsed.command_line) : parsed.exit_code;
  std::fflush(stdout);
  std::string out = ::testing::internal::GetCapturedStdout(), err = ::testing::internal::GetCapturedStderr();
  return {code, std::move(out), std::move(err)};
}

class GemmCommandsTest : public ::testing::Test {
 protected:
  GemmCommandsTest() { std::filesystem::create_directories(folder_); }
  ~GemmCommandsTest() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  void Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
  }
  std::string Read(const std::string& name) const {
    std::ifstream in(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  const std::string folder_ = ::testing::TempDir() + "/gemm_commands";
};

constexpr char kDesc[] = "gemm/1 types=f16,f16,f32,f16 instruction=mma:16";

TEST_F(GemmCommandsTest, DescribesAndNamesTheObservableForm) {
  const Result wgmma = RunLine({"gemm", "describe", std::string(kDesc), "--k", "576", "--sm", "90"});
  EXPECT_EQ(wgmma.code, ExitCode::kEquivalent);
  EXPECT_THAT(wgmma.out, HasSubstr("plain: one accumulator over the whole axis; mma of 16 products"));
  EXPECT_THAT(wgmma.out, HasSubstr("at K = 576 on sm_90"));
  const Result json = RunLine({"gemm", "describe", kDesc, "--format", "json"});
  EXPECT_THAT(json.out, HasSubstr("\"digest\":\""));
  EXPECT_EQ(RunLine({"gemm", "describe", "gemm/1 types=f16"}).code, ExitCode::kBadInput);
  EXPECT_EQ(RunLine({"gemm", "describe", kDesc, "--k", "576"}).code, ExitCode::kBadInput);
}

TEST_F(GemmCommandsTest, EmulatesFiles) {
  Write("desc.txt", kDesc);
  Write("a", std::string("\x00\x3c\x00\x40\x00\x42\x00\x44", 8));  // 1 2 / 3 4
  Write("b", std::string("\x00\x3c\x00\x3c", 4));                  // 1 1
  const std::vector<std::string> arguments = {"gemm", "emulate", "@" + Path("desc.txt"), "--sm", "90", "--m", "2",
                                              "--n",  "1",       "--k", "2", "--a", Path("a"), "--b", Path("b"),
                                              "--out", Path("d")};
  const Result result = RunLine(arguments);
  EXPECT_EQ(result.code, ExitCode::kEquivalent) << result.err;
  EXPECT_EQ(Read("d"), std::string("\x00\x42\x00\x47", 4));  // 3, 7
  Write("b", "\x3c");
  const Result bad = RunLine(arguments);
  EXPECT_EQ(bad.code, ExitCode::kBadInput);
  EXPECT_THAT(bad.err, HasSubstr("B: 1 bytes, 4 are needed (2 elements)"));
}

TEST_F(GemmCommandsTest, SimulatesRecovery) {
  const Result result = RunLine({"gemm", "simulate", "--count", "3", "--seed", "7"});
  EXPECT_EQ(result.code, ExitCode::kEquivalent);
  EXPECT_THAT(result.out, HasSubstr("all           3         3"));
}

TEST_F(GemmCommandsTest, CheckVectorsFailsOnAMismatchOfAClaimedUnit) {
  std::filesystem::create_directories(Path("V100/fp16"));
  Write("V100/fp16/a_V100_fp16.txt", "3f800000 3f800000 3f800000 3f800000\n");
  Write("V100/fp16/b_V100_fp16.txt", "3f800000 3f800000 3f800000 3f800000\n");
  Write("V100/fp16/c_V100_fp32.txt", "00000000000000000000000000000000\n");
  Write("V100/fp16/d_V100_fp32.txt", "01000000100000000000000000000000\n");
  EXPECT_EQ(RunLine({"gemm", "check-vectors", Path("")}).code, ExitCode::kEquivalent);
  Write("V100/fp16/d_V100_fp32.txt", "01000000100000000000000000000001\n");
  const Result result = RunLine({"gemm", "check-vectors", Path("")});
  EXPECT_EQ(result.code, ExitCode::kNotEquivalent);
  EXPECT_THAT(result.out, HasSubstr("V100  fp16  fp32        1           1  claimed"));
}

}  // namespace
}  // namespace samebits::cli
