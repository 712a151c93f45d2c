// StructureDifference, and the tests of the printer and of the renamer, which it serves.

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "core/isa/ptx/printer.h"
#include "core/isa/ptx/rename.h"
#include "core/isa/ptx/verifier.h"
#include "tests/unit/core/isa/ptx/test_util.h"

namespace samebits::isa::ptx {
namespace {

bool IsLocal(const Symbol& symbol) {
  return symbol.kind == Symbol::Kind::kOther || (symbol.kind == Symbol::Kind::kVariable && symbol.function != kNone32);
}

class Comparison {
 public:
  Comparison(const Module& a, const Module& b) : a_(a), b_(b) {}

  std::string Run() {
    Check("version", a_.version_major == b_.version_major && a_.version_minor == b_.version_minor);
    Check("target", a_.target == b_.target && a_.sm == b_.sm && a_.sm_suffix == b_.sm_suffix && a_.debug == b_.debug);
    Check("address size", a_.address_size == b_.address_size);
    Check("files", a_.files == b_.files);
    Check("functions", a_.functions.size() == b_.functions.size());
    for (size_t i = 0; difference_.empty() && i < a_.functions.size(); ++i) Compare(a_.functions[i], b_.functions[i]);
    return difference_;
  }

 private:
  void Check(const std::string& what, bool same) {
    if (difference_.empty() && !same) difference_ = what;
  }

  void Compare(const Function& a, const Function& b) {
    Check("name", a.name == b.name);
    Check("kind", a.is_entry == b.is_entry && a.is_declaration == b.is_declaration);
    Check("extents", a.reqntid == b.reqntid && a.maxntid == b.maxntid && a.reqnctapercluster == b.reqnctapercluster);
    Check("cluster", a.explicit_cluster == b.explicit_cluster);
    Check("register parameters", a.register_params == b.register_params);
    CompareParameters(a.params, b.params, a.register_params);
    CompareParameters(a.returns, b.returns, a.register_params);
    Check("registers", std::equal(a.registers.begin(), a.registers.end(), b.registers.begin(), b.registers.end(),
                                  [](const Register& x, const Register& y) { return x.type == y.type; }));
    CompareTables(a.branch_tables, b.branch_tables, /*of_symbols=*/false);
    CompareTables(a.call_tables, b.call_tables, /*of_symbols=*/true);
    Check("instructions", a.instructions.size() == b.instructions.size());
    for (size_t i = 0; difference_.empty() && i < a.instructions.size(); ++i) {
      Compare(a, a.instructions[i], b, b.instructions[i]);
      if (!difference_.empty()) absl::StrAppend(&difference_, " at instruction ", i, " of ", std::string(a.name));
    }
  }

  void CompareParameters(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, bool are_registers) {
    Check("parameters", a.size() == b.size());
    for (size_t i = 0; difference_.empty() && i < a.size(); ++i) {
      if (are_registers) {
        Check("parameter register", a[i] == b[i]);
      } else {
        CompareSymbols(a[i], b[i]);
      }
    }
  }

  using Tables = std::vector<std::pair<uint32_t, std::vector<uint32_t>>>;
  void CompareTables(const Tables& a, const Tables& b, bool of_symbols) {
    Check("tables", a.size() == b.size());
    for (size_t i = 0; difference_.empty() && i < a.size(); ++i) {
      Check("table", a[i].second.size() == b[i].second.size());
      for (size_t k = 0; difference_.empty() && k < a[i].second.size(); ++k) {
        if (of_symbols) {
          CompareSymbols(a[i].second[k], b[i].second[k]);
        } else {
          Check("table target", a[i].second[k] == b[i].second[k]);
        }
      }
    }
  }

  void CompareSymbols(uint32_t i, uint32_t k) {
    if ((i == kNone32) != (k == kNone32)) return Check("symbol", false);
    if (i == kNone32) return;
    const Symbol &a = a_.symbols[i], &b = b_.symbols[k];
    Check("symbol kind", a.kind == b.kind && a.space == b.space && a.type == b.type && a.vector == b.vector);
    Check("symbol size", a.align == b.align && a.size == b.size && a.is_extern == b.is_extern);
    Check("pointer",
          a.is_pointer == b.is_pointer && a.pointer_space == b.pointer_space && a.pointer_align == b.pointer_align);
    Check("owner", a.function == b.function && a.param_index == b.param_index);
    Check("initial bytes", a.init == b.init && a.init_has_addresses == b.init_has_addresses);
    Check("initial addresses", a.init_addresses.size() == b.init_addresses.size());
    Check("prototype", a.prototype == b.prototype);
    if (!IsLocal(a)) Check("symbol name", a.name == b.name);
    for (size_t n = 0; difference_.empty() && n < a.init_addresses.size(); ++n) {
      const InitAddress &x = a.init_addresses[n], &y = b.init_addresses[n];
      Check("initial address", x.offset == y.offset && x.mask == y.mask && x.addend == y.addend &&
                                   x.is_generic == y.is_generic &&
                                   a_.symbols[x.symbol].name == b_.symbols[y.symbol].name);
    }
  }

