#include "core/interpreter/amdgcn/wave.h"

#include <bit>

#include "absl/strings/str_cat.h"
#include "core/isa/amdgcn/op_table.h"
#include "core/softfloat/convert.h"

namespace samebits::interpreter::amdgcn {

namespace ia = isa::amdgcn;
namespace sf = softfloat;
using ia::Op;
using ia::OperandKind;
using ia::SdwaSel;

Wave::Wave(Block* block, int lanes)
    : block_(*block), overflow16_(block->kernel->fp16_overflow), live_(lanes >= 64 ? ~uint64_t{0} : (uint64_t{1} << lanes) - 1),
      vector_(512 * kLanes), dpp_(kLanes) {
  set_exec(live_);
}

absl::Status Wave::Fail(absl::StatusCode code, std::string what) const {
  const auto& code_lines = block_.kernel->instructions;
  const uint32_t line = pc_ < code_lines.size() ? code_lines[pc_].line : 0;
  const std::string name = pc_ < code_lines.size() ? std::string(code_lines[pc_].name) : "";
  return absl::Status(code, absl::StrCat("line ", line, ": '", name, "': ", what));
}

absl::Status Wave::Run() {
  const auto& code = block_.kernel->instructions;
  while (state_ == State::kRuns) {
    if (pc_ >= code.size()) return Fail(absl::StatusCode::kOutOfRange, "the kernel runs past its last instruction");
    if (++block_.steps > block_.max_steps) return Fail(absl::StatusCode::kResourceExhausted, "limit max_steps reached");
    if (absl::Status s = Step(code[pc_]); !s.ok()) return s;
  }
  return absl::OkStatus();
}

uint32_t Wave::Get(uint16_t reg, int lane) const {
  if (reg >= ia::kFirstVgpr) return vector_[static_cast<size_t>(reg - ia::kFirstVgpr) * kLanes + static_cast<size_t>(lane)];
  if (reg == ia::kExecLo) return exec_lo_;
  if (reg == ia::kExecHi) return exec_hi_;
  if (reg == ia::kScc) return scc_;
  return scalar_[reg & 127];
}

void Wave::Put(uint16_t reg, int lane, uint32_t value) {
  if (reg >= ia::kFirstVgpr) vector_[static_cast<size_t>(reg - ia::kFirstVgpr) * kLanes + static_cast<size_t>(lane)] = value;
  else if (reg == ia::kExecLo) exec_lo_ = value & static_cast<uint32_t>(live_);
  else if (reg == ia::kExecHi) exec_hi_ = value & static_cast<uint32_t>(live_ >> 32);
  else scalar_[reg & 127] = value;
}

uint64_t Wave::Mask(const Operand& o) const {
  if (o.kind == OperandKind::kImmediate) return static_cast<uint64_t>(o.imm);
  return static_cast<uint64_t>(Get(static_cast<uint16_t>(o.reg + 1), 0)) << 32 | Get(o.reg, 0);
}

void Wave::SetMask(const Operand& o, uint64_t v) {
  Put(o.reg, 0, static_cast<uint32_t>(v));
  Put(static_cast<uint16_t>(o.reg + 1), 0, static_cast<uint32_t>(v >> 32));
}

uint64_t Wave::Wide(const Operand& o, int lane, bool is_f64) const {
  if (o.kind == OperandKind::kRegister)
    return static_cast<uint64_t>(Get(static_cast<uint16_t>(o.reg + 1), lane)) << 32 | Get(o.reg, lane);
  if (is_f64 && o.is_float) return std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(o.imm))));
  if (is_f64 && (o.imm < -16 || o.imm > 64)) return static_cast<uint64_t>(o.imm) << 32;
  if (o.imm < -16 || o.imm > 64) return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(o.imm)));
  return static_cast<uint64_t>(o.imm);
}

