#include "core/expr/enclosure.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "core/expr/operation.h"
#include "core/expr/soft_format.h"
#include "core/softfloat/convert.h"
#include "core/softfloat/format.h"

namespace samebits::expr {

namespace sf = softfloat;

namespace {

// Position of a pattern that is no NaN in the order of numbers; both zeros are 0.
int64_t Rank(const sf::Format& f, uint64_t bits) {
  const auto magnitude = static_cast<int64_t>(bits & f.magnitude_mask());
  return (bits & f.sign_mask()) != 0 ? -magnitude : magnitude;
}

uint64_t Pattern(const sf::Format& f, int64_t rank) {
  return rank < 0 ? static_cast<uint64_t>(-rank) | f.sign_mask() : static_cast<uint64_t>(rank);
}

// What a value can be: one pattern, the numbers from `low` to `high` of a format, or anything.
struct Range {
  enum class Kind : uint8_t { kAny, kOne, kNumbers } kind = Kind::kAny;
  const sf::Format* format = nullptr;  // kNumbers
  uint64_t low = 0, high = 0;          // patterns; kOne: both
};

// Units in the last place by which a device may miss the stand-in, which is within one of the true value.
std::optional<int64_t> Slack(const Program::Value& v) {
  const Attr attr = Attr::Decode(v.attr);
  switch (v.fn) {
    case Fn::kFDiv:
      return attr.to == Format::kF32 ? std::optional<int64_t>(5) : std::nullopt;
    case Fn::kFRcp:
      return attr.to == Format::kF32 ? std::optional<int64_t>(3) : std::nullopt;
    case Fn::kFSqrt:
      return attr.to == Format::kF32 ? std::optional<int64_t>(5) : std::nullopt;
    case Fn::kFRsqrt:
      return attr.to == Format::kF32 ? std::optional<int64_t>(5) : std::nullopt;
    case Fn::kEx2:
      if (attr.to == Format::kF32) return 9;
      return attr.to == Format::kF16 || attr.to == Format::kBf16 ? std::optional<int64_t>(7) : std::nullopt;
    case Fn::kTanh:
      if (attr.to == Format::kF32) return 3 << 13;
      return attr.to == Format::kF16 || attr.to == Format::kBf16 ? std::optional<int64_t>(7) : std::nullopt;
    default:
      return std::nullopt;  // lg2, sin, cos: bounds are absolute
  }
}

class Bounds {
 public:
  Bounds(const Program& program, const std::vector<Evaluated>& values)
      : program_(program), values_(values), ranges_(values.size()) {
    for (ValueId i = 0; i < values_.size(); ++i) {
      const Evaluated& e = values_[i];
      if (!e.inexact && !e.undefined) {
        ranges_[i].kind = Range::Kind::kOne;
        ranges_[i].low = ranges_[i].high = static_cast<uint64_t>(e.bits);
      } else if (program_.values()[i].kind == Program::Kind::kStep) {
        ranges_[i] = StepRange(program_.values()[i]);
      }
    }
  }
  const Range& operator[](ValueId id) const { return ranges_[id]; }

 private:
  Range StepRange(const Program::Value& v) {
    if (v.fn == Fn::kSelect) return Select(v);
    if (v.fn == Fn::kMatrixStep) return Matrix(v);
    if (v.fn == Fn::kConcat) return Widened(v);
    const Attr attr = Attr::Decode(v.attr);
    const sf::Format* format = SoftFormat(attr.to);
    switch (v.fn) {
      case Fn::kFCompare:
        return Compare(v);
      case Fn::kSignFlip: {
        Range r = ranges_[program_.operand(v, 0)];
        if (r.kind != Range::Kind::kNumbers) return {};
        const uint64_t low = r.low ^ r.format->sign_mask();
        r.low = r.high ^ r.format->sign_mask();
        r.high = low;
        return r;
      }
      case Fn::kFDiv:
        if (Straddles(program_.operand(v, 1), format)) return {};
        if ((attr.flags & Attr::kApprox) != 0 && !IsModerate(ranges_[program_.operand(v, 1)])) return {};
        break;
      case Fn::kFRcp:
      case Fn::kFRsqrt:
        if (Straddles(program_.operand(v, 0), format)) return {};
        break;
      case Fn::kFAbs:
        if (Straddles(program_.operand(v, 0), format)) return {};
        break;
      case Fn::kFAdd:
      case Fn::kFMul:
      case Fn::kFFma:
      case Fn::kFSqrt:
      case Fn::kFMin:
      case Fn::kFMax:
      case Fn::kFNeg:
      case Fn::kEx2:
      case Fn::kTanh:
      case Fn::kFConvert:
        break;
      default:
        return {};
    }
    if (format == nullptr || (attr.flags & Attr::kXorsign) != 0) return {};
    return Corners(v, *format);
  }

