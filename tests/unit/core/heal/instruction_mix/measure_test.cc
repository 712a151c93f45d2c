#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "core/heal/instruction_mix/code_object.h"
#include "core/heal/instruction_mix/instruction_mix.h"
#include "core/heal/instruction_mix/modules.h"
#include "core/heal/instruction_mix/tools.h"

namespace samebits::heal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kFixtures = absl::StrCat(SAMEBITS_SOURCE_DIR, "/tests/unit/core/heal/instruction_mix/fixtures/");

template <typename T>
void Put(std::string* image, size_t at, T value) {
  if (image->size() < at + sizeof value) image->resize(at + sizeof value);
  std::memcpy(image->data() + at, &value, sizeof value);
}

// ELF with a section ".text.NAME" for each name, and one of names.
std::string Elf(uint16_t machine, const std::vector<std::string>& kernels) {
  std::string names(1, '\0'), image("\x7f" "ELF\x02\x01\x01", 7);
  image.resize(64);
  const size_t table = 64, count = kernels.size() + 1;
  Put<uint16_t>(&image, 18, machine);
  Put<uint64_t>(&image, 40, table);
  Put<uint32_t>(&image, 48, 0x4c);
  Put<uint16_t>(&image, 58, 64);
  Put<uint16_t>(&image, 60, count);
  Put<uint16_t>(&image, 62, kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    Put<uint32_t>(&image, table + 64 * i, names.size());
    names += ".text." + kernels[i] + '\0';
  }
  Put<uint64_t>(&image, table + 64 * kernels.size() + 24, table + 64 * count);
  Put<uint64_t>(&image, table + 64 * kernels.size() + 32, names.size());
  image.resize(table + 64 * count);
  return image + names;
}

// Folder of tools that the test wrote, in place of the machine's.
class MeasureTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::getenv("PATH");
    setenv("PATH", absl::StrCat(folder_.path(), ":/usr/bin:/bin").c_str(), 1);
    for (const char* name : {"NVDISASM_PATH", "ROCM_PATH"}) unsetenv(name);
  }
  void TearDown() override { setenv("PATH", path_.c_str(), 1); }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  void WriteTool(const std::string& name, const std::string& script) { chmod(Write(name, "#!/bin/sh\n" + script).c_str(), 0755); }
  static absl::StatusOr<MixReport> Measure(const std::string& file, const std::string& match = "", const std::string& target = "") {
    MixRequest request;
    request.sources = {FileSource(file)};
    request.match = match;
    request.target = target;
    MixEvents events;
    return MeasureInstructionMix(request, events);
  }

  TemporaryFolder folder_ = *TemporaryFolder::Make();
  std::string path_;
};

TEST_F(MeasureTest, CubinsGoThroughNvdisasm) {
  WriteTool("nvdisasm", absl::StrCat("for last; do :; done; test \"$last\" = '", folder_.path(), "/k.cubin' && cat ", kFixtures, "nvdisasm_sm_90a.txt"));
  const auto report = Measure(Write("k.cubin", Elf(190, {"product"})));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->kernels.size(), 4u);
  EXPECT_EQ(report->kernels_seen, 4);
}

TEST_F(MeasureTest, LibrariesAreExtractedAndOnlyWhatMatchesIsDisassembled) {
  Write("one", Elf(190, {"product"}));
  Write("two", Elf(190, {"elsewhere"}));
  WriteTool("cuobjdump", absl::StrCat("test \"$2\" = .sm_90 || exit 3\ncp ", folder_.path(), "/one lib.1.sm_90.cubin\ncp ", folder_.path(),
                                      "/two lib.10.sm_90a.cubin\ncp lib.1.sm_90.cubin lib.2.sm_90.cubin\n"));
  WriteTool("nvdisasm", absl::StrCat("echo run >> ", folder_.path(), "/log\ncat ", kFixtures, "nvdisasm_sm_90a.txt"));
  const std::string library = Write("lib.so", Elf(62, {}));
  const auto report = Measure(library, "^product$", "sm_90");
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->kernels.size(), 1u);
  EXPECT_EQ(report->modules, 3);
  EXPECT_EQ(report->distinct_modules, 2);
  EXPECT_EQ(report->kernels[0].module, library + ": lib.1.sm_90.cubin");
  EXPECT_EQ(std::filesystem::file_size(folder_.path() + "/log"), 4u) << "nvdisasm ran once";
  EXPECT_THAT(std::string(Measure(library, "nothing", "sm_90").status().message()), AllOf(HasSubstr("'nothing'"), HasSubstr("sm_90")));
}

