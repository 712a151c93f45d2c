#include "core/isa/ptx/parser.h"

#include "gmock/gmock.h"
#include "tests/unit/core/isa/ptx/test_util.h"

namespace samebits::isa::ptx {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A module and the function that a test is about: names of the function are views of the module's text.
struct ParsedFunction {
  Module module;
  const Function& operator*() const { return module.functions[0]; }
  const Function* operator->() const { return &module.functions[0]; }
};

ParsedFunction ParseFunctionText(const std::string& text) {
  ParsedFunction parsed{ParseText(text)};
  if (parsed.module.functions.empty()) parsed.module.functions.emplace_back();
  return parsed;
}

// The entry of EntryText(text), which must have one instruction.
ParsedFunction ParseInstructionText(const std::string& text) {
  ParsedFunction parsed = ParseFunctionText(EntryText(text));
  EXPECT_EQ(parsed->instructions.size(), 1u) << text;
  return parsed;
}

TEST(ParserTest, Header) {
  const Module module = ParseText("");
  EXPECT_EQ(module.version_major, 8);
  EXPECT_EQ(module.version_minor, 7);
  EXPECT_EQ(module.target, "sm_90a");
  EXPECT_EQ(module.sm, 90);
  EXPECT_EQ(module.sm_suffix, 'a');
  EXPECT_EQ(module.address_size, 64);
  EXPECT_FALSE(module.debug);
}

TEST(ParserTest, Targets) {
  struct Case {
    const char* text;
    int sm;
    char suffix;
    bool debug;
  };
  const Case kCases[] = {
      {"sm_75", 75, 0, false},
      {"sm_100f, debug", 100, 'f', true},
      {"sm_120a , texmode_independent", 120, 'a', false},
      {"debug, sm_60", 60, 0, true},
  };
  for (const Case& c : kCases) {
    const absl::StatusOr<Module> module = Parse(std::string(".version 6.0 .target ") + c.text + " .address_size 32");
    ASSERT_TRUE(module.ok()) << c.text << module.status();
    EXPECT_EQ(module->sm, c.sm) << c.text;
    EXPECT_EQ(module->sm_suffix, c.suffix) << c.text;
    EXPECT_EQ(module->debug, c.debug) << c.text;
    EXPECT_EQ(module->address_size, 32) << c.text;
  }
}

TEST(ParserTest, TextMayEndInNuls) {
  std::string text = kHeader;
  text.append(3, '\0');
  EXPECT_TRUE(Parse(text).ok());
}

TEST(ParserTest, ModulesMove) {
  absl::StatusOr<Module> module = Parse(std::string(kHeader) + ".entry kernel() { ret; }");
  ASSERT_TRUE(module.ok());
  const Module moved = *std::move(module);
  EXPECT_EQ(moved.functions[0].name, "kernel");
  EXPECT_EQ(moved.functions[0].instructions[0].name, "ret");
}

struct NameCase {
  const char* instruction;
  Op op;
  std::vector<Mod> mods;
  std::vector<ScalarType> types;
  int vector = 1, xcount = 0;
  int m = 0, n = 0, k = 0;
  bool unknown = false;
};

TEST(ParserTest, InstructionNames) {
  using T = ScalarType;
  const NameCase kCases[] = {
      {"mul.hi.u32 %r1, %r2, %r3", Op::kMul, {Mod::kHi}, {T::kU32}},
      {"mul.lo.s32 %r1, %r2, %r3", Op::kMul, {Mod::kLo}, {T::kS32}},
      {"setp.hi.u32 %p1, %r2, %r3", Op::kSetp, {Mod::kHi}, {T::kU32}},
      {"prmt.b32.b4e %r1, %r2, %r3, %r4", Op::kPrmt, {Mod::kB4e}, {T::kB32}},
      {"ld.global.L1::evict_last.L2::cache_hint.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1], %rd2",
       Op::kLd,
       {Mod::kGlobal, Mod::kL1EvictLast, Mod::kL2CacheHint},
       {T::kB32},
       4},
      {"createpolicy.fractional.L2::evict_last.b64 %rd1",
       Op::kCreatepolicy,
       {Mod::kFractional, Mod::kL2EvictLast},
       {T::kB64}},
      {"wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%f1}, %rd1, %rd2, 1, 1, 1, 0, 0",
       Op::kWgmmaMmaAsync,
       {Mod::kSync, Mod::kAligned},
       {T::kF32, T::kF16, T::kF16},
       1,
       0,
       64,
       64,
       16},
      {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f1}",
       Op::kMma,
       {Mod::kSync, Mod::kAligned, Mod::kRow, Mod::kCol},
       {T::kF32, T::kF16, T::kF16, T::kF32},
       1,
       0,
       16,
       8,
       16},
      {"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r1}, [smem]",
       Op::kWmmaLoad,
       {Mod::kA, Mod::kSync, Mod::kAligned, Mod::kRow, Mod::kShared},
       {T::kF16},
       1,
       0,
       16,
       16,
       16},
      {"cvt.rn.f16x2.f32 %r1, %f1, %f2", Op::kCvt, {Mod::kRn}, {T::kF16x2, T::kF32}},
      {"shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1", Op::kShfl, {Mod::kSync, Mod::kBfly}, {T::kB32}},
      {"bar.sync 0", Op::kBarSync, {}, {}},
      {"bar.warp.sync -1", Op::kBarWarpSync, {}, {}},
      {"atom.global.gpu.acq_rel.add.v2.f32 {%f1, %f2}, [%rd1], {%f1, %f2}",
       Op::kAtom,
       {Mod::kGlobal, Mod::kGpu, Mod::kAcqRel, Mod::kAdd},
       {T::kF32},
       2},
      {"fence.proxy.async.shared::cta", Op::kFence, {Mod::kProxy, Mod::kAsync, Mod::kSharedCta}, {}},
      {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1}, [smem]",
       Op::kLdmatrix,
       {Mod::kSync, Mod::kAligned, Mod::kTrans, Mod::kShared},
       {T::kB16},
       1,
       4,
       8,
       8,
       0},
      {"tcgen05.ld.sync.aligned.32x32b.x128.b32 {%r1}, [%r2]",
       Op::kTcgen05Ld,
       {Mod::kSync, Mod::kAligned, Mod::k32x32b},
       {T::kB32},
       1,
       128},
      {"cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2", Op::kCvt, {Mod::kRn, Mod::kSatfinite}, {T::kE4m3x2, T::kF32}},
      {"min.NaN.f32 %f1, %f2, %f3", Op::kMin, {Mod::kPropagateNan}, {T::kF32}},
      {"setp.nan.f32 %p1, %f2, %f3", Op::kSetp, {Mod::kNan}, {T::kF32}},
      {"add.bogus.s32 %r1, %r2, %r3", Op::kAdd, {}, {T::kS32}, 1, 0, 0, 0, 0, true},
      {"add..s32 %r1, %r2, %r3", Op::kAdd, {}, {T::kS32}, 1, 0, 0, 0, 0, true},
      {"add.s32. %r1, %r2, %r3", Op::kAdd, {}, {T::kS32}, 1, 0, 0, 0, 0, true},
      {"add.v1.s32 %r1, %r2, %r3", Op::kAdd, {}, {T::kS32}, 1, 0, 0, 0, 0, true},
      {"add.m99999n8.s32 %r1, %r2, %r3", Op::kAdd, {}, {T::kS32}, 1, 0, 0, 0, 0, true},
      {"bogus.s32 %r1", Op::kUnknown, {}, {T::kS32}},
      {"bogus::x.y 1", Op::kUnknown, {}, {}, 1, 0, 0, 0, 0, true},
      {"add .s32 %r1, %r2, %r3", Op::kAdd, {}, {T::kS32}},
      {"add/**/.sat\n.s32 %r1, %r2, %r3", Op::kAdd, {Mod::kSat}, {T::kS32}},
  };
  for (const NameCase& c : kCases) {
    SCOPED_TRACE(c.instruction);
    const ParsedFunction function = ParseInstructionText(std::string(c.instruction) + ";");
    ASSERT_EQ(function->instructions.size(), 1u);
    const Instruction& instruction = function->instructions[0];
    EXPECT_EQ(instruction.op, c.op);
    EXPECT_EQ(std::vector<Mod>(instruction.mods.begin(), instruction.mods.begin() + instruction.mod_count), c.mods);
    EXPECT_EQ(std::vector<ScalarType>(instruction.types.begin(), instruction.types.begin() + instruction.type_count),
              c.types);
    EXPECT_EQ(instruction.vector, c.vector);
    EXPECT_EQ(instruction.xcount, c.xcount);
    EXPECT_EQ(instruction.m, c.m);
    EXPECT_EQ(instruction.n, c.n);
    EXPECT_EQ(instruction.k, c.k);
    EXPECT_EQ(instruction.has_unknown_modifier, c.unknown);
  }
}

