#ifndef SAMEBITS_CORE_BASE_FIELD_H_
#define SAMEBITS_CORE_BASE_FIELD_H_

// Arithmetic modulo the Mersenne prime 2^127 - 1, for the polynomial fingerprints of maps and multisets.

#include <cstdint>

#include "core/base/hash.h"

namespace samebits {

// An element of GF(2^127 - 1), kept in [0, p).
class Field {
 public:
  static constexpr uint128 kPrime = (static_cast<uint128>(1) << 127) - 1;

  constexpr Field() = default;
  constexpr explicit Field(uint128 v) : v_(Reduce(v)) {}

  uint128 value() const { return v_; }
  uint64_t hi() const { return static_cast<uint64_t>(v_ >> 64); }
  uint64_t lo() const { return static_cast<uint64_t>(v_); }

  friend Field operator+(Field a, Field b) { return Raw(Reduce(a.v_ + b.v_)); }
  friend Field operator-(Field a, Field b) { return Raw(Reduce(a.v_ + (kPrime - b.v_))); }
  friend Field operator*(Field a, Field b) {
    const uint64_t a0 = a.lo(), a1 = a.hi(), b0 = b.lo(), b1 = b.hi();
    const uint128 p00 = static_cast<uint128>(a0) * b0, p11 = static_cast<uint128>(a1) * b1;
    const uint128 mid = static_cast<uint128>(a0) * b1 + static_cast<uint128>(a1) * b0;  // < 2^128: a1, b1 < 2^63
    const uint128 low = p00 + (mid << 64);
    const uint128 carry = low < p00 ? 1 : 0;
    const uint128 high = p11 + (mid >> 64) + carry;
    // value = high * 2^128 + low, and 2^127 = 1: high counts twice, and low's top bit once.
    return Raw(Reduce((low & kPrime) + Reduce((high << 1) | (low >> 127))));
  }
  friend bool operator==(Field a, Field b) { return a.v_ == b.v_; }
  friend bool operator!=(Field a, Field b) { return a.v_ != b.v_; }

 private:
  static constexpr uint128 Reduce(uint128 v) {
    v = (v & kPrime) + (v >> 127);
    return v >= kPrime ? v - kPrime : v;
  }
  static constexpr Field Raw(uint128 v) {
    Field f;
    f.v_ = v;
    return f;
  }
  uint128 v_ = 0;
};

Field Power(Field base, uint64_t exponent);
Field Inverse(Field a);  // a != 0

// Powers of one base for signed 64-bit exponents: eight tables of 256 entries each way, at most eight
// multiplications a power. Immutable, about 32 KiB each way; negative tables on construction too.
class PowerTable {
 public:
  explicit PowerTable(Field base);
  Field Power(int64_t exponent) const;

 private:
  Field positive_[8][256];
  Field negative_[8][256];
};

}  // namespace samebits

#endif  // SAMEBITS_CORE_BASE_FIELD_H_
