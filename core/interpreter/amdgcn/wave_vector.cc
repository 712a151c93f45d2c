// Vector arithmetic, lane by lane.

#include <algorithm>
#include <bit>

#include "core/interpreter/amdgcn/wave.h"
#include "core/isa/amdgcn/op_table.h"
#include "core/softfloat/approximate.h"
#include "core/softfloat/arithmetic.h"
#include "core/softfloat/cdna_arithmetic.h"
#include "core/softfloat/compare.h"
#include "core/softfloat/convert.h"

namespace samebits::interpreter::amdgcn {

namespace ia = isa::amdgcn;
namespace sf = softfloat;
using ia::Op;
using ia::OperandKind;

namespace {

constexpr const sf::Format& kS = sf::kF32;
constexpr const sf::Format& kH = sf::kF16;
constexpr const sf::Format& kD = sf::kF64;

bool FloatHolds(const sf::Format& f, ia::Compare c, uint64_t a, uint64_t b) {
  using O = sf::Ordering;
  switch (c) {
    case ia::Compare::kLt: return sf::Compare(f, O::kLt, a, b);
    case ia::Compare::kEq: return sf::Compare(f, O::kEq, a, b);
    case ia::Compare::kLe: return sf::Compare(f, O::kLe, a, b);
    case ia::Compare::kGt: return sf::Compare(f, O::kGt, a, b);
    case ia::Compare::kLg: return sf::Compare(f, O::kLt, a, b) || sf::Compare(f, O::kGt, a, b);
    case ia::Compare::kGe: return sf::Compare(f, O::kGe, a, b);
    case ia::Compare::kO: return !sf::IsNan(f, a) && !sf::IsNan(f, b);
    case ia::Compare::kU: return sf::IsNan(f, a) || sf::IsNan(f, b);
    case ia::Compare::kNge: return !sf::Compare(f, O::kGe, a, b);
    case ia::Compare::kNlg: return !(sf::Compare(f, O::kLt, a, b) || sf::Compare(f, O::kGt, a, b));
    case ia::Compare::kNgt: return !sf::Compare(f, O::kGt, a, b);
    case ia::Compare::kNle: return !sf::Compare(f, O::kLe, a, b);
    case ia::Compare::kNeq: return !sf::Compare(f, O::kEq, a, b);
    case ia::Compare::kNlt: return !sf::Compare(f, O::kLt, a, b);
    case ia::Compare::kTru: return true;
    default: return false;
  }
}

template <typename T>
bool IntHolds(ia::Compare c, T a, T b) {
  switch (c) {
    case ia::Compare::kLt: return a < b;
    case ia::Compare::kEq: return a == b;
    case ia::Compare::kLe: return a <= b;
    case ia::Compare::kGt: return a > b;
    case ia::Compare::kGe: return a >= b;
    case ia::Compare::kLg: case ia::Compare::kNe: return a != b;
    case ia::Compare::kTru: return true;
    default: return false;
  }
}

// Beside the vector result: a carry or a flag of each lane.
bool WritesMask(Op op) {
  switch (op) {
    case Op::kVDivScaleF32: case Op::kVAddCo: case Op::kVSubCo: case Op::kVSubrevCo: case Op::kVAddcCo: case Op::kVSubbCo:
    case Op::kVMadU64U32: case Op::kVMadI64I32:
      return true;
    default: return false;
  }
}

}  // namespace

absl::Status Wave::VectorOp(const Instruction& in) {
  switch (in.op) {
    case Op::kVReadfirstlane: case Op::kVReadlane: case Op::kVWritelane: return LaneOp(in);
    case Op::kVNop: return absl::OkStatus();
    default: break;
  }
  if (in.dpp != ia::DppKind::kNone) {
    const Operand& o = in.operands[static_cast<size_t>(ia::InfoOf(in.op).destinations())];
    if (o.kind != OperandKind::kRegister) return Fail(absl::StatusCode::kUnimplemented, "DPP of a constant");
    for (int l = 0; l < kLanes; ++l) dpp_[static_cast<size_t>(l)] = Get(o.reg, l);
  }
  const uint64_t lanes = exec();
  if (in.op == Op::kVCmp || in.op == Op::kVCmpx) {
    if (in.clamp) return Fail(absl::StatusCode::kUnimplemented, "clamp");
    uint64_t result = 0;
    for (int l = 0; l < kLanes; ++l) {
      if ((lanes >> l & 1) == 0) continue;
      bool holds;
      switch (in.type) {
        case ia::Type::kF32: holds = FloatHolds(kS, in.compare, F32(in, 0, l), F32(in, 1, l)); break;
        case ia::Type::kF16: holds = FloatHolds(kH, in.compare, F16(in, 0, l), F16(in, 1, l)); break;
        case ia::Type::kF64: holds = FloatHolds(kD, in.compare, F64(in, 0, l), F64(in, 1, l)); break;
        case ia::Type::kI32: holds = IntHolds(in.compare, static_cast<int32_t>(Word(in, 0, l)), static_cast<int32_t>(Word(in, 1, l))); break;
        case ia::Type::kU32: holds = IntHolds(in.compare, Word(in, 0, l), Word(in, 1, l)); break;
        case ia::Type::kI16: holds = IntHolds(in.compare, static_cast<int16_t>(Word(in, 0, l)), static_cast<int16_t>(Word(in, 1, l))); break;
        case ia::Type::kU16: holds = IntHolds(in.compare, static_cast<uint16_t>(Word(in, 0, l)), static_cast<uint16_t>(Word(in, 1, l))); break;
        case ia::Type::kI64:
          holds = IntHolds(in.compare, static_cast<int64_t>(Wide(in.operands[1], l, false)), static_cast<int64_t>(Wide(in.operands[2], l, false)));
          break;
        case ia::Type::kU64: holds = IntHolds(in.compare, Wide(in.operands[1], l, false), Wide(in.operands[2], l, false)); break;
        default: return Fail(absl::StatusCode::kUnimplemented, "comparison");
      }
      if (holds) result |= uint64_t{1} << l;
    }
    SetMask(in.operands[0], result);
    if (in.op == Op::kVCmpx) set_exec(result);
    return absl::OkStatus();
  }
  mask_result_ = 0;
  for (int l = 0; l < kLanes; ++l) {
    if ((lanes >> l & 1) == 0) continue;
    bool known = true;
    if (!Arithmetic(in, l, &known) || !known) return Fail(absl::StatusCode::kUnimplemented, "not interpreted");
  }
  // Last, as all lanes read scalar registers that it may replace; zero for lanes that do not execute.
  if (lanes != 0 && WritesMask(in.op)) SetMask(in.operands[1], mask_result_);
  return absl::OkStatus();
}

bool Wave::Arithmetic(const Instruction& in, int l, bool* known) {
  const auto& o = in.operands;
  const sf::Flags sat{false, in.clamp, false};
  constexpr auto rn = sf::Rounding::kRn;
  auto f = [&](int i) { return F32(in, i, l); };
  auto h = [&](int i) { return F16(in, i, l); };
  auto w = [&](int i) { return Word(in, i, l); };
  auto put = [&](uint64_t v) {
    Result(in, l, static_cast<uint32_t>(v));
    return true;
  };
  auto put16 = [&](uint64_t v) {
    Result16(in, l, static_cast<uint32_t>(v));
    return true;
  };
  auto put64 = [&](uint64_t v) {
    Put(o[0].reg, l, static_cast<uint32_t>(v));
    Put(static_cast<uint16_t>(o[0].reg + 1), l, static_cast<uint32_t>(v >> 32));
    return true;
  };
  auto flip = [](uint32_t x) { return x ^ 0x80000000u; };
  auto model = [&](sf::ApproxOp op) {
    const auto r = sf::ModelApprox(op, kS, f(0), false);
    if (!r.exact) ++block_.model_results;
    return put(r.bits);
  };
  auto bit_of = [&](bool v) { mask_result_ |= static_cast<uint64_t>(v) << l; };
  auto s32 = [&](int i) { return static_cast<int32_t>(w(i)); };
  const bool clamps_ints = in.clamp && ia::InfoOf(in.op).shape.find('f') == std::string_view::npos &&
                           ia::InfoOf(in.op).shape.find('h') == std::string_view::npos && ia::InfoOf(in.op).shape.find('F') == std::string_view::npos;
  if (clamps_ints && in.op != Op::kVSubU32) return false;
  switch (in.op) {
    case Op::kVMovB32: case Op::kVAccRead: case Op::kVAccWrite: case Op::kVAccMov: return put(w(0));
    case Op::kVMovB64: return put64(Wide(o[1], l, false));
    case Op::kVNotB32: return put(~w(0));
    case Op::kVBfrevB32: {
      uint32_t r = 0, x = w(0);
      for (int i = 0; i < 32; ++i, x >>= 1) r = r << 1 | (x & 1);
      return put(r);
    }
    case Op::kVFfbhU32: return put(w(0) == 0 ? ~0u : static_cast<uint32_t>(std::countl_zero(w(0))));
    case Op::kVFfblB32: return put(w(0) == 0 ? ~0u : static_cast<uint32_t>(std::countr_zero(w(0))));
    case Op::kVAddF32: return put(sf::Add(kS, f(0), f(1), rn, sat));
    case Op::kVSubF32: return put(sf::Add(kS, f(0), flip(f(1)), rn, sat));
    case Op::kVSubrevF32: return put(sf::Add(kS, f(1), flip(f(0)), rn, sat));
    case Op::kVMulF32: return put(sf::Mul(kS, f(0), f(1), rn, sat));
    case Op::kVMaxF32: return put(sf::ApplyResultFlags(kS, sf::Max(kS, f(0), f(1)), sat));
    case Op::kVMinF32: return put(sf::ApplyResultFlags(kS, sf::Min(kS, f(0), f(1)), sat));
    case Op::kVMax3F32: return put(sf::Max(kS, sf::Max(kS, f(0), f(1)), f(2)));
    case Op::kVMin3F32: return put(sf::Min(kS, sf::Min(kS, f(0), f(1)), f(2)));
    case Op::kVMed3F32: {
      return put(sf::CdnaMed3(f(0), f(1), f(2)));
    }
    case Op::kVFmaF32: case Op::kVFmamkF32: case Op::kVFmaakF32: return put(sf::Fma(kS, f(0), f(1), f(2), rn, sat));
    case Op::kVFmacF32: return put(sf::Fma(kS, f(0), f(1), Get(o[0].reg, l), rn, sat));
    case Op::kVFmaMixF32: case Op::kVFmaMixloF16: case Op::kVFmaMixhiF16: {
      uint32_t v[3];
      for (int i = 0; i < 3; ++i) {
        const Operand& s = o[static_cast<size_t>(i + 1)];
        uint32_t x = s.kind == OperandKind::kRegister ? Get(s.reg, l) : static_cast<uint32_t>(s.imm);
        if (in.has_op_sel_hi && (in.op_sel_hi >> i & 1) != 0 && s.kind == OperandKind::kRegister)
          x = static_cast<uint32_t>(sf::ConvertFloat(kS, kH, x >> ((in.op_sel >> i & 1) * 16) & 0xffff, rn));
        if (s.abs || (in.neg_hi >> i & 1) != 0) x &= 0x7fffffffu;
        if (s.neg != ((in.neg_lo >> i & 1) != 0)) x = flip(x);
        v[i] = x;
      }
      const uint32_t r = static_cast<uint32_t>(sf::Fma(kS, v[0], v[1], v[2]));
      const uint32_t half = static_cast<uint32_t>(sf::ConvertFloat(kH, kS, r, rn)), old = Get(o[0].reg, l);
      Put(o[0].reg, l, in.op == Op::kVFmaMixF32 ? r : in.op == Op::kVFmaMixloF16 ? (old & 0xffff0000u) | half : (old & 0xffff) | half << 16);
      return true;
    }
    case Op::kVAddF16: return put16(sf::Add(kH, h(0), h(1), rn, sat));
    case Op::kVSubF16: return put16(sf::Add(kH, h(0), h(1) ^ 0x8000, rn, sat));
    case Op::kVSubrevF16: return put16(sf::Add(kH, h(1), h(0) ^ 0x8000, rn, sat));
    case Op::kVMulF16: return put16(sf::Mul(kH, h(0), h(1), rn, sat));
    case Op::kVMaxF16: return put16(sf::Max(kH, h(0), h(1)));
    case Op::kVMinF16: return put16(sf::Min(kH, h(0), h(1)));
    case Op::kVFmaF16: return put16(sf::Fma(kH, h(0), h(1), h(2), rn, sat));
    case Op::kVFmacF16: return put16(sf::Fma(kH, h(0), h(1), Get(o[0].reg, l) & 0xffff, rn, sat));
    case Op::kVAddF64: return put64(sf::Add(kD, F64(in, 0, l), F64(in, 1, l)));
    case Op::kVMulF64: return put64(sf::Mul(kD, F64(in, 0, l), F64(in, 1, l)));
    case Op::kVFmaF64: return put64(sf::Fma(kD, F64(in, 0, l), F64(in, 1, l), F64(in, 2, l)));
    case Op::kVFmacF64: return put64(sf::Fma(kD, F64(in, 0, l), F64(in, 1, l), Wide(o[0], l, true)));
    case Op::kVMaxF64: return put64(sf::Max(kD, F64(in, 0, l), F64(in, 1, l)));
    case Op::kVMinF64: return put64(sf::Min(kD, F64(in, 0, l), F64(in, 1, l)));
    case Op::kVPkAddF32: case Op::kVPkMulF32: case Op::kVPkFmaF32: case Op::kVPkMovB32: {
      uint32_t r[2];
      for (int p = 0; p < 2; ++p) {
        uint32_t v[3] = {};
        for (int i = 0; i + 1 < in.operand_count; ++i) {
          const Operand& s = o[static_cast<size_t>(i + 1)];
          // A move takes one half of each source: op_sel says which.
          const bool high = ((p == 0 || in.op == Op::kVPkMovB32 ? in.op_sel : in.op_sel_hi) >> i & 1) != 0;
          if (s.kind != OperandKind::kRegister && high) return false;
          v[i] = s.kind == OperandKind::kRegister ? Get(static_cast<uint16_t>(s.reg + high), l) : static_cast<uint32_t>(s.imm);
          if (((p == 0 ? in.neg_lo : in.neg_hi) >> i & 1) != 0) v[i] = flip(v[i]);
        }
        r[p] = in.op == Op::kVPkMovB32   ? v[p]
               : in.op == Op::kVPkAddF32 ? static_cast<uint32_t>(sf::Add(kS, v[0], v[1]))
               : in.op == Op::kVPkMulF32 ? static_cast<uint32_t>(sf::Mul(kS, v[0], v[1]))
                                         : static_cast<uint32_t>(sf::Fma(kS, v[0], v[1], v[2]));
      }
      return put64(static_cast<uint64_t>(r[1]) << 32 | r[0]);
    }
    case Op::kVPkAddF16: case Op::kVPkMulF16: case Op::kVPkFmaF16: case Op::kVPkMaxF16: case Op::kVPkMinF16: {
      uint32_t r = 0;
      for (int p = 0; p < 2; ++p) {
        uint32_t v[3] = {};
        for (int i = 0; i + 1 < in.operand_count; ++i) {
          const Operand& s = o[static_cast<size_t>(i + 1)];
          if (s.kind != OperandKind::kRegister && s.is_float) return false;
          const uint32_t x = s.kind == OperandKind::kRegister ? Get(s.reg, l) : static_cast<uint32_t>(s.imm);
          v[i] = x >> (((p == 0 ? in.op_sel : in.op_sel_hi) >> i & 1) * 16) & 0xffff;
          if (((p == 0 ? in.neg_lo : in.neg_hi) >> i & 1) != 0) v[i] ^= 0x8000;
        }
        const uint64_t x = in.op == Op::kVPkAddF16   ? sf::Add(kH, v[0], v[1])
                           : in.op == Op::kVPkMulF16 ? sf::Mul(kH, v[0], v[1])
                           : in.op == Op::kVPkFmaF16 ? sf::Fma(kH, v[0], v[1], v[2])
                           : in.op == Op::kVPkMaxF16 ? sf::Max(kH, v[0], v[1])
                                                     : sf::Min(kH, v[0], v[1]);
        r |= static_cast<uint32_t>(x & 0xffff) << (16 * p);
      }
      return put(r);
    }
    case Op::kVRcpF32: return model(sf::ApproxOp::kRcp);
    case Op::kVRcpIflagF32: return put(sf::Rcp(kS, f(0)));  // within its error of one unit: divisions correct it
    case Op::kVRsqF32: return model(sf::ApproxOp::kRsqrt);
    case Op::kVSqrtF32: return model(sf::ApproxOp::kSqrt);
    case Op::kVExpF32: return model(sf::ApproxOp::kEx2);
    case Op::kVLogF32: return model(sf::ApproxOp::kLg2);
    case Op::kVFloorF32: return put(sf::RoundToIntegral(kS, f(0), sf::Rounding::kRm));
    case Op::kVCeilF32: return put(sf::RoundToIntegral(kS, f(0), sf::Rounding::kRp));
    case Op::kVTruncF32: return put(sf::RoundToIntegral(kS, f(0), sf::Rounding::kRz));
    case Op::kVRndneF32: return put(sf::RoundToIntegral(kS, f(0), rn));
    case Op::kVLdexpF32: return put(sf::CdnaLdexp(f(0), s32(1)));
    case Op::kVDivScaleF32: {
      bool flag;
      const uint32_t r = sf::CdnaDivScale(f(0), f(1), f(2), &flag);
      Put(o[0].reg, l, r);
      bit_of(flag);
      return true;
    }
    case Op::kVDivFmasF32: {
      const bool flag = (scalar_[l < 32 ? ia::kVccLo : ia::kVccHi] >> (l & 31) & 1) != 0;
      return put(sf::CdnaDivFmas(f(0), f(1), f(2), flag));
    }
    case Op::kVDivFixupF32: return put(sf::CdnaDivFixup(f(0), f(1), f(2)));
    case Op::kVCvtF16F32: return put16(sf::ConvertFloat(kH, kS, f(0), rn, {false, false, overflow16_, false}));
    case Op::kVCvtF32F16: return put(sf::ConvertFloat(kS, kH, h(0), rn));
    case Op::kVCvtF32I32: return put(sf::IntegerToFloat(kS, {32, true}, w(0), rn));
    case Op::kVCvtF32U32: return put(sf::IntegerToFloat(kS, {32, false}, w(0), rn));
    case Op::kVCvtI32F32: return put(sf::FloatToInteger({32, true}, kS, f(0), sf::Rounding::kRz));
    case Op::kVCvtU32F32: return put(sf::FloatToInteger({32, false}, kS, f(0), sf::Rounding::kRz));
    case Op::kVCvtF64F32: return put64(sf::ConvertFloat(kD, kS, f(0), rn));
    case Op::kVCvtF32F64: return put(sf::ConvertFloat(kS, kD, F64(in, 0, l), rn));
    case Op::kVCvtF64I32: return put64(sf::IntegerToFloat(kD, {32, true}, w(0), rn));
    case Op::kVCvtF64U32: return put64(sf::IntegerToFloat(kD, {32, false}, w(0), rn));
    case Op::kVCvtF32Ubyte0: case Op::kVCvtF32Ubyte1: case Op::kVCvtF32Ubyte2: case Op::kVCvtF32Ubyte3:
      return put(sf::IntegerToFloat(kS, {32, false}, w(0) >> (8 * (static_cast<int>(in.op) - static_cast<int>(Op::kVCvtF32Ubyte0))) & 255, rn));
    case Op::kVCvtF16U16: return put16(sf::IntegerToFloat(kH, {16, false}, w(0) & 0xffff, rn));
    case Op::kVCvtF16I16: return put16(sf::IntegerToFloat(kH, {16, true}, w(0) & 0xffff, rn));
    case Op::kVCvtPkrtz:
      return put(sf::ConvertFloat(kH, kS, f(0), sf::Rounding::kRz) | sf::ConvertFloat(kH, kS, f(1), sf::Rounding::kRz) << 16);
    case Op::kVCvtPkFp8: case Op::kVCvtPkBf8: {
      const bool bf8 = in.op == Op::kVCvtPkBf8;
      const uint32_t pair = sf::ToFnuz(f(0), bf8, overflow16_) | static_cast<uint32_t>(sf::ToFnuz(f(1), bf8, overflow16_)) << 8;
      const bool high = in.has_op_sel && (in.op_sel >> 2 & 1) != 0;
      const uint32_t old = Get(o[0].reg, l);
      block_.model_results += 2;
      return put(high ? pair << 16 | (old & 0xffff) : pair | (old & 0xffff0000u));
    }
    case Op::kVCvtF32Fp8: case Op::kVCvtF32Bf8: ++block_.model_results; return put(sf::FromFnuz(static_cast<uint8_t>(w(0)), in.op == Op::kVCvtF32Bf8));
    case Op::kVCvtPkF32Fp8: case Op::kVCvtPkF32Bf8: {
      const uint32_t x = w(0) >> (in.has_op_sel && (in.op_sel & 1) != 0 ? 16 : 0);
      const bool bf8 = in.op == Op::kVCvtPkF32Bf8;
      block_.model_results += 2;
      return put64(sf::FromFnuz(static_cast<uint8_t>(x), bf8) | static_cast<uint64_t>(sf::FromFnuz(static_cast<uint8_t>(x >> 8), bf8)) << 32);
    }
    case Op::kVPackB32F16: return put(h(0) | h(1) << 16);
    case Op::kVAndB32: return put(w(0) & w(1));
    case Op::kVOrB32: return put(w(0) | w(1));
    case Op::kVXorB32: return put(w(0) ^ w(1));
    case Op::kVXnorB32: return put(~(w(0) ^ w(1)));
    case Op::kVAddU32: return put(w(0) + w(1));
    case Op::kVSubU32: return put(in.clamp && w(1) > w(0) ? 0 : w(0) - w(1));
    case Op::kVSubrevU32: return put(w(1) - w(0));
    case Op::kVAddCo: case Op::kVSubCo: case Op::kVSubrevCo: {
      uint32_t a = w(0), b = w(1);
      if (in.op == Op::kVSubrevCo) std::swap(a, b);
      const bool add = in.op == Op::kVAddCo;
      Put(o[0].reg, l, add ? a + b : a - b);
      bit_of(add ? static_cast<uint64_t>(a) + b > 0xffffffffu : b > a);
      return true;
    }
    case Op::kVAddcCo: case Op::kVSubbCo: {
      const uint32_t a = w(0), b = w(1), c = static_cast<uint32_t>(Mask(o[4]) >> l & 1);
      const bool add = in.op == Op::kVAddcCo;
      Put(o[0].reg, l, add ? a + b + c : a - b - c);
      bit_of(add ? static_cast<uint64_t>(a) + b + c > 0xffffffffu : static_cast<uint64_t>(b) + c > a);
      return true;
    }
    case Op::kVLshlrevB16: return put((w(1) & 0xffff) << (w(0) & 15) & 0xffff);
    case Op::kVLshrrevB16: return put((w(1) & 0xffff) >> (w(0) & 15));
    case Op::kVAddU16: return put((w(0) + w(1)) & 0xffff);
    case Op::kVSubU16: return put((w(0) - w(1)) & 0xffff);
    case Op::kVMulLoU16: return put((w(0) * w(1)) & 0xffff);
    case Op::kVLshlrevB32: return put(w(1) << (w(0) & 31));
    case Op::kVLshrrevB32: return put(w(1) >> (w(0) & 31));
    case Op::kVAshrrevI32: return put(static_cast<uint32_t>(s32(1) >> (w(0) & 31)));
    case Op::kVLshlrevB64: return put64(Wide(o[2], l, false) << (w(0) & 63));
    case Op::kVLshrrevB64: return put64(Wide(o[2], l, false) >> (w(0) & 63));
    case Op::kVAshrrevI64: return put64(static_cast<uint64_t>(static_cast<int64_t>(Wide(o[2], l, false)) >> (w(0) & 63)));
    case Op::kVLshlAddU32: return put((w(0) << (w(1) & 31)) + w(2));
    case Op::kVAddLshlU32: return put((w(0) + w(1)) << (w(2) & 31));
    case Op::kVLshlAddU64: {
      const uint32_t n = w(1);
      if (n > 4) return false;
      return put64((Wide(o[1], l, false) << n) + Wide(o[3], l, false));
    }
    case Op::kVAdd3U32: return put(w(0) + w(1) + w(2));
    case Op::kVXadU32: return put((w(0) ^ w(1)) + w(2));
    case Op::kVLshlOrB32: return put((w(0) << (w(1) & 31)) | w(2));
    case Op::kVAndOrB32: return put((w(0) & w(1)) | w(2));
    case Op::kVOr3B32: return put(w(0) | w(1) | w(2));
    case Op::kVBfeU32: case Op::kVBfeI32: {
      const uint32_t low = w(1) & 31, bits = w(2) & 31;
      if (bits == 0) return put(0);
      const uint64_t x = in.op == Op::kVBfeU32 ? w(0) : static_cast<uint64_t>(static_cast<int64_t>(s32(0)));
      const uint64_t moved = x >> low;
      const uint32_t field = static_cast<uint32_t>(moved) & ((1u << bits) - 1);
      if (in.op == Op::kVBfeU32) return put(field);
      return put(static_cast<uint32_t>(static_cast<int32_t>(field << (32 - bits)) >> (32 - bits)));
    }
    case Op::kVBfiB32: return put((w(0) & w(1)) | (~w(0) & w(2)));
    case Op::kVBfmB32: return put(((1u << (w(0) & 31)) - 1) << (w(1) & 31));
    case Op::kVAlignbit: return put((static_cast<uint64_t>(w(0)) << 32 | w(1)) >> (w(2) & 31));
    case Op::kVPermB32: {
      const uint64_t bytes = static_cast<uint64_t>(w(0)) << 32 | w(1);
      uint32_t r = 0;
      for (int i = 0; i < 4; ++i) {
        const uint32_t s = w(2) >> (8 * i) & 255;
        uint32_t b = 0xff;
        if (s < 8) b = static_cast<uint32_t>(bytes >> (8 * s) & 255);
        else if (s < 12) b = (bytes >> (16 * (s - 8) + 15) & 1) != 0 ? 255 : 0;
        else if (s == 12) b = 0;
        r |= b << (8 * i);
      }
      return put(r);
    }
    case Op::kVMulLoU32: return put(w(0) * w(1));
    case Op::kVMulHiU32: return put(static_cast<uint64_t>(w(0)) * w(1) >> 32);
    case Op::kVMulHiI32: return put(static_cast<uint64_t>(static_cast<int64_t>(s32(0)) * s32(1)) >> 32);
    case Op::kVMulU32U24: return put((w(0) & 0xffffff) * (w(1) & 0xffffff));
    case Op::kVMulI32I24: return put(static_cast<uint32_t>(static_cast<int32_t>(w(0) << 8) >> 8) * static_cast<uint32_t>(static_cast<int32_t>(w(1) << 8) >> 8));
    case Op::kVMadU32U24: return put((w(0) & 0xffffff) * (w(1) & 0xffffff) + w(2));
    case Op::kVMadI32I24:
      return put(static_cast<uint32_t>(static_cast<int32_t>(w(0) << 8) >> 8) * static_cast<uint32_t>(static_cast<int32_t>(w(1) << 8) >> 8) + w(2));
    case Op::kVMadU64U32: case Op::kVMadI64I32: {
      const uint64_t product = in.op == Op::kVMadU64U32 ? static_cast<uint64_t>(w(0)) * w(1)
                                                        : static_cast<uint64_t>(static_cast<int64_t>(s32(0)) * s32(1));
      const uint64_t c = Wide(o[4], l, false);
      bit_of(product + c < c);
      return put64(product + c);
    }
    case Op::kVMinI32: return put(static_cast<uint32_t>(std::min(s32(0), s32(1))));
    case Op::kVMaxI32: return put(static_cast<uint32_t>(std::max(s32(0), s32(1))));
    case Op::kVMinU32: return put(std::min(w(0), w(1)));
    case Op::kVMaxU32: return put(std::max(w(0), w(1)));
    case Op::kVMin3I32: return put(static_cast<uint32_t>(std::min({s32(0), s32(1), s32(2)})));
    case Op::kVMax3I32: return put(static_cast<uint32_t>(std::max({s32(0), s32(1), s32(2)})));
    case Op::kVMin3U32: return put(std::min({w(0), w(1), w(2)}));
    case Op::kVMax3U32: return put(std::max({w(0), w(1), w(2)}));
    case Op::kVMbcntLo: return put(static_cast<uint32_t>(std::popcount(l >= 32 ? w(0) : w(0) & ((1u << l) - 1))) + w(1));
    case Op::kVMbcntHi: return put(static_cast<uint32_t>(std::popcount(l < 32 ? 0u : w(0) & ((1u << (l - 32)) - 1))) + w(1));
    case Op::kVCndmask: {
      const bool second = (Mask(o[3]) >> l & 1) != 0;
      return put(Modified(o[second ? 2 : 1], w(second ? 1 : 0), 32));
    }
    default: *known = false; return true;
  }
}

absl::Status Wave::LaneOp(const Instruction& in) {
  const auto& o = in.operands;
  auto word = [&](const Operand& x, int lane) { return x.kind == OperandKind::kRegister ? Get(x.reg, lane) : static_cast<uint32_t>(x.imm); };
  if (in.op == Op::kVReadfirstlane) {
    Put(o[0].reg, 0, word(o[1], exec() == 0 ? 0 : std::countr_zero(exec())));
  } else if (in.op == Op::kVReadlane) {
    Put(o[0].reg, 0, word(o[1], static_cast<int>(word(o[2], 0) & 63)));
  } else {
    Put(o[0].reg, static_cast<int>(word(o[2], 0) & 63), word(o[1], 0));
  }
  return absl::OkStatus();
}

}  // namespace samebits::interpreter::amdgcn
