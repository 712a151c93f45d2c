#include "core/expr/operation.h"

#include <algorithm>
#include <vector>

#include "core/expr/soft_format.h"
#include "core/softfloat/approximate.h"
#include "core/softfloat/cdna_matrix.h"
#include "core/softfloat/arithmetic.h"
#include "core/softfloat/compare.h"
#include "core/softfloat/convert.h"
#include "core/softfloat/matrix_unit.h"

namespace samebits::expr {

namespace sf = softfloat;

namespace {

const sf::Format* FormatOf(Format f) {
  switch (f) {
    case Format::kE2m3: return &sf::kE2m3;
    case Format::kE3m2: return &sf::kE3m2;
    case Format::kE2m1: return &sf::kE2m1;
    case Format::kUe8m0: return &sf::kUe8m0;
    default: return SoftFormat(f);
  }
}

bool IntegerOf(Format f, sf::IntegerType* type) {
  switch (f) {
    case Format::kS8:
    case Format::kS16:
    case Format::kS32:
    case Format::kS64: *type = {FormatBits(f), true}; return true;
    case Format::kU8:
    case Format::kU16:
    case Format::kU32:
    case Format::kU64:
    case Format::kB8:
    case Format::kB16:
    case Format::kB32:
    case Format::kB64: *type = {FormatBits(f), false}; return true;
    default: return false;
  }
}

sf::Rounding RoundingOf(Round round) {
  switch (round) {
    case Round::kRz:
    case Round::kRzi: return sf::Rounding::kRz;
    case Round::kRm:
    case Round::kRmi: return sf::Rounding::kRm;
    case Round::kRp:
    case Round::kRpi: return sf::Rounding::kRp;
    case Round::kRna: return sf::Rounding::kRna;
    default: return sf::Rounding::kRn;
  }
}

bool IsIntegral(Round round) {
  return round == Round::kRni || round == Round::kRzi || round == Round::kRmi || round == Round::kRpi;
}

int64_t Signed(uint64_t bits, int width) {
  return width >= 64 ? static_cast<int64_t>(bits) : static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
}

Computed Unknown() { return {0, false, false}; }
Computed Exactly(uint128 bits) { return {bits, false, true}; }
Computed Model(sf::ModelResult r) { return {r.bits, !r.exact, true}; }

Computed Approximate(sf::ApproxOp op, const sf::Format& format, uint64_t a, bool ftz) {
  return Model(sf::ModelApprox(op, format, a, ftz));
}

// Arithmetic in the format of the result.
Computed FloatArithmetic(Fn fn, const Attr& attr, std::span<const uint128> x) {
  const sf::Format* format = FormatOf(attr.to);
  if (format == nullptr) return Unknown();
  const bool ftz = (attr.flags & Attr::kFtz) != 0;
  const sf::Flags flags{ftz, (attr.flags & Attr::kSat) != 0, (attr.flags & Attr::kRelu) != 0};
  const sf::Rounding rounding = RoundingOf(attr.round);
  const bool approximate = (attr.flags & (Attr::kApprox | Attr::kFull)) != 0;
  const uint64_t a = static_cast<uint64_t>(x[0]);
  const uint64_t b = x.size() > 1 ? static_cast<uint64_t>(x[1]) : 0;
  const sf::MinMaxFlags min_max{ftz, (attr.flags & Attr::kNanFlag) != 0, (attr.flags & Attr::kXorsign) != 0};
  switch (fn) {
    case Fn::kFAdd: return Exactly(sf::Add(*format, a, b, rounding, flags));
    case Fn::kFMul: return Exactly(sf::Mul(*format, a, b, rounding, flags));
    case Fn::kFFma: return Exactly(sf::Fma(*format, a, b, static_cast<uint64_t>(x[2]), rounding, flags));
    case Fn::kFDiv:
      if (!approximate) return Exactly(sf::Div(*format, a, b, rounding, flags));
      if (format != &sf::kF32) return Unknown();
      return Model(sf::ModelDivide(a, b, (attr.flags & Attr::kApprox) != 0, ftz));
    case Fn::kFRcp:
      return approximate ? Approximate(sf::ApproxOp::kRcp, *format, a, ftz)
                         : Exactly(sf::Rcp(*format, a, rounding, flags));
    case Fn::kFSqrt:
      return approximate ? Approximate(sf::ApproxOp::kSqrt, *format, a, ftz)
                         : Exactly(sf::Sqrt(*format, a, rounding, flags));
    case Fn::kFRsqrt: return Approximate(sf::ApproxOp::kRsqrt, *format, a, ftz);
    case Fn::kEx2: return Approximate(sf::ApproxOp::kEx2, *format, a, ftz);
    case Fn::kLg2: return Approximate(sf::ApproxOp::kLg2, *format, a, ftz);
    case Fn::kSin: return Approximate(sf::ApproxOp::kSin, *format, a, ftz);
    case Fn::kCos: return Approximate(sf::ApproxOp::kCos, *format, a, ftz);
    case Fn::kTanh: return Approximate(sf::ApproxOp::kTanh, *format, a, ftz);
    case Fn::kFMin: return Exactly(sf::Min(*format, a, b, min_max));
    case Fn::kFMax: return Exactly(sf::Max(*format, a, b, min_max));
    case Fn::kFNeg: return Exactly(sf::Neg(*format, a, ftz));
    case Fn::kFAbs: return Exactly(sf::Abs(*format, a, ftz));
    case Fn::kFCopySign: return Exactly(sf::CopySign(*format, a, b));
    default: return Unknown();
  }
}

Computed Convert(Fn fn, const Attr& attr, uint64_t a) {
  const sf::Format *to = FormatOf(attr.to), *from = FormatOf(attr.from);
  sf::IntegerType to_integer{}, from_integer{};
  sf::ConvertFlags flags;
  flags.ftz = (attr.flags & Attr::kFtz) != 0;
  flags.sat = (attr.flags & Attr::kSat) != 0;
  flags.satfinite = (attr.flags & Attr::kSatFinite) != 0 || (to != nullptr && to->bits <= 8);
  flags.relu = (attr.flags & Attr::kRelu) != 0;
  const sf::Rounding rounding = RoundingOf(attr.round);
  switch (fn) {
    case Fn::kFConvert:
      if (to == nullptr || from == nullptr) return Unknown();
      if (!IsIntegral(attr.round)) return Exactly(sf::ConvertFloat(*to, *from, a, rounding, flags));
      return to == from ? Exactly(sf::RoundToIntegral(*to, a, rounding, flags)) : Unknown();
    case Fn::kFToInt:
      if (from == nullptr || !IntegerOf(attr.to, &to_integer)) return Unknown();
      return Exactly(
          sf::FloatToInteger(to_integer, *from, a, attr.round == Round::kNone ? sf::Rounding::kRz : rounding, flags));
    default:
      if (to == nullptr || !IntegerOf(attr.from, &from_integer)) return Unknown();
      return Exactly(sf::IntegerToFloat(*to, from_integer, a, rounding, flags));
  }
}

Computed CompareFloats(const Attr& attr, uint64_t a, uint64_t b) {
  const sf::Format* format = FormatOf(attr.from);
  if (format == nullptr) return Unknown();
  static_assert(static_cast<int>(Compare::kNan) == static_cast<int>(sf::Ordering::kNan));
  return Exactly(sf::Compare(*format, static_cast<sf::Ordering>(attr.compare), a, b, (attr.flags & Attr::kFtz) != 0));
}

Computed CompareIntegers(const Attr& attr, uint64_t a, uint64_t b) {
  const int width = FormatBits(attr.from);
  const bool is_signed = (attr.flags & Attr::kSigned) != 0;
  const bool less = is_signed ? Signed(a, width) < Signed(b, width) : a < b;
  switch (attr.compare) {
    case Compare::kEq: return Exactly(a == b);
    case Compare::kNe: return Exactly(a != b);
    case Compare::kLt: return Exactly(less);
    case Compare::kLe: return Exactly(less || a == b);
    case Compare::kGt: return Exactly(!less && a != b);
    case Compare::kGe: return Exactly(!less);
    default: return Unknown();
  }
}

uint64_t HighProduct(uint64_t a, uint64_t b, int width, bool is_signed) {
  if (is_signed) return static_cast<uint64_t>(static_cast<__int128>(Signed(a, width)) * Signed(b, width) >> width);
  return static_cast<uint64_t>(static_cast<uint128>(a) * b >> width);
}

uint64_t Divide(bool remainder, uint64_t a, uint64_t b, int width, bool is_signed) {
  if (b == 0) return remainder ? a : ~uint64_t{0};
  if (!is_signed) return remainder ? a % b : a / b;
  const int64_t x = Signed(a, width), y = Signed(b, width);
  if (y == -1) return remainder ? 0 : -static_cast<uint64_t>(x);
  return static_cast<uint64_t>(remainder ? x % y : x / y);
}

uint64_t ShiftRightSigned(uint64_t a, uint64_t amount, int width) {
  return static_cast<uint64_t>(Signed(a, width) >> std::min<uint64_t>(amount, static_cast<uint64_t>(width) - 1));
}

uint64_t Pick(bool want_max, uint64_t a, uint64_t b, int width, bool is_signed) {
  const bool less = is_signed ? Signed(a, width) < Signed(b, width) : a < b;
  return less == want_max ? b : a;
}

Computed Integer(Fn fn, const Attr& attr, int width, std::span<const uint128> x) {
  if (width > 64) return Unknown();
  const bool is_signed = (attr.flags & Attr::kSigned) != 0;
  const uint64_t a = static_cast<uint64_t>(x[0]);
  const uint64_t b = x.size() > 1 ? static_cast<uint64_t>(x[1]) : 0;
  const bool out = b >= static_cast<uint64_t>(width);  // of a shift
  switch (fn) {
    case Fn::kIAdd: return Exactly(a + b);
    case Fn::kIMul: return Exactly(a * b);
    case Fn::kIMulHi: return Exactly(HighProduct(a, b, width, is_signed));
    case Fn::kIDiv: return Exactly(Divide(false, a, b, width, is_signed));
    case Fn::kIRem: return Exactly(Divide(true, a, b, width, is_signed));
    case Fn::kIMin: return Exactly(Pick(false, a, b, width, is_signed));
    case Fn::kIMax: return Exactly(Pick(true, a, b, width, is_signed));
    case Fn::kINeg: return Exactly(-a);
    case Fn::kIAbs: return Exactly(Signed(a, width) < 0 ? -a : a);
    case Fn::kShl: return Exactly(out ? 0 : a << b);
    case Fn::kShr: return Exactly(out ? 0 : a >> b);
    case Fn::kSar: return Exactly(ShiftRightSigned(a, b, width));
    default: return Unknown();
  }
}

uint128 Concatenate(uint64_t widths, std::span<const uint128> x) {
  uint128 bits = 0;
  int at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (at < 128) bits |= x[i] << at;
    at += static_cast<int>(widths >> (8 * i) & 255);
  }
  return bits;
}

// Saturating conversion between integers.
Computed ClampInteger(const Attr& attr, uint64_t a) {
  sf::IntegerType to{}, from{};
  if (!IntegerOf(attr.to, &to) || !IntegerOf(attr.from, &from)) return Unknown();
  const __int128 one = 1;
  const __int128 lowest = to.is_signed ? -(one << (to.bits - 1)) : 0;
  const __int128 highest = (one << (to.is_signed ? to.bits - 1 : to.bits)) - 1;
  const __int128 value = from.is_signed ? static_cast<__int128>(Signed(a, from.bits)) : static_cast<__int128>(a);
  return Exactly(static_cast<uint128>(std::min(std::max(value, lowest), highest)));
}

Computed ComputeUncut(Fn fn, uint64_t word, int width, std::span<const uint128> x) {
  const Attr attr = Attr::Decode(word);
  switch (fn) {
    case Fn::kFAdd:
    case Fn::kFMul:
    case Fn::kFFma:
    case Fn::kFDiv:
    case Fn::kFRcp:
    case Fn::kFSqrt:
    case Fn::kFRsqrt:
    case Fn::kFMin:
    case Fn::kFMax:
    case Fn::kFNeg:
    case Fn::kFAbs:
    case Fn::kFCopySign:
    case Fn::kEx2:
    case Fn::kLg2:
    case Fn::kSin:
    case Fn::kCos:
    case Fn::kTanh: return FloatArithmetic(fn, attr, x);
    case Fn::kFConvert:
    case Fn::kFToInt:
    case Fn::kIntToF: return Convert(fn, attr, static_cast<uint64_t>(x[0]));
    case Fn::kIConvert: return ClampInteger(attr, static_cast<uint64_t>(x[0]));
    case Fn::kFCompare: return CompareFloats(attr, static_cast<uint64_t>(x[0]), static_cast<uint64_t>(x[1]));
    case Fn::kICompare: return CompareIntegers(attr, static_cast<uint64_t>(x[0]), static_cast<uint64_t>(x[1]));
    case Fn::kSignFlip: return Exactly(x[0] ^ uint128{1} << (width - 1));
    case Fn::kAnd: return Exactly(x[0] & x[1]);
    case Fn::kOr: return Exactly(x[0] | x[1]);
    case Fn::kXor: return Exactly(x[0] ^ x[1]);
    case Fn::kNot: return Exactly(~x[0]);
    case Fn::kConcat: return Exactly(Concatenate(word, x));
    case Fn::kExtract: return Exactly((word & 0xffffffff) >= 128 ? 0 : x[0] >> (word & 0xffffffff));
    case Fn::kSignExtend:
      return Exactly(
          static_cast<uint128>(static_cast<__int128>(Signed(static_cast<uint64_t>(x[0]), static_cast<int>(word)))));
    case Fn::kIAdd:
    case Fn::kIMul:
    case Fn::kIMulHi:
    case Fn::kIDiv:
    case Fn::kIRem:
    case Fn::kIMin:
    case Fn::kIMax:
    case Fn::kINeg:
    case Fn::kIAbs:
    case Fn::kShl:
    case Fn::kShr:
    case Fn::kSar: return Integer(fn, attr, width, x);
    case Fn::kUndef:
    case Fn::kConst:
    case Fn::kLeaf:
    case Fn::kInt:
    case Fn::kParam:
    case Fn::kGather:
    case Fn::kSelect:
    case Fn::kVector:
    case Fn::kMatrixStep:
    case Fn::kIsa:
    case Fn::kFTest:
    case Fn::kReduceAdd:
    case Fn::kFold: return Unknown();
  }
  return Unknown();
}

}  // namespace

