#include <algorithm>

#include "core/softfloat/convert.h"
#include "core/interpreter/block.h"

namespace samebits::interpreter {

namespace sf = softfloat;
using isa::OperandKind;
using isa::Special;

TypeShape ShapeOf(ScalarType type) {
  switch (type) {
    case ScalarType::kF16:
      return {&sf::kF16, 16, 1, true};
    case ScalarType::kBf16:
      return {&sf::kBf16, 16, 1, true};
    case ScalarType::kTf32:
      return {&sf::kTf32, 32, 1, true};
    case ScalarType::kF32:
      return {&sf::kF32, 32, 1, true};
    case ScalarType::kF64:
      return {&sf::kF64, 64, 1, true};
    case ScalarType::kF16x2:
      return {&sf::kF16, 16, 2, true};
    case ScalarType::kBf16x2:
      return {&sf::kBf16, 16, 2, true};
    case ScalarType::kF32x2:
      return {&sf::kF32, 32, 2, true};
    case ScalarType::kE4m3:
      return {&sf::kE4m3, 8, 1, true};
    case ScalarType::kE5m2:
      return {&sf::kE5m2, 8, 1, true};
    case ScalarType::kE4m3x2:
      return {&sf::kE4m3, 8, 2, true};
    case ScalarType::kE5m2x2:
      return {&sf::kE5m2, 8, 2, true};
    case ScalarType::kE2m3x2:
      return {&sf::kE2m3, 8, 2, true};
    case ScalarType::kE3m2x2:
      return {&sf::kE3m2, 8, 2, true};
    case ScalarType::kE2m1x2:
      return {&sf::kE2m1, 4, 2, true};
    case ScalarType::kUe8m0x2:
      return {&sf::kUe8m0, 8, 2, false};
    case ScalarType::kU16x2:
      return {nullptr, 16, 2, false};
    case ScalarType::kS16x2:
      return {nullptr, 16, 2, true};
    case ScalarType::kU8x4:
      return {nullptr, 8, 4, false};
    case ScalarType::kS8x4:
      return {nullptr, 8, 4, true};
    default:
      return {nullptr, isa::BitWidth(type), 1, isa::IsSigned(type)};
  }
}

int Block::RegisterBits(const Site& site, uint32_t reg) const {
  return isa::BitWidth(site.function.registers[reg].type);
}

std::span<const Operand> Block::Elements(const Site& site, const Operand& operand) const {
  if (operand.kind != OperandKind::kVector) return {&operand, 1};
  return std::span<const Operand>(site.function.operand_pool).subspan(operand.first, operand.count);
}

uint64_t Block::Read(const Site& site, const Operand& operand, ScalarType type) {
  const int bits = isa::BitWidth(type);
  switch (operand.kind) {
    case OperandKind::kRegister: {
      const uint64_t value = site.thread.frame().registers[operand.reg];
      return (operand.negated ? ~value : value) & LowMask(bits);
    }
    case OperandKind::kImmediate:
      return ReadImmediate(operand, type);
    case OperandKind::kSpecial:
      return ReadSpecial(site, operand.special) & LowMask(bits);
    case OperandKind::kSymbol:
      return ReadSymbol(site, operand) & LowMask(bits);
    case OperandKind::kAddress:
    case OperandKind::kVector:
    case OperandKind::kLabel:
    case OperandKind::kSink:
      Unimplemented(site, "operand of this kind has no value");
      return 0;
  }
  return 0;
}

uint64_t Block::Read(const Site& site, const Operand& operand, int bits) {
  const ScalarType type = bits == 64   ? ScalarType::kB64
                          : bits == 32 ? ScalarType::kB32
                          : bits == 16 ? ScalarType::kB16
                                       : ScalarType::kB8;
  return Read(site, operand, type);
}

bool Block::ReadPredicate(const Site& site, const Operand& operand) {
  return (Read(site, operand, ScalarType::kPred) & 1) != 0;
}

uint64_t Block::ReadImmediate(const Operand& operand, ScalarType type) {
  const uint64_t bits = static_cast<uint64_t>(operand.imm);
  if (type == ScalarType::kPred) return bits != 0;
  if (!operand.is_float) return bits & LowMask(isa::BitWidth(type));
  const sf::Format& from = operand.float_bits == 32 ? sf::kF32 : sf::kF64;
  const TypeShape shape = ShapeOf(type);
  const sf::Format* to = shape.format;
  if (to == nullptr && shape.bits == 32) to = &sf::kF32;
  if (to == nullptr || to->id == from.id || shape.count != 1) return bits & LowMask(isa::BitWidth(type));
  return sf::ConvertFloat(*to, from, bits, sf::Rounding::kRn);
}

uint64_t Block::ReadSymbol(const Site& site, const Operand& operand) {
  const isa::Symbol& symbol = program_.module->symbols[operand.symbol];
  if (symbol.kind == isa::Symbol::Kind::kFunction) return kFunctionWindow + kFunctionStride * symbol.function;
  if (symbol.kind == isa::Symbol::Kind::kOther) {
    Unimplemented(site, "address of a table");
    return 0;
  }
  return program_.symbol_address[operand.symbol] + static_cast<uint64_t>(operand.imm) +
         (symbol.space == StateSpace::kLocal ? site.thread.frame().local_base : 0);
}

uint64_t Block::ReadSpecial(const Site& site, Special special) {
  const Dim3 &block = program_.config->block, &grid = program_.config->grid;
  const Thread& thread = site.thread;
  const uint32_t lane = thread.lane();
  switch (special) {
    case Special::kTidX:
      return thread.tid[0];
    case Special::kTidY:
      return thread.tid[1];
    case Special::kTidZ:
      return thread.tid[2];
    case Special::kNtidX:
      return block[0];
    case Special::kNtidY:
      return block[1];
    case Special::kNtidZ:
      return block[2];
    case Special::kCtaidX:
    case Special::kClusteridX:
      return index_[0];
    case Special::kCtaidY:
    case Special::kClusteridY:
      return index_[1];
    case Special::kCtaidZ:
    case Special::kClusteridZ:
      return index_[2];
    case Special::kNctaidX:
    case Special::kNclusteridX:
      return grid[0];
    case Special::kNctaidY:
    case Special::kNclusteridY:
      return grid[1];
    case Special::kNctaidZ:
    case Special::kNclusteridZ:
      return grid[2];
    case Special::kLaneid:
      return lane;
    case Special::kWarpid:
      return thread.index / 32;
    case Special::kNwarpid:
      return (threads_.size() + 31) / 32;
    case Special::kLanemaskEq:
      return uint32_t{1} << lane;
    case Special::kLanemaskLe:
      return LowMask(static_cast<int>(lane) + 1);
    case Special::kLanemaskLt:
      return LowMask(static_cast<int>(lane));
    case Special::kLanemaskGe:
      return ~LowMask(static_cast<int>(lane)) & 0xffffffff;
    case Special::kLanemaskGt:
      return ~LowMask(static_cast<int>(lane) + 1) & 0xffffffff;
    case Special::kDynamicSmemSize:
      return program_.config->shared_bytes;
    case Special::kTotalSmemSize:
      return program_.shared_end - kSharedBase;
    case Special::kClusterCtaidX:
    case Special::kClusterCtaidY:
    case Special::kClusterCtaidZ:
    case Special::kClusterCtarank:
    case Special::kIsExplicitCluster:
      return 0;
    case Special::kClusterNctaidX:
    case Special::kClusterNctaidY:
    case Special::kClusterNctaidZ:
    case Special::kClusterNctarank:
      return 1;
    case Special::kOther:
    case Special::kSmid:
    case Special::kNsmid:
    case Special::kGridid:
    case Special::kClock:
    case Special::kClockHi:
    case Special::kClock64:
    case Special::kGlobaltimer:
    case Special::kGlobaltimerLo:
    case Special::kGlobaltimerHi:
    case Special::kAggrSmemSize:
      break;
  }
  Unimplemented(site, "special register has no fixed value");
  return 0;
}

void Block::WriteBits(const Site& site, uint32_t reg, uint64_t value) {
  const int bits = RegisterBits(site, reg);
  if (bits > 64) return Unimplemented(site, "128-bit register");
  site.thread.frame().registers[reg] = value & LowMask(bits);
}

void Block::Write(const Site& site, const Operand& operand, uint64_t value, ScalarType type) {
  if (operand.kind == OperandKind::kSink) return;
  if (operand.kind != OperandKind::kRegister) return Unimplemented(site, "destination of this kind");
  const int bits = isa::BitWidth(type);
  value &= LowMask(bits);
  if (isa::IsSigned(type)) value = static_cast<uint64_t>(SignExtend(value, bits));
  WriteBits(site, operand.reg, value);
}

void Block::WritePredicates(const Site& site, const Operand& operand, bool first, bool second) {
  if (operand.kind == OperandKind::kSink) return;
  if (operand.kind != OperandKind::kRegister) return Unimplemented(site, "destination of this kind");
  if (operand.reg != isa::kNone32) WriteBits(site, operand.reg, first);
  if (operand.pair_reg != isa::kNone32) WriteBits(site, operand.pair_reg, second);
}

}  // namespace samebits::interpreter