TEST(ParserTest, TooManyPiecesAreUnknown) {
  std::string mods, types;
  for (int i = 0; i < Instruction::kMaxMods + 1; ++i) mods += ".sat";
  for (int i = 0; i < Instruction::kMaxTypes + 1; ++i) types += ".s32";
  EXPECT_TRUE(ParseInstructionText("add" + mods + " %r1;")->instructions[0].has_unknown_modifier);
  EXPECT_TRUE(ParseInstructionText("add" + types + " %r1;")->instructions[0].has_unknown_modifier);
}

TEST(ParserTest, RegistersAndPairs) {
  const ParsedFunction function =
      ParseInstructionText("foo %r7, %r7|%p1, %p2|_, _|%p3, _, !%p1, -%r8, %r1.b3, %r2.h10;");
  ASSERT_EQ(function->instructions[0].operand_count, 9u);
  EXPECT_THAT(function->registers[0].name, "%r7");
  EXPECT_EQ(function->registers[0].type, ScalarType::kB32);
  EXPECT_EQ(OperandAt(*function, 0, 0).reg, 0u);
  EXPECT_EQ(OperandAt(*function, 0, 0).pair_reg, kNone32);
  EXPECT_EQ(OperandAt(*function, 0, 1).reg, 0u);
  EXPECT_EQ(function->registers[OperandAt(*function, 0, 1).pair_reg].name, "%p1");
  EXPECT_EQ(OperandAt(*function, 0, 2).kind, OperandKind::kRegister);
  EXPECT_EQ(OperandAt(*function, 0, 2).pair_reg, kNone32);
  EXPECT_EQ(OperandAt(*function, 0, 3).kind, OperandKind::kSink);
  EXPECT_EQ(function->registers[OperandAt(*function, 0, 3).pair_reg].name, "%p3");
  EXPECT_EQ(OperandAt(*function, 0, 4).kind, OperandKind::kSink);
  EXPECT_TRUE(OperandAt(*function, 0, 5).negated);
  EXPECT_TRUE(OperandAt(*function, 0, 6).negated);
  EXPECT_EQ(OperandAt(*function, 0, 7).selector, 'b');
  EXPECT_EQ(OperandAt(*function, 0, 7).selected, 0xfff3);
  EXPECT_EQ(OperandAt(*function, 0, 8).selector, 'h');
  EXPECT_EQ(OperandAt(*function, 0, 8).selected, 0xff01);
}