  bool Straddles(ValueId id, const sf::Format* f) const {
    const Range& r = ranges_[id];
    if (f == nullptr || r.kind == Range::Kind::kAny) return true;
    if (sf::IsNan(*f, r.low) || sf::IsNan(*f, r.high)) return true;
    const int64_t low = Rank(*f, r.low), high = Rank(*f, r.high);
    return low <= 0 && high >= 0;
  }

  // Divisors within which div.approx keeps its bound (f32).
  static bool IsModerate(const Range& r) {
    constexpr uint64_t kLow = 0x00800000, kHigh = 0x7e800000;  // 2^-126, 2^126
    for (const uint64_t bits : {r.low, r.high}) {
      const uint64_t magnitude = bits & sf::kF32.magnitude_mask();
      if (magnitude < kLow || magnitude > kHigh) return false;
    }
    return true;
  }

  // Least and greatest result over the ends of all operands, widened where the function is approximate.
  Range Corners(const Program::Value& v, const sf::Format& format) {
    if (v.count > 3) return {};
    for (int i = 0; i < v.count; ++i)
      if (ranges_[program_.operand(v, i)].kind == Range::Kind::kAny) return {};
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (int corner = 0; corner < 1 << v.count; ++corner) {
      uint128 x[3];
      for (int i = 0; i < v.count; ++i) {
        const Range& r = ranges_[program_.operand(v, i)];
        x[i] = corner >> i & 1 ? r.high : r.low;
      }
      const Computed c = Compute(v.fn, v.attr, v.width, {x, v.count});
      const auto bits = static_cast<uint64_t>(c.bits);
      if (!c.known || sf::IsNan(format, bits)) return {};
      int64_t slack = 0;
      if (c.inexact) {
        const auto s = Slack(v);
        if (!s) return {};
        slack = *s << format.unused_low_bits;
      }
      low = std::min(low, Rank(format, bits) - slack);
      high = std::max(high, Rank(format, bits) + slack);
    }
    // Subnormal results may be flushed.
    const auto normal = static_cast<int64_t>(format.min_normal());
    if (low > 0 && low < normal) low = 0;
    if (high < 0 && high > -normal) high = 0;
    const auto infinity =
        static_cast<int64_t>(format.specials == sf::Specials::kIeee ? format.infinity() : format.max_finite());
    Range r;
    r.kind = Range::Kind::kNumbers;
    r.format = &format;
    r.low = Pattern(format, std::max(low, -infinity));
    r.high = Pattern(format, std::min(high, infinity));
    return r;
  }

  // {0:16, x:16}: the widening of a bf16.
  Range Widened(const Program::Value& v) const {
    if (v.count != 2 || v.width != 32 || (v.attr & 255) != 16) return {};
    const Range &zero = ranges_[program_.operand(v, 0)], &x = ranges_[program_.operand(v, 1)];
    if (zero.kind != Range::Kind::kOne || zero.low != 0 || x.kind != Range::Kind::kNumbers || x.format != &sf::kBf16)
      return {};
    Range r = x;
    r.format = &sf::kF32;
    r.low = x.low << 16;
    r.high = x.high << 16;
    return r;
  }

  // A comparison whose outcome no choice from the operands' ranges changes.
  Range Compare(const Program::Value& v) const {
    const Attr attr = Attr::Decode(v.attr);
    const sf::Format* f = SoftFormat(attr.from);
    const Range &a = ranges_[program_.operand(v, 0)], &b = ranges_[program_.operand(v, 1)];
    if (f == nullptr || a.kind == Range::Kind::kAny || b.kind == Range::Kind::kAny) return {};
    if (sf::IsNan(*f, a.low) || sf::IsNan(*f, b.low)) {
      if (a.kind == Range::Kind::kNumbers && b.kind == Range::Kind::kNumbers) return {};
    } else if (Rank(*f, a.low) <= Rank(*f, b.high) && Rank(*f, b.low) <= Rank(*f, a.high)) {
      return {};
    }
    const uint128 x[2] = {a.low, b.low};
    const Computed c = Compute(v.fn, v.attr, v.width, x);
    Range r;
    if (!c.known || (attr.flags & Attr::kFtz) != 0) return r;
    r.kind = Range::Kind::kOne;
    r.low = r.high = static_cast<uint64_t>(c.bits);
    return r;
  }

