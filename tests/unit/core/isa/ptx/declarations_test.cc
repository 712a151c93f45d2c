// Registers, variables, parameters, functions, and their scopes.

#include "gmock/gmock.h"
#include "tests/unit/core/isa/ptx/test_util.h"

namespace samebits::isa::ptx {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Name and type of every operand register of the instructions, in order.
std::vector<std::string> OperandRegisters(const std::string& body) {
  const Module module = ParseText(".entry k() {" + body + "}");
  std::vector<std::string> registers;
  if (module.functions.empty()) return registers;
  const Function& function = module.functions[0];
  for (const Operand& operand : function.operand_pool) {
    if (operand.kind != OperandKind::kRegister) continue;
    const Register& reg = function.registers[operand.reg];
    registers.push_back(std::string(reg.name) + ":" + std::string(TypeName(reg.type)));
  }
  return registers;
}

TEST(RegistersTest, NamesAndRanges) {
  EXPECT_THAT(OperandRegisters(".reg .b32 a, %r<12>, %x; .reg .f64 %fd<3>; foo a, %r0, %r11, %x, %fd2;"),
              ElementsAre("a:b32", "%r0:b32", "%r11:b32", "%x:b32", "%fd2:f64"));
  EXPECT_THAT(OperandRegisters(".reg .b32 t<3>; foo t0, t2;"), ElementsAre("t0:b32", "t2:b32"));
}

TEST(RegistersTest, LeadingZerosAreTheSameRegister) {
  EXPECT_THAT(OperandRegisters(".reg .b32 %r<12>; foo %r1, %r01, %r001;"),
              ElementsAre("%r1:b32", "%r1:b32", "%r1:b32"));
}

TEST(RegistersTest, InnerScopesShadow) {
  EXPECT_THAT(OperandRegisters(".reg .b32 %r<5>, x; foo %r1, x; { .reg .b64 %r<2>, x; foo %r1, %r4, x; "
                               "{ .reg .f32 %r1; foo %r1, %r0; } foo %r1; } foo %r1, x;"),
              ElementsAre("%r1:b32", "x:b32", "%r1:b64", "%r4:b32", "x:b64", "%r1:f32", "%r0:b64", "%r1:b64", "%r1:b32",
                          "x:b32"));
}

TEST(RegistersTest, RangeOfAnInnerScopeShadowsASingleName) {
  EXPECT_THAT(OperandRegisters(".reg .b32 %r3; foo %r3; { .reg .b64 %r<4>; foo %r3; } foo %r3;"),
              ElementsAre("%r3:b32", "%r3:b64", "%r3:b32"));
}

TEST(RegistersTest, PrefixesMayEndInDigits) {
  EXPECT_THAT(OperandRegisters(".reg .b32 %r1<5>; .reg .b64 %r<3>; foo %r10, %r14, %r2;"),
              ElementsAre("%r10:b32", "%r14:b32", "%r2:b64"));
}

TEST(RegistersTest, Vectors) {
  EXPECT_THAT(OperandRegisters(".reg .v4 .b32 %v, %w<3>; foo %v.x, %v.w, %w2.y, %v.r, %v.a, %v;"),
              // The components of the last operand come first in the pool.
              ElementsAre("%v.x:b32", "%v:b32", "%v:b32", "%v.w:b32", "%v.x:b32", "%v.w:b32", "%w2.y:b32", "%v.x:b32",
                          "%v.w:b32"));
}

// Numbers far apart in a huge range, in an order that makes the tables grow in between.
TEST(RegistersTest, SparseUseOfAHugeRange) {
  std::string body = ".reg .b32 %r<3900000>;";
  std::vector<int> numbers = {3'899'999, 1, 2'000'000, 5000, 1025, 3, 70'000};
  for (int i = 0; i < 3000; ++i) numbers.push_back(i * 7 % 5001);
  for (int round = 0; round < 2; ++round) {
    for (int number : numbers) body += "not.b32 %r" + std::to_string(number) + ", %r" + std::to_string(number) + ";";
  }
  const std::vector<std::string> registers = OperandRegisters(body);
  ASSERT_EQ(registers.size(), numbers.size() * 4);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const std::string name = "%r" + std::to_string(numbers[i]) + ":b32";
    EXPECT_EQ(registers[2 * i], name);
    EXPECT_EQ(registers[2 * (i + numbers.size())], name);
  }
}

TEST(RegistersTest, CountIsBounded) {
  for (const char* body : {".reg .b32 %r<4000000000>;", ".reg .b32 %r<4000001>;", ".reg .v4 .b32 %r<1000001>;",
                           ".reg .b32 %r<99999999999>;", ".reg .b32 %a<3999999>, %b<2>;"}) {
    const absl::Status status = Parse(std::string(kHeader) + ".entry k() {" + body + "}").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << body;
    EXPECT_NE(status.message().find("max_registers"), std::string::npos) << status;
  }
  EXPECT_TRUE(
      Parse(std::string(kHeader) + ".entry a() {.reg .b32 %r<4000000>;} .entry b() {.reg .b32 %r<4000000>;}").ok());
}

TEST(VariablesTest, Properties) {
  struct Case {
    const char* declaration;
    StateSpace space;
    ScalarType type;
    uint32_t align;
    uint64_t size;
    int vector;
    bool is_extern;
  };
  const Case kCases[] = {
      {".global .b32 x;", StateSpace::kGlobal, ScalarType::kB32, 4, 4, 1, false},
      {".visible .const .align 16 .f64 x[2][3];", StateSpace::kConst, ScalarType::kF64, 16, 48, 1, false},
      {".extern .shared .align 128 .b8 x[];", StateSpace::kShared, ScalarType::kB8, 128, 0, 1, true},
      {".extern .shared .b8 x[0];", StateSpace::kShared, ScalarType::kB8, 1, 0, 1, true},
      {".weak .global .v4 .f32 x[4];", StateSpace::kGlobal, ScalarType::kF32, 16, 64, 4, false},
      {".common .global .u16 x[2*4+1];", StateSpace::kGlobal, ScalarType::kU16, 2, 18, 1, false},
      {".global .attribute(.managed) .s8 x;", StateSpace::kGlobal, ScalarType::kS8, 1, 1, 1, false},
      {".global .attribute(.unified(19, 95)) .b32 x;", StateSpace::kGlobal, ScalarType::kB32, 4, 4, 1, false},
      {".global .surfref x;", StateSpace::kGlobal, ScalarType::kSurfref, 8, 8, 1, false},
      {".global .b32 .align 32 x;", StateSpace::kGlobal, ScalarType::kB32, 32, 4, 1, false},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.declaration);
    const Module module = ParseText(c.declaration);
    ASSERT_THAT(module.symbols, SizeIs(1));
    const Symbol& symbol = module.symbols[0];
    EXPECT_EQ(symbol.name, "x");
    EXPECT_EQ(symbol.kind, Symbol::Kind::kVariable);
    EXPECT_EQ(symbol.space, c.space);
    EXPECT_EQ(symbol.type, c.type);
    EXPECT_EQ(symbol.align, c.align);
    EXPECT_EQ(symbol.size, c.size);
    EXPECT_EQ(symbol.vector, c.vector);
    EXPECT_EQ(symbol.is_extern, c.is_extern);
    EXPECT_EQ(symbol.function, kNone32);
  }
}

