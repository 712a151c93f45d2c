// Addresses in brackets, and offsets of symbols.

#include "core/isa/ptx/parser_impl.h"

namespace samebits::isa::ptx {

bool Parser::ParseAddress(Operand* operand) {
  lexer_.Advance();
  if (!ParseAddressBase(operand)) return false;
  if (lexer_.Peek() == ',') return ParseAddressList(operand);
  return Expect(']');
}

// reg, symbol or number, with offsets.
bool Parser::ParseAddressBase(Operand* operand) {
  const char c = lexer_.Peek();
  const char* at = lexer_.at();
  if (!Is(c, kNameStartChar) || AtWarpSize()) {
    if (!ParseImmediate(operand)) return false;
    if (operand->is_float) return Fail(at, "floating-point address");
    operand->kind = OperandKind::kAddress;
    return true;
  }
  const std::string_view name = lexer_.TakeName();
  uint32_t number;
  const Binding binding = Resolve(name, &number);
  switch (binding.kind) {
    case Binding::Kind::kNone:
      return Fail(at, "undeclared name");
    case Binding::Kind::kRegister:
      if (!ParseRegisterTail(binding, name, number, operand)) return false;
      if (operand->kind != OperandKind::kRegister || operand->pair_reg != kNone32 || operand->selector != 0) {
        return Fail(at, "address that is no plain register");
      }
      if (!ParseOffset(operand)) return false;
      break;
    default:
      if (!SymbolIndex(binding, name, number, &operand->symbol)) return false;
      if (!ParseSymbolTail(operand->symbol, operand)) return false;
  }
  operand->kind = OperandKind::kAddress;
  return true;
}

// [address, {x, y}], [address, address, {x, y}]: after the first address.
bool Parser::ParseAddressList(Operand* operand) {
  const uint32_t first = static_cast<uint32_t>(function_.operand_pool.size());
  if (!AddOperand(*operand)) return false;
  *operand = Operand{};
  operand->kind = OperandKind::kVector;
  operand->first = first;
  operand->count = 1;
  while (lexer_.TakeIf(',')) {
    Operand element;
    const char c = lexer_.Peek();
    const char* at = lexer_.at();
    if (c == '{') {
      if (!ParseVector(&element)) return false;
      operand->count += element.count;
      continue;
    }
    if (!ParseOperand(&element)) return false;
    if (element.kind == OperandKind::kAddress) return Fail(at, "address inside of an address");
    if (element.kind == OperandKind::kVector) {
      operand->count += element.count;
      continue;
    }
    if (!AddOperand(element)) return false;
    ++operand->count;
  }
  return Expect(']');
}

bool Parser::ParseOffset(Operand* operand) {
  for (;;) {
    const char c = lexer_.Peek();
    if (c != '+' && c != '-') return true;
    if (c == '+') lexer_.Advance();
    lexer_.SkipBlanks();
    const char* at = lexer_.at();
    Value value;
    if (!ParseConstant(&value)) return false;
    if (value.float_bits != 0) return Fail(at, "floating-point offset");
    operand->imm = static_cast<int64_t>(static_cast<uint64_t>(operand->imm) + value.bits);
  }
}

bool Parser::ParseIndex(uint32_t symbol, Operand* operand) {
  lexer_.SkipBlanks();
  const char* at = lexer_.at();
  Value index;
  if (!ParseConstant(&index)) return false;
  if (index.float_bits != 0) return Fail(at, "floating-point index");
  const Symbol& array = module_->symbols[symbol];
  const uint64_t bytes = static_cast<uint64_t>(BitWidth(array.type) / 8) * array.vector;
  operand->imm = static_cast<int64_t>(index.bits * bytes);
  return Expect(']') && ParseOffset(operand);
}

}  // namespace samebits::isa::ptx