int Wave::DppSource(const Instruction& in, int lane) const {
  const int row = lane / 16 * 16, at = lane % 16, n = in.dpp_value;
  switch (in.dpp) {
    case ia::DppKind::kQuadPerm: return lane / 4 * 4 + (n >> (lane % 4 * 2) & 3);
    case ia::DppKind::kRowShl: return at + n > 15 ? -1 : lane + n;
    case ia::DppKind::kRowShr: return at < n ? -1 : lane - n;
    case ia::DppKind::kRowRor: return row + (at + 16 - n) % 16;
    case ia::DppKind::kRowMirror: return row + 15 - at;
    case ia::DppKind::kRowHalfMirror: return lane / 8 * 8 + 7 - lane % 8;
    case ia::DppKind::kRowBcast15: return row == 0 ? -1 : row - 1;
    case ia::DppKind::kRowBcast31: return lane < 32 ? -1 : 31;
    case ia::DppKind::kWaveShl1: return lane == 63 ? -1 : lane + 1;
    case ia::DppKind::kWaveRol1: return lane == 63 ? 0 : lane + 1;
    case ia::DppKind::kWaveShr1: return lane - 1;
    case ia::DppKind::kWaveRor1: return lane == 0 ? 63 : lane - 1;
    case ia::DppKind::kRowNewBcast: return row + n;
    case ia::DppKind::kNone: break;
  }
  return lane;
}

bool Wave::DppWrites(const Instruction& in, int lane) const {
  if (in.dpp == ia::DppKind::kNone) return true;
  if ((in.row_mask & (1 << (lane / 16))) == 0 || (in.bank_mask & (1 << (lane / 4 % 4))) == 0) return false;
  const int from = DppSource(in, lane);
  return in.bound_ctrl || (from >= 0 && (exec() >> from & 1) != 0);
}

uint32_t Wave::Word(const Instruction& in, int source, int lane) {
  const Operand& o = in.operands[static_cast<size_t>(ia::InfoOf(in.op).destinations() + source)];
  uint32_t word;
  if (source == 0 && in.dpp != ia::DppKind::kNone) {
    const int from = DppSource(in, lane);
    word = from < 0 || (exec() >> from & 1) == 0 ? 0 : dpp_[static_cast<size_t>(from)];
  } else {
    word = o.kind == OperandKind::kRegister ? Get(o.reg, lane) : static_cast<uint32_t>(o.imm);
  }
  if (!in.sdwa || source > 1) return word;
  switch (in.src_sel[source]) {
    case SdwaSel::kDword: return word;
    case SdwaSel::kWord0: return o.sext ? static_cast<uint32_t>(static_cast<int16_t>(word)) : word & 0xffff;
    case SdwaSel::kWord1: return o.sext ? static_cast<uint32_t>(static_cast<int16_t>(word >> 16)) : word >> 16;
    default: {
      const uint32_t byte = word >> (8 * (static_cast<int>(in.src_sel[source]) - static_cast<int>(SdwaSel::kByte0))) & 0xff;
      return o.sext ? static_cast<uint32_t>(static_cast<int8_t>(byte)) : byte;
    }
  }
}

uint32_t Wave::Modified(const Operand& o, uint32_t bits, int width) const {
  const uint32_t sign = uint32_t{1} << (width - 1);
  if (o.abs) bits &= ~sign;
  if (o.neg) bits ^= sign;
  return bits;
}

uint32_t Wave::F32(const Instruction& in, int source, int lane) {
  return Modified(in.operands[static_cast<size_t>(ia::InfoOf(in.op).destinations() + source)], Word(in, source, lane), 32);
}

uint32_t Wave::F16(const Instruction& in, int source, int lane) {
  const Operand& o = in.operands[static_cast<size_t>(ia::InfoOf(in.op).destinations() + source)];
  uint32_t bits;
  if (o.kind == OperandKind::kImmediate && o.is_float)
    bits = static_cast<uint32_t>(sf::ConvertFloat(sf::kF16, sf::kF32, static_cast<uint32_t>(o.imm), sf::Rounding::kRn));
  else bits = Word(in, source, lane) >> ((in.op_sel >> source & 1) != 0 ? 16 : 0) & 0xffff;
  return Modified(o, bits, 16) & 0xffff;
}

