#include "core/isa/ptx/printer.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/isa/ptx/lexer.h"

namespace samebits::isa::ptx {
namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

absl::string_view SpaceName(StateSpace space) {
  switch (space) {
    case StateSpace::kNone:
      return "";
    case StateSpace::kReg:
      return ".reg";
    case StateSpace::kParam:
      return ".param";
    case StateSpace::kGlobal:
      return ".global";
    case StateSpace::kShared:
      return ".shared";
    case StateSpace::kLocal:
      return ".local";
    case StateSpace::kConst:
      return ".const";
    case StateSpace::kTex:
      return ".tex";
  }
  return "";
}

class Printer {
 public:
  explicit Printer(const Module& module) : module_(module) {}

  std::string Print() {
    ChooseTag();
    PrintHeader();
    CollectLocals();
    // Every function is declared first, so that bodies and initialisers may name any of them.
    for (uint32_t i = 0; i < module_.functions.size(); ++i) {
      PrintHead(i, /*with_directives=*/module_.functions[i].is_declaration, ";\n");
    }
    for (uint32_t i = 0; i < module_.symbols.size(); ++i) {
      if (module_.symbols[i].function == kNone32) PrintVariable(i);
    }
    PrintAliases();
    for (uint32_t i = 0; i < module_.functions.size(); ++i) {
      if (!module_.functions[i].is_declaration) PrintFunction(i);
    }
    return std::move(out_);
  }

 private:
  template <typename... Parts>
  void Append(const Parts&... parts) {
    absl::StrAppend(&out_, Piece(parts)...);
  }
  static absl::string_view Piece(std::string_view text) { return View(text); }
  static absl::string_view Piece(absl::string_view text) { return text; }
  static absl::string_view Piece(const char* text) { return text; }
  static absl::string_view Piece(const std::string& text) { return text; }
  static absl::AlphaNum Piece(uint64_t value) { return value; }
  static absl::AlphaNum Piece(uint32_t value) { return value; }
  static absl::AlphaNum Piece(int64_t value) { return value; }
  static absl::AlphaNum Piece(int value) { return value; }

  // New names are a prefix and a number; the tag keeps the prefixes clear of the names that stay.
  void ChooseTag() {
    tag_ = "$";
    for (bool is_clear = false; !is_clear;) {
      is_clear = std::none_of(module_.symbols.begin(), module_.symbols.end(), [&](const Symbol& symbol) {
        return IsKept(symbol) && symbol.name.find(tag_) != std::string_view::npos;
      });
      if (!is_clear) tag_ += "$";
    }
  }

  static bool IsKept(const Symbol& symbol) {
    return symbol.function == kNone32 || symbol.kind == Symbol::Kind::kFunction || symbol.kind == Symbol::Kind::kParam;
  }

  void PrintHeader() {
    Append(".version ", module_.version_major, ".", module_.version_minor, "\n.target ");
    const absl::string_view target = module_.target.empty() ? "debug" : View(module_.target);
    Append(target, module_.debug && !module_.target.empty() ? ", debug" : "", "\n");
    Append(".address_size ", module_.address_size, "\n");
    for (uint32_t i = 0; i < module_.files.size(); ++i) {
      if (!module_.files[i].empty()) Append(".file ", i, " \"", module_.files[i], "\"\n");
    }
  }

  void PrintType(const Symbol& symbol) {
    if (symbol.vector != 1) Append(" .v", static_cast<int>(symbol.vector));
    Append(" .", TypeName(symbol.type));
  }

  // By name, because a declared alias and an undeclared one get their symbols at different places.
  void PrintAliases() {
    std::vector<std::pair<std::string_view, std::string_view>> aliases;
    for (const Symbol& symbol : module_.symbols) {
      if (symbol.kind != Symbol::Kind::kFunction) continue;
      const std::string_view name = module_.functions[symbol.function].name;
      if (name != symbol.name) aliases.emplace_back(symbol.name, name);
    }
    std::sort(aliases.begin(), aliases.end());
    for (const auto& [alias, name] : aliases) Append(".alias ", alias, ", ", name, ";\n");
  }

