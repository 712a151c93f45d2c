#include "core/isa/amdgcn/verify.h"

namespace samebits::isa::amdgcn {

namespace {

bool IsScalar(const Operand& o) { return o.kind == OperandKind::kRegister && o.reg < kFirstVgpr; }
bool IsVector(const Operand& o) { return o.kind == OperandKind::kRegister && o.reg >= kFirstVgpr && o.reg < kFirstAgpr; }
bool IsAcc(const Operand& o) { return o.kind == OperandKind::kRegister && o.reg >= kFirstAgpr; }

bool IsTwoAddress(Op op) {
  switch (op) {
    case Op::kDsRead2B32: case Op::kDsRead2B64: case Op::kDsRead2St64B32: case Op::kDsRead2St64B64: case Op::kDsWrite2B32:
    case Op::kDsWrite2B64: case Op::kDsWrite2St64B32: case Op::kDsWrite2St64B64:
      return true;
    default: return false;
  }
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() > end.size() && text.substr(text.size() - end.size()) == end;
}

bool HasFloatModifiers(const Instruction& in) {
  bool any = in.clamp || in.omod != 0 || in.has_op_sel || in.has_op_sel_hi || in.neg_lo != 0 || in.neg_hi != 0;
  for (int i = 0; i < in.operand_count; ++i) any |= in.operands[static_cast<size_t>(i)].neg || in.operands[static_cast<size_t>(i)].abs;
  return any;
}

bool HasDppFields(const Instruction& in) { return in.row_mask != 15 || in.bank_mask != 15 || in.bound_ctrl; }

bool HasSext(const Instruction& in) {
  for (int i = 0; i < in.operand_count; ++i)
    if (in.operands[static_cast<size_t>(i)].sext) return true;
  return false;
}

// Tuples of scalar registers begin at multiples of their size, at most 4; those of vector registers at even ones.
bool IsAligned(const Operand& o) {
  if (o.kind != OperandKind::kRegister || o.count == 1) return true;
  if (o.reg >= kFirstVgpr) return o.reg % 2 == 0;
  return o.count == 2 ? o.reg % 2 == 0 : o.reg % 4 == 0;
}

std::string_view VectorModifiers(const Instruction& in) {
  const bool e32 = EndsWith(in.name, "_e32"), e64 = EndsWith(in.name, "_e64");
  if (in.offset != 0 || in.offset0 != 0 || in.offset1 != 0 || in.offen || in.idxen || in.lds || in.cbsz != 0 || in.abid != 0 || in.blgp != 0)
    return "modifier of a memory or matrix instruction";
  if (e32 && (in.clamp || in.omod != 0 || in.has_op_sel || in.has_op_sel_hi || in.neg_lo != 0 || in.neg_hi != 0)) return "modifier of another encoding";
  if ((e32 || e64) && (in.dpp != DppKind::kNone || in.sdwa)) return "modifier of another encoding";
  if (in.dpp != DppKind::kNone && in.sdwa) return "modifiers of two encodings";
  if (EndsWith(in.name, "_sdwa") && in.dpp != DppKind::kNone) return "modifiers of two encodings";
  if (EndsWith(in.name, "_dpp") && in.dpp == DppKind::kNone) return "DPP without its control";
  if (in.dpp == DppKind::kNone && HasDppFields(in)) return "modifier of a DPP instruction";
  if (in.sdwa && (in.has_op_sel || in.has_op_sel_hi || in.neg_lo != 0 || in.neg_hi != 0)) return "modifiers of two encodings";
  if (!in.sdwa && HasSext(in)) return "sext() outside SDWA";
  return {};
}

std::string_view OtherModifiers(const Instruction& in, Unit unit) {
  if (in.dpp != DppKind::kNone || HasDppFields(in) || in.sdwa || HasSext(in)) return "modifier of a vector instruction";
  if (unit == Unit::kMatrix) return in.offset != 0 || in.offset0 != 0 || in.offset1 != 0 || in.offen || in.idxen || in.lds || HasFloatModifiers(in)
                                        ? "modifier that matrix instructions do not have" : std::string_view();
  if (HasFloatModifiers(in) || in.cbsz != 0 || in.abid != 0 || in.blgp != 0) return "modifier of a vector instruction";
  if (in.lds != (in.op == Op::kBufferLoadLds1)) return "LDS as destination of another instruction than a load of one dword";
  if (unit != Unit::kBuffer && (in.offen || in.idxen || in.lds)) return "modifier of a buffer instruction";
  if ((in.offset0 != 0 || in.offset1 != 0) && !IsTwoAddress(in.op)) return "offset0 and offset1 are of instructions with two addresses";
  switch (unit) {
    case Unit::kBuffer: return in.offset < 0 || in.offset > 4095 ? "offset is not from 0 to 4095" : std::string_view();
    case Unit::kGlobal: return in.offset < -4096 || in.offset > 4095 ? "offset is not from -4096 to 4095" : std::string_view();
    case Unit::kLds:
      if (IsTwoAddress(in.op)) return in.offset != 0 ? "an instruction with two addresses takes offset0 and offset1" : std::string_view();
      return in.offset < 0 || in.offset > 65535 ? "offset is not from 0 to 65535" : std::string_view();
    case Unit::kScalarMemory: return {};
    default: return in.offset != 0 ? "offset of an instruction that takes none" : std::string_view();
  }
}

// What operand i, of the given shape letter, cannot be.
std::string_view OperandFault(const Instruction& in, Unit unit, char shape, bool is_destination, const Operand& o) {
  constexpr std::string_view kScalarOnly = "operand must be a scalar register", kVectorOnly = "operand must be a vector register";
  const bool is_register = o.kind == OperandKind::kRegister;
  if (!IsAligned(o)) return "register tuple is not aligned";
  switch (unit) {
    case Unit::kScalar: case Unit::kScalarMemory: case Unit::kBranch:
      if (is_register && !IsScalar(o)) return kScalarOnly;
      return unit == Unit::kScalarMemory && shape == 'I' && !is_register ? kScalarOnly : std::string_view();
    case Unit::kMatrix: return is_register ? IsScalar(o) ? kVectorOnly : std::string_view() : std::string_view();
    case Unit::kLds: return is_register && !IsScalar(o) && !(shape == 'a' && IsAcc(o)) ? std::string_view() : kVectorOnly;
    case Unit::kBuffer:
      if (shape == 'R') return IsScalar(o) ? std::string_view() : kScalarOnly;
      if (shape == 'i') return is_register && !IsScalar(o) ? kScalarOnly : std::string_view();
      if (shape == 'a') return o.kind == OperandKind::kOff || IsVector(o) ? std::string_view() : kVectorOnly;
      return IsVector(o) || IsAcc(o) ? std::string_view() : kVectorOnly;
    case Unit::kGlobal:
      if (shape != 'a') return IsVector(o) || IsAcc(o) ? std::string_view() : kVectorOnly;
      return &o == &in.operands[in.op == Op::kGlobalLoadLds1 ? 1 : 2] ? (o.kind == OperandKind::kOff || IsScalar(o) ? std::string_view() : kScalarOnly)
                                   : (IsVector(o) ? std::string_view() : kVectorOnly);
    default: break;
  }
  const bool lane_read = in.op == Op::kVReadfirstlane || in.op == Op::kVReadlane;
  if (in.op == Op::kVAccRead || in.op == Op::kVAccWrite || in.op == Op::kVAccMov) {
    const bool acc = in.op == Op::kVAccMov || is_destination == (in.op == Op::kVAccWrite);
    if (acc) return IsAcc(o) ? std::string_view() : "operand must be an accumulation register";
    return IsAcc(o) ? kVectorOnly : std::string_view();
  }
  if (IsAcc(o)) return "operand is an accumulation register";
  if (is_destination) {
    if (shape == 'm' || lane_read) return IsScalar(o) ? std::string_view() : kScalarOnly;
    return IsVector(o) ? std::string_view() : kVectorOnly;
  }
  if (shape == 'm') return is_register && !IsScalar(o) ? kScalarOnly : std::string_view();
  if (lane_read && &o == &in.operands[1] && !IsVector(o)) return kVectorOnly;
  if ((lane_read || in.op == Op::kVWritelane) && IsVector(o) && !(lane_read && &o == &in.operands[1])) return kScalarOnly;
  return {};
}

// Operands that integer arithmetic has no signs for.
bool TakesSigns(const Instruction& in, char shape) {
  if (shape == 'f' || shape == 'F' || shape == 'h' || in.op == Op::kVCndmask) return true;
  return (in.op == Op::kVCmp || in.op == Op::kVCmpx) && (in.type == Type::kF16 || in.type == Type::kF32 || in.type == Type::kF64);
}

}  // namespace

Fault Verify(const Instruction& in) {
  const OpInfo& info = InfoOf(in.op);
  if (in.op == Op::kSWaitcnt || in.op == Op::kSSetregImm || info.unit == Unit::kNone) return {};
  const std::string_view modifiers = info.unit == Unit::kVector ? VectorModifiers(in) : OtherModifiers(in, info.unit);
  if (!modifiers.empty()) return {modifiers, -1};
  const size_t first_source = info.shape.find(':') + 1;
  int source = 0;
  for (int i = 0; i < in.operand_count; ++i) {
    const Operand& o = in.operands[static_cast<size_t>(i)];
    const bool is_destination = i < info.destinations();
    const char shape = info.shape[is_destination ? static_cast<size_t>(i) : first_source + static_cast<size_t>(i - info.destinations())];
    if (const std::string_view what = OperandFault(in, info.unit, shape, is_destination, o); !what.empty()) return {what, i};
    if (info.unit != Unit::kVector) continue;
    if ((o.neg || o.abs) && (is_destination || !TakesSigns(in, shape))) return {"an integer operand has no sign or absolute value", i};
    if (is_destination) continue;
    // Second sources of the short encodings are vector registers, and so are the first ones of DPP.
    const bool is_short = EndsWith(in.name, "_e32") || in.dpp != DppKind::kNone;
    if (is_short && shape != 'm' && !IsVector(o) && in.op != Op::kVReadfirstlane && (source == 1 || (source == 0 && in.dpp != DppKind::kNone)) &&
        in.op != Op::kVFmamkF32 && in.op != Op::kVFmaakF32)
      return {"operand must be a vector register in this encoding", i};
    ++source;
  }
  return {};
}

}  // namespace samebits::isa::amdgcn
