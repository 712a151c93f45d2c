#include "core/interpreter/contraction.h"

#include <vector>

namespace samebits::interpreter {
namespace {

using isa::Function;
using isa::Instruction;
using isa::Operand;
using isa::OperandKind;
using isa::ptx::Mod;
using isa::ptx::Op;

bool HasRounding(const Instruction& instruction) {
  for (const Mod mod : {Mod::kRn, Mod::kRz, Mod::kRm, Mod::kRp})
    if (instruction.Has(mod)) return true;
  return false;
}

bool IsOpenProduct(const Instruction& instruction) {
  if (!IsFloat(instruction.type()) || HasRounding(instruction)) return false;
  return instruction.op == Op::kMul || instruction.op == Op::kDiv;
}

bool IsOpenSum(const Instruction& instruction) {
  if (!IsFloat(instruction.type()) || HasRounding(instruction)) return false;
  return instruction.op == Op::kAdd || instruction.op == Op::kSub;
}

bool Passes(Op op) { return op == Op::kMov || op == Op::kNeg || op == Op::kAbs; }

// Calls `use(reg)` for the registers of an operand.
template <typename Use>
void ForRegisters(const Function& function, const Operand& operand, const Use& use) {
  if (operand.reg != isa::kNone32) use(operand.reg);
  if (operand.pair_reg != isa::kNone32) use(operand.pair_reg);
  if (operand.kind != OperandKind::kVector) return;
  for (uint32_t i = 0; i < operand.count; ++i) {
    const Operand& element = function.operand_pool[operand.first + i];
    if (element.reg != isa::kNone32) use(element.reg);
  }
}

class Search {
 public:
  explicit Search(const Function& function) : function_(function), product_(function.registers.size()) {}

  std::optional<uint32_t> Run() {
    for (const Instruction& instruction : function_.instructions)
      if (IsOpenProduct(instruction)) any_ |= Mark(instruction);
    for (bool grown = any_; grown;) {
      grown = false;
      for (const Instruction& instruction : function_.instructions)
        if (Passes(instruction.op) && Reads(instruction)) grown |= Mark(instruction);
    }
    if (!any_) return std::nullopt;
    for (const Instruction& instruction : function_.instructions)
      if (IsOpenSum(instruction) && Reads(instruction)) return instruction.line;
    return std::nullopt;
  }

 private:
  const Operand& At(const Instruction& instruction, uint32_t i) const {
    return function_.operand_pool[instruction.first_operand + i];
  }
  // Whether a register was not marked before.
  bool Mark(const Instruction& instruction) {
    bool grown = false;
    if (instruction.operand_count == 0) return false;
    ForRegisters(function_, At(instruction, 0), [&](uint32_t reg) {
      grown |= !product_[reg];
      product_[reg] = true;
    });
    return grown;
  }
  bool Reads(const Instruction& instruction) const {
    bool reads = false;
    for (uint32_t i = 1; i < instruction.operand_count; ++i)
      ForRegisters(function_, At(instruction, i), [&](uint32_t reg) { reads |= product_[reg]; });
    return reads;
  }

  const Function& function_;
  std::vector<bool> product_;
  bool any_ = false;
};

}  // namespace

std::optional<uint32_t> FindContractibleSum(const isa::Module& module) {
  for (const Function& function : module.functions)
    if (const std::optional<uint32_t> line = Search(function).Run()) return line;
  return std::nullopt;
}

}  // namespace samebits::interpreter