TEST_F(MeasureTest, CodeObjectsOfAmdGoThroughTheNewestLlvm) {
  WriteTool("llvm-objdump-9", "exit 1");
  WriteTool("llvm-objdump-200", absl::StrCat("cat ", kFixtures, "llvm_objdump_gfx942.txt"));
  const auto report = Measure(Write("k.hsaco", Elf(224, {})));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->kernels.at(0).target, "gfx942") << "of the file's header";
}

TEST_F(MeasureTest, ErrorsNameFileAndRemedy) {
  const auto message = [](const absl::StatusOr<MixReport>& report) { return report.status().ToString(); };
  WriteTool("nvdisasm", "echo cannot read it >&2; exit 7");
  EXPECT_THAT(message(Measure(Write("k.cubin", Elf(190, {"k"})))), AllOf(HasSubstr("k.cubin"), HasSubstr("exit code 7"), HasSubstr("cannot read it")));
  WriteTool("cuobjdump", "echo no device code; exit 255");
  EXPECT_THAT(message(Measure(Write("lib.so", Elf(62, {})), "", "sm_90")), AllOf(HasSubstr("lib.so"), HasSubstr("for sm_90")));
  EXPECT_THAT(message(Measure(Write("f.fatbin", "\x50\xed\x55\xba"), "", "sm_90;rm")), HasSubstr("expected sm_90"));
  EXPECT_THAT(message(Measure(Write("k.ptx", ".version 8.0\n.target sm_90\n"))), AllOf(HasSubstr("k.ptx"), HasSubstr("ptxas")));
  EXPECT_THAT(message(Measure(Write("b.co", "__CLANG_OFFLOAD_BUNDLE__...."))), HasSubstr("clang-offload-bundler"));
  EXPECT_THAT(message(Measure(folder_.path() + "/none")), AllOf(HasSubstr("NOT_FOUND"), HasSubstr("/none")));
  EXPECT_THAT(message(Measure(folder_.path())), HasSubstr("folder"));
  EXPECT_THAT(message(Measure(Write("empty", ""))), HasSubstr("empty"));
  EXPECT_THAT(message(Measure(Write("k.cubin", Elf(190, {"k"})), "(")), HasSubstr("regular expression '('"));
  MixEvents events;
  EXPECT_THAT(message(MeasureInstructionMix({}, events)), HasSubstr("no file"));
}

// Keeps parts as a worker's units are kept, and stops after some.
class KeptParts : public MixEvents {
 public:
  explicit KeptParts(size_t most = 1000) : most_(most) {}
  const DisassemblyMixes* Find(const std::string& key) override {
    const auto at = parts.find(key);
    return at == parts.end() ? nullptr : &at->second;
  }
  absl::Status OnPart(const std::string& key, const DisassemblyMixes& mixes) override {
    if (parts.size() == most_) return absl::AbortedError("stopped");
    parts.emplace(key, mixes);
    return absl::OkStatus();
  }
  void OnProgress(int64_t done, int64_t total, const std::string&) override {
    EXPECT_EQ(done, done_ + 1);
    EXPECT_LE(done, total);
    done_ = done;
  }
  std::map<std::string, DisassemblyMixes> parts;

 private:
  const size_t most_;
  int64_t done_ = 0;
};

TEST_F(MeasureTest, WhatAnEarlierRunFoundIsNotReadAgain) {
  WriteTool("nvdisasm", absl::StrCat("echo run >> ", folder_.path(), "/log\ncat ", kFixtures, "nvdisasm_sm_90a.txt"));
  MixRequest request;
  request.jobs = 1;
  for (const char* name : {"a", "b", "c"}) request.sources.push_back(FileSource(Write(absl::StrCat(name, ".cubin"), Elf(190, {name}))));
  KeptParts first(2);
  EXPECT_EQ(MeasureInstructionMix(request, first).status().code(), absl::StatusCode::kAborted);
  KeptParts second;
  second.parts = first.parts;
  std::filesystem::remove(folder_.path() + "/log");
  request.sources[0].name = "renamed";  // what was found is of the bytes, not of the name
  const auto resumed = MeasureInstructionMix(request, second);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(std::filesystem::file_size(folder_.path() + "/log"), 4u) << "nvdisasm ran once";
  EXPECT_EQ(resumed->kernels[0].module, "renamed");
  KeptParts none;
  const auto whole = MeasureInstructionMix(request, none);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(MixJson(RowsOf(*whole), whole->kernels), MixJson(RowsOf(*resumed), resumed->kernels));
}