Computed Compute(Fn fn, uint64_t attr, int width, std::span<const uint128> operands) {
  Computed r = ComputeUncut(fn, attr, width, operands);
  r.bits &= LowBits(width);
  return r;
}

int OperandWidth(Fn fn, uint64_t word, int width, int i) {
  switch (fn) {
    case Fn::kFConvert:
    case Fn::kFToInt:
    case Fn::kIntToF:
    case Fn::kIConvert:
    case Fn::kFCompare:
    case Fn::kICompare: return FormatBits(Attr::Decode(word).from);
    case Fn::kSelect: return i == 0 ? 1 : width;
    case Fn::kConcat: return static_cast<int>(word >> (8 * i) & 255);
    case Fn::kSignExtend: return static_cast<int>(word);
    case Fn::kShl:
    case Fn::kShr:
    case Fn::kSar: return i == 0 ? width : 32;
    case Fn::kGather: return 64;
    case Fn::kExtract:
    case Fn::kIsa: return 0;
    default: return width;
  }
}

sf::MatrixElement DecodeFactor(uint64_t attr, bool second, uint64_t pattern) {
  const auto format = static_cast<Format>(attr >> (second ? 40 : 32) & 255);
  if ((attr & 15) != kIntegerMatrixRule) return sf::DecodeElement(*FormatOf(format), pattern);
  sf::MatrixElement integer;
  integer.bits = pattern;
  integer.significand = format == Format::kS8 ? static_cast<int8_t>(pattern) : static_cast<uint8_t>(pattern);
  return integer;
}

