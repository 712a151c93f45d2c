// Vector arithmetic of a wave.

#include <algorithm>
#include <bit>

#include "core/expr/operation.h"
#include "core/isa/amdgcn/op_table.h"
#include "core/softfloat/convert.h"
#include "core/symexec/amdgcn/wave_machine.h"

namespace samebits::symexec {

using expr::Attr;
using expr::Compare;
using expr::Fn;
using expr::Format;
using expr::Round;
using isa::ScalarType;
using isa::amdgcn::InfoOf;
using isa::amdgcn::Op;
using isa::amdgcn::OperandKind;
using isa::amdgcn::SdwaSel;
using isa::amdgcn::Type;

namespace {

int Width(ScalarType t) { return isa::BitWidth(t); }

Format FormatOf(ScalarType t) {
  return t == ScalarType::kF32 ? Format::kF32 : t == ScalarType::kF16 ? Format::kF16 : Format::kF64;
}

struct SelField {
  int low, bits;
};
SelField FieldOf(SdwaSel sel) {
  switch (sel) {
    case SdwaSel::kByte0: return {0, 8};
    case SdwaSel::kByte1: return {8, 8};
    case SdwaSel::kByte2: return {16, 8};
    case SdwaSel::kByte3: return {24, 8};
    case SdwaSel::kWord0: return {0, 16};
    case SdwaSel::kWord1: return {16, 16};
    default: return {0, 32};
  }
}

int64_t MulHigh32(int64_t p, int64_t q, bool is_signed) {
  if (is_signed) return (static_cast<int64_t>(static_cast<int32_t>(p)) * static_cast<int32_t>(q)) >> 32;
  return static_cast<int64_t>((static_cast<uint64_t>(static_cast<uint32_t>(p)) * static_cast<uint32_t>(q)) >> 32);
}

}  // namespace

bool WaveMachine::Known(const Value& v) const {
  return v.is_int() && v.buffer == 0 && v.mask == 0 && !symbolic_.HasTerms(v.symbolic);
}

// Bits [low, low + bits) extended to 32.
bool WaveMachine::Field(const Value& v, int low, int bits, bool is_signed, Value* out) {
  if (v.buffer != 0) return Unknown("ADDRESS_AS_DATA", "part of an address is used as data");
  if (bits <= 0) {
    *out = Value::Int(0, 32);
    return true;
  }
  if (low == 0 && bits == 32) {
    *out = v;
    return true;
  }
  Value x = v;
  if (AsInt(&x)) {
    if (!is_signed) {
      Value shifted = x;
      if (low != 0 && !IntShift(Fn::kShr, x, Value::Int(low, 32), 32, &shifted)) return false;
      return IntBitwise(Fn::kAnd, shifted, Value::Int((int64_t{1} << bits) - 1, 32), 32, out);
    }
    Value left = x;
    if (low + bits < 32 && !IntShift(Fn::kShl, x, Value::Int(32 - low - bits, 32), 32, &left)) return false;
    return IntShift(Fn::kSar, left, Value::Int(32 - bits, 32), 32, out);
  }
  Value part;
  if (!Slice(x, low, bits, &part)) return false;
  if (!is_signed) return Concat({part, Value::Int(0, 32 - bits)}, out);
  return DataUnary(Fn::kSignExtend, static_cast<uint64_t>(bits), bits, 32, part, out);
}

// Hardware takes the amount modulo the width.
bool WaveMachine::Shift(Fn fn, int width, const Value& x, const Value& n, Value* out) {
  if (x.buffer != 0 || n.buffer != 0) return Unknown("ADDRESS_AS_DATA", "an address is shifted");
  Value amount = n;
  if (AsInt(&amount) && amount.is_uniform_const()) {
    amount = Value::Int(amount.constant & (width - 1), 32);
  } else if (!IntBitwise(Fn::kAnd, n, Value::Int(width - 1, 32), 32, &amount)) {
    return false;
  }
  if (!AsInt(&amount) && amount.width != 32) amount.width = 32;
  bool done = false;
  if (!ShiftByLane(fn, width, x, amount, out, &done)) return false;
  return done || IntShift(fn, x, amount, width, out);
}

// Data shifted by few known amounts, which lanes differ in: each of them moves bits.
bool WaveMachine::ShiftByLane(Fn fn, int width, const Value& x, const Value& amount, Value* out, bool* done) {
  constexpr size_t kMostAmounts = 8;
  if (!Known(amount) || amount.symbolic != 0 || amount.array == 0 || !x.is_bits()) return true;
  std::vector<int64_t> of(space_.array(amount.array), space_.array(amount.array) + space_.lanes());  // interning moves arrays
  absl::InlinedVector<int64_t, kMostAmounts> amounts;
  for (int l = 0; l < space_.lanes(); ++l) {
    const int64_t n = of[l] += amount.constant;
    if (!space_.Test(exec_, l) || std::find(amounts.begin(), amounts.end(), n) != amounts.end()) continue;
    if (amounts.size() == kMostAmounts || n < 0 || n >= width) return true;
    amounts.push_back(n);
  }
  for (size_t i = 0; i < amounts.size(); ++i) {
    Value moved = x;
    const int n = static_cast<int>(amounts[i]);
    if (n != 0 && !IntShift(fn, x, Value::Int(n, 32), width, &moved)) return false;
    if (n != 0 && fn == Fn::kSar) {
      // Bits of the data and copies of its sign apart: users of few bits see the data's own.
      Value low, high;
      absl::InlinedVector<Piece, 4> pieces, above;
      if (!Slice(x, n, width - n, &low) || !Slice(moved, width - n, n, &high) || !ToPieces(low, width - n, &pieces) ||
          !ToPieces(high, n, &above))
        return false;
      for (Piece& p : above) pieces.push_back(std::move(p));
      FromPieces(std::move(pieces), width, &moved);
    }
    if (i == 0) {
      *out = std::move(moved);
      continue;
    }
    const Value before = *out;
    if (!Blend(space_.MaskWhere([&](int l) { return of[l] == amounts[i]; }), moved, before, out)) return false;
  }
  *done = !amounts.empty();
  return true;
}

bool WaveMachine::MulHigh(const Value& a, const Value& b, bool is_signed, Value* out) {
  Value x = a, y = b;
  if (!AsInt(&x) || !AsInt(&y) || symbolic_.HasTerms(x.symbolic) || symbolic_.HasTerms(y.symbolic)) {
    Attr attr;
    if (is_signed) attr.flags = Attr::kSigned;
    return DataBinary(Fn::kIMulHi, attr.Encode(), 32, a, b, out);
  }
  if (!Actual(&x, 32, is_signed) || !Actual(&y, 32, is_signed)) return false;
  return Pointwise(x, y, 32, [is_signed](int64_t p, int64_t q) { return MulHigh32(p, q, is_signed); }, out);
}

bool WaveMachine::Flip(const Value& v, ScalarType type, bool neg, bool abs, Value* out) {
  *out = v;
  Attr attr;
  attr.to = FormatOf(type);
  if (abs) {
    const Value x = *out;
    if (!FloatApply(Fn::kFAbs, attr, type, {x}, out)) return false;
  }
  if (neg) {
    const Value x = *out;
    const Attr none;
    if (!FloatApply(type == ScalarType::kF64 ? Fn::kFNeg : Fn::kSignFlip, none, type, {x}, out)) return false;
  }
  return true;
}

// Source i (0-based) as 32 bits, with DPP and SDWA selection, without float modifiers.
bool WaveMachine::VectorSource(const GcnInst& in, int i, Value* out) {
  const GcnOperand& o = in.operands[static_cast<size_t>(InfoOf(in.op).destinations() + i)];
  if (i == 0 && in.dpp != isa::amdgcn::DppKind::kNone) {
    if (!DppRead(in, o, out)) return false;
  } else if (!Read32(o, out)) {
    return false;
  }
  if (in.sdwa && i < 2 && in.src_sel[i] != SdwaSel::kDword) {
    const SelField f = FieldOf(in.src_sel[i]);
    const Value whole = *out;
    return Field(whole, f.low, f.bits, o.sext, out);
  }
  return !o.sext || (in.sdwa ? true : Unmodelled64());
}

// Half of an address as a number: compilers read such a register where the result is not used. Nothing is known of it.
void WaveMachine::Nameless(Value* v) {
  if (v->buffer == 0) return;
  Lanes undef;
  undef.nodes = nodes_.Undef();
  *v = Value::Bits(undef, v->width);
}

bool WaveMachine::FloatSource(const GcnInst& in, int i, ScalarType type, Value* out) {
  const GcnOperand& o = in.operands[static_cast<size_t>(InfoOf(in.op).destinations() + i)];
  if (type == ScalarType::kF16) return HalfSource(in, i, out);
  Value v;
  if (type == ScalarType::kF64) {
    if (!Read64(o, &v, true)) return false;
  } else if (!VectorSource(in, i, &v)) {
    return false;
  }
  Nameless(&v);
  return Flip(v, type, o.neg, o.abs, out);
}

bool WaveMachine::HalfSource(const GcnInst& in, int i, Value* out) {
  const GcnOperand& o = in.operands[static_cast<size_t>(InfoOf(in.op).destinations() + i)];
  Value v;
  const bool high = (in.op_sel >> i & 1) != 0;
  if (o.kind == OperandKind::kImmediate && o.is_float) {
    if (high) return Unmodelled64();
    v = Value::Int(static_cast<int64_t>(softfloat::ConvertFloat(softfloat::kF16, softfloat::kF32, static_cast<uint64_t>(o.imm), softfloat::Rounding::kRn)), 16);
  } else {
    Value word;
    if (!VectorSource(in, i, &word) || word.buffer != 0) return Unknown("ADDRESS_AS_DATA", "an address is used as a number");
    if (!Slice(word, high ? 16 : 0, 16, &v)) return false;
  }
  return Flip(v, ScalarType::kF16, o.neg, o.abs, out);
}

bool WaveMachine::FloatOp(Fn fn, ScalarType type, const std::vector<Value>& operands, Value* out, uint64_t flags) {
  Attr attr;
  attr.flags = flags;
  if (fn == Fn::kFAdd || fn == Fn::kFMul || fn == Fn::kFFma) attr.round = Round::kRn;
  if (!FloatApply(fn, attr, type, operands, out)) return false;
  if ((fn != Fn::kFMul && fn != Fn::kFFma) || type != ScalarType::kF32 || !(HoldsFlip(operands[0]) || HoldsFlip(operands[1]))) return true;
  // Which factor a compiler negates is its choice: of the two ways the one with the lesser digest stands for both.
  std::vector<Value> turned = operands;
  Value other;
  for (int i = 0; i < 2; ++i)
    if (!Flip(operands[static_cast<size_t>(i)], type, true, false, &turned[static_cast<size_t>(i)])) return false;
  if (!FloatApply(fn, attr, type, turned, &other)) return false;
  Lanes x, y;
  if (!ToLanes(*out, 32, &x) || !ToLanes(other, 32, &y)) return false;
  const auto node = [&](const Lanes& v, int l) { return v.uniform() ? v.nodes : space_.nodes(v.nodes & ~kMixed)[l]; };
  const auto less = [&](expr::NodeId a, expr::NodeId b) { return nodes_[a].digest < nodes_[b].digest; };
  const MaskId first = x.uniform() && y.uniform() ? (less(y.nodes, x.nodes) ? kNoLanes : kAllLanes)
                                                  : space_.MaskWhere([&](int l) { return !less(node(y, l), node(x, l)); });
  Lanes chosen;
  if (!ops_.Blend(first, x, y, &chosen)) return OutOfAnchors();
  *out = Value::Bits(std::move(chosen), 32);
  return true;
}

bool WaveMachine::HoldsFlip(const Value& v) const {
  if (!v.is_bits() || v.pieces.size() != 1) return false;
  const Lanes& lanes = v.pieces[0].lanes;
  const auto flips = [&](expr::NodeId id) { return nodes_[id].fn == Fn::kSignFlip; };
  if (lanes.uniform()) return flips(lanes.nodes);
  const uint32_t* ids = space_.nodes(lanes.nodes & ~kMixed);
  return std::any_of(ids, ids + space_.lanes(), flips);
}

// A maximum of a value with itself only quiets a signalling NaN.
bool WaveMachine::MinMax(bool is_max, ScalarType type, const Value& a, const Value& b, Value* out) {
  Lanes x, y;
  const int width = Width(type);
  if (!ToLanes(a, width, &x) || !ToLanes(b, width, &y)) return false;
  if (x.nodes == y.nodes && x.anchors == y.anchors) {
    *out = a;
    return true;
  }
  return FloatOp(is_max ? Fn::kFMax : Fn::kFMin, type, {a, b}, out);
}

bool WaveMachine::Convert(Fn fn, Format to, Format from, Round round, const Value& v, Value* out) {
  Attr attr;
  attr.to = to;
  attr.from = from;
  attr.round = round;
  return DataUnary(fn, attr.Encode(), expr::FormatBits(from), expr::FormatBits(to), v, out);
}

// An operation of this instruction set that nothing here takes apart: equal to itself on equal operands.
bool WaveMachine::IsaOp(std::string_view name, int width, std::initializer_list<std::pair<const Value*, int>> operands, Value* out) {
  WordHasher h(78);
  for (const char c : name) h.Add(static_cast<uint8_t>(c));
  expr::IsaOperation operation;
  operation.spelling = std::string(name);
  std::vector<Lanes> lanes(operands.size());
  std::vector<const Lanes*> refs;
  size_t i = 0;
  for (const auto& [value, bits] : operands) {
    operation.operand_widths.push_back(bits);
    if (!ToLanes(*value, bits, &lanes[i])) return false;
    refs.push_back(&lanes[i++]);
  }
  const uint64_t word = h.Finish64();
  nodes_.DescribeIsa(word, operation);
  Lanes z;
  if (!ops_.Apply(Fn::kIsa, word, width, refs, &z)) return OutOfAnchors();
  *out = Value::Bits(std::move(z), width);
  return true;
}

// Clamp and output modifiers have been refused or folded into the operation; what is left is the write.
bool WaveMachine::FinishFloat(const GcnInst& in, ScalarType type, Value v) {
  const GcnOperand& d = in.operands[0];
  if (type == ScalarType::kF64) return Write64(d, std::move(v));
  if (type != ScalarType::kF16) return WriteVector(in, std::move(v));
  return WriteVector(in, std::move(v), 16);
}

// `bits` result bits in the low part of the register; the rest are zeros, as 16-bit operations of these processors leave
// it, or what SDWA says.
bool WaveMachine::WriteVector(const GcnInst& in, Value v, int bits) {
  const GcnOperand& d = in.operands[0];
  if (v.buffer == 0 && v.mask == 0 && v.width > 32 && !Slice(Value(v), 0, 32, &v)) return false;
  const int destinations = InfoOf(in.op).destinations();
  const int sources = in.operand_count - destinations;
  const bool high = bits == 16 && in.has_op_sel && (in.op_sel >> sources & 1) != 0;
  if (bits == 16) {
    Value half = v, old, other, joined;
    if (v.width != 16 && !Slice(v, 0, 16, &half)) return false;
    half.width = 16;
    if (high) {
      if (!Read32(d, &old) || !Slice(old, 0, 16, &other) || !Concat({other, half}, &joined)) return false;
    } else {
      // Fused ones keep or clear the upper half, as the processor may be.
      other = Value::Int(0, 16);
      if (in.op == Op::kVFmaF16 || in.op == Op::kVFmacF16) {
        Lanes undef;
        undef.nodes = nodes_.Undef();
        other = Value::Bits(undef, 16);
      }
      if (!Concat({half, other}, &joined)) return false;
    }
    v = std::move(joined);
  }
  if (in.sdwa && in.dst_sel != SdwaSel::kDword) {
    const SelField f = FieldOf(in.dst_sel);
    Value part, old, low, high_part, joined;
    if (!Slice(v, 0, f.bits, &part)) return false;
    part.width = static_cast<uint8_t>(f.bits);
    const int above = 32 - f.low - f.bits;
    std::vector<Value> parts;
    if (in.dst_unused == isa::amdgcn::SdwaUnused::kSext) return Unmodelled64();
    const bool keep = in.dst_unused == isa::amdgcn::SdwaUnused::kPreserve;
    if (keep && !Read32(d, &old)) return false;
    if (f.low > 0) {
      low = Value::Int(0, f.low);
      if (keep && !Slice(old, 0, f.low, &low)) return false;
      low.width = static_cast<uint8_t>(f.low);
      parts.push_back(low);
    }
    parts.push_back(part);
    if (above > 0) {
      high_part = Value::Int(0, above);
      if (keep && !Slice(old, f.low + f.bits, above, &high_part)) return false;
      high_part.width = static_cast<uint8_t>(above);
      parts.push_back(high_part);
    }
    if (!Concat(parts, &joined)) return false;
    v = std::move(joined);
  }
  if (in.dpp == isa::amdgcn::DppKind::kNone) return Write32(d, std::move(v));
  MaskId write;
  if (!ExecDppMask(in, &write)) return false;
  const MaskId saved = exec_;
  exec_ = write;
  const bool ok = exec_ == kNoLanes || Write32(d, std::move(v));
  exec_ = saved;
  return ok;
}

// Whether the reciprocal at hand begins an integer division: its next use is a multiplication by 2^32 * (1 - 2^-22).
bool WaveMachine::DividesIntegers() const {
  constexpr int64_t kScale = 0x4f7ffffe;
  const uint16_t reg = in_->operands[0].reg;
  const size_t at = static_cast<size_t>(in_ - kernel_.instructions.data());
  for (size_t pc = at + 1; pc < std::min(at + 64, kernel_.instructions.size()); ++pc) {
    const GcnInst& next = kernel_.instructions[pc];
    if (Reads(next, reg))
      return next.op == Op::kVMulF32 && ((next.operands[1].kind == OperandKind::kImmediate && next.operands[1].imm == kScale) ||
                                         (next.operands[2].kind == OperandKind::kImmediate && next.operands[2].imm == kScale));
    if (Writes(next, reg) || InfoOf(next.op).unit == isa::amdgcn::Unit::kBranch) return false;
  }
  return false;
}

// Float steps of an integer division, on numbers that are known in every wave.
bool WaveMachine::FoldFloat(const GcnInst& in, bool* done) {
  *done = false;
  Fn fn;
  Attr attr;
  switch (in.op) {
    case Op::kVCvtF32U32: fn = Fn::kIntToF, attr.to = Format::kF32, attr.from = Format::kU32, attr.round = Round::kRn; break;
    case Op::kVCvtF32I32: fn = Fn::kIntToF, attr.to = Format::kF32, attr.from = Format::kS32, attr.round = Round::kRn; break;
    case Op::kVRcpF32: if (!DividesIntegers()) return true; [[fallthrough]];
    case Op::kVRcpIflagF32: fn = Fn::kFRcp, attr.to = Format::kF32, attr.round = Round::kRn; break;
    case Op::kVMulF32: fn = Fn::kFMul, attr.to = Format::kF32, attr.round = Round::kRn; break;
    case Op::kVCvtU32F32: fn = Fn::kFToInt, attr.to = Format::kU32, attr.from = Format::kF32, attr.round = Round::kRzi; break;
    default: return true;
  }
  if (in.sdwa || in.clamp || in.omod != 0 || in.dpp != isa::amdgcn::DppKind::kNone) return true;
  Value a, b = Value::Int(0, 32);
  if (in.operands[1].neg || in.operands[1].abs || in.operands[2].neg || in.operands[2].abs) return true;
  if (!Read32(in.operands[1], &a) || (in.op == Op::kVMulF32 && !Read32(in.operands[2], &b))) return false;
  if (!AsInt(&a) || !AsInt(&b) || !Known(a) || !Known(b) || a.array != 0 || b.array != 0) return true;
  if (fn == Fn::kFRcp) Assume("amdgcn: integer divisions through v_rcp_f32 are exact, as compilers write them");
  if (!Actual(&a, 32, false) || !Actual(&b, 32, false)) return false;
  const uint64_t word = attr.Encode();
  const int operands = in.op == Op::kVMulF32 ? 2 : 1;
  Value r;
  if (!Pointwise(a, b, 32, [fn, word, operands](int64_t p, int64_t q) {
        const uint128 x[2] = {static_cast<uint32_t>(p), static_cast<uint32_t>(q)};
        return static_cast<int64_t>(static_cast<uint32_t>(expr::Compute(fn, word, 32, {x, static_cast<size_t>(operands)}).bits));
      }, &r))
    return false;
  *done = true;
  return Write32(in.operands[0], std::move(r));
}

bool WaveMachine::ExecCompare(const GcnInst& in) {
  const auto& o = in.operands;
  Value r;
  if (in.dpp != isa::amdgcn::DppKind::kNone || in.clamp) return Unmodelled64();
  const bool is_float = in.type == Type::kF16 || in.type == Type::kF32 || in.type == Type::kF64;
  if (in.compare == isa::amdgcn::Compare::kF || in.compare == isa::amdgcn::Compare::kTru) {
    r = Value::Predicate(in.compare == isa::amdgcn::Compare::kTru ? kAllLanes : kNoLanes);
  } else if (is_float) {
    static constexpr Compare kFloat[] = {Compare::kEq, Compare::kLt, Compare::kEq, Compare::kLe, Compare::kGt, Compare::kNe,
                                         Compare::kGe, Compare::kNum, Compare::kNan, Compare::kLtu, Compare::kEqu,
                                         Compare::kLeu, Compare::kGtu, Compare::kNeu, Compare::kGeu};
    const ScalarType type = in.type == Type::kF16 ? ScalarType::kF16 : in.type == Type::kF32 ? ScalarType::kF32 : ScalarType::kF64;
    Value a, b;
    Lanes x, y, z;
    if (!FloatSource(in, 0, type, &a) || !FloatSource(in, 1, type, &b) || !ToLanes(a, Width(type), &x) || !ToLanes(b, Width(type), &y))
      return false;
    Attr attr;
    attr.from = FormatOf(type);
    attr.compare = kFloat[static_cast<int>(in.compare)];
    const Lanes* operands[2] = {&x, &y};
    if (!ops_.Apply(Fn::kFCompare, attr.Encode(), 1, operands, &z)) return OutOfAnchors();
    r = Value::Bits(std::move(z), 1);
  } else {
    Compare compare;
    switch (in.compare) {
      case isa::amdgcn::Compare::kLt: compare = Compare::kLt; break;
      case isa::amdgcn::Compare::kEq: compare = Compare::kEq; break;
      case isa::amdgcn::Compare::kLe: compare = Compare::kLe; break;
      case isa::amdgcn::Compare::kGt: compare = Compare::kGt; break;
      case isa::amdgcn::Compare::kGe: compare = Compare::kGe; break;
      case isa::amdgcn::Compare::kLg: case isa::amdgcn::Compare::kNe: compare = Compare::kNe; break;
      default: return Unmodelled64();
    }
    const bool is_signed = in.type == Type::kI16 || in.type == Type::kI32 || in.type == Type::kI64;
    int width = 32;
    Value a, b;
    if (in.type == Type::kI64 || in.type == Type::kU64) {
      width = 64;
      if (!Read64(o[1], &a) || !Read64(o[2], &b)) return false;
    } else {
      if (!VectorSource(in, 0, &a) || !VectorSource(in, 1, &b)) return false;
      if (a.buffer != 0 || b.buffer != 0) return Unknown("ADDRESS_AS_DATA", "a half of an address is compared");
      if (in.type == Type::kI16 || in.type == Type::kU16) {
        width = 16;
        const Value x = a, y = b;
        if (!Slice(x, 0, 16, &a) || !Slice(y, 0, 16, &b)) return false;
        a.width = b.width = 16;
      }
    }
    if (!IntCompare(compare, a, b, width, is_signed, &r)) return false;
  }
  // Lanes that do not execute have zero.
  isa::amdgcn::Operand exec;
  exec.kind = OperandKind::kRegister;
  exec.count = 2;
  exec.reg = isa::amdgcn::kExecLo;
  Value active, both;
  if (exec_is_data_) {
    if (!ReadMask(exec, &active)) return false;
  } else {
    active = Value::Predicate(exec_);
  }
  if (!MaskCombine(Fn::kAnd, false, false, active, r, &both)) return false;
  const MaskId lanes = exec_;
  exec_ = wave_;
  bool ok = WriteMask(o[0], both);
  if (in.op == Op::kVCmpx) ok = ok && WriteMask(exec, both);
  exec_ = lanes;
  return ok;
}

bool WaveMachine::ExecCndmask(const GcnInst& in) {
  const auto& o = in.operands;
  Value a, b, m;
  if (in.dpp != isa::amdgcn::DppKind::kNone || in.clamp) return Unmodelled64();
  if (!ReadMask(o[3], &m)) return false;
  MaskId known;
  Lanes condition;
  bool is_known;
  if (!AsPredicate(m, &known, &condition, &is_known)) return false;
  auto source = [&](int i, Value* v) {
    const auto& s = o[static_cast<size_t>(i + 1)];
    // Offsets keep their mark, and addresses stay whole.
    if (s.kind == OperandKind::kRegister && !in.sdwa && !s.neg && !s.abs) {
      if (!Peek(s.reg, v)) return false;
      if (!v->is_predicate() && v->width != 1) return true;
    }
    if (!VectorSource(in, i, v)) return false;
    if (s.neg || s.abs) {
      const Value straight = *v;
      return Flip(straight, ScalarType::kF32, s.neg, s.abs, v);
    }
    return true;
  };
  if (is_known) {
    const MaskId on = space_.And(known, exec_);
    if (on == exec_) return source(1, &b) && WriteVector(in, std::move(b));
    if (on == kNoLanes) return source(0, &a) && WriteVector(in, std::move(a));
    if (!source(0, &a) || !source(1, &b)) return false;
    auto outside = [](const Value& v) { return v.is_uniform_const() && v.mask == 0 && static_cast<uint32_t>(v.constant) == kOutside; };
    const bool ints = a.is_int() && b.is_int() && a.buffer == 0 && b.buffer == 0;
    if (ints && !in.sdwa && (a.mask != 0 || b.mask != 0 || ((outside(a) || outside(b)) && a.symbolic != b.symbolic))) {
      // Lanes with the constant are marked; those with the offset keep it.
      Value r = outside(a) ? b : a;
      if (outside(a) && !outside(b)) {
        r.mask = space_.Or(space_.And(b.mask, known), space_.AndNot(kAllLanes, known));
      } else if (outside(b) && !outside(a)) {
        r.mask = space_.Or(space_.AndNot(a.mask, known), known);
      } else if (a.symbolic == b.symbolic) {
        Value x = a, y = b;
        x.mask = y.mask = 0;
        if (!Blend(known, y, x, &r)) return false;
        r.mask = space_.Or(space_.And(b.mask, known), space_.AndNot(a.mask, known));
      } else {
        return Unknown("MIXED_ADDRESS", "an offset is one of two that different blocks count apart");
      }
      return Write32(o[0], std::move(r));
    }
    if (!Materialize(&a) || !Materialize(&b)) return false;
    Value r;
    return Blend(known, b, a, &r) && WriteVector(in, std::move(r));
  }
  if (!source(0, &a) || !source(1, &b) || !Materialize(&a) || !Materialize(&b)) return false;
  if (a.buffer != 0 || b.buffer != 0) return Unknown("ADDRESS_ON_DATA", "an address is selected by loaded data");
  // Select piece by piece where both are cut alike, so that packed halves stay apart.
  absl::InlinedVector<Piece, 4> pa, pb;
  if (!ToPieces(a, 32, &pa) || !ToPieces(b, 32, &pb)) return false;
  bool alike = pa.size() == pb.size();
  for (size_t i = 0; alike && i < pa.size(); ++i) alike = pa[i].bits == pb[i].bits;
  if (!alike) {
    pa.resize(1);
    pb.resize(1);
    Lanes la, lb;
    if (!ToLanes(a, 32, &la) || !ToLanes(b, 32, &lb)) return false;
    pa[0] = {la, 32};
    pb[0] = {lb, 32};
  }
  for (size_t i = 0; i < pa.size(); ++i) {
    const Lanes* operands[3] = {&condition, &pb[i].lanes, &pa[i].lanes};
    Lanes z;
    if (!ops_.Apply(Fn::kSelect, 0, pa[i].bits, operands, &z)) return OutOfAnchors();
    pa[i].lanes = std::move(z);
  }
  Value r;
  FromPieces(std::move(pa), 32, &r);
  return WriteVector(in, std::move(r));
}

// v_perm_b32 with a known selector: bytes 0 to 3 are the second source's, 4 to 7 the first's, 12 zero.
bool WaveMachine::ByteSelect(const GcnInst& in) {
  Value a, b, s, r;
  if (!VectorSource(in, 0, &a) || !VectorSource(in, 1, &b) || !VectorSource(in, 2, &s)) return false;
  if (a.buffer != 0 || b.buffer != 0) return Unknown("ADDRESS_AS_DATA", "bytes of an address are used");
  uint64_t selector = 0;
  bool fresh = true, same = AsInt(&s) && s.symbolic == 0 && s.mask == 0;
  for (int l = 0; same && l < space_.lanes(); ++l) {
    if (!space_.Test(exec_, l)) continue;
    const uint64_t word = static_cast<uint64_t>(space_.array(s.array)[l] + s.constant) & 0xffffffff;
    same = fresh || word == selector;
    selector = word;
    fresh = false;
  }
  if (!same) return IsaOp("v_perm_b32", 32, {{&a, 32}, {&b, 32}, {&s, 32}}, &r) && WriteVector(in, std::move(r));
  std::vector<Value> parts;
  for (int i = 0; i < 4;) {
    const int sel = static_cast<int>(selector >> (8 * i) & 255);
    if (sel == 12) {
      parts.push_back(Value::Int(0, 8));
      ++i;
      continue;
    }
    if (sel > 12) {
      parts.push_back(Value::Int(255, 8));
      ++i;
      continue;
    }
    if (sel > 7) return Unmodelled64();
    int run = 1;
    while (i + run < 4 && static_cast<int>(selector >> (8 * (i + run)) & 255) == sel + run && (sel + run) / 4 == sel / 4) ++run;
    Value part;
    if (!Slice(sel < 4 ? b : a, sel % 4 * 8, run * 8, &part)) return false;
    part.width = static_cast<uint8_t>(run * 8);
    parts.push_back(std::move(part));
    i += run;
  }
  return Concat(parts, &r) && WriteVector(in, std::move(r));
}

// Two f32 operations on register pairs.
bool WaveMachine::Packed32(const GcnInst& in) {
  const int n = in.operand_count - 1;
  Value halves[2];
  if (in.clamp || in.omod != 0) return Unmodelled64();
  const bool mov = in.op == Op::kVPkMovB32;  // the low half of the first source or its high one, and of the second
  if (mov && (in.neg_lo | in.neg_hi) != 0) return Unmodelled64();
  for (int h = 0; h < 2; ++h) {
    std::vector<Value> sources(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) {
      const GcnOperand& o = in.operands[static_cast<size_t>(i + 1)];
      if (o.neg || o.abs) return Unmodelled64();
      const uint8_t sel = h == 0 || mov ? in.op_sel : in.op_sel_hi;
      const int part = sel >> i & 1;
      Value v;
      if (o.kind == OperandKind::kRegister) {
        // A scalar constant register pair works like a vector one.
        if (!ReadWords(o, part, &v)) return false;
      } else {
        if (part != 0) return Unmodelled64();
        if (!Read32(o, &v)) return false;
      }
      Nameless(&v);
      const bool neg = ((h == 0 ? in.neg_lo : in.neg_hi) >> i & 1) != 0;
      if (mov) sources[static_cast<size_t>(i)] = std::move(v);
      else if (!Flip(v, ScalarType::kF32, neg, false, &sources[static_cast<size_t>(i)])) return false;
    }
    if (mov) {
      halves[h] = std::move(sources[static_cast<size_t>(h)]);
      continue;
    }
    const Fn fn = in.op == Op::kVPkAddF32 ? Fn::kFAdd : in.op == Op::kVPkMulF32 ? Fn::kFMul : Fn::kFFma;
    if (!FloatOp(fn, ScalarType::kF32, sources, &halves[h])) return false;
  }
  return Put(in.operands[0].reg, std::move(halves[0])) && Put(static_cast<uint16_t>(in.operands[0].reg + 1), std::move(halves[1]));
}

bool WaveMachine::Packed16(const GcnInst& in) {
  const int n = in.operand_count - 1;
  if (in.clamp) return Unmodelled64();
  Value halves[2];
  for (int h = 0; h < 2; ++h) {
    std::vector<Value> sources(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) {
      const GcnOperand& o = in.operands[static_cast<size_t>(i + 1)];
      if (o.neg || o.abs || o.is_float) return Unmodelled64();
      const int part = (h == 0 ? in.op_sel : in.op_sel_hi) >> i & 1;
      Value word, v;
      if (!Read32(o, &word) || word.buffer != 0) return Unmodelled64();
      if (o.kind == OperandKind::kImmediate && part != 0) return Unmodelled64();
      if (!Slice(word, 16 * part, 16, &v)) return false;
      v.width = 16;
      if (!Flip(v, ScalarType::kF16, ((h == 0 ? in.neg_lo : in.neg_hi) >> i & 1) != 0, false, &sources[static_cast<size_t>(i)])) return false;
    }
    bool ok;
    switch (in.op) {
      case Op::kVPkAddF16: ok = FloatOp(Fn::kFAdd, ScalarType::kF16, sources, &halves[h]); break;
      case Op::kVPkMulF16: ok = FloatOp(Fn::kFMul, ScalarType::kF16, sources, &halves[h]); break;
      case Op::kVPkFmaF16: ok = FloatOp(Fn::kFFma, ScalarType::kF16, sources, &halves[h]); break;
      default: ok = MinMax(in.op == Op::kVPkMaxF16, ScalarType::kF16, sources[0], sources[1], &halves[h]); break;
    }
    if (!ok) return false;
    halves[h].width = 16;
  }
  Value joined;
  return Concat({halves[0], halves[1]}, &joined) && Write32(in.operands[0], std::move(joined));
}

bool WaveMachine::ExecVector(const GcnInst& in) {
  const auto& o = in.operands;
  if (in.omod != 0) return Unknown("UNMODELLED_MODIFIER", "output modifier of '" + std::string(in.name) + "' is not modelled");
  const uint64_t sat = in.clamp ? Attr::kSat : 0;
  const auto no_clamp = [&] { return !in.clamp || Unknown("UNMODELLED_MODIFIER", "clamp of '" + std::string(in.name) + "' is not modelled"); };
  bool folded = false;
  if (!FoldFloat(in, &folded)) return false;
  if (folded) return true;
  Value a, b, c, r, s;
  auto floats = [&](ScalarType type, int n) {
    Value* const v[3] = {&a, &b, &c};
    for (int i = 0; i < n; ++i)
      if (!FloatSource(in, i, type, v[i])) return false;
    return true;
  };
  auto ints = [&](int n) {
    Value* const v[3] = {&a, &b, &c};
    for (int i = 0; i < n; ++i) {
      if (!VectorSource(in, i, v[i])) return false;
      if (v[i]->buffer != 0) return Unknown("ADDRESS_AS_DATA", "a half of an address is used as data");
      if (!in.sdwa && (o[static_cast<size_t>(InfoOf(in.op).destinations() + i)].neg || o[static_cast<size_t>(InfoOf(in.op).destinations() + i)].abs))
        return Unmodelled64();
    }
    return no_clamp();
  };
  auto arithmetic = [&](Fn fn, ScalarType type, int n) {
    if (!floats(type, n)) return false;
    std::vector<Value> operands{a, b};
    if (n == 3) operands.push_back(c);
    return FloatOp(fn, type, operands, &r, sat) && FinishFloat(in, type, std::move(r));
  };
  auto subtract = [&](ScalarType type, bool reversed) {
    if (!floats(type, 2)) return false;
    if (reversed) std::swap(a, b);
    Value n;
    return Flip(b, type, true, false, &n) && FloatOp(Fn::kFAdd, type, {a, n}, &r, sat) && FinishFloat(in, type, std::move(r));
  };
  auto accumulate = [&](ScalarType type) {
    if (!floats(type, 2)) return false;
    if (type == ScalarType::kF64) {
      if (!Read64(o[0], &c)) return false;
    } else {
      if (!Read32(o[0], &s) || s.buffer != 0) return Unmodelled64();
      c = s;
      if (type == ScalarType::kF16 && !Slice(s, 0, 16, &c)) return false;
    }
    return FloatOp(Fn::kFFma, type, {a, b, c}, &r, sat) && FinishFloat(in, type, std::move(r));
  };
  auto extreme = [&](bool is_max, ScalarType type, int n) {
    if (!floats(type, n) || !no_clamp()) return false;
    if (!MinMax(is_max, type, a, b, &r)) return false;
    if (n == 3) {
      const Value inner = r;
      if (!MinMax(is_max, type, inner, c, &r)) return false;
    }
    return FinishFloat(in, type, std::move(r));
  };
  // Approximate functions: those of another vendor's processor are other functions.
  auto approximate = [&](Fn fn) {
    if (!floats(ScalarType::kF32, 1) || !no_clamp()) return false;
    return FloatOp(fn, ScalarType::kF32, {a}, &r, Attr::kApprox | Attr::kFull) && WriteVector(in, std::move(r));
  };
  auto round = [&](Round mode) {
    if (!floats(ScalarType::kF32, 1) || !no_clamp()) return false;
    return Convert(Fn::kFConvert, Format::kF32, Format::kF32, mode, a, &r) && WriteVector(in, std::move(r));
  };
  auto opaque = [&](std::string_view name, ScalarType type, int n) {
    if (!floats(type, n) || !no_clamp()) return false;
    if (n == 1) return IsaOp(name, 32, {{&a, 32}}, &r) && WriteVector(in, std::move(r));
    if (n == 2) return IsaOp(name, 32, {{&a, 32}, {&b, 32}}, &r) && WriteVector(in, std::move(r));
    return IsaOp(name, 32, {{&a, 32}, {&b, 32}, {&c, 32}}, &r) && WriteVector(in, std::move(r));
  };
  // Between two constants: a maximum and a minimum, also of a NaN. Zeros are left out, whose sign those two choose.
  auto median = [&] {
    Lanes lanes[3];
    if (!floats(ScalarType::kF32, 3) || !no_clamp()) return false;
    const Value* const v[3] = {&a, &b, &c};
    uint64_t bits[3] = {};
    int variable = -1, constants = 0;
    for (int i = 0; i < 3; ++i) {
      if (!ToLanes(*v[i], 32, &lanes[i])) return false;
      if (ops_.ConstValue(lanes[i], &bits[i])) ++constants;
      else variable = i;
    }
    if (constants == 2) {
      const int p = variable == 0 ? 1 : 0, q = variable == 2 ? 1 : 2;
      const float x = std::bit_cast<float>(static_cast<uint32_t>(bits[p])), y = std::bit_cast<float>(static_cast<uint32_t>(bits[q]));
      if (x != 0 && y != 0 && (x < y || y < x)) {
        Value above;
        return MinMax(true, ScalarType::kF32, *v[variable], x < y ? *v[p] : *v[q], &above) &&
               MinMax(false, ScalarType::kF32, above, x < y ? *v[q] : *v[p], &r) && WriteVector(in, std::move(r));
      }
    }
    return IsaOp("v_med3_f32", 32, {{&a, 32}, {&b, 32}, {&c, 32}}, &r) && WriteVector(in, std::move(r));
  };
  auto logic = [&](Fn fn) { return ints(2) && IntBitwise(fn, a, b, 32, &r) && WriteVector(in, std::move(r)); };
  auto shift = [&](Fn fn) { return ints(2) && Shift(fn, 32, b, a, &r) && WriteVector(in, std::move(r)); };
  auto shift64 = [&](Fn fn) {
    if (!Read32(o[1], &a) || !Read64(o[2], &b)) return false;
    return Shift(fn, 64, b, a, &r) && Write64(o[0], std::move(r));
  };
  auto minmax = [&](bool is_max, bool is_signed, int n) {
    if (!ints(n) || !IntMinMax(is_max, a, b, 32, is_signed, &r)) return false;
    if (n == 3) {
      const Value inner = r;
      if (!IntMinMax(is_max, inner, c, 32, is_signed, &r)) return false;
    }
    return WriteVector(in, std::move(r));
  };
  auto low24 = [&](Value* v, bool is_signed) {
    const Value whole = *v;
    return Field(whole, 0, 24, is_signed, v);
  };
  // The low half is a product and a sum of 32 bits; the high one counts only where the addend has one.
  auto wide_multiply = [&](bool is_signed) {
    Value x, y, product, addend, low;
    if (!Read32(o[2], &a) || !Read32(o[3], &b) || a.buffer != 0 || b.buffer != 0 || !no_clamp()) return Unmodelled64();
    const bool is_register = o[4].kind == OperandKind::kRegister;
    if (is_register ? !ReadWords(o[4], 0, &addend) : !Read32(o[4], &addend)) return false;
    if (addend.buffer != 0) return Unknown("ADDRESS_AS_DATA", "a half of an address is used as data");
    if (!IntMul(a, b, 32, &product) || !IntAdd(product, addend, 32, &low)) return false;
    const bool has_high = !is_register || space_.AndNot(exec_, defined_[o[4].reg + 1]) == kNoLanes;
    Value high;
    if (has_high) {
      if (!Read64(o[4], &c)) return false;
      for (int i = 0; i < 2; ++i) {
        Value& v = i == 0 ? a : b;
        Value& wide = i == 0 ? x : y;
        wide = v;
        if (AsInt(&wide)) {
          if (!WidenInt(&wide, 32, is_signed, 64)) return false;
        } else if (is_signed) {
          if (!DataUnary(Fn::kSignExtend, 32, 32, 64, v, &wide)) return false;
        } else if (!Concat({v, Value::Int(0, 32)}, &wide)) {
          return false;
        }
      }
      if (!IntMul(x, y, 64, &product) || !IntAdd(product, c, 64, &r) || !Slice(r, 32, 32, &high)) return false;
    }
    const uint16_t high_reg = static_cast<uint16_t>(o[0].reg + 1);
    if (!Put(o[0].reg, std::move(low))) return false;
    if (has_high && !Put(high_reg, std::move(high))) return false;
    if (!has_high) Forget(high_reg);
    const MaskId lanes = exec_;
    exec_ = wave_;
    Forget(o[1].reg);
    Forget(static_cast<uint16_t>(o[1].reg + 1));
    exec_ = lanes;
    return true;
  };
  auto mix = [&] {
    Value* const v[3] = {&a, &b, &c};
    if (!no_clamp()) return false;
    for (int i = 0; i < 3; ++i) {
      const GcnOperand& src = o[static_cast<size_t>(i + 1)];
      const bool half = in.has_op_sel_hi && (in.op_sel_hi >> i & 1) != 0;
      Value word, plain = Value::Int(0, 32);
      if (!Read32(src, &word) || word.buffer != 0) return Unmodelled64();
      plain = word;
      if (half) {
        Value part;
        if (src.kind == OperandKind::kImmediate) {
          // Constants of 16 bits are the same number in 32.
          if (!src.is_float || (in.op_sel >> i & 1) != 0) return Unmodelled64();
        } else if (!Slice(word, (in.op_sel >> i & 1) != 0 ? 16 : 0, 16, &part) || !Convert(Fn::kFConvert, Format::kF32, Format::kF16, Round::kNone, part, &plain))
          return false;
      } else if ((in.op_sel >> i & 1) != 0) {
        return Unmodelled64();
      }
      // neg_lo is the sign, neg_hi the magnitude.
      if (!Flip(plain, ScalarType::kF32, src.neg != ((in.neg_lo >> i & 1) != 0), src.abs || (in.neg_hi >> i & 1) != 0, v[i])) return false;
    }
    if (!FloatOp(Fn::kFFma, ScalarType::kF32, {a, b, c}, &r)) return false;
    if (in.op == Op::kVFmaMixF32) return Write32(o[0], std::move(r));
    // The other half stays.
    const bool high = in.op == Op::kVFmaMixhiF16;
    Value old, kept, half, word;
    if (!IsaOp("v_fma_mix_f16", 16, {{&a, 32}, {&b, 32}, {&c, 32}}, &half) || !Read32(o[0], &old)) return false;
    Nameless(&old);
    if (!Slice(old, high ? 0 : 16, 16, &kept)) return false;
    kept.width = 16;
    return Concat(high ? std::vector<Value>{kept, half} : std::vector<Value>{half, kept}, &word) && Write32(o[0], std::move(word));
  };
  auto short_ints = [&](Fn fn) {
    Value wide;
    const bool shifts = fn == Fn::kShl || fn == Fn::kShr;
    if (!ints(2)) return false;
    const Value x = a, y = b;
    if (!Field(x, 0, shifts ? 4 : 16, false, &a) || !Field(y, 0, 16, false, &b)) return false;
    bool ok;
    switch (fn) {
      case Fn::kShl: case Fn::kShr: ok = Shift(fn, 32, b, a, &wide); break;
      case Fn::kIAdd: ok = IntAdd(a, b, 32, &wide); break;
      case Fn::kIMul: ok = IntMul(a, b, 32, &wide); break;
      default: ok = IntNeg(b, 32, &s) && IntAdd(a, s, 32, &wide); break;
    }
    return ok && Field(wide, 0, 16, false, &r) && WriteVector(in, std::move(r));
  };
  auto add_lane_carry = [&](bool subtract_first, bool reversed) {
    const auto& carry_out = o[1];
    Value x, y, carry, negated;
    if (in.sdwa || in.dpp != isa::amdgcn::DppKind::kNone || !no_clamp() || !Read32(o[2], &x) || !Read32(o[3], &y)) return false;
    if (reversed) std::swap(x, y);
    if (subtract_first) {
      if (x.buffer != 0 || y.buffer != 0) return Unknown("ADDRESS_AS_DATA", "a half of an address is subtracted");
      if (!IntNeg(y, 32, &negated) || !IntAdd(x, negated, 32, &r) || !IntCompare(Compare::kLt, x, y, 32, false, &carry)) return false;
    } else if (!AddCarry(x, y, &r, &carry)) {
      return false;
    }
    if (!Write32(o[0], std::move(r))) return false;
    if (carry.buffer == 0) {
      Value kept;
      if (exec_is_data_) return Unknown("GUARDED_ON_DATA", "carry while loaded data decides which lanes execute");
      if (!MaskCombine(Fn::kAnd, false, false, Value::Predicate(exec_), carry, &kept)) return false;
      carry = std::move(kept);
    }
    const MaskId lanes = exec_;
    exec_ = wave_;
    const bool ok = WriteMask(carry_out, std::move(carry));
    exec_ = lanes;
    return ok;
  };
  auto fp8 = [&](bool is_bf8) {
    const std::string name = std::string(is_bf8 ? "v_cvt_bf8_f32" : "v_cvt_fp8_f32") + (fp8_saturates_ ? ".sat" : "");
    Value x, y, old, kept, pair, word;
    if (!floats(ScalarType::kF32, 2) || !no_clamp() || in.sdwa) return false;
    if (!IsaOp(name, 8, {{&a, 32}}, &x) || !IsaOp(name, 8, {{&b, 32}}, &y) || !Concat({x, y}, &pair)) return false;
    const bool high = in.has_op_sel && (in.op_sel >> 2 & 1) != 0;
    if (!Read32(o[0], &old) || old.buffer != 0 || !Slice(old, high ? 0 : 16, 16, &kept)) return false;
    kept.width = 16;
    return Concat(high ? std::vector<Value>{kept, pair} : std::vector<Value>{pair, kept}, &word) && Write32(o[0], std::move(word));
  };
  constexpr ScalarType f32 = ScalarType::kF32, f16 = ScalarType::kF16, f64 = ScalarType::kF64;
  switch (in.op) {
    case Op::kVNop: return true;
    case Op::kVMovB32: case Op::kVAccRead: case Op::kVAccWrite: case Op::kVAccMov:
      if (in.dpp == isa::amdgcn::DppKind::kNone && !in.sdwa && o[1].kind == OperandKind::kRegister) {
        if (!Peek(o[1].reg, &r)) return false;
        if ((r.is_predicate() || r.width == 1) && !Read32(o[1], &r)) return false;
        return Write32(o[0], std::move(r));
      }
      return ints(1) && WriteVector(in, std::move(a));
    case Op::kVMovB64: return Read64(o[1], &r) && Write64(o[0], std::move(r));
    case Op::kVNotB32: return ints(1) && IntBitwise(Fn::kXor, a, Value::Int(-1, 32), 32, &r) && WriteVector(in, std::move(r));
    case Op::kVBfrevB32: case Op::kVFfbhU32: case Op::kVFfblB32: {
      if (!ints(1)) return false;
      const isa::amdgcn::Op op = in.op;
      if (!AsInt(&a) || !Known(a))
        return IsaOp(op == Op::kVBfrevB32 ? "v_bfrev_b32" : op == Op::kVFfbhU32 ? "v_ffbh_u32" : "v_ffbl_b32", 32, {{&a, 32}}, &r) && WriteVector(in, std::move(r));
      if (!Actual(&a, 32, false)) return false;
      return Pointwise(a, a, 32, [op](int64_t p, int64_t) -> int64_t {
               const uint32_t u = static_cast<uint32_t>(p);
               if (op == Op::kVFfbhU32) return u == 0 ? -1 : std::countl_zero(u);
               if (op == Op::kVFfblB32) return u == 0 ? -1 : std::countr_zero(u);
               uint32_t reversed = 0;
               for (int i = 0; i < 32; ++i) reversed |= (u >> i & 1) << (31 - i);
               return static_cast<int32_t>(reversed);
             }, &r) && WriteVector(in, std::move(r));
    }
    case Op::kVReadfirstlane: case Op::kVReadlane: case Op::kVWritelane: return ExecLaneMove(in);
    case Op::kVAddF32: return arithmetic(Fn::kFAdd, f32, 2);
    case Op::kVSubF32: return subtract(f32, false);
    case Op::kVSubrevF32: return subtract(f32, true);
    case Op::kVMulF32: return arithmetic(Fn::kFMul, f32, 2);
    case Op::kVMaxF32: return extreme(true, f32, 2);
    case Op::kVMinF32: return extreme(false, f32, 2);
    case Op::kVMax3F32: return extreme(true, f32, 3);
    case Op::kVMin3F32: return extreme(false, f32, 3);
    case Op::kVMed3F32: return median();
    case Op::kVFmaF32: case Op::kVFmamkF32: case Op::kVFmaakF32: return arithmetic(Fn::kFFma, f32, 3);
    case Op::kVFmacF32: return accumulate(f32);
    case Op::kVFmaMixF32: case Op::kVFmaMixloF16: case Op::kVFmaMixhiF16: return mix();
    case Op::kVAddF16: return arithmetic(Fn::kFAdd, f16, 2);
    case Op::kVSubF16: return subtract(f16, false);
    case Op::kVSubrevF16: return subtract(f16, true);
    case Op::kVMulF16: return arithmetic(Fn::kFMul, f16, 2);
    case Op::kVMaxF16: return extreme(true, f16, 2);
    case Op::kVMinF16: return extreme(false, f16, 2);
    case Op::kVFmaF16: return arithmetic(Fn::kFFma, f16, 3);
    case Op::kVFmacF16: return accumulate(f16);
    case Op::kVAddF64: return arithmetic(Fn::kFAdd, f64, 2);
    case Op::kVMulF64: return arithmetic(Fn::kFMul, f64, 2);
    case Op::kVFmaF64: return arithmetic(Fn::kFFma, f64, 3);
    case Op::kVFmacF64: return accumulate(f64);
    case Op::kVMaxF64: return extreme(true, f64, 2);
    case Op::kVMinF64: return extreme(false, f64, 2);
    case Op::kVPkAddF32: case Op::kVPkMulF32: case Op::kVPkFmaF32: case Op::kVPkMovB32: return Packed32(in);
    case Op::kVPkAddF16: case Op::kVPkMulF16: case Op::kVPkFmaF16: case Op::kVPkMaxF16: case Op::kVPkMinF16: return Packed16(in);
    case Op::kVRcpF32: case Op::kVRcpIflagF32: return approximate(Fn::kFRcp);
    case Op::kVRsqF32: return approximate(Fn::kFRsqrt);
    case Op::kVSqrtF32: return approximate(Fn::kFSqrt);
    case Op::kVExpF32: return approximate(Fn::kEx2);
    case Op::kVLogF32: return approximate(Fn::kLg2);
    case Op::kVSinF32: return opaque("v_sin_f32", f32, 1);
    case Op::kVCosF32: return opaque("v_cos_f32", f32, 1);
    case Op::kVFloorF32: return round(Round::kRmi);
    case Op::kVCeilF32: return round(Round::kRpi);
    case Op::kVTruncF32: return round(Round::kRzi);
    case Op::kVRndneF32: return round(Round::kRni);
    case Op::kVFractF32: return opaque("v_fract_f32", f32, 1);
    case Op::kVFrexpMantF32: return opaque("v_frexp_mant_f32", f32, 1);
    case Op::kVFrexpExpF32: return opaque("v_frexp_exp_i32_f32", f32, 1);
    case Op::kVLdexpF32:
      if (!FloatSource(in, 0, f32, &a) || !VectorSource(in, 1, &b) || b.buffer != 0 || !no_clamp()) return false;
      return IsaOp("v_ldexp_f32", 32, {{&a, 32}, {&b, 32}}, &r) && WriteVector(in, std::move(r));
    case Op::kVDivScaleF32: {
      // Destinations 0 and 1, sources from operand 2.
      if (!floats(f32, 3) || !no_clamp()) return false;
      Value flag, kept;
      if (!IsaOp("v_div_scale_f32", 32, {{&a, 32}, {&b, 32}, {&c, 32}}, &r) ||
          !IsaOp("v_div_scale_f32.vcc", 1, {{&a, 32}, {&b, 32}, {&c, 32}}, &flag))
        return false;
      if (exec_is_data_) return Unknown("GUARDED_ON_DATA", "division while loaded data decides which lanes execute");
      if (!MaskCombine(Fn::kAnd, false, false, Value::Predicate(exec_), flag, &kept) || !Write32(o[0], std::move(r))) return false;
      const MaskId lanes = exec_;
      exec_ = wave_;
      const bool ok = WriteMask(o[1], std::move(kept));
      exec_ = lanes;
      return ok;
    }
    case Op::kVDivFmasF32: {
      isa::amdgcn::Operand vcc;
      vcc.kind = OperandKind::kRegister;
      vcc.count = 2;
      vcc.reg = isa::amdgcn::kVccLo;
      if (!floats(f32, 3) || !no_clamp() || !ReadMask(vcc, &s)) return false;
      return IsaOp("v_div_fmas_f32", 32, {{&a, 32}, {&b, 32}, {&c, 32}, {&s, 1}}, &r) && WriteVector(in, std::move(r));
    }
    case Op::kVDivFixupF32: return opaque("v_div_fixup_f32", f32, 3);
    case Op::kVCvtF16F32:
      if (!floats(f32, 1) || !no_clamp()) return false;
      if (fp8_saturates_) return IsaOp("v_cvt_f16_f32.sat", 16, {{&a, 32}}, &r) && WriteVector(in, std::move(r), 16);
      return Convert(Fn::kFConvert, Format::kF16, Format::kF32, Round::kRn, a, &r) && WriteVector(in, std::move(r), 16);
    case Op::kVCvtF32F16:
      if (!floats(f16, 1)) return false;
      if (!no_clamp()) return false;
      return Convert(Fn::kFConvert, Format::kF32, Format::kF16, Round::kNone, a, &r) && WriteVector(in, std::move(r));
    case Op::kVCvtF32I32: return ints(1) && Convert(Fn::kIntToF, Format::kF32, Format::kS32, Round::kRn, a, &r) && WriteVector(in, std::move(r));
    case Op::kVCvtF32U32: return ints(1) && Convert(Fn::kIntToF, Format::kF32, Format::kU32, Round::kRn, a, &r) && WriteVector(in, std::move(r));
    case Op::kVCvtI32F32: return floats(f32, 1) && no_clamp() && Convert(Fn::kFToInt, Format::kS32, Format::kF32, Round::kRzi, a, &r) && WriteVector(in, std::move(r));
    case Op::kVCvtU32F32: return floats(f32, 1) && no_clamp() && Convert(Fn::kFToInt, Format::kU32, Format::kF32, Round::kRzi, a, &r) && WriteVector(in, std::move(r));
    case Op::kVCvtF64F32: return floats(f32, 1) && no_clamp() && Convert(Fn::kFConvert, Format::kF64, Format::kF32, Round::kNone, a, &r) && Write64(o[0], std::move(r));
    case Op::kVCvtF32F64: return floats(f64, 1) && no_clamp() && Convert(Fn::kFConvert, Format::kF32, Format::kF64, Round::kRn, a, &r) && Write32(o[0], std::move(r));
    case Op::kVCvtF64I32: return ints(1) && Convert(Fn::kIntToF, Format::kF64, Format::kS32, Round::kRn, a, &r) && Write64(o[0], std::move(r));
    case Op::kVCvtF64U32: return ints(1) && Convert(Fn::kIntToF, Format::kF64, Format::kU32, Round::kRn, a, &r) && Write64(o[0], std::move(r));
    case Op::kVCvtF32Ubyte0: case Op::kVCvtF32Ubyte1: case Op::kVCvtF32Ubyte2: case Op::kVCvtF32Ubyte3: {
      Value byte;
      if (!ints(1) || !Field(a, 8 * (static_cast<int>(in.op) - static_cast<int>(Op::kVCvtF32Ubyte0)), 8, false, &byte)) return false;
      return Convert(Fn::kIntToF, Format::kF32, Format::kU32, Round::kRn, byte, &r) && WriteVector(in, std::move(r));
    }
    case Op::kVCvtF16U16: case Op::kVCvtF16I16: {
      Value half;
      if (!ints(1) || !Slice(a, 0, 16, &half)) return false;
      half.width = 16;
      return Convert(Fn::kIntToF, Format::kF16, in.op == Op::kVCvtF16U16 ? Format::kU16 : Format::kS16, Round::kRn, half, &r) && WriteVector(in, std::move(r), 16);
    }
    case Op::kVCvtPkrtz: {
      Value x, y;
      if (!floats(f32, 2) || !no_clamp() || fp8_saturates_) return Unmodelled64();
      return Convert(Fn::kFConvert, Format::kF16, Format::kF32, Round::kRz, a, &x) &&
             Convert(Fn::kFConvert, Format::kF16, Format::kF32, Round::kRz, b, &y) && Concat({x, y}, &r) && WriteVector(in, std::move(r));
    }
    case Op::kVCvtPkFp8: return fp8(false);
    case Op::kVCvtPkBf8: return fp8(true);
    case Op::kVCvtF32Fp8: case Op::kVCvtF32Bf8: {
      Value byte;
      if (in.sdwa || in.has_op_sel || !ints(1) || !Slice(a, 0, 8, &byte)) return Unmodelled64();
      byte.width = 8;
      return IsaOp(in.op == Op::kVCvtF32Fp8 ? "v_cvt_f32_fp8" : "v_cvt_f32_bf8", 32, {{&byte, 8}}, &r) && WriteVector(in, std::move(r));
    }
    case Op::kVCvtPkF32Fp8: case Op::kVCvtPkF32Bf8: {
      const int first = in.has_op_sel && (in.op_sel & 1) != 0 ? 16 : 0;
      if (in.sdwa || !Read32(o[1], &a) || a.buffer != 0) return Unmodelled64();
      for (int i = 0; i < 2; ++i) {
        Value byte;
        if (!Slice(a, first + 8 * i, 8, &byte)) return false;
        byte.width = 8;
        if (!IsaOp(in.op == Op::kVCvtPkF32Fp8 ? "v_cvt_f32_fp8" : "v_cvt_f32_bf8", 32, {{&byte, 8}}, &r) ||
            !Put(static_cast<uint16_t>(o[0].reg + i), r))
          return false;
      }
      return true;
    }
    case Op::kVPackB32F16: return floats(f16, 2) && no_clamp() && Concat({a, b}, &r) && WriteVector(in, std::move(r));
    case Op::kVAndB32: return logic(Fn::kAnd);
    case Op::kVOrB32: return logic(Fn::kOr);
    case Op::kVXorB32: return logic(Fn::kXor);
    case Op::kVXnorB32: return ints(2) && IntBitwise(Fn::kXor, a, b, 32, &s) && IntBitwise(Fn::kXor, s, Value::Int(-1, 32), 32, &r) && WriteVector(in, std::move(r));
    case Op::kVAddU32: return ints(2) && IntAdd(a, b, 32, &r) && WriteVector(in, std::move(r));
    case Op::kVSubU32:
      if (in.clamp) {
        // Stops at zero.
        Value most;
        if (in.sdwa || !Read32(o[1], &a) || !Read32(o[2], &b) || a.buffer != 0 || b.buffer != 0) return Unmodelled64();
        return IntMinMax(true, a, b, 32, false, &most) && IntNeg(b, 32, &s) && IntAdd(most, s, 32, &r) && WriteVector(in, std::move(r));
      }
      return ints(2) && IntNeg(b, 32, &s) && IntAdd(a, s, 32, &r) && WriteVector(in, std::move(r));
    case Op::kVSubrevU32: return ints(2) && IntNeg(a, 32, &s) && IntAdd(b, s, 32, &r) && WriteVector(in, std::move(r));
    case Op::kVAddCo: return add_lane_carry(false, false);
    case Op::kVSubCo: return add_lane_carry(true, false);
    case Op::kVSubrevCo: return add_lane_carry(true, true);
    case Op::kVAddcCo: {
      Value x, y, carry_in, carry;
      if (in.sdwa || in.dpp != isa::amdgcn::DppKind::kNone || !no_clamp() || exec_is_data_ || !Read32(o[2], &x) || !Read32(o[3], &y)) return Unmodelled64();
      if (o[4].kind != OperandKind::kRegister || !Peek(o[4].reg, &carry_in)) return Unmodelled64();
      if (carry_in.buffer == 0 && !ReadMask(o[4], &carry_in)) return false;
      if (!AddWithCarry(x, y, carry_in, &r, &carry, false) || !Write32(o[0], std::move(r))) return false;
      const MaskId lanes = exec_;
      exec_ = wave_;
      Forget(o[1].reg);
      Forget(static_cast<uint16_t>(o[1].reg + 1));
      exec_ = lanes;
      return true;
    }
    case Op::kVLshlrevB16: return short_ints(Fn::kShl);
    case Op::kVLshrrevB16: return short_ints(Fn::kShr);
    case Op::kVAddU16: return short_ints(Fn::kIAdd);
    case Op::kVSubU16: return short_ints(Fn::kINeg);
    case Op::kVMulLoU16: return short_ints(Fn::kIMul);
    case Op::kVLshlrevB32: return shift(Fn::kShl);
    case Op::kVLshrrevB32: return shift(Fn::kShr);
    case Op::kVAshrrevI32: return shift(Fn::kSar);
    case Op::kVLshlrevB64: return shift64(Fn::kShl);
    case Op::kVLshrrevB64: return shift64(Fn::kShr);
    case Op::kVAshrrevI64: return shift64(Fn::kSar);
    case Op::kVLshlAddU32: return ints(3) && Shift(Fn::kShl, 32, a, b, &s) && IntAdd(s, c, 32, &r) && WriteVector(in, std::move(r));
    case Op::kVAddLshlU32: return ints(3) && IntAdd(a, b, 32, &s) && Shift(Fn::kShl, 32, s, c, &r) && WriteVector(in, std::move(r));
    case Op::kVLshlAddU64: {
      if (!Read64(o[1], &a) || !Read32(o[2], &b) || !Read64(o[3], &c) || !no_clamp()) return false;
      Value n = b;
      if (!AsInt(&n) || !n.is_uniform_const() || n.constant < 0 || n.constant > 4) return Unmodelled64();
      s = a;
      if (n.constant != 0 && !Shift(Fn::kShl, 64, a, n, &s)) return false;
      return IntAdd(s, c, 64, &r) && Write64(o[0], std::move(r));
    }
    case Op::kVAdd3U32: return ints(3) && IntAdd(a, b, 32, &s) && IntAdd(s, c, 32, &r) && WriteVector(in, std::move(r));
    case Op::kVXadU32: return ints(3) && IntBitwise(Fn::kXor, a, b, 32, &s) && IntAdd(s, c, 32, &r) && WriteVector(in, std::move(r));
    case Op::kVLshlOrB32: return ints(3) && Shift(Fn::kShl, 32, a, b, &s) && IntBitwise(Fn::kOr, s, c, 32, &r) && WriteVector(in, std::move(r));
    case Op::kVAndOrB32: return ints(3) && IntBitwise(Fn::kAnd, a, b, 32, &s) && IntBitwise(Fn::kOr, s, c, 32, &r) && WriteVector(in, std::move(r));
    case Op::kVOr3B32: return ints(3) && IntBitwise(Fn::kOr, a, b, 32, &s) && IntBitwise(Fn::kOr, s, c, 32, &r) && WriteVector(in, std::move(r));
    case Op::kVBfeU32: case Op::kVBfeI32: {
      if (!ints(3) || !AsInt(&b) || !AsInt(&c) || !b.is_uniform_const() || !c.is_uniform_const()) return Unmodelled64();
      const int low = static_cast<int>(b.constant & 31), bits = std::min(static_cast<int>(c.constant & 31), 32 - low);
      return Field(a, low, bits, in.op == Op::kVBfeI32, &r) && WriteVector(in, std::move(r));
    }
    case Op::kVBfiB32: {
      Value x, y, inverse;
      return ints(3) && IntBitwise(Fn::kAnd, a, b, 32, &x) && IntBitwise(Fn::kXor, a, Value::Int(-1, 32), 32, &inverse) &&
             IntBitwise(Fn::kAnd, inverse, c, 32, &y) && IntBitwise(Fn::kOr, x, y, 32, &r) && WriteVector(in, std::move(r));
    }
    case Op::kVAlignbit: {
      Value whole;
      if (!ints(3) || !AsInt(&c) || !c.is_uniform_const() || !Concat({b, a}, &whole)) return Unmodelled64();
      return Slice(whole, static_cast<int>(c.constant & 31), 32, &r) && WriteVector(in, std::move(r));
    }
    case Op::kVPermB32: return ByteSelect(in);
    case Op::kVMulLoU32: return ints(2) && IntMul(a, b, 32, &r) && WriteVector(in, std::move(r));
    case Op::kVMulHiU32: return ints(2) && MulHigh(a, b, false, &r) && WriteVector(in, std::move(r));
    case Op::kVMulHiI32: return ints(2) && MulHigh(a, b, true, &r) && WriteVector(in, std::move(r));
    case Op::kVMulU32U24: return ints(2) && low24(&a, false) && low24(&b, false) && IntMul(a, b, 32, &r) && WriteVector(in, std::move(r));
    case Op::kVMulI32I24: return ints(2) && low24(&a, true) && low24(&b, true) && IntMul(a, b, 32, &r) && WriteVector(in, std::move(r));
    case Op::kVMadU32U24: case Op::kVMadI32I24: {
      const bool is_signed = in.op == Op::kVMadI32I24;
      return ints(3) && low24(&a, is_signed) && low24(&b, is_signed) && IntMul(a, b, 32, &s) && IntAdd(s, c, 32, &r) && WriteVector(in, std::move(r));
    }
    case Op::kVMadU64U32: return wide_multiply(false);
    case Op::kVMadI64I32: return wide_multiply(true);
    case Op::kVMinI32: return minmax(false, true, 2);
    case Op::kVMaxI32: return minmax(true, true, 2);
    case Op::kVMinU32: return minmax(false, false, 2);
    case Op::kVMaxU32: return minmax(true, false, 2);
    case Op::kVMin3I32: return minmax(false, true, 3);
    case Op::kVMax3I32: return minmax(true, true, 3);
    case Op::kVMin3U32: return minmax(false, false, 3);
    case Op::kVMax3U32: return minmax(true, false, 3);
    case Op::kVMbcntLo: case Op::kVMbcntHi: {
      if (!ints(2) || !AsInt(&a) || a.symbolic != 0) return Unmodelled64();
      const bool high = in.op == Op::kVMbcntHi;
      std::vector<int64_t> counts(space_.lanes());
      for (int l = 0; l < space_.lanes(); ++l) {
        const uint32_t word = static_cast<uint32_t>(space_.array(a.array)[l] + a.constant);
        const int lane = l % 64, below = high ? std::max(lane - 32, 0) : std::min(lane, 32);
        counts[l] = std::popcount(below >= 32 ? word : word & ((1u << below) - 1));
      }
      const auto offsets = space_.InternArray(counts.data());
      s = Value::Int(offsets.constant, 32);
      s.array = offsets.id;
      return IntAdd(s, b, 32, &r) && WriteVector(in, std::move(r));
    }
    case Op::kVCndmask: return ExecCndmask(in);
    case Op::kVCmp: case Op::kVCmpx: return ExecCompare(in);
    default: return Unmodelled64();
  }
}

}  // namespace samebits::symexec
