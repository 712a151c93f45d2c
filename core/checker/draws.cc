#include "core/checker/draws.h"

#include <bit>
#include <cmath>

#include "absl/strings/str_format.h"
#include "core/softfloat/convert.h"
#include "core/expr/soft_format.h"
#include "core/softfloat/format.h"

namespace samebits::checker {

using expr::Attr;
using expr::Fn;
using expr::Format;
namespace sf = softfloat;

namespace {

// Numbers of one draw.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(Scramble(seed ^ 0x6a09e667f3bcc909ull)) {}
  uint64_t Bits() { return Scramble(state_ += 0x9e3779b97f4a7c15ull); }
  uint64_t Below(uint64_t n) { return Bits() % n; }
  double Unit() { return static_cast<double>(Bits() >> 11) * 0x1p-53; }
  double Sign() { return Bits() & 1 ? -1.0 : 1.0; }

 private:
  uint64_t state_;
};

uint64_t Encode(const sf::Format& f, double x) {
  return sf::ConvertFloat(f, sf::kF64, std::bit_cast<uint64_t>(x), sf::Rounding::kRn);
}

enum class Category : uint8_t {
  kZero,
  kOne,
  kUniform,
  kScales,
  kWide,
  kSmallInteger,
  kCancellation,
  kHalfway,
  kSpecial,
  kSubnormal,
  kSparse,
  kRaw,
  kAbsorption,
  kFill,
  kRareCancellation,
  kLogAbsorption,
};

uint64_t Special(const sf::Format& f, Random& r) {
  const uint64_t one = Encode(f, 1.0);
  const uint64_t kinds[] = {
      0,
      f.min_normal(),
      uint64_t{1} << f.unused_low_bits,
      f.max_finite(),
      one,
      one + (uint64_t{1} << f.unused_low_bits),
      f.min_normal() - (uint64_t{1} << f.unused_low_bits),
      Encode(f, 2.0),
      Encode(f, 0.5),
      f.specials == sf::Specials::kIeee ? f.infinity() : f.max_finite(),
      f.canonical_nan,
      f.specials == sf::Specials::kIeee ? f.infinity() | uint64_t{1} << f.unused_low_bits : f.canonical_nan};
  const uint64_t bits = kinds[r.Below(std::size(kinds))];
  return r.Bits() & 1 ? bits | f.sign_mask() : bits;
}

// One of the `cells` numbers of a draw.
uint64_t DrawFloat(const sf::Format& f, Category c, uint64_t draw, size_t cells, Random& r) {
  const int precision = f.fraction_bits;
  const int range = f.exponent_bits >= 8 ? 12 : f.exponent_bits == 5 ? 6 : 4;
  switch (c) {
    case Category::kZero:
      return 0;
    case Category::kOne:
      return Encode(f, 1.0);
    case Category::kUniform:
      return Encode(f, r.Sign() * (0.25 + 1.75 * r.Unit()));
    case Category::kScales:
      return Encode(f, r.Sign() * std::ldexp(1.0 + r.Unit(), static_cast<int>(r.Below(2 * range)) - range));
    case Category::kWide: {
      const uint64_t bits = r.Bits() & f.mask() & ~((uint64_t{1} << f.unused_low_bits) - 1);
      const bool finite = !sf::IsNan(f, bits) && !sf::IsInfinity(f, bits);
      return finite ? bits : Encode(f, r.Sign());
    }
    case Category::kSmallInteger:
      return Encode(f, static_cast<double>(r.Below(17)) - 8.0);
    case Category::kCancellation: {
      // Large numbers of either sign, equal but for that, between small ones.
      const double large =
          std::ldexp(1.0, std::min(precision + 1 + static_cast<int>(draw % 3), (1 << (f.exponent_bits - 1)) - 2));
      switch (r.Below(4)) {
        case 0:
          return Encode(f, large);
        case 1:
          return Encode(f, -large);
        case 2:
          return Encode(f, static_cast<double>(2 * r.Below(4) + 1));
        default:
          return Encode(f, r.Sign() * (0.5 + r.Unit()));
      }
    }
    case Category::kHalfway: {
      const double ulp = std::ldexp(1.0, -precision);
      const double kinds[] = {1.0, 1.0 + ulp, ulp / 2, -ulp / 2, ulp / 4, 1.0 + 2 * ulp, ulp, 0.75 * ulp, -1.0, 3.0};
      return Encode(f, kinds[r.Below(std::size(kinds))]);
    }
    case Category::kSpecial:
      return Special(f, r);
    case Category::kSubnormal: {
      const uint64_t bits =
          r.Below(4) == 0 ? f.min_normal() : r.Bits() % f.min_normal() & ~((uint64_t{1} << f.unused_low_bits) - 1);
      return r.Bits() & 1 ? bits | f.sign_mask() : bits;
    }
    case Category::kSparse:
      if (r.Below(4) != 0) return r.Bits() & 1 ? f.sign_mask() : 0;
      return Encode(f, 8.0 * r.Unit() - 4.0);
    case Category::kRaw:
      return r.Bits() & f.mask();
    case Category::kAbsorption: {
      // Few numbers near one, and many that f32 sums with them, or sums of squares, lose one by one.
      if (r.Below(32) == 0) return Encode(f, 1.0 + r.Unit());
      constexpr int kLost[] = {-12, -13, -24, -25};
      return Encode(f, std::ldexp(1.0, kLost[draw % 4]));
    }
    case Category::kRareCancellation: {
      // Two or three large numbers that may cancel, all others at the edge of what a sum with one keeps in f32.
      const int large = f.exponent_bits < 8 ? (1 << (f.exponent_bits - 1)) - 2 : draw % 2 == 0 ? 24 : 13;
      if (r.Below(cells / 3 + 1) == 0) return Encode(f, r.Sign() * std::ldexp(1.0, large));
      return Encode(f, r.Sign() * std::ldexp(1.0 + r.Unit(), large - 25 + static_cast<int>(r.Below(4))));
    }
    case Category::kLogAbsorption: {
      // Logarithms, to base e or 2, of few numbers near one and many that f32 sums with them lose.
      constexpr double kLost[] = {-16.7, -17.2, -24.1, -25.0};
      return r.Below(cells / 4 + 1) == 0 ? Encode(f, -2.0 * r.Unit()) : Encode(f, kLost[draw % 4]);
    }
    case Category::kFill: {
      // One special number everywhere.
      Random same(draw);
      return draw % 3 == 0 ? f.sign_mask() : Special(f, same);
    }
  }
  return 0;
}

uint64_t DrawInteger(int bytes, Category c, Random& r) {
  const int bits = 8 * bytes;
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  switch (c) {
    case Category::kZero:
      return 0;
    case Category::kOne:
      return 1;
    case Category::kSpecial:
    case Category::kHalfway:
    case Category::kCancellation: {
      const uint64_t kinds[] = {0, 1, mask, mask >> 1, (mask >> 1) + 1, mask - 1, 2, uint64_t{1} << (bits / 2)};
      return kinds[r.Below(std::size(kinds))] & mask;
    }
    case Category::kUniform:
    case Category::kScales:
    case Category::kSparse:
      return r.Below(100);
    case Category::kSmallInteger:
    case Category::kSubnormal:
      return (r.Below(17) - 8) & mask;
    case Category::kWide:
    case Category::kAbsorption:
    case Category::kFill:
    case Category::kRareCancellation:
    case Category::kLogAbsorption:
    case Category::kRaw:
      return r.Bits() & mask;
  }
  return 0;
}

// What a number of unknown format may be taken for.
Format Guess(int bytes, Random& r) {
  switch (bytes) {
    case 2:
      return r.Bits() & 1 ? Format::kF16 : Format::kBf16;
    case 4:
      return r.Below(4) == 0 ? Format::kU32 : Format::kF32;
    case 8:
      return r.Bits() & 1 ? Format::kF64 : Format::kU64;
    default:
      return Format::kU8;
  }
}

Category Choose(Strategy s, const Cell& cell, Category buffer, Random& r) {
  switch (s) {
    case Strategy::kUniform:
      return Category::kUniform;
    case Strategy::kScales:
      return Category::kScales;
    case Strategy::kCancellation:
      return Category::kCancellation;
    case Strategy::kSmallIntegers:
      return Category::kSmallInteger;
    case Strategy::kSprinkledSpecials:
      return r.Below(8) == 0 ? Category::kSpecial : Category::kUniform;
    case Strategy::kBuffers:
      return buffer;
    case Strategy::kHalfway:
      return Category::kHalfway;
    case Strategy::kNearCancellation:
      return cell.near ? Category::kCancellation : buffer;
    case Strategy::kWide:
      return Category::kWide;
    case Strategy::kSpecials:
      return Category::kSpecial;
    case Strategy::kSubnormal:
      return Category::kSubnormal;
    case Strategy::kSparse:
      return Category::kSparse;
    case Strategy::kNearSpecials:
      return cell.near ? Category::kSpecial : buffer;
    case Strategy::kNearSubnormal:
      return cell.near ? Category::kSubnormal : buffer;
    case Strategy::kRawBits:
      return Category::kRaw;
    case Strategy::kAbsorption:
      return cell.near || r.Bits() & 1 ? Category::kAbsorption : Category::kUniform;
    case Strategy::kFill:
      return Category::kFill;
    case Strategy::kRareCancellation:
      return buffer == Category::kOne || buffer == Category::kUniform ? buffer : Category::kRareCancellation;
    case Strategy::kLogAbsorption:
      return cell.near ? Category::kLogAbsorption : Category::kUniform;
  }
  return Category::kUniform;
}

// The category of a whole buffer.
Category OfBuffer(Random& r) {
  constexpr Category kinds[] = {Category::kZero,
                                Category::kOne,
                                Category::kUniform,
                                Category::kCancellation,
                                Category::kHalfway,
                                Category::kScales,
                                Category::kSmallInteger,
                                Category::kSparse,
                                Category::kSubnormal,
                                Category::kOne,
                                Category::kAbsorption,
                                Category::kFill,
                                Category::kRareCancellation};
  return kinds[r.Below(std::size(kinds))];
}

}  // namespace