TEST(VariablesTest, ExternAndDefinitionAreOneSymbol) {
  for (const char* text : {".extern .global .b32 x; .global .b32 x = 3;", ".global .b32 x = 3; .extern .global .b32 x;",
                           ".extern .global .b32 x; .extern .global .b32 x; .global .b32 x = 3;"}) {
    const Module module = ParseText(text);
    ASSERT_THAT(module.symbols, SizeIs(1)) << text;
    EXPECT_FALSE(module.symbols[0].is_extern) << text;
    EXPECT_THAT(module.symbols[0].init, ElementsAre(3, 0, 0, 0)) << text;
  }
}

TEST(VariablesTest, LocalsBelongToTheirFunctionAndScope) {
  const Module module = ParseText(
      ".shared .b32 x; .entry k() { .reg .u64 %rd1; mov.u64 %rd1, x; { .local .b8 x[8]; mov.u64 %rd1, x; } "
      "mov.u64 %rd1, x; { .param .b32 x; st.param.b32 [x], 1; } }");
  const Function& function = module.functions[0];
  const Symbol* used[] = {
      &module.symbols[OperandAt(function, 0, 1).symbol], &module.symbols[OperandAt(function, 1, 1).symbol],
      &module.symbols[OperandAt(function, 2, 1).symbol], &module.symbols[OperandAt(function, 3, 0).symbol]};
  EXPECT_EQ(used[0]->space, StateSpace::kShared);
  EXPECT_EQ(used[0]->function, kNone32);
  EXPECT_EQ(used[1]->space, StateSpace::kLocal);
  EXPECT_EQ(used[1]->function, 0u);
  EXPECT_EQ(used[2], used[0]);
  EXPECT_EQ(used[3]->space, StateSpace::kParam);
  EXPECT_EQ(used[3]->kind, Symbol::Kind::kVariable);
}

TEST(VariablesTest, Ranges) {
  const Module module = ParseText(
      ".entry k() { .local .align 8 .b32 x<4>; .reg .b32 %r1; ld.local.b32 %r1, [x3]; ld.local.b32 %r1, [x0]; "
      "ld.local.b32 %r1, [x3+4]; }");
  const Function& function = module.functions[0];
  const uint32_t symbol = OperandAt(function, 0, 1).symbol;
  EXPECT_EQ(module.symbols[symbol].name, "x3");
  EXPECT_EQ(module.symbols[symbol].align, 8u);
  EXPECT_EQ(OperandAt(function, 2, 1).symbol, symbol);
  EXPECT_EQ(module.symbols[OperandAt(function, 1, 1).symbol].name, "x0");
}