  // space, alignment, type, name and extent
  void PrintDeclaration(uint32_t index) {
    const Symbol& symbol = module_.symbols[index];
    Append(SpaceName(symbol.space), " .align ", symbol.align);
    PrintType(symbol);
    if (symbol.is_pointer) {
      Append(" .ptr");
      if (symbol.pointer_space != StateSpace::kNone) Append(" ", SpaceName(symbol.pointer_space));
      if (symbol.pointer_align != 0) Append(" .align ", symbol.pointer_align);
    }
    Append(" ");
    PrintSymbolName(index);
    const uint64_t element = static_cast<uint64_t>(BitWidth(symbol.type) / 8) * symbol.vector;
    if (symbol.size == 0) {
      Append("[]");
    } else if (symbol.size != element) {
      Append("[", symbol.size / element, "]");
    }
  }

  void PrintVariable(uint32_t index) {
    const Symbol& symbol = module_.symbols[index];
    if (symbol.kind != Symbol::Kind::kVariable) return;
    if (symbol.is_extern) Append(".extern ");
    PrintDeclaration(index);
    PrintInitializer(symbol);
    Append(";\n");
  }

  void PrintInitializer(const Symbol& symbol) {
    if (symbol.init.empty()) return;
    const uint64_t bytes = static_cast<uint64_t>(BitWidth(symbol.type) / 8);
    const bool is_scalar = symbol.size == bytes;
    Append(is_scalar ? " = " : " = {");
    size_t address = 0;
    for (uint64_t at = 0; at < symbol.init.size(); at += bytes) {
      if (at != 0) Append(", ");
      if (address < symbol.init_addresses.size() && symbol.init_addresses[address].offset == at) {
        PrintAddress(symbol.init_addresses[address++]);
      } else {
        PrintElement(symbol, at, bytes);
      }
    }
    if (!is_scalar) Append("}");
  }

  void PrintElement(const Symbol& symbol, uint64_t at, uint64_t bytes) {
    uint64_t bits = 0;
    std::memcpy(&bits, symbol.init.data() + at, std::min<uint64_t>(bytes, 8));
    if (symbol.type == ScalarType::kF32) {
      absl::StrAppendFormat(&out_, "0f%08x", bits);
    } else if (symbol.type == ScalarType::kF64) {
      absl::StrAppendFormat(&out_, "0d%016x", bits);
    } else {
      Append(bits);
    }
  }

  void PrintAddress(const InitAddress& address) {
    if (address.mask != 0) absl::StrAppendFormat(&out_, "0x%x(", address.mask);
    if (address.is_generic) Append("generic(");
    PrintSymbolName(address.symbol);
    if (address.is_generic) Append(")");
    PrintOffset(address.addend);
    if (address.mask != 0) Append(")");
  }

  void PrintOffset(int64_t offset) {
    if (offset != 0) Append("+", offset);
  }

  void PrintSymbolName(uint32_t index) {
    const Symbol& symbol = module_.symbols[index];
    if (IsKept(symbol)) {
      Append(symbol.name);
    } else {
      Append("_", tag_, local_number_[index]);
    }
  }

  // Local variables and tables by function, and their numbers: variables first, because they are printed first.
  void CollectLocals() {
    locals_.resize(module_.functions.size());
    local_number_.resize(module_.symbols.size());
    for (const Symbol::Kind kind : {Symbol::Kind::kVariable, Symbol::Kind::kOther}) {
      for (uint32_t i = 0; i < module_.symbols.size(); ++i) {
        const Symbol& symbol = module_.symbols[i];
        if (symbol.kind != kind || IsKept(symbol)) continue;
        local_number_[i] = static_cast<uint32_t>(locals_[symbol.function].size());
        locals_[symbol.function].push_back(i);
      }
    }
  }

  void PrintParameters(const Function& function, const std::vector<uint32_t>& parameters) {
    Append("(");
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (i != 0) Append(", ");
      if (function.register_params) {
        Append(".reg .", TypeName(function.registers[parameters[i]].type), " ");
        PrintRegister(function, parameters[i]);
      } else {
        PrintDeclaration(parameters[i]);
      }
    }
    Append(")");
  }

  void PrintHead(uint32_t index, bool with_directives, const char* end) {
    const Function& function = module_.functions[index];
    Append(function.is_entry ? ".visible .entry " : ".visible .func ");
    if (!function.returns.empty()) {
      PrintParameters(function, function.returns);
      Append(" ");
    }
    Append(function.name, " ");
    PrintParameters(function, function.params);
    if (with_directives) PrintDirectives(function);
    Append(end);
  }

