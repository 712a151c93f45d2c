#ifndef SAMEBITS_CORE_BASE_HASH_H_
#define SAMEBITS_CORE_BASE_HASH_H_

// Fixed, platform-independent hashing for digests that are stored and compared across processes.

#include <cstdint>

namespace samebits {

using uint128 = unsigned __int128;

// A 128-bit digest; ordered so that canonical forms can sort by it.
struct Digest128 {
  uint64_t hi = 0, lo = 0;
  friend bool operator==(const Digest128& a, const Digest128& b) { return a.hi == b.hi && a.lo == b.lo; }
  friend bool operator!=(const Digest128& a, const Digest128& b) { return !(a == b); }
  friend bool operator<(const Digest128& a, const Digest128& b) { return a.hi != b.hi ? a.hi < b.hi : a.lo < b.lo; }
};

// Folds a 64x64 -> 128-bit product to 64 bits.
inline uint64_t FoldMultiply(uint64_t a, uint64_t b) {
  const uint128 p = static_cast<uint128>(a) * b;
  return static_cast<uint64_t>(p) ^ static_cast<uint64_t>(p >> 64);
}

// A bijective scrambler of 64 bits (odd multiplications and xor-shifts).
inline uint64_t Scramble(uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ull;
  x ^= x >> 29;
  x *= 0xa3aaacd7b1f2c5e9ull;
  x ^= x >> 32;
  return x;
}

// Streaming digest of 64-bit words: two independently keyed lanes. The value depends on words and their number only.
class WordHasher {
 public:
  explicit WordHasher(uint64_t seed = 0) : a_(0x9e6c63d0676a9a99ull ^ seed), b_(0xc2b2ae3d27d4eb4full + seed) {}
  void Add(uint64_t w) {
    a_ = FoldMultiply(a_ ^ w, 0xa0761d6478bd642full) + 0x8ebc6af09c88c6e3ull * (w | 1) + Rotate(a_, 23);
    b_ = FoldMultiply(b_ + w, 0xe7037ed1a0b428dbull) ^ (Rotate(b_, 41) + 0x589965cc75374cc3ull * Scramble(w));
    ++count_;
  }
  void Add(const Digest128& d) {
    Add(d.hi);
    Add(d.lo);
  }
  Digest128 Finish() const {
    return {Scramble(a_ + count_ * 0x1d8e4e27c47d124full), Scramble(b_ ^ (a_ * 0xeb44accab455d165ull) ^ count_)};
  }
  uint64_t Finish64() const { return Finish().hi; }

 private:
  static uint64_t Rotate(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  uint64_t a_, b_, count_ = 0;
};

// Fast in-process hash step for unique tables; never stored.
inline uint64_t TableHash(uint64_t h, uint64_t w) { return FoldMultiply(h ^ w ^ 0x2d358dccaa6c78a5ull, 0x8bb84b93962eacc9ull) + w; }

}  // namespace samebits

#endif  // SAMEBITS_CORE_BASE_HASH_H_
