#ifndef SAMEBITS_CORE_ISA_TYPES_H_
#define SAMEBITS_CORE_ISA_TYPES_H_

#include <cstdint>
#include <string_view>

namespace samebits::isa {

// Scalar and packed data types as instruction suffixes spell them (PTX ISA 9.x, section 5.2).
// X(enumerator, spelling, bits)
#define SAMEBITS_ISA_TYPES(X) \
  X(kPred, "pred", 1)         \
  X(kB1, "b1", 1)             \
  X(kB2, "b2", 2)             \
  X(kU2, "u2", 2)             \
  X(kS2, "s2", 2)             \
  X(kB4, "b4", 4)             \
  X(kU4, "u4", 4)             \
  X(kS4, "s4", 4)             \
  X(kB8, "b8", 8)             \
  X(kU8, "u8", 8)             \
  X(kS8, "s8", 8)             \
  X(kB16, "b16", 16)          \
  X(kU16, "u16", 16)          \
  X(kS16, "s16", 16)          \
  X(kB32, "b32", 32)          \
  X(kU32, "u32", 32)          \
  X(kS32, "s32", 32)          \
  X(kB64, "b64", 64)          \
  X(kU64, "u64", 64)          \
  X(kS64, "s64", 64)          \
  X(kB128, "b128", 128)       \
  X(kF16, "f16", 16)          \
  X(kF16x2, "f16x2", 32)      \
  X(kBf16, "bf16", 16)        \
  X(kBf16x2, "bf16x2", 32)    \
  X(kTf32, "tf32", 32)        \
  X(kF32, "f32", 32)          \
  X(kF32x2, "f32x2", 64)      \
  X(kF64, "f64", 64)          \
  X(kU16x2, "u16x2", 32)      \
  X(kS16x2, "s16x2", 32)      \
  X(kU8x4, "u8x4", 32)        \
  X(kS8x4, "s8x4", 32)        \
  X(kE4m3, "e4m3", 8)         \
  X(kE5m2, "e5m2", 8)         \
  X(kE4m3x2, "e4m3x2", 16)    \
  X(kE5m2x2, "e5m2x2", 16)    \
  X(kE4m3x4, "e4m3x4", 32)    \
  X(kE5m2x4, "e5m2x4", 32)    \
  X(kE3m2, "e3m2", 6)         \
  X(kE2m3, "e2m3", 6)         \
  X(kE2m1, "e2m1", 4)         \
  X(kE2m1x2, "e2m1x2", 8)     \
  X(kE2m3x2, "e2m3x2", 16)    \
  X(kE3m2x2, "e3m2x2", 16)    \
  X(kE2m1x4, "e2m1x4", 16)    \
  X(kE2m3x4, "e2m3x4", 32)    \
  X(kE3m2x4, "e3m2x4", 32)    \
  X(kUe8m0, "ue8m0", 8)       \
  X(kUe8m0x2, "ue8m0x2", 16)  \
  X(kUe4m3, "ue4m3", 8)       \
  X(kUe5m3, "ue5m3", 8)       \
  X(kUe5m3x2, "ue5m3x2", 16)  \
  X(kS2f6x2, "s2f6x2", 16)    \
  X(kTexref, "texref", 64)    \
  X(kSamplerref, "samplerref", 64) \
  X(kSurfref, "surfref", 64)

enum class ScalarType : uint8_t {
  kNone,
#define X(name, text, bits) name,
  SAMEBITS_ISA_TYPES(X)
#undef X
};

// Width in bits; 0 for kNone.
int BitWidth(ScalarType type);
// Spelling without the dot; "" for kNone.
std::string_view TypeName(ScalarType type);
// kNone if `text` (without the dot) names no type.
ScalarType ParseType(std::string_view text);
bool IsSigned(ScalarType type);   // s8..s64 and packed signed
bool IsFloat(ScalarType type);    // any floating-point format, scalar or packed
bool IsInteger(ScalarType type);  // b*, u*, s* of 8 to 64 bits

}  // namespace samebits::isa

#endif  // SAMEBITS_CORE_ISA_TYPES_H_
