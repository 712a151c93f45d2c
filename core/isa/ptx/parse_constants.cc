// Constant expressions (PTX ISA section 4.5): literals, C's operators, casts (.s64) and (.u64), WARP_SZ. Integers are
// 64 bits wide, signed unless marked U or above the signed range; decimal floating-point constants are doubles and
// have + - * / among themselves; 0f and 0d constants stand alone.

#include <bit>
#include <string>

#include "absl/strings/charconv.h"
#include "core/isa/ptx/parser_impl.h"

namespace samebits::isa::ptx {
namespace {

constexpr int kMaxExpressionDepth = 64;
constexpr uint64_t kWarpSize = 32;
constexpr uint64_t kSignBit = 1ull << 63;

enum BinaryOp {
  kNoOp,
  kMul,
  kDiv,
  kRem,
  kAdd,
  kSub,
  kShl,
  kShr,
  kLt,
  kGt,
  kLe,
  kGe,
  kEq,
  kNe,
  kAnd,
  kXor,
  kOr,
  kAndAnd,
  kOrOr,
};

struct OpToken {
  int op = kNoOp;
  int level = 0;  // binds more tightly the higher
  int length = 0;
};

// At a position of the text, or at the NUL behind it.
OpToken FindBinary(const char* at) {
  const char next = *at == '\0' ? '\0' : at[1];
  switch (*at) {
    case '*':
      return {kMul, 10, 1};
    case '/':
      return {kDiv, 10, 1};
    case '%':
      return {kRem, 10, 1};
    case '+':
      return {kAdd, 9, 1};
    case '-':
      return {kSub, 9, 1};
    case '<':
      if (next == '<') return {kShl, 8, 2};
      return next == '=' ? OpToken{kLe, 7, 2} : OpToken{kLt, 7, 1};
    case '>':
      if (next == '>') return {kShr, 8, 2};
      return next == '=' ? OpToken{kGe, 7, 2} : OpToken{kGt, 7, 1};
    case '=':
      return next == '=' ? OpToken{kEq, 6, 2} : OpToken{};
    case '!':
      return next == '=' ? OpToken{kNe, 6, 2} : OpToken{};
    case '&':
      return next == '&' ? OpToken{kAndAnd, 2, 2} : OpToken{kAnd, 5, 1};
    case '^':
      return {kXor, 4, 1};
    case '|':
      return next == '|' ? OpToken{kOrOr, 1, 2} : OpToken{kOr, 3, 1};
    default:
      return {};
  }
}

bool IsLess(uint64_t a, uint64_t b, bool is_unsigned) {
  return is_unsigned ? a < b : static_cast<int64_t>(a) < static_cast<int64_t>(b);
}

// Counts are taken modulo 64, as the vendor's assembler does.
uint64_t Shift(uint64_t a, uint64_t count, bool left, bool is_unsigned) {
  count &= 63;
  if (left) return a << count;
  return is_unsigned ? a >> count : static_cast<uint64_t>(static_cast<int64_t>(a) >> count);
}

// b is not zero.
uint64_t Divide(uint64_t a, uint64_t b, bool remainder, bool is_unsigned) {
  if (is_unsigned) return remainder ? a % b : a / b;
  if (b == ~uint64_t{0}) return remainder ? 0 : -a;
  const int64_t x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
  return static_cast<uint64_t>(remainder ? x % y : x / y);
}

// Operators whose result is 0 or 1.
bool IsTruth(int op) {
  return op == kLt || op == kGt || op == kLe || op == kGe || op == kEq || op == kNe || op == kAndAnd || op == kOrOr;
}

// Divisors are not zero.
uint64_t Apply(int op, uint64_t a, uint64_t b, bool is_unsigned) {
  switch (op) {
    case kMul:
      return a * b;
    case kDiv:
    case kRem:
      return Divide(a, b, /*remainder=*/op == kRem, is_unsigned);
    case kAdd:
      return a + b;
    case kSub:
      return a - b;
    case kShl:
    case kShr:
      return Shift(a, b, /*left=*/op == kShl, is_unsigned);
    case kLt:
      return IsLess(a, b, is_unsigned);
    case kGt:
      return IsLess(b, a, is_unsigned);
    case kLe:
      return !IsLess(b, a, is_unsigned);
    case kGe:
      return !IsLess(a, b, is_unsigned);
    case kEq:
      return a == b;
    case kNe:
      return a != b;
    case kAnd:
      return a & b;
    case kXor:
      return a ^ b;
    case kOr:
      return a | b;
    case kAndAnd:
      return a != 0 && b != 0;
    default:
      return a != 0 || b != 0;
  }
}

int DigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return (c | 0x20) - 'a' + 10;
}

}  // namespace