  void Compare(const Function& f, const Instruction& a, const Function& g, const Instruction& b) {
    Check("opcode", a.op == b.op && a.has_unknown_modifier == b.has_unknown_modifier);
    Check("modifiers", a.mod_count == b.mod_count && a.mods == b.mods);
    Check("types", a.type_count == b.type_count && a.types == b.types);
    Check("shape", a.vector == b.vector && a.xcount == b.xcount && a.m == b.m && a.n == b.n && a.k == b.k);
    Check("guard", a.guard == b.guard && a.guard_negated == b.guard_negated);
    Check("location", a.loc_file == b.loc_file && a.loc_line == b.loc_line);
    CompareOperands(f, a.first_operand, a.operand_count, g, b.first_operand, b.operand_count);
  }

  void CompareOperands(const Function& f, uint32_t first_a, uint32_t count_a, const Function& g, uint32_t first_b,
                       uint32_t count_b) {
    Check("operands", count_a == count_b);
    for (uint32_t i = 0; difference_.empty() && i < count_a; ++i) {
      const Operand &a = f.operand_pool[first_a + i], &b = g.operand_pool[first_b + i];
      Check("operand kind", a.kind == b.kind && a.negated == b.negated && a.special == b.special);
      Check("immediate", a.imm == b.imm && a.is_float == b.is_float && a.float_bits == b.float_bits);
      Check("register", a.reg == b.reg && a.pair_reg == b.pair_reg);
      Check("selector", a.selector == b.selector && a.selected == b.selected);
      Check("target", a.target == b.target);
      CompareSymbols(a.symbol, b.symbol);
      if (difference_.empty() && a.kind == OperandKind::kVector) {
        CompareOperands(f, a.first, a.count, g, b.first, b.count);
      }
    }
  }

  const Module& a_;
  const Module& b_;
  std::string difference_;
};

// Parses, checks that it is known and sound, prints, renames.
void ExpectStable(const std::string& name, const std::string& text) {
  SCOPED_TRACE(name);
  const absl::StatusOr<Module> module = Parse(text);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  for (const Function& function : module->functions) {
    for (const Instruction& instruction : function.instructions) {
      ASSERT_NE(instruction.op, Op::kUnknown) << instruction.name;
      ASSERT_FALSE(instruction.has_unknown_modifier) << instruction.name;
    }
  }
  const std::string printed = Print(*module);
  const absl::StatusOr<Module> again = Parse(printed);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(StructureDifference(*module, *again), "");
  EXPECT_EQ(Print(*again), printed);
  const absl::StatusOr<Module> renamed = Parse(RenameRegistersAndLabels(text, /*seed=*/text.size()));
  ASSERT_TRUE(renamed.ok()) << renamed.status();
  EXPECT_EQ(StructureDifference(*module, *renamed), "");
}

TEST(StructureTest, TestData) {
  for (const char* name : {"grammar.ptx", "nvcc_debug.ptx", "nvcc_lineinfo.ptx"}) ExpectStable(name, TestData(name));
}

// Set SAMEBITS_DEV_CORPUS to a folder of PTX files to run them all.
TEST(StructureTest, DevCorpus) {
  const char* folder = std::getenv("SAMEBITS_DEV_CORPUS");
  if (folder == nullptr) GTEST_SKIP() << "SAMEBITS_DEV_CORPUS is not set";
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".ptx") continue;
    ExpectStable(entry.path().string(), ReadFile(entry.path().string()));
    ++files;
  }
  EXPECT_GT(files, 0);
  std::printf("%d files\n", files);
}

TEST(StructureTest, DifferencesAreSeen) {
  const std::string base = EntryText("add.s32 %r1, %r2, 3;\nbra L;\nL: st.shared.b32 [smem+4], %r1;");
  const Module module = ParseText(base);
  const std::pair<const char*, const char*> kChanges[] = {
      {"add.s32", "sub.s32"},      {"add.s32", "add.u32"},   {"%r2, 3", "%r2, 4"},        {"%r1, %r2", "%r1, %r1"},
      {"[smem+4]", "[smem]"},      {"[smem+4]", "[gmem+4]"}, {"bra L;\nL:", "L: bra L;"}, {"smem[4096]", "smem[4097]"},
      {"add.s32", "@%p1 add.s32"}, {"bra L", "bra.uni L"},   {".u64 p)", ".u32 p)"},      {"%r2, 3", "%r2, %ntid.x"},
  };
  for (const auto& [from, to] : kChanges) {
    std::string changed = base;
    changed.replace(changed.find(from), std::string(from).size(), to);
    EXPECT_NE(StructureDifference(module, ParseText(changed)), "") << from << " -> " << to;
  }
}

