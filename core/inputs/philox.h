#ifndef SAMEBITS_CORE_INPUTS_PHILOX_H_
#define SAMEBITS_CORE_INPUTS_PHILOX_H_

#include <array>
#include <cstdint>

namespace samebits::inputs {

// Philox 4x64 with ten rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11): word i of a key is
// word i mod 4 of the block with counter i / 4 + 1.
class Philox {
 public:
  explicit Philox(std::array<uint64_t, 2> key) : key_(key) {}

  uint64_t Next() {
    if (position_ == 4) {
      ++counter_;
      block_ = Block(counter_);
      position_ = 0;
    }
    return block_[position_++];
  }

  // The next word is word `index`.
  void Seek(uint64_t index) {
    counter_ = index / 4 + 1;
    block_ = Block(counter_);
    position_ = static_cast<int>(index % 4);
  }

 private:
  std::array<uint64_t, 4> Block(uint64_t counter) const {
    std::array<uint64_t, 4> c{counter, 0, 0, 0};
    std::array<uint64_t, 2> k = key_;
    for (int round = 0; round < 10; ++round) {
      const unsigned __int128 p = static_cast<unsigned __int128>(0xD2E7470EE14C6C93) * c[0];
      const unsigned __int128 q = static_cast<unsigned __int128>(0xCA5A826395121157) * c[2];
      c = {static_cast<uint64_t>(q >> 64) ^ c[1] ^ k[0], static_cast<uint64_t>(q),
           static_cast<uint64_t>(p >> 64) ^ c[3] ^ k[1], static_cast<uint64_t>(p)};
      k[0] += 0x9E3779B97F4A7C15;
      k[1] += 0xBB67AE8584CAA73B;
    }
    return c;
  }

  const std::array<uint64_t, 2> key_;
  std::array<uint64_t, 4> block_{};
  uint64_t counter_ = 0;
  int position_ = 4;
};

}  // namespace samebits::inputs

#endif  // SAMEBITS_CORE_INPUTS_PHILOX_H_
