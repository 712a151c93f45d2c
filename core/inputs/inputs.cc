#include "core/inputs/inputs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/sha256.h"
#include "core/inputs/philox.h"
#include "core/softfloat/convert.h"
#include "core/softfloat/format.h"

namespace samebits::inputs {
namespace {

namespace sf = softfloat;

constexpr const char* kDistributionNames[] = {"uniform", "normal", "scales", "unit", "integers",
                                              "sparse", "wide", "cancelling", "subnormals", "special",
                                              "varied", "vanishing", "zeros", "ones"};
static_assert(std::size(kDistributionNames) == kDistributions);

struct Type {
  const char* name;
  uint32_t bytes;
  const sf::Format* format;  // null: not a float
  int scales[2], wide[2], vanishing[2];  // least and greatest exponent
};
constexpr int kVariedExponents[2] = {-8, 1};
constexpr Type kTypes[] = {
    {"f32", 4, &sf::kF32, {-12, 11}, {-148, 20}, {-76, -62}}, {"f16", 2, &sf::kF16, {-6, 5}, {-24, 8}, {-13, -6}},
    {"bf16", 2, &sf::kBf16, {-12, 11}, {-132, 20}, {-76, -62}}, {"e4m3", 1, &sf::kE4m3, {-4, 3}, {-9, 7}, {-5, -2}},
    {"e5m2", 1, &sf::kE5m2, {-6, 5}, {-16, 10}, {-8, -6}}, {"f64", 8, &sf::kF64, {-12, 11}, {-1074, 60}, {-540, -510}},
    {"i32", 4, nullptr, {}, {}, {}}, {"i8", 1, nullptr, {}, {}, {}}, {"raw", 4, nullptr, {}, {}, {}}};
static_assert(std::size(kTypes) == kDataTypes);

const Type& TypeOf(DataType type) { return kTypes[static_cast<int>(type)]; }

double Unit(uint64_t bits24) { return static_cast<double>(bits24 & 0xFFFFFF) / (1 << 24); }

double Power(uint64_t word, double u, const int (&limits)[2]) {
  const int exponent = limits[0] + static_cast<int>((word >> 1 & 0x7FFF) % static_cast<uint64_t>(limits[1] - limits[0] + 1));
  return std::ldexp((word & 1) != 0 ? -(1.0 + u) : 1.0 + u, exponent);
}

double Real(uint64_t word, const Type& type, Distribution distribution, bool unit) {
  const double u = Unit(word >> 40), v = Unit(word >> 16);
  if (unit) return u;
  switch (distribution) {
    case Distribution::kUniform:
      return 2.0 * u - 1.0;
    case Distribution::kNormal: {
      double sum = 0;
      for (const int shift : {52, 40, 28, 16}) sum += static_cast<double>(word >> shift & 0xFFF);
      return sum / 4096.0 - 2.0;
    }
    case Distribution::kScales:
      return Power(word, u, type.scales);
    case Distribution::kUnit:
      return u;
    case Distribution::kIntegers:
      return std::floor(u * 17.0) - 8.0;
    case Distribution::kSparse:
      if (v < 0.75) return (word & 1) != 0 ? -0.0 : 0.0;
      return 8.0 * u - 4.0;
    case Distribution::kWide:
      return Power(word, u, type.wide);
    case Distribution::kCancelling:
      return 3.0 + u / 16.0;
    case Distribution::kVaried:
      return Power(word, u, kVariedExponents);
    case Distribution::kVanishing:
      return Power(word, u, type.vanishing);
    case Distribution::kZeros:
      return v < 1.0 / 1024 ? 0.0 : -0.0;
    case Distribution::kOnes:
      return ((word & 1) != 0 ? -1.0 : 1.0) * (1.0 + (2.0 * u - 1.0) / 64.0);
    case Distribution::kSubnormals:
    case Distribution::kSpecial:
      return 2.0 * u - 1.0;  // where the pattern is not given by Pattern
  }
  return 0;
}

// The patterns of the distributions that are made of bits; nullopt where Real gives the value.
std::optional<uint64_t> Pattern(uint64_t word, const sf::Format& format, Distribution distribution) {
  const int fraction = format.fraction_bits;
  const uint64_t sign = (word & 1) << (format.bits - 1), one = 1;
  if (distribution == Distribution::kSubnormals)
    return sign | (word >> (64 - fraction));
  if (distribution != Distribution::kSpecial || Unit(word >> 16) >= 0.5) return std::nullopt;
  const uint64_t top = ((one << format.exponent_bits) - 1) << fraction;
  const uint64_t bias = (one << (format.exponent_bits - 1)) - 1;
  const uint64_t magnitudes[] = {0, 1, (one << fraction) - 1, one << fraction, bias << fraction,
                                 top - 1, top, top | one << (fraction - 1), top | 1};
  return sign | magnitudes[(word >> 1) % std::size(magnitudes)];
}

// Non-negative finite values below the largest exponent, ascending; position = bit pattern.
std::vector<double> SmallValues(const sf::Format& format) {
  const int fraction = format.fraction_bits, bias = (1 << (format.exponent_bits - 1)) - 1;
  std::vector<double> values(((1 << format.exponent_bits) - 1) << fraction);
  for (int code = 0; code < static_cast<int>(values.size()); ++code) {
    const int exponent = code >> fraction, mantissa = code & ((1 << fraction) - 1);
    values[code] = exponent == 0 ? std::ldexp(mantissa, 1 - bias - fraction)
                                 : std::ldexp(mantissa + (1 << fraction), exponent - bias - fraction);
  }
  return values;
}

class Encoder {
 public:
  explicit Encoder(const sf::Format& format) : format_(format) {
    if (format.bits == 8) values_ = SmallValues(format);
  }
  // To nearest even; types of 8 bits toward zero.
  uint64_t Encode(double real) const {
    const uint64_t bits = std::bit_cast<uint64_t>(real);
    if (format_.id == sf::FormatId::kF64) return bits;
    if (format_.bits == 8) {
      const auto above = std::upper_bound(values_.begin(), values_.end(), std::fabs(real));
      const int64_t code = std::max<int64_t>(above - values_.begin() - 1, 0);
      return static_cast<uint64_t>(code) | (std::signbit(real) ? 128 : 0);
    }
    if (format_.id != sf::FormatId::kBf16) return sf::ConvertFloat(format_, sf::kF64, bits, sf::Rounding::kRn);
    const uint64_t single = sf::ConvertFloat(sf::kF32, sf::kF64, bits, sf::Rounding::kRn);  // rounded twice
    return sf::ConvertFloat(sf::kBf16, sf::kF32, single, sf::Rounding::kRn);
  }

