#ifndef SAMEBITS_TESTS_SUPPORT_FAKE_GPU_PLAIN_PRODUCT_H_
#define SAMEBITS_TESTS_SUPPORT_FAKE_GPU_PLAIN_PRODUCT_H_

// The arithmetic of the stand-ins for vendors' libraries: one chain of fused multiply-adds along ascending k, in f32 or
// f64, rounded once to the output's type.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/softfloat/convert.h"
#include "core/softfloat/format.h"

namespace samebits::fake_gpu {

struct Matrix {
  const void* data = nullptr;
  const softfloat::Format* format = nullptr;
  int64_t leading = 0;  // column-major
  bool transposed = false;

  double At(int64_t row, int64_t column) const {
    const int64_t place = transposed ? row * leading + column : column * leading + row;
    uint64_t pattern = 0;
    std::memcpy(&pattern, static_cast<const uint8_t*>(data) + place * (format->bits / 8), format->bits / 8);
    return std::bit_cast<double>(softfloat::ConvertFloat(softfloat::kF64, *format, pattern, softfloat::Rounding::kRn));
  }
};

template <typename Accumulator>
uint64_t Chain(const Matrix& a, const Matrix& b, int64_t row, int64_t column, int64_t k) {
  Accumulator sum = 0;
  for (int64_t i = 0; i < k; ++i) {
    sum = std::fma(static_cast<Accumulator>(a.At(row, i)), static_cast<Accumulator>(b.At(i, column)), sum);
  }
  return std::bit_cast<uint64_t>(static_cast<double>(sum));
}

// D (m x n, column-major) = op(A) * op(B).
inline void PlainProduct(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b, bool wide, void* d,
                         const softfloat::Format& format, int64_t leading) {
  const int64_t width = format.bits / 8;
  for (int64_t column = 0; column < n; ++column) {
    for (int64_t row = 0; row < m; ++row) {
      const uint64_t sum = wide ? Chain<double>(a, b, row, column, k) : Chain<float>(a, b, row, column, k);
      const uint64_t pattern = softfloat::ConvertFloat(format, softfloat::kF64, sum, softfloat::Rounding::kRn);
      std::memcpy(static_cast<uint8_t*>(d) + (column * leading + row) * width, &pattern, width);
    }
  }
}

}  // namespace samebits::fake_gpu

#endif  // SAMEBITS_TESTS_SUPPORT_FAKE_GPU_PLAIN_PRODUCT_H_
