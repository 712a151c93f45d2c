// `samebits ci check` on builds as they lie on disk.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/integration/cli/kernels.h"
#include "tests/integration/cli/program.h"

namespace samebits::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr char kLaunch[] = R"({"block": [32, 1, 1], "grid": [4, 1, 1]})";

std::string Read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class CiTest : public ::testing::Test {
 protected:
  // A kernel of a build, with its launch beside it.
  void Put(const std::string& build, const std::string& name, const std::string& text,
           const std::string& launch = kLaunch, const std::string& suffix = ".ptx") {
    const std::string stem = folder_.path() + "/" + build + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(stem).parent_path());
    std::ofstream(stem + suffix) << text;
    if (!launch.empty()) std::ofstream(stem + ".json") << launch;
  }
  Outcome Check(const std::string& baseline, const std::string& candidate, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"ci", "check", "--baseline", At(baseline), "--candidate", At(candidate)});
    return RunSamebits(more);
  }
  std::string At(const std::string& name) const { return folder_.path() + "/" + name; }
  Folder folder_;
};

TEST_F(CiTest, EqualBuildsPass) {
  Put("old", "k", Added());
  Put("old", "deep/m", Multiplied());
  Put("new", "k", AddedSwapped());
  Put("new", "deep/m", Multiplied());
  const Outcome outcome = Check("old", "new");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("2 equal, 0 changed, 0 new, 0 gone, 0 unknown"));
}

TEST_F(CiTest, SaysWhatChangedAndWhere) {
  Put("old", "k", Added());
  Put("new", "k", Multiplied());
  const Outcome outcome = Check("old", "new", {"--junit", At("j.xml"), "--sarif", At("s.json"), "--json", At("r.json")});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("changed   k\n"));
  EXPECT_THAT(outcome.out, HasSubstr("candidate: line 21: mul.rn.f32"));
  EXPECT_THAT(Read(At("j.xml")), HasSubstr("failures=\"1\""));
  EXPECT_EQ(Json::parse(Read(At("s.json")))["runs"][0]["results"][0]["ruleId"], "samebits/changed");
  EXPECT_EQ(Json::parse(Read(At("r.json")))["counts"]["changed"], 1);
}

TEST_F(CiTest, TwoFilesAreComparedWhateverTheirNames) {
  Put("old", "before", Added());
  Put("new", "after", AddedSwapped());
  Put("new", "wrong", Multiplied());
  EXPECT_THAT(Check("old/before.ptx", "new/after.ptx").out, HasSubstr("1 equal, 0 changed, 0 new, 0 gone"));
  EXPECT_EQ(Check("old/before.ptx", "new/wrong.ptx").exit_code, 1);
  EXPECT_THAT(Check("old", "new/after.ptx").out, HasSubstr("1 new, 1 gone")) << "a folder pairs by name";
}

TEST_F(CiTest, NewGoneAndUnknownFollowFailOn) {
  Put("old", "k", Added());
  Put("old", "gone", Added());
  Put("new", "k", Added());
  Put("new", "new", Added());
  EXPECT_EQ(Check("old", "new").exit_code, 1);
  EXPECT_EQ(Check("old", "new", {"--fail-on", "changed"}).exit_code, 0);
  EXPECT_EQ(Check("old", "new", {"--fail-on", "new"}).exit_code, 1);
  EXPECT_EQ(Check("old", "new", {"--fail-on", "none"}).exit_code, 0);
  Put("new", "gone", Misspelt());
  const Outcome unreadable = Check("old", "new");
  EXPECT_EQ(unreadable.exit_code, 3) << unreadable.out;
  EXPECT_THAT(unreadable.out, HasSubstr("unknown   gone"));
}

TEST_F(CiTest, WhatIsNotDecidedFailsOnlyWhereItsTextIsNew) {
  Put("old", "k", Unmodelled());
  Put("new", "k", Unmodelled());
  const Outcome same = Check("old", "new");
  EXPECT_EQ(same.exit_code, 0) << same.out;
  EXPECT_THAT(same.out, HasSubstr("text and launch are those of the baseline"));
  Put("new", "k", Unmodelled() + "// another build\n");
  EXPECT_EQ(Check("old", "new").exit_code, 3);
}

