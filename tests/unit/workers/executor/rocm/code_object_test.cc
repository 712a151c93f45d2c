#include "workers/executor/rocm/code_object.h"

#include <dlfcn.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/isa/amdgcn/parser.h"
#include "tests/support/amdgcn_kernels.h"
#include "tests/support/fake_gpu/fake_code_object.h"
#include "tests/support/fake_gpu/scoped_variable.h"
#include "workers/executor/rocm/comgr.h"

namespace samebits::workers {
namespace {

namespace fs = std::filesystem;
using ::samebits::fake_gpu::ScopedVariable;
using ::samebits::test::AmdgcnElement;
using ::samebits::test::AmdgcnText;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

absl::StatusOr<std::string> Assemble(const std::string& text) {
  const absl::StatusOr<AssemblerInput> input = PrepareForAssembler(text);
  if (!input.ok()) return input.status();
  const auto assembler = FindAssembler();
  if (!assembler.ok()) return assembler.status();
  return (*assembler)->Assemble(*input);
}

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// An ELF file for AMD's processors that HIP finds the kernel in: its code, its descriptor and its metadata.
void ExpectCodeObject(const absl::StatusOr<std::string>& made, const std::string& kernel) {
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_GT(made->size(), 64u);
  EXPECT_EQ(made->substr(0, 4), "\x7f" "ELF");
  uint16_t type = 0, machine = 0;
  std::memcpy(&type, made->data() + 16, 2);
  std::memcpy(&machine, made->data() + 18, 2);
  EXPECT_EQ(type, 3);       // ET_DYN
  EXPECT_EQ(machine, 224);  // EM_AMDGPU
  EXPECT_THAT(*made, HasSubstr(std::string(1, '\0') + kernel + '\0'));
  EXPECT_THAT(*made, HasSubstr(std::string(1, '\0') + kernel + ".kd" + '\0'));
  EXPECT_THAT(*made, HasSubstr("amdhsa.kernels"));
}

TEST(PrepareForAssemblerTest, SpellsTheProcessorAnewAndLeavesOutSizes) {
  AmdgcnText text;
  text.triple = "amdgpu9.42-amd-amdhsa-unknown-";
  text.processor = "gfx942:sramecc+:xnack-";
  const std::string before = AmdgcnElement(text);
  const auto input = PrepareForAssembler(before);
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ(input->processor, text.processor);
  EXPECT_EQ(input->Triple(), "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-");
  EXPECT_THAT(input->text, HasSubstr(".amdgcn_target \"amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-\"\n"));
  EXPECT_THAT(input->text, HasSubstr("amdhsa.target: 'amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-'\n"));
  EXPECT_THAT(input->text, Not(HasSubstr(".Lfunc_end0")));
  EXPECT_THAT(input->text, HasSubstr(".size:           8\n"));
  EXPECT_THAT(input->text, HasSubstr("\tglobal_load_dword v1, v0, s[4:5]\n"));
  const auto lines = [](const std::string& all) { return std::count(all.begin(), all.end(), '\n'); };
  EXPECT_EQ(lines(input->text), lines(before) + 1);  // errors of assemblers name the text's own lines
}

TEST(PrepareForAssemblerTest, RefusesTextsWithoutAProcessorOrWithTwo) {
  EXPECT_TRUE(absl::IsInvalidArgument(PrepareForAssembler("\ts_endpgm\n").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(PrepareForAssembler("\t.amdgcn_target \"x86\"\n").status()));
  const absl::Status two = PrepareForAssembler("\t.amdgcn_target \"a--gfx942\"\namdhsa.target: a--gfx90a\n").status();
  EXPECT_THAT(Message(two), HasSubstr("two processors"));
}

class ComgrTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ComgrTest, AssemblesAndLinksAndGivesEverythingBack) {
  const ScopedVariable named("SAMEBITS_COMGR", GetParam());
  const auto made = Assemble(AmdgcnElement());
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(*fake_gpu::TextOf(fake_gpu::kExecutable, made->c_str()), PrepareForAssembler(AmdgcnElement())->text);
  EXPECT_TRUE(absl::IsInvalidArgument(Assemble("\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\nmisassembled\n").status()));
  const auto live = reinterpret_cast<int (*)()>(dlsym(dlopen(GetParam(), RTLD_NOW), "samebits_fake_comgr_live"));
  ASSERT_NE(live, nullptr);
  EXPECT_EQ(live(), 0);
}

TEST_P(ComgrTest, TellsTheAssemblersWords) {
  const ScopedVariable named("SAMEBITS_COMGR", GetParam());
  const absl::Status wrong = Assemble(AmdgcnElement("\tmisassembled\n")).status();
  EXPECT_TRUE(absl::IsInvalidArgument(wrong));
  EXPECT_EQ(Message(wrong), "the text does not assemble: kernel.s:2:3: error: unknown token in expression");
  AmdgcnText other;
  other.processor = "gfx803";
  EXPECT_THAT(Message(Assemble(AmdgcnElement(other)).status()), HasSubstr("does not know amdgcn-amd-amdhsa--gfx803"));
}

INSTANTIATE_TEST_SUITE_P(Interfaces, ComgrTest, ::testing::Values(SAMEBITS_FAKE_COMGR2, SAMEBITS_FAKE_COMGR3));

TEST(FindAssemblerTest, SaysWhatIsMissing) {
  const ScopedVariable missing("SAMEBITS_COMGR", "/nowhere/libamd_comgr.so");
  const ScopedVariable wrong("SAMEBITS_AMDGCN_CLANG", "/nowhere/clang");
  EXPECT_EQ(FindAssembler().status(), absl::UnavailableError("--amdgcn-clang: /nowhere/clang is no program"));
  const ScopedVariable none("SAMEBITS_AMDGCN_CLANG", nullptr);
  if (fs::exists("/opt/rocm")) GTEST_SKIP() << "this machine has ROCm";
  EXPECT_THAT(Message(FindAssembler().status()), HasSubstr("/nowhere/libamd_comgr.so is not found; SAMEBITS_COMGR may name it"));
  EXPECT_THAT(Message(FindAssembler().status()), HasSubstr("--amdgcn-clang may name"));
}

// Real assemblers, where they are installed.

constexpr char kClang[] = "/usr/lib/llvm-19/bin/clang";

class RealClangTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kClang) || !fs::exists("/usr/lib/llvm-19/bin/ld.lld")) GTEST_SKIP() << "clang-19 or lld-19 is not installed";
  }
  const ScopedVariable named_{"SAMEBITS_AMDGCN_CLANG", kClang};
};

