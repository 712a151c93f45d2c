#include <algorithm>
#include <bit>

#include "core/softfloat/convert.h"
#include "core/interpreter/block.h"

namespace samebits::interpreter {
namespace {

// The 32 x 32 or 64 x 64 product's upper half.
uint64_t HighProduct(uint64_t a, uint64_t b, int bits, bool is_signed) {
  if (is_signed) {
    const __int128 product = static_cast<__int128>(SignExtend(a, bits)) * SignExtend(b, bits);
    return static_cast<uint64_t>(product >> bits) & LowMask(bits);
  }
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> bits) & LowMask(bits);
}

uint64_t ReverseBits(uint64_t value, int bits) {
  uint64_t result = 0;
  for (int i = 0; i < bits; ++i) result |= (value >> i & 1) << (bits - 1 - i);
  return result;
}

// Position of the n-th set bit counted from `base`, as fns defines it; all ones where there is none.
uint64_t FindNthSet(uint32_t mask, uint32_t base, int32_t offset) {
  if (base > 31) return 0xffffffff;
  if (offset == 0) return InMask(mask, base) ? base : 0xffffffff;
  const int step = offset > 0 ? 1 : -1;
  int32_t left = offset > 0 ? offset : -offset;
  for (int position = static_cast<int>(base); position >= 0 && position < 32; position += step) {
    if (InMask(mask, static_cast<uint32_t>(position)) && --left == 0) return static_cast<uint64_t>(position);
  }
  return 0xffffffff;
}

uint64_t LookUp3(uint64_t a, uint64_t b, uint64_t c, uint64_t table) {
  uint64_t result = 0;
  for (int row = 0; row < 8; ++row) {
    if ((table >> row & 1) == 0) continue;
    result |= ((row & 4) != 0 ? a : ~a) & ((row & 2) != 0 ? b : ~b) & ((row & 1) != 0 ? c : ~c);
  }
  return result & 0xffffffff;
}

}  // namespace

bool Block::ExecuteInteger(const Site& site) {
  switch (site.instruction.op) {
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
    case Op::kNot:
    case Op::kCnot:
      Bitwise(site);
      return true;
    case Op::kShl:
    case Op::kShr:
      Shift(site);
      return true;
    case Op::kShf:
      FunnelShift(site);
      return true;
    case Op::kLop3:
      Lop3(site);
      return true;
    case Op::kPrmt:
      Prmt(site);
      return true;
    case Op::kBfe:
    case Op::kBfi:
    case Op::kBmsk:
    case Op::kSzext:
      BitField(site);
      return true;
    case Op::kBfind:
    case Op::kBrev:
    case Op::kPopc:
    case Op::kClz:
    case Op::kFns:
      BitScan(site);
      return true;
    case Op::kDp4a:
    case Op::kDp2a:
      DotProduct(site);
      return true;
    case Op::kMul24:
      Multiply24(site, false);
      return true;
    case Op::kMad24:
      Multiply24(site, true);
      return true;
    case Op::kSad:
      Sad(site);
      return true;
    case Op::kCvtPack:
      CvtPack(site);
      return true;
    case Op::kAddc:
    case Op::kSubc:
    case Op::kMadc:
      CarryArithmetic(site);
      return true;
    case Op::kAdd:
    case Op::kSub:
      if (!site.Has(Mod::kCc)) return false;
      CarryArithmetic(site);
      return true;
    case Op::kMul:
    case Op::kMad:
      if (isa::IsFloat(site.type())) return false;
      if (site.Has(Mod::kCc)) {
        CarryArithmetic(site);
      } else {
        WideMultiply(site, site.instruction.op == Op::kMad);
      }
      return true;
    default:
      return false;
  }
}

void Block::Bitwise(const Site& site) {
  const ScalarType type = site.type();
  const uint64_t a = Read(site, site.operand(1), type);
  const auto b = [&] { return Read(site, site.operand(2), type); };
  uint64_t value = 0;
  switch (site.instruction.op) {
    case Op::kAnd:
      value = a & b();
      break;
    case Op::kOr:
      value = a | b();
      break;
    case Op::kXor:
      value = a ^ b();
      break;
    case Op::kNot:
      value = ~a;
      break;
    default:
      value = a == 0;
      break;  // cnot
  }
  Write(site, site.operand(0), value, type);
}

