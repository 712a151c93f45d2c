// Any bytes: the parser answers with a module or an error that has a position. A module can be verified, printed and
// printed again to the same text, and renaming keeps it parsing.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/isa/ptx/parser.h"
#include "core/isa/ptx/printer.h"
#include "core/isa/ptx/rename.h"
#include "core/isa/ptx/verifier.h"

namespace samebits::isa::ptx {
namespace {

void Require(bool condition, const char* what, const std::string& text) {
  if (condition) return;
  std::fprintf(stderr, "%s\n%s\n", what, text.c_str());
  std::abort();
}

// Small, so that a run meets each of them.
ParseLimits FuzzLimits() {
  ParseLimits limits;
  limits.max_instructions = 10'000;
  limits.max_operands = 50'000;
  limits.max_registers = 100'000;
  limits.max_symbols = 1'000;
  limits.max_scope_depth = 32;
  limits.max_initializer_bytes = 1 << 20;
  return limits;
}

void CheckReferences(const Module& module, const std::string& text) {
  for (const Function& function : module.functions) {
    const size_t pool = function.operand_pool.size();
    for (const Operand& operand : function.operand_pool) {
      Require(operand.reg == kNone32 || operand.reg < function.registers.size(), "register index", text);
      Require(operand.pair_reg == kNone32 || operand.pair_reg < function.registers.size(), "pair register index", text);
      Require(operand.symbol == kNone32 || operand.symbol < module.symbols.size(), "symbol index", text);
      if (operand.kind == OperandKind::kVector) Require(operand.first + size_t{operand.count} <= pool, "vector", text);
      if (operand.kind == OperandKind::kLabel) {
        Require(operand.target <= function.instructions.size(), "label target", text);
      }
    }
    for (const Instruction& instruction : function.instructions) {
      Require(instruction.first_operand + size_t{instruction.operand_count} <= pool, "operands", text);
      Require(instruction.guard == kNone32 || instruction.guard < function.registers.size(), "guard", text);
    }
  }
}

void CheckModule(const Module& module, const std::string& text) {
  CheckReferences(module, text);
  (void)Verify(module);
  const std::string printed = Print(module);
  const absl::StatusOr<Module> again = Parse(printed);
  Require(again.ok(), "the normal form does not parse", text + "\n----\n" + printed + again.status().ToString());
  Require(Print(*again) == printed, "printing is not stable", text + "\n----\n" + printed);
}

}  // namespace
}  // namespace samebits::isa::ptx

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace samebits::isa::ptx;
  const std::string text(reinterpret_cast<const char*>(data), size);
  // Every other input gets a header, so that mutation need not keep one.
  const std::string whole = size % 2 == 0 ? text : ".version 8.7\n.target sm_90a\n" + text;
  const absl::StatusOr<samebits::isa::Module> module = Parse(whole, FuzzLimits());
  if (module.ok()) {
    CheckModule(*module, whole);
  } else {
    ParseError error;
    Require(GetParseError(module.status(), &error) && error.line > 0 && error.column > 0, "error without position",
            whole);
  }
  (void)RenameRegistersAndLabels(whole, size);
  return 0;
}
