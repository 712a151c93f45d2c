// Declarations of registers and variables.

#include <algorithm>

#include "core/isa/ptx/parser_impl.h"

namespace samebits::isa::ptx {
namespace {

constexpr uint64_t kMaxAlign = 1u << 20;
constexpr size_t kMaxDimensions = 16;
constexpr uint64_t kMaxVariableBytes = 1ull << 48;

}  // namespace

// What follows `.reg`.
bool Parser::ParseRegisters() {
  VariableHead head;
  if (!ParseVariableHead(StateSpace::kReg, &head)) return false;
  do {
    lexer_.SkipBlanks();
    const std::string_view name = lexer_.TakeName();
    if (name.empty()) return FailHere("expected a register name");
    uint32_t count, declaration;
    if (!ParseRangeCount(&count)) return false;
    const bool is_range = count != 0;
    if (!DeclareRegisters(name, head, is_range, is_range ? count : 1, &declaration)) return false;
  } while (lexer_.TakeIf(','));
  return Expect(';');
}

// What follows `.global` and the other state spaces of memory.
bool Parser::ParseVariables(const Linkage& linkage, StateSpace space) {
  VariableHead head;
  if (!ParseVariableHead(space, &head)) return false;
  do {
    if (!ParseVariable(linkage, head)) return false;
  } while (lexer_.TakeIf(','));
  return Expect(';');
}

bool Parser::ParseVariable(const Linkage& linkage, const VariableHead& head) {
  lexer_.SkipBlanks();
  const char* at = lexer_.at();
  Symbol symbol;
  symbol.name = lexer_.TakeName();
  if (symbol.name.empty()) return FailHere("expected a name");
  uint32_t range, index;
  Dimensions dimensions;
  if (!ParseRangeCount(&range) || !ParseDimensions(&dimensions)) return false;
  symbol.space = head.space;
  symbol.is_extern = linkage.is_extern;
  symbol.function = function_index_;
  if (!SizeVariable(at, head, dimensions, &symbol)) return false;
  if (range != 0) return DeclareSymbolRange(at, symbol, range);
  if (lexer_.TakeIf('=') && !ParseInitializer(dimensions, &symbol)) return false;
  return DeclareSymbol(at, std::move(symbol), &index);
}

// Alignment, attributes, vector size, type and pointer attributes, in any order; the type is required.
bool Parser::ParseVariableHead(StateSpace space, VariableHead* head) {
  head->space = space;
  for (;;) {
    const std::string_view directive = lexer_.PeekDirective();
    if (directive.empty()) break;
    const char* at = lexer_.at();
    lexer_.TakeDirective();
    if (directive == "align") {
      if (!ParseAlign(&head->align)) return false;
    } else if (directive == "attribute") {
      if (!SkipAttribute()) return false;
    } else if (directive == "ptr" && space == StateSpace::kParam) {
      if (!ParsePointer(head)) return false;
    } else if (directive == "v2" || directive == "v4" || directive == "v8") {
      head->vector = static_cast<uint8_t>(directive[1] - '0');
    } else {
      const ScalarType type = ParseType(directive);
      if (type == ScalarType::kNone) return Fail(at, "unknown type");
      if (head->type != ScalarType::kNone) return Fail(at, "second type");
      head->type = type;
    }
  }
  return head->type != ScalarType::kNone || FailHere("expected a type");
}

// What follows `.ptr`: a state space and an alignment of what it points to.
bool Parser::ParsePointer(VariableHead* head) {
  head->is_pointer = true;
  for (;;) {
    const std::string_view directive = lexer_.PeekDirective();
    if (directive == "align") {
      lexer_.TakeDirective();
      if (!ParseAlign(&head->pointer_align)) return false;
    } else if (const StateSpace space = VariableSpace(directive); space != StateSpace::kNone) {
      lexer_.TakeDirective();
      head->pointer_space = space;
    } else {
      return true;
    }
  }
}

bool Parser::ParseAlign(uint32_t* align) {
  lexer_.SkipBlanks();
  const char* at = lexer_.at();
  uint64_t value;
  if (!ParseUnsigned(kMaxAlign, &value)) return false;
  if (value == 0 || (value & (value - 1)) != 0) return Fail(at, "alignment is not a power of two");
  *align = static_cast<uint32_t>(value);
  return true;
}

// [4][4], or [] first.
bool Parser::ParseDimensions(Dimensions* dimensions) {
  while (lexer_.TakeIf('[')) {
    lexer_.SkipBlanks();
    const char* at = lexer_.at();
    if (dimensions->extents.size() == kMaxDimensions) return Fail(at, "too many dimensions");
    if (lexer_.TakeIf(']')) {
      if (!dimensions->extents.empty()) return Fail(at, "only the first dimension may be open");
      dimensions->is_unsized = true;
      dimensions->extents.push_back(0);
      continue;
    }
    Value extent;
    if (!ParseConstant(&extent)) return false;
    if (extent.float_bits != 0 || extent.bits > kMaxVariableBytes) return Fail(at, "array size out of range");
    if (extent.bits == 0) {
      if (!dimensions->extents.empty()) return Fail(at, "array size out of range");
      dimensions->is_unsized = true;
    }
    dimensions->extents.push_back(extent.bits);
    if (!Expect(']')) return false;
  }
  return true;
}

bool Parser::SizeVariable(const char* at, const VariableHead& head, const Dimensions& dimensions, Symbol* symbol) {
  const uint64_t bits = static_cast<uint64_t>(BitWidth(head.type));
  if (bits % 8 != 0) return Fail(at, "type has no size in memory");
  const uint64_t element_size = bits / 8 * head.vector;
  symbol->type = head.type;
  symbol->vector = head.vector;
  symbol->align = head.align != 0 ? head.align : static_cast<uint32_t>(element_size);
  symbol->is_pointer = head.is_pointer;
  symbol->pointer_space = head.pointer_space;
  symbol->pointer_align = head.pointer_align;
  uint64_t size = element_size;
  for (uint64_t extent : dimensions.extents) {
    if (extent == 0) continue;
    if (size > kMaxVariableBytes / extent) return Fail(at, "variable is too large");
    size *= extent;
  }
  symbol->size = dimensions.is_unsized ? 0 : size;
  return true;
}

bool Parser::ParseRangeCount(uint32_t* count) {
  *count = 0;
  if (!lexer_.TakeIf('<')) return true;
  lexer_.SkipBlanks();
  const char* at = lexer_.at();
  uint64_t value;
  if (!ParseUnsigned(UINT64_MAX, &value)) return false;
  if (value == 0) return Fail(at, "empty range");
  if (value > limits_.max_registers) return OverLimit(at, "max_registers", limits_.max_registers);
  *count = static_cast<uint32_t>(value);
  return Expect('>');
}

}  // namespace samebits::isa::ptx