  Range Select(const Program::Value& v) const {
    const Range& condition = ranges_[program_.operand(v, 0)];
    const Range &a = ranges_[program_.operand(v, 1)], &b = ranges_[program_.operand(v, 2)];
    if (condition.kind == Range::Kind::kOne) return condition.low & 1 ? a : b;
    if (a.kind == Range::Kind::kAny || b.kind == Range::Kind::kAny) return {};
    const sf::Format* f = a.format != nullptr ? a.format : b.format;
    if (f == nullptr) return {};
    for (const uint64_t bits : {a.low, a.high, b.low, b.high})
      if (sf::IsNan(*f, bits)) return {};
    Range r;
    r.kind = Range::Kind::kNumbers;
    r.format = f;
    r.low = Pattern(*f, std::min(Rank(*f, a.low), Rank(*f, b.low)));
    r.high = Pattern(*f, std::max(Rank(*f, a.high), Rank(*f, b.high)));
    return r;
  }

  static double Number(const sf::Format& f, uint64_t bits) {
    return std::bit_cast<double>(sf::ConvertFloat(sf::kF64, f, bits, sf::Rounding::kRn));
  }

  // A matrix step: the exact sum's bounds, widened by what the unit may cut from each term and its own rounding.
  Range Matrix(const Program::Value& v) const {
    const auto fraction_bits = static_cast<int>(v.attr >> 8 & 255);
    const sf::Format* formats[2] = {SoftFormat(static_cast<Format>(v.attr >> 32 & 255)),
                                    SoftFormat(static_cast<Format>(v.attr >> 40 & 255))};
    if ((v.attr & 15) != 0 || v.width != 32 || formats[0] == nullptr || formats[1] == nullptr) return {};
    const int group = (v.count - 1) / 2;
    double low = 0, high = 0, total = 0;
    const auto ends = [&](ValueId id, const sf::Format& f, double* l, double* h) {
      const Range& r = ranges_[id];
      if (r.kind == Range::Kind::kAny || sf::IsNan(f, r.low) || sf::IsNan(f, r.high)) return false;
      *l = Number(f, r.low);
      *h = Number(f, r.high);
      return std::isfinite(*l) && std::isfinite(*h);
    };
    if (!ends(program_.operand(v, 0), sf::kF32, &low, &high)) return {};
    total = std::max(std::fabs(low), std::fabs(high));
    for (int k = 0; k < group; ++k) {
      double al, ah, bl, bh;
      if (!ends(program_.operand(v, 1 + k), *formats[0], &al, &ah) ||
          !ends(program_.operand(v, 1 + group + k), *formats[1], &bl, &bh))
        return {};
      const double corners[4] = {al * bl, al * bh, ah * bl, ah * bh};
      const auto [least, greatest] = std::minmax_element(corners, corners + 4);
      low += *least;
      high += *greatest;
      total += std::max(std::fabs(*least), std::fabs(*greatest));
    }
    // Each term is cut by less than 2^-fraction_bits of the largest, and results by less than 2^-12 of themselves.
    const double error = (group + 2) * std::ldexp(total, 1 - fraction_bits) + std::ldexp(total, -12) + 0x1p-126;
    Range r;
    r.kind = Range::Kind::kNumbers;
    r.format = &sf::kF32;
    const auto encode = [](double x, sf::Rounding rounding) {
      return sf::ConvertFloat(sf::kF32, sf::kF64, std::bit_cast<uint64_t>(x), rounding);
    };
    r.low = encode(low - error, sf::Rounding::kRm);
    r.high = encode(high + error, sf::Rounding::kRp);
    return r;
  }

  const Program& program_;
  const std::vector<Evaluated>& values_;
  std::vector<Range> ranges_;
};

}  // namespace

namespace {

// Whether no number is in both.
bool Apart(const Range& x, const Range& y) {
  if (x.kind == Range::Kind::kAny || y.kind == Range::Kind::kAny) return false;
  const sf::Format* f = x.format != nullptr ? x.format : y.format;
  if (f == nullptr) return x.low != y.low;
  if ((x.format != nullptr && x.format != f) || (y.format != nullptr && y.format != f)) return false;
  const bool nan_x = sf::IsNan(*f, x.low), nan_y = sf::IsNan(*f, y.low);
  if (nan_x || nan_y) return nan_x != nan_y;
  return Rank(*f, x.high) < Rank(*f, y.low) || Rank(*f, y.high) < Rank(*f, x.low);
}

}  // namespace

int FirstSurelyDifferent(const Program& program, const std::vector<Evaluated>& values,
                         const std::vector<std::pair<ValueId, ValueId>>& pairs) {
  if (program.contractible() || pairs.empty()) return -1;
  const Bounds bounds(program, values);
  for (size_t i = 0; i < pairs.size(); ++i)
    if (Apart(bounds[pairs[i].first], bounds[pairs[i].second])) return static_cast<int>(i);
  return -1;
}

bool SurelyDiffer(const Program& program, const std::vector<Evaluated>& values, ValueId a, ValueId b) {
  return FirstSurelyDifferent(program, values, {{a, b}}) == 0;
}

}  // namespace samebits::expr
