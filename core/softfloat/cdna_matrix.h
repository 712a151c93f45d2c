#ifndef SAMEBITS_CORE_SOFTFLOAT_CDNA_MATRIX_H_
#define SAMEBITS_CORE_SOFTFLOAT_CDNA_MATRIX_H_

// Matrix steps of AMD CDNA 3 (gfx942) on f16 and bf16 with an f32 accumulator.
//
// A step of up to eight products: each is cut toward zero at 24 fraction bits below the largest exponent among the
// products (ea + eb, significands in [1, 4)); their exact sum is floored to 32 fraction bits and the accumulator to 24
// below the larger of that exponent and its own; the sum of both is floored to 31 fraction bits of its leading bit and
// rounded to nearest even. Source: MMA-Sim (arXiv 2511.10909). No hardware result stands behind this file.

#include <cstdint>
#include <span>

#include "core/softfloat/matrix_unit.h"

namespace samebits::softfloat {

// c + sum of a[i] * b[i]; patterns of f32. NaN results are canonical, a zero sum is +0.
uint32_t Cdna3Step(std::span<const MatrixElement> a, std::span<const MatrixElement> b, uint32_t c);

}  // namespace samebits::softfloat

#endif  // SAMEBITS_CORE_SOFTFLOAT_CDNA_MATRIX_H_
