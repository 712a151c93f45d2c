#include "core/isa/ptx/verifier.h"

#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace samebits::isa::ptx {
namespace {

// What each operand of an instruction must be, one letter an operand; operands past the pattern's end are free.
//   t  width of the first type        s  width of the last type
//   w  twice the first type's width   q  four times the first type's width
//   i  32 bits                        p  predicate
//   T  at least the first type wide   S  at least the last type wide (relaxed rules of ld, st, cvt)
//   .  anything
// Immediates and special registers fit everywhere but in p; sinks fit everywhere.
std::string_view PatternOf(const Instruction& instruction) {
  switch (instruction.op) {
    case Op::kAdd:
    case Op::kSub:
      // Mixed precision: the third operand has the wide type.
      return instruction.type_count > 1 ? "tst" : "ttt";
    case Op::kAddc:
    case Op::kSubc:
    case Op::kMin:
    case Op::kMax:
    case Op::kDiv:
    case Op::kRem:
    case Op::kMul24:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kCopysign:
      return "ttt";
    case Op::kMul:
      return instruction.Has(Mod::kWide) ? "wtt" : "ttt";
    case Op::kMad:
      return instruction.Has(Mod::kWide) ? "wttw" : "tttt";
    case Op::kFma:
      return instruction.type_count > 1 ? "tsst" : "tttt";
    case Op::kMadc:
    case Op::kMad24:
    case Op::kSad:
      return "tttt";
    case Op::kNeg:
    case Op::kAbs:
    case Op::kNot:
    case Op::kCnot:
    case Op::kBrev:
    case Op::kRcp:
    case Op::kSqrt:
    case Op::kRsqrt:
    case Op::kSin:
    case Op::kCos:
    case Op::kLg2:
    case Op::kEx2:
    case Op::kTanh:
      return "tt";
    case Op::kShl:
    case Op::kShr:
      return "tti";
    case Op::kBfe:
      return "ttii";
    case Op::kBfi:
      return "tttii";
    case Op::kPopc:
    case Op::kClz:
    case Op::kBfind:
      return "it";
    case Op::kPrmt:
    case Op::kShf:
      return "iiii";
    case Op::kDp4a:
    case Op::kDp2a:
      return "iiii";
    case Op::kLop3:
      return instruction.operand_count == 5 ? "iiii" : "iiii.p";
    case Op::kSetp:
      return instruction.operand_count == 4 ? "pttp" : "ptt";
    case Op::kSelp:
      return "tttp";
    case Op::kSet:
      return instruction.operand_count == 4 ? "tssp" : "tss";
    case Op::kSlct:
      return "ttts";
    case Op::kTestp:
      return "pt";
    case Op::kShfl:
      return "iiiii";
    case Op::kLd:
    case Op::kLdu:
      return "T";
    case Op::kSt:
      return ".T";
    case Op::kCvt:
      return "T";
    case Op::kMov:
      return "tt";
    default:
      return "";
  }
}

class FunctionVerifier {
 public:
  FunctionVerifier(const Module& module, const Function& function) : module_(module), function_(function) {
    for (const auto& [symbol, targets] : function.branch_tables) branch_tables_.insert(symbol);
  }

