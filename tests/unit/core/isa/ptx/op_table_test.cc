#include "core/isa/ptx/op_table.h"

#include <sstream>
#include <string>

#include "core/isa/ptx/verifier.h"
#include "core/isa/types.h"
#include "tests/unit/core/isa/ptx/test_util.h"

namespace samebits::isa::ptx {
namespace {

TEST(OpTableTest, EveryOpIsFoundBySpelling) {
  size_t length;
#define X(name, text, dests, min_operands, max_operands) \
  EXPECT_EQ(FindOp(text, &length), Op::name) << text;    \
  EXPECT_EQ(length, std::string_view(text).size());      \
  EXPECT_EQ(OpName(Op::name), text);                     \
  EXPECT_EQ(DestinationCount(Op::name), dests) << text;  \
  EXPECT_LE(dests, max_operands) << text;                \
  EXPECT_LE(MinOperands(Op::name), MaxOperands(Op::name)) << text;
  SAMEBITS_PTX_OPS(X)
#undef X
#define X(name, text) EXPECT_EQ(FindOp(text, &length), Op::name) << text;
  SAMEBITS_PTX_OP_ALIASES(X)
#undef X
}

TEST(OpTableTest, EveryModifierIsFoundBySpellingAndIsNoType) {
#define X(name, text)                          \
  EXPECT_EQ(FindMod(text), Mod::name) << text; \
  EXPECT_EQ(ModName(Mod::name), text);         \
  EXPECT_EQ(ParseType(text), ScalarType::kNone) << text;
  SAMEBITS_PTX_MODIFIERS(X)
#undef X
}

TEST(OpTableTest, LongestDottedPrefix) {
  struct Case {
    const char* name;
    Op op;
    size_t length;
  };
  const Case kCases[] = {
      {"mov.u32", Op::kMov, 3},
      {"cp.async.bulk.tensor.2d.shared::cluster", Op::kCpAsyncBulkTensor, 20},
      {"cp.async.bulk.shared::cta", Op::kCpAsyncBulk, 13},
      {"cp.async.ca.shared.global", Op::kCpAsync, 8},
      {"cp.async.bulkhead", Op::kCpAsync, 8},
      {"bar.cta.sync", Op::kBarSync, 12},
      {"bar.warp.sync", Op::kBarWarpSync, 13},
      {"barrier.cluster.arrive.release", Op::kBarrierClusterArrive, 22},
      {"wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", Op::kWgmmaMmaAsync, 15},
      {"tcgen05.wait::ld.sync.aligned", Op::kTcgen05WaitLd, 16},
      {"tcgen05.mma.ws.sp.cta_group::1", Op::kTcgen05MmaWs, 14},
      {"tcgen05.nothing", Op::kUnknown, 7},
      {"nothing", Op::kUnknown, 7},
      {"", Op::kUnknown, 0},
      {".add", Op::kUnknown, 0},
      {"addx.s32", Op::kUnknown, 4},
  };
  for (const Case& c : kCases) {
    size_t length = 99;
    EXPECT_EQ(FindOp(c.name, &length), c.op) << c.name;
    EXPECT_EQ(length, c.length) << c.name;
  }
  EXPECT_EQ(FindMod(""), Mod::kUnknown);
  EXPECT_EQ(FindMod("nothing"), Mod::kUnknown);
  EXPECT_EQ(FindMod("f32"), Mod::kUnknown);
}

// Every form is known down to its last modifier, and has operands that fit.
TEST(OpTableTest, InstructionForms) {
  std::istringstream forms(TestData("instruction_forms.txt"));
  std::string form;
  int count = 0;
  while (std::getline(forms, form)) {
    if (form.empty() || form[0] == '#') continue;
    SCOPED_TRACE(form);
    ++count;
    const Module module = ParseText(EntryText(form + ";"));
    ASSERT_EQ(module.functions.size(), 1u);
    ASSERT_EQ(module.functions[0].instructions.size(), 1u);
    const Instruction& instruction = module.functions[0].instructions[0];
    EXPECT_NE(instruction.op, Op::kUnknown);
    EXPECT_FALSE(instruction.has_unknown_modifier);
    EXPECT_EQ(instruction.name, form.substr(0, form.find(' ')));
    EXPECT_TRUE(Verify(module).ok()) << Verify(module);
  }
  EXPECT_GT(count, 350);
}

}  // namespace
}  // namespace samebits::isa::ptx