TEST_F(MeasureTest, ImagesThatAreMadeAreOnePartAndRowsAreApartByTheirSource) {
  WriteTool("nvdisasm", absl::StrCat("cat ", kFixtures, "nvdisasm_sm_90a.txt"));
  int made = 0;
  MixRequest request;
  for (const char* name : {"bf16", "heal+"})
    request.sources.push_back({name, "", [&] { ++made; return std::vector<std::string>{Elf(190, {"k"}), Elf(190, {"k"})}; }, name});
  KeptParts parts;
  auto report = MeasureInstructionMix(request, parts);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(parts.parts.size(), 2u);
  EXPECT_EQ(report->kernels.size(), 16u) << "2 sources of 2 images of 4 kernels";
  report->engine = true;
  for (const MixRow& row : RowsOf(*report)) {
    EXPECT_EQ(row.kernels, 2) << row.name;
    EXPECT_THAT(row.name, ::testing::AnyOf(::testing::StartsWith("bf16: "), ::testing::StartsWith("heal+: ")));
  }
  KeptParts again;
  again.parts = parts.parts;
  ASSERT_TRUE(MeasureInstructionMix(request, again).ok());
  EXPECT_EQ(made, 2) << "nothing was made again";
  request.sources[0].make = [] { return absl::InternalError("does not compile"); };
  request.sources[0].mark = "other";
  EXPECT_EQ(MeasureInstructionMix(request, again).status().code(), absl::StatusCode::kInternal);
}

TEST_F(MeasureTest, FoldersThatAKilledProcessLeftAreRemoved) {
  const char* old = std::getenv("TMPDIR");
  const std::string before = old == nullptr ? "" : old;
  setenv("TMPDIR", folder_.path().c_str(), 1);
  const std::string abandoned = folder_.path() + "/samebits-mix-aaaaaa", young = folder_.path() + "/samebits-mix-bbbbbb";
  for (const std::string& path : {abandoned, young}) std::filesystem::create_directories(path + "/inner");
  const TemporaryFolder used = *TemporaryFolder::Make();
  for (const std::string& path : {abandoned, used.path()})
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  const TemporaryFolder next = *TemporaryFolder::Make();
  EXPECT_FALSE(std::filesystem::exists(abandoned));
  EXPECT_TRUE(std::filesystem::exists(young));
  EXPECT_TRUE(std::filesystem::exists(used.path()));
  before.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before.c_str(), 1);
}

TEST_F(MeasureTest, ExtractionHasABound) {
  WriteTool("cuobjdump", "for i in 1 2 3 4; do echo member $i; head -c 100000 /dev/zero > lib.$i.sm_90.cubin; done");
  MixRequest request;
  request.sources = {FileSource(Write("lib.so", Elf(62, {})))};
  request.most_extracted_bytes = 250000;
  MixEvents events;
  const auto report = MeasureInstructionMix(request, events);
  EXPECT_EQ(report.status().code(), absl::StatusCode::kResourceExhausted) << report.status();
  EXPECT_THAT(std::string(report.status().message()), HasSubstr("lib.so"));
}

