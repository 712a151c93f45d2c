#ifndef SAMEBITS_CORE_SYMEXEC_MATRIX_LAYOUT_H_
#define SAMEBITS_CORE_SYMEXEC_MATRIX_LAYOUT_H_

// Where the elements of matrix operands are: in registers of a quad, and in shared memory (PTX ISA 9.7.14 and 9.7.15).

#include <cstdint>

namespace samebits::symexec {

// Thread within its quad, register and position in it that hold element k of a row (A) or column (B) fragment.
struct FragmentPlace {
  int thread, reg, part;
};

// `per` elements of a row share a 32-bit register.
inline FragmentPlace PlaceOf(int k, int per) {
  const int block = 4 * per;  // k covered by one register of the quad
  return {k % block / per, k / block, k % per};
}

// Byte address of element (row, k) of a tile under a wgmma matrix descriptor (PTX ISA 9.7.15.5.1): canonical layouts
// of core matrices, then the swizzle that exchanges 16-byte columns by address bits.
struct TileLayout {
  uint32_t start = 0, leading = 0, stride = 0;
  int swizzle = 16;  // bytes of the pattern: 128, 64, 32, or 16 for none
  bool transposed = false;
  int bytes = 0;     // of one element

  friend bool operator==(const TileLayout&, const TileLayout&) = default;

  uint32_t Address(int row, int k) const {
    uint32_t at;
    if (!transposed) {
      const uint32_t byte = static_cast<uint32_t>(k * bytes);
      if (swizzle == 16) {
        at = static_cast<uint32_t>(row / 8) * stride + byte / 16 * leading + static_cast<uint32_t>(row % 8) * 16 + byte % 16;
      } else {
        at = static_cast<uint32_t>(row / 8) * stride + static_cast<uint32_t>(row % 8) * static_cast<uint32_t>(swizzle) + byte;
      }
    } else {
      const int atom = swizzle / bytes;  // elements along the contiguous direction
      const uint32_t inner = static_cast<uint32_t>(row % atom * bytes + k % 8 * swizzle);
      const uint32_t along_row = static_cast<uint32_t>(row / atom), along_k = static_cast<uint32_t>(k / 8);
      at = inner + (swizzle == 16 ? along_row * stride + along_k * leading : along_row * leading + along_k * stride);
    }
    at += start;
    const uint32_t mask = static_cast<uint32_t>(swizzle / 16 - 1);  // 7, 3, 1, 0
    return at ^ ((at >> 7 & mask) << 4);
  }
};

}  // namespace samebits::symexec

#endif  // SAMEBITS_CORE_SYMEXEC_MATRIX_LAYOUT_H_
