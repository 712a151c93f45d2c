#include "core/isa/ptx/parser.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace samebits::isa::ptx {
namespace {

constexpr char kHeader[] = ".version 8.7\n.target sm_90a\n.address_size 64\n";

// The module of a text behind the header, or of none when parsing fails, which fails the test.
Module ParseText(const std::string& body) {
  absl::StatusOr<Module> module = Parse(kHeader + body);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : Module{};
}

// The only instruction of an entry with the given declarations.
Module ParseInstructionText(const std::string& declarations, const std::string& instruction) {
  return ParseText(".visible .entry k(.param .u64 p)\n{\n" + declarations + "\n" + instruction + "\n}\n");
}

TEST(ParserTest, Header) {
  const Module module = ParseText("");
  EXPECT_EQ(module.version_major, 8);
  EXPECT_EQ(module.version_minor, 7);
  EXPECT_EQ(module.target, "sm_90a");
  EXPECT_EQ(module.sm, 90);
  EXPECT_EQ(module.sm_suffix, 'a');
  EXPECT_EQ(module.address_size, 64);
}

TEST(ParserTest, InstructionNameIsSplitAtTheLongestOpcode) {
  const Module module = ParseInstructionText(
      ".reg .b32 %r<9>; .reg .b64 %rd<3>;",
      "ld.global.L1::evict_last.L2::cache_hint.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1+-16], %rd2;");
  const Function& function = module.functions[0];
  ASSERT_EQ(function.instructions.size(), 1u);
  const Instruction& ld = function.instructions[0];
  EXPECT_EQ(ld.op, Op::kLd);
  EXPECT_FALSE(ld.has_unknown_modifier);
  EXPECT_TRUE(ld.Has(Mod::kGlobal));
  EXPECT_TRUE(ld.Has(Mod::kL1EvictLast));
  EXPECT_TRUE(ld.Has(Mod::kL2CacheHint));
  EXPECT_EQ(ld.vector, 4);
  EXPECT_EQ(ld.type(), ScalarType::kB32);
  ASSERT_EQ(ld.operand_count, 3u);
  const Operand& vector = function.operand_pool[ld.first_operand];
  EXPECT_EQ(vector.kind, OperandKind::kVector);
  EXPECT_EQ(vector.count, 4u);
  const Operand& address = function.operand_pool[ld.first_operand + 1];
  EXPECT_EQ(address.kind, OperandKind::kAddress);
  EXPECT_EQ(address.imm, -16);
}

}  // namespace
}  // namespace samebits::isa::ptx
