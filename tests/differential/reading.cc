#include "tests/differential/reading.h"

#include <bit>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "core/isa/amdgcn/op_table.h"

namespace samebits::differential {

namespace ia = isa::amdgcn;
using ia::Compare;
using ia::DppKind;
using ia::Op;
using ia::OperandKind;
using ia::SdwaSel;
using ia::Type;

namespace {

const char* NameOf(Compare c) {
  switch (c) {
    case Compare::kF: return "f";
    case Compare::kLt: return "lt";
    case Compare::kEq: return "eq";
    case Compare::kLe: return "le";
    case Compare::kGt: return "gt";
    case Compare::kLg: return "lg";
    case Compare::kGe: return "ge";
    case Compare::kO: return "o";
    case Compare::kU: return "u";
    case Compare::kNge: return "nge";
    case Compare::kNlg: return "nlg";
    case Compare::kNgt: return "ngt";
    case Compare::kNle: return "nle";
    case Compare::kNeq: return "neq";
    case Compare::kNlt: return "nlt";
    case Compare::kTru: return "tru";
    case Compare::kNe: return "ne";
    case Compare::kClass: return "class";
  }
  return "?";
}

const char* NameOf(Type t) {
  switch (t) {
    case Type::kNone: return "none";
    case Type::kF16: return "f16";
    case Type::kF32: return "f32";
    case Type::kF64: return "f64";
    case Type::kI16: return "i16";
    case Type::kU16: return "u16";
    case Type::kI32: return "i32";
    case Type::kU32: return "u32";
    case Type::kI64: return "i64";
    case Type::kU64: return "u64";
    case Type::kBf16: return "bf16";
    case Type::kFp8: return "fp8";
    case Type::kBf8: return "bf8";
    case Type::kXf32: return "xf32";
    case Type::kI8: return "i8";
  }
  return "?";
}

const char* NameOf(SdwaSel s) {
  switch (s) {
    case SdwaSel::kDword: return "DWORD";
    case SdwaSel::kByte0: return "BYTE_0";
    case SdwaSel::kByte1: return "BYTE_1";
    case SdwaSel::kByte2: return "BYTE_2";
    case SdwaSel::kByte3: return "BYTE_3";
    case SdwaSel::kWord0: return "WORD_0";
    case SdwaSel::kWord1: return "WORD_1";
  }
  return "?";
}

std::string Mnemonic(const ia::Instruction& in) {
  std::string name(ia::InfoOf(in.op).name);
  if (in.op == Op::kBufferLoadLds1) {
    name = "buffer_load_dword";
  } else if (in.op == Op::kMfma) {
    ia::MfmaShape s;
    if (!ia::ParseMfma(in.name, &s)) return "?";
    absl::StrAppend(&name, "_", NameOf(s.result), "_", s.m, "x", s.n, "x", s.k, "_", s.blocks > 1 ? absl::StrCat(s.blocks, "b_") : "", NameOf(s.a));
    if (s.a == Type::kFp8 || s.a == Type::kBf8) absl::StrAppend(&name, "_", NameOf(s.b));
  } else if (in.op == Op::kVCmp || in.op == Op::kVCmpx || in.op == Op::kSCmp || in.op == Op::kSCmpk) {
    const bool is_float = in.type == Type::kF16 || in.type == Type::kF32 || in.type == Type::kF64;
    absl::StrAppend(&name, "_", in.compare == Compare::kTru && !is_float ? "t" : NameOf(in.compare), "_", NameOf(in.type));
  }
  for (const std::string_view suffix : {"_e64_dpp", "_e32", "_e64", "_dpp", "_sdwa"})
    if (in.name.size() > suffix.size() && in.name.substr(in.name.size() - suffix.size()) == suffix) return name + std::string(suffix);
  return name;
}

std::string Register(uint16_t reg, int count) {
  if (count == 2 && reg == ia::kVccLo) return "vcc";
  if (count == 2 && reg == ia::kExecLo) return "exec";
  if (count == 1) return reg == ia::kScc ? "src_scc" : ia::RegisterName(reg);
  const std::string first = ia::RegisterName(reg);
  return absl::StrCat(first.substr(0, 1), "[", first.substr(1), ":", std::stoi(first.substr(1)) + count - 1, "]");
}

std::string Spelled(const ia::Operand& o) {
  std::string text;
  switch (o.kind) {
    case OperandKind::kRegister: text = Register(o.reg, o.count); break;
    case OperandKind::kOff: text = "off"; break;
    case OperandKind::kLabel: return absl::StrCat("L", o.imm);
    case OperandKind::kOther: return "?";
    case OperandKind::kImmediate:
      if (o.is_float) {
        char buffer[40];
        std::snprintf(buffer, sizeof buffer, "%.9g", static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(o.imm))));
        text = buffer;
        if (text.find_first_of(".e") == std::string::npos) text += ".0";
      } else {
        text = absl::StrCat(o.imm);
      }
      break;
  }
  if (o.sext) text = absl::StrCat("sext(", text, ")");
  if (o.abs) text = absl::StrCat("|", text, "|");
  if (o.neg) text = o.kind == OperandKind::kImmediate ? absl::StrCat("neg(", text, ")") : absl::StrCat("-", text);
  return text;
}

