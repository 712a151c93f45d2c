#include "core/heal/model/stored_tensor.h"

#include <cstring>

#include "core/heal/numerics/rounding.h"

namespace samebits::heal {
namespace {

constexpr int kBlock = 32;

struct Layout {
  int values, bytes;
};

Layout LayoutOf(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return {1, 4};
    case ElementType::kF16:
    case ElementType::kBf16:
      return {1, 2};
    case ElementType::kQ4_0:
      return {kBlock, 2 + kBlock / 2};
    case ElementType::kQ4_1:
      return {kBlock, 4 + kBlock / 2};
    case ElementType::kQ8_0:
      return {kBlock, 2 + kBlock};
  }
  return {1, 4};
}

template <typename T>
T Load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

float LoadF16(const uint8_t* bytes) { return FromF16(Load<uint16_t>(bytes)); }

// Low halves of the bytes are the first 16 values, high halves the others.
int Nibble(const uint8_t* bytes, int i) { return i < kBlock / 2 ? bytes[i] & 15 : bytes[i - kBlock / 2] >> 4; }

float BlockValue(ElementType type, const uint8_t* block, int i) {
  const float scale = LoadF16(block);
  if (type == ElementType::kQ8_0) return static_cast<float>(static_cast<int8_t>(block[2 + i])) * scale;
  if (type == ElementType::kQ4_0) return static_cast<float>(Nibble(block + 2, i) - 8) * scale;
  return static_cast<float>(Nibble(block + 4, i)) * scale + LoadF16(block + 2);
}

}  // namespace

std::optional<int64_t> RowBytes(ElementType type, int64_t columns) {
  const Layout layout = LayoutOf(type);
  if (columns % layout.values != 0) return {};
  return columns / layout.values * layout.bytes;
}

std::optional<int64_t> ElementsOf(const std::vector<int64_t>& shape) {
  constexpr int64_t kMost = int64_t{1} << 40;
  int64_t product = 1;
  for (const int64_t size : shape) {
    if (size < 0 || size > kMost) return {};
    if (size != 0 && product > kMost / size) return {};
    product *= size;
  }
  return product;
}

void ReadRow(ElementType type, const uint8_t* row, std::span<uint16_t> bf16) {
  const Layout layout = LayoutOf(type);
  for (size_t i = 0; i < bf16.size(); ++i) {
    const uint8_t* at = row + i / layout.values * layout.bytes;
    switch (type) {
      case ElementType::kF32:
        bf16[i] = ToBf16(Load<float>(at));
        break;
      case ElementType::kF16:
        bf16[i] = ToBf16(LoadF16(at));
        break;
      case ElementType::kBf16:
        bf16[i] = Load<uint16_t>(at);
        break;
      case ElementType::kQ4_0:
      case ElementType::kQ4_1:
      case ElementType::kQ8_0:
        bf16[i] = ToBf16(BlockValue(type, at, static_cast<int>(i % kBlock)));
        break;
    }
  }
}

}  // namespace samebits::heal
