#ifndef SAMEBITS_CORE_GEMM_OPERAND_H_
#define SAMEBITS_CORE_GEMM_OPERAND_H_

// Operands of a matrix product, decoded once for many outputs.

#include <cstdint>
#include <span>
#include <vector>

#include "core/gemm/gemm_desc.h"

namespace samebits::gemm {

int64_t BytesOf(FormatId type);  // of one element in memory

// Little-endian element `index` of packed elements.
uint64_t LoadElement(std::span<const uint8_t> bytes, FormatId type, int64_t index);
void StoreElement(std::span<uint8_t> bytes, FormatId type, int64_t index, uint64_t pattern);

// Rows of `k` elements, in the forms that the arithmetic of outputs needs.
class Operand {
 public:
  // `patterns` holds rows * k patterns, row-major. `scalar`: for scalar instructions, otherwise for matrix units.
  Operand(FormatId type, int64_t rows, int64_t k, std::vector<uint64_t> patterns, bool scalar);

  FormatId type() const { return type_; }
  int64_t rows() const { return rows_; }
  int64_t k() const { return k_; }
  uint64_t pattern(int64_t row, int64_t i) const { return patterns_[row * k_ + i]; }
  const uint64_t* patterns(int64_t row) const { return &patterns_[row * k_]; }
  // A row with a NaN or an infinity.
  bool special(int64_t row) const { return special_[row]; }

  // Matrix form: signed significand in units of 2^(exponent - fraction bits); 0 for zeros.
  const int32_t* significands(int64_t row) const { return &significands_[row * k_]; }
  const int16_t* exponents(int64_t row) const { return &exponents_[row * k_]; }
  // Scalar form: exact values.
  const double* values(int64_t row) const { return &values_[row * k_]; }

 private:
  FormatId type_;
  int64_t rows_, k_;
  std::vector<uint64_t> patterns_;
  std::vector<uint8_t> special_;
  std::vector<int32_t> significands_;
  std::vector<int16_t> exponents_;
  std::vector<double> values_;
};

// Reads packed little-endian elements; bytes must hold rows * k of them.
std::vector<uint64_t> LoadPatterns(std::span<const uint8_t> bytes, FormatId type);

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_OPERAND_H_