TEST(ParserTest, RegistersAreNumberedByFirstUse) {
  const ParsedFunction function = ParseInstructionText("add.s32 %r19, %r3, %r19;");
  ASSERT_EQ(function->registers.size(), 2u);
  EXPECT_EQ(function->registers[0].name, "%r19");
  EXPECT_EQ(function->registers[1].name, "%r3");
}

TEST(ParserTest, Addresses) {
  struct Case {
    const char* text;
    const char* symbol;
    bool has_register;
    int64_t offset;
  };
  const Case kCases[] = {
      {"[%rd1]", "", true, 0},       {"[ %rd1 + 0 ]", "", true, 0},    {"[%rd1+-16]", "", true, -16},
      {"[%rd1-16]", "", true, -16},  {"[%rd1+4+8]", "", true, 12},     {"[%rd1+2*4]", "", true, 8},
      {"[smem]", "smem", false, 0},  {"[smem+64]", "smem", false, 64}, {"[p+8]", "p", false, 8},
      {"[16]", "", false, 16},       {"[-16+4]", "", false, -12},      {"[WARP_SZ]", "", false, 32},
      {"gmem[3]", "gmem", false, 3},
  };
  for (const Case& c : kCases) {
    const Module module = ParseText(EntryText(std::string("ld.b32 %r1, ") + c.text + ";"));
    const Operand& address = OperandAt(module.functions[0], 0, 1);
    EXPECT_EQ(address.kind, c.text[0] == '[' ? OperandKind::kAddress : OperandKind::kSymbol) << c.text;
    EXPECT_EQ(address.imm, c.offset) << c.text;
    EXPECT_EQ(address.reg != kNone32, c.has_register) << c.text;
    EXPECT_EQ(address.symbol == kNone32 ? "" : module.symbols[address.symbol].name, c.symbol) << c.text;
  }
}