TEST_F(RealClangTest, MakesCodeObjectsOfTheCorpus) {
  std::vector<fs::path> texts;
  for (const auto& entry : fs::recursive_directory_iterator(SAMEBITS_BINARY_DIR "/tests/corpus/amdgcn"))
    if (entry.path().extension() == ".s") texts.push_back(entry.path());
  std::sort(texts.begin(), texts.end());
  ASSERT_GE(texts.size(), 80u);
  const char* all = std::getenv("SAMEBITS_TEST_ALL_TEXTS");
  for (size_t i = 0; i < texts.size(); i += all != nullptr ? 1 : 10) {
    SCOPED_TRACE(texts[i]);
    const std::string text = ReadAll(texts[i]);
    const auto module = isa::amdgcn::Parse(text);
    ASSERT_TRUE(module.ok()) << module.status();
    ExpectCodeObject(Assemble(text), std::string(module->amdgcn->kernels[0].name));
  }
}

TEST_F(RealClangTest, TellsTheAssemblersWordsAndLeavesNoFiles) {
  const std::string folder = ::testing::TempDir() + "samebits_code_object";
  fs::create_directories(folder);
  const ScopedVariable temporary("TMPDIR", folder.c_str());
  ExpectCodeObject(Assemble(AmdgcnElement()), "k");
  const absl::Status wrong = Assemble(AmdgcnElement("\tv_frobnicate_f32 v3, v1\n")).status();
  EXPECT_TRUE(absl::IsInvalidArgument(wrong)) << wrong;
  EXPECT_THAT(Message(wrong), HasSubstr("kernel.s:16:2: error: invalid instruction"));
  EXPECT_TRUE(fs::is_empty(folder));
  fs::remove_all(folder);
}

TEST(RealComgrTest, MakesACodeObject) {
  const ScopedVariable clang("SAMEBITS_AMDGCN_CLANG", nullptr), comgr("SAMEBITS_COMGR", nullptr);
  if (!Comgr::Load().ok()) GTEST_SKIP() << "libamd_comgr is not installed";
  AmdgcnText text;
  text.processor = "gfx90a";  // older releases know it, too
  ExpectCodeObject(Assemble(AmdgcnElement(text)), "k");
  text.body = "\tv_frobnicate_f32 v3, v1\n";
  EXPECT_THAT(Message(Assemble(AmdgcnElement(text)).status()), HasSubstr("kernel.s:16:2: error: invalid instruction"));
}

}  // namespace
}  // namespace samebits::workers
