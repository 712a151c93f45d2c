#include <set>

#include "core/canonical/rewrite.h"
#include "core/expr/operation.h"
#include "tests/unit/core/canonical/tree.h"

namespace samebits::canonical {
namespace {

constexpr Format kF = Format::kF32, kH = Format::kF16, kB = Format::kBf16, kD = Format::kF64;
constexpr uint64_t kOne = 0x3f800000, kMinusZero = 0x80000000;
constexpr uint64_t kFtz = Attr::kFtz, kSat = Attr::kSat, kSigned = Attr::kSigned, kNan = Attr::kNanFlag;

const Tree x = X(0, 32), y = X(1, 32), z = X(2, 32), hx = X(0, 16), hy = X(1, 16), bx = X(0, 8), by = X(1, 8), dx = X(0, 64), dy = X(1, 64);
const Tree two = C(0x40000000, 32), small = C(0x3a800000, 32);  // 2^-10
const Tree zero = C(0, 32), minus_zero = C(kMinusZero, 32), one = C(kOne, 32);

Tree Add(Tree a, Tree b, uint64_t flags = 0, Round round = Round::kRn) {
  return F(Fn::kFAdd, kF, {a, b}, round, flags);
}
Tree Mul(Tree a, Tree b, uint64_t flags = 0, Round round = Round::kRn) {
  return F(Fn::kFMul, kF, {a, b}, round, flags);
}
Tree Fma(Tree a, Tree b, Tree c, uint64_t flags = 0, Round round = Round::kRn) {
  return F(Fn::kFFma, kF, {a, b, c}, round, flags);
}
Tree Abs(Tree a) { return F(Fn::kFAbs, kF, {a}, Round::kNone); }
Tree Neg(Tree a, Format f = kF, uint64_t flags = 0) { return F(Fn::kFNeg, f, {a}, Round::kNone, flags); }
Tree Min(Tree a, Tree b, uint64_t flags = 0) { return F(Fn::kFMin, kF, {a, b}, Round::kNone, flags); }
Tree Max(Tree a, Tree b, uint64_t flags = 0) { return F(Fn::kFMax, kF, {a, b}, Round::kNone, flags); }
Tree Ex2(Tree a) { return F(Fn::kEx2, kF, {a}, Round::kNone, Attr::kApprox); }
Tree Less(Tree a, Tree b) { return Comparison(Fn::kFCompare, Compare::kLt, kF, a, b); }
Tree Widened(Tree half) { return Convert(Fn::kFConvert, kF, kB, half); }
Tree Half(Tree half) { return Convert(Fn::kFConvert, kF, kH, half); }
// A step of sm_90's unit on f16 (symexec/exec_matrix.cc): rule 0, f32 result, 25 fraction bits, group 16.
Tree Step(Tree acc, std::vector<Tree> a, std::vector<Tree> b, Format f = kH) {
  const uint64_t unit = uint64_t{25} << 8 | uint64_t{static_cast<uint16_t>(-133)} << 16 | static_cast<uint64_t>(f) << 32 |
                        static_cast<uint64_t>(f) << 40 | uint64_t{16} << 48;
  return {Fn::kMatrixStep, unit, 32, {acc, {Fn::kVector, 16, 0, a}, {Fn::kVector, 16, 0, b}}};
}
// A step of s8 by s8, or u8 by u8.
Tree IntegerStep(Tree acc, std::vector<Tree> a, std::vector<Tree> b, bool clamps, Format f = Format::kS8) {
  const uint64_t unit = expr::kIntegerMatrixRule | uint64_t{clamps} << 4 | static_cast<uint64_t>(f) << 32 |
                        static_cast<uint64_t>(f) << 40;
  return {Fn::kMatrixStep, unit, 32, {acc, {Fn::kVector, 8, 0, a}, {Fn::kVector, 8, 0, b}}};
}
Tree Op(Fn fn, Tree a, Tree b, uint64_t flags = 0) {
  const int width = a.width;
  return I(fn, width, {a, b}, flags);
}

// A term of a softmax over a maximum, for the scale log2(e).
Tree Term(Tree v, Tree max) { return Ex2(Mul(Add(v, Flip(max)), C(0x3fb8aa3b, 32))); }
const Tree infinity = C(0xff800000, 32);  // minus
// The same as AMD's compiler writes it: far below, the exponent is moved by 64 and back.
constexpr uint64_t kLdexp = 901;  // v_ldexp_f32
Tree MovedTerm(Tree v, Tree max, Tree by = C(0x42800000, 32)) {
  const Tree scaled = Mul(Add(v, Flip(max)), C(0x3fb8aa3b, 32)), low = Less(scaled, C(0xc2fc0000, 32));
  return {Fn::kIsa, kLdexp, 32, {Ex2(Add(scaled, Select(low, by, zero))), Select(low, C(0xffffffc0, 32), zero)}};
}
// The larger of two, or a NaN, as frameworks write it.
Tree Larger(Tree a, Tree b) {
  return Select(Less(b, a), a, Select(Comparison(Fn::kFCompare, Compare::kNan, kF, a, a), a, b));
}
Tree LargerNanFirst(Tree a, Tree b) {
  return Select(Comparison(Fn::kFCompare, Compare::kNan, kF, a, a), a, Select(Less(b, a), a, b));
}

struct Applies {
  Rewrite rewrite;
  Tree tree, expected;
};

std::vector<Applies> AllThatApply() {
  const Tree square = Mul(x, x), sum = Add(x, y), sum16 = F(Fn::kFAdd, kH, {hx, hy});
  return {
      {Rewrite::kAddZero, Add(square, zero), square},
      {Rewrite::kAddZero, Add(zero, Add(Abs(x), y)), Add(Abs(x), y)},
      {Rewrite::kAddZero, Add(Mul(x, x, kFtz), zero, kFtz), Mul(x, x, kFtz)},
      {Rewrite::kAddZero, F(Fn::kFAdd, kH, {F(Fn::kFMul, kH, {hx, hx}), C(0, 16)}), F(Fn::kFMul, kH, {hx, hx})},
      {Rewrite::kAddMinusZero, Add(sum, minus_zero), sum},
      {Rewrite::kAddMinusZero, Add(minus_zero, Fma(x, y, z)), Fma(x, y, z)},
      {Rewrite::kAddMinusZero, F(Fn::kFAdd, kH, {sum16, C(0x8000, 16)}), sum16},
      {Rewrite::kMaxMinusInfinity, Add(x, Flip(Max(Max(x, infinity), y))), Add(x, Flip(Max(x, y)))},
      {Rewrite::kMaxMinusInfinity, Add(infinity, Flip(Max(Max(x, y), infinity, kNan))), Add(infinity, Flip(Max(Max(x, y), infinity, kNan)))},
      {Rewrite::kMaskedExp, Add(Term(x, Max(x, y)), Term(infinity, Max(x, y))), Term(x, Max(x, y))},
      {Rewrite::kMaskedExp, Add(Term(infinity, Max(x, y)), Add(Term(x, Max(x, y)), Term(y, Max(x, y)))),
       Add(Term(y, Max(x, y)), Term(x, Max(x, y)))},
      {Rewrite::kMaskedExp, Add(Term(infinity, Max(x, y)), Term(infinity, Max(x, y))), Term(infinity, Max(x, y))},
      {Rewrite::kMaskedExp, Add(MovedTerm(x, Max(x, y)), MovedTerm(infinity, Max(x, y))), MovedTerm(x, Max(x, y))},
      {Rewrite::kMaskedExp, Add(Mul(two, MovedTerm(infinity, Max(x, y))), MovedTerm(x, Max(x, y))), MovedTerm(x, Max(x, y))},
      {Rewrite::kMaskedExp, Fma(two, Term(infinity, Max(x, y)), Add(Term(x, Max(x, y)), Term(y, Max(x, y)))),
       Add(Term(x, Max(x, y)), Term(y, Max(x, y)))},
      {Rewrite::kMaskedExp, Fma(MovedTerm(infinity, Max(x, y)), two, MovedTerm(infinity, Max(x, y))), MovedTerm(infinity, Max(x, y))},
      {Rewrite::kSelectExtreme, Ex2(Larger(x, y)), Ex2(Larger(y, x))},
      {Rewrite::kSelectExtreme, Ex2(Add(z, Flip(Larger(x, Larger(y, z))))), Ex2(Add(z, Flip(LargerNanFirst(Larger(z, y), x))))},
      {Rewrite::kSelectExtreme, Less(Larger(x, y), z), Less(Max(x, y, kNan), z)},
      {Rewrite::kSelectExtreme, Add(Abs(z), Larger(x, y)), Add(Abs(z), Larger(y, x))},
      {Rewrite::kSelectExtreme, Fma(Larger(x, y), one, one), Fma(LargerNanFirst(y, x), one, one)},
      {Rewrite::kZeroOutward, Add(Add(x, zero), y), Add(Add(x, y), zero)},
      {Rewrite::kZeroOutward, Add(y, Add(zero, x)), Add(Add(x, y), zero)},
      {Rewrite::kFoldConst, Add(one, one), C(0x40000000, 32)},
      {Rewrite::kFoldConst, Add(C(0x7f800000, 32), C(0xff800000, 32)), C(0x7fffffff, 32)},
      {Rewrite::kFoldConst, Mul(C(0x40000000, 32), C(0x40400000, 32)), C(0x40c00000, 32)},
      {Rewrite::kFoldConst, Op(Fn::kIAdd, C(0xffff, 16), C(2, 16)), C(1, 16)},
      {Rewrite::kFoldConst, Min(one, minus_zero), minus_zero},
      {Rewrite::kFoldConst, Min(zero, minus_zero), minus_zero},
      {Rewrite::kFoldConst, Min(C(0xff800000, 32), C(0xbf800000, 32), kNan), C(0xff800000, 32)},
      {Rewrite::kMatrixZeroStep, Step(Step(zero, {hx, hy}, {hy, hx}), {C(0, 16), C(0, 16)}, {C(0, 16), C(0, 16)}),
       Step(zero, {hx, hy}, {hy, hx})},
      {Rewrite::kMatrixNoClamp, IntegerStep(zero, {bx, by}, {by, by}, true), IntegerStep(zero, {bx, by}, {by, by}, false)},
      // Two products of s8 are at most 2^15.
      {Rewrite::kMatrixNoClamp, IntegerStep(C(0x7fff7fff, 32), {bx, by}, {by, by}, true),
       IntegerStep(C(0x7fff7fff, 32), {bx, by}, {by, by}, false)},
      {Rewrite::kMatrixNoClamp, IntegerStep(C(0x80008001, 32), {bx, by}, {by, by}, true),
       IntegerStep(C(0x80008001, 32), {bx, by}, {by, by}, false)},
      {Rewrite::kMatrixNoClamp, IntegerStep(IntegerStep(zero, {bx, bx}, {by, by}, false), {bx, by}, {by, by}, true),
       IntegerStep(IntegerStep(zero, {bx, bx}, {by, by}, true), {bx, by}, {by, by}, false)},
      {Rewrite::kFoldConst, Op(Fn::kIMin, C(0x8000, 16), C(2, 16), kSigned), C(0x8000, 16)},
      {Rewrite::kMulOne, Mul(sum, one), sum},
      {Rewrite::kMulOne, Mul(one, Add(x, y, kFtz), kFtz), Add(x, y, kFtz)},
      {Rewrite::kMulOne, F(Fn::kFMul, kH, {sum16, C(0x3c00, 16)}), sum16},
      {Rewrite::kMulSign, Mul(Flip(x), y), Mul(x, Flip(y))},
      {Rewrite::kMulSign, Mul(Flip(x), Flip(y)), Mul(x, y)},
      {Rewrite::kFmaSign, Fma(Flip(x), y, z), Fma(x, Flip(y), z)},
      {Rewrite::kFmaSign, Fma(Flip(x), y, z, kFtz, Round::kRm), Fma(x, Flip(y), z, kFtz, Round::kRm)},
      {Rewrite::kFmaOne, Fma(x, one, y), Add(x, y)},
      {Rewrite::kFmaOne, Fma(one, Flip(x), y, kFtz, Round::kRp), Add(Flip(x), y, kFtz, Round::kRp)},
      {Rewrite::kFmaZeroProduct, Fma(zero, zero, x), Add(x, zero)},
      {Rewrite::kFmaSquare, Fma(x, x, zero), Mul(x, x)},
      {Rewrite::kFmaSquare, Fma(x, x, zero, kFtz), Mul(x, x, kFtz)},
      {Rewrite::kFmaMinusZero, Fma(x, y, minus_zero), Mul(x, y)},
      {Rewrite::kFmaMinusZero, Fma(Flip(x), y, minus_zero, kFtz), Mul(x, Flip(y), kFtz)},
      {Rewrite::kFmaMinusZero, Fma(x, x, minus_zero), Mul(x, x)},
      {Rewrite::kFmaMinusZero, F(Fn::kFFma, kH, {hx, hy, C(0x8000, 16)}), F(Fn::kFMul, kH, {hx, hy})},
      {Rewrite::kFmaExactProduct, Fma(Half(hx), Half(hy), z), Add(Mul(Half(hx), Half(hy)), z)},
      {Rewrite::kFmaExactProduct, Fma(Flip(Half(hx)), Half(hy), z, kFtz), Add(z, Flip(Mul(Half(hx), Half(hy), kFtz)), kFtz)},
      {Rewrite::kFmaExactProduct, Fma(Mul(Half(hx), Half(hx)), C(0x40400000, 32), z),
       Add(Mul(Mul(Half(hx), Half(hx)), C(0x40400000, 32)), z)},
      {Rewrite::kFmaExactProduct, Fma(Widened(hx), C(0x3e000000, 32), z), Add(Mul(Widened(hx), C(0x3e000000, 32)), z)},
      {Rewrite::kFmaExactProduct, Fma(zero, two, x), Add(x, zero)},
      {Rewrite::kFmaExactProduct, Fma(Step(Step(zero, {hx, hy}, {hy, hx}), {hx, hx}, {hy, hy}), C(0x3e800000, 32), z),
       Add(Mul(C(0x3e800000, 32), Step(Step(zero, {hx, hy}, {hy, hx}), {hx, hx}, {hy, hy})), z)},
      {Rewrite::kFmaExactProduct, Fma(C(0x40400000, 32), two, x), Add(C(0x40c00000, 32), x)},
      {Rewrite::kFmaExactProduct, Fma(x, small, one), Add(Mul(x, small), one)},
      {Rewrite::kFmaExactProduct, Fma(two, Flip(x), C(0xf1000000, 32)), Add(C(0xf1000000, 32), Flip(Mul(x, two)))},
      {Rewrite::kFmaExactProduct, Add(Mul(Half(hx), Half(hy), Attr::kContract), z, Attr::kContract),
       Fma(Half(hy), Half(hx), z)},
      {Rewrite::kFoldConvert, Half(C(0x3c00, 16)), one},
      {Rewrite::kFoldConvert, Convert(Fn::kFConvert, kH, kF, minus_zero, Round::kRz), C(0x8000, 16)},
      {Rewrite::kFoldConvert, Widened(C(1, 16)), C(0x10000, 32)},
      {Rewrite::kNegArithmetic, Add(Neg(x), y), Add(Flip(x), y)},
      {Rewrite::kNegArithmetic, Less(Neg(x), y), Less(Flip(x), y)},
      {Rewrite::kNegArithmetic, Mul(Neg(Neg(x)), y), Mul(x, y)},
      {Rewrite::kDoubleFlip, Flip(Flip(x)), x},
      {Rewrite::kWidenShift, Add(Concat({C(0, 16), hx}), y), Add(Widened(hx), y)},
      {Rewrite::kAbsBits, Max(Concat({Extract(0, 31, x), C(0, 1)}), y), Max(Abs(x), y)},
      {Rewrite::kAbsBits, Add(Concat({Extract(0, 31, Mul(x, y)), C(0, 1)}), y), Add(Abs(Mul(x, y)), y)},
      {Rewrite::kAbsBits, F(Fn::kFAdd, kH, {Concat({Extract(0, 15, hx), C(0, 1)}), hy}), F(Fn::kFAdd, kH, {F(Fn::kFAbs, kH, {hx}, Round::kNone), hy})},
      {Rewrite::kCompareSwap, Comparison(Fn::kFCompare, Compare::kGt, kF, x, y), Less(y, x)},
      {Rewrite::kCompareSwap, Comparison(Fn::kICompare, Compare::kGe, Format::kB32, x, y, kSigned),
       Comparison(Fn::kICompare, Compare::kLe, Format::kB32, y, x, kSigned)},
      {Rewrite::kCompareNot, I(Fn::kNot, 1, {Less(x, y)}), Comparison(Fn::kFCompare, Compare::kLeu, kF, y, x)},
      {Rewrite::kCompareNot, I(Fn::kNot, 1, {Comparison(Fn::kICompare, Compare::kEq, Format::kB32, x, y)}),
       Comparison(Fn::kICompare, Compare::kNe, Format::kB32, x, y)},
      {Rewrite::kSelectSame, Select(Less(x, y), z, z), z},
      {Rewrite::kSelectNot, Select(Comparison(Fn::kFCompare, Compare::kLeu, kF, x, y), x, y), Select(Less(y, x), y, x)},
      {Rewrite::kSelectNot, Select(I(Fn::kNot, 1, {Op(Fn::kAnd, Less(x, y), Less(y, z))}), x, y),
       Select(Op(Fn::kAnd, Less(x, y), Less(y, z)), y, x)},
      {Rewrite::kIdempotent, Op(Fn::kAnd, x, x), x},
      {Rewrite::kIdempotent, Op(Fn::kIMax, x, x, kSigned), x},
      {Rewrite::kIdempotent, Min(sum, sum), sum},
      {Rewrite::kIdempotent, Min(Add(x, y, kFtz), Add(x, y, kFtz), kFtz | kNan), Add(x, y, kFtz)},
      {Rewrite::kMultiset, Op(Fn::kIAdd, x, Op(Fn::kIAdd, y, z)), Op(Fn::kIAdd, Op(Fn::kIAdd, z, x), y)},
      {Rewrite::kMultiset, Op(Fn::kXor, x, Op(Fn::kXor, y, C(5, 32))),
       Op(Fn::kXor, Op(Fn::kXor, C(4, 32), y), Op(Fn::kXor, x, C(1, 32)))},
      {Rewrite::kMultiset, Min(x, Min(y, z)), Min(Min(z, y), x)},
      {Rewrite::kMultiset, Min(C(kOne, 32), Min(y, C(kOne, 32))), Min(y, C(kOne, 32))},
      {Rewrite::kIdentity, Op(Fn::kIAdd, x, C(0, 32)), x},
      {Rewrite::kIdentity, Op(Fn::kAnd, C(0xffffffff, 32), x), x},
      {Rewrite::kIdentity, Op(Fn::kOr, x, C(0, 32)), x},
      {Rewrite::kIdentity, Op(Fn::kXor, C(0, 32), x), x},
      {Rewrite::kIdentity, I(Fn::kShl, 32, {x, C(0, 32)}), x},
  };
}

struct DoesNotApply {
  Rewrite rewrite;
  Tree tree;
};

std::vector<DoesNotApply> AllThatDoNot() {
  const Tree square = Mul(x, x), sum = Add(x, y), sum_b = F(Fn::kFAdd, kB, {hx, hy});
  const auto f16 = [](Fn fn, std::vector<Tree> c) { return F(fn, kH, std::move(c)); };
  return {
      {Rewrite::kAddZero, Add(x, zero)},             // -0, NaN payloads
      {Rewrite::kAddZero, Add(sum, zero)},           // -0 + -0
      {Rewrite::kAddZero, Add(Mul(x, y), zero)},     // underflow to -0
      {Rewrite::kAddZero, Add(square, zero, kFtz)},  // subnormal squares
      {Rewrite::kAddZero, Add(square, zero, 0, Round::kRm)},
      {Rewrite::kAddZero, Add(Fma(x, y, zero), zero)},                              // underflow to -0
      {Rewrite::kAddZero, f16(Fn::kFAdd, {F(Fn::kFMul, kB, {hx, hx}), C(0, 16)})},  // bf16's NaN is none of f16's
      {Rewrite::kAddZero,
       F(Fn::kFAdd, kD, {Convert(Fn::kIntToF, kD, Format::kS32, x, Round::kRn), C(0, 64)}, Round::kRz)},
      {Rewrite::kAddZero,
       Add(Add(Convert(Fn::kFConvert, kF, kB, F(Fn::kFAdd, kB, {F(Fn::kFAbs, kB, {hx}, Round::kNone), hy}),
                       Round::kNone, kFtz),
               y),
           zero)},  // a flushed bf16
      {Rewrite::kAddMinusZero, Add(x, minus_zero)},
      {Rewrite::kAddMinusZero, Add(sum, minus_zero, kFtz)},
      {Rewrite::kAddMinusZero, Add(sum, minus_zero, kSat)},
      {Rewrite::kAddMinusZero, Add(Widened(hx), minus_zero)},  // keeps NaN patterns
      {Rewrite::kAddMinusZero, f16(Fn::kFAdd, {sum_b, C(0x8000, 16)})},
      {Rewrite::kMaxMinusInfinity, Add(z, Flip(Max(Max(x, infinity), y)))},  // z is no NaN where x and y are
      {Rewrite::kMaxMinusInfinity, Add(x, Max(Max(x, infinity), y))},
      {Rewrite::kMaxMinusInfinity, Max(Max(x, infinity), y)},
      {Rewrite::kMaskedExp, Add(Term(z, Max(x, y)), Term(infinity, Max(x, y)))},  // x = y = -inf, finite z
      {Rewrite::kMaskedExp, Add(Term(x, Max(x, y)), Term(infinity, Max(x, z)))},
      {Rewrite::kMaskedExp, Add(x, Term(infinity, Max(x, y)))},
      {Rewrite::kMaskedExp, Add(Mul(z, Term(x, Max(x, y))), Term(infinity, Max(x, y)))},  // may be -0
      {Rewrite::kMaskedExp, Add(Term(x, Max(x, y)), Term(C(0xff7fffff, 32), Max(x, y)))},
      {Rewrite::kMaskedExp, Add(Term(x, Max(x, y)), Ex2(Mul(Add(infinity, Flip(Max(x, y))), C(0xbf800000, 32))))},
      {Rewrite::kMaskedExp, Add(MovedTerm(z, Max(x, y)), MovedTerm(infinity, Max(x, y)))},
      {Rewrite::kMaskedExp, Add(MovedTerm(x, Max(x, y)), MovedTerm(infinity, Max(x, y), C(0x7f800000, 32)))},  // inf - inf
      {Rewrite::kMaskedExp, Add(Mul(C(0xc0000000, 32), Term(infinity, Max(x, y))), Mul(x, y))},
      {Rewrite::kMaskedExp, Fma(C(0xc0000000, 32), Term(infinity, Max(x, y)), Mul(z, z))},
      {Rewrite::kMaskedExp, Fma(y, Term(infinity, Max(x, y)), Term(x, Max(x, y)))},
      {Rewrite::kMaskedExp, Fma(two, Term(infinity, Max(x, y)), Term(x, Max(x, z)))},
      {Rewrite::kMaskedExp, Fma(two, Term(infinity, Max(x, y)), Mul(z, Term(x, Max(x, y))))},  // may be -0
      {Rewrite::kSelectExtreme, Larger(x, y)},
      {Rewrite::kSelectExtreme, Add(z, Larger(x, y))},                          // -0 + -0
      {Rewrite::kSelectExtreme, Fma(Larger(x, y), one, minus_zero)},
      {Rewrite::kSelectExtreme, Ex2(Select(Less(y, x), x, y))},                 // drops a NaN in x
      {Rewrite::kSelectExtreme, Ex2(Select(Less(y, x), x, Select(Comparison(Fn::kFCompare, Compare::kNan, kF, y, y), x, y)))},
      {Rewrite::kZeroOutward, Add(Add(x, zero, kFtz), y, kFtz)},
      {Rewrite::kZeroOutward, Add(Add(x, zero), y, 0, Round::kRz)},
      {Rewrite::kZeroOutward, Add(Add(x, minus_zero), y)},
      {Rewrite::kFoldConst, Add(one, C(0x30000000, 32), 0, Round::kRp)},
      {Rewrite::kFoldConst, Add(C(1, 32), C(1, 32), kFtz)},
      {Rewrite::kFoldConst, Mul(C(0x3dcccccd, 32), C(0x3dcccccd, 32), Attr::kContract)},
      {Rewrite::kMulOne, Mul(x, one)},
      {Rewrite::kMulOne, Mul(sum, one, kFtz)},
      {Rewrite::kMulOne, Mul(sum, one, kSat)},
      {Rewrite::kMulOne, Mul(sum, C(0xbf800000, 32))},
      {Rewrite::kMulSign, Mul(Flip(x), y, 0, Round::kRm)},
      {Rewrite::kMulSign, Mul(Flip(x), y, kSat)},
      {Rewrite::kMulSign, F(Fn::kFMul, kD, {Flip(dx), dy})},
      {Rewrite::kFmaSign, F(Fn::kFFma, kD, {Flip(dx), dy, dx})},
      {Rewrite::kFmaSign, Fma(x, y, Flip(z))},
      {Rewrite::kFmaOne, Fma(x, C(0xbf800000, 32), y)},
      {Rewrite::kFmaOne, Fma(x, y, one)},
      {Rewrite::kFmaOne, Fma(x, one, y, kSat)},
      {Rewrite::kFmaZeroProduct, Fma(minus_zero, zero, x)},
      {Rewrite::kFmaZeroProduct, Fma(zero, y, x)},
      {Rewrite::kFmaZeroProduct, Fma(zero, zero, x, 0, Round::kRm)},
      {Rewrite::kFmaSquare, Fma(x, y, zero)},
      {Rewrite::kFmaSquare, Fma(Flip(x), x, zero)},
      {Rewrite::kFmaSquare, Fma(x, x, zero, 0, Round::kRm)},
      {Rewrite::kFmaMinusZero, Fma(x, y, zero)},
      {Rewrite::kFmaMinusZero, Fma(x, y, minus_zero, 0, Round::kRm)},
      {Rewrite::kFmaMinusZero, Fma(x, y, minus_zero, kSat)},
      {Rewrite::kFmaExactProduct, Fma(Widened(hx), Widened(hy), z)},  // may vanish, or overflow
      {Rewrite::kFmaExactProduct, Fma(x, Half(hy), z)},
      {Rewrite::kFmaExactProduct, Fma(Mul(Half(hx), Half(hx)), C(0x40e00000, 32), z)},  // 25 bits
      {Rewrite::kFmaExactProduct, Fma(Half(hx), Half(hy), z, 0, Round::kRz)},
      {Rewrite::kFmaExactProduct, Fma(Half(hx), Half(hy), z, kSat)},
      {Rewrite::kFmaExactProduct, Fma(Widened(hx), C(0x3e000000, 32), z, kFtz)},  // a subnormal product is flushed
      {Rewrite::kFmaExactProduct, Fma(C(0x7f800000, 32), zero, x)},
      {Rewrite::kFmaExactProduct, Fma(x, small, z)},
      {Rewrite::kFmaExactProduct, Fma(Step(x, {hx, hy}, {hy, hx}), C(0x3e800000, 32), z)},  // a small accumulator
      {Rewrite::kFmaExactProduct, Fma(Step(zero, {hx, hy}, {hy, hx}), C(0x3ec00000, 32), z)},
      {Rewrite::kFmaExactProduct, Fma(Step(zero, {hx, hy}, {hy, hx}, kB), C(0x3e800000, 32), z)},
      {Rewrite::kFmaExactProduct, Fma(x, C(0x40400000, 32), one)},
      {Rewrite::kFmaExactProduct, Fma(x, small, C(0x00800000, 32))},  // a vanishing product counts
      {Rewrite::kFmaExactProduct, Fma(x, two, C(0xff000000, 32))},    // an overflow comes back
      {Rewrite::kFmaExactProduct, Fma(x, small, one, kFtz)},
      {Rewrite::kFmaExactProduct, Add(Mul(Half(hx), y, Attr::kContract), z, Attr::kContract)},
      {Rewrite::kFoldConvert, Half(C(0x7e00, 16))},
      {Rewrite::kFoldConvert, Convert(Fn::kFConvert, kH, kF, C(0x3f800001, 32), Round::kRn)},
      {Rewrite::kFoldConvert, Convert(Fn::kFConvert, kF, kB, C(1, 16), Round::kNone, kFtz)},
      {Rewrite::kFoldConvert, Convert(Fn::kFConvert, kF, kF, C(0x3fc00000, 32), Round::kRni)},
      {Rewrite::kNegArithmetic, Add(Neg(x, kF, kFtz), y)},
      {Rewrite::kNegArithmetic, F(Fn::kFAdd, kD, {Neg(dx, kD), dy})},
      {Rewrite::kNegArithmetic, Op(Fn::kIAdd, Neg(x), y)},
      {Rewrite::kNegArithmetic, f16(Fn::kFAdd, {Neg(hx, kB), hy})},
      {Rewrite::kDoubleFlip, Flip(Neg(x))},
      {Rewrite::kDoubleFlip, Flip(Concat({X(3, 16), Flip(hx)}))},
      {Rewrite::kWidenShift, Add(Concat({C(1, 16), hx}), y)},
      {Rewrite::kWidenShift, Add(Concat({C(0, 8), X(0, 24)}), y)},
      {Rewrite::kWidenShift, Op(Fn::kIAdd, Concat({C(0, 16), hx}), y)},
      {Rewrite::kAbsBits, Add(Concat({Extract(0, 31, x), C(1, 1)}), y)},
      {Rewrite::kAbsBits, Add(Concat({Extract(1, 31, Mul(x, y)), C(0, 1)}), y)},
      {Rewrite::kAbsBits, Add(Concat({Extract(0, 30, x), C(0, 2)}), y)},
      {Rewrite::kAbsBits, Op(Fn::kIAdd, Concat({Extract(0, 31, x), C(0, 1)}), y)},
      {Rewrite::kAbsBits, F(Fn::kFAdd, kD, {Concat({Extract(0, 63, dx), C(0, 1)}), dy})},  // f64 keeps payloads
      {Rewrite::kCompareSwap, Less(x, y)},
      {Rewrite::kCompareSwap, Comparison(Fn::kFCompare, Compare::kNeu, kF, x, y)},
      {Rewrite::kCompareNot, I(Fn::kNot, 32, {x})},
      {Rewrite::kCompareNot, I(Fn::kNot, 1, {Op(Fn::kAnd, Less(x, y), Less(y, z))})},
      {Rewrite::kSelectSame, Select(Less(x, y), x, y)},
      {Rewrite::kSelectSame, Select(Less(x, y), X(0, 32), X(5, 32))},  // one node, other places
      {Rewrite::kSelectNot, Select(Less(x, y), x, y)},
      {Rewrite::kIdempotent, Op(Fn::kXor, x, x)},
      {Rewrite::kMatrixZeroStep, Step(x, {C(0, 16), C(0, 16)}, {C(0, 16), C(0, 16)})},
      {Rewrite::kMatrixZeroStep, Step(Step(zero, {hx, hy}, {hy, hx}), {C(0, 16), C(0, 16)}, {hx, C(0, 16)})},
      {Rewrite::kMatrixNoClamp, IntegerStep(zero, {bx, by}, {by, by}, false)},
      {Rewrite::kMatrixNoClamp, IntegerStep(x, {bx, by}, {by, by}, true)},
      {Rewrite::kMatrixNoClamp, IntegerStep(C(0x7fff8000, 32), {bx, by}, {by, by}, true)},
      {Rewrite::kMatrixNoClamp, IntegerStep(C(0x80008000, 32), {bx, by}, {by, by}, true)},
      {Rewrite::kMatrixNoClamp, IntegerStep(C(0x7fff7fff, 32), {bx, by}, {by, by}, true, Format::kU8)},
      {Rewrite::kMatrixNoClamp, IntegerStep(IntegerStep(C(0x7fff7fff, 32), {bx, bx}, {by, by}, false), {bx, by}, {by, by}, true)},
      {Rewrite::kFoldConst, Min(C(0x7fc00000, 32), one)},
      {Rewrite::kFoldConst, Min(C(1, 32), one, kFtz)},
      {Rewrite::kIdempotent, Op(Fn::kIAdd, x, x)},
      {Rewrite::kIdempotent, Min(x, x)},
      {Rewrite::kIdempotent, Min(sum, sum, kFtz)},
      {Rewrite::kIdempotent, F(Fn::kFMin, kH, {sum_b, sum_b}, Round::kNone)},
      {Rewrite::kMultiset, Op(Fn::kIMul, x, Op(Fn::kIMul, y, z))},
      {Rewrite::kMultiset, Add(x, Add(y, z))},
      {Rewrite::kMultiset, Min(C(kOne, 32), C(0x40000000, 32))},
      {Rewrite::kIdentity, Op(Fn::kIAdd, x, C(1, 32))},
      {Rewrite::kIdentity, Op(Fn::kAnd, x, C(0xffff, 32))},
      {Rewrite::kIdentity, I(Fn::kShl, 32, {x, C(1, 32)})},
      {Rewrite::kIdentity, Min(x, C(0, 32))},
  };
}

class RewriteTreeTest : public TreeTest {
 protected:
  RewriteTreeTest() { nodes.DescribeIsa(kLdexp, {"v_ldexp_f32", {32, 32}}); }
};

TEST_F(RewriteTreeTest, Applies) {
  std::set<Rewrite> seen;
  for (const Applies& c : AllThatApply()) {
    seen.insert(c.rewrite);
    const uint64_t before = on.hits(c.rewrite);
    const expr::Scalar built = Build(on, c.tree);
    EXPECT_GT(on.hits(c.rewrite), before) << RewriteText(c.rewrite) << ": " << Print(c.tree);
    EXPECT_TRUE(Same(built, Build(on, c.expected))) << RewriteText(c.rewrite) << ": " << Print(c.tree);
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(kRewriteCount)) << "a rewrite has no case";
}

TEST_F(RewriteTreeTest, DoesNotApply) {
  std::set<Rewrite> seen;
  for (const DoesNotApply& c : AllThatDoNot()) {
    seen.insert(c.rewrite);
    const uint64_t before = on.hits(c.rewrite);
    Build(on, c.tree);
    EXPECT_EQ(on.hits(c.rewrite), before) << RewriteText(c.rewrite) << ": " << Print(c.tree);
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(kRewriteCount)) << "a rewrite has no case";
}

TEST_F(RewriteTreeTest, WithoutRewritesNothingIsHit) {
  for (const Applies& c : AllThatApply()) Build(off, c.tree);
  for (int i = 0; i < kRewriteCount; ++i) EXPECT_EQ(off.hits(static_cast<Rewrite>(i)), 0u);
}

TEST_F(RewriteTreeTest, CasesAreExactInBits) {
  generator::Random random(20);
  for (const Applies& c : AllThatApply()) {
    SameBits(c.tree, random, 500);
    SameBits(c.expected, random, 500);
  }
  for (const DoesNotApply& c : AllThatDoNot()) SameBits(c.tree, random, 500);
}

// Forms that share their node have to be equal in bits; these are not, and so may not.
TEST_F(RewriteTreeTest, DifferentBitsStayApart) {
  const std::pair<Tree, Tree> pairs[] = {
      {Mul(Flip(x), y), Flip(Mul(x, y))},  // the sign of NaN
      {Neg(x), Flip(x)},
      {Abs(x), Op(Fn::kAnd, x, C(0x7fffffff, 32))},
      {Add(x, zero), x},
      {Min(x, y), Min(x, y, kNan)},
      {Less(x, y), Comparison(Fn::kFCompare, Compare::kLtu, kF, x, y)},
      {I(Fn::kNot, 1, {Less(x, y)}), Comparison(Fn::kFCompare, Compare::kLe, kF, y, x)},
      {Op(Fn::kIMin, x, y), Op(Fn::kIMin, x, y, kSigned)},
      {Comparison(Fn::kICompare, Compare::kEq, Format::kB32, x, y),
       Comparison(Fn::kICompare, Compare::kEq, Format::kB64, dx, dy)},
      {F(Fn::kFAdd, kH, {hx, hy}), F(Fn::kFAdd, kB, {hx, hy})},
      {Fma(x, y, z), Add(Mul(x, y), z)},
      {Convert(Fn::kFConvert, kF, kH, C(0x3800, 16), Round::kRni), C(0x3f000000, 32)},  // of 1/2
      {Convert(Fn::kFConvert, kH, kF, C(0x3f000000, 32), Round::kRpi), C(0x3800, 16)},
  };
  for (const auto& [a, b] : pairs) EXPECT_FALSE(Same(Build(on, a), Build(on, b))) << Print(a) << " and " << Print(b);
}

TEST_F(RewriteTreeTest, SignedZeroIgnoredOnRequest) {
  Builder ignoring(&nodes, {true, true});
  EXPECT_TRUE(Same(Build(ignoring, Add(Add(x, y), zero)), Build(ignoring, Add(x, y))));
  EXPECT_FALSE(Same(Build(ignoring, Add(x, zero)), Build(ignoring, x)));  // NaN payloads still count
}

}  // namespace
}  // namespace samebits::canonical
