#ifndef SAMEBITS_CORE_SOFTFLOAT_FORMAT_H_
#define SAMEBITS_CORE_SOFTFLOAT_FORMAT_H_

// Floating-point formats as data, and the decoded form of their values.
//
// Values travel as bit patterns in the low bits of a uint64_t; bits above the format's width are ignored on input
// and zero on output. Everything here is pure and thread-safe.

#include <cstdint>
#include <string_view>

namespace samebits::softfloat {

enum class FormatId : uint8_t { kF64, kF32, kTf32, kF16, kBf16, kE4m3, kE5m2, kE3m2, kE2m3, kE2m1, kUe8m0 };

// What the largest exponent field means.
enum class Specials : uint8_t {
  kIeee,     // infinities and NaNs
  kNanOnly,  // a number, except that the all-ones magnitude is NaN; no infinity
  kFinite,   // a number: neither infinity nor NaN
  kScale,    // unsigned power of two, the exponent alone; all ones is NaN, no zero
};

struct Format {
  FormatId id;
  std::string_view name;
  int bits;  // of the container, unused low bits included
  int exponent_bits;
  int fraction_bits;
  int unused_low_bits;  // tf32 sits in the upper 19 bits of an f32: 13
  Specials specials;
  uint64_t canonical_nan;  // the NaN that instructions return; 0 where the format has none

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int min_exponent() const { return 1 - bias(); }  // of the smallest normal number
  constexpr bool has_sign() const { return specials != Specials::kScale; }
  constexpr uint64_t mask() const { return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }
  constexpr uint64_t sign_mask() const { return has_sign() ? uint64_t{1} << (bits - 1) : 0; }
  constexpr uint64_t magnitude_mask() const { return mask() & ~sign_mask(); }
  constexpr uint64_t max_finite() const;  // magnitude pattern
  constexpr uint64_t infinity() const;    // magnitude pattern; only where specials == kIeee
  constexpr uint64_t min_normal() const { return uint64_t{1} << (fraction_bits + unused_low_bits); }
};

inline constexpr Format kF64{FormatId::kF64, "f64", 64, 11, 52, 0, Specials::kIeee, 0xfff8000000000000};
inline constexpr Format kF32{FormatId::kF32, "f32", 32, 8, 23, 0, Specials::kIeee, 0x7fffffff};
inline constexpr Format kTf32{FormatId::kTf32, "tf32", 32, 8, 10, 13, Specials::kIeee, 0x7fffe000};
inline constexpr Format kF16{FormatId::kF16, "f16", 16, 5, 10, 0, Specials::kIeee, 0x7fff};
inline constexpr Format kBf16{FormatId::kBf16, "bf16", 16, 8, 7, 0, Specials::kIeee, 0x7fff};
inline constexpr Format kE4m3{FormatId::kE4m3, "e4m3", 8, 4, 3, 0, Specials::kNanOnly, 0x7f};
inline constexpr Format kE5m2{FormatId::kE5m2, "e5m2", 8, 5, 2, 0, Specials::kIeee, 0x7f};
inline constexpr Format kE3m2{FormatId::kE3m2, "e3m2", 6, 3, 2, 0, Specials::kFinite, 0};
inline constexpr Format kE2m3{FormatId::kE2m3, "e2m3", 6, 2, 3, 0, Specials::kFinite, 0};
inline constexpr Format kE2m1{FormatId::kE2m1, "e2m1", 4, 2, 1, 0, Specials::kFinite, 0};
inline constexpr Format kUe8m0{FormatId::kUe8m0, "ue8m0", 8, 8, 0, 0, Specials::kScale, 0xff};

constexpr uint64_t Format::infinity() const {
  return ((uint64_t{1} << exponent_bits) - 1) << (fraction_bits + unused_low_bits);
}

constexpr uint64_t Format::max_finite() const {
  switch (specials) {
    case Specials::kIeee:
      return infinity() - (uint64_t{1} << unused_low_bits);
    case Specials::kNanOnly:
      return magnitude_mask() - 1;
    case Specials::kFinite:
      return magnitude_mask();
    case Specials::kScale:
      return magnitude_mask() - 1;
  }
  return 0;
}

// kRna rounds to nearest, ties away from zero.
enum class Rounding : uint8_t { kRn, kRz, kRm, kRp, kRna };

// A decoded pattern. For kFinite the value is (-1)^negative * significand * 2^exponent with significand != 0.
struct Number {
  enum class Kind : uint8_t { kZero, kFinite, kInfinity, kNan };
  Kind kind = Kind::kZero;
  bool negative = false;
  int exponent = 0;
  uint64_t significand = 0;

  bool is_zero() const { return kind == Kind::kZero; }
  bool is_finite() const { return kind == Kind::kZero || kind == Kind::kFinite; }
  bool is_infinity() const { return kind == Kind::kInfinity; }
  bool is_nan() const { return kind == Kind::kNan; }
};

Number Decode(const Format& format, uint64_t bits);

bool IsNan(const Format& format, uint64_t bits);
bool IsInfinity(const Format& format, uint64_t bits);
bool IsZero(const Format& format, uint64_t bits);
bool IsSubnormal(const Format& format, uint64_t bits);
inline bool IsNegative(const Format& format, uint64_t bits) { return (bits & format.sign_mask()) != 0; }

// The quiet form of a NaN: its leading fraction bit set, sign and other bits kept.
uint64_t QuietNan(const Format& format, uint64_t bits);

// A subnormal becomes the zero of its sign; all else is unchanged.
uint64_t FlushSubnormal(const Format& format, uint64_t bits);

}  // namespace samebits::softfloat

#endif  // SAMEBITS_CORE_SOFTFLOAT_FORMAT_H_