uint64_t ComputeMatrixStep(uint64_t attr, uint64_t accumulator, std::span<const sf::MatrixElement> a,
                           std::span<const sf::MatrixElement> b) {
  if ((attr & 15) == kIntegerMatrixRule) {
    std::vector<int32_t> x, y;
    for (const sf::MatrixElement& e : a) x.push_back(static_cast<int32_t>(e.significand));
    for (const sf::MatrixElement& e : b) y.push_back(static_cast<int32_t>(e.significand));
    return sf::IntegerDot(x, y, static_cast<uint32_t>(accumulator), (attr >> 4 & 15) == 1);
  }
  if ((attr & 15) == kCdna3MatrixRule) return sf::Cdna3Step(a, b, static_cast<uint32_t>(accumulator));
  sf::MatrixUnit unit;
  unit.rule = static_cast<sf::MatrixRule>(attr & 15);
  unit.result = static_cast<sf::MatrixResult>(attr >> 4 & 15);
  unit.fraction_bits = static_cast<int>(attr >> 8 & 255);
  unit.zero_exponent = static_cast<int16_t>(attr >> 16 & 0xffff);
  unit.group = static_cast<int>(attr >> 48 & 255);
  return sf::Dot(unit, a, b, accumulator);
}

}  // namespace samebits::expr
