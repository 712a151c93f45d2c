#include "core/heal/instruction_mix/disassembly.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace samebits::heal {
namespace {

using ::testing::HasSubstr;

std::string Fixture(const std::string& name) {
  std::ifstream in(absl::StrCat(SAMEBITS_SOURCE_DIR, "/tests/unit/core/heal/instruction_mix/fixtures/", name));
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

absl::StatusOr<DisassemblyMixes> Read(const std::string& text, const MixFilter& filter = {}) {
  std::istringstream in(text);
  return ReadDisassembly(in, "module", filter);
}

std::map<std::string, KernelMix> ByName(const std::string& text, const MixFilter& filter = {}) {
  const absl::StatusOr<DisassemblyMixes> mixes = Read(text, filter);
  EXPECT_TRUE(mixes.ok()) << mixes.status();
  std::map<std::string, KernelMix> out;
  if (!mixes.ok()) return out;
  for (const KernelMix& kernel : mixes->kernels) {
    EXPECT_TRUE(out.emplace(ReadableName(kernel.kernel), kernel).second) << kernel.kernel;
  }
  return out;
}

int64_t Count(const KernelMix& kernel, const std::string& opcode, InstructionClass kind) {
  const auto it = kernel.opcodes.find({opcode, kind});
  return it == kernel.opcodes.end() ? 0 : it->second;
}

const char kWide[] = "void wide<float>(float const*, float*, int*)";

// What the source of the kernels says must be there, whatever printed it.
void CheckNvidia(const std::map<std::string, KernelMix>& kernels, const std::string& target) {
  ASSERT_EQ(kernels.size(), 4u);
  for (const auto& [name, kernel] : kernels) {
    EXPECT_EQ(kernel.target, target) << name;
    EXPECT_EQ(kernel.Of(InstructionClass::kUnrecognized), 0) << name;
    int64_t sum = 0;
    for (const auto& [key, count] : kernel.opcodes) sum += count;
    EXPECT_EQ(sum, kernel.instructions) << name;
  }
  const KernelMix& product = kernels.at("product");
  EXPECT_EQ(product.Of(InstructionClass::kTensor), 2) << "16 x 16 x 16 as two of m16n8k16";
  EXPECT_EQ(Count(product, "HMMA.16816.F32", InstructionClass::kTensor), 2);
  EXPECT_EQ(product.Of(InstructionClass::kConversion), 4) << "8 accumulators a lane, two at a time";
  EXPECT_EQ(product.Arithmetic(), 2);
  const KernelMix& normalize = kernels.at("normalize");
  EXPECT_EQ(Count(normalize, "MUFU.RSQ", InstructionClass::kSpecial), 1);
  EXPECT_EQ(Count(normalize, "HADD2.F32", InstructionClass::kConversion), 1) << "half to single";
  EXPECT_EQ(normalize.Of(InstructionClass::kConversion), 2);
  EXPECT_EQ(Count(normalize, "FADD", InstructionClass::kSingle), 6) << "a butterfly of 5, and the scale";
  EXPECT_EQ(kernels.at("packed").Of(InstructionClass::kHalf), 3);
  const KernelMix& wide = kernels.at(kWide);
  EXPECT_EQ(wide.Of(InstructionClass::kDouble), 1);
  EXPECT_EQ(wide.Of(InstructionClass::kAtomic), 1);
  EXPECT_EQ(wide.Of(InstructionClass::kConversion), 4);
}

TEST(DisassemblyTest, NvidiaTexts) {
  CheckNvidia(ByName(Fixture("cuobjdump_sm_80.txt")), "sm_80");
  const auto text = ByName(Fixture("nvdisasm_sm_90a.txt"));
  CheckNvidia(text, "sm_90a");
  EXPECT_EQ(text.at(kWide).Of(InstructionClass::kConstant), 1) << "HFMA2.MMA R8, -RZ, RZ, 0, 0";
}

TEST(DisassemblyTest, JsonSaysWhatTheTextSays) {
  const auto text = ByName(Fixture("nvdisasm_sm_90a.txt")), json = ByName(Fixture("nvdisasm_sm_90a.json"));
  ASSERT_EQ(text.size(), json.size());
  for (const auto& [name, kernel] : text) EXPECT_EQ(kernel.opcodes, json.at(name).opcodes) << name;
  EXPECT_EQ(json.at("product").target, "sm_90") << "JSON does not say the letter";
}

TEST(DisassemblyTest, AmdTexts) {
  for (const char* name : {"llvm_objdump_gfx942.txt", "llvm_objdump_gfx1100.txt"}) {
    const auto kernels = ByName(Fixture(name));
    ASSERT_EQ(kernels.size(), 2u) << name;
    const KernelMix& scale = kernels.at("scale");
    EXPECT_EQ(scale.Of(InstructionClass::kSpecial), 1) << name;
    EXPECT_EQ(scale.Of(InstructionClass::kSingle), 2) << name;
    EXPECT_EQ(scale.Of(InstructionClass::kConversion), 2) << name;
    EXPECT_EQ(scale.Of(InstructionClass::kCompare), 1) << name;
    EXPECT_EQ(kernels.at("packed").Of(InstructionClass::kHalf), 2) << name;
    EXPECT_EQ(kernels.at("packed").Of(InstructionClass::kDouble), 1) << name;
    for (const auto& [kernel, mix] : kernels) EXPECT_EQ(mix.Of(InstructionClass::kUnrecognized), 0) << name << kernel;
  }
  EXPECT_EQ(ByName(Fixture("llvm_objdump_gfx942.txt")).at("packed").Of(InstructionClass::kAtomic), 1);
  const KernelMix product = ByName(Fixture("llvm_objdump_gfx942_mfma.txt")).at("product");
  EXPECT_EQ(product.Of(InstructionClass::kTensor), 1);
  EXPECT_EQ(product.Of(InstructionClass::kConversion), 4);
}

TEST(DisassemblyTest, DualIssueAndUndecodableWords) {
  const auto kernels = ByName(
      "0000000000000000 <k>:\n\tv_dual_fmac_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v4, v5 // 0: 00\n\t.long 0xbf9f0000\n");
  EXPECT_EQ(kernels.at("k").Of(InstructionClass::kSingle), 2);
  EXPECT_EQ(kernels.at("k").Of(InstructionClass::kUnrecognized), 1);
  const auto pair = ByName("\tFunction : k\n   {   /*0008*/  MOV R1, c[0x0][0x44] ;  /* 0x00 */\n       /*0010*/  FADD R0, R0, R1 ; }\n");
  EXPECT_EQ(pair.at("k").instructions, 2);
  EXPECT_EQ(pair.at("k").Of(InstructionClass::kSingle), 1);
}

TEST(DisassemblyTest, Filters) {
  MixFilter filter;
  filter.kernel = *CompileFilter("wide<float>|^prod");
  EXPECT_EQ(ByName(Fixture("nvdisasm_sm_90a.txt"), filter).size(), 2u) << "readable and given names";
  EXPECT_EQ(Read(Fixture("nvdisasm_sm_90a.txt"), filter)->kernels_seen, 4);
  filter.kernel = nullptr;
  filter.target = "sm_90";
  EXPECT_EQ(ByName(Fixture("nvdisasm_sm_90a.txt"), filter).size(), 4u);
  EXPECT_TRUE(Read(Fixture("cuobjdump_sm_80.txt"), filter)->kernels.empty());
  EXPECT_FALSE(IsTarget("sm_100", "sm_10"));
  EXPECT_FALSE(IsTarget("sm_90", "sm_90a"));
  EXPECT_FALSE(IsTarget("gfx90a", "gfx90"));
  EXPECT_THAT(CompileFilter("a(").status().ToString(), HasSubstr("'a('"));
  EXPECT_FALSE(CompileFilter(std::string(kMostPattern + 1, 'a')).ok());
}

TEST(DisassemblyTest, SectionsNameKernelsWithoutALabel) {
  const auto kernels = ByName(
      "\t.headerflags\t@\"EF_CUDA_64BIT_ADDRESS EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)\"\n"
      "\t.section\t.text.product_made_late,\"ax\",@progbits\n"
      "\t.sectionflags\t@\"SHF_BARRIERS=3\"\n"
      "\t.sectioninfo\t@\"SHI_REGISTERS=168\"\n"
      "        .global         product_made_late\n"
      "product_made_late:\n"
      "        /*0000*/                   HGMMA.64x16x16.F32 R24, gdesc[UR4], RZ, !UPT ;\n"
      "        /*0010*/                   EXIT ;\n"
      "\t.section\t.nv.constant0.product_made_late,\"a\",@progbits\n"
      "        /*0000*/ \t.byte\t0x00 ;\n");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels.begin()->first, "product_made_late");
  EXPECT_EQ(kernels.begin()->second.instructions, 2);
  EXPECT_EQ(kernels.begin()->second.target, "sm_90");
}

TEST(DisassemblyTest, TextWithoutInstructionsIsAnError) {
  for (const char* text : {"", "hello\n", "\tFunction : k\n", "[1, 2", "{}", "[[[", "  401000:\t55\tpush %rbp\n"}) {
    const auto mixes = Read(text);
    EXPECT_EQ(mixes.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(mixes.status().message()), HasSubstr("module"));
  }
}

TEST(DisassemblyTest, LimitsHold) {
  std::string text = "\tFunction : k\n";
  for (size_t i = 0; i <= kMostOpcodesOfKernel; ++i) absl::StrAppend(&text, "/*0*/ FADD.X", i, " R0 ;\n");
  EXPECT_EQ(Read(text).status().code(), absl::StatusCode::kResourceExhausted);
  const auto long_line = ByName(absl::StrCat("\tFunction : ", std::string(1 << 20, 'n'), "\n/*0*/ FADD R0 ;\n"));
  ASSERT_EQ(long_line.size(), 1u);
  EXPECT_EQ(long_line.begin()->first.size(), kMostKernelName);
}

TEST(DisassemblyTest, SizeOfPiecesDoesNotMatter) {
  const std::string text = Fixture("nvdisasm_sm_90a.txt");
  const auto whole = ByName(text);
  for (size_t size : {1, 7, 100}) {
    MixFilter filter;
    DisassemblyReader reader("module", "", filter);
    for (size_t at = 0; at < text.size(); at += size) ASSERT_TRUE(reader.Feed(text.substr(at, size)).ok());
    const auto kernels = reader.Finish();
    ASSERT_EQ(kernels->size(), whole.size());
    for (const KernelMix& kernel : *kernels) EXPECT_EQ(kernel.opcodes, whole.at(ReadableName(kernel.kernel)).opcodes);
  }
}

TEST(DisassemblyTest, DamagedTextsGiveAResultOrAnError) {
  const std::vector<std::string> seeds = {Fixture("cuobjdump_sm_80.txt").substr(0, 4000), Fixture("nvdisasm_sm_90a.json"),
                                          Fixture("llvm_objdump_gfx942.txt"), Fixture("nvdisasm_sm_90a.txt").substr(0, 4000)};
  for (uint32_t seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    std::string text = seeds[seed % seeds.size()];
    for (int edit = 0; edit < 30; ++edit) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, random() % 20 + 1); break;
        default: text.insert(at, text.substr(random() % text.size(), random() % 50)); break;
      }
    }
    const auto mixes = Read(text);
    if (!mixes.ok()) {
      EXPECT_FALSE(mixes.status().message().empty()) << seed;
      continue;
    }
    for (const KernelMix& kernel : mixes->kernels) EXPECT_GT(kernel.instructions, 0) << seed;
  }
}

}  // namespace
}  // namespace samebits::heal
