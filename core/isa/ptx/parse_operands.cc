// Operands of instructions.

#include <algorithm>

#include "core/isa/ptx/parser_impl.h"

namespace samebits::isa::ptx {
namespace {

// Special registers that are not modelled (`Special::kOther`); the first list takes a number behind the name.
constexpr std::string_view kNumberedSpecials[] = {"envreg", "pm", "reserved_smem_offset_"};
constexpr std::string_view kOtherSpecials[] = {
    "tid",
    "ntid",
    "ctaid",
    "nctaid",
    "clusterid",
    "nclusterid",
    "cluster_ctaid",
    "cluster_nctaid",
    "current_graph_exec",
    "reserved_smem_offset_begin",
    "reserved_smem_offset_cap",
    "reserved_smem_offset_end",
    "perctamemoryoffset",
    "perctamemorysize",
    "locality_domain_id",
};

bool IsOtherSpecial(std::string_view name) {
  if (std::find(std::begin(kOtherSpecials), std::end(kOtherSpecials), name) != std::end(kOtherSpecials)) return true;
  if (name.ends_with(".w")) {
    name.remove_suffix(2);
    return std::find(std::begin(kOtherSpecials), std::begin(kOtherSpecials) + 8, name) !=
           std::begin(kOtherSpecials) + 8;
  }
  if (name.starts_with("pm") && name.ends_with("_64")) name.remove_suffix(3);
  for (std::string_view prefix : kNumberedSpecials) {
    if (!name.starts_with(prefix) || name.size() == prefix.size()) continue;
    const std::string_view number = name.substr(prefix.size());
    return number.size() <= 2 && std::all_of(number.begin(), number.end(), [](char c) { return Is(c, kDigitChar); });
  }
  return false;
}

}  // namespace

bool Parser::ParseOperand(Operand* operand) {
  const char c = lexer_.Peek();
  if (Is(c, kNameStartChar)) return ParseNamedOperand(operand);
  switch (c) {
    case '[':
      return ParseAddress(operand);
    case '{':
      return ParseVector(operand);
    case '!':
    case '-':
      return ParseNegatedOperand(operand);
    default:
      return ParseImmediate(operand);
  }
}

// `!%p`, `-%r`, or a constant that starts with the sign.
bool Parser::ParseNegatedOperand(Operand* operand) {
  const char* at = lexer_.at();
  lexer_.Advance();
  if (!Is(lexer_.Peek(), kNameStartChar) || AtWarpSize()) {
    lexer_.Rewind(at);
    return ParseImmediate(operand);
  }
  if (!ParseNamedOperand(operand)) return false;
  if (operand->kind != OperandKind::kRegister) return Fail(at, "negation of something that is no register");
  operand->negated = true;
  return true;
}

bool Parser::ParseNamedOperand(Operand* operand) {
  const std::string_view name = lexer_.TakeName();
  uint32_t number;
  const Binding binding = Resolve(name, &number);
  switch (binding.kind) {
    case Binding::Kind::kRegister:
      return ParseRegisterTail(binding, name, number, operand);
    case Binding::Kind::kSymbol:
    case Binding::Kind::kSymbolRange:
      return SymbolIndex(binding, name, number, &operand->symbol) && ParseSymbolTail(operand->symbol, operand);
    case Binding::Kind::kNone:
      break;
  }
  if (name == "_") {
    operand->kind = OperandKind::kSink;
    return *lexer_.at() != '|' || ParsePair(operand);
  }
  if (name == "WARP_SZ") {
    lexer_.Rewind(name.data());
    return ParseImmediate(operand);
  }
  if (name[0] == '%' && ParseSpecialRegister(name, operand)) return true;
  return Fail(name.data(), "undeclared name");
}

// A name that nothing else has is a label there; it may be defined later.
bool Parser::ParseUnknownOperand(Operand* operand) {
  if (!Is(lexer_.Peek(), kNameStartChar)) return ParseOperand(operand);
  const char* at = lexer_.at();
  const std::string_view name = lexer_.TakeName();
  uint32_t number;
  const bool is_label =
      name[0] != '%' && name != "_" && name != "WARP_SZ" && Resolve(name, &number).kind == Binding::Kind::kNone;
  lexer_.Rewind(at);
  return is_label ? ParseLabelOperand(operand) : ParseOperand(operand);
}

bool Parser::ParseLabelOperand(Operand* operand) {
  lexer_.SkipBlanks();
  const std::string_view name = lexer_.TakeName();
  if (name.empty()) return FailHere("expected a label");
  operand->kind = OperandKind::kLabel;
  operand->target = static_cast<uint32_t>(label_uses_.size());
  UseLabel(name, kNone32, kNone32);
  return true;
}

bool Parser::ParseRegisterTail(const Binding& binding, std::string_view name, uint32_t number, Operand* operand) {
  operand->kind = OperandKind::kRegister;
  if (declarations_[binding.index].vector != 1) return ParseComponent(binding, name, number, operand);
  operand->reg = RegisterIndex(binding.index, number, name);
  if (*lexer_.at() == '.') return ParseSelector(operand);
  return lexer_.Peek() != '|' || ParsePair(operand);
}

// `%v.x`, or `%v` for all of its components.
bool Parser::ParseComponent(const Binding& binding, std::string_view name, uint32_t number, Operand* operand) {
  const uint32_t vector = declarations_[binding.index].vector;
  const uint64_t base = static_cast<uint64_t>(number) * vector;
  if (*lexer_.at() != '.') {
    operand->kind = OperandKind::kVector;
    operand->first = static_cast<uint32_t>(function_.operand_pool.size());
    operand->count = vector;
    for (uint32_t i = 0; i < vector; ++i) {
      Operand element;
      element.kind = OperandKind::kRegister;
      element.reg = RegisterIndex(binding.index, base + i, name);
      if (!AddOperand(element)) return false;
    }
    return true;
  }
  const char* at = lexer_.at();
  const std::string_view component = lexer_.TakeDirective();
  const size_t position = component.size() == 1 ? std::string_view("xyzwrgba").find(component[0]) : vector;
  if (position == std::string_view::npos || position % 4 >= vector) return Fail(at, "unknown component");
  const std::string_view whole(name.data(), static_cast<size_t>(lexer_.at() - name.data()));
  operand->reg = RegisterIndex(binding.index, base + position % 4, whole);
  return lexer_.Peek() != '|' || ParsePair(operand);
}

// `.b0`, `.h1`, `.b7610`: parts of the register.
bool Parser::ParseSelector(Operand* operand) {
  const char* at = lexer_.at();
  const std::string_view selector = lexer_.TakeDirective();
  if (selector.size() < 2 || selector.size() > 5 || (selector[0] != 'b' && selector[0] != 'h')) {
    return Fail(at, "unknown selector");
  }
  operand->selector = selector[0];
  for (size_t i = 1; i < selector.size(); ++i) {
    if (selector[i] < '0' || selector[i] > '7') return Fail(at, "unknown selector");
    const int shift = static_cast<int>(4 * (i - 1));
    operand->selected = static_cast<uint16_t>((operand->selected & ~(0xf << shift)) | (selector[i] - '0') << shift);
  }
  return true;
}

// `|%p` or `|_`.
bool Parser::ParsePair(Operand* operand) {
  lexer_.Advance();
  lexer_.SkipBlanks();
  const char* at = lexer_.at();
  const std::string_view name = lexer_.TakeName();
  uint32_t number;
  const Binding binding = Resolve(name, &number);
  if (binding.kind == Binding::Kind::kNone && name == "_") return true;
  if (binding.kind != Binding::Kind::kRegister || declarations_[binding.index].vector != 1) {
    return Fail(at, "expected a register");
  }
  operand->pair_reg = RegisterIndex(binding.index, number, name);
  return true;
}

bool Parser::ParseSymbolTail(uint32_t symbol, Operand* operand) {
  operand->kind = OperandKind::kSymbol;
  if (lexer_.Peek() == '[') {
    lexer_.Advance();
    return ParseIndex(symbol, operand);
  }
  return ParseOffset(operand);
}

bool Parser::ParseSpecialRegister(std::string_view name, Operand* operand) {
  if (*lexer_.at() == '.') {
    lexer_.TakeDirective();
    name = {name.data(), static_cast<size_t>(lexer_.at() - name.data())};
  }
  operand->kind = OperandKind::kSpecial;
  operand->special = isa::ParseSpecial(name.substr(1));
  if (operand->special != Special::kOther) return true;
  operand->first = OffsetOf(name);
  operand->count = static_cast<uint32_t>(name.size());
  return IsOtherSpecial(name.substr(1));
}

bool Parser::ParseVector(Operand* operand) {
  lexer_.Advance();
  operand->kind = OperandKind::kVector;
  operand->first = static_cast<uint32_t>(function_.operand_pool.size());
  do {
    const char c = lexer_.Peek();
    if (c == '{' || c == '[') return FailHere("vector inside of a vector");
    Operand element;
    const char* at = lexer_.at();
    if (!ParseOperand(&element)) return false;
    if (element.kind == OperandKind::kVector) return Fail(at, "vector inside of a vector");
    if (!AddOperand(element)) return false;
    ++operand->count;
  } while (lexer_.TakeIf(','));
  if (!Expect('}')) return false;
  return lexer_.Peek() != '|' || ParsePair(operand);
}

bool Parser::ParseImmediate(Operand* operand) {
  Value value;
  operand->kind = OperandKind::kImmediate;
  if (!ParseConstant(&value)) return false;
  operand->imm = static_cast<int64_t>(value.bits);
  operand->is_float = value.float_bits != 0;
  operand->float_bits = value.float_bits;
  return true;
}

}  // namespace samebits::isa::ptx