TEST(ParametersTest, Properties) {
  const Module module = ParseText(
      ".entry k(.param .u64 .ptr .global .align 16 a, .param .u64 .ptr b, .param .align 8 .b8 c[24],\n"
      ".param .f32 d, .param .u64 .ptr.shared.align 4 e) { ret; }");
  const Function& function = module.functions[0];
  ASSERT_THAT(function.params, SizeIs(5));
  for (uint32_t i = 0; i < 5; ++i) {
    const Symbol& symbol = module.symbols[function.params[i]];
    EXPECT_EQ(symbol.kind, Symbol::Kind::kParam);
    EXPECT_EQ(symbol.space, StateSpace::kParam);
    EXPECT_EQ(symbol.param_index, i);
    EXPECT_EQ(symbol.function, 0u);
    EXPECT_EQ(symbol.name, std::string(1, static_cast<char>('a' + i)));
  }
  const Symbol& a = module.symbols[function.params[0]];
  EXPECT_TRUE(a.is_pointer);
  EXPECT_EQ(a.pointer_space, StateSpace::kGlobal);
  EXPECT_EQ(a.pointer_align, 16u);
  EXPECT_EQ(a.align, 8u);
  const Symbol& b = module.symbols[function.params[1]];
  EXPECT_TRUE(b.is_pointer);
  EXPECT_EQ(b.pointer_space, StateSpace::kNone);
  EXPECT_EQ(module.symbols[function.params[2]].size, 24u);
  EXPECT_FALSE(module.symbols[function.params[3]].is_pointer);
  EXPECT_EQ(module.symbols[function.params[4]].pointer_space, StateSpace::kShared);
}

TEST(FunctionsTest, DeclarationThenDefinition) {
  const Module module = ParseText(
      ".extern .func (.param .b32 r) f (.param .b32 a);\n.entry k() { .param .b32 x; .param .b32 y; call (x), f, (y); "
      "}\n"
      ".func (.param .b32 r) f (.param .b32 b) { st.param.b32 [r], 1; ret; }\n");
  ASSERT_THAT(module.functions, SizeIs(2));
  const Function& f = module.functions[0];
  EXPECT_FALSE(f.is_declaration);
  EXPECT_FALSE(f.is_entry);
  EXPECT_THAT(f.instructions, SizeIs(2));
  ASSERT_THAT(f.params, SizeIs(1));
  EXPECT_EQ(module.symbols[f.params[0]].name, "b");
  EXPECT_EQ(module.symbols[f.params[0]].function, 0u);
  EXPECT_EQ(module.symbols[f.returns[0]].function, 0u);
  EXPECT_EQ(module.symbols[f.returns[0]].param_index, kNone32);
  EXPECT_EQ(module.symbols[OperandAt(module.functions[1], 0, 1).symbol].function, 0u);
  EXPECT_EQ(OperandAt(f, 0, 0).symbol, f.returns[0]);
}

TEST(FunctionsTest, DefinitionThenDeclarationKeepsTheBody) {
  const Module module = ParseText(".func f (.param .b32 a) { ret; } .func f (.param .b32 a);");
  ASSERT_THAT(module.functions, SizeIs(1));
  EXPECT_FALSE(module.functions[0].is_declaration);
  EXPECT_THAT(module.functions[0].instructions, SizeIs(1));
}

TEST(FunctionsTest, RegisterParameters) {
  const Module module = ParseText(".func (.reg .u32 r) f (.reg .u32 a, .reg .f64 b) { mov.u32 r, a; ret; }");
  const Function& f = module.functions[0];
  EXPECT_TRUE(f.register_params);
  EXPECT_THAT(f.returns, ElementsAre(0));
  EXPECT_THAT(f.params, ElementsAre(1, 2));
  EXPECT_EQ(f.registers[2].type, ScalarType::kF64);
  EXPECT_EQ(OperandAt(f, 0, 0).reg, 0u);
  EXPECT_EQ(OperandAt(f, 0, 1).reg, 1u);
}

TEST(FunctionsTest, Recursion) {
  const Module module = ParseText(".func f () { call f; ret; }");
  EXPECT_EQ(module.symbols[OperandAt(module.functions[0], 0, 1).symbol].function, 0u);
}

TEST(FunctionsTest, Aliases) {
  const Module module =
      ParseText(".func f () { ret; } .func g (); .alias g, f; .alias h, g; .entry k() { call g; call h; }");
  for (size_t i = 0; i < 2; ++i) {
    const Symbol& called = module.symbols[OperandAt(module.functions[2], i, 1).symbol];
    EXPECT_EQ(called.name, i == 0 ? "g" : "h");
    EXPECT_EQ(called.function, 0u);
  }
}

}  // namespace
}  // namespace samebits::isa::ptx
