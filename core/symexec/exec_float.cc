// Floating-point instructions (PTX ISA 9.7.3 to 9.7.5) and conversions (9.7.9.21).

#include <bit>

#include "core/symexec/machine.h"

namespace samebits::symexec {

using expr::Attr;
using expr::Fn;
using expr::Format;
using expr::Round;
using isa::ScalarType;
using isa::ptx::Mod;
using isa::ptx::Op;

namespace {

Format ScalarFormat(ScalarType t) {
  switch (t) {
    case ScalarType::kF16: case ScalarType::kF16x2: return Format::kF16;
    case ScalarType::kBf16: case ScalarType::kBf16x2: return Format::kBf16;
    case ScalarType::kF32: case ScalarType::kF32x2: return Format::kF32;
    case ScalarType::kF64: return Format::kF64;
    case ScalarType::kTf32: return Format::kTf32;
    case ScalarType::kE4m3: case ScalarType::kE4m3x2: case ScalarType::kE4m3x4: return Format::kE4m3;
    case ScalarType::kE5m2: case ScalarType::kE5m2x2: case ScalarType::kE5m2x4: return Format::kE5m2;
    case ScalarType::kE2m3x2: return Format::kE2m3;
    case ScalarType::kE3m2x2: return Format::kE3m2;
    case ScalarType::kUe8m0x2: return Format::kUe8m0;
    case ScalarType::kS8: return Format::kS8;
    case ScalarType::kU8: return Format::kU8;
    case ScalarType::kS16: return Format::kS16;
    case ScalarType::kU16: return Format::kU16;
    case ScalarType::kS32: return Format::kS32;
    case ScalarType::kU32: return Format::kU32;
    case ScalarType::kS64: return Format::kS64;
    case ScalarType::kU64: return Format::kU64;
    default: return Format::kNone;
  }
}

int PackedCount(ScalarType t) {
  const int bits = expr::FormatBits(ScalarFormat(t));
  return bits == 0 ? 0 : isa::BitWidth(t) / bits;
}

Round RoundOf(const isa::Instruction& in, Round otherwise) {
  for (int i = 0; i < in.mod_count; ++i) {
    switch (in.mods[i]) {
      case Mod::kRn: return Round::kRn;
      case Mod::kRz: return Round::kRz;
      case Mod::kRm: return Round::kRm;
      case Mod::kRp: return Round::kRp;
      case Mod::kRna: return Round::kRna;
      case Mod::kRni: return Round::kRni;
      case Mod::kRzi: return Round::kRzi;
      case Mod::kRmi: return Round::kRmi;
      case Mod::kRpi: return Round::kRpi;
      default: break;
    }
  }
  return otherwise;
}

uint64_t FlagsOf(const isa::Instruction& in) {
  uint64_t flags = 0;
  if (in.Has(Mod::kFtz)) flags |= Attr::kFtz;
  if (in.Has(Mod::kSat)) flags |= Attr::kSat;
  if (in.Has(Mod::kApprox)) flags |= Attr::kApprox;
  if (in.Has(Mod::kFull)) flags |= Attr::kFull;
  if (in.Has(Mod::kPropagateNan)) flags |= Attr::kNanFlag;
  if (in.Has(Mod::kRelu)) flags |= Attr::kRelu;
  if (in.Has(Mod::kSatfinite)) flags |= Attr::kSatFinite;
  return flags;
}

bool HasRounding(const isa::Instruction& in) {
  return in.Has(Mod::kRn) || in.Has(Mod::kRz) || in.Has(Mod::kRm) || in.Has(Mod::kRp);
}

}  // namespace

// The operation on each component of a scalar or packed type.
bool Machine::FloatApply(Fn fn, Attr attr, ScalarType type, const std::vector<Value>& operands, Value* out) {
  const int count = PackedCount(type), bits = expr::FormatBits(ScalarFormat(type));
  if (count == 0) return Unknown("TYPE", "floating-point type is not modelled");
  if (attr.to == Format::kNone) attr.to = ScalarFormat(type);
  std::vector<Value> results;
  for (int i = 0; i < count; ++i) {
    std::vector<Lanes> lanes(operands.size());
    std::vector<const Lanes*> refs;
    for (size_t k = 0; k < operands.size(); ++k) {
      Value part;
      if (count == 1) {
        if (!ToLanes(operands[k], bits, &lanes[k])) return false;
      } else if (!Slice(operands[k], i * bits, bits, &part) || !ToLanes(part, bits, &lanes[k])) {
        return false;
      }
      refs.push_back(&lanes[k]);
    }
    Lanes z;
    if (!ops_.Apply(fn, attr.Encode(), bits, refs, &z)) return OutOfAnchors();
    results.push_back(Value::Bits(std::move(z), bits));
  }
  if (count == 1) {
    *out = std::move(results[0]);
    return true;
  }
  return Concat(results, out);
}

bool Machine::ExecFloat(const Inst& in) {
  const ScalarType type = in.type();
  const int width = isa::BitWidth(type);
  Attr attr;
  attr.flags = FlagsOf(in);
  Fn fn;
  switch (in.op) {
    case Op::kAdd: case Op::kSub: case Op::kMul:
      if (!CheckMods(in, {Mod::kRn, Mod::kRz, Mod::kRm, Mod::kRp, Mod::kFtz, Mod::kSat})) return false;
      if (in.type_count != 1) return Unknown("TYPE", "mixed-precision arithmetic is not modelled");
      attr.round = RoundOf(in, Round::kRn);
      if (!HasRounding(in)) attr.flags |= Attr::kContract;
      fn = in.op == Op::kMul ? Fn::kFMul : Fn::kFAdd;
      break;
    case Op::kFma: case Op::kMad:
      if (!CheckMods(in, {Mod::kRn, Mod::kRz, Mod::kRm, Mod::kRp, Mod::kFtz, Mod::kSat, Mod::kRelu})) return false;
      if (in.type_count != 1) return Unknown("TYPE", "mixed-precision arithmetic is not modelled");
      attr.round = RoundOf(in, Round::kRn);
      fn = Fn::kFFma;
      break;
    case Op::kDiv:
      if (!CheckMods(in, {Mod::kRn, Mod::kRz, Mod::kRm, Mod::kRp, Mod::kFtz, Mod::kFull, Mod::kApprox})) return false;
      attr.round = RoundOf(in, Round::kNone);
      fn = Fn::kFDiv;
      break;
    case Op::kMin: case Op::kMax:
      if (!CheckMods(in, {Mod::kFtz, Mod::kPropagateNan, Mod::kXorsign, Mod::kAbs})) return false;
      if (in.Has(Mod::kXorsign) || in.Has(Mod::kAbs)) return Generic(in, width, {width, width});
      fn = in.op == Op::kMin ? Fn::kFMin : Fn::kFMax;
      break;
    case Op::kAbs: case Op::kNeg:
      if (!CheckMods(in, {Mod::kFtz})) return false;
      fn = in.op == Op::kAbs ? Fn::kFAbs : Fn::kFNeg;
      break;
    case Op::kRcp: case Op::kSqrt: case Op::kRsqrt:
      if (!CheckMods(in, {Mod::kRn, Mod::kRz, Mod::kRm, Mod::kRp, Mod::kFtz, Mod::kApprox})) return false;
      attr.round = RoundOf(in, Round::kNone);
      fn = in.op == Op::kRcp ? Fn::kFRcp : in.op == Op::kSqrt ? Fn::kFSqrt : Fn::kFRsqrt;
      break;
    case Op::kEx2: case Op::kLg2: case Op::kSin: case Op::kCos: case Op::kTanh:
      if (!CheckMods(in, {Mod::kFtz, Mod::kApprox})) return false;
      fn = in.op == Op::kEx2   ? Fn::kEx2
           : in.op == Op::kLg2 ? Fn::kLg2
           : in.op == Op::kSin ? Fn::kSin
           : in.op == Op::kCos ? Fn::kCos
                               : Fn::kTanh;
      break;
    case Op::kCopysign:
      if (!CheckMods(in, {})) return false;
      fn = Fn::kFCopySign;
      break;
    case Op::kTestp: return Unmodelled(in);
    default: return Unmodelled(in);
  }
  std::vector<Value> operands(in.operand_count - 1);
  for (size_t i = 0; i < operands.size(); ++i)
    if (!Get(Op(in, static_cast<int>(i) + 1), width, true, &operands[i])) return false;
  Value result;
  if ((in.op == Op::kMin || in.op == Op::kMax) && operands.size() == 3) {
    Value inner;
    if (!FloatApply(fn, attr, type, {operands[0], operands[1]}, &inner)) return false;
    return FloatApply(fn, attr, type, {inner, operands[2]}, &result) && Set(Op(in, 0), std::move(result));
  }
  if (in.op == Op::kSub) {
    Value negated;
    // f64 keeps a NaN operand's sign, so there the negation is the arithmetic one.
    const Attr none;
    if (!FloatApply(type == ScalarType::kF64 ? Fn::kFNeg : Fn::kSignFlip, none, type, {operands[1]}, &negated)) return false;
    operands[1] = std::move(negated);
  }
  return FloatApply(fn, attr, type, operands, &result) && Set(Op(in, 0), std::move(result));
}

bool Machine::ExecConvert(const Inst& in) {
  if (in.type_count != 2) return Unknown("TYPE", "conversion of this form is not modelled");
  const ScalarType to = in.types[0], from = in.types[1];
  if (isa::IsFloat(to) || isa::IsFloat(from)) return ConvertFloat(in, to, from);
  if (!CheckMods(in, {Mod::kSat})) return false;
  const int tw = isa::BitWidth(to), fw = isa::BitWidth(from);
  const bool is_signed = isa::IsSigned(from);
  Value v;
  const Operand& source = Op(in, 1);
  if (!Get(source, fw, false, &v)) return false;
  if (v.width > fw && !(v.is_int() && v.buffer != 0)) {
    Value cut;
    if (!Slice(v, 0, fw, &cut)) return false;
    v = std::move(cut);
  }
  v.width = static_cast<uint8_t>(fw);
  if (v.is_int()) {
    if (v.buffer != 0) {
      if (tw != 64 || fw != 64) return Unknown("ADDRESS_AS_DATA", "an address is converted");
      return Set(Op(in, 0), std::move(v));
    }
    if (in.Has(Mod::kSat)) {
      if (symbolic_.HasTerms(v.symbolic)) return Unknown("OPEN_SIZE", "saturating conversion of an open size");
      if (fw == 64 && !is_signed) return Unmodelled(in);
      if (!Actual(&v, fw, is_signed)) return false;
      const bool ts = isa::IsSigned(to);
      const int64_t lo = ts ? (tw == 64 ? INT64_MIN : -(int64_t{1} << (tw - 1))) : 0;
      const int64_t hi = tw == 64 ? INT64_MAX : ts ? (int64_t{1} << (tw - 1)) - 1 : (int64_t{1} << tw) - 1;
      Value clamped;
      if (!Pointwise(v, Value::Int(0, 64), tw, [lo, hi](int64_t p, int64_t) { return std::min(std::max(p, lo), hi); }, &clamped))
        return false;
      return Set(Op(in, 0), std::move(clamped));
    }
    if (tw > fw && !WidenInt(&v, fw, is_signed, tw)) return false;
    v.width = static_cast<uint8_t>(tw);
    // A register wider than the type takes the converted value extended by the destination's sign.
    const Operand& destination = Op(in, 0);
    const int rw = destination.kind == isa::OperandKind::kRegister ? RegisterWidth(destination.reg) : tw;
    if (rw > tw && !WidenInt(&v, tw, isa::IsSigned(to), rw)) return false;
    return Set(destination, std::move(v));
  }
  Value result;
  if (in.Has(Mod::kSat)) {
    if (tw > fw) return Unmodelled(in);
    Attr attr;
    attr.to = ScalarFormat(to);
    attr.from = ScalarFormat(from);
    attr.flags = Attr::kSat;
    if (!DataUnary(Fn::kIConvert, attr.Encode(), fw, tw, v, &result)) return false;
  } else if (tw <= fw) {
    if (!Slice(v, 0, tw, &result)) return false;
  } else if (!is_signed) {
    if (!Concat({v, Value::Int(0, tw - fw)}, &result)) return false;
  } else if (!DataUnary(Fn::kSignExtend, static_cast<uint64_t>(fw), fw, tw, v, &result)) {
    return false;
  }
  const Operand& destination = Op(in, 0);
  const int rw = destination.kind == isa::OperandKind::kRegister ? RegisterWidth(destination.reg) : tw;
  if (rw > tw && isa::IsSigned(to)) {
    Value extended;
    if (!DataUnary(Fn::kSignExtend, static_cast<uint64_t>(tw), tw, rw, result, &extended)) return false;
    result = std::move(extended);
  }
  return Set(destination, std::move(result));
}

bool Machine::ConvertFloat(const Inst& in, ScalarType to, ScalarType from) {
  if (!CheckMods(in, {Mod::kRn, Mod::kRz, Mod::kRm, Mod::kRp, Mod::kRna, Mod::kRni, Mod::kRzi, Mod::kRmi, Mod::kRpi,
                      Mod::kFtz, Mod::kSat, Mod::kSatfinite, Mod::kRelu}))
    return false;
  Attr attr;
  attr.to = ScalarFormat(to);
  attr.from = ScalarFormat(from);
  attr.flags = FlagsOf(in);
  attr.round = RoundOf(in, Round::kNone);
  if (attr.to == Format::kNone || attr.from == Format::kNone || expr::FormatBits(attr.to) == 6 || expr::FormatBits(attr.from) == 6)
    return Unknown("TYPE", "conversion type is not modelled");
  const int tb = expr::FormatBits(attr.to), fb = expr::FormatBits(attr.from);
  const int packed = std::max(PackedCount(to), PackedCount(from));
  const bool to_float = isa::IsFloat(to), from_float = isa::IsFloat(from);
  const Fn fn = to_float && from_float ? Fn::kFConvert : to_float ? Fn::kIntToF : Fn::kFToInt;
  auto convert = [&](const Value& v, Value* out) {
    // Integers known in every lane convert here where the result is exact and simple.
    if (fn == Fn::kIntToF && v.is_uniform_const() && attr.to == Format::kF32 && attr.round == Round::kRn && attr.flags == 0 &&
        fb <= 32) {
      Value actual = v;
      if (!Actual(&actual, fb, isa::IsSigned(from))) return false;
      *out = Value::Int(std::bit_cast<uint32_t>(static_cast<float>(actual.constant)), 32);
      return true;
    }
    return DataUnary(fn, attr.Encode(), fb, tb, v, out);
  };
  Value result;
  if (packed == 1) {
    Value v;
    if (!Get(Op(in, 1), fb, from_float, &v)) return false;
    if (v.width > fb) {
      Value cut;
      if (!Slice(v, 0, fb, &cut)) return false;
      v = std::move(cut);
    }
    if (!convert(v, &result)) return false;
    const Operand& destination = Op(in, 0);
    const int rw = destination.kind == isa::OperandKind::kRegister ? RegisterWidth(destination.reg) : tb;
    if (!to_float && rw > tb && isa::IsSigned(to)) {
      Value extended;
      if (!DataUnary(Fn::kSignExtend, static_cast<uint64_t>(tb), tb, rw, result, &extended)) return false;
      result = std::move(extended);
    }
    return Set(destination, std::move(result));
  }
  if (packed != 2) return Unknown("TYPE", "conversion of four values at once is not modelled");
  std::vector<Value> parts(2);
  if (PackedCount(from) == 1) {
    // d, a, b: a becomes the upper half.
    if (in.operand_count != 3) return Unmodelled(in);
    Value a, b;
    if (!Get(Op(in, 1), fb, true, &a) || !Get(Op(in, 2), fb, true, &b)) return false;
    if (!convert(b, &parts[0]) || !convert(a, &parts[1])) return false;
  } else {
    if (in.operand_count != 2) return Unmodelled(in);
    Value v;
    if (!Get(Op(in, 1), 2 * fb, false, &v)) return false;
    for (int i = 0; i < 2; ++i) {
      Value part;
      if (!Slice(v, i * fb, fb, &part) || !convert(part, &parts[i])) return false;
    }
  }
  return Concat(parts, &result) && Set(Op(in, 0), std::move(result));
}

namespace {

bool CompareOf(const isa::Instruction& in, expr::Compare* compare, bool* is_unsigned_form) {
  *is_unsigned_form = false;
  for (int i = 0; i < in.mod_count; ++i) {
    switch (in.mods[i]) {
      case Mod::kEq: *compare = expr::Compare::kEq; return true;
      case Mod::kNe: *compare = expr::Compare::kNe; return true;
      case Mod::kLt: *compare = expr::Compare::kLt; return true;
      case Mod::kLe: *compare = expr::Compare::kLe; return true;
      case Mod::kGt: *compare = expr::Compare::kGt; return true;
      case Mod::kGe: *compare = expr::Compare::kGe; return true;
      case Mod::kLo: *is_unsigned_form = true; *compare = expr::Compare::kLt; return true;
      case Mod::kLs: *is_unsigned_form = true; *compare = expr::Compare::kLe; return true;
      case Mod::kHi: *is_unsigned_form = true; *compare = expr::Compare::kGt; return true;
      case Mod::kHs: *is_unsigned_form = true; *compare = expr::Compare::kGe; return true;
      case Mod::kEqu: *compare = expr::Compare::kEqu; return true;
      case Mod::kNeu: *compare = expr::Compare::kNeu; return true;
      case Mod::kLtu: *compare = expr::Compare::kLtu; return true;
      case Mod::kLeu: *compare = expr::Compare::kLeu; return true;
      case Mod::kGtu: *compare = expr::Compare::kGtu; return true;
      case Mod::kGeu: *compare = expr::Compare::kGeu; return true;
      case Mod::kNum: *compare = expr::Compare::kNum; return true;
      case Mod::kNan: *compare = expr::Compare::kNan; return true;
      default: break;
    }
  }
  return false;
}

}  // namespace

bool Machine::ExecSetp(const Inst& in) {
  if (in.op == Op::kSet) return Unmodelled(in);
  if (!CheckMods(in, {Mod::kEq, Mod::kNe, Mod::kLt, Mod::kLe, Mod::kGt, Mod::kGe, Mod::kLo, Mod::kLs, Mod::kHi, Mod::kHs,
                      Mod::kEqu, Mod::kNeu, Mod::kLtu, Mod::kLeu, Mod::kGtu, Mod::kGeu, Mod::kNum, Mod::kNan,
                      Mod::kFtz, Mod::kAnd, Mod::kOr, Mod::kXor}))
    return false;
  expr::Compare compare;
  bool unsigned_form;
  if (!CompareOf(in, &compare, &unsigned_form)) return Unmodelled(in);
  const ScalarType type = in.type();
  const bool is_float = isa::IsFloat(type);
  if (PackedCount(type) != 1 && is_float) return Unmodelled(in);
  const int width = isa::BitWidth(type);
  Value a, b, result;
  if (!Get(Op(in, 1), width, is_float, &a) || !Get(Op(in, 2), width, is_float, &b)) return false;
  if (is_float) {
    Lanes x, y, z;
    if (!ToLanes(a, width, &x) || !ToLanes(b, width, &y)) return false;
    Attr attr;
    attr.from = ScalarFormat(type);
    attr.compare = compare;
    attr.flags = FlagsOf(in) & Attr::kFtz;
    const Lanes* operands[2] = {&x, &y};
    if (!ops_.Apply(Fn::kFCompare, attr.Encode(), 1, operands, &z)) return OutOfAnchors();
    result = Value::Bits(std::move(z), 1);
  } else if (!IntCompare(compare, a, b, width, isa::IsSigned(type) && !unsigned_form, &result)) {
    return false;
  }
  const isa::Operand& d = Op(in, 0);
  const bool combines = in.Has(Mod::kAnd) || in.Has(Mod::kOr) || in.Has(Mod::kXor);
  auto combine = [&](const Value& first, Value* out) {
    if (!combines) {
      *out = first;
      return true;
    }
    Value c;
    if (!Get(Op(in, 3), 1, false, &c)) return false;
    const Fn fn = in.Has(Mod::kAnd) ? Fn::kAnd : in.Has(Mod::kOr) ? Fn::kOr : Fn::kXor;
    MaskId ka, kb;
    Lanes la, lb;
    bool ia, ib;
    if (!AsPredicate(first, &ka, &la, &ia) || !AsPredicate(c, &kb, &lb, &ib)) return false;
    if (ia && ib) {
      *out = Value::Predicate(fn == Fn::kAnd ? space_.And(ka, kb) : fn == Fn::kOr ? space_.Or(ka, kb) : space_.Xor(ka, kb));
      return true;
    }
    return DataBinary(fn, 0, 1, first, c, out);
  };
  Value p;
  if (!combine(result, &p)) return false;
  if (d.pair_reg != isa::kNone32) {
    Value inverse, q;
    MaskId known;
    Lanes condition;
    bool is_known;
    if (!AsPredicate(result, &known, &condition, &is_known)) return false;
    if (is_known) {
      inverse = Value::Predicate(space_.AndNot(kAllLanes, known));
    } else if (!DataUnary(Fn::kNot, 0, 1, 1, result, &inverse)) {
      return false;
    }
    if (!combine(inverse, &q)) return false;
    if (!SetRegister(d.pair_reg, std::move(q))) return false;
  }
  if (d.kind == isa::OperandKind::kSink) return true;
  return SetRegister(d.reg, std::move(p));
}

bool Machine::ExecSelp(const Inst& in) {
  if (!CheckMods(in, {})) return false;
  const int width = isa::BitWidth(in.type());
  Value a, b, p, result;
  if (!Get(Op(in, 1), width, isa::IsFloat(in.type()), &a) || !Get(Op(in, 2), width, isa::IsFloat(in.type()), &b) ||
      !Get(Op(in, 3), 1, false, &p))
    return false;
  MaskId known;
  Lanes condition;
  bool is_known;
  if (!AsPredicate(p, &known, &condition, &is_known)) return false;
  if (is_known) {
    const MaskId on = space_.And(known, exec_);
    if (on == exec_) return Set(Op(in, 0), std::move(a));
    if (on == kNoLanes) return Set(Op(in, 0), std::move(b));
    return Blend(known, a, b, &result) && Set(Op(in, 0), std::move(result));
  }
  if (a.buffer != 0 || b.buffer != 0) return Unknown("ADDRESS_ON_DATA", "an address is selected by loaded data");
  absl::InlinedVector<Piece, 4> pa, pb;
  if (!ToPieces(a, width, &pa) || !ToPieces(b, width, &pb)) return false;
  // Select piece by piece where both are cut alike, so that packed halves stay apart.
  bool alike = pa.size() == pb.size();
  for (size_t i = 0; alike && i < pa.size(); ++i) alike = pa[i].bits == pb[i].bits;
  if (!alike) {
    pa.resize(1);
    pb.resize(1);
    Lanes la, lb;
    if (!ToLanes(a, width, &la) || !ToLanes(b, width, &lb)) return false;
    pa[0] = {la, static_cast<uint8_t>(width)};
    pb[0] = {lb, static_cast<uint8_t>(width)};
  }
  for (size_t i = 0; i < pa.size(); ++i) {
    const Lanes* operands[3] = {&condition, &pa[i].lanes, &pb[i].lanes};
    Lanes z;
    if (!ops_.Apply(Fn::kSelect, 0, pa[i].bits, operands, &z)) return OutOfAnchors();
    pa[i].lanes = std::move(z);
  }
  FromPieces(std::move(pa), width, &result);
  return Set(Op(in, 0), std::move(result));
}

}  // namespace samebits::symexec
