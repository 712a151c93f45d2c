#ifndef SAMEBITS_CORE_CANONICAL_EXACT_PRODUCT_H_
#define SAMEBITS_CORE_CANONICAL_EXACT_PRODUCT_H_

// Products of f32 values that never round.

#include <optional>

#include "core/expr/node.h"

namespace samebits::canonical {

// Holds for every finite value of an expression: a multiple of 2^low, below 2^high in magnitude, with a significand of
// at most `bits` bits.
struct Span {
  int bits = 0, low = 0, high = 0;
};

// Of an f32 expression: widened f16 or bf16, small integers, constants, sums of matrix units over f16, and exact
// products and choices of such. Nothing where none is known. Looks a few operations deep.
std::optional<Span> SpanOf(const expr::NodeManager& nodes, expr::NodeId node);

// Whether a * b is exact in f32 whenever both are finite, and with `ftz` no subnormal. A fused multiply-add is then the
// sum of the product: an infinite or NaN product is the rounded one, and a zero has the same sign in both.
bool IsExactProduct(const expr::NodeManager& nodes, expr::NodeId a, expr::NodeId b, bool ftz);

// Whether fma(a, b, addend) is a * b + addend, rounded to nearest without flush, for constants b, a power of two, and
// addend: between 2^-100 and 2^100 an addend hides both how a vanishing product rounds and where a product overflows.
bool IsHiddenScaling(const expr::NodeManager& nodes, expr::NodeId b, expr::NodeId addend);

}  // namespace samebits::canonical

#endif  // SAMEBITS_CORE_CANONICAL_EXACT_PRODUCT_H_
