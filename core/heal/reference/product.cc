#include "core/heal/reference/product.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/heal/numerics/quantize.h"
#include "core/heal/numerics/rounding.h"

namespace samebits::heal {
namespace {

constexpr int kLanes = 8;

__attribute__((always_inline)) inline double DotBody(const double* a, const double* b, int64_t count) {
  double sum[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) sum[lane] += a[i + lane] * b[i + lane];
  }
  for (int lane = 0; i < count; ++i, ++lane) sum[lane] += a[i] * b[i];
  return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

// FP16 with exponent e holds multiples of 2^(-24 - e) below 2^(-14 - e), and all BF16 values above (WeightScaleExponent
// keeps them below the top). Adding 1.5 * 2^23 such steps in FP32 rounds to a multiple.
__attribute__((always_inline)) inline void WeightRowBody(bool f16, int exponent, const uint16_t* bf16, double* row,
                                                         int64_t count) {
  const float coarse = f16 ? std::ldexp(1.5f, -1 - exponent) : 0, least = f16 ? std::ldexp(1.0f, -14 - exponent) : 0;
  for (int64_t i = 0; i < count; ++i) {
    const float w = std::bit_cast<float>(static_cast<uint32_t>(bf16[i]) << 16);
    const float multiple = (w + coarse) - coarse;
    row[i] = std::fabs(w) < least ? multiple : w;
  }
}

double DotPlain(const double* a, const double* b, int64_t count) { return DotBody(a, b, count); }
void WeightRowPlain(bool f16, int exponent, const uint16_t* bf16, double* row, int64_t count) {
  WeightRowBody(f16, exponent, bf16, row, count);
}

#if defined(__x86_64__)
// The same operations in wider registers: the bits are the same.
__attribute__((target("avx2"))) double DotAvx2(const double* a, const double* b, int64_t count) {
  return DotBody(a, b, count);
}
__attribute__((target("avx2"))) void WeightRowAvx2(bool f16, int exponent, const uint16_t* bf16, double* row,
                                                   int64_t count) {
  WeightRowBody(f16, exponent, bf16, row, count);
}
const bool kAvx2 = __builtin_cpu_supports("avx2");
#else
constexpr bool kAvx2 = false;
constexpr auto DotAvx2 = DotPlain;
constexpr auto WeightRowAvx2 = WeightRowPlain;
#endif

}  // namespace

double Dot(const double* a, const double* b, int64_t count) {
  return kAvx2 ? DotAvx2(a, b, count) : DotPlain(a, b, count);
}

double InputValue(GemmInput input, float x) {
  switch (input) {
    case GemmInput::kBf16:
      return FromBf16(ToBf16(x));
    case GemmInput::kF16:
      return std::isfinite(x) ? FromF16(ToF16(std::clamp(x, -65504.0f, 65504.0f))) : x;
    case GemmInput::kF16Compensated: {
      const HiLo parts = SplitF16(x);
      return static_cast<double>(parts.hi) + static_cast<double>(parts.lo) / (1 << kLowShift);
    }
    case GemmInput::kTf32:
      return RoundTf32(x);
    case GemmInput::kF32:
      return x;
  }
  return x;
}

void WeightRow(GemmInput input, int exponent, const uint16_t* bf16, std::span<double> row) {
  const bool f16 = input == GemmInput::kF16 || input == GemmInput::kF16Compensated;
  (kAvx2 ? WeightRowAvx2 : WeightRowPlain)(f16, exponent, bf16, row.data(), static_cast<int64_t>(row.size()));
}

void Multiply(GemmInput input, const WeightMatrix& weights, std::span<const float> x, int64_t rows,
              WorkerThreads& threads, std::span<float> y) {
  const int64_t inputs = weights.inputs, outputs = weights.outputs;
  std::vector<double> read(x.size());
  threads.Run(static_cast<int64_t>(x.size()), 8192, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) read[i] = InputValue(input, x[i]);
  });
  threads.Run(outputs, 8, [&](int64_t begin, int64_t end) {
    std::vector<double> row(static_cast<size_t>(inputs));
    for (int64_t output = begin; output < end; ++output) {
      WeightRow(input, weights.exponent, weights.values.data() + output * inputs, row);
      const float bias = weights.bias.empty() ? 0 : FromBf16(weights.bias[output]);
      for (int64_t i = 0; i < rows; ++i) {
        const float sum = static_cast<float>(Dot(read.data() + i * inputs, row.data(), inputs));
        y[i * outputs + output] = weights.bias.empty() ? sum : sum + bias;
      }
    }
  });
}

}  // namespace samebits::heal
