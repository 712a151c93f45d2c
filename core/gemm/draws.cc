// Random operands.

#include <bit>
#include <cmath>
#include <random>

#include "core/gemm/recovery.h"
#include "core/softfloat/convert.h"

namespace samebits::gemm {
namespace {

// A sum of uniform words: near enough to a normal distribution, and the same on every machine.
double Normal(std::mt19937_64& random) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += static_cast<double>(random() >> 11) * 0x1p-53 - 0.5;
  return sum * 1.7320508;
}

}  // namespace

std::vector<uint64_t> DrawPatterns(FormatId type, int64_t count, uint64_t seed, int draw) {
  std::mt19937_64 random(seed);
  const auto& format = FormatOf(type);
  std::vector<uint64_t> patterns(count);
  for (uint64_t& pattern : patterns) {
    double value = Normal(random);
    if (draw % 3 == 1) value = std::ldexp(value, static_cast<int>(random() % 7) - 3);
    if (draw % 3 == 2) value = value < 0 ? -1 - std::floor(-2 * value) * 0.5 : 1 + std::floor(2 * value) * 0.25;
    pattern = ConvertFloat(format, softfloat::kF64, std::bit_cast<uint64_t>(value), softfloat::Rounding::kRn);
  }
  return patterns;
}

}  // namespace samebits::gemm
