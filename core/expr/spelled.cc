// Instructions known by their spelling (PTX ISA 9.7.1, 9.7.3, 9.7.8 and 9.7.9).

#include <bit>
#include <optional>
#include <vector>

#include "core/expr/operation.h"
#include "core/softfloat/arithmetic.h"
#include "core/softfloat/cdna_arithmetic.h"
#include "core/softfloat/compare.h"
#include "core/softfloat/convert.h"

namespace samebits::expr {

namespace sf = softfloat;

namespace {

struct Spelling {
  std::vector<std::string_view> parts;
  explicit Spelling(std::string_view text) {
    for (size_t at = 0; at <= text.size();) {
      const size_t dot = std::min(text.find('.', at), text.size());
      parts.push_back(text.substr(at, dot - at));
      at = dot + 1;
    }
  }
  std::string_view op() const { return parts[0]; }
  std::string_view last() const { return parts.back(); }
  bool Has(std::string_view part) const {
    for (const std::string_view p : parts)
      if (p == part) return true;
    return false;
  }
};

// s8 to s64, u8 to u64, b8 to b64.
std::optional<sf::IntegerType> IntegerNamed(std::string_view name) {
  if (name.size() < 2 || (name[0] != 's' && name[0] != 'u' && name[0] != 'b')) return std::nullopt;
  int bits = 0;
  for (const char c : name.substr(1)) {
    if (c < '0' || c > '9' || bits > 64) return std::nullopt;
    bits = bits * 10 + (c - '0');
  }
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64) return std::nullopt;
  return sf::IntegerType{bits, name[0] == 's'};
}

uint64_t Mask(int width) { return static_cast<uint64_t>(LowBits(width)); }

uint64_t Reversed(uint64_t a, int width) {
  uint64_t r = 0;
  for (int i = 0; i < width; ++i) r |= (a >> i & 1) << (width - 1 - i);
  return r;
}

// bfind: position of the leading bit that differs from the sign; all ones where there is none.
uint64_t LeadingBit(uint64_t a, sf::IntegerType type) {
  const bool negative = type.is_signed && (a >> (type.bits - 1) & 1) != 0;
  const uint64_t scanned = (negative ? ~a : a) & Mask(type.bits);
  return scanned == 0 ? 0xffffffff : static_cast<uint64_t>(63 - std::countl_zero(scanned));
}

uint64_t FunnelShift(const Spelling& s, uint64_t low, uint64_t high, uint64_t c) {
  const uint64_t pair = high << 32 | low;
  const uint64_t amount = s.Has("wrap") ? c & 31 : std::min<uint64_t>(c, 32);
  return (s.Has("l") ? pair << amount >> 32 : pair >> amount) & 0xffffffff;
}

// Positions and lengths are 8 bits of 32-bit fields' operands, and saturate for 64-bit fields (outside the ISA's
// range).
int Extent(uint64_t v, int width) { return static_cast<int>(width == 64 ? std::min<uint64_t>(v, 255) : v & 255); }

uint64_t ExtractField(uint64_t a, int position, int length, sf::IntegerType type) {
  const int top = std::min(position + length - 1, type.bits - 1);
  const uint64_t sign = type.is_signed && length != 0 ? a >> top & 1 : 0;
  uint64_t r = 0;
  for (int i = 0; i < type.bits; ++i) {
    const bool inside = i < length && position + i < type.bits;
    r |= (inside ? a >> (position + i) & 1 : sign) << i;
  }
  return r;
}

uint64_t InsertField(uint64_t a, uint64_t b, int position, int length, int width) {
  for (int i = 0; i < length && position + i < width; ++i) {
    const int at = position + i;
    b = (b & ~(uint64_t{1} << at)) | (a >> i & 1) << at;
  }
  return b;
}

uint64_t PermuteBytes(const Spelling& s, uint64_t a, uint64_t b, uint64_t c) {
  const uint64_t source = b << 32 | a;
  const int n = static_cast<int>(c & 3);
  uint64_t r = 0;
  for (int i = 0; i < 4; ++i) {
    int pick = static_cast<int>(c >> (4 * i) & 15);
    if (s.Has("f4e"))
      pick = n + i;
    else if (s.Has("b4e"))
      pick = (n - i) & 7;
    else if (s.Has("rc8"))
      pick = n;
    else if (s.Has("ecl"))
      pick = std::max(i, n);
    else if (s.Has("ecr"))
      pick = std::min(i, n);
    else if (s.Has("rc16"))
      pick = (n & 1) * 2 + (i & 1);
    uint64_t byte = source >> (8 * (pick & 7)) & 255;
    if (pick & 8) byte = byte >> 7 ? 255 : 0;
    r |= byte << (8 * i);
  }
  return r;
}

// min and max of magnitudes with the product's sign, element by element.
Computed XorSign(const Spelling& s, std::span<const uint128> x) {
  const std::string_view type = s.last();
  const sf::Format* format = type.substr(0, 4) == "bf16"  ? &sf::kBf16
                             : type.substr(0, 3) == "f16" ? &sf::kF16
                             : type == "f32"              ? &sf::kF32
                                                          : nullptr;
  if (format == nullptr) return {0, false, false};
  const int count = type.size() > 2 && type.substr(type.size() - 2) == "x2" ? 2 : 1;
  const sf::MinMaxFlags flags{s.Has("ftz"), s.Has("NaN"), true};
  const auto pick = s.op() == "min" ? sf::Min : sf::Max;
  uint128 r = 0;
  for (int i = 0; i < count; ++i) {
    const int at = i * format->bits;
    uint64_t v = static_cast<uint64_t>(x[0] >> at) & format->mask();
    for (size_t k = 1; k < x.size(); ++k)
      v = pick(*format, v, static_cast<uint64_t>(x[k] >> at) & format->mask(), flags);
    r |= uint128{v} << at;
  }
  return {r, false, true};
}

}  // namespace