  void PrintDirectives(const Function& function) {
    PrintExtents(" .reqntid ", function.reqntid);
    PrintExtents(" .maxntid ", function.maxntid);
    PrintExtents(" .reqnctapercluster ", function.reqnctapercluster);
    if (function.explicit_cluster) Append(" .explicitcluster");
  }

  void PrintExtents(const char* directive, const std::array<uint32_t, 3>& extents) {
    if (extents == std::array<uint32_t, 3>{0, 0, 0}) return;
    Append(directive, extents[0], ", ", extents[1], ", ", extents[2]);
  }

  void PrintFunction(uint32_t index) {
    const Function& function = module_.functions[index];
    PrintHead(index, /*with_directives=*/true, "\n{\n");
    PrintRegisters(function);
    for (uint32_t symbol : locals_[index]) PrintVariable(symbol);
    FindLabels(function);
    PrintTables(function, index);
    for (uint32_t i = 0; i < function.instructions.size(); ++i) {
      if (is_label_[i]) Append(tag_, "L", i, ":\n");
      PrintInstruction(function, function.instructions[i], i);
    }
    if (is_label_.back()) Append(tag_, "L", function.instructions.size(), ":\n");
    Append("}\n");
  }

  void PrintRegisters(const Function& function) {
    std::vector<bool> seen(256, false);
    for (const Register& reg : function.registers) {
      if (seen[static_cast<int>(reg.type)]) continue;
      seen[static_cast<int>(reg.type)] = true;
      Append(".reg .", TypeName(reg.type), " %", TypeName(reg.type), tag_, "<", function.registers.size(), ">;\n");
    }
  }

  void PrintRegister(const Function& function, uint32_t index) {
    const uint32_t parameters =
        function.register_params ? static_cast<uint32_t>(function.params.size() + function.returns.size()) : 0;
    if (index < parameters) {
      Append("%p", tag_, index);
    } else {
      Append("%", TypeName(function.registers[index].type), tag_, index);
    }
  }

  void FindLabels(const Function& function) {
    is_label_.assign(function.instructions.size() + 1, false);
    for (const Operand& operand : function.operand_pool) {
      if (operand.kind == OperandKind::kLabel) is_label_[operand.target] = true;
    }
    for (const auto& [symbol, targets] : function.branch_tables) {
      for (uint32_t target : targets) is_label_[target] = true;
    }
  }

  void PrintTables(const Function& function, uint32_t index) {
    absl::flat_hash_map<uint32_t, const std::vector<uint32_t>*> calls, branches;
    for (const auto& [symbol, targets] : function.call_tables) calls[symbol] = &targets;
    for (const auto& [symbol, targets] : function.branch_tables) branches[symbol] = &targets;
    for (uint32_t i : locals_[index]) {
      const Symbol& symbol = module_.symbols[i];
      if (symbol.kind != Symbol::Kind::kOther) continue;
      PrintSymbolName(i);
      if (!symbol.prototype.empty()) {
        Append(": .callprototype ", symbol.prototype, ";\n");
        continue;
      }
      const bool is_call = calls.contains(i);
      Append(is_call ? ": .calltargets " : ": .branchtargets ");
      const std::vector<uint32_t>& targets = is_call ? *calls[i] : *branches[i];
      for (size_t k = 0; k < targets.size(); ++k) {
        if (k != 0) Append(", ");
        if (is_call) {
          Append(module_.symbols[targets[k]].name);
        } else {
          Append(tag_, "L", targets[k]);
        }
      }
      Append(";\n");
    }
  }

  void PrintInstruction(const Function& function, const Instruction& instruction, uint32_t index) {
    const Instruction* previous = index == 0 ? nullptr : &function.instructions[index - 1];
    if (instruction.loc_file != (previous == nullptr ? 0 : previous->loc_file) ||
        instruction.loc_line != (previous == nullptr ? 0 : previous->loc_line)) {
      Append(".loc ", instruction.loc_file, " ", instruction.loc_line, " 0\n");
    }
    if (instruction.guard != kNone32) {
      Append(instruction.guard_negated ? "@!" : "@");
      PrintRegister(function, instruction.guard);
      Append(" ");
    }
    PrintName(instruction.name);
    if (instruction.op == Op::kCall) {
      PrintCall(function, instruction);
    } else {
      for (uint32_t i = 0; i < instruction.operand_count; ++i) {
        Append(i == 0 ? " " : ", ");
        PrintOperand(function, function.operand_pool[instruction.first_operand + i]);
      }
    }
    Append(";\n");
  }

