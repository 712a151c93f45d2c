#ifndef SAMEBITS_CORE_HEAL_NUMERICS_ROUNDING_H_
#define SAMEBITS_CORE_HEAL_NUMERICS_ROUNDING_H_

// Rounding of single values, to the nearest with ties to even unless said otherwise. NaN stays NaN, infinities stay.

#include <cstdint>

#include "core/heal/numerics/configuration.h"

namespace samebits::heal {

uint16_t ToBf16(float x);
float FromBf16(uint16_t bits);
uint16_t ToF16(float x);  // subnormals kept; beyond 65504 + half a step: infinity
float FromF16(uint16_t bits);
float RoundTf32(float x);                      // nearest, ties away from zero, as cvt.rna.tf32 does
float TruncateSignificand(float x, int bits);  // keeps `bits` (0 to 23) after the leading one, towards zero
float RoundTo(Boundary boundary, int significand_bits, float x);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_NUMERICS_ROUNDING_H_