void Block::Shift(const Site& site) {
  const ScalarType type = site.type();
  const int bits = isa::BitWidth(type);
  const uint64_t a = Read(site, site.operand(1), type);
  const uint64_t amount = Read(site, site.operand(2), ScalarType::kU32);
  uint64_t value = 0;
  if (site.instruction.op == Op::kShl) {
    value = amount >= static_cast<uint64_t>(bits) ? 0 : a << amount;
  } else if (isa::IsSigned(type)) {
    value = static_cast<uint64_t>(SignExtend(a, bits) >> std::min<uint64_t>(amount, bits - 1));
  } else {
    value = amount >= static_cast<uint64_t>(bits) ? 0 : a >> amount;
  }
  Write(site, site.operand(0), value, type);
}

void Block::FunnelShift(const Site& site) {
  const uint64_t low = Read(site, site.operand(1), ScalarType::kB32);
  const uint64_t high = Read(site, site.operand(2), ScalarType::kB32);
  const uint64_t c = Read(site, site.operand(3), ScalarType::kU32);
  const uint64_t amount = site.Has(Mod::kWrap) ? c & 31 : std::min<uint64_t>(c, 32);
  const uint64_t pair = high << 32 | low;
  Write(site, site.operand(0), site.Has(Mod::kL) ? pair << amount >> 32 : pair >> amount, ScalarType::kB32);
}

void Block::Lop3(const Site& site) {
  const auto read = [&](size_t i) { return Read(site, site.operand(i), ScalarType::kB32); };
  const uint64_t value = LookUp3(read(1), read(2), read(3), read(4));
  const Operand& to = site.operand(0);
  if (site.operands.size() < 6) return Write(site, to, value, ScalarType::kB32);
  const bool q = ReadPredicate(site, site.operand(5)), nonzero = value != 0;
  const bool p = site.Has(Mod::kAnd) ? nonzero && q : nonzero || q;
  if (to.kind != isa::OperandKind::kRegister) return Unimplemented(site, "destination of this kind");
  if (to.reg != isa::kNone32) WriteBits(site, to.reg, value);
  if (to.pair_reg != isa::kNone32) WriteBits(site, to.pair_reg, p);
}

