#ifndef SAMEBITS_CORE_SOFTFLOAT_ARITHMETIC_H_
#define SAMEBITS_CORE_SOFTFLOAT_ARITHMETIC_H_

// add, sub, mul, fma, div, rcp and sqrt as the PTX ISA defines them (floating-point, half-precision and
// mixed-precision instructions of chapter 9), for f16, bf16, f32 and f64, on bit patterns. All results are
// correctly rounded.
//
// NaN results are canonical, whatever the operands' payloads: 0x7fffffff (f32), 0x7fff (f16, bf16). Those of f64, which
// the ISA leaves open, follow what an H200 does: an operand's NaN in its quiet form, of several that of b, then c, then
// a (div: a, then b); 0xfff8000000000000 where no operand is NaN. The assembler may swap commuting operands, so which
// of several NaNs survives is not a promise.

#include <cstdint>

#include "core/softfloat/format.h"

namespace samebits::softfloat {

struct Flags {
  bool ftz = false;   // subnormal operands and results (see IsTiny in exact.h) become zeros of their sign
  bool sat = false;   // the result is clamped to [+0, 1]; NaN becomes +0
  bool relu = false;  // a negative result becomes +0; NaN stays
};

uint64_t Add(const Format& format, uint64_t a, uint64_t b, Rounding rounding = Rounding::kRn, Flags flags = {});
uint64_t Sub(const Format& format, uint64_t a, uint64_t b, Rounding rounding = Rounding::kRn, Flags flags = {});
uint64_t Mul(const Format& format, uint64_t a, uint64_t b, Rounding rounding = Rounding::kRn, Flags flags = {});
// a * b + c with one rounding.
uint64_t Fma(const Format& format, uint64_t a, uint64_t b, uint64_t c, Rounding rounding = Rounding::kRn,
             Flags flags = {});
uint64_t Div(const Format& format, uint64_t a, uint64_t b, Rounding rounding = Rounding::kRn, Flags flags = {});
uint64_t Rcp(const Format& format, uint64_t a, Rounding rounding = Rounding::kRn, Flags flags = {});
uint64_t Sqrt(const Format& format, uint64_t a, Rounding rounding = Rounding::kRn, Flags flags = {});

// The `.sat`, `.relu` steps alone, on a result.
uint64_t ApplyResultFlags(const Format& format, uint64_t bits, Flags flags);

// The same by integer arithmetic only. The functions above may use the host's arithmetic where it is exact; the two
// must agree.
namespace reference {
uint64_t Add(const Format& format, uint64_t a, uint64_t b, Rounding rounding, Flags flags);
uint64_t Mul(const Format& format, uint64_t a, uint64_t b, Rounding rounding, Flags flags);
uint64_t Fma(const Format& format, uint64_t a, uint64_t b, uint64_t c, Rounding rounding, Flags flags);
}  // namespace reference

}  // namespace samebits::softfloat

#endif  // SAMEBITS_CORE_SOFTFLOAT_ARITHMETIC_H_
