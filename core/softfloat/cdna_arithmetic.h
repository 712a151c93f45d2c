#ifndef SAMEBITS_CORE_SOFTFLOAT_CDNA_ARITHMETIC_H_
#define SAMEBITS_CORE_SOFTFLOAT_CDNA_ARITHMETIC_H_

// Single operations of AMD CDNA processors that other processors lack, on f32 patterns (CDNA 3 instruction set reference).
// NaN results are canonical. No device has confirmed them.

#include <cstdint>

namespace samebits::softfloat {

// V_LDEXP_F32: x * 2^by.
uint32_t CdnaLdexp(uint32_t x, int by);

// V_DIV_SCALE_F32: s0, which is the denominator or the numerator, scaled so that a division's steps stay in range. `flag`
// is the lane's bit of VCC.
uint32_t CdnaDivScale(uint32_t s0, uint32_t denominator, uint32_t numerator, bool* flag);
// V_DIV_FMAS_F32: a * b + c, scaled back where `flag` is set.
uint32_t CdnaDivFmas(uint32_t a, uint32_t b, uint32_t c, bool flag);
// V_DIV_FIXUP_F32: the quotient with its special cases.
uint32_t CdnaDivFixup(uint32_t quotient, uint32_t denominator, uint32_t numerator);

// V_MED3_F32: the middle of three; with a NaN the least.
uint32_t CdnaMed3(uint32_t a, uint32_t b, uint32_t c);

// 8-bit floats of CDNA 3 (e4m3 and e5m2 with one NaN, 0x80, no infinity, and a bias one larger than OCP's), rounded to
// nearest even; beyond the range NaN, or the largest number where `saturate`.
uint8_t ToFnuz(uint32_t x, bool is_bf8, bool saturate);
uint32_t FromFnuz(uint8_t x, bool is_bf8);

}  // namespace samebits::softfloat

#endif  // SAMEBITS_CORE_SOFTFLOAT_CDNA_ARITHMETIC_H_
