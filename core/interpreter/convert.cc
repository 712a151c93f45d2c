#include "core/softfloat/convert.h"

#include <optional>

#include "core/interpreter/block.h"

namespace samebits::interpreter {

namespace sf = softfloat;

namespace {

std::optional<sf::Rounding> IntegerRounding(const Site& site) {
  if (site.Has(Mod::kRni)) return sf::Rounding::kRn;
  if (site.Has(Mod::kRzi)) return sf::Rounding::kRz;
  if (site.Has(Mod::kRmi)) return sf::Rounding::kRm;
  if (site.Has(Mod::kRpi)) return sf::Rounding::kRp;
  return std::nullopt;
}

sf::Rounding FloatRounding(const Site& site) {
  if (site.Has(Mod::kRz)) return sf::Rounding::kRz;
  if (site.Has(Mod::kRm)) return sf::Rounding::kRm;
  if (site.Has(Mod::kRp)) return sf::Rounding::kRp;
  if (site.Has(Mod::kRna)) return sf::Rounding::kRna;
  return sf::Rounding::kRn;
}

bool IsNarrow(const sf::Format& format) {  // formats whose conversions always saturate to finite
  return format.bits <= 8;
}

}  // namespace

uint64_t Block::ConvertElement(const Site& site, const TypeShape& to, const TypeShape& from, uint64_t bits) {
  const sf::ConvertFlags flags{.ftz = site.Has(Mod::kFtz),
                               .sat = site.Has(Mod::kSat),
                               .satfinite = site.Has(Mod::kSatfinite) || (to.format != nullptr && IsNarrow(*to.format)),
                               .relu = site.Has(Mod::kRelu)};
  const sf::IntegerType to_integer{to.bits, to.is_signed}, from_integer{from.bits, from.is_signed};
  const std::optional<sf::Rounding> integral = IntegerRounding(site);
  if (to.format != nullptr && from.format != nullptr) {
    if (!integral) return sf::ConvertFloat(*to.format, *from.format, bits, FloatRounding(site), flags);
    if (to.format->id == from.format->id) return sf::RoundToIntegral(*to.format, bits, *integral, flags);
    Unimplemented(site, "integer rounding between formats");
    return 0;
  }
  if (from.format != nullptr) {
    return sf::FloatToInteger(to_integer, *from.format, bits, integral.value_or(sf::Rounding::kRz), flags);
  }
  if (to.format != nullptr) {
    return sf::IntegerToFloat(*to.format, from_integer, bits, FloatRounding(site), flags);
  }
  return sf::ConvertInteger(to_integer, from_integer, bits, flags.sat);
}

// One source of equal count, or one source an element (first source in the upper half).
void Block::Convert(const Site& site) {
  const ScalarType to_type = site.type(0), from_type = site.type(1);
  if (site.Has(Mod::kRs)) return Unimplemented(site, "stochastic rounding");
  const TypeShape to = ShapeOf(to_type), from = ShapeOf(from_type);
  const size_t sources = site.operands.size() - 1;
  if (sources != 1 && (static_cast<int>(sources) != to.count || from.count != 1)) {
    return Unimplemented(site, "conversion of this form");
  }
  if (sources == 1 && to.count != from.count) return Unimplemented(site, "conversion of this form");
  uint64_t value = 0;
  for (int i = 0; i < to.count; ++i) {
    const size_t operand = sources == 1 ? 1 : site.operands.size() - 1 - static_cast<size_t>(i);
    const int shift = sources == 1 ? i * from.bits : 0;
    const uint64_t bits = Read(site, site.operand(operand), from_type) >> shift & LowMask(from.bits);
    value |= (ConvertElement(site, to, from, bits) & LowMask(to.bits)) << (i * to.bits);
  }
  Write(site, site.operand(0), value, to_type);
}

}  // namespace samebits::interpreter
