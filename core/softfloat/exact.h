#ifndef SAMEBITS_CORE_SOFTFLOAT_EXACT_H_
#define SAMEBITS_CORE_SOFTFLOAT_EXACT_H_

// Integer arithmetic on wide significands and the one rounding step, shared by every operation of this folder.

#include <cstdint>

#include "core/softfloat/format.h"

namespace samebits::softfloat {

using Wide = unsigned __int128;

// (-1)^negative * significand * 2^exponent. The lowest bit is sticky: where bits below it were lost it is set, which
// leaves every rounding to at most 120 bits unaffected. significand == 0 is an exact zero.
struct Exact {
  bool negative = false;
  int exponent = 0;
  Wide significand = 0;
};

int BitLength(Wide value);

Exact FromNumber(const Number& number);  // kZero or kFinite

// The operands must hold at most 126 significant bits. Where both are exact and share enough bits the result is
// exact; otherwise the sticky bit stands for the rest. A cancelled sum is +0.
Exact AddExact(const Exact& a, const Exact& b);
Exact MulExact(const Number& a, const Number& b);  // finite factors; exact
Exact DivExact(const Number& a, const Number& b);  // b nonzero; at least 64 quotient bits, sticky
Exact SqrtExact(const Number& a);                  // a >= 0; at least 62 root bits, sticky

enum class Overflow : uint8_t {
  kIeee,       // infinity or the largest finite number, as the rounding direction says
  kSatFinite,  // the largest finite number
  kInfinity,   // infinity in every rounding
};

// Rounds a nonzero value; the result is a pattern of `format` (never NaN). Formats without infinity saturate.
uint64_t Round(const Format& format, const Exact& value, Rounding rounding, Overflow overflow = Overflow::kIeee);

// Whether a nonzero value, rounded to the precision of `format` as if exponents had no bound, is below the least normal
// number: what ftz flushes.
bool IsTiny(const Format& format, const Exact& value, Rounding rounding);

// Rounds to an integer; the magnitude must be below 2^126. The sign is kept apart.
Wide RoundToInteger(const Exact& value, Rounding rounding);

}  // namespace samebits::softfloat

#endif  // SAMEBITS_CORE_SOFTFLOAT_EXACT_H_