uint64_t Wave::F64(const Instruction& in, int source, int lane) {
  const Operand& o = in.operands[static_cast<size_t>(ia::InfoOf(in.op).destinations() + source)];
  uint64_t bits = Wide(o, lane, true);
  if (o.abs) bits &= ~(uint64_t{1} << 63);
  if (o.neg) bits ^= uint64_t{1} << 63;
  return bits;
}

void Wave::Result(const Instruction& in, int lane, uint32_t value) {
  if (!DppWrites(in, lane)) return;
  const uint16_t reg = in.operands[0].reg;
  if (in.sdwa && in.dst_sel != SdwaSel::kDword) {
    const bool word = in.dst_sel == SdwaSel::kWord0 || in.dst_sel == SdwaSel::kWord1;
    const int shift = word ? (in.dst_sel == SdwaSel::kWord1 ? 16 : 0) : 8 * (static_cast<int>(in.dst_sel) - static_cast<int>(SdwaSel::kByte0));
    const uint32_t field = (word ? 0xffffu : 0xffu) << shift;
    const uint32_t rest = in.dst_unused == ia::SdwaUnused::kPreserve ? Get(reg, lane) & ~field : 0;
    value = (value << shift & field) | rest;
  }
  Put(reg, lane, value);
}

void Wave::Result16(const Instruction& in, int lane, uint32_t value) {
  const int sources = in.operand_count - ia::InfoOf(in.op).destinations();
  value &= 0xffff;
  if (in.has_op_sel && (in.op_sel >> sources & 1) != 0) value = value << 16 | (Get(in.operands[0].reg, lane) & 0xffff);
  Result(in, lane, value);
}

absl::Status Wave::Step(const Instruction& in) {
  if (in.op == Op::kUnknown || in.has_unknown_modifier) return Fail(absl::StatusCode::kUnimplemented, "not modelled");
  if (in.omod != 0) return Fail(absl::StatusCode::kUnimplemented, "output modifier");
  const uint32_t target = static_cast<uint32_t>(in.operands[0].imm);
  const uint64_t vcc = static_cast<uint64_t>(scalar_[ia::kVccHi]) << 32 | scalar_[ia::kVccLo];
  auto branch = [&](bool taken) {
    pc_ = taken ? target : pc_ + 1;
    return absl::OkStatus();
  };
  switch (ia::InfoOf(in.op).unit) {
    case ia::Unit::kBranch:
      switch (in.op) {
        case Op::kSBranch: return branch(true);
        case Op::kSCbranchScc0: return branch(!scc_);
        case Op::kSCbranchScc1: return branch(scc_);
        case Op::kSCbranchVccz: return branch((vcc & live_) == 0);
        case Op::kSCbranchVccnz: return branch((vcc & live_) != 0);
        case Op::kSCbranchExecz: return branch(exec() == 0);
        case Op::kSCbranchExecnz: return branch(exec() != 0);
        case Op::kSEndpgm: state_ = State::kEnded; return absl::OkStatus();
        default: state_ = State::kAtBarrier; ++pc_; return absl::OkStatus();
      }
    case ia::Unit::kScalar: if (absl::Status s = ScalarOp(in); !s.ok()) return s; break;
    case ia::Unit::kVector: if (absl::Status s = VectorOp(in); !s.ok()) return s; break;
    case ia::Unit::kLds: if (absl::Status s = LdsOp(in); !s.ok()) return s; break;
    case ia::Unit::kMatrix: if (absl::Status s = MatrixOp(in); !s.ok()) return s; break;
    default: if (absl::Status s = MemoryOp(in); !s.ok()) return s; break;
  }
  ++pc_;
  return absl::OkStatus();
}

}  // namespace samebits::interpreter::amdgcn