bool Parser::ParseConstant(Value* value) {
  if (!Is(lexer_.Peek(), kDigitChar)) return ParseConditional(/*has_first=*/false, value);
  if (!ParseLiteral(value)) return false;
  const char next = lexer_.Peek();
  if (next == ';' || next == ',' || next == ']' || next == '}' || next == ')') return true;
  return ParseConditional(/*has_first=*/true, value);
}

bool Parser::ParseConditional(bool has_first, Value* value) {
  if (!ParseBinary(1, has_first, value)) return false;
  if (lexer_.Peek() != '?') return true;
  const char* at = lexer_.at();
  if (value->float_bits != 0) return Fail(at, "floating-point expression");
  if (++expression_depth_ > kMaxExpressionDepth) return Fail(at, "expression is nested too deeply");
  lexer_.Advance();
  Value then_value, else_value;
  if (!ParseConditional(false, &then_value) || !Expect(':') || !ParseConditional(false, &else_value)) return false;
  --expression_depth_;
  if (then_value.float_bits != 0 || else_value.float_bits != 0) return Fail(at, "floating-point expression");
  const bool is_unsigned = then_value.is_unsigned || else_value.is_unsigned;
  *value = value->bits != 0 ? then_value : else_value;
  value->is_unsigned = is_unsigned;
  return true;
}

// Precedence climbing: operators of level `lowest` and above.
bool Parser::ParseBinary(int lowest, bool has_first, Value* value) {
  if (!has_first && !ParseUnary(value)) return false;
  for (;;) {
    lexer_.SkipBlanks();
    const char* at = lexer_.at();
    const OpToken token = FindBinary(at);
    if (token.op == kNoOp || token.level < lowest) return true;
    lexer_.Advance(token.length);
    Value right;
    if (!ParseUnary(&right) || !ParseBinary(token.level + 1, /*has_first=*/true, &right)) return false;
    if (!ApplyBinary(at, token.op, right, value)) return false;
  }
}

bool Parser::ApplyBinary(const char* at, int op, const Value& right, Value* value) {
  if (value->float_bits != 0 || right.float_bits != 0) {
    return ApplyFloat(op, right, value) || Fail(at, "operator of floating-point constants");
  }
  if ((op == kDiv || op == kRem) && right.bits == 0) return Fail(at, "division by zero");
  const bool is_shift = op == kShl || op == kShr;
  const bool is_unsigned = value->is_unsigned || (right.is_unsigned && !is_shift);
  value->bits = Apply(op, value->bits, right.bits, is_unsigned);
  value->is_unsigned = is_unsigned && !IsTruth(op);
  return true;
}

bool Parser::ApplyFloat(int op, const Value& right, Value* value) {
  if (!value->is_decimal || !right.is_decimal) return false;
  const double a = std::bit_cast<double>(value->bits), b = std::bit_cast<double>(right.bits);
  if (op != kAdd && op != kSub && op != kMul && op != kDiv) return false;
  const double result = op == kAdd ? a + b : op == kSub ? a - b : op == kMul ? a * b : a / b;
  value->bits = std::bit_cast<uint64_t>(result);
  return true;
}

bool Parser::ParseUnary(Value* value) {
  const char c = lexer_.Peek();
  if (Is(c, kDigitChar) || (c == '.' && Is(lexer_.at()[1], kDigitChar))) return ParseLiteral(value);
  const char* at = lexer_.at();
  if (++expression_depth_ > kMaxExpressionDepth) return Fail(at, "expression is nested too deeply");
  bool ok;
  if (c == '-' || c == '+' || c == '~' || c == '!') {
    ok = ParsePrefixed(c, value);
  } else if (c == '(') {
    ok = ParseParenthesis(value);
  } else {
    const std::string_view name = lexer_.TakeName();
    *value = Value{kWarpSize};
    ok = name == "WARP_SZ" || Fail(at, lexer_.AtEnd() ? "text ends in a statement" : "expected an operand");
  }
  --expression_depth_;
  return ok;
}