bool IsFloatFormat(Format f) { return expr::SoftFormat(f) != nullptr; }

bool IsNanPattern(Format f, uint64_t bits) {
  const sf::Format* format = expr::SoftFormat(f);
  return format != nullptr && sf::IsNan(*format, bits);
}

bool IsZeroPattern(Format f, uint64_t bits) {
  const sf::Format* format = expr::SoftFormat(f);
  return format != nullptr && sf::IsZero(*format, bits);
}

uint64_t OnePattern(Format f, int bytes) {
  const sf::Format* format = expr::SoftFormat(f);
  if (format != nullptr) return Encode(*format, 1.0);
  return f == Format::kNone && bytes == 4 ? 0x3f800000 : 1;
}

std::string Readable(Format f, uint64_t bits, int bytes) {
  const sf::Format* format = expr::SoftFormat(f);
  if (format == nullptr) return absl::StrFormat("%u (b%d)", bits, 8 * bytes);
  if (sf::IsNan(*format, bits)) return absl::StrFormat("NaN (%s)", std::string(expr::FormatName(f)));
  const double x = std::bit_cast<double>(sf::ConvertFloat(sf::kF64, *format, bits, sf::Rounding::kRn));
  const int digits = format->fraction_bits * 31 / 100 + 3;  // enough to tell neighbours apart
  return absl::StrFormat("%.*g (%s)", digits, x, std::string(expr::FormatName(f)));
}

