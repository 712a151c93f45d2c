#ifndef SAMEBITS_CORE_SOFTFLOAT_MATRIX_UNIT_H_
#define SAMEBITS_CORE_SOFTFLOAT_MATRIX_UNIT_H_

// What a matrix instruction returns for one output element, by architecture, as data.
//
// NVIDIA units sum a group of products and the accumulator in fixed point: each term is cut toward zero at
// `fraction_bits` below the largest exponent among the products (ea + eb, significands in [1, 4), not normalised)
// and the accumulator; the cut terms add exactly; the sum is rounded once. A result of zero is
// +0. Longer dot products chain groups in
// ascending order. Sources: MMA-Sim (arXiv 2511.10909), Khattak and Mikaitis (arXiv 2512.07004), and the hardware
// vectors that the tests replay.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/softfloat/format.h"
#include "core/softfloat/group_sum.h"

namespace samebits::softfloat {

enum class MatrixInstruction : uint8_t { kMma, kWgmma, kTcgen05 };

enum class MatrixRule : uint8_t {
  kTruncatedSum,  // as above
  // fp8 on a unit without fp8 (mma.sync on sm_90 and sm_100): of every 32 products, those with k mod 4 in {0, 1} and
  // then those with k mod 4 in {2, 3} pass as two chained groups that start from zero; the accumulator is added last,
  // rounded to nearest even.
  kWidenedPairs,
  kFmaChain,  // one fused multiply-add a product, ascending (f64)
};

enum class MatrixResult : uint8_t {
  kF32TowardZero,
  kF32Fraction13,  // f32 whose fraction is cut toward zero to 13 bits
  kF16NearestEven,
  kF64NearestEven,
};

struct MatrixUnit {
  MatrixRule rule;
  MatrixResult result;
  int group;          // products summed at once
  int fraction_bits;  // kept below the largest exponent
  int zero_exponent;  // exponent that a zero term carries
};

// The unit of architecture `sm` (70, 75, 80, ...) for inputs of formats a and b and an accumulator of format c.
// nullopt where its arithmetic is not established by hardware results.
std::optional<MatrixUnit> FindMatrixUnit(int sm, MatrixInstruction instruction, FormatId a, FormatId b,
                                         FormatId accumulator);

// Format of accumulator and result patterns.
const Format& AccumulatorFormat(const MatrixUnit& unit);

// How one group is summed, as numbers for group_sum.h. For kTruncatedSum and the groups that kWidenedPairs consists of;
// `a` and `b` are types that the unit takes.
GroupRule GroupRuleOf(const MatrixUnit& unit, FormatId a, FormatId b);

// An input decoded once for many dot products.
struct MatrixElement {
  Number::Kind kind = Number::Kind::kZero;
  int16_t exponent = 0;  // of the significand's unit bit; subnormals carry the smallest normal exponent
  int8_t fraction_bits = 0;
  int64_t significand = 0;  // signed
  uint64_t bits = 0;
};
MatrixElement DecodeElement(const Format& format, uint64_t bits);
GroupElement GroupElementOf(const MatrixElement& element);
std::vector<MatrixElement> DecodeElements(const Format& format, std::span<const uint64_t> bits);

// c + sum of a[i] * b[i], as the unit computes it; a and b have equal length, a multiple of the group or shorter than
// one group (then the group is filled with zero products). NaN results are canonical.
uint64_t Dot(const MatrixUnit& unit, std::span<const MatrixElement> a, std::span<const MatrixElement> b, uint64_t c);

// Integer matrix steps: exact products, added to a 32-bit accumulator that wraps, or clamps at the end when
// `satfinite`. Elements are already sign- or zero-extended.
uint32_t IntegerDot(std::span<const int32_t> a, std::span<const int32_t> b, uint32_t c, bool satfinite);

}  // namespace samebits::softfloat

#endif  // SAMEBITS_CORE_SOFTFLOAT_MATRIX_UNIT_H_
