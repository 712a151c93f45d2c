#include <algorithm>

#include "core/softfloat/compare.h"
#include "core/interpreter/block.h"

namespace samebits::interpreter {

bool Block::IsCollective(Op op) {
  switch (op) {
    case Op::kShfl:
    case Op::kVote:
    case Op::kMatch:
    case Op::kReduxSync:
    case Op::kElectSync:
    case Op::kBarWarpSync:
    case Op::kLdmatrix:
    case Op::kStmatrix:
    case Op::kMovmatrix:
    case Op::kMma:
    case Op::kWmmaLoad:
    case Op::kWmmaStore:
    case Op::kWmmaMma:
    case Op::kWgmmaMmaAsync:
      return true;
    default:
      return false;
  }
}

uint32_t Block::MemberMask(const Site& site) {
  const auto read = [&](size_t i) { return static_cast<uint32_t>(Read(site, site.operand(i), ScalarType::kB32)); };
  switch (site.instruction.op) {
    case Op::kBarWarpSync:
      return read(0);
    case Op::kElectSync:
      return read(1);
    case Op::kReduxSync:
      return read(2);
    case Op::kVote:
    case Op::kMatch:
    case Op::kShfl:
      if (site.Has(Mod::kSync)) return read(site.instruction.op == Op::kShfl ? 4 : 2);
      Unimplemented(site, "warp instruction without .sync");
      return 0xffffffff;
    default:
      return 0xffffffff;
  }
}

void Block::ExecuteCollective(Lanes lanes) {
  switch (At(*lanes[0]).instruction.op) {
    case Op::kShfl:
      return Shuffle(lanes);
    case Op::kVote:
      return Vote(lanes);
    case Op::kMatch:
      return Match(lanes);
    case Op::kReduxSync:
      return Reduce(lanes);
    case Op::kElectSync:
      return Elect(lanes);
    case Op::kLdmatrix:
      return LoadMatrix(lanes);
    case Op::kStmatrix:
      return StoreMatrix(lanes);
    case Op::kMovmatrix:
      return TransposeMatrix(lanes);
    case Op::kMma:
      return Mma(lanes);
    case Op::kWmmaLoad:
      return WmmaLoad(lanes);
    case Op::kWmmaStore:
      return WmmaStore(lanes);
    case Op::kWmmaMma:
      return WmmaMma(lanes);
    case Op::kWgmmaMmaAsync:
      return Wgmma(lanes);
    default:
      return;  // bar.warp.sync
  }
}

void Block::Shuffle(Lanes lanes) {
  std::array<uint64_t, 32> values{};
  uint32_t present = 0;
  for (Thread* thread : lanes) {
    const Site site = At(*thread);
    values[thread->lane()] = Read(site, site.operand(1), ScalarType::kB32);
    present |= uint32_t{1} << thread->lane();
  }
  for (Thread* thread : lanes) {
    const Site site = At(*thread);
    const int lane = static_cast<int>(thread->lane());
    const int b = static_cast<int>(Read(site, site.operand(2), ScalarType::kB32) & 31);
    const uint64_t c = Read(site, site.operand(3), ScalarType::kB32);
    const int clamp = static_cast<int>(c & 31), segment = static_cast<int>(c >> 8 & 31);
    const int last = (lane & segment) | (clamp & ~segment), first = lane & segment;
    int source = 0;
    bool in_range = false;
    if (site.Has(Mod::kUp)) {
      source = lane - b;
      in_range = source >= last;
    } else if (site.Has(Mod::kDown)) {
      source = lane + b;
      in_range = source <= last;
    } else if (site.Has(Mod::kBfly)) {
      source = lane ^ b;
      in_range = source <= last;
    } else {
      source = first | (b & ~segment);
      in_range = source <= last;
    }
    if (!in_range) source = lane;
    if (!InMask(present, static_cast<uint32_t>(source))) {
      return Fail(site, absl::StatusCode::kFailedPrecondition, "reads a lane that takes no part");
    }
    const Operand& to = site.operand(0);
    if (to.kind != isa::OperandKind::kRegister) continue;
    if (to.reg != isa::kNone32) WriteBits(site, to.reg, values[source]);
    if (to.pair_reg != isa::kNone32) WriteBits(site, to.pair_reg, in_range);
  }
}

void Block::Vote(Lanes lanes) {
  uint32_t ballot = 0, present = 0;
  for (Thread* thread : lanes) {
    const Site site = At(*thread);
    const uint32_t bit = uint32_t{1} << thread->lane();
    present |= bit;
    if (ReadPredicate(site, site.operand(1))) ballot |= bit;
  }
  for (Thread* thread : lanes) {
    const Site site = At(*thread);
    if (site.Has(Mod::kBallot)) {
      Write(site, site.operand(0), ballot, ScalarType::kB32);
    } else {
      const bool value = site.Has(Mod::kAll)   ? ballot == present
                         : site.Has(Mod::kAny) ? ballot != 0
                                               : ballot == 0 || ballot == present;
      WritePredicates(site, site.operand(0), value, false);
    }
  }
}

void Block::Match(Lanes lanes) {
  std::array<uint64_t, 32> values{};
  uint32_t present = 0;
  for (Thread* thread : lanes) {
    const Site site = At(*thread);
    values[thread->lane()] = Read(site, site.operand(1), site.type());
    present |= uint32_t{1} << thread->lane();
  }
  for (Thread* thread : lanes) {
    const Site site = At(*thread);
    uint32_t equal = 0;
    for (uint32_t lane = 0; lane < 32; ++lane) {
      if (InMask(present, lane) && values[lane] == values[thread->lane()]) equal |= uint32_t{1} << lane;
    }
    const Operand& to = site.operand(0);
    if (to.kind != isa::OperandKind::kRegister) continue;
    const bool all = equal == present;
    if (to.reg != isa::kNone32) WriteBits(site, to.reg, site.Has(Mod::kAny) || all ? equal : 0);
    if (to.pair_reg != isa::kNone32) WriteBits(site, to.pair_reg, all);
  }
}

void Block::Reduce(Lanes lanes) {
  const Site first = At(*lanes[0]);
  const ScalarType type = first.type();
  const TypeShape shape = ShapeOf(type);
  const softfloat::MinMaxFlags flags{false, first.Has(Mod::kPropagateNan), false};
  uint64_t value = 0;
  for (size_t i = 0; i < lanes.size(); ++i) {
    const Site site = At(*lanes[i]);
    uint64_t x = Read(site, site.operand(1), type);
    if (shape.format != nullptr && first.Has(Mod::kAbs)) x = softfloat::Abs(*shape.format, x);
    if (i == 0) {
      value = x;
    } else if (shape.format != nullptr) {
      value = first.Has(Mod::kMin) ? softfloat::Min(*shape.format, value, x, flags)
                                   : softfloat::Max(*shape.format, value, x, flags);
    } else if (first.Has(Mod::kAdd)) {
      value += x;
    } else if (first.Has(Mod::kAnd)) {
      value &= x;
    } else if (first.Has(Mod::kOr)) {
      value |= x;
    } else if (first.Has(Mod::kXor)) {
      value ^= x;
    } else {
      const bool less = shape.is_signed ? SignExtend(x, 32) < SignExtend(value, 32) : x < value;
      if (less == first.Has(Mod::kMin)) value = x;
    }
  }
  for (Thread* thread : lanes) {
    const Site site = At(*thread);
    Write(site, site.operand(0), value, type);
  }
}

void Block::Elect(Lanes lanes) {
  const uint32_t leader = lanes[0]->lane();
  for (Thread* thread : lanes) {
    const Site site = At(*thread);
    const Operand& to = site.operand(0);
    if (to.kind != isa::OperandKind::kRegister) continue;
    if (to.reg != isa::kNone32) WriteBits(site, to.reg, leader);
    if (to.pair_reg != isa::kNone32) WriteBits(site, to.pair_reg, thread->lane() == leader);
  }
}

// ldmatrix of 8x8 matrices of 16-bit elements: lanes 8i to 8i+7 give the rows of matrix i.
void Block::LoadMatrix(Lanes lanes) {
  const Site first = At(*lanes[0]);
  const int count = first.instruction.xcount;
  if (lanes.size() != 32 || first.instruction.m != 8 || first.instruction.n != 8 || isa::BitWidth(first.type()) != 16 ||
      (count != 1 && count != 2 && count != 4)) {
    return Unimplemented(first, "matrix load of this form");
  }
  std::array<std::array<std::array<uint64_t, 8>, 8>, 4> matrices{};
  for (int matrix = 0; matrix < count; ++matrix) {
    for (int row = 0; row < 8; ++row) {
      const Site site = At(*lanes[matrix * 8 + row]);
      const uint64_t address = Address(site, site.operand(1));
      if (Locate(site, SpaceOf(site), address, 16, false) == nullptr) return;
      for (int column = 0; column < 8; ++column) {
        matrices[matrix][row][column] = LoadBits(site, SpaceOf(site), address + 2 * column, 2);
      }
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    const Site site = At(*lanes[lane]);
    const std::span<const Operand> targets = Elements(site, site.operand(0));
    if (targets.size() != static_cast<size_t>(count)) return Unimplemented(site, "register count differs");
    const int row = lane / 4, column = lane % 4 * 2;
    for (int matrix = 0; matrix < count; ++matrix) {
      const auto& m = matrices[matrix];
      const bool transposed = site.Has(Mod::kTrans);
      const uint64_t low = transposed ? m[column][row] : m[row][column];
      const uint64_t high = transposed ? m[column + 1][row] : m[row][column + 1];
      Write(site, targets[matrix], high << 16 | low, ScalarType::kB32);
    }
  }
}

void Block::StoreMatrix(Lanes lanes) {
  const Site first = At(*lanes[0]);
  const int count = first.instruction.xcount;
  if (lanes.size() != 32 || first.instruction.m != 8 || first.instruction.n != 8 || isa::BitWidth(first.type()) != 16 ||
      (count != 1 && count != 2 && count != 4)) {
    return Unimplemented(first, "matrix store of this form");
  }
  for (int matrix = 0; matrix < count; ++matrix) {
    std::array<std::array<uint64_t, 8>, 8> m{};
    for (int lane = 0; lane < 32; ++lane) {
      const Site site = At(*lanes[lane]);
      const std::span<const Operand> sources = Elements(site, site.operand(1));
      if (sources.size() != static_cast<size_t>(count)) return Unimplemented(site, "register count differs");
      const uint64_t pair = Read(site, sources[matrix], ScalarType::kB32);
      const int row = lane / 4, column = lane % 4 * 2;
      for (int half = 0; half < 2; ++half) {
        const uint64_t value = pair >> (16 * half) & 0xffff;
        (site.Has(Mod::kTrans) ? m[column + half][row] : m[row][column + half]) = value;
      }
    }
    for (int row = 0; row < 8; ++row) {
      const Site site = At(*lanes[matrix * 8 + row]);
      const uint64_t address = Address(site, site.operand(0));
      if (Locate(site, SpaceOf(site), address, 16, true) == nullptr) return;
      for (int column = 0; column < 8; ++column) {
        StoreBits(site, SpaceOf(site), address + 2 * column, 2, m[row][column]);
      }
    }
  }
}

void Block::TransposeMatrix(Lanes lanes) {
  if (lanes.size() != 32) return Unimplemented(At(*lanes[0]), "partial warp");
  std::array<std::array<uint64_t, 8>, 8> m{};
  for (int lane = 0; lane < 32; ++lane) {
    const Site site = At(*lanes[lane]);
    const uint64_t pair = Read(site, site.operand(1), ScalarType::kB32);
    m[lane / 4][lane % 4 * 2] = pair & 0xffff;
    m[lane / 4][lane % 4 * 2 + 1] = pair >> 16;
  }
  for (int lane = 0; lane < 32; ++lane) {
    const Site site = At(*lanes[lane]);
    const uint64_t value = m[lane % 4 * 2 + 1][lane / 4] << 16 | m[lane % 4 * 2][lane / 4];
    Write(site, site.operand(0), value, ScalarType::kB32);
  }
}

}  // namespace samebits::interpreter
