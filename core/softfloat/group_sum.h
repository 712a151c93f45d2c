#ifndef SAMEBITS_CORE_SOFTFLOAT_GROUP_SUM_H_
#define SAMEBITS_CORE_SOFTFLOAT_GROUP_SUM_H_

// How a matrix unit sums one group of products and the accumulator (matrix_unit.h), and conversions between f32 and
// narrower formats, in integers. Compiled by the host's compiler and, as text, by NVRTC for devices: no header is used,
// and every function runs on both sides. Pure.

#ifdef __CUDACC_RTC__
#define SAMEBITS_BOTH __device__ __forceinline__
#define SAMEBITS_UNROLL _Pragma("unroll")
#else
#define SAMEBITS_BOTH inline
#define SAMEBITS_UNROLL
#endif

namespace samebits::softfloat {

// A format without bits to spare, with infinities and NaNs.
struct PlainFormat {
  int exponent_bits, fraction_bits;
};

// A unit for inputs of one width, as numbers.
struct GroupRule {
  int group;                  // products summed at once, at most kMostGroup
  int fraction_bits;          // kept below the largest exponent
  int zero_exponent;          // of a zero term
  int product_fraction_bits;  // of a product's significand
  PlainFormat accumulator;    // f32 or f16
  int result_fraction_bits;   // of the result, at most the accumulator's
  bool nearest;               // ties to even, else toward zero
};
constexpr int kMostGroup = 32;

// A finite value: significand * 2^(exponent - fraction bits of its format); zeros have exponent 0. An infinity has
// significand 1 or -1, a NaN 1, and such exponents that products of them show.
struct GroupElement {
  int significand, exponent;
};
constexpr int kInfinityExponent = 4096, kNanExponent = 16384, kLeastSpecialExponent = 2048;

// A product of two elements.
struct GroupTerm {
  int significand, exponent;
};

SAMEBITS_BOTH int TopBit(unsigned long long value) {  // of a value that is not 0
#ifdef __CUDACC_RTC__
  return 63 - __clzll(static_cast<long long>(value));
#else
  return 63 - __builtin_clzll(value);
#endif
}

// value * 2^-shift toward zero, for values of at most 40 bits and shifts from -20 on.
SAMEBITS_BOTH unsigned long long ShiftDown(unsigned long long value, int shift) {
  return shift <= 0 ? value << -shift : shift > 63 ? 0 : value >> shift;
}

// The same, ties to even.
SAMEBITS_BOTH unsigned long long ShiftDownNearest(unsigned long long value, int shift) {
  if (shift <= 0) return value << -shift;
  if (shift > 62) return 0;  // less than half
  const unsigned long long kept = value >> shift, rest = value & ((1ull << shift) - 1), half = 1ull << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1) != 0));
}

SAMEBITS_BOTH unsigned InfinityOf(PlainFormat f) { return ((1u << f.exponent_bits) - 1) << f.fraction_bits; }
SAMEBITS_BOTH unsigned SignOf(PlainFormat f) { return 1u << (f.exponent_bits + f.fraction_bits); }
SAMEBITS_BOTH unsigned CanonicalNanOf(PlainFormat f) { return SignOf(f) - 1; }

// magnitude * 2^unit, magnitude not 0 and of at most 40 bits, rounded to `fraction_bits` of f's; what is larger than all
// numbers is an infinity. Without sign.
SAMEBITS_BOTH unsigned RoundMagnitude(PlainFormat f, int fraction_bits, bool nearest, unsigned long long magnitude, int unit) {
  const int bias = (1 << (f.exponent_bits - 1)) - 1, spare = f.fraction_bits - fraction_bits;
  int exponent = TopBit(magnitude) + unit;
  if (exponent < 1 - bias) exponent = 1 - bias;
  const int shift = exponent - fraction_bits - unit;
  const unsigned long long kept = nearest ? ShiftDownNearest(magnitude, shift) : ShiftDown(magnitude, shift);
  // the leading bit counts as one of the exponent's, so that a carry, too, lands there; subnormals lack it
  const long long pattern = (static_cast<long long>(exponent + bias - 1) << f.fraction_bits) + static_cast<long long>(kept << spare);
  const long long infinity = static_cast<long long>(InfinityOf(f));
  return static_cast<unsigned>(pattern < infinity ? pattern : infinity);
}

// The accumulator's pattern as an element; of subnormals the exponent is that of the smallest normal number.
SAMEBITS_BOTH GroupElement DecodeAccumulator(PlainFormat f, unsigned pattern) {
  const unsigned magnitude = pattern & (SignOf(f) - 1), field = magnitude >> f.fraction_bits;
  const int fraction = static_cast<int>(magnitude & ((1u << f.fraction_bits) - 1));
  const int sign = (pattern & SignOf(f)) != 0 ? -1 : 1, bias = (1 << (f.exponent_bits - 1)) - 1;
  if (field == (1u << f.exponent_bits) - 1) {
    return fraction != 0 ? GroupElement{1, kNanExponent} : GroupElement{sign, kInfinityExponent};
  }
  if (magnitude == 0) return {0, 0};
  if (field == 0) return {sign * fraction, 1 - bias};
  return {sign * (fraction | 1 << f.fraction_bits), static_cast<int>(field) - bias};
}

