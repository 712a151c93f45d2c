#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "client/cli/command_line.h"
#include "client/cli/commands.h"
#include "tests/support/fake_gpu/scoped_variable.h"

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

TEST_F(GemmCommandsTest, AProfileIsBuiltComparedAndAsked) {
  const std::string kinds = "f16,f16,f32,f16;e4m3,e4m3,f32,bf16";
  for (const auto& [library, file] : {std::pair{"simulated", "before"}, {"simulated-2", "after"}}) {
    const Result built = RunLine({"profile", "build", "--library", library, "--out", Path(file), "--kinds", kinds, "--shapes", "6",
                                  "--no-models", "--most-k", "1500", "--seed", "5", "--threads", "1", "--quiet"});
    ASSERT_EQ(built.code, ExitCode::kEquivalent) << built.err;
    EXPECT_THAT(built.out, HasSubstr("f16,f16,f32,f16 TN"));
  }
  EXPECT_THAT(RunLine({"profile", "show", Path("before")}).out, HasSubstr("digest "));
  EXPECT_EQ(RunLine({"profile", "diff", Path("before"), Path("before")}).code, ExitCode::kEquivalent);
  EXPECT_THAT(RunLine({"profile", "diff", Path("before"), Path("after")}).out, HasSubstr("library version 1 -> 2"));
  std::ifstream in(Path("before"));
  std::string line;
  while (std::getline(in, line) && !line.starts_with("shape ")) continue;
  std::istringstream words(line);
  std::string word, m, n, k;
  words >> word >> m >> n >> k;
  const std::vector<std::string> types{"--types", "f16,f16,f32,f16"};
  const auto describe = [&](const std::string& asked_k) {
    return RunLine({"gemm", "describe", "--profile", Path("before"), types[0], types[1], "--m", m, "--n", n, "--k", asked_k});
  };
  const Result other = describe("7");
  EXPECT_EQ(other.code, ExitCode::kUnknown) << other.out;
  EXPECT_THAT(other.err, HasSubstr("no answer"));
  EXPECT_EQ(RunLine({"gemm", "invariance", "--profile", Path("before"), types[0], types[1], "--n", "77", "--k", "77", "--last-m", "9"}).code,
            ExitCode::kUnknown);
}

TEST_F(GemmCommandsTest, ADefectOfALibraryIsFound) {
  const Result result = RunLine({"gemm", "probe", "--library", "simulated", "--types", "f16,f16,f32,f16", "--m", "40", "--n", "64",
                                 "--k", "7176"});
  EXPECT_EQ(result.code, ExitCode::kNotEquivalent) << result.err;
  EXPECT_THAT(result.out, HasSubstr("DEFECT: elements 7168 to 7175 are not summed"));
}

constexpr const char* kProduct[] = {"--types", "f16,f16,f32,f32", "--m", "6", "--n", "5", "--k", "70"};

std::vector<std::string> Probe(const std::string& library) {
  std::vector<std::string> line{"gemm", "probe", "--library", library};
  line.insert(line.end(), std::begin(kProduct), std::end(kProduct));
  return line;
}

TEST_F(GemmCommandsTest, VendorsLibrariesAreProbed) {
  const fake_gpu::ScopedVariable hip("SAMEBITS_HIP", SAMEBITS_FAKE_HIP), blas("SAMEBITS_HIPBLASLT", SAMEBITS_FAKE_HIPBLASLT);
  const Result amd = RunLine(Probe("hipblaslt"));
  EXPECT_EQ(amd.code, ExitCode::kEquivalent) << amd.err;
  EXPECT_THAT(amd.out, HasSubstr("algorithm   id=4660 "));
  EXPECT_THAT(amd.out, HasSubstr("instruction=fma"));
#ifdef SAMEBITS_FAKE_CUDA
  const fake_gpu::ScopedVariable runtime("SAMEBITS_CUDART", SAMEBITS_FAKE_CUDA), driver("SAMEBITS_CUDA_DRIVER", SAMEBITS_FAKE_CUDA);
  const fake_gpu::ScopedVariable lt("SAMEBITS_CUBLASLT", SAMEBITS_FAKE_CUDA), classic("SAMEBITS_CUBLAS", SAMEBITS_FAKE_CUDA);
  const Result nvidia = RunLine(Probe("cublas"));
  EXPECT_EQ(nvidia.code, ExitCode::kEquivalent) << nvidia.err;
  EXPECT_THAT(nvidia.out, HasSubstr("algorithm   not told by the library"));
  EXPECT_THAT(nvidia.out, HasSubstr("instruction=fma"));
  std::vector<std::string> json = Probe("cublas");
  json.insert(json.end(), {"--format", "json"});
  EXPECT_THAT(RunLine(json).out, HasSubstr("\"algorithm\":null"));
  // the same arithmetic in both interfaces of NVIDIA: no shape that both profiles list changes
  for (const char* library : {"cublas", "cublaslt"}) {
    const Result built = RunLine({"profile", "build", "--library", library, "--out", Path(library), "--kinds", "f16,f16,f32,f32",
                                  "--shapes", "1", "--no-models", "--most-k", "60", "--seed", "11", "--threads", "1", "--quiet"});
    ASSERT_EQ(built.code, ExitCode::kEquivalent) << built.err;
  }
  const Result diff = RunLine({"profile", "diff", Path("cublaslt"), Path("cublas")});
  EXPECT_EQ(diff.code, ExitCode::kEquivalent) << diff.out << diff.err;
  EXPECT_THAT(diff.out, HasSubstr("cuBLAS"));
#endif
}

TEST_F(GemmCommandsTest, LibrariesThatAreNotThereAreNamed) {
  const fake_gpu::ScopedVariable hip("SAMEBITS_HIP", "/nowhere/libamdhip64.so");
  const Result amd = RunLine(Probe("hipblaslt"));
  EXPECT_EQ(amd.code, ExitCode::kBadInput);
  EXPECT_THAT(amd.err, HasSubstr("/nowhere/libamdhip64.so is not found; SAMEBITS_HIP may name it"));
  const fake_gpu::ScopedVariable cuda("SAMEBITS_CUDART", "/nowhere/libcudart.so");
  const Result nvidia = RunLine(Probe("cublas"));
  EXPECT_EQ(nvidia.code, ExitCode::kBadInput);
#ifdef SAMEBITS_FAKE_CUDA
  EXPECT_THAT(nvidia.err, HasSubstr("SAMEBITS_CUDART may name it"));
#else
  EXPECT_THAT(nvidia.err, HasSubstr("made without CUDA's headers"));
#endif
  EXPECT_EQ(RunLine({"profile", "build", "--library", "hipblaslt", "--out", Path("p"), "--kinds", "f16,f16,f32,f32"}).code,
            ExitCode::kBadInput);
}

TEST_F(GemmCommandsTest, BadQuestionsToProfilesAreRefused) {
  Write("bad", "samebits-profile/1\nnonsense\n");
  EXPECT_THAT(RunLine({"profile", "show", Path("bad")}).err, HasSubstr("line 2"));
  EXPECT_EQ(RunLine({"gemm", "describe"}).code, ExitCode::kBadInput);
  EXPECT_EQ(RunLine({"gemm", "probe", "--library", "simulated", "--types", "f16", "--m", "1", "--n", "1", "--k", "1"}).code,
            ExitCode::kBadInput);
  EXPECT_EQ(RunLine({"gemm", "probe", "--library", "simulated", "--types", "f16,f16,f32,f16", "--m", "1"}).code, ExitCode::kBadInput);
}

}  // namespace
}  // namespace samebits::cli
