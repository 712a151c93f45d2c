#ifndef SAMEBITS_CORE_GEMM_OUTPUT_WALK_H_
#define SAMEBITS_CORE_GEMM_OUTPUT_WALK_H_

// One output of a matrix product, by a plan (plan.h) whose arrays are flat. Compiled by the host's compiler and, as text
// after that of core/softfloat/group_sum.h, by NVRTC for devices: no other header is used. Pure.

#ifndef __CUDACC_RTC__
#include "core/softfloat/group_sum.h"
#endif

namespace samebits::gemm {

enum WalkKind { kWalkChain, kWalkAdd, kWalkRound };  // as PlanStep::Kind
// What a sum is rounded to besides the accumulator's type, and types of outputs.
enum WalkType { kWalkNone, kWalkF16, kWalkBf16 };

struct WalkStep {
  int kind, type;
  int begin, end;  // groups of a chain
};

struct WalkPlan {
  const int* order;        // indices of the contracted axis, group by group
  const int* group_begin;  // in `order`; one more than groups
  const WalkStep* steps;
  int step_count;
};
constexpr int kMostWalkDepth = 64;  // of the stack

// The elements of a row, `stride` words apart.
template <typename Word>
struct WalkRow {
  const Word* data;
  long long stride;
  SAMEBITS_BOTH Word At(int i) const { return data[i * stride]; }
};

constexpr softfloat::PlainFormat kWalkFormatF16{5, 10}, kWalkFormatBf16{8, 7};

SAMEBITS_BOTH unsigned PackElement(softfloat::GroupElement e) {
  return (static_cast<unsigned>(e.significand) & 0xffffu) | static_cast<unsigned>(e.exponent) << 16;
}
SAMEBITS_BOTH softfloat::GroupElement UnpackElement(unsigned word) {
  return {static_cast<short>(word & 0xffffu), static_cast<int>(word) >> 16};
}

#ifdef __CUDACC_RTC__
SAMEBITS_BOTH float FloatOf(unsigned pattern) { return __uint_as_float(pattern); }
SAMEBITS_BOTH unsigned PatternOfFloat(float value) { return __float_as_uint(value); }
SAMEBITS_BOTH double DoubleOf(unsigned long long pattern) { return __longlong_as_double(static_cast<long long>(pattern)); }
SAMEBITS_BOTH unsigned long long PatternOfDouble(double value) {
  return static_cast<unsigned long long>(__double_as_longlong(value));
}
SAMEBITS_BOTH float FmaF32(float x, float y, float z) { return __fmaf_rn(x, y, z); }
SAMEBITS_BOTH float MulF32(float x, float y) { return __fmul_rn(x, y); }
SAMEBITS_BOTH float AddF32(float x, float y) { return __fadd_rn(x, y); }
SAMEBITS_BOTH double FmaF64(double x, double y, double z) { return __fma_rn(x, y, z); }
SAMEBITS_BOTH double MulF64(double x, double y) { return __dmul_rn(x, y); }
SAMEBITS_BOTH double AddF64(double x, double y) { return __dadd_rn(x, y); }
#else
SAMEBITS_BOTH float FloatOf(unsigned pattern) { return __builtin_bit_cast(float, pattern); }
SAMEBITS_BOTH unsigned PatternOfFloat(float value) { return __builtin_bit_cast(unsigned, value); }
SAMEBITS_BOTH double DoubleOf(unsigned long long pattern) { return __builtin_bit_cast(double, pattern); }
SAMEBITS_BOTH unsigned long long PatternOfDouble(double value) { return __builtin_bit_cast(unsigned long long, value); }
SAMEBITS_BOTH float FmaF32(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
SAMEBITS_BOTH float MulF32(float x, float y) { return x * y; }
SAMEBITS_BOTH float AddF32(float x, float y) { return x + y; }
SAMEBITS_BOTH double FmaF64(double x, double y, double z) { return __builtin_fma(x, y, z); }
SAMEBITS_BOTH double MulF64(double x, double y) { return x * y; }
SAMEBITS_BOTH double AddF64(double x, double y) { return x + y; }
#endif

SAMEBITS_BOTH unsigned CanonicalF32(float value) { return value != value ? 0x7fffffffu : PatternOfFloat(value); }

// f32 rounded to a type and back.
SAMEBITS_BOTH unsigned RoundThroughF32(int type, unsigned pattern) {
  if (type == kWalkF16) return WidenToF32(kWalkFormatF16, NarrowF32(kWalkFormatF16, pattern));
  if (type == kWalkBf16) return WidenToF32(kWalkFormatBf16, NarrowF32(kWalkFormatBf16, pattern));
  return pattern;
}

// Kinds of arithmetic: Word, an element of an operand; Value, a sum's pattern; what chains, additions and roundings do,
// and the output's pattern.

// Words are packed elements; values patterns of rule.accumulator.
struct MatrixWalk {
  typedef unsigned Word;
  typedef unsigned Value;
  softfloat::GroupRule rule;

  SAMEBITS_BOTH bool f16() const { return rule.accumulator.exponent_bits == 5; }
  SAMEBITS_BOTH Value Chain(const WalkPlan& plan, int begin, int end, WalkRow<Word> a, WalkRow<Word> b) const {
    softfloat::GroupTerm terms[softfloat::kMostGroup];
    Value c = 0;
    for (int g = begin; g < end; ++g) {
      const int first = plan.group_begin[g], count = plan.group_begin[g + 1] - first;
      SAMEBITS_UNROLL
      for (int i = 0; i < rule.group; ++i) {
        terms[i] = {0, rule.zero_exponent};
        if (i >= count) continue;
        const int place = plan.order[first + i];
        terms[i] = TermOf(rule, UnpackElement(a.At(place)), UnpackElement(b.At(place)));
      }
      c = SumGroup(rule, terms, c);
    }
    return c;
  }
  SAMEBITS_BOTH Value ToF32(Value x) const { return f16() ? WidenToF32(kWalkFormatF16, x) : x; }
  SAMEBITS_BOTH Value FromF32(Value x) const { return f16() ? NarrowF32(kWalkFormatF16, x) : x; }
  SAMEBITS_BOTH Value Add(Value x, Value y) const {
    return FromF32(CanonicalF32(AddF32(FloatOf(ToF32(x)), FloatOf(ToF32(y)))));
  }
  SAMEBITS_BOTH Value Round(int type, Value x) const { return FromF32(RoundThroughF32(type, ToF32(x))); }
  SAMEBITS_BOTH Value Output(int type, Value x) const {
    const Value wide = ToF32(x);
    return type == kWalkF16 ? NarrowF32(kWalkFormatF16, wide) : type == kWalkBf16 ? NarrowF32(kWalkFormatBf16, wide) : wide;
  }
};

// Words and values are f32 patterns.
struct F32Walk {
  typedef unsigned Word;
  typedef unsigned Value;
  bool fused;

  SAMEBITS_BOTH Value Chain(const WalkPlan& plan, int begin, int end, WalkRow<Word> a, WalkRow<Word> b) const {
    float c = 0;
    for (int i = plan.group_begin[begin]; i < plan.group_begin[end]; ++i) {
      const float x = FloatOf(a.At(plan.order[i])), y = FloatOf(b.At(plan.order[i]));
      c = fused ? FmaF32(x, y, c) : AddF32(MulF32(x, y), c);
    }
    return CanonicalF32(c);
  }
  SAMEBITS_BOTH Value Add(Value x, Value y) const { return CanonicalF32(AddF32(FloatOf(x), FloatOf(y))); }
  SAMEBITS_BOTH Value Round(int type, Value x) const { return RoundThroughF32(type, x); }
  SAMEBITS_BOTH Value Output(int type, Value x) const {
    return type == kWalkF16 ? NarrowF32(kWalkFormatF16, x) : type == kWalkBf16 ? NarrowF32(kWalkFormatBf16, x) : x;
  }
};

// Words and values are f64 patterns. Which bits a NaN has is the machine's.
struct F64Walk {
  typedef unsigned long long Word;
  typedef unsigned long long Value;
  bool fused;

  SAMEBITS_BOTH Value Chain(const WalkPlan& plan, int begin, int end, WalkRow<Word> a, WalkRow<Word> b) const {
    double c = 0;
    for (int i = plan.group_begin[begin]; i < plan.group_begin[end]; ++i) {
      const double x = DoubleOf(a.At(plan.order[i])), y = DoubleOf(b.At(plan.order[i]));
      c = fused ? FmaF64(x, y, c) : AddF64(MulF64(x, y), c);
    }
    return PatternOfDouble(c);
  }
  SAMEBITS_BOTH Value Add(Value x, Value y) const { return PatternOfDouble(AddF64(DoubleOf(x), DoubleOf(y))); }
  SAMEBITS_BOTH Value Round(int, Value x) const { return x; }
  SAMEBITS_BOTH Value Output(int, Value x) const { return x; }
};

// The value after the last addition; the plan's stack is at most kMostWalkDepth deep.
template <typename Walk>
SAMEBITS_BOTH typename Walk::Value WalkOutput(const Walk& walk, const WalkPlan& plan, WalkRow<typename Walk::Word> a,
                                              WalkRow<typename Walk::Word> b) {
  typename Walk::Value stack[kMostWalkDepth], top = 0;  // `top` lies above stack[height - 1]
  int height = 0;
  for (int s = 0; s < plan.step_count; ++s) {
    const WalkStep step = plan.steps[s];
    if (step.kind == kWalkChain) {
      if (s > 0) stack[height++] = top;
      top = walk.Chain(plan, step.begin, step.end, a, b);
    } else {
      if (step.kind == kWalkAdd) top = walk.Add(stack[--height], top);
      top = walk.Round(step.type, top);
    }
  }
  return top;
}

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_OUTPUT_WALK_H_