  absl::Status Verify() {
    for (const Instruction& instruction : function_.instructions) {
      if (absl::Status status = VerifyInstruction(instruction); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Fail(const Instruction& instruction, absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("line ", instruction.line, ": ",
                                                   absl::string_view(instruction.name.data(), instruction.name.size()),
                                                   ": ", what));
  }

  absl::Status VerifyInstruction(const Instruction& instruction) const {
    if (instruction.guard != kNone32 && TypeOf(instruction.guard) != ScalarType::kPred) {
      return Fail(instruction, "guard is no predicate");
    }
    if (instruction.op == Op::kUnknown || instruction.has_unknown_modifier) return absl::OkStatus();
    const int count = static_cast<int>(instruction.operand_count);
    if (count < MinOperands(instruction.op) || count > MaxOperands(instruction.op)) {
      return Fail(instruction, absl::StrCat("has ", count, " operands, takes ", MinOperands(instruction.op), " to ",
                                            MaxOperands(instruction.op)));
    }
    switch (instruction.op) {
      case Op::kBra:
        return OperandOf(instruction, 0).kind == OperandKind::kLabel ? absl::OkStatus()
                                                                     : Fail(instruction, "target is no label");
      case Op::kBrxIdx:
        return VerifyTable(instruction);
      case Op::kCall:
        return VerifyCall(instruction);
      default:
        return VerifyTypes(instruction);
    }
  }

  absl::Status VerifyTable(const Instruction& instruction) const {
    const Operand& table = OperandOf(instruction, 1);
    if (table.kind == OperandKind::kSymbol && branch_tables_.contains(table.symbol)) return absl::OkStatus();
    return Fail(instruction, "second operand is no table of targets");
  }

  absl::Status VerifyCall(const Instruction& instruction) const {
    const Operand& target = OperandOf(instruction, 1);
    if (target.kind != OperandKind::kSymbol) return absl::OkStatus();
    const Function& callee = module_.functions[module_.symbols[target.symbol].function];
    if (callee.returns.size() != OperandOf(instruction, 0).count) {
      return Fail(instruction, "number of results differs from the function's");
    }
    if (callee.params.size() != OperandOf(instruction, 2).count) {
      return Fail(instruction, "number of arguments differs from the function's");
    }
    return absl::OkStatus();
  }

  absl::Status VerifyTypes(const Instruction& instruction) const {
    const std::string_view pattern = PatternOf(instruction);
    if (instruction.type_count == 0) {
      const bool needs_type = pattern.find_first_of("tTsSwq") != std::string_view::npos;
      return needs_type ? Fail(instruction, "has no type") : absl::OkStatus();
    }
    for (uint32_t i = 0; i < pattern.size() && i < instruction.operand_count; ++i) {
      if (!Fits(instruction, pattern[i], OperandOf(instruction, i))) {
        return Fail(instruction, absl::StrCat("operand ", i + 1, " does not fit the instruction's type"));
      }
    }
    return absl::OkStatus();
  }

  bool Fits(const Instruction& instruction, char rule, const Operand& operand) const {
    const ScalarType first = instruction.type(), last = instruction.type(instruction.type_count - 1);
    switch (operand.kind) {
      case OperandKind::kRegister:
        return RegisterFits(operand.reg, rule, first, last) &&
               (operand.pair_reg == kNone32 || TypeOf(operand.pair_reg) == ScalarType::kPred);
      case OperandKind::kImmediate:
        return ImmediateFits(operand, rule, first, last);
      case OperandKind::kVector:
        return VectorFits(instruction, rule, operand, first);
      case OperandKind::kSink:
        return operand.pair_reg == kNone32 || TypeOf(operand.pair_reg) == ScalarType::kPred;
      case OperandKind::kSpecial:
        return rule != 'p' || operand.special == Special::kIsExplicitCluster;
      case OperandKind::kSymbol:
        return rule != 'p';
      case OperandKind::kAddress:
        return rule == '.';
      case OperandKind::kLabel:
        return false;
    }
    return false;
  }

  bool RegisterFits(uint32_t reg, char rule, ScalarType first, ScalarType last) const {
    const ScalarType type = TypeOf(reg);
    const int bits = BitWidth(type);
    if (rule == '.') return true;
    if (rule == 'p') return type == ScalarType::kPred;
    const ScalarType wanted = rule == 's' || rule == 'S' ? last : first;
    if (rule != 'i' && (wanted == ScalarType::kPred) != (type == ScalarType::kPred)) return false;
    switch (rule) {
      case 'i':
        return type != ScalarType::kPred && bits == 32;
      case 't':
      case 's':
        return bits == BitWidth(wanted);
      case 'w':
        return bits == 2 * BitWidth(first);
      default:
        return bits >= BitWidth(wanted);
    }
  }

  static bool ImmediateFits(const Operand& operand, char rule, ScalarType first, ScalarType last) {
    if (rule == '.') return true;
    if (rule == 'p') return !operand.is_float;
    if (rule == 'i' || rule == 'w') return !operand.is_float;
    const ScalarType wanted = rule == 's' || rule == 'S' ? last : first;
    // A bit type takes either; a float constant is no integer, and an integer no 32 or 64-bit float.
    if (operand.is_float) return !IsInteger(wanted) || TypeName(wanted)[0] == 'b';
    return wanted != ScalarType::kF32 && wanted != ScalarType::kF64;
  }

  // Elements of vector loads and stores have the type; those of a packing or unpacking mov share its width.
  bool VectorFits(const Instruction& instruction, char rule, const Operand& operand, ScalarType first) const {
    if (rule == '.') return true;
    const bool is_mov = instruction.op == Op::kMov;
    if (!is_mov && instruction.op != Op::kLd && instruction.op != Op::kLdu && instruction.op != Op::kSt) {
      return instruction.op == Op::kCvt || instruction.vector != 1;
    }
    if (!is_mov) {
      if (operand.count != instruction.vector) return false;
    } else if (operand.count == 0 || BitWidth(first) % static_cast<int>(operand.count) != 0) {
      return instruction.vector != 1;
    }
    for (uint32_t i = 0; i < operand.count; ++i) {
      const Operand& element = function_.operand_pool[operand.first + i];
      if (element.kind != OperandKind::kRegister) continue;
      const ScalarType type = TypeOf(element.reg);
      const int wanted =
          is_mov && instruction.vector == 1 ? BitWidth(first) / static_cast<int>(operand.count) : BitWidth(first);
      if (type == ScalarType::kPred) return false;
      if (is_mov ? BitWidth(type) != wanted : BitWidth(type) < wanted) return false;
    }
    return true;
  }

  const Operand& OperandOf(const Instruction& instruction, uint32_t i) const {
    return function_.operand_pool[instruction.first_operand + i];
  }
  ScalarType TypeOf(uint32_t reg) const { return function_.registers[reg].type; }

  const Module& module_;
  const Function& function_;
  absl::flat_hash_set<uint32_t> branch_tables_;
};

}  // namespace

absl::Status Verify(const Module& module) {
  for (const Function& function : module.functions) {
    if (absl::Status status = FunctionVerifier(module, function).Verify(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace samebits::isa::ptx