SAMEBITS_BOTH GroupTerm TermOf(const GroupRule& rule, GroupElement a, GroupElement b) {
  const int product = a.significand * b.significand, exponent = a.exponent + b.exponent;
  const bool special = exponent >= kLeastSpecialExponent;
  if (special && product == 0) return {1, kNanExponent};  // infinity times zero
  return {product, product == 0 ? rule.zero_exponent : exponent};
}

// Which special values a sum has met.
struct SpecialsMet {
  bool plus, minus, nan;
};
SAMEBITS_BOTH void Meet(int significand, int exponent, SpecialsMet* met) {
  if (exponent < kLeastSpecialExponent) return;
  if (exponent >= kNanExponent - kLeastSpecialExponent) met->nan = true;
  (significand < 0 ? met->minus : met->plus) = true;
}

// The result where a term or the accumulator is an infinity or a NaN.
SAMEBITS_BOTH unsigned SpecialSum(const GroupRule& rule, const GroupTerm* terms, GroupElement c) {
  SpecialsMet met{false, false, false};
  Meet(c.significand, c.exponent, &met);
  SAMEBITS_UNROLL
  for (int i = 0; i < rule.group; ++i) Meet(terms[i].significand, terms[i].exponent, &met);
  if (met.nan || (met.plus && met.minus)) return CanonicalNanOf(rule.accumulator);
  return InfinityOf(rule.accumulator) | (met.minus ? SignOf(rule.accumulator) : 0);
}

// c and rule.group terms; zero terms fill a shorter group up. c and the result are patterns of the accumulator's format.
SAMEBITS_BOTH unsigned SumGroup(const GroupRule& rule, const GroupTerm* terms, unsigned c_pattern) {
  const GroupElement c = DecodeAccumulator(rule.accumulator, c_pattern);
  int largest = c.significand == 0 ? rule.zero_exponent : c.exponent;
  SAMEBITS_UNROLL
  for (int i = 0; i < rule.group; ++i) largest = terms[i].exponent > largest ? terms[i].exponent : largest;
  if (largest >= kLeastSpecialExponent) return SpecialSum(rule, terms, c);
  const int up = rule.fraction_bits - rule.product_fraction_bits;  // not negative
  int sum = 0;  // of terms below 2^27 at most
  SAMEBITS_UNROLL
  for (int i = 0; i < rule.group; ++i) {
    const int down = largest - terms[i].exponent;
    const int size = terms[i].significand < 0 ? -terms[i].significand : terms[i].significand;
    const int cut = static_cast<int>((static_cast<unsigned>(size) << up) >> (down < 31 ? down : 31));
    sum += terms[i].significand < 0 ? -cut : cut;
  }
  const unsigned long long c_size = static_cast<unsigned long long>(c.significand < 0 ? -c.significand : c.significand);
  const int c_down = c.significand == 0 ? 0 : largest - c.exponent - rule.fraction_bits + rule.accumulator.fraction_bits;
  const long long c_cut = static_cast<long long>(ShiftDown(c_size, c_down));
  const long long total = sum + (c.significand < 0 ? -c_cut : c_cut);
  if (total == 0) return 0;
  const unsigned magnitude = RoundMagnitude(rule.accumulator, rule.result_fraction_bits, rule.nearest,
                                            static_cast<unsigned long long>(total < 0 ? -total : total),
                                            largest - rule.fraction_bits);
  return magnitude == 0 ? 0 : magnitude | (total < 0 ? SignOf(rule.accumulator) : 0);
}

// f32 to a narrower format, ties to even, and the exact inverse. NaNs become canonical; those of bf16 keep their bits on
// the way back, as in convert.h.
SAMEBITS_BOTH unsigned NarrowF32(PlainFormat to, unsigned pattern) {
  const PlainFormat f32{8, 23};
  const GroupElement x = DecodeAccumulator(f32, pattern);
  if (x.exponent == kNanExponent) return CanonicalNanOf(to);
  const unsigned sign = (pattern >> 31) != 0 ? SignOf(to) : 0;
  if (x.exponent == kInfinityExponent) return sign | InfinityOf(to);
  if (x.significand == 0) return sign;
  const int size = x.significand < 0 ? -x.significand : x.significand;
  return sign | RoundMagnitude(to, to.fraction_bits, true, static_cast<unsigned long long>(size), x.exponent - 23);
}

SAMEBITS_BOTH unsigned WidenToF32(PlainFormat from, unsigned pattern) {
  const PlainFormat f32{8, 23};
  const GroupElement x = DecodeAccumulator(from, pattern);
  if (x.exponent == kNanExponent) return from.exponent_bits == 8 ? pattern << 16 : CanonicalNanOf(f32);
  const unsigned sign = (pattern & SignOf(from)) != 0 ? SignOf(f32) : 0;
  if (x.exponent == kInfinityExponent) return sign | InfinityOf(f32);
  if (x.significand == 0) return sign;
  const int size = x.significand < 0 ? -x.significand : x.significand;
  return sign | RoundMagnitude(f32, 23, true, static_cast<unsigned long long>(size), x.exponent - from.fraction_bits);
}

}  // namespace samebits::softfloat

#endif  // SAMEBITS_CORE_SOFTFLOAT_GROUP_SUM_H_