void Put(const Cell& cell, uint64_t bits, expr::Image* image) {
  for (int i = 0; i < cell.bytes; ++i)
    image->bytes()[cell.position + static_cast<size_t>(i)] = i < 8 ? static_cast<uint8_t>(bits >> (8 * i)) : 0;
}

void DrawVariation(uint64_t seed, const std::vector<Cell>& cells, const std::vector<size_t>& chosen,
                   expr::Image* image) {
  Random r(seed ^ 0x3c6ef372fe94f82bull);
  for (const size_t k : chosen) {
    const sf::Format* format = expr::SoftFormat(cells[k].format);
    if (cells[k].address || format == nullptr) continue;
    Put(cells[k], DrawFloat(*format, Category::kUniform, 0, chosen.size(), r), image);
  }
}

uint64_t Opposite(const Cell& cell, Format from, uint64_t bits) {
  const sf::Format *to = expr::SoftFormat(cell.format), *source = expr::SoftFormat(from);
  if (to == nullptr || source == nullptr) return 0;
  return sf::ConvertFloat(*to, *source, bits, sf::Rounding::kRn) ^ to->sign_mask();
}

void DrawContents(Strategy strategy, uint64_t seed, const std::vector<Cell>& cells, expr::Image* image) {
  Random r(seed * kStrategies + static_cast<uint64_t>(strategy));
  const uint64_t draw = r.Bits() >> 8;
  expr::BufferId buffer = 0;
  Category category = Category::kUniform;
  for (const Cell& cell : cells) {
    if (cell.buffer != buffer || &cell == cells.data()) {
      buffer = cell.buffer;
      category = OfBuffer(r);
    }
    if (cell.address) {
      Put(cell, r.Below(2) == 0 ? 0 : r.Below(4), image);
      continue;
    }
    Category c = Choose(strategy, cell, category, r);
    // The first number of a row is often the one that its first output follows.
    if (c == Category::kLogAbsorption && &cell == cells.data()) c = Category::kUniform;
    const Format f = cell.format == Format::kNone ? Guess(cell.bytes, r) : cell.format;
    const sf::Format* format = expr::SoftFormat(f);
    Put(cell,
        format != nullptr && format->bits == 8 * cell.bytes ? DrawFloat(*format, c, draw, cells.size(), r)
                                                            : DrawInteger(std::min<int>(cell.bytes, 8), c, r),
        image);
  }
}

