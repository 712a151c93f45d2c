#ifndef SAMEBITS_CORE_SOFTFLOAT_COMPARE_H_
#define SAMEBITS_CORE_SOFTFLOAT_COMPARE_H_

// Sign operations, minimum and maximum, comparisons and class tests (PTX ISA: abs, neg, copysign, min, max, setp,
// set, testp) for every format with a sign, on bit patterns.

#include <cstdint>

#include "core/softfloat/format.h"

namespace samebits::softfloat {

// Clear and flip the sign bit; with `ftz` a subnormal operand becomes zero first. NaN becomes the canonical NaN, but in
// f64 the quiet form of the operand, sign and all (as an H200 does it; the ISA leaves it open).
uint64_t Abs(const Format& format, uint64_t a, bool ftz = false);
uint64_t Neg(const Format& format, uint64_t a, bool ftz = false);
// Copies the sign bit; NaN payloads stay.
uint64_t CopySign(const Format& format, uint64_t sign_source, uint64_t magnitude_source);

struct MinMaxFlags {
  bool ftz = false;
  bool nan = false;          // `.NaN`: one NaN operand makes the result NaN; without it the other operand wins
  bool xorsign_abs = false;  // of magnitudes; the result's sign is the exclusive or of the operands' signs
};

// -0 is less than +0. NaN results are canonical; in f64, of two NaN operands, the quiet form of b.
uint64_t Min(const Format& format, uint64_t a, uint64_t b, MinMaxFlags flags = {});
uint64_t Max(const Format& format, uint64_t a, uint64_t b, MinMaxFlags flags = {});

// Orderings of setp and set. The first six are false where an operand is NaN, their `u` forms true.
enum class Ordering : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kEqu, kNeu, kLtu, kLeu, kGtu, kGeu, kNum, kNan };
bool Compare(const Format& format, Ordering ordering, uint64_t a, uint64_t b, bool ftz = false);

// Classes of testp. Zeros count as normal.
enum class NumberClass : uint8_t { kFinite, kInfinite, kNumber, kNotANumber, kNormal, kSubnormal };
bool TestClass(const Format& format, NumberClass number_class, uint64_t a);

}  // namespace samebits::softfloat

#endif  // SAMEBITS_CORE_SOFTFLOAT_COMPARE_H_