 private:
  const sf::Format& format_;
  std::vector<double> values_;
};

// Valid as two f16, as two bf16 and as a small f32 alike: each half in +-[0.25, 2).
uint64_t Raw(uint64_t word) {
  uint64_t out = 0;
  for (int i = 0; i < 2; ++i) {
    const uint64_t half = word >> (16 * i) & 0xFFFF;
    out |= ((0x3400 + half % 0x0C00 + (half >> 15 << 15)) & 0xFFFF) << (16 * i);
  }
  return out;
}

absl::Status Check(const BufferSpec& buffer) {
  const bool integer = buffer.type == DataType::kI32 || buffer.type == DataType::kI8;
  if (!integer) return absl::OkStatus();
  const int64_t most = buffer.type == DataType::kI32 ? INT32_MAX : INT8_MAX;
  if (buffer.high <= buffer.low || buffer.low < -most - 1 || buffer.high > most + 1)
    return absl::InvalidArgumentError(absl::StrCat("buffer '", buffer.name, "': no ", TypeOf(buffer.type).name,
                                                   " lies from ", buffer.low, " to below ", buffer.high));
  return absl::OkStatus();
}

}  // namespace

std::string_view DistributionName(Distribution distribution) {
  return kDistributionNames[static_cast<int>(distribution)];
}

std::optional<Distribution> ParseDistribution(std::string_view name) {
  for (int i = 0; i < kDistributions; ++i)
    if (name == kDistributionNames[i]) return static_cast<Distribution>(i);
  return std::nullopt;
}

std::string_view DataTypeName(DataType type) { return TypeOf(type).name; }
uint32_t ElementBytes(DataType type) { return TypeOf(type).bytes; }

std::optional<DataType> ParseDataType(std::string_view name) {
  for (int i = 0; i < kDataTypes; ++i)
    if (name == kTypes[i].name) return static_cast<DataType>(i);
  return std::nullopt;
}

absl::StatusOr<std::vector<uint8_t>> MakeBuffer(std::string_view seed, const BufferSpec& buffer,
                                                Distribution distribution) {
  return MakeElements(seed, buffer, distribution, 0, buffer.elements);
}

absl::StatusOr<std::vector<uint8_t>> MakeElements(std::string_view seed, const BufferSpec& buffer, Distribution distribution,
                                                  uint64_t first, uint64_t count) {
  if (absl::Status status = Check(buffer); !status.ok()) return status;
  const auto digest = Sha256(absl::StrCat(std::string(seed), "/", buffer.name, "/", static_cast<int>(distribution)));
  std::array<uint64_t, 2> key;
  std::memcpy(key.data(), digest.data(), sizeof(key));
  Philox philox(key);
  philox.Seek(first);
  const Type& type = TypeOf(buffer.type);
  const Encoder encoder(type.format != nullptr ? *type.format : sf::kF32);
  const uint64_t range = static_cast<uint64_t>(buffer.high - buffer.low);
  std::vector<uint8_t> bytes(count * type.bytes);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t word = philox.Next();
    uint64_t bits = 0;
    if (type.format != nullptr) {
      const std::optional<uint64_t> pattern =
          buffer.unit ? std::nullopt : Pattern(word, *type.format, distribution);
      bits = pattern ? *pattern : encoder.Encode(Real(word, type, distribution, buffer.unit));
    } else if (buffer.type == DataType::kRaw) {
      bits = Raw(word);
    } else {
      bits = static_cast<uint64_t>(buffer.low) + word % range;
    }
    std::memcpy(bytes.data() + i * type.bytes, &bits, type.bytes);
  }
  return bytes;
}

}  // namespace samebits::inputs