TEST(ParserTest, IndexCountsElements) {
  const Module module =
      ParseText(".global .v2 .u16 a[8];\n.entry k() { .reg .u64 %rd1; mov.u64 %rd1, a[3]; mov.u64 %rd1, a[1]+1; }");
  EXPECT_EQ(OperandAt(module.functions[0], 0, 1).imm, 12);
  EXPECT_EQ(OperandAt(module.functions[0], 1, 1).imm, 5);
}

TEST(ParserTest, Vectors) {
  const ParsedFunction function = ParseInstructionText("foo {%r1, _, 5, %tid.x}, {%r1}|%p1;");
  const Operand& first = OperandAt(*function, 0, 0);
  ASSERT_EQ(first.kind, OperandKind::kVector);
  ASSERT_EQ(first.count, 4u);
  const Operand* elements = &function->operand_pool[first.first];
  EXPECT_EQ(elements[0].kind, OperandKind::kRegister);
  EXPECT_EQ(elements[1].kind, OperandKind::kSink);
  EXPECT_EQ(elements[2].imm, 5);
  EXPECT_EQ(elements[3].special, Special::kTidX);
  const Operand& second = OperandAt(*function, 0, 1);
  EXPECT_EQ(second.count, 1u);
  EXPECT_EQ(function->registers[second.pair_reg].name, "%p1");
}

TEST(ParserTest, TensorAddressesAreVectorsThatStartWithAnAddress) {
  struct Case {
    const char* text;
    uint32_t count;
  };
  for (const Case& c : {Case{"[%rd1, {%r1, %r2}]", 3}, Case{"[%rd1, {%r1}]", 2}, Case{"[%rd1, %r1]", 2},
                        Case{"[%rd1, %rd2, {%r1, %r2}]", 4}, Case{"[smem+4, {%r1, 0, -3}]", 4}}) {
    const ParsedFunction function = ParseInstructionText(std::string("foo ") + c.text + ";");
    const Operand& operand = OperandAt(*function, 0, 0);
    ASSERT_EQ(operand.kind, OperandKind::kVector) << c.text;
    ASSERT_EQ(operand.count, c.count) << c.text;
    EXPECT_EQ(function->operand_pool[operand.first].kind, OperandKind::kAddress) << c.text;
    for (uint32_t i = 1; i < c.count; ++i) {
      EXPECT_NE(function->operand_pool[operand.first + i].kind, OperandKind::kAddress) << c.text;
    }
  }
}

TEST(ParserTest, SpecialRegisters) {
  const Module module =
      ParseText(EntryText("foo %tid.x, %clock_hi, %envreg31, %pm3_64, %tid.w, %reserved_smem_offset_1;"));
  const Function& function = module.functions[0];
  EXPECT_EQ(OperandAt(function, 0, 0).special, Special::kTidX);
  EXPECT_EQ(OperandAt(function, 0, 1).special, Special::kClockHi);
  const char* kOthers[] = {"%envreg31", "%pm3_64", "%tid.w", "%reserved_smem_offset_1"};
  for (uint32_t i = 0; i < 4; ++i) {
    const Operand& operand = OperandAt(function, 0, 2 + i);
    EXPECT_EQ(operand.kind, OperandKind::kSpecial);
    EXPECT_EQ(operand.special, Special::kOther);
    EXPECT_EQ(module.text->substr(operand.first, operand.count), kOthers[i]);
  }
  for (const char* name : {"%tid.q", "%envreg", "%envreg123", "%nothing", "%pmx", "%tid.x.y"}) {
    EXPECT_FALSE(Parse(kHeader + EntryText(std::string("foo ") + name + ";")).ok()) << name;
  }
}

TEST(ParserTest, GuardsAndLines) {
  const Module module = ParseText(
      ".file 3 \"x.py\"\n.entry k()\n{ .reg .pred %p<3>; .reg .b32 r;\n"
      "@%p1 mov.b32 r, 1;\n@ ! %p2\n  mov.b32\n r, 2;\n.loc 3 77 5 // here\n\n mov.b32 r, 3; /*\n*/ ret;}");
  const std::vector<Instruction>& instructions = module.functions[0].instructions;
  ASSERT_EQ(instructions.size(), 4u);
  EXPECT_EQ(instructions[0].line, 7u);
  EXPECT_EQ(instructions[1].line, 8u);
  EXPECT_EQ(instructions[2].line, 13u);
  EXPECT_EQ(instructions[3].line, 14u);
  EXPECT_EQ(module.functions[0].registers[instructions[0].guard].name, "%p1");
  EXPECT_FALSE(instructions[0].guard_negated);
  EXPECT_TRUE(instructions[1].guard_negated);
  EXPECT_EQ(instructions[2].guard, kNone32);
  EXPECT_EQ(instructions[1].loc_line, 0u);
  EXPECT_EQ(instructions[2].loc_file, 3u);
  EXPECT_EQ(instructions[3].loc_line, 77u);
  EXPECT_THAT(module.files, ElementsAre("", "", "", "x.py"));
}

