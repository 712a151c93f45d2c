#include "core/softfloat/matrix_unit.h"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "core/softfloat/arithmetic.h"

namespace samebits::softfloat {
namespace {

constexpr Format kF32Fraction13{FormatId::kF32, "f32 cut to 13 fraction bits", 32, 8, 13, 10, Specials::kIeee,
                                0x7fffffff};

enum class InputClass : uint8_t { kHalf, kTf32, kFp8, kF64 };

struct Row {
  int sm_first, sm_last;
  MatrixInstruction instruction;
  InputClass input;
  FormatId accumulator;
  MatrixUnit unit;
};

constexpr MatrixInstruction kMma = MatrixInstruction::kMma, kWgmma = MatrixInstruction::kWgmma,
                            kTcgen05 = MatrixInstruction::kTcgen05;
constexpr MatrixRule kSum = MatrixRule::kTruncatedSum;
constexpr MatrixRule kPairs = MatrixRule::kWidenedPairs;
constexpr MatrixResult kToF32 = MatrixResult::kF32TowardZero, kToF16 = MatrixResult::kF16NearestEven,
                       kToCut = MatrixResult::kF32Fraction13;

// The mma rows, and wgmma's on sm_90, reproduce hardware results bit by bit (see the tests and tests/device); the
// tcgen05 rows follow the cited papers.
constexpr Row kRows[] = {
    {70, 72, kMma, InputClass::kHalf, FormatId::kF32, {kSum, kToF32, 4, 23, -131}},
    {70, 72, kMma, InputClass::kHalf, FormatId::kF16, {kSum, kToF16, 4, 23, -131}},
    {75, 89, kMma, InputClass::kHalf, FormatId::kF32, {kSum, kToF32, 8, 24, -132}},
    {75, 89, kMma, InputClass::kHalf, FormatId::kF16, {kSum, kToF16, 8, 24, -132}},
    {80, 89, kMma, InputClass::kTf32, FormatId::kF32, {kSum, kToF32, 4, 24, -132}},
    {89, 89, kMma, InputClass::kFp8, FormatId::kF32, {kSum, kToCut, 16, 13, -132}},
    {89, 89, kMma, InputClass::kFp8, FormatId::kF16, {kSum, kToF16, 16, 13, -132}},
    {90, 103, kMma, InputClass::kHalf, FormatId::kF32, {kSum, kToF32, 16, 25, -133}},
    {90, 103, kMma, InputClass::kHalf, FormatId::kF16, {kSum, kToF16, 16, 25, -21}},
    {90, 103, kMma, InputClass::kTf32, FormatId::kF32, {kSum, kToF32, 8, 25, -133}},
    {90, 103, kMma, InputClass::kFp8, FormatId::kF32, {kPairs, kToF32, 16, 25, -133}},
    {90, 103, kMma, InputClass::kFp8, FormatId::kF16, {kPairs, kToF16, 16, 25, -21}},
    {90, 90, kWgmma, InputClass::kHalf, FormatId::kF32, {kSum, kToF32, 16, 25, -133}},
    {90, 90, kWgmma, InputClass::kHalf, FormatId::kF16, {kSum, kToF16, 16, 25, -21}},
    {90, 90, kWgmma, InputClass::kTf32, FormatId::kF32, {kSum, kToF32, 8, 25, -133}},
    {90, 90, kWgmma, InputClass::kFp8, FormatId::kF32, {kSum, kToCut, 32, 13, -133}},
    {90, 90, kWgmma, InputClass::kFp8, FormatId::kF16, {kSum, kToF16, 32, 13, -21}},
    {100, 103, kTcgen05, InputClass::kHalf, FormatId::kF32, {kSum, kToF32, 16, 25, -133}},
    {100, 103, kTcgen05, InputClass::kHalf, FormatId::kF16, {kSum, kToF16, 16, 25, -21}},
    {100, 103, kTcgen05, InputClass::kTf32, FormatId::kF32, {kSum, kToF32, 8, 25, -133}},
    {80, 103, kMma, InputClass::kF64, FormatId::kF64, {MatrixRule::kFmaChain, MatrixResult::kF64NearestEven, 1, 0, 0}},
};

std::optional<InputClass> Classify(FormatId a, FormatId b) {
  const auto is_fp8 = [](FormatId id) { return id == FormatId::kE4m3 || id == FormatId::kE5m2; };
  if (is_fp8(a) && is_fp8(b)) return InputClass::kFp8;
  if (a != b) return std::nullopt;
  if (a == FormatId::kF16 || a == FormatId::kBf16) return InputClass::kHalf;
  if (a == FormatId::kTf32) return InputClass::kTf32;
  if (a == FormatId::kF64) return InputClass::kF64;
  return std::nullopt;
}

const Format& ResultFormat(const MatrixUnit& unit) {
  switch (unit.result) {
    case MatrixResult::kF32TowardZero:
      return kF32;
    case MatrixResult::kF32Fraction13:
      return kF32Fraction13;
    case MatrixResult::kF16NearestEven:
      return kF16;
    case MatrixResult::kF64NearestEven:
      return kF64;
  }
  return kF32;
}

int FractionBitsOf(FormatId id) {
  switch (id) {
    case FormatId::kE4m3:
      return kE4m3.fraction_bits;
    case FormatId::kE5m2:
      return kE5m2.fraction_bits;
    case FormatId::kBf16:
      return kBf16.fraction_bits;
    default:
      return kF16.fraction_bits;  // and tf32's
  }
}

GroupRule RuleFor(const MatrixUnit& unit, int product_fraction_bits) {
  const Format& accumulator = AccumulatorFormat(unit);
  return {unit.group,
          unit.fraction_bits,
          unit.zero_exponent,
          product_fraction_bits,
          {accumulator.exponent_bits, accumulator.fraction_bits},
          ResultFormat(unit).fraction_bits,
          unit.result == MatrixResult::kF16NearestEven};
}

uint64_t GroupSum(const MatrixUnit& unit, std::span<const MatrixElement> a, std::span<const MatrixElement> b, uint64_t c) {
  const GroupRule rule = RuleFor(unit, a.empty() ? 0 : a[0].fraction_bits + b[0].fraction_bits);
  GroupTerm terms[kMostGroup];
  for (int i = 0; i < unit.group; ++i) {
    terms[i] = i < std::ssize(a) ? TermOf(rule, GroupElementOf(a[i]), GroupElementOf(b[i]))
                                 : GroupTerm{0, rule.zero_exponent};
  }
  return SumGroup(rule, terms, static_cast<unsigned>(c));
}

uint64_t ChainGroups(const MatrixUnit& unit, std::span<const MatrixElement> a, std::span<const MatrixElement> b,
                     uint64_t c) {
  for (size_t first = 0; first < a.size(); first += unit.group) {
    const size_t count = std::min<size_t>(unit.group, a.size() - first);
    c = GroupSum(unit, a.subspan(first, count), b.subspan(first, count), c);
  }
  return c;
}

uint64_t WidenedPairs(const MatrixUnit& unit, std::span<const MatrixElement> a, std::span<const MatrixElement> b,
                      uint64_t c) {
  std::vector<MatrixElement> a_order, b_order;
  for (size_t half : {0, 2}) {
    for (size_t i = half; i + 1 < a.size(); i += 4) {
      a_order.insert(a_order.end(), {a[i], a[i + 1]});
      b_order.insert(b_order.end(), {b[i], b[i + 1]});
    }
  }
  return Add(ResultFormat(unit), c, ChainGroups(unit, a_order, b_order, 0));
}

}  // namespace

std::optional<MatrixUnit> FindMatrixUnit(int sm, MatrixInstruction instruction, FormatId a, FormatId b,
                                         FormatId accumulator) {
  const std::optional<InputClass> input = Classify(a, b);
  if (!input || (a == FormatId::kBf16 && accumulator == FormatId::kF16)) return std::nullopt;
  for (const Row& row : kRows) {
    if (sm < row.sm_first || sm > row.sm_last || row.instruction != instruction) continue;
    if (row.input == *input && row.accumulator == accumulator) return row.unit;
  }
  return std::nullopt;
}

const Format& AccumulatorFormat(const MatrixUnit& unit) {
  const Format& format = ResultFormat(unit);
  return format.id == FormatId::kF32 ? kF32 : format;
}

MatrixElement DecodeElement(const Format& format, uint64_t bits) {
  const Number number = Decode(format, bits);
  MatrixElement element;
  element.kind = number.kind;
  element.bits = bits;
  element.fraction_bits = static_cast<int8_t>(format.fraction_bits);
  const int64_t magnitude = number.kind == Number::Kind::kFinite     ? static_cast<int64_t>(number.significand)
                            : number.kind == Number::Kind::kInfinity ? 1
                                                                     : 0;
  element.significand = number.negative ? -magnitude : magnitude;
  element.exponent = static_cast<int16_t>(number.exponent + format.fraction_bits);
  return element;
}

GroupRule GroupRuleOf(const MatrixUnit& unit, FormatId a, FormatId b) {
  return RuleFor(unit, FractionBitsOf(a) + FractionBitsOf(b));
}

GroupElement GroupElementOf(const MatrixElement& e) {
  switch (e.kind) {
    case Number::Kind::kZero:
      return {0, 0};
    case Number::Kind::kFinite:
      return {static_cast<int>(e.significand), e.exponent};
    case Number::Kind::kInfinity:
      return {e.significand < 0 ? -1 : 1, kInfinityExponent};
    case Number::Kind::kNan:
      break;
  }
  return {1, kNanExponent};
}

std::vector<MatrixElement> DecodeElements(const Format& format, std::span<const uint64_t> bits) {
  std::vector<MatrixElement> elements;
  elements.reserve(bits.size());
  for (uint64_t pattern : bits) elements.push_back(DecodeElement(format, pattern));
  return elements;
}

uint64_t Dot(const MatrixUnit& unit, std::span<const MatrixElement> a, std::span<const MatrixElement> b, uint64_t c) {
  assert(a.size() == b.size());
  switch (unit.rule) {
    case MatrixRule::kTruncatedSum:
      return ChainGroups(unit, a, b, c);
    case MatrixRule::kWidenedPairs:
      return WidenedPairs(unit, a, b, c);
    case MatrixRule::kFmaChain:
      for (size_t i = 0; i < a.size(); ++i) c = Fma(ResultFormat(unit), a[i].bits, b[i].bits, c);
      return c;
  }
  return c;
}

uint32_t IntegerDot(std::span<const int32_t> a, std::span<const int32_t> b, uint32_t c, bool satfinite) {
  assert(a.size() == b.size());
  int64_t sum = static_cast<int32_t>(c);
  for (size_t i = 0; i < a.size(); ++i) sum += int64_t{a[i]} * b[i];
  if (satfinite) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
  return static_cast<uint32_t>(sum);
}

}  // namespace samebits::softfloat
