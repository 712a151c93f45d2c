// Constant expressions. The values of the integer cases are what the vendor's assembler computes for them.

#include <bit>

#include "tests/unit/core/isa/ptx/test_util.h"

namespace samebits::isa::ptx {
namespace {

Operand ParseImmediateText(const std::string& constant) {
  const Module module = ParseText(EntryText("mov.u64 %rd1, " + constant + ";"));
  return module.functions.empty() ? Operand{} : OperandAt(module.functions[0], 0, 1);
}

TEST(ConstantsTest, Integers) {
  struct Case {
    const char* text;
    uint64_t value;
  };
  const Case kCases[] = {
      {"0", 0},
      {"42", 42},
      {"-5", ~4ull},
      {"0x1F", 31},
      {"0X1f", 31},
      {"017", 15},
      {"0b101", 5},
      {"0B101", 5},
      {"0x10U", 16},
      {"18446744073709551615", UINT64_MAX},
      {"-9223372036854775808", 1ull << 63},
      {"2+3*4", 14},
      {"(2+3)*4", 20},
      {"10-4-3", 3},
      {"10 % 4*3", 6},
      {"-7 % 3", ~0ull},
      {"-1/2", 0},
      {"-1/2U", INT64_MAX},
      {"1<<4", 16},
      {"1<<65", 2},
      {"2+3<<1", 10},
      {"-8>>1", ~3ull},
      {"0xffffffffffffff00>>1", 0x7fffffffffffff80},
      {"9223372036854775808>>1", 1ull << 62},
      {"-1<1", 1},
      {"-1<1U", 0},
      {"1<2==1", 1},
      {"3>=3", 1},
      {"3<=2", 0},
      {"3!=2", 1},
      {"1|2^3&4==5", 3},
      {"6&3", 2},
      {"6^3", 5},
      {"5&&0||3", 1},
      {"!5", 0},
      {"!0", 1},
      {"~0", UINT64_MAX},
      {"~5U>>1", 0x7ffffffffffffffd},
      {"- - 3", 3},
      {"+3", 3},
      {"1?2:3", 2},
      {"0?2:0?3:4", 4},
      {"(.u64)-1>>63", 1},
      {"(.s64)0xffffffffffffffff>>63", UINT64_MAX},
      {"WARP_SZ", 32},
      {"2*WARP_SZ-1", 63},
      {"-WARP_SZ", ~31ull},
      {"1 /* c */ + // d\n 1", 2},
  };
  for (const Case& c : kCases) {
    const Operand operand = ParseImmediateText(c.text);
    EXPECT_EQ(operand.kind, OperandKind::kImmediate) << c.text;
    EXPECT_FALSE(operand.is_float) << c.text;
    EXPECT_EQ(static_cast<uint64_t>(operand.imm), c.value) << c.text;
  }
}

TEST(ConstantsTest, SignedDivisionWraps) {
  EXPECT_EQ(ParseImmediateText("(.s64)0x8000000000000000/-1").imm, INT64_MIN);
  EXPECT_EQ(ParseImmediateText("(.s64)0x8000000000000000 % -1").imm, 0);
}

TEST(ConstantsTest, FloatingPoint) {
  struct Case {
    const char* text;
    int bits;
    uint64_t value;
  };
  const auto bits = [](double value) { return std::bit_cast<uint64_t>(value); };
  const Case kCases[] = {
      {"0f3f800000", 32, 0x3f800000},
      {"0FBF800000", 32, 0xbf800000},
      {"0d3FF0000000000000", 64, bits(1)},
      {"1.5", 64, bits(1.5)},
      {"-1.5", 64, bits(-1.5)},
      {"-0.0", 64, bits(-0.0)},
      {".5", 64, bits(0.5)},
      {"1.", 64, bits(1)},
      {"1e3", 64, bits(1000)},
      {"2.5E-2", 64, bits(0.025)},
      {"0.1", 64, bits(0.1)},
      {"1.5+2.0", 64, bits(3.5)},
      {"(1.5-2.0)*4.0/0.5", 64, bits(-4)},
  };
  for (const Case& c : kCases) {
    const Operand operand = ParseImmediateText(c.text);
    EXPECT_TRUE(operand.is_float) << c.text;
    EXPECT_EQ(operand.float_bits, c.bits) << c.text;
    EXPECT_EQ(static_cast<uint64_t>(operand.imm), c.value) << c.text;
  }
}

TEST(ConstantsTest, Malformed) {
  struct Case {
    const char* text;
    const char* what;
  };
  const Case kCases[] = {
      {"", "expected an operand"},
      {"1+", "expected an operand"},
      {"(1", "expected ')'"},
      {"1)", "expected ',' or ';'"},
      {"019", "malformed number"},
      {"0x", "malformed number"},
      {"0xg", "malformed number"},
      {"0b2", "malformed number"},
      {"12ab", "malformed number"},
      {"1u", "malformed number"},
      {"0f3f80000", "malformed number"},
      {"0f3f8000000", "malformed number"},
      {"0d3ff", "malformed number"},
      {"1e", "malformed number"},
      {"1.5x", "malformed number"},
      {"1e999", "number out of range"},
      {"18446744073709551616", "number out of range"},
      {"0x1ffffffffffffffff", "number out of range"},
      {"1/0", "division by zero"},
      {"1%0", "division by zero"},
      {"1?2", "expected ':'"},
      {"1.5+2", "operator of floating-point constants"},
      {"1.5<2.5", "operator of floating-point constants"},
      {"-0f3f800000", "operator of floating-point constants"},
      {"~1.5", "operator of floating-point constants"},
      {"1.5?2:3", "floating-point expression"},
      {"(.s32)1", "expected .s64 or .u64"},
      {"#", "expected an operand"},
  };
  for (const Case& c : kCases) {
    const absl::StatusOr<Module> module = Parse(kHeader + EntryText(std::string("mov.u64 %rd1, ") + c.text + ";"));
    ParseError error;
    ASSERT_TRUE(GetParseError(module.status(), &error)) << c.text << module.status();
    EXPECT_EQ(error.what, c.what) << c.text;
  }
}

TEST(ConstantsTest, NestingIsBounded) {
  for (const std::string open : {"(", "-", "~", "!", "(.s64)", "1?", "0?1:"}) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += open;
    const absl::StatusOr<Module> module = Parse(kHeader + EntryText("mov.u64 %rd1, " + text + "1;"));
    ParseError error;
    ASSERT_TRUE(GetParseError(module.status(), &error)) << open;
    EXPECT_EQ(error.what, "expression is nested too deeply") << open;
  }
}

}  // namespace
}  // namespace samebits::isa::ptx
