// Initialisers of variables: values, nested braces, addresses.

#include <algorithm>
#include <bit>

#include "core/isa/ptx/parser_impl.h"

namespace samebits::isa::ptx {

// What follows `=`.
bool Parser::ParseInitializer(const Dimensions& dimensions, Symbol* symbol) {
  lexer_.SkipBlanks();
  const char* at = lexer_.at();
  if (symbol->space != StateSpace::kGlobal && symbol->space != StateSpace::kConst) {
    return Fail(at, "only .global and .const variables have initialisers");
  }
  if (BitWidth(symbol->type) == 64 && !IsInteger(symbol->type) && symbol->type != ScalarType::kF64) {
    // References to textures, samplers and surfaces: fields in braces, which no execution reads.
    return Expect('{') && (lexer_.SkipBraces() || Fail(at, "initialiser without end"));
  }
  // Elements below each dimension.
  std::vector<uint64_t> strides(dimensions.extents.size());
  uint64_t elements = symbol->vector;
  for (size_t i = strides.size(); i-- > 0;) {
    strides[i] = elements;
    elements *= dimensions.extents[i];
  }
  const uint64_t bound = dimensions.is_unsized ? UINT64_MAX : elements;
  uint64_t used = 0;
  if (lexer_.Peek() == '{') {
    if (!ParseInitializerLists(strides, bound, symbol, &used)) return false;
  } else if (!dimensions.extents.empty()) {
    return FailHere("expected '{'");
  } else if (!ParseInitializerElement(0, symbol)) {
    return false;
  }
  if (dimensions.is_unsized) {
    const uint64_t rows = (used + strides[0] - 1) / std::max<uint64_t>(strides[0], 1);
    symbol->size = rows * strides[0] * static_cast<uint64_t>(BitWidth(symbol->type) / 8);
  }
  return true;
}

// Braces nest at most as deep as the dimensions and the vector; inside of a pair, elements follow each other, and
// a closed pair takes the whole extent of its dimension.
bool Parser::ParseInitializerLists(const std::vector<uint64_t>& strides, uint64_t bound, Symbol* symbol,
                                   uint64_t* elements) {
  std::vector<uint64_t> ends;  // by open pair: position behind its extent
  uint64_t position = 0;
  do {
    const char c = lexer_.Peek();
    const char* at = lexer_.at();
    if (c == '{') {
      if (ends.size() > strides.size()) return Fail(at, "braces are nested too deeply");
      lexer_.Advance();
      ends.push_back(ends.empty() ? bound : position + strides[ends.size() - 1]);
      if (ends.size() > 1 && ends.back() > ends[ends.size() - 2]) return Fail(at, "too many initialisers");
      if (lexer_.Peek() != '}') continue;
    } else {
      if (position >= ends.back()) return Fail(at, "too many initialisers");
      if (!ParseInitializerElement(position, symbol)) return false;
      ++position;
    }
    while (!ends.empty() && lexer_.TakeIf('}')) {
      if (ends.size() > 1) position = ends.back();
      ends.pop_back();
    }
    if (!ends.empty() && !Expect(',')) return false;
  } while (!ends.empty());
  *elements = position;
  return true;
}

bool Parser::ParseInitializerElement(uint64_t position, Symbol* symbol) {
  const char c = lexer_.Peek();
  const char* at = lexer_.at();
  const uint64_t offset = position * static_cast<uint64_t>(BitWidth(symbol->type) / 8);
  if (Is(c, kNameStartChar) && !AtWarpSize()) {
    return ParseInitializerAddress(offset, /*mask=*/0, symbol) && StoreElement(at, Value{}, position, symbol);
  }
  Value value;
  if (!ParseConstant(&value)) return false;
  if (lexer_.TakeIf('(')) {
    if (!ParseInitializerAddress(offset, value.bits, symbol) || !Expect(')')) return false;
    value = Value{};
  }
  return StoreElement(at, value, position, symbol);
}

// name, generic(name), and either with an offset.
bool Parser::ParseInitializerAddress(uint64_t offset, uint64_t mask, Symbol* symbol) {
  InitAddress address;
  address.offset = offset;
  address.mask = mask;
  lexer_.SkipBlanks();
  std::string_view name = lexer_.TakeName();
  address.is_generic = name == "generic" && lexer_.TakeIf('(');
  if (address.is_generic) {
    lexer_.SkipBlanks();
    name = lexer_.TakeName();
  }
  if (name.empty()) return FailHere("expected a name");
  uint32_t number;
  const Binding binding = Resolve(name, &number);
  if (binding.kind != Binding::Kind::kSymbol && binding.kind != Binding::Kind::kSymbolRange) {
    return Fail(name.data(), "undeclared name");
  }
  if (!SymbolIndex(binding, name, number, &address.symbol)) return false;
  if (address.is_generic && !Expect(')')) return false;
  Operand addend;
  if (!ParseOffset(&addend)) return false;
  address.addend = addend.imm;
  symbol->init_has_addresses = true;
  symbol->init_addresses.push_back(address);
  return true;
}

// Integers initialise integer variables and lose their high bits; 0f constants are bits; 0d and decimal ones are
// rounded to 32 bits where the variable has so many. Floating-point constants do not initialise .u and .s variables.
bool Parser::ConvertElement(const Value& value, ScalarType type, uint64_t* stored) const {
  *stored = value.bits;
  const bool is_float = type == ScalarType::kF32 || type == ScalarType::kF64;
  const bool is_bits = IsInteger(type) && TypeName(type)[0] == 'b';
  if (value.float_bits == 0) return IsInteger(type);
  if (!is_float && !is_bits) return false;
  if (value.float_bits == 32 || BitWidth(type) == 64) return true;
  if (BitWidth(type) != 32) return false;
  *stored = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(value.bits)));
  return true;
}

bool Parser::StoreElement(const char* at, const Value& value, uint64_t position, Symbol* symbol) {
  const uint64_t bytes = static_cast<uint64_t>(BitWidth(symbol->type) / 8);
  uint64_t stored;
  if (!ConvertElement(value, symbol->type, &stored)) return Fail(at, "initialiser does not fit the type");
  const uint64_t end = (position + 1) * bytes;
  if (end > symbol->init.size()) {
    initializer_bytes_ += end - symbol->init.size();
    if (initializer_bytes_ > limits_.max_initializer_bytes) {
      return OverLimit(at, "max_initializer_bytes", limits_.max_initializer_bytes);
    }
    symbol->init.resize(end);
  }
  for (uint64_t i = 0; i < bytes && i < 8; ++i) symbol->init[end - bytes + i] = static_cast<uint8_t>(stored >> (8 * i));
  return true;
}

}  // namespace samebits::isa::ptx