TEST(ParserTest, LocationsDoNotReachTheNextFunction) {
  const Module module = ParseText(".entry a() { .loc 1 2 3\n ret; } .entry b() { ret; }");
  EXPECT_EQ(module.functions[0].instructions[0].loc_line, 2u);
  EXPECT_EQ(module.functions[1].instructions[0].loc_line, 0u);
}

TEST(ParserTest, Labels) {
  const ParsedFunction function = ParseFunctionText(EntryText("A: B: bra C; bra A; C: bra D; D:"));
  ASSERT_EQ(function->instructions.size(), 3u);
  EXPECT_EQ(OperandAt(*function, 0, 0).kind, OperandKind::kLabel);
  EXPECT_EQ(OperandAt(*function, 0, 0).target, 2u);
  EXPECT_EQ(OperandAt(*function, 1, 0).target, 0u);
  EXPECT_EQ(OperandAt(*function, 2, 0).target, 3u);
}

TEST(ParserTest, LabelsOfInnerScopesShadow) {
  const ParsedFunction function =
      ParseFunctionText(EntryText("L: ret; { bra L; bra M; { bra L; L: ret; } L: bra L; } bra L; M: ret;"));
  std::vector<uint32_t> targets;
  for (size_t i = 0; i < function->instructions.size(); ++i) {
    if (function->instructions[i].op == Op::kBra) targets.push_back(OperandAt(*function, i, 0).target);
  }
  EXPECT_THAT(targets, ElementsAre(5, 7, 4, 5, 0));
}

TEST(ParserTest, LabelsMayBeNamedLikeOpcodesAndRegistersLikeOpcodes) {
  const ParsedFunction function =
      ParseFunctionText(EntryText(".reg .b32 add; bra: add.s32 add, add, add; bra bra; ret: bra ret;"));
  ASSERT_EQ(function->instructions.size(), 3u);
  EXPECT_EQ(OperandAt(*function, 1, 0).target, 0u);
  EXPECT_EQ(OperandAt(*function, 2, 0).target, 2u);
}

TEST(ParserTest, LabelsMayHaveNamesOfOtherThings) {
  const ParsedFunction function = ParseFunctionText(
      EntryText("gmem: bra gmem; %r1: bra %r1; { k: bra k; } smem: .branchtargets k2; k2: brx.idx %r1, smem;"));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(OperandAt(*function, i, 0).target, i);
  EXPECT_EQ(OperandAt(*function, 3, 1).symbol, function->branch_tables[0].first);
}

TEST(ParserTest, OperandsOfUnknownInstructions) {
  const ParsedFunction function = ParseFunctionText(EntryText("L: foo L, smem, %r1, M, _, k; M:"));
  const OperandKind kKinds[] = {OperandKind::kLabel, OperandKind::kSymbol, OperandKind::kRegister,
                                OperandKind::kLabel, OperandKind::kSink,   OperandKind::kSymbol};
  for (uint32_t i = 0; i < 6; ++i) EXPECT_EQ(OperandAt(*function, 0, i).kind, kKinds[i]) << i;
}

TEST(ParserTest, BranchTables) {
  const Module module = ParseText(
      EntryText("A: ret; t: .branchtargets A, B, A; brx.idx %r1, t; brx.idx %r1, u; B: u: .branchtargets B;"));
  const Function& function = module.functions[0];
  ASSERT_EQ(function.branch_tables.size(), 2u);
  EXPECT_THAT(function.branch_tables[0].second, ElementsAre(0, 3, 0));
  EXPECT_THAT(function.branch_tables[1].second, ElementsAre(3));
  EXPECT_EQ(OperandAt(function, 1, 1).kind, OperandKind::kSymbol);
  EXPECT_EQ(OperandAt(function, 1, 1).symbol, function.branch_tables[0].first);
  EXPECT_EQ(OperandAt(function, 2, 1).symbol, function.branch_tables[1].first);
  EXPECT_EQ(module.symbols[function.branch_tables[0].first].kind, Symbol::Kind::kOther);
}

