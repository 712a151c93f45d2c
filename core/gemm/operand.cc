#include "core/gemm/operand.h"

#include <cassert>
#include <cmath>
#include <cstring>

#include "core/softfloat/matrix_unit.h"

namespace samebits::gemm {
namespace {

using softfloat::Format;
using softfloat::MatrixElement;
using softfloat::Number;

// The decoded elements of a format of at most 16 bits.
std::vector<MatrixElement> BuildTable(const Format& format) {
  std::vector<MatrixElement> table(size_t{1} << format.bits);
  for (size_t bits = 0; bits < table.size(); ++bits) table[bits] = softfloat::DecodeElement(format, bits);
  return table;
}

const std::vector<MatrixElement>* TableOf(FormatId type) {
  static const auto* f16 = new std::vector<MatrixElement>(BuildTable(softfloat::kF16));
  static const auto* bf16 = new std::vector<MatrixElement>(BuildTable(softfloat::kBf16));
  static const auto* e4m3 = new std::vector<MatrixElement>(BuildTable(softfloat::kE4m3));
  static const auto* e5m2 = new std::vector<MatrixElement>(BuildTable(softfloat::kE5m2));
  switch (type) {
    case FormatId::kF16:
      return f16;
    case FormatId::kBf16:
      return bf16;
    case FormatId::kE4m3:
      return e4m3;
    case FormatId::kE5m2:
      return e5m2;
    default:
      return nullptr;
  }
}

// Of a zero or a finite element.
double ValueOf(const MatrixElement& element, bool negative) {
  if (element.kind == Number::Kind::kZero) return negative ? -0.0 : 0.0;
  return std::ldexp(static_cast<double>(element.significand), element.exponent - element.fraction_bits);
}

}  // namespace

int64_t BytesOf(FormatId type) { return FormatOf(type).bits / 8; }

uint64_t LoadElement(std::span<const uint8_t> bytes, FormatId type, int64_t index) {
  const int64_t width = BytesOf(type);
  uint64_t pattern = 0;
  std::memcpy(&pattern, bytes.data() + index * width, width);
  return pattern;
}

void StoreElement(std::span<uint8_t> bytes, FormatId type, int64_t index, uint64_t pattern) {
  const int64_t width = BytesOf(type);
  std::memcpy(bytes.data() + index * width, &pattern, width);
}

std::vector<uint64_t> LoadPatterns(std::span<const uint8_t> bytes, FormatId type) {
  std::vector<uint64_t> patterns(bytes.size() / BytesOf(type));
  for (size_t i = 0; i < patterns.size(); ++i) patterns[i] = LoadElement(bytes, type, i);
  return patterns;
}

Operand::Operand(FormatId type, int64_t rows, int64_t k, std::vector<uint64_t> patterns, bool scalar)
    : type_(type), rows_(rows), k_(k), patterns_(std::move(patterns)), special_(rows) {
  assert(static_cast<int64_t>(patterns_.size()) == rows * k);
  const Format& format = FormatOf(type);
  const std::vector<MatrixElement>* table = TableOf(type);
  const size_t size = patterns_.size();
  if (scalar) {
    values_.resize(size);
  } else {
    significands_.resize(size);
    exponents_.resize(size);
  }
  for (size_t i = 0; i < size; ++i) {
    const MatrixElement element =
        table != nullptr ? (*table)[patterns_[i] & format.mask()] : softfloat::DecodeElement(format, patterns_[i]);
    if (element.kind == Number::Kind::kNan || element.kind == Number::Kind::kInfinity) special_[i / k] = 1;
    if (scalar) {
      values_[i] = ValueOf(element, IsNegative(format, patterns_[i]));
    } else {
      significands_[i] = static_cast<int32_t>(element.significand);
      exponents_[i] = element.exponent;
    }
  }
}

}  // namespace samebits::gemm
