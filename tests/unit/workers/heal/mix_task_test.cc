#include "workers/heal/mix_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace samebits::workers {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Leased = worker::v1::UpdateWorkerSessionResponse::Leased;

const std::string kFixtures = SAMEBITS_SOURCE_DIR "/tests/unit/core/heal/instruction_mix/fixtures/";

void AddFile(const std::string& name, const std::string& content, Leased* lease) {
  auto* files = lease->mutable_numerics()->mutable_request()->mutable_instruction_mix()->mutable_code_files();
  v1::CodeFile* file = files->add_files();
  file->set_name(name);
  file->set_content(content);
}

Leased Texts() {
  Leased lease;
  for (const char* name : {"cuobjdump_sm_80.txt", "llvm_objdump_gfx942.txt"}) {
    std::ifstream in(kFixtures + name);
    AddFile(name, std::string(std::istreambuf_iterator<char>(in), {}), &lease);
  }
  return lease;
}

struct Measured {
  absl::StatusOr<v1::NumericsResult> result;
  std::vector<worker::v1::TaskUnit> units;
  uint64_t done = 0, total = 0;
};
Measured RunTask(const Leased& lease) {
  Measured run;
  run.result = RunMixTask(lease, {[&](uint64_t done, uint64_t total) { run.done = done, run.total = total; },
                                  [&](worker::v1::TaskUnit unit) { run.units.push_back(std::move(unit)); }});
  return run;
}

TEST(MixTaskTest, GoesOnFromTheUnitsOfAnEarlierLease) {
  Leased lease = Texts();
  const Measured whole = RunTask(lease);
  ASSERT_TRUE(whole.result.ok()) << whole.result.status();
  EXPECT_EQ(whole.units.size(), 2u);
  EXPECT_EQ(whole.done, 2u);
  EXPECT_EQ(whole.total, 2u);
  EXPECT_EQ(whole.result->engine(), "disassembly text");
  *lease.add_units() = whole.units[0];
  const Measured resumed = RunTask(lease);
  ASSERT_TRUE(resumed.result.ok()) << resumed.result.status();
  ASSERT_EQ(resumed.units.size(), 1u);
  EXPECT_EQ(resumed.units[0].index(), 1u) << "numbers go on";
  EXPECT_EQ(resumed.result->SerializeAsString(), whole.result->SerializeAsString());
  lease.mutable_units(0)->set_body("damaged");
  EXPECT_EQ(RunTask(lease).units.size(), 2u) << "a unit that cannot be read is measured anew";
}

TEST(MixTaskTest, LargePartsTakeSeveralUnitsAndAPartThatLacksOneIsMeasuredAnew) {
  Leased lease;
  std::string text = "\t\tcode for sm_80\n";
  for (int i = 0; i < 3000; ++i)
    text += "\t\tFunction : " + std::string(1000, 'k') + std::to_string(i) + "\n        /*0000*/ FADD R0, R1, R2 ;\n";
  AddFile("large", text, &lease);
  const Measured whole = RunTask(lease);
  ASSERT_TRUE(whole.result.ok()) << whole.result.status();
  EXPECT_EQ(whole.result->instruction_mix().kernels_size(), 3000);
  ASSERT_GT(whole.units.size(), 1u);
  for (const worker::v1::TaskUnit& unit : whole.units) {
    EXPECT_LT(unit.body().size(), 4u << 20);
    *lease.add_units() = unit;
  }
  EXPECT_TRUE(RunTask(lease).units.empty());
  lease.mutable_units()->RemoveLast();
  const Measured again = RunTask(lease);
  EXPECT_EQ(again.units.size(), whole.units.size());
  EXPECT_EQ(again.result->SerializeAsString(), whole.result->SerializeAsString());
}

TEST(MixTaskTest, NamesOfFilesLeadNowhere) {
  Leased lease;
  AddFile("../../-rf; rm x", "code for sm_80\nFunction : k\n/*0000*/ FADD R0, R1, R2 ;\n", &lease);
  AddFile("..", "code for sm_80\nFunction : k\n/*0000*/ FADD R0, R1, R2 ;\n", &lease);
  const Measured run = RunTask(lease);
  ASSERT_TRUE(run.result.ok()) << run.result.status();
  EXPECT_EQ(run.result->instruction_mix().kernels(0).module(), "../../-rf; rm x");
}

TEST(MixTaskTest, ErrorsNameTheFile) {
  Leased lease = Texts();
  AddFile("poem.txt", "no code", &lease);
  EXPECT_THAT(std::string(RunTask(lease).result.status().message()), HasSubstr("poem.txt"));
  EXPECT_EQ(RunTask(Leased()).result.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(MixTaskTest, WithoutDisassemblyTextIsLeft) {
  EXPECT_THAT(FindInstructionSources(false), ElementsAre("text"));
  EXPECT_THAT(FindInstructionSources(true), Contains("text"));
}

}  // namespace
}  // namespace samebits::workers
