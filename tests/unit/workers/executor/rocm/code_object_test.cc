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

absl::StatusOr<std::string> Assemble(const std::string& text, const std::string& clang = "") {
  const absl::StatusOr<AssemblerInput> input = PrepareForAssembler(text);
  if (!input.ok()) return input.status();
  const auto assembler = FindAssembler(clang);
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

TEST(CheckDirectivesTest, RefusesWhatReadsRepeatsOrFillsWithoutBound) {
  for (const char* line :
       {"\t.incbin \"/etc/passwd\"", ".INCBIN \"x\"", "a: .include \"x\"", "\"a\": .incbin \"x\"", ".amdhsa_code_object_version 5 .incbin \"x\"",
        "\t.end_amdgpu_metadata .incbin \"x\"", "\t.ascii \"; .incbin\"", "nop\r.incbin \"x\"", "nop /* x", "\t.macro m", "\t.Rept 5",
        "x: .irpc a, b", ".org 5", "\t.dcb.b 1000000, 1", "\t.ds.b 5", "\t.comm x, 5", "\t.nops 5", "\t.bundle_align_mode 30",
        "\t.fill 1<<40, 4, 0", "\t.fill 70000000", "\t.fill 8, 9", "\t.fill 8, n", "\t.zero n", "\t.space -1", "\t.skip 0x10000000", "\t.p2align 30",
        "\t.p2align n", "\t.balign 1<<30", "\t.ALIGN 40 - 1", "nop\v.globl k", "\t.section .deplibs,\"MS\",@llvm_dependent_libraries,1",
        "\t.section .d,\"MS\",@0x6fff4c04,1", "\t.section .d,@note", "\t.pushsection .d"}) {
    const absl::Status status = CheckDirectives(std::string("\tnop\n") + line + "\n");
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << line;
    EXPECT_THAT(Message(status), HasSubstr("line 2: ")) << line;
  }
  std::string much;
  for (int i = 0; i < 100; ++i) much += "\t.p2align 20\n";
  EXPECT_THAT(Message(CheckDirectives(much)), HasSubstr("line 65: more than 64 MiB of padding"));
}

TEST(CheckDirectivesTest, TakesWhatCompilersWrite) {
  for (const char* line :
       {"\t.fill 256, 4, 3212836864", "\t.p2alignl 6, 3212836864", "\t.p2align\t8", "\t.p2align\t6, 0x0", "\t.zero\t16 ; padding",
        "\t.section\t.AMDGPU.gpr_maximums,\"\",@progbits", "\t.section\t\".note.GNU-stack\",\"\",@progbits", "\t.section .debug_str,\"MS\",@progbits,1",
        "\t.section .text", "    .align:          8", "\tv_mul_f32_e32 v1, 0.5, v2", "\tv_add_f32_dpp v1, v1, v2 row_shr:4\r",
        "\t.set .Lk.num_vgpr, max(32, .Lk.other)", "k.rept:", "\ts_branch .Lrept"}) {
    EXPECT_TRUE(CheckDirectives(line).ok()) << CheckDirectives(line);
  }
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
  EXPECT_EQ(FindAssembler("/nowhere/clang").status(), absl::UnavailableError("--amdgcn-clang: /nowhere/clang is no program"));
  if (fs::exists("/opt/rocm")) GTEST_SKIP() << "this machine has ROCm";
  const std::string message = Message(FindAssembler("").status());
  EXPECT_THAT(message, HasSubstr("/nowhere/libamd_comgr.so is not found; SAMEBITS_COMGR may name it"));
  EXPECT_THAT(message, HasSubstr("--amdgcn-clang may name"));
}

// Real assemblers, where they are installed.

constexpr char kClang[] = "/usr/lib/llvm-19/bin/clang";

class RealClangTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kClang) || !fs::exists("/usr/lib/llvm-19/bin/ld.lld")) GTEST_SKIP() << "clang-19 or lld-19 is not installed";
  }
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
    ExpectCodeObject(Assemble(text, kClang), std::string(module->amdgcn->kernels[0].name));
  }
}

TEST_F(RealClangTest, TellsTheAssemblersWordsAndLeavesNoFiles) {
  const std::string folder = ::testing::TempDir() + "samebits_code_object";
  fs::create_directories(folder);
  const ScopedVariable temporary("TMPDIR", folder.c_str());
  ExpectCodeObject(Assemble(AmdgcnElement(), kClang), "k");
  const absl::Status wrong = Assemble(AmdgcnElement("\tv_frobnicate_f32 v3, v1\n"), kClang).status();
  EXPECT_TRUE(absl::IsInvalidArgument(wrong)) << wrong;
  EXPECT_THAT(Message(wrong), HasSubstr("kernel.s:16:2: error: invalid instruction"));
  EXPECT_THAT((*FindAssembler(kClang))->Version(), ::testing::StartsWith("clang 19."));
  EXPECT_TRUE(fs::is_empty(folder));
  fs::remove_all(folder);
}

TEST(RealComgrTest, MakesACodeObject) {
  const ScopedVariable comgr("SAMEBITS_COMGR", nullptr);
  if (!Comgr::Load().ok()) GTEST_SKIP() << "libamd_comgr is not installed";
  AmdgcnText text;
  text.processor = "gfx90a";  // older releases know it, too
  ExpectCodeObject(Assemble(AmdgcnElement(text)), "k");
  text.body = "\tv_frobnicate_f32 v3, v1\n";
  EXPECT_THAT(Message(Assemble(AmdgcnElement(text)).status()), HasSubstr("kernel.s:16:2: error: invalid instruction"));
}

}  // namespace
}  // namespace samebits::workers