TEST(ReadableNameTest, NamesThatStandForGigabytesAreLeftAlone) {
  EXPECT_EQ(ReadableNameWithin("_Z4mathPff"), "math(float*, float)");
  std::string bomb = "_Z1f1AIiiES_IS0_S0_E";
  for (const char digit : std::string("23456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    const char before = digit == 'A' ? '9' : static_cast<char>(digit - 1);
    bomb += std::string("S_IS") + before + "_S" + before + "_E";
  }
  EXPECT_EQ(ReadableNameWithin(bomb), bomb);
  EXPECT_EQ(ReadableNameWithin(bomb.substr(0, 20)), ReadableName(bomb.substr(0, 20)));
}

TEST_F(MeasureTest, AToolThatIsNowhereIsNamed) {
  setenv("PATH", folder_.path().c_str(), 1);
  const auto tool = FindTool(Tool::kLlvmObjdump);
  EXPECT_EQ(tool.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(tool.status().message()), AllOf(HasSubstr("llvm-objdump"), HasSubstr("apt install llvm")));
  WriteTool("nvdisasm-13", "");
  setenv("NVDISASM_PATH", (folder_.path() + "/nvdisasm-13").c_str(), 1);
  EXPECT_EQ(*FindTool(Tool::kNvdisasm), folder_.path() + "/nvdisasm-13");
}

TEST_F(MeasureTest, DamagedImagesGiveNoNames) {
  const std::string image = Elf(190, {"a", "b"});
  EXPECT_THAT(*TextSections(image), ElementsAre("a", "b"));
  for (size_t size = 0; size < image.size(); ++size) {
    const auto names = TextSections(std::string_view(image).substr(0, size));
    EXPECT_FALSE(names && names->size() == 2 && size < image.size() - 1) << size;
  }
  for (size_t at = 0; at < image.size(); ++at) {
    std::string damaged = image;
    damaged[at] = '\xff';
    TextSections(damaged);
    KindOf(damaged);
  }
}

KernelMix Mix(const std::string& name, int tensor, int single, int conversions) {
  KernelMix mix;
  mix.kernel = name;
  const auto add = [&](const char* opcode, InstructionClass kind, int count) {
    if (count == 0) return;
    mix.opcodes[{opcode, kind}] = count;
    mix.per_class[static_cast<size_t>(kind)] += count;
    mix.instructions += count;
  };
  add("HMMA.16816.F32", InstructionClass::kTensor, tensor);
  add("FMUL", InstructionClass::kSingle, single);
  add("F2FP.BF16.F32.PACK_AB", InstructionClass::kConversion, conversions);
  return mix;
}

TEST(MixRowsTest, SharesAreOfArithmeticAndRangeOverKernels) {
  const auto grouping = CompileGrouping("^(gemm|norm)_");
  const std::vector<KernelMix> kernels = {Mix("gemm_a", 95, 5, 10), Mix("gemm_b", 4, 0, 1), Mix("norm_x", 0, 8, 2), Mix("copy", 0, 0, 3)};
  const auto rows = MakeRows(kernels, [&](const KernelMix& k) { return (*grouping)(k.kernel); });
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].name, "gemm");
  EXPECT_EQ(rows[0].kernels, 2);
  EXPECT_EQ(rows[0].arithmetic, 104);
  ASSERT_EQ(rows[0].opcodes.size(), 3u);
  EXPECT_EQ(rows[0].opcodes[0].opcode, "HMMA.16816.F32");
  EXPECT_EQ(rows[0].opcodes[0].least, 0.95);
  EXPECT_EQ(rows[0].opcodes[0].most, 1.0);
  EXPECT_EQ(rows[0].opcodes[1].least, 0.0) << "gemm_b has none";
  EXPECT_EQ(rows[0].opcodes[1].most, 0.05);
  EXPECT_EQ(rows[0].least_conversions, 0.1);
  EXPECT_EQ(rows[0].most_conversions, 0.25);
  EXPECT_EQ(rows[2].name, "others");
  EXPECT_EQ(rows[2].without_arithmetic, 1);
  const std::string table = MixTable(rows);
  EXPECT_THAT(table, AllOf(HasSubstr("HMMA.16816.F32 (95.0-100.0 %), FMUL (0.0-5.0 %)"), HasSubstr("F2FP.BF16.F32.PACK_AB 11 (10.0-25.0 %)"),
                           HasSubstr("F2FP.BF16.F32.PACK_AB 3\n"), Not(HasSubstr("nan"))));
  const auto json = nlohmann::json::parse(MixJson(rows, kernels));
  EXPECT_EQ(json["rows"][1]["classes"]["single"], 8);
  EXPECT_EQ(json["kernels"].size(), 4u);
  EXPECT_EQ(json["kernels"][0]["arithmetic"], 100);
}

}  // namespace
}  // namespace samebits::heal
