#include "core/gemm/panel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/softfloat/convert.h"

#if defined(__x86_64__)
#define SAMEBITS_VECTOR_TARGET __attribute__((target("avx2,fma")))
#else
#define SAMEBITS_VECTOR_TARGET
#endif
#define SAMEBITS_INLINE inline __attribute__((always_inline))

namespace samebits::gemm {
namespace {

using softfloat::FormatId;
using softfloat::MatrixResult;
using softfloat::MatrixUnit;

using Values = std::array<double, kLanes>;  // f16 and f32 values are exact in f64

// What one group does, as numbers for the vector loop.
struct GroupRule {
  int shift_up;           // from the product's unit to the kept unit of the largest exponent
  int shift_c;            // of an f32 significand, times four, down to the kept unit of its own exponent
  int zero_exponent, least_c_exponent;
  uint64_t kept_mask;     // bits of an f64 that the result keeps (toward zero)
  int fraction_bits;
  size_t group;
};

GroupRule RuleOf(const MatrixUnit& unit, int product_fraction_bits) {
  GroupRule rule;
  rule.shift_up = unit.fraction_bits - product_fraction_bits;
  rule.shift_c = 25 - unit.fraction_bits;
  rule.zero_exponent = unit.zero_exponent;
  rule.least_c_exponent = unit.result == MatrixResult::kF16NearestEven ? -14 : -126;
  const int kept = unit.result == MatrixResult::kF32Fraction13 ? 13 : 23;
  rule.kept_mask = ~((uint64_t{1} << (52 - kept)) - 1);
  rule.fraction_bits = unit.fraction_bits;
  rule.group = unit.group;
  return rule;
}

// Groups [begin, end) of the plan into f32 accumulators, from zero; bits of `hard` are lanes outside the fast path.
template <bool kToF16>
SAMEBITS_INLINE void ChainBody(const GroupRule& rule, const int32_t* order, const int64_t* group_begin, int64_t begin,
                               int64_t end, const int32_t* significands, const int16_t* exponents, Values* out,
                               uint32_t* hard) {
  alignas(64) uint32_t c[kLanes] = {};
  alignas(64) int32_t bad[kLanes] = {};
  for (int64_t g = begin; g < end; ++g) {
    const int64_t first = group_begin[g], last = group_begin[g + 1];
    alignas(64) int32_t largest[kLanes], sum[kLanes] = {};
    for (int l = 0; l < kLanes; ++l) {
      const int32_t field = static_cast<int32_t>((c[l] >> 23) & 255) - 127;
      const int32_t exponent = std::max(field, rule.least_c_exponent);
      largest[l] = (c[l] & 0x7fffffff) == 0 ? rule.zero_exponent : exponent;
    }
    if (static_cast<size_t>(last - first) < rule.group) {
      for (int l = 0; l < kLanes; ++l) largest[l] = std::max(largest[l], rule.zero_exponent);
    }
    for (int64_t i = first; i < last; ++i) {
      const int16_t* e = exponents + int64_t{order[i]} * kLanes;
      for (int l = 0; l < kLanes; ++l) largest[l] = std::max<int32_t>(largest[l], e[l]);
    }
    for (int64_t i = first; i < last; ++i) {
      const int16_t* e = exponents + int64_t{order[i]} * kLanes;
      const int32_t* s = significands + int64_t{order[i]} * kLanes;
      for (int l = 0; l < kLanes; ++l) {
        const uint32_t shift = std::min(largest[l] - e[l], 31);
        const int32_t sign = s[l] >> 31;
        const uint32_t magnitude = static_cast<uint32_t>((s[l] ^ sign) - sign);
        const int32_t cut = static_cast<int32_t>((magnitude << rule.shift_up) >> shift);
        sum[l] += (cut ^ sign) - sign;
      }
    }
    for (int l = 0; l < kLanes; ++l) {
      const bool zero = (c[l] & 0x7fffffff) == 0;
      const int32_t field = static_cast<int32_t>((c[l] >> 23) & 255) - 127;
      const uint32_t magnitude = zero ? 0 : ((c[l] & 0x7fffff) | 0x800000) << 2;
      const uint32_t shift = std::min(std::max(largest[l] - field + rule.shift_c, 0), 31);
      const int32_t cut = static_cast<int32_t>(magnitude >> shift);
      const double total = static_cast<double>(sum[l]) + static_cast<double>((c[l] >> 31) != 0 ? -cut : cut);
      const uint64_t scale = static_cast<uint64_t>(static_cast<int64_t>(largest[l]) - rule.fraction_bits + 1023) << 52;
      const double exact = total * std::bit_cast<double>(scale);
      double result;
      if constexpr (kToF16) {
        // to nearest even: at 11 bits, or in units of 2^-24 below 2^-14
        const double size = std::fabs(exact);
        const uint64_t bits = std::bit_cast<uint64_t>(size);
        const double normal = std::bit_cast<double>((bits + ((uint64_t{1} << 41) - 1) + ((bits >> 42) & 1)) &
                                                    ~((uint64_t{1} << 42) - 1));
        const double tiny = (size + 0x1p28) - 0x1p28;
        const double rounded = size < 0x1p-14 ? tiny : normal;
        bad[l] |= rounded > 65504.0;
        result = rounded == 0 ? 0.0 : (exact < 0 ? -rounded : rounded);
      } else {
        result = std::bit_cast<double>(std::bit_cast<uint64_t>(exact) & rule.kept_mask);
        const double size = std::fabs(result);
        bad[l] |= (size < 0x1p-126 && exact != 0) | (size > 0x1.fffffep127);
      }
      c[l] = std::bit_cast<uint32_t>(static_cast<float>(result));
    }
  }
  for (int l = 0; l < kLanes; ++l) {
    (*out)[l] = std::bit_cast<float>(c[l]);
    *hard |= static_cast<uint32_t>(bad[l] != 0) << l;
  }
}

template <bool kFused, typename Real>
SAMEBITS_INLINE void ScalarBody(const int32_t* order, int64_t begin, int64_t end, const Real* a, const Real* b,
                                Values* out) {
  alignas(64) Real c[kLanes] = {};
  for (int64_t i = begin; i < end; ++i) {
    const Real* x = a + int64_t{order[i]} * kLanes;
    const Real* y = b + int64_t{order[i]} * kLanes;
    for (int l = 0; l < kLanes; ++l) {
      if constexpr (kFused) {
        c[l] = std::fma(x[l], y[l], c[l]);
      } else {
        c[l] = x[l] * y[l] + c[l];
      }
    }
  }
  for (int l = 0; l < kLanes; ++l) (*out)[l] = c[l];
}

#define SAMEBITS_CHAIN_ARGS                                                                                        \
  const GroupRule &rule, const int32_t *order, const int64_t *group_begin, int64_t begin, int64_t end,             \
      const int32_t *significands, const int16_t *exponents, Values *out, uint32_t *hard
#define SAMEBITS_CHAIN_CALL rule, order, group_begin, begin, end, significands, exponents, out, hard

void ChainF32Portable(SAMEBITS_CHAIN_ARGS) { ChainBody<false>(SAMEBITS_CHAIN_CALL); }
void ChainF16Portable(SAMEBITS_CHAIN_ARGS) { ChainBody<true>(SAMEBITS_CHAIN_CALL); }
SAMEBITS_VECTOR_TARGET void ChainF32Vector(SAMEBITS_CHAIN_ARGS) { ChainBody<false>(SAMEBITS_CHAIN_CALL); }
SAMEBITS_VECTOR_TARGET void ChainF16Vector(SAMEBITS_CHAIN_ARGS) { ChainBody<true>(SAMEBITS_CHAIN_CALL); }

template <bool kFused, typename Real>
void ScalarPortable(const int32_t* order, int64_t begin, int64_t end, const Real* a, const Real* b, Values* out) {
  ScalarBody<kFused>(order, begin, end, a, b, out);
}
template <bool kFused, typename Real>
SAMEBITS_VECTOR_TARGET void ScalarVector(const int32_t* order, int64_t begin, int64_t end, const Real* a,
                                         const Real* b, Values* out) {
  ScalarBody<kFused>(order, begin, end, a, b, out);
}

bool HasVectors() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
#else
  return false;
#endif
}

template <typename Real>
void RunScalar(bool fused, const int32_t* order, int64_t begin, int64_t end, const Real* a, const Real* b,
               Values* out) {
  const auto run = fused ? (HasVectors() ? ScalarVector<true, Real> : ScalarPortable<true, Real>)
                         : (HasVectors() ? ScalarVector<false, Real> : ScalarPortable<false, Real>);
  run(order, begin, end, a, b, out);
}

// Rounds f32 or f64 values to a narrower type and back.
double RoundTo(FormatId type, FormatId accumulate, double value) {
  if (type == accumulate) return value;
  const auto& format = FormatOf(type);
  const uint64_t narrow =
      ConvertFloat(format, softfloat::kF64, std::bit_cast<uint64_t>(value), softfloat::Rounding::kRn);
  return std::bit_cast<double>(ConvertFloat(softfloat::kF64, format, narrow, softfloat::Rounding::kRn));
}

double AddAt(FormatId accumulate, double x, double y) {
  if (accumulate == FormatId::kF64) return x + y;
  const float sum = static_cast<float>(x) + static_cast<float>(y);
  return accumulate == FormatId::kF16 ? RoundTo(FormatId::kF16, FormatId::kF32, sum) : sum;
}

}  // namespace