void Block::Prmt(const Site& site) {
  const uint64_t a = Read(site, site.operand(1), ScalarType::kB32), b = Read(site, site.operand(2), ScalarType::kB32);
  const uint64_t control = Read(site, site.operand(3), ScalarType::kB32);
  const uint64_t source = b << 32 | a;
  const int n = static_cast<int>(control & 3);
  const auto choose = [&](int i) -> int {
    if (site.Has(Mod::kF4e)) return n + i;
    if (site.Has(Mod::kB4e)) return (n - i) & 7;
    if (site.Has(Mod::kRc8)) return n;
    if (site.Has(Mod::kEcl)) return std::max(i, n);
    if (site.Has(Mod::kEcr)) return std::min(i, n);
    if (site.Has(Mod::kRc16)) return (n & 1) * 2 + (i & 1);
    return static_cast<int>(control >> (4 * i) & 15);
  };
  uint64_t value = 0;
  for (int i = 0; i < 4; ++i) {
    const int selected = choose(i);
    uint64_t byte = source >> (8 * (selected & 7)) & 0xff;
    if ((selected & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    value |= byte << (8 * i);
  }
  Write(site, site.operand(0), value, ScalarType::kB32);
}

void Block::BitField(const Site& site) {
  const ScalarType type = site.type();
  const int bits = isa::BitWidth(type), msb = bits - 1;
  const auto read = [&](size_t i) { return Read(site, site.operand(i), ScalarType::kU32); };
  // Positions and lengths above 255 are outside the ISA; hardware takes 8 bits of them for 32-bit fields, and all for
  // 64-bit ones.
  const auto read_extent = [&](size_t i) {
    return static_cast<int>(bits == 64 ? std::min<uint64_t>(read(i), 255) : read(i) & 0xff);
  };
  const uint64_t a = Read(site, site.operand(1), type);
  uint64_t value = 0;
  switch (site.instruction.op) {
    case Op::kBfe: {
      const int position = read_extent(2), length = read_extent(3);
      const uint64_t sign = isa::IsSigned(type) && length != 0 ? a >> std::min(position + length - 1, msb) & 1 : 0;
      for (int i = 0; i <= msb; ++i) {
        const uint64_t bit = i < length && position + i <= msb ? a >> (position + i) & 1 : sign;
        value |= bit << i;
      }
      break;
    }
    case Op::kBfi: {
      value = Read(site, site.operand(2), type);
      const int position = read_extent(3), length = read_extent(4);
      for (int i = 0; i < length && position + i <= msb; ++i) {
        value = (value & ~(uint64_t{1} << (position + i))) | (a >> i & 1) << (position + i);
      }
      break;
    }
    case Op::kBmsk: {
      const bool wrap = site.Has(Mod::kWrap);
      const uint64_t position = wrap ? a & 31 : std::min<uint64_t>(a, 32);
      const uint64_t width = wrap ? read(2) & 31 : std::min<uint64_t>(read(2), 32);
      value = LowMask(static_cast<int>(width)) << position;
      break;
    }
    default: {  // szext
      const uint64_t amount = site.Has(Mod::kWrap) ? read(2) & 31 : std::min<uint64_t>(read(2), 32);
      if (amount == 0) break;
      value = isa::IsSigned(type) ? static_cast<uint64_t>(SignExtend(a, static_cast<int>(amount)))
                                  : a & LowMask(static_cast<int>(amount));
    }
  }
  Write(site, site.operand(0), value, type);
}

void Block::BitScan(const Site& site) {
  const ScalarType type = site.type();
  const int bits = isa::BitWidth(type);
  const uint64_t a = Read(site, site.operand(1), type);
  switch (site.instruction.op) {
    case Op::kBfind: {
      const bool negative = isa::IsSigned(type) && SignExtend(a, bits) < 0;
      const uint64_t scanned = negative ? ~a & LowMask(bits) : a;
      uint64_t found = scanned == 0 ? 0xffffffff : static_cast<uint64_t>(std::bit_width(scanned) - 1);
      if (site.Has(Mod::kShiftamt) && scanned != 0) found = static_cast<uint64_t>(bits) - 1 - found;
      return Write(site, site.operand(0), found, ScalarType::kU32);
    }
    case Op::kBrev:
      return Write(site, site.operand(0), ReverseBits(a, bits), type);
    case Op::kPopc:
      return Write(site, site.operand(0), static_cast<uint64_t>(std::popcount(a)), ScalarType::kU32);
    case Op::kClz:
      return Write(site, site.operand(0), static_cast<uint64_t>(bits - std::bit_width(a)), ScalarType::kU32);
    default: {  // fns
      const auto base = static_cast<uint32_t>(Read(site, site.operand(2), ScalarType::kB32));
      const auto offset = static_cast<int32_t>(Read(site, site.operand(3), ScalarType::kB32));
      return Write(site, site.operand(0), FindNthSet(static_cast<uint32_t>(a), base, offset), ScalarType::kB32);
    }
  }
}

void Block::DotProduct(const Site& site) {
  const bool four = site.instruction.op == Op::kDp4a;
  const bool a_signed = isa::IsSigned(site.type(0)), b_signed = isa::IsSigned(site.type(1));
  const uint64_t a = Read(site, site.operand(1), ScalarType::kB32), b = Read(site, site.operand(2), ScalarType::kB32);
  int64_t sum = static_cast<int64_t>(Read(site, site.operand(3), ScalarType::kB32));
  const auto byte = [](uint64_t word, int i, int width, bool is_signed) -> int64_t {
    const uint64_t bits = word >> (i * width) & LowMask(width);
    return is_signed ? SignExtend(bits, width) : static_cast<int64_t>(bits);
  };
  const int first_b = !four && site.Has(Mod::kHi) ? 2 : 0;
  for (int i = 0; i < (four ? 4 : 2); ++i) {
    sum += byte(a, i, four ? 8 : 16, a_signed) * byte(b, first_b + i, 8, b_signed);
  }
  Write(site, site.operand(0), static_cast<uint64_t>(sum), ScalarType::kB32);
}

// mul and mad of integers: .lo, .hi and .wide; mad.hi.sat.s32.
void Block::WideMultiply(const Site& site, bool add) {
  const ScalarType type = site.type();
  const int bits = isa::BitWidth(type);
  const bool is_signed = isa::IsSigned(type);
  const uint64_t a = Read(site, site.operand(1), type), b = Read(site, site.operand(2), type);
  if (site.Has(Mod::kWide)) {
    const ScalarType wide = bits == 16 ? (is_signed ? ScalarType::kS32 : ScalarType::kU32)
                                       : (is_signed ? ScalarType::kS64 : ScalarType::kU64);
    uint64_t product = is_signed ? static_cast<uint64_t>(SignExtend(a, bits) * SignExtend(b, bits)) : a * b;
    if (add) product += Read(site, site.operand(3), wide);
    return Write(site, site.operand(0), product, wide);
  }
  const uint64_t product = site.Has(Mod::kHi) ? HighProduct(a, b, bits, is_signed) : a * b;
  if (!add) return Write(site, site.operand(0), product, type);
  const uint64_t c = Read(site, site.operand(3), type);
  if (site.Has(Mod::kSat)) {
    const int64_t sum = SignExtend(product, bits) + SignExtend(c, bits);
    return Write(site, site.operand(0), static_cast<uint64_t>(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX)), type);
  }
  Write(site, site.operand(0), product + c, type);
}

// add.cc, addc, sub.cc, subc, mad.cc, madc: the carry flag holds the carry or the borrow.
void Block::CarryArithmetic(const Site& site) {
  const ScalarType type = site.type();
  const int bits = isa::BitWidth(type);
  const Op op = site.instruction.op;
  using Wide = unsigned __int128;
  Wide a = Read(site, site.operand(1), type), b = Read(site, site.operand(2), type);
  const bool takes_carry = op == Op::kAddc || op == Op::kSubc || op == Op::kMadc;
  const Wide carry = takes_carry && site.thread.carry ? 1 : 0;
  Wide sum = 0;
  if (op == Op::kMad || op == Op::kMadc) {
    const auto factor_a = static_cast<uint64_t>(a), factor_b = static_cast<uint64_t>(b);
    a = site.Has(Mod::kHi) ? HighProduct(factor_a, factor_b, bits, isa::IsSigned(type))
                           : (factor_a * factor_b) & LowMask(bits);
    b = Read(site, site.operand(3), type);
  }
  if (op == Op::kSub || op == Op::kSubc) {
    sum = a - b - carry;
  } else {
    sum = a + b + carry;
  }
  if (site.Has(Mod::kCc)) site.thread.carry = (sum >> bits & 1) != 0;
  Write(site, site.operand(0), static_cast<uint64_t>(sum), type);
}

void Block::Multiply24(const Site& site, bool add) {
  const bool is_signed = isa::IsSigned(site.type());
  const auto factor = [&](size_t i) -> int64_t {
    const uint64_t bits = Read(site, site.operand(i), ScalarType::kB32) & 0xffffff;
    return is_signed ? SignExtend(bits, 24) : static_cast<int64_t>(bits);
  };
  const int64_t product = factor(1) * factor(2);
  int64_t value = site.Has(Mod::kHi) ? product >> 16 : product;
  if (add) {
    const uint64_t c = Read(site, site.operand(3), ScalarType::kB32);
    value = static_cast<int32_t>(value);
    value += is_signed ? SignExtend(c, 32) : static_cast<int64_t>(c);
    if (site.Has(Mod::kSat)) value = std::clamp<int64_t>(value, INT32_MIN, INT32_MAX);
  }
  Write(site, site.operand(0), static_cast<uint64_t>(value), site.type());
}

void Block::Sad(const Site& site) {
  const ScalarType type = site.type();
  const int bits = isa::BitWidth(type);
  const uint64_t a = Read(site, site.operand(1), type), b = Read(site, site.operand(2), type);
  const bool less = isa::IsSigned(type) ? SignExtend(a, bits) < SignExtend(b, bits) : a < b;
  Write(site, site.operand(0), Read(site, site.operand(3), type) + (less ? b - a : a - b), type);
}

// cvt.pack.sat.to.from{.b32} d, a, b{, c}: the packed pair below, and c moved up where the elements are narrow.
void Block::CvtPack(const Site& site) {
  const ScalarType to = site.type(0), from = site.type(1);
  const int bits = isa::BitWidth(to);
  const auto clamp = [&](size_t i) {
    return softfloat::ConvertInteger({bits, isa::IsSigned(to)}, {32, isa::IsSigned(from)},
                                     Read(site, site.operand(i), ScalarType::kB32), true);
  };
  uint64_t value = clamp(1) << bits | clamp(2);
  if (site.operands.size() > 3) value |= Read(site, site.operand(3), ScalarType::kB32) << (2 * bits);
  Write(site, site.operand(0), value, ScalarType::kB32);
}

}  // namespace samebits::interpreter
