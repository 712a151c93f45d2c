#ifndef SAMEBITS_CORE_INPUTS_INPUTS_H_
#define SAMEBITS_CORE_INPUTS_INPUTS_H_

// Contents of buffers that anyone can make again: docs/inputs.md defines them, client/python/samebits/inputs.py makes
// the same bytes. A buffer's bytes depend on seed, buffer name, type, length and distribution only.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace samebits::inputs {

// Numbers and names are fixed: the number is part of a buffer's key.
enum class Distribution : uint8_t {
  kUniform, kNormal, kScales, kUnit, kIntegers, kSparse, kWide, kCancelling, kSubnormals, kSpecial, kVaried, kVanishing,
  kZeros, kOnes,
};
inline constexpr int kDistributions = 14;
std::string_view DistributionName(Distribution distribution);  // "uniform"
std::optional<Distribution> ParseDistribution(std::string_view name);

enum class DataType : uint8_t { kF32, kF16, kBf16, kE4m3, kE5m2, kF64, kI32, kI8, kRaw };
inline constexpr int kDataTypes = 9;
std::string_view DataTypeName(DataType type);  // "f32"
std::optional<DataType> ParseDataType(std::string_view name);
uint32_t ElementBytes(DataType type);

struct BufferSpec {
  std::string name;
  DataType type = DataType::kRaw;
  uint64_t elements = 0;
  bool unit = false;              // floats in [0, 1) on every distribution
  int64_t low = 0, high = 100;    // integers: low <= value < high
};

// The buffer's bytes. INVALID_ARGUMENT where high <= low or a bound is outside the type.
absl::StatusOr<std::vector<uint8_t>> MakeBuffer(std::string_view seed, const BufferSpec& buffer,
                                                Distribution distribution);

// Elements [first, first + count) of a buffer, whatever buffer.elements says.
absl::StatusOr<std::vector<uint8_t>> MakeElements(std::string_view seed, const BufferSpec& buffer, Distribution distribution,
                                                  uint64_t first, uint64_t count);

}  // namespace samebits::inputs

#endif  // SAMEBITS_CORE_INPUTS_INPUTS_H_
