// Initialisers of variables: values, nested braces, addresses.

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/isa/ptx/parser_impl.h"

namespace samebits::isa::ptx {
namespace {

// The bits that a variable of `bits` width and floating-point type holds for a constant; false where the format has
// no conversion here.
bool ConvertToFloat(uint64_t value_bits, uint8_t float_bits, int64_t integer, int bits, uint64_t* out) {
  const double value = float_bits == 64   ? std::bit_cast<double>(value_bits)
                       : float_bits == 32 ? std::bit_cast<float>(static_cast<uint32_t>(value_bits))
                                          : static_cast<double>(integer);
  if (bits == 64) {
    *out = std::bit_cast<uint64_t>(value);
  } else if (bits == 32) {
    *out = std::bit_cast<uint32_t>(static_cast<float>(value));
  } else {
    return false;
  }
  return true;
}

}  // namespace

// What follows `=`.
bool Parser::ParseInitializer(const Dimensions& dimensions, Symbol* symbol) {
  const char* at = lexer_.at();
  if (symbol->space != StateSpace::kGlobal && symbol->space != StateSpace::kConst) {
    return Fail(at, "only .global and .const variables have initialisers");
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
  Value value;
  if (Is(c, kNameStartChar) && std::string_view(at, std::min<size_t>(7, lexer_.end() - at)) != "WARP_SZ") {
    return ParseInitializerAddress(symbol) && StoreElement(at, Value{}, position, symbol);
  }
  if (!ParseConstant(&value)) return false;
  if (lexer_.TakeIf('(')) {  // a mask of an address
    value = Value{};
    if (!ParseInitializerAddress(symbol) || !Expect(')')) return false;
  }
  return StoreElement(at, value, position, symbol);
}

// name, generic(name), and either with an offset.
bool Parser::ParseInitializerAddress(Symbol* symbol) {
  symbol->init_has_addresses = true;
  lexer_.SkipBlanks();
  std::string_view name = lexer_.TakeName();
  const bool is_generic = name == "generic" && lexer_.TakeIf('(');
  if (is_generic) {
    lexer_.SkipBlanks();
    name = lexer_.TakeName();
  }
  if (name.empty()) return FailHere("expected a name");
  uint32_t ignored;
  if (name != symbol->name && Resolve(name, &ignored).kind == Binding::Kind::kNone) {
    return Fail(name.data(), "undeclared name");
  }
  if (is_generic && !Expect(')')) return false;
  Operand offset;
  return ParseOffset(&offset);
}

bool Parser::StoreElement(const char* at, const Value& value, uint64_t position, Symbol* symbol) {
  const int bits = BitWidth(symbol->type);
  const uint64_t bytes = static_cast<uint64_t>(bits / 8);
  uint64_t stored = value.bits;
  if (IsFloat(symbol->type)) {
    if (!ConvertToFloat(value.bits, value.float_bits, static_cast<int64_t>(value.bits), bits, &stored)) {
      return Fail(at, "initialiser of this type");
    }
  } else if (value.float_bits > bits) {
    return Fail(at, "constant is wider than the variable");
  }
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