namespace {

// Instructions of AMDGCN (core/softfloat/cdna_arithmetic.h), by the names that symexec/amdgcn/ gives them.
std::optional<Computed> ComputeAmdgcn(std::string_view name, std::span<const uint128> x) {
  auto u = [&](size_t i) { return i < x.size() ? static_cast<uint32_t>(x[i]) : 0; };
  bool flag = false;
  if (name == "v_div_scale_f32") return Computed{sf::CdnaDivScale(u(0), u(1), u(2), &flag)};
  if (name == "v_div_scale_f32.vcc") {
    sf::CdnaDivScale(u(0), u(1), u(2), &flag);
    return Computed{flag};
  }
  if (name == "v_div_fmas_f32") return Computed{sf::CdnaDivFmas(u(0), u(1), u(2), (u(3) & 1) != 0)};
  if (name == "v_div_fixup_f32") return Computed{sf::CdnaDivFixup(u(0), u(1), u(2))};
  if (name == "v_ldexp_f32") return Computed{sf::CdnaLdexp(u(0), static_cast<int>(u(1)))};
  if (name == "v_fma_mix_f16")
    return Computed{sf::ConvertFloat(sf::kF16, sf::kF32, sf::Fma(sf::kF32, u(0), u(1), u(2)), sf::Rounding::kRn)};
  if (name == "v_med3_f32") return Computed{sf::CdnaMed3(u(0), u(1), u(2))};
  if (name == "v_cvt_fp8_f32" || name == "v_cvt_fp8_f32.sat" || name == "v_cvt_bf8_f32" || name == "v_cvt_bf8_f32.sat")
    return Computed{sf::ToFnuz(u(0), name[6] == 'b', name.back() == 't')};
  if (name == "v_cvt_f32_fp8" || name == "v_cvt_f32_bf8") return Computed{sf::FromFnuz(static_cast<uint8_t>(u(0)), name[10] == 'b')};
  if (name == "v_ffbh_u32") return Computed{u(0) == 0 ? 0xffffffffu : static_cast<uint32_t>(std::countl_zero(u(0)))};
  if (name == "v_ffbl_b32") return Computed{u(0) == 0 ? 0xffffffffu : static_cast<uint32_t>(std::countr_zero(u(0)))};
  if (name == "v_bfrev_b32") {
    uint32_t reversed = 0;
    for (int i = 0; i < 32; ++i) reversed |= (u(0) >> i & 1) << (31 - i);
    return Computed{reversed};
  }
  if (name == "v_cvt_f16_f32.sat")
    return Computed{sf::ConvertFloat(sf::kF16, sf::kF32, u(0), sf::Rounding::kRn, {false, false, true, false})};
  return std::nullopt;
}

}  // namespace

Computed ComputeSpelled(std::string_view spelling, std::span<const uint128> x) {
  if (spelling.substr(0, 2) == "v_")
    if (const auto computed = ComputeAmdgcn(spelling, x)) return *computed;
  const Spelling s(spelling);
  const auto word = [&x](size_t i) { return i < x.size() ? static_cast<uint64_t>(x[i]) : 0; };
  const auto exactly = [](uint64_t bits) { return Computed{bits, false, true}; };
  if ((s.op() == "min" || s.op() == "max") && s.Has("xorsign")) return XorSign(s, x);
  if (s.op() == "prmt") return exactly(PermuteBytes(s, word(0), word(1), word(2)));
  if (s.op() == "shf") return exactly(FunnelShift(s, word(0), word(1), word(2)));
  const auto type = IntegerNamed(s.last());
  if (!type) return {0, false, false};
  const int width = type->bits;
  if (s.op() == "popc") return exactly(static_cast<uint64_t>(std::popcount(word(0))));
  if (s.op() == "clz") return exactly(static_cast<uint64_t>(std::countl_zero(word(0)) - (64 - width)));
  if (s.op() == "brev") return exactly(Reversed(word(0), width));
  if (s.op() == "bfind" && !s.Has("shiftamt")) return exactly(LeadingBit(word(0), *type));
  if (s.op() == "bfe") return exactly(ExtractField(word(0), Extent(word(1), width), Extent(word(2), width), *type));
  if (s.op() == "bfi")
    return exactly(InsertField(word(0), word(1), Extent(word(2), width), Extent(word(3), width), width));
  if (s.op() == "cvt" && s.Has("sat") && s.parts.size() == 4) {
    const auto to = IntegerNamed(s.parts[2]);
    if (to) return exactly(sf::ConvertInteger(*to, *type, word(0), true));
  }
  return {0, false, false};
}

}  // namespace samebits::expr