std::vector<Strategy> OrderFor(Fn fn, uint64_t attr_a, uint64_t attr_b) {
  std::vector<Strategy> order;
  if ((attr_a ^ attr_b) & Attr::kFtz) {
    order.push_back(Strategy::kNearSubnormal);
    order.push_back(Strategy::kSubnormal);
  }
  switch (fn) {
    case Fn::kFMin:
    case Fn::kFMax:
    case Fn::kFCompare:
    case Fn::kSelect:
    case Fn::kFToInt:
    case Fn::kFConvert:
    case Fn::kFNeg:
    case Fn::kFAbs:
    case Fn::kSignFlip:
    case Fn::kFTest:
    case Fn::kLeaf:
    case Fn::kConcat:
      order.push_back(Strategy::kSmallIntegers);
      order.push_back(Strategy::kUniform);
      order.push_back(Strategy::kNearSpecials);
      break;
    case Fn::kIAdd:
    case Fn::kIMul:
    case Fn::kIMulHi:
    case Fn::kIDiv:
    case Fn::kIRem:
    case Fn::kIMin:
    case Fn::kIMax:
    case Fn::kAnd:
    case Fn::kOr:
    case Fn::kXor:
    case Fn::kNot:
    case Fn::kShl:
    case Fn::kShr:
    case Fn::kSar:
    case Fn::kICompare:
    case Fn::kIsa:
    case Fn::kExtract:
    case Fn::kSignExtend:
      order.push_back(Strategy::kSmallIntegers);
      order.push_back(Strategy::kRawBits);
      break;
    default:
      break;
  }
  for (int s = 0; s < kStrategies; ++s) order.push_back(static_cast<Strategy>(s));
  return order;
}

}  // namespace samebits::checker
