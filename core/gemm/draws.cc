// Random operands.

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <utility>

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
  // Many elements are picks from a table of random values.
  constexpr int64_t kTableBits = 10;
  std::mt19937_64 random(seed);
  const auto& format = FormatOf(type);
  std::vector<uint64_t> table(std::min(count, int64_t{1} << kTableBits));
  for (uint64_t& pattern : table) {
    double value = Normal(random);
    if (draw % 3 == 1) value = std::ldexp(value, static_cast<int>(random() % 7) - 3);
    if (draw % 3 == 2) value = value < 0 ? -1 - std::floor(-2 * value) * 0.5 : 1 + std::floor(2 * value) * 0.25;
    pattern = ConvertFloat(format, softfloat::kF64, std::bit_cast<uint64_t>(value), softfloat::Rounding::kRn);
  }
  if (count <= int64_t{1} << kTableBits) return table;
  std::vector<uint64_t> patterns(count);
  uint64_t word = 0;
  for (int64_t i = 0; i < count; ++i) {
    word = i % 6 == 0 ? random() : word >> kTableBits;
    patterns[i] = table[word & ((uint64_t{1} << kTableBits) - 1)];
  }
  return patterns;
}

std::vector<uint64_t> DrawEdgePatterns(FormatId type, int64_t k, int64_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pattern = [&](double value) {
    return ConvertFloat(FormatOf(type), softfloat::kF64, std::bit_cast<uint64_t>(value), softfloat::Rounding::kRn);
  };
  const uint64_t small = pattern(-0x1p63), large = pattern(0x1p64);
  std::vector<uint64_t> patterns(k * rows, 0);
  for (int64_t row = 0; row < rows; ++row) {
    // cuts leave their short parts at the end
    const int64_t x = static_cast<int64_t>(random() % k);
    const int64_t y = random() % 2 == 0 ? k - 1 - static_cast<int64_t>(random() % std::min<int64_t>(k, 16))
                                        : static_cast<int64_t>(random() % k);
    patterns[row * k + x] = small;
    patterns[row * k + y] = large;
  }
  return patterns;
}

std::vector<uint64_t> DrawCancellingPatterns(FormatId type, int64_t k, int64_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  const uint64_t sign = FormatOf(type).sign_mask();
  std::vector<uint64_t> patterns = DrawPatterns(type, k * rows, random(), 1);
  std::vector<int64_t> places(k);
  for (int64_t row = 0; row < rows; ++row) {
    std::iota(places.begin(), places.end(), row * k);
    for (int64_t i = k - 1; i > 0; --i) std::swap(places[i], places[random() % (i + 1)]);
    for (int64_t i = 0; i + 1 < k; i += 2) patterns[places[i + 1]] = patterns[places[i]] ^ sign;
    if (k % 2 == 1) patterns[places[k - 1]] = 0;
  }
  return patterns;
}

namespace {

// Corners, edges and random places.
std::vector<int64_t> DrawPlaces(int64_t size, int64_t count, std::mt19937_64& random) {
  count = std::min(size, count);
  std::set<int64_t> places{0, size - 1};
  if (count >= 4) places.insert({1, size - 2});
  while (static_cast<int64_t>(places.size()) < count) places.insert(static_cast<int64_t>(random() % size));
  return {places.begin(), places.end()};
}

// Both operands: at two places of each pair B has one value, and A opposite ones.
void DrawCancelling(const GemmProblem& p, std::mt19937_64& random, DrawnOperands* drawn) {
  std::vector<int64_t> places(p.k);
  std::iota(places.begin(), places.end(), 0);
  for (int64_t i = p.k - 1; i > 0; --i) std::swap(places[i], places[random() % (i + 1)]);
  const auto pair_up = [&](FormatId type, SparseRows* rows, uint64_t flip) {
    rows->patterns = DrawPatterns(type, rows->index.size() * p.k, random(), 1);
    for (size_t r = 0; r < rows->index.size(); ++r) {
      uint64_t* row = &rows->patterns[r * p.k];
      for (int64_t i = 0; i + 1 < p.k; i += 2) row[places[i + 1]] = row[places[i]] ^ flip;
    }
  };
  pair_up(p.a_type, &drawn->a, FormatOf(p.a_type).sign_mask());
  pair_up(p.b_type, &drawn->b, 0);
}

}  // namespace

DrawnOperands DrawOperands(const GemmProblem& p, int64_t side, uint64_t seed, int draw) {
  constexpr int64_t kMostElements = int64_t{1} << 21;  // of the longer side
  std::mt19937_64 random(seed);
  const auto other = [&](int64_t size) {  // places of the other side, where this one has `size`
    const int64_t wanted = side * side / std::min(size, side);
    return std::clamp<int64_t>(kMostElements / p.k, std::min<int64_t>(wanted, 2 * side), std::max(side, wanted));
  };
  DrawnOperands drawn;
  drawn.a.index = DrawPlaces(p.m, p.n < side ? other(p.n) : side, random);
  drawn.b.index = DrawPlaces(p.n, p.m < side ? other(p.m) : side, random);
  if (draw % 4 == 3) {
    DrawCancelling(p, random, &drawn);
  } else {
    drawn.a.patterns = DrawPatterns(p.a_type, drawn.a.index.size() * p.k, random(), draw % 4);
    drawn.b.patterns = DrawPatterns(p.b_type, drawn.b.index.size() * p.k, random(), draw % 4);
  }
  for (size_t i = 0; i < drawn.a.index.size(); ++i) {
    for (size_t j = 0; j < drawn.b.index.size(); ++j) {
      drawn.outputs.push_back({static_cast<int64_t>(i), static_cast<int64_t>(j)});
    }
  }
  return drawn;
}

std::vector<uint64_t> DrawTiePatterns(FormatId type, FormatId output, int64_t k, int64_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> patterns(k * rows, 0);
  const double tie = std::ldexp(3.0, -FormatOf(output).fraction_bits - 1);
  for (int64_t row = 0; row < rows; ++row) {
    const double least = std::ldexp(random() % 2 == 0 ? -1.0 : 1.0, -24 - static_cast<int>(random() % 3));
    for (double value : {1.0, tie, least}) {
      const int64_t place = random() % 3 == 0 ? k - 1 - static_cast<int64_t>(random() % std::min<int64_t>(k, 4))
                                              : static_cast<int64_t>(random() % k);
      patterns[row * k + place] =
          ConvertFloat(FormatOf(type), softfloat::kF64, std::bit_cast<uint64_t>(value), softfloat::Rounding::kRn);
    }
  }
  return patterns;
}

}  // namespace samebits::gemm
