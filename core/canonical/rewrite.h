#ifndef SAMEBITS_CORE_CANONICAL_REWRITE_H_
#define SAMEBITS_CORE_CANONICAL_REWRITE_H_

// The rewrites of the canonical form. Each has tests "applies" and "does not apply", a randomised bit-exact check and
// a hit counter. Notation: N(x) = x is never -0; C(x) = a NaN in x has the canonical pattern; rn, no ftz unless said.

#include <string_view>

namespace samebits::canonical {

#define SAMEBITS_REWRITES(X)                                                                                   \
  X(kAddZero, "x + (+0) -> x where N(x), C(x), and the add flushes nothing that x may hold")                   \
  X(kAddMinusZero, "x + (-0) -> x where C(x)")                                                                 \
  X(kMaxMinusInfinity, "x - max(S, -inf) -> x - max(S) where x is in S or -inf")                               \
  X(kMaskedExp, "x + t(-inf) -> x for terms t of a softmax, where x is NaN if t(-inf) is (exp_terms.h)")         \
  X(kZeroOutward, "(y + (+0)) + b -> (y + b) + (+0)")                                                          \
  X(kFoldConst, "operation on constants -> its value")                                                         \
  X(kMulOne, "x * 1 -> x where C(x) and the product flushes nothing that x may hold")                          \
  X(kMulSign, "(-a) * b -> -(a * b)")                                                                          \
  X(kFmaSign, "fma(-a, -b, c) -> fma(a, b, c), and one sign moves to the first factor")                        \
  X(kFmaOne, "fma(a, 1, c) -> a + c")                                                                          \
  X(kFmaZeroProduct, "fma(+0, +0, c) -> c + (+0)")                                                             \
  X(kFmaMinusZero, "fma(a, b, -0) -> a * b")                                                                  \
  X(kFmaExactProduct, "fma(a, b, c) -> a * b + c where the product never rounds, or c hides how (exact_product.h)") \
  X(kFoldConvert, "conversion of a constant that the other format holds -> its value")                         \
  X(kFmaSquare, "fma(x, x, +0) -> x * x")                                                                      \
  X(kNegArithmetic, "arithmetic(neg x) -> arithmetic(signflip x)")                                             \
  X(kDoubleFlip, "signflip(signflip x) -> x")                                                                  \
  X(kWidenShift, "arithmetic on (bf16 bits << 16) -> on the widening conversion")                              \
  X(kAbsBits, "arithmetic on x with its sign bit cleared -> on abs(x)")                                        \
  X(kSelectExtreme, "select(b < a, a, select(isnan a, a, b)) -> max.NaN(a, b) where -0 is as +0, all NaNs one") \
  X(kCompareSwap, "a > b -> b < a, a >= b -> b <= a")                                                          \
  X(kCompareNot, "not (a < b) -> b <= a or unordered, and so on")                                              \
  X(kSelectSame, "select(p, a, a) -> a")                                                                       \
  X(kSelectNot, "select(not p, a, b) -> select(p, b, a)")                                                      \
  X(kIdempotent, "op(a, a) -> a for and, or, integer min and max, and float min and max of canonical values")  \
  X(kMultiset, "associative and commutative in bits: operands flatten to a multiset")                          \
  X(kMatrixNoClamp, "clamping integer matrix step that cannot pass the range of s32 -> the plain one")                 \
  X(kMatrixZeroStep, "matrix step of zero products on a matrix result or +0 -> the accumulator")                       \
  X(kIdentity, "x + 0, x * 1, x & ~0, x | 0, x ^ 0, shift by 0 on integers -> x")

enum class Rewrite {
#define X(name, text) name,
  SAMEBITS_REWRITES(X)
#undef X
};
inline constexpr int kRewriteCount = 0
#define X(name, text) +1
    SAMEBITS_REWRITES(X)
#undef X
    ;

inline std::string_view RewriteText(Rewrite r) {
  static constexpr std::string_view kTexts[] = {
#define X(name, text) text,
      SAMEBITS_REWRITES(X)
#undef X
  };
  return kTexts[static_cast<int>(r)];
}

}  // namespace samebits::canonical

#endif  // SAMEBITS_CORE_CANONICAL_REWRITE_H_
