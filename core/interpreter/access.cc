#include <algorithm>
#include <cstring>

#include "core/softfloat/arithmetic.h"
#include "core/softfloat/compare.h"
#include "core/interpreter/block.h"

namespace samebits::interpreter {

namespace sf = softfloat;
using isa::OperandKind;

bool Block::ExecuteMemory(const Site& site) {
  switch (site.instruction.op) {
    case Op::kLd:
    case Op::kLdu:
      Load(site);
      return true;
    case Op::kSt:
      Store(site);
      return true;
    case Op::kAtom:
    case Op::kRed:
      Atomic(site);
      return true;
    case Op::kCpAsync:
      CopyAsync(site);
      return true;
    case Op::kCvta:
      ConvertAddress(site);
      return true;
    case Op::kIsspacep:
      IsSpace(site);
      return true;
    default:
      return false;
  }
}

StateSpace Block::SpaceOf(const Site& site) const {
  if (site.Has(Mod::kGlobal)) return StateSpace::kGlobal;
  if (site.Has(Mod::kShared) || site.Has(Mod::kSharedCta)) return StateSpace::kShared;
  if (site.Has(Mod::kLocal)) return StateSpace::kLocal;
  if (site.Has(Mod::kConst)) return StateSpace::kConst;
  if (site.Has(Mod::kParam) || site.Has(Mod::kParamEntry) || site.Has(Mod::kParamFunc)) return StateSpace::kParam;
  return StateSpace::kNone;
}

uint64_t Block::Address(const Site& site, const Operand& operand) {
  if (operand.kind != OperandKind::kAddress) {
    Unimplemented(site, "address of this kind");
    return 0;
  }
  if (operand.symbol != isa::kNone32) return ReadSymbol(site, operand);
  if (operand.reg == isa::kNone32) return static_cast<uint64_t>(operand.imm);
  const uint64_t base = site.thread.frame().registers[operand.reg];
  return (base + static_cast<uint64_t>(operand.imm)) & LowMask(RegisterBits(site, operand.reg));
}

// The host's bytes behind an address of a state space (kNone: generic). nullptr after a failure.
uint8_t* Block::Locate(const Site& site, StateSpace space, uint64_t address, uint32_t bytes, bool write) {
  if (space == StateSpace::kNone && address >= kParamWindow) {
    space = address >= kLocalWindow    ? StateSpace::kLocal
            : address >= kSharedWindow ? StateSpace::kShared
                                       : StateSpace::kParam;
    address %= kWindowBytes;
  }
  if (space != StateSpace::kParam && address % bytes != 0) {
    Fail(site, absl::StatusCode::kOutOfRange, "misaligned access");
    return nullptr;
  }
  const auto within = [&](std::vector<uint8_t>& storage, uint64_t begin) -> uint8_t* {
    if (address < begin || address > storage.size() || bytes > storage.size() - address) return nullptr;
    return storage.data() + address;
  };
  uint8_t* found = nullptr;
  switch (space) {
    case StateSpace::kShared:
      found = within(shared_, kSharedBase);
      break;
    case StateSpace::kLocal:
      found = within(site.thread.local, 0);
      break;
    case StateSpace::kParam:
      found = within(site.thread.frame().params, 0);
      break;
    default:
      found = memory_.Find(address, bytes);
      if (found != nullptr && write) memory_.MarkWritten(address, bytes);
  }
  if (found == nullptr) Fail(site, absl::StatusCode::kOutOfRange, "access outside of every buffer");
  return found;
}

uint64_t Block::LoadBits(const Site& site, StateSpace space, uint64_t address, uint32_t bytes) {
  uint64_t value = 0;
  const uint8_t* from = Locate(site, space, address, bytes, false);
  if (from != nullptr) std::memcpy(&value, from, bytes);
  return value;
}

void Block::StoreBits(const Site& site, StateSpace space, uint64_t address, uint32_t bytes, uint64_t value) {
  uint8_t* to = Locate(site, space, address, bytes, true);
  if (to != nullptr) std::memcpy(to, &value, bytes);
}

void Block::Load(const Site& site) {
  const ScalarType type = site.type();
  const auto bytes = static_cast<uint32_t>(std::max(isa::BitWidth(type) / 8, 1));
  if (bytes > 8) return Unimplemented(site, "128-bit access");
  const StateSpace space = SpaceOf(site);
  const uint64_t address = Address(site, site.operand(1));
  const std::span<const Operand> targets = Elements(site, site.operand(0));
  if (Locate(site, space, address, bytes * static_cast<uint32_t>(targets.size()), false) == nullptr) return;
  // All elements are read before any register changes: the address register may be a target.
  std::array<uint64_t, 8> values{};
  if (targets.size() > values.size()) return Unimplemented(site, "vector of this length");
  for (size_t i = 0; i < targets.size(); ++i) values[i] = LoadBits(site, space, address + i * bytes, bytes);
  for (size_t i = 0; i < targets.size(); ++i) Write(site, targets[i], values[i], type);
}

void Block::Store(const Site& site) {
  const ScalarType type = site.type();
  const auto bytes = static_cast<uint32_t>(std::max(isa::BitWidth(type) / 8, 1));
  if (bytes > 8) return Unimplemented(site, "128-bit access");
  const StateSpace space = SpaceOf(site);
  const uint64_t address = Address(site, site.operand(0));
  const std::span<const Operand> sources = Elements(site, site.operand(1));
  if (Locate(site, space, address, bytes * static_cast<uint32_t>(sources.size()), true) == nullptr) return;
  for (size_t i = 0; i < sources.size(); ++i) {
    StoreBits(site, space, address + i * bytes, bytes, Read(site, sources[i], type));
  }
}

void Block::Atomic(const Site& site) {
  const ScalarType type = site.type();
  const auto bytes = static_cast<uint32_t>(isa::BitWidth(type) / 8);
  if (bytes > 8 || bytes == 0) return Unimplemented(site, "atomic of this width");
  const bool returns = site.instruction.op == Op::kAtom;
  const size_t at = returns ? 1 : 0;
  const StateSpace space = SpaceOf(site);
  const uint64_t address = Address(site, site.operand(at));
  const std::span<const Operand> sources = Elements(site, site.operand(at + 1));
  const std::span<const Operand> targets = Elements(site, site.operand(0));
  if (returns && targets.size() != sources.size()) return Unimplemented(site, "vector lengths differ");
  if (Locate(site, space, address, bytes * static_cast<uint32_t>(sources.size()), true) == nullptr) return;
  for (size_t i = 0; i < sources.size(); ++i) {
    const uint64_t old = LoadBits(site, space, address + i * bytes, bytes);
    const uint64_t b = Read(site, sources[i], type);
    const uint64_t c = site.Has(Mod::kCas) ? Read(site, site.operand(at + 2), type) : 0;
    const uint64_t updated = AtomicElement(site, space, old, b, c);
    if (!status_.ok()) return;
    StoreBits(site, space, address + i * bytes, bytes, updated);
    if (returns) Write(site, targets[i], old, type);
  }
}

uint64_t Block::AtomicElement(const Site& site, StateSpace space, uint64_t old, uint64_t b, uint64_t c) {
  const TypeShape shape = ShapeOf(site.type());
  if (site.Has(Mod::kExch)) return b;
  if (site.Has(Mod::kCas)) return old == b ? c : old;
  if (site.Has(Mod::kAnd)) return old & b;
  if (site.Has(Mod::kOr)) return old | b;
  if (site.Has(Mod::kXor)) return old ^ b;
  if (site.Has(Mod::kInc)) return old >= b ? 0 : old + 1;
  if (site.Has(Mod::kDec)) return old == 0 || old > b ? b : old - 1;
  uint64_t value = 0;
  for (int i = 0; i < shape.count; ++i) {
    const int shift = i * shape.bits;
    const uint64_t x = old >> shift & LowMask(shape.bits), y = b >> shift & LowMask(shape.bits);
    uint64_t result = 0;
    const bool less = shape.is_signed ? SignExtend(x, shape.bits) < SignExtend(y, shape.bits) : x < y;
    if (site.Has(Mod::kAdd) && shape.format != nullptr) {
      // The ISA: f32 sums in global memory flush subnormals, in shared memory they do not. NaNs of f64 follow hardware:
      // the unit of global memory returns one as it is.
      const bool ftz = shape.format->id == sf::FormatId::kF32 && space != StateSpace::kShared;
      const bool keeps_nan = shape.format->id == sf::FormatId::kF64 && space != StateSpace::kShared;
      if (keeps_nan && (sf::IsNan(sf::kF64, x) || sf::IsNan(sf::kF64, y))) {
        result = sf::IsNan(sf::kF64, y) ? y : x;
      } else {
        result = sf::Add(*shape.format, y, x, sf::Rounding::kRn, {.ftz = ftz});
      }
    } else if (site.Has(Mod::kAdd)) {
      result = x + y;
    } else if (site.Has(Mod::kMin)) {
      result = shape.format != nullptr ? sf::Min(*shape.format, x, y) : (less ? x : y);
    } else if (site.Has(Mod::kMax)) {
      result = shape.format != nullptr ? sf::Max(*shape.format, x, y) : (less ? y : x);
    } else {
      Unimplemented(site);
    }
    value |= (result & LowMask(shape.bits)) << shift;
  }
  return value;
}

// cp.async [dst], [src], size{, src-size | ignore-src predicate}{, policy}: bytes past src-size become zero.
void Block::CopyAsync(const Site& site) {
  const uint64_t to = Address(site, site.operand(0)), from = Address(site, site.operand(1));
  const auto size = static_cast<uint32_t>(Read(site, site.operand(2), ScalarType::kU32));
  if (size != 4 && size != 8 && size != 16) return Unimplemented(site, "copy size");
  uint64_t taken = size;
  const size_t options = site.operands.size() - 3 - (site.Has(Mod::kL2CacheHint) ? 1 : 0);
  if (options > 0) {
    const Operand& option = site.operand(3);
    const bool is_predicate =
        option.kind == OperandKind::kRegister && site.function.registers[option.reg].type == ScalarType::kPred;
    taken = is_predicate ? (ReadPredicate(site, option) ? 0 : size) : Read(site, option, ScalarType::kU32);
  }
  if (taken > size) return Fail(site, absl::StatusCode::kOutOfRange, "source size above copy size");
  uint8_t* target = Locate(site, StateSpace::kShared, to, size, true);
  if (target == nullptr) return;
  std::fill_n(target, size, uint8_t{0});
  if (from % size != 0) return Fail(site, absl::StatusCode::kOutOfRange, "misaligned access");
  if (taken == 0) return;
  const uint8_t* source = memory_.Find(from, taken);
  if (source == nullptr) return Fail(site, absl::StatusCode::kOutOfRange, "access outside of every buffer");
  std::copy_n(source, taken, target);
}

void Block::ConvertAddress(const Site& site) {
  uint64_t base = 0;
  switch (SpaceOf(site)) {
    case StateSpace::kShared:
      base = kSharedWindow;
      break;
    case StateSpace::kLocal:
      base = kLocalWindow;
      break;
    case StateSpace::kParam:
      base = kParamWindow;
      break;
    default:
      break;
  }
  const uint64_t value = Read(site, site.operand(1), site.type());
  Write(site, site.operand(0), site.Has(Mod::kTo) ? value - base : value + base, site.type());
}

void Block::IsSpace(const Site& site) {
  const uint64_t address = Read(site, site.operand(1), ScalarType::kB64);
  bool inside = false;
  switch (SpaceOf(site)) {
    case StateSpace::kShared:
      inside = address >= kSharedWindow && address < kLocalWindow;
      break;
    case StateSpace::kLocal:
      inside = address >= kLocalWindow;
      break;
    case StateSpace::kParam:
      inside = address >= kParamWindow && address < kSharedWindow;
      break;
    case StateSpace::kGlobal:
      inside = address < kParamWindow;
      break;
    default:
      return Unimplemented(site);
  }
  WritePredicates(site, site.operand(0), inside, false);
}

}  // namespace samebits::interpreter
