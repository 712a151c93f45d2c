#ifndef SAMEBITS_CORE_SOFTFLOAT_CONVERT_H_
#define SAMEBITS_CORE_SOFTFLOAT_CONVERT_H_

// Conversions as the PTX ISA's cvt defines them, one element at a time.

#include <cstdint>

#include "core/softfloat/format.h"

namespace samebits::softfloat {

struct ConvertFlags {
  bool ftz = false;        // f32 operands and results that are subnormal become zeros of their sign
  bool sat = false;        // result clamped to [+0, 1], NaN to +0 (float results); integer results clamp anyway
  bool satfinite = false;  // beyond the largest finite number: that number; always so for e4m3 and smaller formats
  bool relu = false;       // negative results become +0
};

// Between floating-point formats. NaN becomes the canonical NaN of `to`, or its largest positive number where it has
// none; but (as an H200 does it) bf16 to f32 and a conversion to the same format without flags keep the pattern, f64 on
// either side keeps sign and leading payload bits in quiet form, and kRna to tf32 cuts the pattern (with satfinite, and
// lowers it by one unit). ftz leaves operands of conversions to f16 alone. ue8m0 as target takes kRz or kRp, ignores
// the sign, and gives its least value for zero.
uint64_t ConvertFloat(const Format& to, const Format& from, uint64_t bits, Rounding rounding, ConvertFlags flags = {});

// To an integer value in the same format (cvt.rni.f32.f32 and kin; the sign of a zero result is the operand's).
uint64_t RoundToIntegral(const Format& format, uint64_t bits, Rounding rounding, ConvertFlags flags = {});

// An integer type of 8 to 64 bits.
struct IntegerType {
  int bits;
  bool is_signed;
};

// Clamps to the range of `to`. NaN gives 0, but 2^(bits-1) where the source is f64 or the target 64 bits wide.
// The result is the target's two's-complement pattern in its low bits, zero above.
uint64_t FloatToInteger(IntegerType to, const Format& from, uint64_t bits, Rounding rounding, ConvertFlags flags = {});

// `bits` is read as `from` says; bits above it are ignored.
uint64_t IntegerToFloat(const Format& to, IntegerType from, uint64_t bits, Rounding rounding, ConvertFlags flags = {});

// Sign- or zero-extends, or truncates; with `saturate` clamps to the range of `to`.
uint64_t ConvertInteger(IntegerType to, IntegerType from, uint64_t bits, bool saturate = false);

}  // namespace samebits::softfloat

#endif  // SAMEBITS_CORE_SOFTFLOAT_CONVERT_H_