bool Parser::ParsePrefixed(char prefix, Value* value) {
  const char* at = lexer_.at();
  lexer_.Advance();
  if (!ParseUnary(value)) return false;
  if (prefix == '+') return true;
  if (value->float_bits != 0) {
    if (prefix != '-' || !value->is_decimal) return Fail(at, "operator of floating-point constants");
    value->bits ^= kSignBit;
    return true;
  }
  if (prefix == '-') value->bits = -value->bits;
  if (prefix == '~') value->bits = ~value->bits;
  if (prefix == '!') *value = Value{value->bits == 0};
  return true;
}

// (expression), or a cast and what it applies to.
bool Parser::ParseParenthesis(Value* value) {
  lexer_.Advance();
  if (lexer_.Peek() != '.') return ParseConditional(/*has_first=*/false, value) && Expect(')');
  const char* at = lexer_.at();
  const std::string_view type = lexer_.TakeDirective();
  if (type != "s64" && type != "u64") return Fail(at, "expected .s64 or .u64");
  if (!Expect(')') || !ParseUnary(value)) return false;
  if (value->float_bits != 0) return Fail(at, "floating-point expression");
  value->is_unsigned = type == "u64";
  return true;
}

// At a digit, or at a point before one.
bool Parser::ParseLiteral(Value* value) {
  const char* from = lexer_.at();
  *value = Value{};
  if (*from == '0') {
    switch (from[1]) {
      case 'x':
      case 'X':
        return ParseInteger(from + 2, 16, value);
      case 'f':
      case 'F':
        return ParseFloatBits(from + 2, 8, value);
      case 'd':
      case 'D':
        return ParseFloatBits(from + 2, 16, value);
      case 'b':
      case 'B':
        return ParseInteger(from + 2, 2, value);
      default:
        break;
    }
  }
  const char* to = from;
  while (Is(*to, kDigitChar)) ++to;
  if (*to == '.' || *to == 'e' || *to == 'E') return ParseDecimalFloat(to, value);
  return ParseInteger(from, *from == '0' ? 8 : 10, value);
}

bool Parser::ParseInteger(const char* from, int base, Value* value) {
  const char* to = from;
  uint64_t bits = 0;
  const uint64_t safe = (UINT64_MAX - 15) / 16;
  for (; Is(*to, kHexChar); ++to) {
    const uint64_t digit = static_cast<uint64_t>(DigitValue(*to));
    if (digit >= static_cast<uint64_t>(base)) return Fail(lexer_.at(), "malformed number");
    if (bits > safe && bits > (UINT64_MAX - digit) / static_cast<uint64_t>(base)) {
      return Fail(lexer_.at(), "number out of range");
    }
    bits = bits * static_cast<uint64_t>(base) + digit;
  }
  value->bits = bits;
  value->is_unsigned = bits >= kSignBit || *to == 'U';
  if (to == from) return Fail(lexer_.at(), "malformed number");
  if (*to == 'U') ++to;
  if (Is(*to, kNameChar)) return Fail(lexer_.at(), "malformed number");
  lexer_.Advance(to - lexer_.at());
  return true;
}

bool Parser::ParseFloatBits(const char* from, int digits, Value* value) {
  for (int i = 0; i < digits; ++i) {
    if (!Is(from[i], kHexChar)) return Fail(lexer_.at(), "malformed number");
    value->bits = value->bits << 4 | static_cast<uint64_t>(DigitValue(from[i]));
  }
  if (Is(from[digits], kNameChar)) return Fail(lexer_.at(), "malformed number");
  value->float_bits = static_cast<uint8_t>(4 * digits);
  lexer_.Advance(from + digits - lexer_.at());
  return true;
}

// `to` is behind the digits before the point or exponent.
bool Parser::ParseDecimalFloat(const char* to, Value* value) {
  if (*to == '.') ++to;
  while (Is(*to, kDigitChar)) ++to;
  if (*to == 'e' || *to == 'E') {
    ++to;
    if (*to == '+' || *to == '-') ++to;
    while (Is(*to, kDigitChar)) ++to;
  }
  double number = 0;
  const absl::from_chars_result result = absl::from_chars(lexer_.at(), to, number);
  if (result.ptr != to || Is(*to, kNameChar)) return Fail(lexer_.at(), "malformed number");
  if (result.ec == std::errc::result_out_of_range) return Fail(lexer_.at(), "number out of range");
  value->bits = std::bit_cast<uint64_t>(number);
  value->float_bits = 64;
  value->is_decimal = true;
  lexer_.Advance(to - lexer_.at());
  return true;
}

}  // namespace samebits::isa::ptx
