// Scalar instructions.

#include <bit>

#include "core/interpreter/amdgcn/wave.h"
#include "core/isa/amdgcn/op_table.h"

namespace samebits::interpreter::amdgcn {

namespace ia = isa::amdgcn;
using ia::Op;
using ia::OperandKind;

namespace {

bool Holds(ia::Compare c, int64_t a, int64_t b) {
  switch (c) {
    case ia::Compare::kEq: return a == b;
    case ia::Compare::kLt: return a < b;
    case ia::Compare::kLe: return a <= b;
    case ia::Compare::kGt: return a > b;
    case ia::Compare::kGe: return a >= b;
    default: return a != b;
  }
}

}  // namespace

absl::Status Wave::ScalarOp(const Instruction& in) {
  const auto& o = in.operands;
  auto word = [&](const Operand& x) { return x.kind == OperandKind::kRegister ? Get(x.reg, 0) : static_cast<uint32_t>(x.imm); };
  auto wide = [&](const Operand& x) { return Wide(x, 0, false); };
  auto set = [&](uint32_t v) {
    Put(o[0].reg, 0, v);
    return absl::OkStatus();
  };
  auto set64 = [&](uint64_t v) {
    SetMask(o[0], v);
    return absl::OkStatus();
  };
  auto flagged = [&](uint32_t v) {
    scc_ = v != 0;
    return set(v);
  };
  auto flagged64 = [&](uint64_t v) {
    scc_ = v != 0;
    return set64(v);
  };
  // Sources are read before anything is written.
  const uint32_t a = in.operand_count > 1 ? word(o[1]) : 0, b = in.operand_count > 2 ? word(o[2]) : 0;
  const bool is64 = in.operand_count > 1 && ia::InfoOf(in.op).shape.find('I') != std::string_view::npos;
  const uint64_t x = is64 ? wide(o[1]) : 0, y = is64 && in.operand_count > 2 ? wide(o[2]) : 0;
  const uint64_t old_exec = exec();
  switch (in.op) {
    case Op::kSNop: case Op::kSSetprio: case Op::kSSleep: case Op::kSWaitcnt: case Op::kBufferWbl2: case Op::kBufferInv:
      return absl::OkStatus();
    case Op::kSMovB32: return set(a);
    case Op::kSMovB64: return set64(x);
    case Op::kSMovkI32: return set(static_cast<uint32_t>(static_cast<int16_t>(o[1].imm)));
    case Op::kSAddkI32: {
      const int64_t sum = static_cast<int64_t>(static_cast<int32_t>(Get(o[0].reg, 0))) + static_cast<int16_t>(o[1].imm);
      scc_ = sum != static_cast<int32_t>(sum);
      return set(static_cast<uint32_t>(sum));
    }
    case Op::kSMulkI32: return set(Get(o[0].reg, 0) * static_cast<uint32_t>(static_cast<int16_t>(o[1].imm)));
    case Op::kSCmovB32: return scc_ ? set(a) : absl::OkStatus();
    case Op::kSNotB32: return flagged(~a);
    case Op::kSNotB64: return flagged64(~x);
    case Op::kSBrevB32: {
      uint32_t r = 0;
      for (int i = 0; i < 32; ++i)
        if (a & (1u << i)) r |= 0x80000000u >> i;
      return set(r);
    }
    case Op::kSFf1B32: return set(a == 0 ? ~0u : static_cast<uint32_t>(std::countr_zero(a)));
    case Op::kSFf1B64: return set(x == 0 ? ~0u : static_cast<uint32_t>(std::countr_zero(x)));
    case Op::kSFlbitB32: return set(a == 0 ? ~0u : static_cast<uint32_t>(std::countl_zero(a)));
    case Op::kSBcnt1B32: return flagged(static_cast<uint32_t>(std::popcount(a)));
    case Op::kSBcnt1B64: return flagged(static_cast<uint32_t>(std::popcount(x)));
    case Op::kSSextI8: return set(static_cast<uint32_t>(static_cast<int8_t>(a)));
    case Op::kSSextI16: return set(static_cast<uint32_t>(static_cast<int16_t>(a)));
    case Op::kSAbsI32: return flagged(static_cast<int32_t>(a) < 0 ? 0u - a : a);
    case Op::kSBitset0: return set(Get(o[0].reg, 0) & ~(1u << (a & 31)));
    case Op::kSBitset1: return set(Get(o[0].reg, 0) | 1u << (a & 31));
    case Op::kSAndSaveexec: case Op::kSOrSaveexec: case Op::kSXorSaveexec: case Op::kSAndn2Saveexec:
      SetMask(o[0], old_exec);
      set_exec((in.op == Op::kSAndSaveexec ? x & old_exec : in.op == Op::kSOrSaveexec ? x | old_exec : in.op == Op::kSXorSaveexec ? x ^ old_exec : x & ~old_exec) & live_);
      scc_ = exec() != 0;
      return absl::OkStatus();
    case Op::kSAddU32: scc_ = static_cast<uint64_t>(a) + b > 0xffffffffu; return set(a + b);
    case Op::kSAddI32: scc_ = static_cast<int64_t>(static_cast<int32_t>(a)) + static_cast<int32_t>(b) != static_cast<int32_t>(a + b); return set(a + b);
    case Op::kSSubU32: scc_ = b > a; return set(a - b);
    case Op::kSSubI32: scc_ = static_cast<int64_t>(static_cast<int32_t>(a)) - static_cast<int32_t>(b) != static_cast<int32_t>(a - b); return set(a - b);
    case Op::kSAddcU32: {
      const uint64_t sum = static_cast<uint64_t>(a) + b + (scc_ ? 1 : 0);
      scc_ = sum >> 32 != 0;
      return set(static_cast<uint32_t>(sum));
    }
    case Op::kSSubbU32: {
      const uint32_t borrow = scc_ ? 1 : 0;
      scc_ = static_cast<uint64_t>(b) + borrow > a;
      return set(a - b - borrow);
    }
    case Op::kSMinI32: scc_ = static_cast<int32_t>(a) <= static_cast<int32_t>(b); return set(scc_ ? a : b);
    case Op::kSMaxI32: scc_ = static_cast<int32_t>(a) >= static_cast<int32_t>(b); return set(scc_ ? a : b);
    case Op::kSMinU32: scc_ = a <= b; return set(scc_ ? a : b);
    case Op::kSMaxU32: scc_ = a >= b; return set(scc_ ? a : b);
    case Op::kSCselectB32: return set(scc_ ? a : b);
    case Op::kSCselectB64: return set64(scc_ ? x : y);
    case Op::kSAndB32: return flagged(a & b);
    case Op::kSOrB32: return flagged(a | b);
    case Op::kSXorB32: return flagged(a ^ b);
    case Op::kSAndn2B32: return flagged(a & ~b);
    case Op::kSOrn2B32: return flagged(a | ~b);
    case Op::kSNandB32: return flagged(~(a & b));
    case Op::kSNorB32: return flagged(~(a | b));
    case Op::kSXnorB32: return flagged(~(a ^ b));
    case Op::kSAndB64: return flagged64(x & y);
    case Op::kSOrB64: return flagged64(x | y);
    case Op::kSXorB64: return flagged64(x ^ y);
    case Op::kSAndn2B64: return flagged64(x & ~y);
    case Op::kSOrn2B64: return flagged64(x | ~y);
    case Op::kSNandB64: return flagged64(~(x & y));
    case Op::kSNorB64: return flagged64(~(x | y));
    case Op::kSXnorB64: return flagged64(~(x ^ y));
    case Op::kSLshlB32: return flagged(a << (b & 31));
    case Op::kSLshrB32: return flagged(a >> (b & 31));
    case Op::kSAshrI32: return flagged(static_cast<uint32_t>(static_cast<int32_t>(a) >> (b & 31)));
    case Op::kSLshlB64: return flagged64(x << (b & 63));
    case Op::kSLshrB64: return flagged64(x >> (b & 63));
    case Op::kSAshrI64: return flagged64(static_cast<uint64_t>(static_cast<int64_t>(x) >> (b & 63)));
    case Op::kSBfmB32: return set(((1u << (a & 31)) - 1) << (b & 31));
    case Op::kSMulI32: return set(a * b);
    case Op::kSMulHiU32: return set(static_cast<uint32_t>(static_cast<uint64_t>(a) * b >> 32));
    case Op::kSMulHiI32: return set(static_cast<uint32_t>(static_cast<int64_t>(static_cast<int32_t>(a)) * static_cast<int32_t>(b) >> 32));
    case Op::kSBfeU32: case Op::kSBfeI32: {
      const uint32_t low = b & 31, bits = b >> 16 & 127;
      if (bits == 0) return flagged(0);
      const uint64_t shifted = in.op == Op::kSBfeU32 ? a >> low : static_cast<uint32_t>(static_cast<int32_t>(a) >> low);
      if (bits + low >= 32) return flagged(static_cast<uint32_t>(shifted));
      const uint32_t field = static_cast<uint32_t>(shifted) & ((1u << bits) - 1);
      if (in.op == Op::kSBfeU32 || (field >> (bits - 1) & 1) == 0) return flagged(field);
      return flagged(field | ~((1u << bits) - 1));
    }
    case Op::kSLshl1Add: case Op::kSLshl2Add: case Op::kSLshl3Add: case Op::kSLshl4Add: {
      const int n = 1 + static_cast<int>(in.op) - static_cast<int>(Op::kSLshl1Add);
      const uint64_t sum = (static_cast<uint64_t>(a) << n) + b;
      scc_ = sum >> 32 != 0;
      return set(static_cast<uint32_t>(sum));
    }
    case Op::kSPackLl: return set((a & 0xffff) | b << 16);
    case Op::kSPackLh: return set((a & 0xffff) | (b & 0xffff0000u));
    case Op::kSPackHh: return set(a >> 16 | (b & 0xffff0000u));
    case Op::kSCmp: case Op::kSCmpk: {
      if (in.type == ia::Type::kU64) {
        scc_ = Holds(in.compare, wide(o[0]) == wide(o[1]) ? 0 : 1, 0);
        if (in.compare != ia::Compare::kEq && in.compare != ia::Compare::kLg) return Fail(absl::StatusCode::kUnimplemented, "comparison");
        return absl::OkStatus();
      }
      const uint32_t p = word(o[0]);
      const bool is_signed = in.type == ia::Type::kI32;
      uint32_t q = word(o[1]);
      if (in.op == Op::kSCmpk) q = is_signed ? static_cast<uint32_t>(static_cast<int16_t>(q)) : q & 0xffff;
      scc_ = is_signed ? Holds(in.compare, static_cast<int32_t>(p), static_cast<int32_t>(q)) : Holds(in.compare, p, q);
      return absl::OkStatus();
    }
    case Op::kSBitcmp0: scc_ = (word(o[0]) >> (word(o[1]) & 31) & 1) == 0; return absl::OkStatus();
    case Op::kSBitcmp1: scc_ = (word(o[0]) >> (word(o[1]) & 31) & 1) != 0; return absl::OkStatus();
    case Op::kSSetregImm:
      if (o[0].imm != 23 || o[1].imm != 1) return Fail(absl::StatusCode::kUnimplemented, "mode bits");
      overflow16_ = (o[2].imm & 1) != 0;
      return absl::OkStatus();
    default: return Fail(absl::StatusCode::kUnimplemented, "not interpreted");
  }
}

}  // namespace samebits::interpreter::amdgcn
