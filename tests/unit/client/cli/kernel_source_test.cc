#include "client/cli/kernel_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "client/cli/commands.h"
#include "core/checker/checker.h"

namespace samebits::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

class KernelSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "samebits_cli_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Write(const std::string& name, const std::string& content) {
    const std::filesystem::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }
  static CommandLine Compare(const std::string& a, const std::string& b) {
    CommandLine line;
    line.command = Command::kCompare;
    line.kernels = {a, b};
    return line;
  }
  std::filesystem::path folder_;
};

const std::string kRegistered = "kernels/" + std::string(64, 'a');

TEST_F(KernelSourceTest, TheLanguageThatIsNamedIsTheOneRead) {
  const std::string bare = "k:\n\ts_endpgm\n\t.amdhsa_kernel k\n\t.end_amdhsa_kernel\n";
  const std::string amd = Write("a.s", bare), nvidia = Write("b.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n");
  CommandLine line = Compare(amd, nvidia);
  line.launch.block = checker::Dim3{64, 1, 1};
  line.local = true;
  const auto load = [&](size_t which) { return LoadKernel((*ListSources(line))[which], nullptr).status(); };
  const auto check = [&](size_t which) {
    const auto kernel = LoadKernel((*ListSources(line))[which], nullptr);
    return kernel.ok() ? checker::ComputeSignature(kernel->text, kernel->launch.launch, CheckOptions(line)).status() : kernel.status();
  };
  EXPECT_TRUE(check(0).ok()) << check(0);
  EXPECT_TRUE(check(1).ok()) << check(1);
  line.language = "ptx";
  EXPECT_TRUE(absl::IsInvalidArgument(check(0))) << check(0);
  EXPECT_TRUE(check(1).ok()) << check(1);
  line.language = "amdgcn";
  EXPECT_TRUE(check(0).ok()) << check(0);
  EXPECT_TRUE(absl::IsInvalidArgument(check(1))) << check(1);
  line.local = false;
  EXPECT_TRUE(load(0).ok()) << load(0);
  EXPECT_THAT(Message(load(1)), HasSubstr("a server tells the language"));
}

TEST_F(KernelSourceTest, LaunchPartsComeFromSideFlagsThenFlagsThenFile) {
  const std::string a = Write("a.ptx", "text"), b = Write("b.ptx", "text");
  Write("a.json", R"({"block": [32, 1, 1], "grid": [4, 1, 1], "shared": 8})");
  const std::string other = Write("other.json", R"({"block": [64, 1, 1], "grid": [5, 1, 1]})");
  CommandLine line = Compare(a, b + "@" + other);
  line.launch.grid_set = true;
  line.launch.grid = checker::Dim3{6, 1, 1};
  line.side_launch[1].block = checker::Dim3{128, 1, 1};
  const auto sources = ListSources(line);
  ASSERT_TRUE(sources.ok()) << sources.status();
  EXPECT_EQ((*sources)[0].spec.block, (checker::Dim3{32, 1, 1}));
  EXPECT_EQ((*sources)[0].spec.grid, (checker::Dim3{6, 1, 1}));
  EXPECT_EQ((*sources)[0].spec.shared_bytes, 8u);
  EXPECT_EQ((*sources)[1].path, b);
  EXPECT_EQ((*sources)[1].spec.block, (checker::Dim3{128, 1, 1}));
  EXPECT_EQ((*sources)[1].spec.grid, (checker::Dim3{6, 1, 1}));
}

TEST_F(KernelSourceTest, AFileWithAnAtInItsNameIsAFile) {
  const std::string path = Write("a@b.ptx", "text");
  const auto sources = ListSources(Compare(path, path));
  ASSERT_TRUE(sources.ok());
  EXPECT_EQ((*sources)[0].path, path);
  EXPECT_TRUE((*sources)[0].status.ok());
}

TEST_F(KernelSourceTest, RegisteredNamesAreNotFiles) {
  const auto sources = ListSources(Compare(kRegistered, "kernels/abc"));
  ASSERT_TRUE(sources.ok());
  EXPECT_EQ((*sources)[0].kernel_name, kRegistered);
  EXPECT_EQ((*sources)[1].path, "kernels/abc");
}

TEST_F(KernelSourceTest, ManifestsAreChosenFromById) {
  const std::string manifest =
      Write("m.jsonl", "{\"id\": \"x\", \"path\": \"x.ptx\"}\n{\"id\": \"y\", \"path\": \"y.ptx\"}\nbroken\n");
  CommandLine line = Compare("y", "x");
  line.manifest = manifest;
  const auto sources = ListSources(line);
  ASSERT_TRUE(sources.ok()) << sources.status();
  EXPECT_EQ((*sources)[0].path, (folder_ / "y.ptx").string());
  line.kernels = {"y", "z"};
  EXPECT_THAT(Message(ListSources(line).status()), AllOf(HasSubstr(manifest), HasSubstr("'z'")));
  line.command = Command::kSignature;
  line.kernels.clear();
  const auto all = ListSources(line);
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 3u);
  EXPECT_FALSE((*all)[2].status.ok());
}

TEST_F(KernelSourceTest, BatchesNameEachKernelOnce) {
  CommandLine line = Compare("a.ptx", "a.ptx");
  EXPECT_TRUE(ListSources(line).ok());
  line.command = Command::kPartition;
  EXPECT_THAT(Message(ListSources(line).status()), HasSubstr("given twice"));
  EXPECT_THAT(Message(ListSources(Compare("-", "-")).status()), HasSubstr("only once"));
}

TEST_F(KernelSourceTest, LoadingReadsTheTextAndNamesTheFile) {
  KernelSource source;
  source.id = "id";
  source.path = Write("k.ptx", "some text");
  source.spec.block = checker::Dim3{32, 1, 1};
  const auto kernel = LoadKernel(source, nullptr);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(kernel->text, "some text");
  EXPECT_EQ(kernel->launch.launch.block, (checker::Dim3{32, 1, 1}));
  source.path = (folder_ / "none.ptx").string();
  EXPECT_THAT(Message(LoadKernel(source, nullptr).status()), HasSubstr("none.ptx: No such file"));
  source.status = absl::InvalidArgumentError("m.jsonl:3: broken");
  EXPECT_EQ(LoadKernel(source, nullptr).status(), source.status);
}

TEST_F(KernelSourceTest, ARegisteredKernelIsDescribedByItsServer) {
  KernelSource source;
  source.id = source.kernel_name = kRegistered;
  checker::TextInfo info;
  info.entries.push_back({"k", {}, checker::Dim3{96, 1, 1}, 0});
  const auto kernel = LoadKernel(source, [&](const std::string& name) -> absl::StatusOr<checker::TextInfo> {
    EXPECT_EQ(name, kRegistered);
    return info;
  });
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(kernel->launch.launch.block, (checker::Dim3{96, 1, 1}));
  info.entries[0].required_block.reset();
  const auto unresolved = LoadKernel(source, [&](const std::string&) { return info; });
  EXPECT_THAT(Message(unresolved.status()), AllOf(HasSubstr(kRegistered), HasSubstr("--block")));
}

}  // namespace
}  // namespace samebits::cli