std::string Bits(const char* key, uint8_t bits, int count) {
  std::string text = absl::StrCat(" ", key, ":[");
  for (int i = 0; i < count; ++i) absl::StrAppend(&text, i == 0 ? "" : ",", bits >> i & 1);
  return text + "]";
}

std::string Dpp(const ia::Instruction& in) {
  const int n = in.dpp_value;
  std::string text;
  switch (in.dpp) {
    case DppKind::kNone: return "";
    case DppKind::kQuadPerm: text = absl::StrCat(" quad_perm:[", n & 3, ",", n >> 2 & 3, ",", n >> 4 & 3, ",", n >> 6 & 3, "]"); break;
    case DppKind::kRowShl: text = absl::StrCat(" row_shl:", n); break;
    case DppKind::kRowShr: text = absl::StrCat(" row_shr:", n); break;
    case DppKind::kRowRor: text = absl::StrCat(" row_ror:", n); break;
    case DppKind::kRowMirror: text = " row_mirror"; break;
    case DppKind::kRowHalfMirror: text = " row_half_mirror"; break;
    case DppKind::kRowBcast15: text = " row_bcast:15"; break;
    case DppKind::kRowBcast31: text = " row_bcast:31"; break;
    case DppKind::kWaveShl1: text = " wave_shl:1"; break;
    case DppKind::kWaveRol1: text = " wave_rol:1"; break;
    case DppKind::kWaveShr1: text = " wave_shr:1"; break;
    case DppKind::kWaveRor1: text = " wave_ror:1"; break;
    case DppKind::kRowNewBcast: text = absl::StrCat(" row_newbcast:", n); break;
  }
  return absl::StrCat(text, " row_mask:", static_cast<int>(in.row_mask), " bank_mask:", static_cast<int>(in.bank_mask), in.bound_ctrl ? " bound_ctrl:1" : "");
}

std::string Sdwa(const ia::Instruction& in) {
  if (!in.sdwa) return "";
  std::string text;
  if (in.op != Op::kVCmp && in.op != Op::kVCmpx) {
    const char* const unused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
    absl::StrAppend(&text, " dst_sel:", NameOf(in.dst_sel), " dst_unused:", unused[static_cast<int>(in.dst_unused)]);
  }
  absl::StrAppend(&text, " src0_sel:", NameOf(in.src_sel[0]));
  if (ia::InfoOf(in.op).sources() > 1) absl::StrAppend(&text, " src1_sel:", NameOf(in.src_sel[1]));
  return text;
}

std::string Waits(const ia::Instruction& in) {
  std::string text;
  if (in.vmcnt != 255) absl::StrAppend(&text, " vmcnt(", static_cast<int>(in.vmcnt), ")");
  if (in.expcnt != 255) absl::StrAppend(&text, " expcnt(", static_cast<int>(in.expcnt), ")");
  if (in.lgkmcnt != 255) absl::StrAppend(&text, " lgkmcnt(", static_cast<int>(in.lgkmcnt), ")");
  return text.empty() ? " 0xcf7f" : text;
}

std::string Modifiers(const ia::Instruction& in) {
  std::string text;
  const int sources = ia::InfoOf(in.op).sources();
  const std::string_view name = ia::InfoOf(in.op).name;
  const bool packed = name.substr(0, 5) == "v_pk_" || name.substr(0, 9) == "v_fma_mix";
  if (in.has_op_sel) text += Bits("op_sel", in.op_sel, packed ? sources : sources + 1);
  if (in.has_op_sel_hi) text += Bits("op_sel_hi", in.op_sel_hi, sources);
  if (in.neg_lo != 0) text += Bits("neg_lo", in.neg_lo, sources);
  if (in.neg_hi != 0) text += Bits("neg_hi", in.neg_hi, sources);
  if (in.clamp) text += " clamp";
  if (in.omod != 0) text += in.omod == 1 ? " mul:2" : in.omod == 2 ? " mul:4" : " div:2";
  text += Dpp(in) + Sdwa(in);
  if (in.idxen) text += " idxen";
  if (in.offen) text += " offen";
  if (in.offset != 0) absl::StrAppend(&text, " offset:", in.offset);
  if (in.offset0 != 0) absl::StrAppend(&text, " offset0:", in.offset0);
  if (in.offset1 != 0) absl::StrAppend(&text, " offset1:", in.offset1);
  if (in.lds) text += " lds";
  if (in.cbsz != 0) absl::StrAppend(&text, " cbsz:", static_cast<int>(in.cbsz));
  if (in.abid != 0) absl::StrAppend(&text, " abid:", static_cast<int>(in.abid));
  if (in.blgp != 0) absl::StrAppend(&text, " blgp:", static_cast<int>(in.blgp));
  return text;
}

}  // namespace

std::string Spell(const ia::Instruction& in) {
  if (in.op == Op::kUnknown || in.has_unknown_modifier) return "";
  std::string text = Mnemonic(in);
  if (in.op == Op::kSWaitcnt) return text + Waits(in);
  if (in.op == Op::kSSetregImm)
    return absl::StrCat(text, " hwreg(HW_REG_MODE, ", in.operands[0].imm, ", ", in.operands[1].imm, "), ", in.operands[2].imm);
  for (int i = 0; i < in.operand_count; ++i) absl::StrAppend(&text, i == 0 ? " " : ", ", Spelled(in.operands[static_cast<size_t>(i)]));
  return text + Modifiers(in);
}

}  // namespace samebits::differential
