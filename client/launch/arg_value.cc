#include "client/launch/arg_value.h"

#include <cstring>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/charconv.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/launch/abseil_text.h"

namespace samebits::launch {
namespace {

using Form = ArgSpec::Form;

constexpr char kGrammar[] =
    "write ptr, ptr:BUFFER, scratch, unknown, a number, i32:N, u32:N, i64:N, u64:N, f32:X, f64:X, 0xPATTERN or "
    "bytes:HEX";
constexpr size_t kMaxBytesArgument = 4096;  // PTX's limit on parameter space of older targets

absl::Status Bad(std::string_view value, std::string_view what, std::string_view remedy) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", Abseil(value.substr(0, 80)), "' ", Abseil(what), "; ", Abseil(remedy)));
}

bool IsPattern(std::string_view text) {
  return text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

absl::StatusOr<uint64_t> ParsePattern(std::string_view text, int width) {
  const std::string_view digits = text.substr(2);
  uint64_t bits = 0;
  for (char c : digits) {
    if (!absl::ascii_isxdigit(c)) return Bad(text, "is not a bit pattern", "write 0x and hexadecimal digits");
    if (bits >> 60) return Bad(text, "has more than 64 bits", "give at most 16 hexadecimal digits");
    bits = bits << 4 | static_cast<uint64_t>(absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10);
  }
  if (width < 64 && bits >> width) {
    return Bad(text, absl::StrCat("does not fit in ", width, " bits"), "shorten it or use a wider type");
  }
  return bits;
}

uint64_t SignExtend(uint64_t bits, int width) {
  const int shift = 64 - width;
  return static_cast<uint64_t>(static_cast<int64_t>(bits << shift) >> shift);
}

// Bits of a decimal integer in two's complement of 64 bits. A signed type takes its own range; an unsigned one from 0.
absl::StatusOr<uint64_t> ParseInteger(std::string_view text, int width, bool is_signed) {
  int64_t i = 0;
  uint64_t u = 0;
  const bool fits_signed = absl::SimpleAtoi(Abseil(text), &i), fits_unsigned = absl::SimpleAtoi(Abseil(text), &u);
  if (!fits_signed && !fits_unsigned) {
    return Bad(text, "is not an integer of at most 64 bits", "write a decimal integer or a 0x pattern");
  }
  const int64_t high = INT64_MAX >> (64 - width);
  const bool fits =
      is_signed ? fits_signed && i >= -high - 1 && i <= high : fits_unsigned && (width == 64 || u >> width == 0);
  if (!fits) {
    return Bad(text, absl::StrCat("is out of range of ", is_signed ? "i" : "u", width),
               "use a wider type, or the bit pattern as 0x...");
  }
  return is_signed ? static_cast<uint64_t>(i) : u;
}

template <typename Float, typename Bits>
absl::StatusOr<uint64_t> ParseFloat(std::string_view text) {
  Float value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = absl::from_chars(text.data(), end, value);
  if (at != end || error == std::errc::invalid_argument || text.empty()) {
    return Bad(text, "is not a number", "write a decimal number, inf, -inf or a 0x pattern");
  }
  if (value != value) return Bad(text, "does not say which NaN", "write its bit pattern, for example 0x7fc00000");
  if (error == std::errc::result_out_of_range && (value > 1 || value < -1)) {
    return Bad(text, absl::StrCat("is out of range of f", sizeof(Float) * 8), "use f64, inf or a 0x pattern");
  }
  Bits bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

absl::StatusOr<uint64_t> ParseFloatOfWidth(std::string_view text, int width) {
  return width == 32 ? ParseFloat<float, uint32_t>(text) : ParseFloat<double, uint64_t>(text);
}

absl::StatusOr<ArgSpec> TypedScalar(bool is_float, bool is_signed, int width, std::string_view text) {
  ArgSpec arg;
  arg.form = Form::kTyped;
  arg.is_float = is_float;
  arg.is_signed = is_signed;
  arg.width = width;
  absl::StatusOr<uint64_t> bits = IsPattern(text) ? ParsePattern(text, width)
                                  : is_float      ? ParseFloatOfWidth(text, width)
                                                  : ParseInteger(text, width, is_signed);
  if (!bits.ok()) return bits.status();
  arg.bits = is_signed ? SignExtend(*bits, width) : *bits;
  return arg;
}

absl::StatusOr<ArgSpec> BytesValue(std::string_view text) {
  ArgSpec arg;
  arg.form = Form::kBytes;
  if (text.size() % 2 || text.empty()) {
    return Bad(text, "is not a string of bytes", "write two hexadecimal digits a byte, in memory order");
  }
  if (text.size() / 2 > kMaxBytesArgument) {
    return Bad(text, absl::StrCat("is longer than ", kMaxBytesArgument, " bytes"), "pass it by pointer");
  }
  for (size_t i = 0; i < text.size(); i += 2) {
    uint32_t byte = 0;
    if (!absl::ascii_isxdigit(text[i]) || !absl::ascii_isxdigit(text[i + 1]) ||
        !absl::SimpleHexAtoi(Abseil(text.substr(i, 2)), &byte)) {
      return Bad(text, "holds characters that are not hexadecimal", "write two hexadecimal digits a byte");
    }
    arg.bytes.push_back(static_cast<uint8_t>(byte));
  }
  return arg;
}

ArgSpec Plain(Form form, std::string_view text = {}) {
  ArgSpec arg;
  arg.form = form;
  arg.text = std::string(text);
  return arg;
}

bool LooksNumeric(std::string_view value) {
  const size_t digit = !value.empty() && (value[0] == '-' || value[0] == '+') ? 1 : 0;
  const std::string_view rest = value.substr(digit);
  if (rest.empty()) return false;
  return absl::ascii_isdigit(rest[0]) || rest[0] == '.' || rest == "inf" || rest == "nan" || rest == "infinity";
}

}  // namespace

absl::StatusOr<ArgSpec> ParseTypedValue(std::string_view type, std::string_view text) {
  if (type == "ptr") return Plain(Form::kPointer, text);
  if (type == "i32") return TypedScalar(false, true, 32, text);
  if (type == "u32") return TypedScalar(false, false, 32, text);
  if (type == "i64") return TypedScalar(false, true, 64, text);
  if (type == "u64") return TypedScalar(false, false, 64, text);
  if (type == "f32") return TypedScalar(true, false, 32, text);
  if (type == "f64") return TypedScalar(true, false, 64, text);
  if (type == "bytes") return BytesValue(text);
  if (type == "bits") {
    if (!IsPattern(text)) return Bad(text, "is not a bit pattern", "write 0x and hexadecimal digits");
    absl::StatusOr<uint64_t> bits = ParsePattern(text, 64);
    if (!bits.ok()) return bits.status();
    ArgSpec arg = Plain(Form::kPattern);
    arg.bits = *bits;
    return arg;
  }
  return Bad(type, "is not a type of argument", "use ptr, i32, u32, i64, u64, f32, f64, bits or bytes");
}

absl::StatusOr<ArgSpec> ParseArgValue(std::string_view value) {
  if (value == "ptr") return Plain(Form::kPointer);
  if (value == "scratch") return Plain(Form::kScratch);
  if (value == "unknown") return Plain(Form::kUnknown);
  if (IsPattern(value)) return ParseTypedValue("bits", value);
  const size_t colon = value.find(':');
  if (colon != std::string_view::npos) {
    const std::string_view type = value.substr(0, colon), content = value.substr(colon + 1);
    if (type == "ptr" && content.empty()) return Bad(value, "names no buffer", "write ptr or ptr:BUFFER");
    return ParseTypedValue(type, content);
  }
  if (LooksNumeric(value)) return Plain(Form::kNumber, value);
  return Bad(value, "is not an argument value", kGrammar);
}

checker::Argument ToArgument(const ArgSpec& arg) {
  using Kind = checker::Argument::Kind;
  checker::Argument out;
  switch (arg.form) {
    case Form::kPointer:
      out.kind = Kind::kPointer;
      out.buffer = arg.text;
      break;
    case Form::kScratch:
      out.kind = Kind::kScratch;
      break;
    case Form::kBytes:
      out.kind = Kind::kBytes;
      out.bytes = arg.bytes;
      break;
    case Form::kTyped:
      out.kind = arg.is_float ? Kind::kFloat : Kind::kInteger;
      out.bits = arg.bits;
      break;
    case Form::kUnknown:
    case Form::kNumber:
    case Form::kPattern:
      break;
  }
  return out;
}

absl::StatusOr<checker::Argument> TypeByParameter(const ArgSpec& arg, const checker::ParameterInfo& parameter) {
  using Kind = checker::Argument::Kind;
  const std::string described = absl::StrCat("is no value for the parameter's type ", parameter.type);
  const std::string written = arg.form == Form::kNumber ? arg.text : absl::StrCat("0x", absl::Hex(arg.bits));
  const int width = static_cast<int>(parameter.bytes) * 8;
  const char kind = parameter.type.empty() ? '?' : parameter.type[0];
  if (parameter.is_pointer) return Bad(written, "is given for a pointer", "write ptr, ptr:BUFFER or scratch");
  if (parameter.type.find('[') != std::string::npos || width == 0 || width > 64) {
    return Bad(written, described, "write bytes:HEX as the aggregate lies in memory, or unknown");
  }
  checker::Argument out;
  out.kind = kind == 'f' || parameter.type.starts_with("bf") ? Kind::kFloat : Kind::kInteger;
  absl::StatusOr<uint64_t> bits = arg.bits;
  if (arg.form == Form::kPattern) {
    bits = ParsePattern(written, width);
  } else if (out.kind == Kind::kFloat) {
    if (width < 32) return Bad(written, described, "write the bit pattern as 0x...");
    bits = ParseFloatOfWidth(arg.text, width);
  } else if (kind == 'b' && arg.text.find_first_of(".einEIN") != std::string::npos) {
    return Bad(written, described, "write f32:X, f64:X or the bit pattern as 0x...");
  } else {
    bits = ParseInteger(arg.text, width, arg.text.starts_with('-'));
  }
  if (!bits.ok()) return bits.status();
  out.bits = out.kind == Kind::kInteger ? SignExtend(*bits, width) : *bits;
  return out;
}

absl::Status CheckType(const ArgSpec& arg, const checker::ParameterInfo& parameter) {
  if (arg.form != Form::kTyped) return absl::OkStatus();
  const std::string given = absl::StrCat(arg.is_float ? "f" : arg.is_signed ? "i" : "u", arg.width);
  const auto differs = [&](std::string_view remedy) {
    return absl::InvalidArgumentError(absl::StrCat("a value of type ", given, " is given for a parameter of type ", parameter.type, "; ", Abseil(remedy)));
  };
  const int width = static_cast<int>(parameter.bytes) * 8;
  if (parameter.type.find('[') != std::string::npos) return differs("write bytes:HEX as the aggregate lies in memory");
  if (width > 0 && width < 32 && !arg.is_float) {
    const int64_t value = static_cast<int64_t>(arg.bits);
    const bool fits = value >= -(int64_t{1} << (width - 1)) && value < int64_t{1} << width;
    return fits ? absl::OkStatus() : differs("the value does not fit");
  }
  if (width != arg.width) return differs("write the number alone, which takes the parameter's type");
  const char kind = parameter.type.empty() ? '?' : parameter.type[0];
  const bool takes_float = kind == 'f' || parameter.type.starts_with("bf"), takes_integer = kind == 'u' || kind == 's' || kind == 'i';
  if (arg.is_float ? takes_integer : takes_float) return differs("write the number alone, or its bit pattern as 0x...");
  return absl::OkStatus();
}

}  // namespace samebits::launch
