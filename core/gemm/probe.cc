#include "core/gemm/probe.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/softfloat/convert.h"

namespace samebits::gemm {
namespace {

using softfloat::Rounding;

uint64_t PatternOf(FormatId type, double value) {
  return ConvertFloat(FormatOf(type), softfloat::kF64, std::bit_cast<uint64_t>(value), Rounding::kRn);
}

double ValueOf(FormatId type, uint64_t pattern) {
  return std::bit_cast<double>(ConvertFloat(softfloat::kF64, FormatOf(type), pattern, Rounding::kRn));
}

// Powers of two: L as a product of two factors, the tiny values, and how many of them.
struct Exponents {
  int large_a, large_b, small_a, small_b, bits;
};

// L must absorb the sum of all tiny values in any accumulator (half a unit of f32 at L, and 23 bits of a matrix unit),
// must not overflow any type that partial sums may have, and the sum of the tiny values must be exact in all of them.
Exponents ExponentsOf(const GemmProblem& p) {
  const int output_bits = p.output_type == FormatId::kBf16 ? 8 : p.output_type == FormatId::kF16 ? 10 : 16;
  switch (p.a_type) {
    case FormatId::kE4m3:
    case FormatId::kE5m2:
      return {8, 7, -9, -9, 8};
    case FormatId::kF16:
      if (output_bits == 16) return {15, 0, -24, 0, 13};
      return {15, 0, -22, 0, output_bits};
    case FormatId::kF64:
      return {120, 0, 0, 0, 16};
    default:
      // f16 outputs of wider inputs: partial sums may be f16
      if (p.output_type == FormatId::kF16) return {15, 0, -22, 0, 10};
      return {60, 0, 0, 0, output_bits};
  }
}

// `count` places spread over [0, size), both ends among them.
std::vector<int64_t> Spread(int64_t size, int64_t count) {
  std::vector<int64_t> places(count);
  for (int64_t i = 0; i < count; ++i) places[i] = count == 1 ? 0 : i * (size - 1) / (count - 1);
  return places;
}

}  // namespace

Prober::Prober(BlackBox* box, const GemmProblem& problem, int most_per_launch) : box_(box), problem_(problem) {
  ChooseConstants();
  const int64_t larger = std::max(problem.m, problem.n), side = both_vary_ ? std::min(problem.m, problem.n) : larger;
  rows_vary_ = problem.m >= problem.n;
  per_launch_ = static_cast<int>(std::min<int64_t>(side, most_per_launch));
  if (both_vary_ && side == 1) rows_per_probe_ = static_cast<int>(std::min<int64_t>(larger, 64 / a_small_.size()));
}

void Prober::ChooseConstants() {
  const Exponents e = ExponentsOf(problem_);
  both_vary_ = FormatOf(problem_.a_type).bits == 8;
  const FormatId a = problem_.m >= problem_.n ? problem_.a_type : problem_.b_type;
  const FormatId b = problem_.m >= problem_.n ? problem_.b_type : problem_.a_type;
  a_plus_ = PatternOf(a, std::ldexp(1, e.large_a));
  a_minus_ = PatternOf(a, -std::ldexp(1, e.large_a));
  b_large_ = PatternOf(b, std::ldexp(1, e.large_b));
  b_small_ = PatternOf(b, std::ldexp(1, e.small_b));
  for (int i = 0; i < e.bits; ++i) a_small_.push_back(PatternOf(a, std::ldexp(1, e.small_a + i)));
  unit_ = std::ldexp(1, e.small_a + e.small_b);
}

std::vector<uint64_t> Prober::VaryingRow(const Probe& probe) const {
  std::vector<uint64_t> row(problem_.k, 0);
  if (probe.plus != probe.minus) row[probe.plus] = a_plus_, row[probe.minus] = a_minus_;
  for (size_t i = 0; i < probe.small.size(); ++i) row[probe.small[i]] = a_small_[i];
  return row;
}

std::vector<uint64_t> Prober::FixedRow(const Probe& probe) const {
  std::vector<uint64_t> row(problem_.k, b_small_);
  if (both_vary_ && probe.plus != probe.minus) row[probe.plus] = row[probe.minus] = b_large_;
  return row;
}

Answer Prober::Read(const Probe& probe, uint64_t pattern) const {
  const double sum = ValueOf(problem_.output_type, pattern) / unit_;
  const uint64_t all = (uint64_t{1} << probe.small.size()) - 1;
  if (!(sum >= 0) || sum > static_cast<double>(all) || sum != std::floor(sum)) return {};
  return {true, all & ~static_cast<uint64_t>(sum)};
}

absl::StatusOr<std::vector<Answer>> Prober::Ask(std::span<const Probe> probes) {
  if (rows_per_probe_ == 1) return AskRows(probes);
  // one pair, its tiny values spread over rows
  const size_t bits = a_small_.size();
  std::vector<Probe> rows;
  const Probe& probe = probes[0];
  for (size_t i = 0; i < probe.small.size(); i += bits) {
    const size_t end = std::min(i + bits, probe.small.size());
    rows.push_back({probe.plus, probe.minus, {probe.small.begin() + i, probe.small.begin() + end}});
  }
  const absl::StatusOr<std::vector<Answer>> answers = AskRows(rows);
  if (!answers.ok()) return answers.status();
  Answer all{true, 0};
  for (size_t i = 0; i < answers->size(); ++i) {
    all.valid = all.valid && (*answers)[i].valid;
    all.absorbed |= (*answers)[i].absorbed << (i * bits);
  }
  return std::vector<Answer>{all};
}

absl::StatusOr<std::vector<Answer>> Prober::AskRows(std::span<const Probe> probes) {
  SparseRows varying, fixed;
  std::vector<Output> outputs;
  const int64_t varying_side = rows_vary_ ? problem_.m : problem_.n, fixed_side = rows_vary_ ? problem_.n : problem_.m;
  const int64_t count = static_cast<int64_t>(probes.size());
  const bool pairs = both_vary_ && rows_per_probe_ == 1;
  varying.index = Spread(varying_side, count);
  fixed.index = pairs ? Spread(fixed_side, count) : std::vector<int64_t>{fixed_side - 1};
  for (int64_t i = 0; i < count; ++i) {
    const std::vector<uint64_t> row = VaryingRow(probes[i]);
    varying.patterns.insert(varying.patterns.end(), row.begin(), row.end());
    if (pairs || i == 0) {
      const std::vector<uint64_t> other = FixedRow(probes[i]);
      fixed.patterns.insert(fixed.patterns.end(), other.begin(), other.end());
    }
    const int64_t j = pairs ? i : 0;
    outputs.push_back(rows_vary_ ? Output{i, j} : Output{j, i});
  }
  ++launches_;
  const absl::StatusOr<std::vector<uint64_t>> results =
      rows_vary_ ? box_->Multiply(problem_, varying, fixed, outputs) : box_->Multiply(problem_, fixed, varying, outputs);
  if (!results.ok()) return results.status();
  std::vector<Answer> answers;
  for (int64_t i = 0; i < count; ++i) answers.push_back(Read(probes[i], (*results)[i]));
  return answers;
}

}  // namespace samebits::gemm