Panel::Panel(const Plan& plan, const Operand& a, const Operand& b, std::span<const Output> outputs) {
  const int64_t k = plan.k;
  const size_t size = static_cast<size_t>(k) * kLanes;
  const bool wide = plan.accumulate_type == FormatId::kF64;
  const bool matrix = plan.arithmetic.unit.has_value();
  product_fraction_bits_ = FormatOf(a.type()).fraction_bits + FormatOf(b.type()).fraction_bits;
  if (matrix) {
    significands_.assign(size, 0);
    exponents_.assign(size, static_cast<int16_t>(plan.arithmetic.unit->zero_exponent));
  } else if (wide) {
    a64_.assign(size, 0), b64_.assign(size, 0);
  } else {
    a32_.assign(size, 0), b32_.assign(size, 0);
  }
  for (size_t lane = 0; lane < outputs.size(); ++lane) {
    if (a.special(outputs[lane].row) || b.special(outputs[lane].column)) special_ |= 1u << lane;
  }
  constexpr int64_t kBlock = 32;  // lanes are interleaved block by block, which stays in the cache
  for (int64_t begin = 0; begin < k; begin += kBlock) {
    const int64_t end = std::min(k, begin + kBlock);
    for (size_t lane = 0; lane < outputs.size(); ++lane) {
      if ((special_ >> lane & 1) != 0) continue;
      if (matrix) {
        FillMatrix(a, b, outputs[lane], lane, begin, end);
      } else if (wide) {
        FillScalar(a, b, outputs[lane], lane, begin, end, &a64_, &b64_);
      } else {
        FillScalar(a, b, outputs[lane], lane, begin, end, &a32_, &b32_);
      }
    }
  }
}