TEST(PrinterTest, NormalForm) {
  const Module module = ParseText(
      ".visible .entry k(.param .u64 .ptr .global .align 16 p) .reqntid 32 {\n"
      "  .reg .b32 %r<9>; .reg .pred q; .shared .f32 tile[4];\n"
      "  loop: setp.ne.s32 q|_, %r5, 1.5e0; /* c */ @!q bra loop;\n"
      "  st .shared.f32 [tile+8], 0f3f800000;\n"
      "}\n");
  EXPECT_EQ(Print(module),
            ".version 8.7\n.target sm_90a\n.address_size 64\n"
            ".visible .entry k (.param .align 8 .u64 .ptr .global .align 16 p);\n"
            ".visible .entry k (.param .align 8 .u64 .ptr .global .align 16 p) .reqntid 32, 1, 1\n{\n"
            ".reg .pred %pred$<2>;\n.reg .b32 %b32$<2>;\n"
            ".shared .align 4 .f32 _$0[4];\n"
            "$L0:\n"
            "setp.ne.s32 %pred$0, %b32$1, 0d3ff8000000000000;\n"
            "@!%pred$0 bra $L0;\n"
            "st.shared.f32 [_$0+8], 0f3f800000;\n"
            "}\n");
}

// Names that stay may hold what the normal form would choose.
TEST(PrinterTest, NewNamesKeepClearOfOldOnes) {
  const std::string text = kHeader + std::string(
                                         ".global .b32 _$0;\n.entry $L0() { .reg .b32 %b32$0; .local .b32 x;\n"
                                         "$L1: ld.local.b32 %b32$0, [x]; st.global.b32 [_$0], %b32$0; bra $L1; }\n");
  ExpectStable("names", text);
}

TEST(RenameTest, ChangesRegistersAndLabelsOnly) {
  const std::string text =
      ".visible .entry k(.param .u64 in) { // in %r1\n"
      ".reg .b32 %r<9>, x; .reg .pred p;\n"
      "loop: mov.u32 %r1, %tid.x; add.s32 x, %r1, %r8; @p bra loop; ld.param.u64 %rd, [in];\n}\n";
  const std::string renamed = RenameRegistersAndLabels(text, 7);
  EXPECT_NE(renamed, text);
  EXPECT_EQ(renamed, RenameRegistersAndLabels(text, 7));
  EXPECT_NE(renamed, RenameRegistersAndLabels(text, 8));
  for (const char* kept : {"// in %r1\n", "%tid.x", "[in]", "(.param .u64 in)", "mov.u32", "add.s32", "%rd,", "bra "}) {
    EXPECT_NE(renamed.find(kept), std::string::npos) << kept << "\n" << renamed;
  }
  const std::string code = renamed.substr(renamed.find('\n'));
  for (const char* gone : {"%r1", "%r8", "%r<", "loop", " x,", "@p "}) {
    EXPECT_EQ(code.find(gone), std::string::npos) << gone << "\n" << renamed;
  }
}

TEST(RenameTest, NamesOfOtherThingsStay) {
  // `add` is an opcode, `m` a variable elsewhere, %t2 both in a range and alone.
  const std::string text = kHeader + std::string(
                                         ".global .b32 m;\n.entry k() { .reg .b32 add, %t<2>, %t2; { .reg .b32 m;\n"
                                         "add.s32 m, add, %t2; add.s32 m, %t1, %t0; } ld.global.b32 %t2, [m]; }\n");
  ExpectStable("names", text);
  const std::string renamed = RenameRegistersAndLabels(text, 1);
  EXPECT_NE(renamed.find("add.s32 m, add, "), std::string::npos) << renamed;
  EXPECT_EQ(renamed.find("%t"), std::string::npos) << renamed;
}

TEST(RenameTest, AnyBytes) {
  for (const char* text : {"", "\"", "/*", ".reg .b32 %r<", ".reg", "%", "a:", "%r<99999999999999999999>", "$L::x:"}) {
    EXPECT_EQ(RenameRegistersAndLabels(text, 3), RenameRegistersAndLabels(text, 3)) << text;
  }
}

}  // namespace

std::string StructureDifference(const Module& a, const Module& b) { return Comparison(a, b).Run(); }

}  // namespace samebits::isa::ptx
