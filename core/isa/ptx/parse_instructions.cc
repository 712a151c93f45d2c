// Instructions: names, operand lists, calls.

#include <algorithm>

#include "core/isa/ptx/parser_impl.h"

namespace samebits::isa::ptx {
namespace {

// Of one instruction; the elements of vectors do not count.
constexpr size_t kMaxOperands = 64;

// The decimal number that is all of `text`; false if it is none or does not fit.
bool SmallNumber(std::string_view text, uint32_t bound, uint32_t* value) {
  if (text.empty() || text.size() > 5) return false;
  *value = 0;
  for (char c : text) {
    if (!Is(c, kDigitChar)) return false;
    *value = *value * 10 + (c - '0');
  }
  return *value <= bound;
}

// m16n8k16 and m8n8.
bool DecodeShape(std::string_view piece, Instruction* instruction) {
  if (piece[0] != 'm' || instruction->m != 0) return false;
  const size_t n = piece.find('n');
  if (n == std::string_view::npos) return false;
  const size_t k = piece.find('k', n);
  uint32_t extents[3] = {0, 0, 0};
  if (!SmallNumber(piece.substr(1, n - 1), UINT16_MAX, &extents[0])) return false;
  const size_t n_end = k == std::string_view::npos ? piece.size() : k;
  if (!SmallNumber(piece.substr(n + 1, n_end - n - 1), UINT16_MAX, &extents[1])) return false;
  if (k != std::string_view::npos && !SmallNumber(piece.substr(k + 1), UINT16_MAX, &extents[2])) return false;
  instruction->m = static_cast<uint16_t>(extents[0]);
  instruction->n = static_cast<uint16_t>(extents[1]);
  instruction->k = static_cast<uint16_t>(extents[2]);
  return true;
}

// v4 and x4.
bool DecodeCount(std::string_view piece, Instruction* instruction) {
  uint32_t count;
  if (piece[0] == 'v' && instruction->vector == 1 && SmallNumber(piece.substr(1), 8, &count) && count > 1) {
    instruction->vector = static_cast<uint8_t>(count);
    return true;
  }
  if (piece[0] == 'x' && instruction->xcount == 0 && SmallNumber(piece.substr(1), 128, &count) && count > 0) {
    instruction->xcount = static_cast<uint8_t>(count);
    return true;
  }
  return false;
}

bool DecodePiece(std::string_view piece, Instruction* instruction) {
  if (piece.empty()) return false;
  if (const ScalarType type = ParseType(piece); type != ScalarType::kNone) {
    if (instruction->type_count == Instruction::kMaxTypes) return false;
    instruction->types[instruction->type_count++] = type;
    return true;
  }
  if (const Mod mod = FindMod(piece); mod != Mod::kUnknown) {
    if (instruction->mod_count == Instruction::kMaxMods) return false;
    instruction->mods[instruction->mod_count++] = mod;
    return true;
  }
  return DecodeCount(piece, instruction) || DecodeShape(piece, instruction);
}

// Opcode, modifiers, types and shape of a dotted name without blanks.
void DecodePieces(std::string_view name, Instruction* instruction) {
  size_t at;
  instruction->op = FindOp(name, &at);
  while (at < name.size()) {
    size_t dot = name.find('.', at + 1);
    if (dot == std::string_view::npos) dot = name.size();
    if (!DecodePiece(name.substr(at + 1, dot - at - 1), instruction)) instruction->has_unknown_modifier = true;
    at = dot;
  }
}

}  // namespace

const Instruction& Parser::DecodeName(std::string_view name) {
  DecodedName& entry = decoded_[names_.Hash(name) % decoded_.size()];
  if (entry.name != name) {
    entry.name = name;
    entry.instruction = Instruction{};
    entry.instruction.name = name;
    DecodePieces(name, &entry.instruction);
  }
  return entry.instruction;
}

// What follows the dotted name.
bool Parser::ParseInstruction(std::string_view name, uint32_t guard, bool guard_negated) {
  const char* from = name.data();
  if (!Is(name[0], kNameChar) || name[0] == '$') return Fail(from, "expected an instruction");
  if (++instruction_count_ > limits_.max_instructions) {
    return OverLimit(from, "max_instructions", limits_.max_instructions);
  }
  Instruction& instruction = function_.instructions.emplace_back();
  if (lexer_.Peek() == '.') {
    // `add .s32`: the name as if it were written together.
    std::string joined(name);
    const char* end = lexer_.at();
    while (lexer_.Peek() == '.') {
      const char* piece = lexer_.at();
      lexer_.SkipDotted();
      end = lexer_.at();
      joined.append(piece, end);
    }
    DecodePieces(joined, &instruction);
    instruction.name = {from, static_cast<size_t>(end - from)};
  } else {
    instruction = DecodeName(name);
    instruction.name = name;
  }
  instruction.line = statement_line_;
  instruction.loc_file = loc_file_;
  instruction.loc_line = loc_line_;
  instruction.guard = guard;
  instruction.guard_negated = guard_negated;
  operands_.clear();
  if (!(instruction.op == Op::kCall ? ParseCallOperands() : ParseOperands(instruction))) return false;
  return AppendOperands(&instruction);
}

bool Parser::ParseNextOperand(Op op) {
  const size_t index = operands_.size();
  Operand* operand = &operands_.emplace_back();
  // Names of labels and tables are those, whatever else has the name.
  if (op == Op::kBra || (op == Op::kBrxIdx && index == 1)) return ParseLabelOperand(operand);
  return op == Op::kUnknown ? ParseUnknownOperand(operand) : ParseOperand(operand);
}

bool Parser::ParseOperands(const Instruction& instruction) {
  if (lexer_.TakeIf(';')) return true;
  for (;;) {
    if (operands_.size() == kMaxOperands) return FailHere("too many operands");
    if (!ParseNextOperand(instruction.op)) return false;
    const char c = lexer_.Peek();
    if (c == ',') {
      lexer_.Advance();
    } else if (c == ';') {
      lexer_.Advance();
      return true;
    } else {
      return FailHere("expected ',' or ';'");
    }
  }
}

// call [(returns),] target [, (arguments)] [, prototype or table];
bool Parser::ParseCallOperands() {
  operands_.resize(3);
  operands_[0].kind = operands_[2].kind = OperandKind::kVector;
  operands_[0].first = operands_[2].first = static_cast<uint32_t>(function_.operand_pool.size());
  if (lexer_.Peek() == '(' && (!ParseCallList(&operands_[0]) || !Expect(','))) return false;
  if (!ParseCallTarget(&operands_[1])) return false;
  operands_[2].first = static_cast<uint32_t>(function_.operand_pool.size());
  bool has_more = lexer_.TakeIf(',');
  if (has_more && lexer_.Peek() == '(') {
    if (!ParseCallList(&operands_[2])) return false;
    has_more = lexer_.TakeIf(',');
  }
  if (has_more && !ParseLabelOperand(&operands_.emplace_back())) return false;
  return Expect(';');
}

bool Parser::ParseCallList(Operand* list) {
  lexer_.Advance();
  list->first = static_cast<uint32_t>(function_.operand_pool.size());
  if (lexer_.TakeIf(')')) return true;
  do {
    Operand element;
    if (!ParseOperand(&element) || !AddOperand(element)) return false;
    ++list->count;
  } while (lexer_.TakeIf(','));
  return Expect(')');
}

bool Parser::ParseCallTarget(Operand* target) {
  lexer_.SkipBlanks();
  const char* at = lexer_.at();
  if (!ParseOperand(target)) return false;
  if (target->kind == OperandKind::kRegister) return true;
  if (target->kind == OperandKind::kSymbol && module_->symbols[target->symbol].kind == Symbol::Kind::kFunction) {
    return true;
  }
  return Fail(at, "expected a function or a register");
}

// Moves the operands behind the elements of their vectors, and ties label uses to their places.
bool Parser::AppendOperands(Instruction* instruction) {
  std::vector<Operand>& pool = function_.operand_pool;
  instruction->first_operand = static_cast<uint32_t>(pool.size());
  instruction->operand_count = static_cast<uint32_t>(operands_.size());
  for (const Operand& operand : operands_) {
    if (operand.kind == OperandKind::kLabel) label_uses_[operand.target].index = static_cast<uint32_t>(pool.size());
    if (!AddOperand(operand)) return false;
  }
  return true;
}

bool Parser::AddOperand(const Operand& operand) {
  if (++operand_count_ > limits_.max_operands) return OverLimit(lexer_.at(), "max_operands", limits_.max_operands);
  function_.operand_pool.push_back(operand);
  return true;
}

}  // namespace samebits::isa::ptx