  // The name without the blanks and comments that may stand between its pieces.
  void PrintName(std::string_view name) {
    const std::string copy(name);
    Lexer lexer(copy);
    for (lexer.SkipBlanks(); !lexer.AtEnd(); lexer.SkipBlanks()) {
      const char* from = lexer.at();
      lexer.SkipDotted();
      if (lexer.at() == from) break;
      out_.append(from, lexer.at());
    }
  }

  void PrintCall(const Function& function, const Instruction& instruction) {
    const Operand* operands = &function.operand_pool[instruction.first_operand];
    Append(" ");
    if (operands[0].count != 0) {
      PrintList(function, operands[0], "(", "), ");
    }
    PrintOperand(function, operands[1]);
    Append(", ");
    PrintList(function, operands[2], "(", ")");
    if (instruction.operand_count > 3) {
      Append(", ");
      PrintOperand(function, operands[3]);
    }
  }

  void PrintList(const Function& function, const Operand& list, const char* open, const char* close,
                 uint32_t first = 0) {
    Append(open);
    for (uint32_t i = first; i < list.count; ++i) {
      if (i != first) Append(", ");
      PrintOperand(function, function.operand_pool[list.first + i]);
    }
    Append(close);
  }

  void PrintOperand(const Function& function, const Operand& operand) {
    switch (operand.kind) {
      case OperandKind::kRegister:
        if (operand.negated) Append(function.registers[operand.reg].type == ScalarType::kPred ? "!" : "-");
        PrintRegister(function, operand.reg);
        PrintSelector(operand);
        break;
      case OperandKind::kImmediate:
        PrintImmediate(operand);
        break;
      case OperandKind::kSpecial:
        if (operand.special == Special::kOther) {
          Append(std::string_view(*module_.text).substr(operand.first, operand.count));
        } else {
          Append("%", SpecialName(operand.special));
        }
        break;
      case OperandKind::kSymbol:
        PrintSymbolName(operand.symbol);
        PrintOffset(operand.imm);
        break;
      case OperandKind::kAddress:
        Append("[");
        PrintAddressBase(function, operand);
        Append("]");
        break;
      case OperandKind::kVector:
        PrintVector(function, operand);
        break;
      case OperandKind::kLabel:
        Append(tag_, "L", operand.target);
        break;
      case OperandKind::kSink:
        Append("_");
        break;
    }
    if (operand.pair_reg != kNone32) {
      Append("|");
      PrintRegister(function, operand.pair_reg);
    }
  }

  void PrintSelector(const Operand& operand) {
    if (operand.selector == 0) return;
    Append(".", std::string(1, operand.selector));
    for (int shift = 0; shift < 16 && (operand.selected >> shift & 0xf) != 0xf; shift += 4) {
      Append(operand.selected >> shift & 0xf);
    }
  }

  void PrintImmediate(const Operand& operand) {
    if (operand.float_bits == 32) {
      absl::StrAppendFormat(&out_, "0f%08x", operand.imm);
    } else if (operand.float_bits == 64) {
      absl::StrAppendFormat(&out_, "0d%016x", operand.imm);
    } else {
      Append(operand.imm);
    }
  }

  void PrintAddressBase(const Function& function, const Operand& operand) {
    if (operand.reg != kNone32) {
      PrintRegister(function, operand.reg);
      PrintOffset(operand.imm);
    } else if (operand.symbol != kNone32) {
      PrintSymbolName(operand.symbol);
      PrintOffset(operand.imm);
    } else {
      Append(operand.imm);
    }
  }

  void PrintVector(const Function& function, const Operand& operand) {
    const Operand* first = operand.count == 0 ? nullptr : &function.operand_pool[operand.first];
    if (first == nullptr || first->kind != OperandKind::kAddress) {
      PrintList(function, operand, "{", "}");
      return;
    }
    Append("[");
    PrintAddressBase(function, *first);
    PrintList(function, operand, ", {", "}]", 1);
  }

  const Module& module_;
  std::string out_, tag_;
  std::vector<std::vector<uint32_t>> locals_;
  std::vector<uint32_t> local_number_;
  std::vector<bool> is_label_;
};

}  // namespace

std::string Print(const Module& module) { return Printer(module).Print(); }

}  // namespace samebits::isa::ptx