void Panel::FillMatrix(const Operand& a, const Operand& b, Output output, size_t lane, int64_t begin, int64_t end) {
  const int32_t *sa = a.significands(output.row), *sb = b.significands(output.column);
  const int16_t *ea = a.exponents(output.row), *eb = b.exponents(output.column);
  for (int64_t i = begin; i < end; ++i) {
    const int32_t product = sa[i] * sb[i];
    significands_[i * kLanes + lane] = product;
    if (product != 0) exponents_[i * kLanes + lane] = static_cast<int16_t>(ea[i] + eb[i]);
  }
}

template <typename Real>
void Panel::FillScalar(const Operand& a, const Operand& b, Output output, size_t lane, int64_t begin, int64_t end,
                       std::vector<Real>* x, std::vector<Real>* y) {
  const double *va = a.values(output.row), *vb = b.values(output.column);
  for (int64_t i = begin; i < end; ++i) {
    (*x)[i * kLanes + lane] = static_cast<Real>(va[i]);
    (*y)[i * kLanes + lane] = static_cast<Real>(vb[i]);
  }
}

uint32_t Panel::Run(const Plan& plan, std::array<uint64_t, kLanes>* results) const {
  uint32_t hard = special_;
  const FormatId accumulate = plan.accumulate_type;
  std::vector<Values> stack;
  stack.reserve(plan.depth);
  GroupRule rule{};
  if (plan.arithmetic.unit) rule = RuleOf(*plan.arithmetic.unit, product_fraction_bits_);
  const bool to_f16 = accumulate == FormatId::kF16;
  const auto chain = to_f16 ? (HasVectors() ? ChainF16Vector : ChainF16Portable)
                            : (HasVectors() ? ChainF32Vector : ChainF32Portable);
  const bool fused = plan.arithmetic.instruction != Instruction::kMulAdd;
  for (const PlanStep& step : plan.steps) {
    switch (step.kind) {
      case PlanStep::Kind::kChain: {
        Values& top = stack.emplace_back();
        const int64_t begin = plan.group_begin[step.begin], end = plan.group_begin[step.end];
        if (plan.arithmetic.unit) {
          chain(rule, plan.order.data(), plan.group_begin.data(), step.begin, step.end, significands_.data(),
                exponents_.data(), &top, &hard);
        } else if (accumulate == FormatId::kF64) {
          RunScalar(fused, plan.order.data(), begin, end, a64_.data(), b64_.data(), &top);
        } else {
          RunScalar(fused, plan.order.data(), begin, end, a32_.data(), b32_.data(), &top);
        }
        break;
      }
      case PlanStep::Kind::kAdd: {
        const Values right = stack.back();
        stack.pop_back();
        Values& left = stack.back();
        for (int l = 0; l < kLanes; ++l) left[l] = RoundTo(step.type, accumulate, AddAt(accumulate, left[l], right[l]));
        break;
      }
      case PlanStep::Kind::kRound:
        for (double& value : stack.back()) value = RoundTo(step.type, accumulate, value);
        break;
    }
  }
  const auto& format = FormatOf(accumulate);
  for (int l = 0; l < kLanes; ++l) {
    const double value = stack.back()[l];
    if (!std::isfinite(value)) hard |= 1u << l;
    (*results)[l] =
        accumulate == FormatId::kF64
            ? std::bit_cast<uint64_t>(value)
            : accumulate == FormatId::kF32
                  ? std::bit_cast<uint32_t>(static_cast<float>(value))
                  : ConvertFloat(format, softfloat::kF64, std::bit_cast<uint64_t>(value), softfloat::Rounding::kRn);
  }
  return hard;
}

}  // namespace samebits::gemm