TEST_F(CiTest, SignaturesInAFileStandForABuild) {
  Put("old", "k", Added());
  Put("old", "r", Raced());
  const Outcome written = Check("base.json", "old", {"--update-baseline"});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_THAT(written.out, HasSubstr("2 new"));
  EXPECT_EQ(Check("base.json", "old").exit_code, 0);
  Put("old", "k", Multiplied());
  const Outcome changed = Check("base.json", "old");
  EXPECT_EQ(changed.exit_code, 1);
  EXPECT_THAT(changed.out, HasSubstr("the baseline holds signatures only"));
  const Outcome other = Check("base.json", "old", {"--ignore-signed-zero"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("other options"));
  EXPECT_EQ(Check("base.json", "old", {"--update-baseline"}).exit_code, 0);
  EXPECT_EQ(Check("base.json", "old").exit_code, 0);
}

TEST_F(CiTest, ReadsATritonCacheByNameAndOptions) {
  const std::string metadata =
      R"({"hash": "AB", "name": "k", "target": {"backend": "cuda", "arch": 90, "warp_size": 32}, "num_warps": 1,)"
      R"( "num_stages": 3, "num_ctas": 1, "shared": 0})";
  Put("old", "HASH1/k", Added(), metadata);
  std::ofstream(At("old/HASH1/k.cubin")) << "machine code";
  Put("new", "HASH2/k", AddedSwapped(), metadata);
  const Outcome outcome = Check("old", "new", {"--verbose"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("equal     k [sm_90, 1 warps, 3 stages]"));
  EXPECT_THAT(outcome.err, HasSubstr("k [sm_90, 1 warps, 3 stages]: OK in "));
}

TEST_F(CiTest, ReadsAmdgcnTextsAndTheirTritonCache) {
  const std::string metadata =
      R"({"hash": "AB", "name": "k", "target": {"backend": "hip", "arch": "gfx942", "warp_size": 64}, "num_warps": 1,)"
      R"( "num_stages": 2, "num_ctas": 1, "shared": 0})";
  const std::string launch = R"({"block": [64, 1, 1], "grid": [1, 1, 1]})";
  Put("old", "HASH1/k", AmdgcnElementKernel("v_add_f32_e32 v2, v2, v3"), metadata, ".amdgcn");
  Put("old", "m", AmdgcnElementKernel("v_add_f32_e32 v2, v2, v3"), launch, ".s");
  Put("old", "host", ".text\nmain:\n\tret\n", "", ".s");  // another processor's
  Put("new", "HASH2/k", AmdgcnElementKernel("v_add_f32_e64 v2, v3, v2"), metadata, ".amdgcn");
  Put("new", "m", AmdgcnElementKernel("v_mul_f32_e32 v2, v2, v3"), launch, ".s");
  const Outcome outcome = Check("old", "new", {"--verbose", "--grid", "1"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("equal     k [gfx942, 1 warps, 2 stages]"));
  EXPECT_THAT(outcome.out, HasSubstr("changed   m\n"));
  EXPECT_THAT(outcome.out, HasSubstr("1 equal, 1 changed, 0 new, 0 gone, 0 unknown"));
}

TEST_F(CiTest, TextsWithSeveralEntriesAreSeveralKernels) {
  std::string two = ElementKernel("add.rn.f32 %f3, %f1, %f2;", "st.global.f32 [%rd4], %f3;", "one");
  const std::string second = ElementKernel("mul.rn.f32 %f3, %f1, %f2;", "st.global.f32 [%rd4], %f3;", "two");
  two += second.substr(second.find(".visible"));
  Put("old", "k", two);
  Put("new", "k", two);
  EXPECT_THAT(Check("old", "new", {"--verbose"}).out, HasSubstr("equal     k#two"));
}

TEST_F(CiTest, FlagsFillWhatNoLaunchFileGives) {
  Put("old", "bare", Added(), "");
  Put("old", "own", Added(), R"({"block": [64, 1, 1], "grid": [2, 1, 1]})");
  EXPECT_THAT(Check("old", "old", {"--fail-on", "unknown"}).out, HasSubstr("1 equal"));
  EXPECT_THAT(Check("old", "old", {"--block", "32"}).out, HasSubstr("2 equal"));
  Put("new", "own", Added(), R"({"block": [32, 1, 1], "grid": [4, 1, 1]})");
  Put("new", "bare", Added(), "");
  EXPECT_THAT(Check("old", "new", {"--block", "32", "--grid", "4"}).out, HasSubstr("2 equal"));
}

TEST_F(CiTest, FilesWithoutPtxAreNamed) {
  std::filesystem::create_directories(At("new"));
  std::ofstream(At("new/k.cubin")) << "\x7f" "ELF machine code";
  const Outcome outcome = Check("new", "new");
  EXPECT_THAT(outcome.out, HasSubstr("k.cubin: holds no PTX"));
}

TEST_F(CiTest, BadInputIsNoPass) {
  Put("old", "k", Added());
  EXPECT_EQ(Check("old", "missing").exit_code, 2);
  EXPECT_EQ(Check("missing.json", "old").exit_code, 2);
  EXPECT_EQ(Check("old", "old", {"--update-baseline"}).exit_code, 2);
  EXPECT_EQ(Check("old", "old", {"--fail-on", "everything"}).exit_code, 2);
  std::filesystem::create_directories(At("empty"));
  EXPECT_EQ(Check("old", "empty").exit_code, 2);
  EXPECT_EQ(RunSamebits({"ci"}).exit_code, 2);
}

TEST_F(CiTest, Colour) {
  Put("old", "k", Added());
  EXPECT_THAT(Check("old", "old", {"--verbose"}).out, Not(HasSubstr("\033")));
  EXPECT_THAT(Check("old", "old", {"--verbose", "--color", "always"}).out, HasSubstr("\033[1;32mequal"));
}

TEST(ShellTest, CompletionAndManualNameEveryCommand) {
  for (const char* shell : {"bash", "zsh"}) {
    const Outcome outcome = RunSamebits({"completion", shell});
    EXPECT_EQ(outcome.exit_code, 0);
    for (const char* word : {"ci check", "partition", "--update-baseline", "human json"})
      EXPECT_THAT(outcome.out, HasSubstr(word)) << shell;
  }
  EXPECT_EQ(RunSamebits({"completion", "fish"}).exit_code, 2);
  const Outcome page = RunSamebits({"manual"});
  EXPECT_EQ(page.exit_code, 0);
  EXPECT_THAT(page.out, HasSubstr(".SH CI CHECK"));
  EXPECT_THAT(page.out, HasSubstr("\\-\\-baseline"));
}

// What bash offers for `word` after `words`.
std::string Completed(const Folder& folder, const std::string& words, const std::string& word = "") {
  const std::string script = folder.Write("completion.bash", RunSamebits({"completion", "bash"}).out);
  const std::string command = "bash -c 'source \"" + script + "\"; COMP_WORDS=(samebits " + words +
                              " \"" + word + "\"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _samebits; echo \"${COMPREPLY[*]}\"' > " +
                              folder.path() + "/reply 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
  return Read(folder.path() + "/reply");
}

TEST(ShellTest, BashCompletes) {
  const Folder folder;
  EXPECT_THAT(Completed(folder, ""), HasSubstr("compare"));
  EXPECT_EQ(Completed(folder, "ci"), "check\n");
  EXPECT_EQ(Completed(folder, "compare --format"), "human json\n");
  EXPECT_EQ(Completed(folder, "ci check", "--up"), "--update-baseline\n");
}

}  // namespace
}  // namespace samebits::test