TEST(ParserTest, Calls) {
  const Module module = ParseText(
      ".func (.param .b32 r) f (.param .b32 a, .param .b32 b);\n.func g;\n"
      ".entry k() { .reg .b32 %x<3>; .reg .b64 %rd1; .param .b32 p0; .param .b32 p1;\n"
      "call (p0), f, (p1, 7); call.uni g; call g, (); call (%x1), f, (%x1, %x2);\n"
      "q: .callprototype (.param .b32 _) _ (.param .b32 _) .noreturn; call (p0), %rd1, (p1), q;\n"
      "t: .calltargets f, g; call %rd1, (), t; call (p0), f, (p1, p1), t; }\n");
  const Function& function = module.functions[2];
  ASSERT_EQ(function.instructions.size(), 7u);
  struct Case {
    uint32_t returns, arguments, operands;
    OperandKind target;
  };
  const Case kCases[] = {{1, 2, 3, OperandKind::kSymbol},   {0, 0, 3, OperandKind::kSymbol},
                         {0, 0, 3, OperandKind::kSymbol},   {1, 2, 3, OperandKind::kSymbol},
                         {1, 1, 4, OperandKind::kRegister}, {0, 0, 4, OperandKind::kRegister},
                         {1, 2, 4, OperandKind::kSymbol}};
  for (size_t i = 0; i < std::size(kCases); ++i) {
    EXPECT_EQ(function.instructions[i].op, Op::kCall);
    EXPECT_EQ(function.instructions[i].operand_count, kCases[i].operands) << i;
    EXPECT_EQ(OperandAt(function, i, 0).kind, OperandKind::kVector) << i;
    EXPECT_EQ(OperandAt(function, i, 0).count, kCases[i].returns) << i;
    EXPECT_EQ(OperandAt(function, i, 1).kind, kCases[i].target) << i;
    EXPECT_EQ(OperandAt(function, i, 2).kind, OperandKind::kVector) << i;
    EXPECT_EQ(OperandAt(function, i, 2).count, kCases[i].arguments) << i;
  }
  EXPECT_EQ(module.symbols[OperandAt(function, 0, 1).symbol].function, 0u);
  EXPECT_EQ(module.symbols[OperandAt(function, 1, 1).symbol].function, 1u);
  const Operand& prototype = OperandAt(function, 4, 3);
  ASSERT_EQ(prototype.kind, OperandKind::kSymbol);
  EXPECT_EQ(module.symbols[prototype.symbol].prototype, "(.param .b32 _) _ (.param .b32 _) .noreturn");
  ASSERT_EQ(function.call_tables.size(), 1u);
  EXPECT_EQ(OperandAt(function, 5, 3).symbol, function.call_tables[0].first);
  EXPECT_EQ(function.call_tables[0].second.size(), 2u);
}

TEST(ParserTest, SectionsAndDwarfLinesAreSkipped) {
  const Module module = ParseText(
      "@@DWARF .byte 0x2b, { \" \n.section .debug_info\n{\n.b8 1 // }\n$L: .b64 x+4, \"}\"\n}\n"
      ".section .debug_macinfo { }\n@@dwarf }\n.entry k() { ret; }\n.section foo.bar {}");
  ASSERT_EQ(module.functions.size(), 1u);
  EXPECT_EQ(module.functions[0].line, 12u);
}

TEST(ParserTest, FunctionDirectives) {
  const ParsedFunction function = ParseFunctionText(
      ".entry k(.param .b32 x) .reqntid 32, 4 .maxntid 128 .minnctapersm 2 .maxnreg 64\n"
      ".reqnctapercluster 2,1,1 .explicitcluster .maxclusterrank 8 .pragma \"a\", \"b\";\n"
      ".future 1, x, \"y\" .blocksareclusters .abi_preserve 8\n{ ret; }");
  EXPECT_THAT(function->reqntid, ElementsAre(32, 4, 1));
  EXPECT_THAT(function->maxntid, ElementsAre(128, 1, 1));
  EXPECT_THAT(function->reqnctapercluster, ElementsAre(2, 1, 1));
  EXPECT_TRUE(function->explicit_cluster);
  EXPECT_EQ(function->instructions.size(), 1u);
}

TEST(ParserTest, EntriesAreFoundByName) {
  const Module module = ParseText(".func f { ret; } .entry a { ret; } .entry b () { ret; }");
  EXPECT_EQ(module.FindEntry("b"), 2u);
  EXPECT_EQ(module.FindEntry(""), kNone32);
  EXPECT_THAT(module.functions[1].params, IsEmpty());
}

}  // namespace
}  // namespace samebits::isa::ptx
