// Scalar instructions, lane-mask logic, carries and scalar loads.

#include <bit>

#include "core/isa/amdgcn/op_table.h"
#include "core/symexec/amdgcn/wave_machine.h"

namespace samebits::symexec {

using expr::Compare;
using expr::Fn;
using isa::amdgcn::InfoOf;
using isa::amdgcn::Op;
using isa::amdgcn::OperandKind;

namespace {

bool IsMask(const Value& v) { return v.is_predicate() || (v.is_bits() && v.width == 1); }

Compare CompareOf(isa::amdgcn::Compare c) {
  switch (c) {
    case isa::amdgcn::Compare::kLt: return Compare::kLt;
    case isa::amdgcn::Compare::kEq: return Compare::kEq;
    case isa::amdgcn::Compare::kLe: return Compare::kLe;
    case isa::amdgcn::Compare::kGt: return Compare::kGt;
    case isa::amdgcn::Compare::kGe: return Compare::kGe;
    default: return Compare::kNe;  // lg, ne
  }
}

}  // namespace

// fn(a, b) of lane masks; `invert_second` turns b round first, `invert_result` the result.
bool WaveMachine::MaskCombine(Fn fn, bool invert_second, bool invert_result, const Value& a, const Value& b, Value* out) {
  MaskId ka, kb;
  Lanes la, lb;
  bool ia, ib;
  if (!AsPredicate(a, &ka, &la, &ia) || !AsPredicate(b, &kb, &lb, &ib)) return false;
  if (ib && invert_second) kb = space_.AndNot(kAllLanes, kb);
  Value y = ib ? Value::Predicate(kb) : b;
  if (!ib && invert_second && !DataUnary(Fn::kNot, 0, 1, 1, b, &y)) return false;
  if (ia && ib) {
    MaskId m = fn == Fn::kAnd ? space_.And(ka, kb) : fn == Fn::kOr ? space_.Or(ka, kb) : space_.Xor(ka, kb);
    if (invert_result) m = space_.AndNot(kAllLanes, m);
    *out = Value::Predicate(m);
    return true;
  }
  const Value x = ia ? Value::Predicate(ka) : a;
  Value r;
  if (!DataBinary(fn, 0, 1, x, y, &r)) return false;
  if (invert_result) {
    const Value straight = r;
    if (!DataUnary(Fn::kNot, 0, 1, 1, straight, &r)) return false;
  }
  *out = std::move(r);
  return true;
}

// 64-bit logic where an operand is a lane mask, and the saveexec family.
bool WaveMachine::MaskLogic(const GcnInst& in) {
  const bool save = in.op == Op::kSAndSaveexec || in.op == Op::kSOrSaveexec || in.op == Op::kSXorSaveexec || in.op == Op::kSAndn2Saveexec;
  Value a, b, r;
  isa::amdgcn::Operand exec;
  exec.kind = OperandKind::kRegister;
  exec.count = 2;
  exec.reg = isa::amdgcn::kExecLo;
  if (!ReadMask(in.operands[1], &a)) return false;
  if (in.op == Op::kSNotB64) {
    b = Value::Predicate(kAllLanes);
  } else if (!ReadMask(save ? exec : in.operands[2], &b)) {
    return false;
  }
  Fn fn = Fn::kAnd;
  bool invert_second = false, invert_result = false;
  switch (in.op) {
    case Op::kSAndB64: case Op::kSAndSaveexec: break;
    case Op::kSOrB64: case Op::kSOrSaveexec: fn = Fn::kOr; break;
    case Op::kSXorB64: case Op::kSXorSaveexec: case Op::kSNotB64: fn = Fn::kXor; break;
    case Op::kSAndn2B64: case Op::kSAndn2Saveexec: invert_second = true; break;
    case Op::kSOrn2B64: fn = Fn::kOr, invert_second = true; break;
    case Op::kSNandB64: invert_result = true; break;
    case Op::kSNorB64: fn = Fn::kOr, invert_result = true; break;
    case Op::kSXnorB64: fn = Fn::kXor, invert_result = true; break;
    default: return Unmodelled64();
  }
  if (!MaskCombine(fn, invert_second, invert_result, a, b, &r)) return false;
  MaskId known;
  Lanes condition;
  bool is_known;
  if (!AsPredicate(r, &known, &condition, &is_known)) return false;
  if (save && !WriteMask(in.operands[0], b)) return false;
  if (!WriteMask(save ? exec : in.operands[0], r)) return false;
  if (is_known) return SetScc(Value::Predicate(AnyOfWaves(known)));
  Value any;
  if (AnyOnData(condition, &any)) return SetScc(std::move(any));
  Forget(isa::amdgcn::kScc);
  return true;
}

// a + b of 32 bits; `carry` may be null. Halves of addresses give a carry that only their high half takes.
bool WaveMachine::AddCarry(const Value& a, const Value& b, Value* sum, Value* carry) {
  if (a.buffer != 0 || b.buffer != 0) {
    const Value& base = a.buffer != 0 ? a : b;
    Value step = a.buffer != 0 ? b : a, whole = base;
    if (step.buffer != 0 || (base.buffer & kTags) != kLowHalf) return Unknown("ADDRESS_AS_DATA", "a half of an address is added to");
    whole.buffer = base.buffer & static_cast<expr::BufferId>(~kTags);
    whole.width = 64;
    if (!Materialize(&step)) return false;
    if (step.is_int()) {
      if (!WidenInt(&step, 32, false, 64)) return false;
    } else {
      // Loaded data stays beside the base until its other half is there too.
      absl::InlinedVector<Piece, 4> pieces;
      if (!base.is_int() || !ToPieces(step, 32, &pieces)) return Unknown("ADDRESS_ON_DATA", "an address depends on loaded data twice");
      Value held = base;
      held.kind = Value::Kind::kBits;
      for (Piece& p : pieces) held.pieces.push_back(std::move(p));
      *carry = held;
      carry->buffer = (base.buffer & static_cast<expr::BufferId>(~kTags)) | kCarry;
      *sum = std::move(held);
      return true;
    }
    if (!IntAdd(whole, step, 64, sum)) return false;
    const expr::BufferId buffer = sum->buffer;
    *carry = *sum;
    carry->buffer = buffer | kCarry;
    sum->buffer = buffer | kLowHalf;
    return true;
  }
  if (!IntAdd(a, b, 32, sum)) return false;
  Value x = a, y = b;
  if (AsInt(&x) && AsInt(&y) && !symbolic_.HasTerms(x.symbolic) && !symbolic_.HasTerms(y.symbolic)) {
    if (!Actual(&x, 32, false) || !Actual(&y, 32, false)) return false;
    const __int128 most = RangeOf(x).hi + RangeOf(y).hi;
    if (most < (__int128{1} << 32)) {
      *carry = Value::Predicate(kNoLanes);
      return true;
    }
  }
  return IntCompare(Compare::kLt, *sum, a, 32, false, carry);
}

bool WaveMachine::AddWithCarry(const Value& a, const Value& b, const Value& carry_in, Value* sum, Value* carry, bool want_carry) {
  if (carry_in.buffer != 0 || a.buffer != 0 || b.buffer != 0) {
    const Value& base = a.buffer != 0 ? a : b;
    Value step = a.buffer != 0 ? b : a;
    if ((carry_in.buffer & kTags) != kCarry || (base.buffer & kTags) != kHighHalf || step.buffer != 0 ||
        (carry_in.buffer & ~kTags) != (base.buffer & ~kTags) || !base.is_int() || step.mask != 0)
      return Unknown("ADDRESS_HALVES", "an addition to an address is not in two halves");
    if (carry_in.is_bits()) {
      absl::InlinedVector<Piece, 4> pieces;
      if (carry_in.array != base.array || carry_in.symbolic != base.symbolic || carry_in.constant != base.constant)
        return Unknown("ADDRESS_HALVES", "an addition to an address is not in two halves");
      if (!ToPieces(step, 32, &pieces)) return false;
      *sum = carry_in;
      for (Piece& p : pieces) sum->pieces.push_back(std::move(p));
      sum->buffer = base.buffer;
      *carry = Value{};
      return true;
    }
    if (!AsInt(&step)) return Unknown("ADDRESS_HALVES", "an addition to an address is not in two halves");
    // The low addition must have been to the low half of this very address.
    Value low = carry_in, high = base, minus, distance;
    low.buffer = high.buffer = 0;
    if (!IntNeg(high, 64, &minus) || !IntAdd(low, minus, 64, &distance)) return false;
    const Interval r = RangeOf(distance);
    if (r.lo < 0 || r.hi >= (__int128{1} << 32)) return Unknown("ADDRESS_HALVES", "an addition to an address is not in two halves");
    Value shifted, whole = carry_in;
    whole.buffer = carry_in.buffer & static_cast<expr::BufferId>(~kTags);
    whole.width = 64;
    if (!Actual(&step, 32, true) || !IntMul(step, Value::Int(int64_t{1} << 32, 64), 64, &shifted) || !IntAdd(whole, shifted, 64, sum)) return false;
    sum->buffer |= kHighHalf;
    *carry = Value{};
    return true;
  }
  Value one, first, c1, c2;
  MaskId known;
  Lanes condition;
  bool is_known;
  if (!AsPredicate(carry_in, &known, &condition, &is_known)) return false;
  if (is_known) {
    if (!Blend(known, Value::Int(1, 32), Value::Int(0, 32), &one)) return false;
  } else if (!Concat({Value::Bits(condition, 1), Value::Int(0, 31)}, &one)) {
    return false;
  }
  if (!IntAdd(a, b, 32, &first)) return false;
  if (!IntAdd(first, one, 32, sum)) return false;
  *carry = Value{};
  if (!want_carry) return true;
  return AddCarry(a, b, &first, &c1) && AddCarry(first, one, sum, &c2) && MaskCombine(Fn::kOr, false, false, c1, c2, carry);
}

bool WaveMachine::ExecScalar(const GcnInst& in) {
  const auto& o = in.operands;
  Value a, b, r, c;
  auto two = [&] { return Read32(o[1], &a) && Read32(o[2], &b); };
  auto plain = [&](const Value& v) { return v.buffer == 0 || Unknown("ADDRESS_AS_DATA", "a half of an address is used as data"); };
  auto logic32 = [&](Fn fn, bool invert_second, bool invert_result) {
    if (!two()) return false;
    // Clearing the upper bits of an address's high half makes it the second word of a buffer descriptor.
    if (fn == Fn::kAnd && !invert_second && (a.buffer & kTags) == kHighHalf && b.is_uniform_const() && b.constant == 0xffff) {
      Forget(isa::amdgcn::kScc);
      return Write32(o[0], std::move(a));
    }
    Value y = b;
    if (invert_second && !IntBitwise(Fn::kXor, b, Value::Int(-1, 32), 32, &y)) return false;
    if (!IntBitwise(fn, a, y, 32, &r)) return false;
    if (invert_result) {
      const Value straight = r;
      if (!IntBitwise(Fn::kXor, straight, Value::Int(-1, 32), 32, &r)) return false;
    }
    return SetSccNonZero(r, 32) && Write32(o[0], std::move(r));
  };
  auto logic64 = [&](Fn fn, bool invert_second, bool invert_result) {
    // Masks where any operand is one; else numbers.
    for (int i = 1; i < in.operand_count; ++i) {
      if (o[i].kind != OperandKind::kRegister) continue;
      Value peeked;
      if (!Peek(o[i].reg, &peeked)) return false;
      if (IsMask(peeked)) return MaskLogic(in);
    }
    if (o[0].reg == isa::amdgcn::kExecLo || o[0].reg == isa::amdgcn::kVccLo) return MaskLogic(in);
    if (!Read64(o[1], &a) || !Read64(o[2], &b) || !plain(a) || !plain(b)) return false;
    Value y = b;
    if (invert_second && !IntBitwise(Fn::kXor, b, Value::Int(-1, 64), 64, &y)) return false;
    if (!IntBitwise(fn, a, y, 64, &r)) return false;
    if (invert_result) {
      const Value straight = r;
      if (!IntBitwise(Fn::kXor, straight, Value::Int(-1, 64), 64, &r)) return false;
    }
    return SetSccNonZero(r, 64) && Write64(o[0], std::move(r));
  };
  auto known_bits = [&](int width, auto f) {
    if (width == 64) {
      if (!Read64(o[1], &a)) return false;
    } else if (!Read32(o[1], &a)) {
      return false;
    }
    if (!AsInt(&a) || a.buffer != 0 || symbolic_.HasTerms(a.symbolic)) return Unknown("SCALAR_ON_DATA", "bit count of data");
    if (!Actual(&a, width, false)) return false;
    return Pointwise(a, Value::Int(0, width), 32, [f](int64_t p, int64_t) { return static_cast<int64_t>(f(static_cast<uint64_t>(p))); }, &r);
  };
  auto minmax = [&](bool is_max, bool is_signed) {
    if (!two() || !IntMinMax(is_max, a, b, 32, is_signed, &r)) return false;
    Value is_first;
    return IntCompare(Compare::kEq, r, a, 32, false, &is_first) && SetScc(std::move(is_first)) && Write32(o[0], std::move(r));
  };
  auto overflow_unknown = [&] { Forget(isa::amdgcn::kScc); };
  switch (in.op) {
    case Op::kSNop: case Op::kSSetprio: case Op::kSSleep: case Op::kBufferWbl2: case Op::kBufferInv: return true;
    case Op::kSMovB32:
      if (o[1].kind == OperandKind::kRegister) {
        if (!Peek(o[1].reg, &a)) return false;
        if (IsMask(a) && !Read32(o[1], &a)) return false;
      } else if (!Read32(o[1], &a)) {
        return false;
      }
      return Write32(o[0], std::move(a));
    case Op::kSMovB64: {
      if (o[1].kind == OperandKind::kRegister) {
        // Halves as they are.
        Value high;
        if (!Peek(o[1].reg, &a) || !Peek(static_cast<uint16_t>(o[1].reg + 1), &high)) return false;
        if (IsMask(a) || IsMask(high)) return ReadMask(o[1], &r) && WriteMask(o[0], std::move(r));
        if (o[0].reg == isa::amdgcn::kExecLo) return ReadMask(o[1], &r) && WriteMask(o[0], std::move(r));
        return Put(o[0].reg, std::move(a)) && Put(static_cast<uint16_t>(o[0].reg + 1), std::move(high));
      }
      if (o[0].reg == isa::amdgcn::kExecLo || o[0].reg == isa::amdgcn::kVccLo)
        return ReadMask(o[1], &r) && WriteMask(o[0], std::move(r));
      return Read64(o[1], &r) && Write64(o[0], std::move(r));
    }
    case Op::kSMovkI32: return Write32(o[0], Value::Int(static_cast<int16_t>(o[1].imm), 32));
    case Op::kSAddkI32: case Op::kSMulkI32:
      if (!Read32(o[0], &a) || !plain(a)) return false;
      b = Value::Int(static_cast<int16_t>(o[1].imm), 32);
      if (in.op == Op::kSMulkI32) return IntMul(a, b, 32, &r) && Write32(o[0], std::move(r));
      overflow_unknown();
      return IntAdd(a, b, 32, &r) && Write32(o[0], std::move(r));
    case Op::kSNotB32:
      if (!Read32(o[1], &a) || !IntBitwise(Fn::kXor, a, Value::Int(-1, 32), 32, &r)) return false;
      return SetSccNonZero(r, 32) && Write32(o[0], std::move(r));
    case Op::kSNotB64: case Op::kSAndSaveexec: case Op::kSOrSaveexec: case Op::kSXorSaveexec: case Op::kSAndn2Saveexec:
      return MaskLogic(in);
    case Op::kSBrevB32:
      return known_bits(32, [](uint64_t p) {
               uint32_t reversed = 0;
               for (int i = 0; i < 32; ++i) reversed |= static_cast<uint32_t>(p >> i & 1) << (31 - i);
               return reversed;
             }) && Write32(o[0], std::move(r));
    case Op::kSFf1B32: case Op::kSFf1B64:
      return known_bits(in.op == Op::kSFf1B64 ? 64 : 32, [](uint64_t p) { return p == 0 ? -1 : std::countr_zero(p); }) &&
             Write32(o[0], std::move(r));
    case Op::kSFlbitB32:
      return known_bits(32, [](uint64_t p) { return p == 0 ? -1 : std::countl_zero(static_cast<uint32_t>(p)); }) && Write32(o[0], std::move(r));
    case Op::kSBcnt1B32: case Op::kSBcnt1B64:
      return known_bits(in.op == Op::kSBcnt1B64 ? 64 : 32, [](uint64_t p) { return std::popcount(p); }) && SetSccNonZero(r, 32) &&
             Write32(o[0], std::move(r));
    case Op::kSSextI8: case Op::kSSextI16:
      return Read32(o[1], &a) && plain(a) && Field(a, 0, in.op == Op::kSSextI8 ? 8 : 16, true, &r) && Write32(o[0], std::move(r));
    case Op::kSAbsI32: {
      Value negated;
      if (!Read32(o[1], &a) || !plain(a) || !IntNeg(a, 32, &negated) || !IntMinMax(true, a, negated, 32, true, &r)) return false;
      return SetSccNonZero(r, 32) && Write32(o[0], std::move(r));
    }
    case Op::kSBitset0: case Op::kSBitset1: {
      if (o[1].kind != OperandKind::kImmediate || !Read32(o[0], &a)) return Unmodelled64();
      const int64_t bit = int64_t{1} << (o[1].imm & 31);
      const bool set = in.op == Op::kSBitset1;
      return IntBitwise(set ? Fn::kOr : Fn::kAnd, a, Value::Int(static_cast<int32_t>(set ? bit : ~bit), 32), 32, &r) && Write32(o[0], std::move(r));
    }
    case Op::kSAddU32: case Op::kSAddI32:
      if (!two() || !AddCarry(a, b, &r, &c)) return false;
      if (in.op == Op::kSAddI32) overflow_unknown();
      else if (!SetScc(std::move(c))) return false;
      return Write32(o[0], std::move(r));
    case Op::kSAddcU32: {
      Value carry;
      if (!two() || !Peek(isa::amdgcn::kScc, &carry) || !AddWithCarry(a, b, carry, &r, &c, true)) return false;
      if (c.kind == Value::Kind::kUndef) overflow_unknown();
      else if (!SetScc(std::move(c))) return false;
      return Write32(o[0], std::move(r));
    }
    case Op::kSSubU32: case Op::kSSubI32: {
      Value negated;
      if (!two() || !plain(a) || !plain(b) || !IntNeg(b, 32, &negated) || !IntAdd(a, negated, 32, &r)) return false;
      if (in.op == Op::kSSubI32) overflow_unknown();
      else if (!IntCompare(Compare::kLt, a, b, 32, false, &c) || !SetScc(std::move(c))) return false;
      return Write32(o[0], std::move(r));
    }
    case Op::kSMinI32: return minmax(false, true);
    case Op::kSMinU32: return minmax(false, false);
    case Op::kSMaxI32: return minmax(true, true);
    case Op::kSMaxU32: return minmax(true, false);
    case Op::kSCselectB32: case Op::kSCselectB64: case Op::kSCmovB32: {
      Value scc;
      if (!Peek(isa::amdgcn::kScc, &scc)) return false;
      if (scc.is_int()) return Unknown("PREDICATE", "a select on an SCC that holds a carry");
      MaskId known;
      Lanes condition;
      bool is_known;
      if (!AsPredicate(scc, &known, &condition, &is_known)) return false;
      if (in.op == Op::kSCselectB64) {
        // Lane masks: -1 and 0 are what it is for.
        bool masks = o[0].reg == isa::amdgcn::kVccLo || o[0].reg == isa::amdgcn::kExecLo ||
                     (o[1].kind == OperandKind::kImmediate && o[2].kind == OperandKind::kImmediate);
        for (int i = 1; i <= 2 && !masks; ++i) {
          Value peeked;
          if (o[i].kind != OperandKind::kRegister) continue;
          if (!Peek(o[i].reg, &peeked)) return false;
          masks |= IsMask(peeked);
        }
        if (masks) {
          Value x, y, no, p, q;
          const Value s = is_known ? Value::Predicate(known) : scc;
          return ReadMask(o[1], &x) && ReadMask(o[2], &y) && MaskCombine(Fn::kAnd, false, false, x, s, &p) &&
                 MaskCombine(Fn::kAnd, true, false, y, s, &q) && MaskCombine(Fn::kOr, false, false, p, q, &r) &&
                 WriteMask(o[0], std::move(r));
        }
        if (!is_known) return Unknown("SCALAR_ON_DATA", "64-bit select on loaded data");
        const MaskId on = space_.And(known, exec_);
        if (on == exec_ || on == kNoLanes) return Read64(o[on == exec_ ? 1 : 2], &r) && Write64(o[0], std::move(r));
        if (!Read64(o[1], &a) || !Read64(o[2], &b) || !plain(a) || !plain(b)) return false;
        return Blend(known, a, b, &r) && Write64(o[0], std::move(r));
      }
      const auto& yes = o[1];
      const auto& no = in.op == Op::kSCmovB32 ? o[0] : o[2];
      if (is_known) {
        const MaskId on = space_.And(known, exec_);
        if (on == exec_ || on == kNoLanes) return Read32(on == exec_ ? yes : no, &r) && Write32(o[0], std::move(r));
      }
      if (!Read32(yes, &a) || !Read32(no, &b) || !plain(a) || !plain(b)) return false;
      if (is_known) return Blend(known, a, b, &r) && Write32(o[0], std::move(r));
      Lanes x, y, z;
      if (!ToLanes(a, 32, &x) || !ToLanes(b, 32, &y)) return false;
      const Lanes* operands[3] = {&condition, &x, &y};
      if (!ops_.Apply(Fn::kSelect, 0, 32, operands, &z)) return OutOfAnchors();
      return Write32(o[0], Value::Bits(std::move(z), 32));
    }
    case Op::kSAndB32: return logic32(Fn::kAnd, false, false);
    case Op::kSOrB32: return logic32(Fn::kOr, false, false);
    case Op::kSXorB32: return logic32(Fn::kXor, false, false);
    case Op::kSAndn2B32: return logic32(Fn::kAnd, true, false);
    case Op::kSOrn2B32: return logic32(Fn::kOr, true, false);
    case Op::kSNandB32: return logic32(Fn::kAnd, false, true);
    case Op::kSNorB32: return logic32(Fn::kOr, false, true);
    case Op::kSXnorB32: return logic32(Fn::kXor, false, true);
    case Op::kSAndB64: return logic64(Fn::kAnd, false, false);
    case Op::kSOrB64: return logic64(Fn::kOr, false, false);
    case Op::kSXorB64: return logic64(Fn::kXor, false, false);
    case Op::kSAndn2B64: return logic64(Fn::kAnd, true, false);
    case Op::kSOrn2B64: return logic64(Fn::kOr, true, false);
    case Op::kSNandB64: return logic64(Fn::kAnd, false, true);
    case Op::kSNorB64: return logic64(Fn::kOr, false, true);
    case Op::kSXnorB64: return logic64(Fn::kXor, false, true);
    case Op::kSLshlB32: case Op::kSLshrB32: case Op::kSAshrI32:
      if (!two() || !Shift(in.op == Op::kSLshlB32 ? Fn::kShl : in.op == Op::kSLshrB32 ? Fn::kShr : Fn::kSar, 32, a, b, &r)) return false;
      return SetSccNonZero(r, 32) && Write32(o[0], std::move(r));
    case Op::kSLshlB64: case Op::kSLshrB64: case Op::kSAshrI64:
      if (!Read64(o[1], &a) || !plain(a) || !Read32(o[2], &b)) return false;
      if (!Shift(in.op == Op::kSLshlB64 ? Fn::kShl : in.op == Op::kSLshrB64 ? Fn::kShr : Fn::kSar, 64, a, b, &r)) return false;
      return SetSccNonZero(r, 64) && Write64(o[0], std::move(r));
    case Op::kSBfmB32:
      if (!two() || !a.is_uniform_const() || !b.is_uniform_const()) return Unmodelled64();
      return Write32(o[0], Value::Int(static_cast<int32_t>(((1u << (a.constant & 31)) - 1) << (b.constant & 31)), 32));
    case Op::kSMulI32: return two() && IntMul(a, b, 32, &r) && Write32(o[0], std::move(r));
    case Op::kSMulHiU32: case Op::kSMulHiI32:
      return two() && plain(a) && plain(b) && MulHigh(a, b, in.op == Op::kSMulHiI32, &r) && Write32(o[0], std::move(r));
    case Op::kSBfeU32: case Op::kSBfeI32: {
      if (!two() || !plain(a) || !AsInt(&b) || !b.is_uniform_const()) return Unmodelled64();
      const int low = static_cast<int>(b.constant & 31), bits = std::min(static_cast<int>(b.constant >> 16 & 127), 32 - low);
      if (!Field(a, low, bits, in.op == Op::kSBfeI32, &r)) return false;
      return SetSccNonZero(r, 32) && Write32(o[0], std::move(r));
    }
    case Op::kSLshl1Add: case Op::kSLshl2Add: case Op::kSLshl3Add: case Op::kSLshl4Add: {
      Value shifted;
      const int amount = 1 + static_cast<int>(in.op) - static_cast<int>(Op::kSLshl1Add);
      if (!two() || !plain(a) || !plain(b) || !IntShift(Fn::kShl, a, Value::Int(amount, 32), 32, &shifted) || !IntAdd(shifted, b, 32, &r)) return false;
      overflow_unknown();
      return Write32(o[0], std::move(r));
    }
    case Op::kSPackLl: case Op::kSPackLh: case Op::kSPackHh: {
      Value x, y;
      if (!two() || !plain(a) || !plain(b) || !Slice(a, in.op == Op::kSPackHh ? 16 : 0, 16, &x) ||
          !Slice(b, in.op == Op::kSPackLl ? 0 : 16, 16, &y) || !Concat({x, y}, &r))
        return false;
      return Write32(o[0], std::move(r));
    }
    case Op::kSCmp: case Op::kSCmpk: {
      const bool wide = in.type == isa::amdgcn::Type::kU64;
      const bool is_signed = in.type == isa::amdgcn::Type::kI32;
      if (wide) {
        if (!Read64(o[0], &a) || !Read64(o[1], &b)) return false;
      } else {
        if (!Read32(o[0], &a)) return false;
        if (in.op == Op::kSCmpk) b = Value::Int(is_signed ? static_cast<int16_t>(o[1].imm) : static_cast<uint16_t>(o[1].imm), 32);
        else if (!Read32(o[1], &b)) return false;
        if (!plain(a) || !plain(b)) return false;
      }
      return IntCompare(CompareOf(in.compare), a, b, wide ? 64 : 32, is_signed, &r) && SetScc(std::move(r));
    }
    case Op::kSBitcmp0: case Op::kSBitcmp1: {
      if (!Read32(o[0], &a) || !Read32(o[1], &b) || !plain(a) || !AsInt(&b) || !b.is_uniform_const()) return Unmodelled64();
      Value bit;
      if (!Field(a, static_cast<int>(b.constant & 31), 1, false, &bit)) return false;
      return IntCompare(in.op == Op::kSBitcmp1 ? Compare::kNe : Compare::kEq, bit, Value::Int(0, 32), 32, false, &r) && SetScc(std::move(r));
    }
    case Op::kSSetregImm:
      // MODE: only whether conversions to small floats saturate.
      if (o[0].imm != 23 || o[1].imm != 1 || data_depth_ > 0 || wave_ != kAllLanes) return Unmodelled64();
      fp8_saturates_ = (o[2].imm & 1) != 0;
      return true;
    default: return Unmodelled64();
  }
}

bool WaveMachine::KernargLoad(int64_t offset, int words, const GcnOperand& to) {
  auto argument_value = [&](size_t index, Value* v) {
    const auto& a = kernel_.arguments[index];
    const int width = static_cast<int>(a.size) * 8;
    if (index < kernel_.explicit_arguments) {
      const ParamBinding& b = launch_.params[index];
      switch (b.kind) {
        case ParamBinding::Kind::kPointer:
          *v = Value::Int(0, 64);
          v->buffer = b.buffer;
          return true;
        case ParamBinding::Kind::kScalar:
          *v = Value::Int(static_cast<int64_t>(b.bits), width);
          return true;
        case ParamBinding::Kind::kBytes: return true;
        case ParamBinding::Kind::kUnknown: {
          if (a.size > 8) return Unknown("ARGUMENTS", "an argument of more than eight bytes is not given");
          const auto sum = symbolic_.FromAtom(kFirstParamAtom + static_cast<AtomId>(index));
          *v = Value::Int(sum.constant, width);
          v->symbolic = sum.id;
          return true;
        }
      }
    }
    const std::string_view kind = a.value_kind;
    for (int d = 0; d < 3; ++d) {
      const char axis = static_cast<char>('x' + d);
      const uint32_t blocks = launch_.grid[d], lanes = launch_.block[d];
      if (kind == std::string("hidden_block_count_") + axis) return *v = Value::Int(blocks, width), true;
      if (kind == std::string("hidden_group_size_") + axis) return *v = Value::Int(lanes, width), true;
      if (kind == std::string("hidden_remainder_") + axis || kind == std::string("hidden_global_offset_") + axis)
        return *v = Value::Int(0, width), true;
    }
    return Unknown("HIDDEN_ARGUMENT", "hidden argument '" + std::string(kind) + "' is read");
  };
  for (int w = 0; w < words; ++w) {
    const int64_t first = offset + 4 * w;
    std::vector<Value> parts;
    Value half;
    for (int64_t at = first; at < first + 4;) {
      size_t index = 0;
      while (index < kernel_.arguments.size() &&
             !(at >= kernel_.arguments[index].offset && at < static_cast<int64_t>(kernel_.arguments[index].offset) + kernel_.arguments[index].size))
        ++index;
      if (index == kernel_.arguments.size()) {
        Lanes undef;
        undef.nodes = nodes_.Undef();
        parts.push_back(Value::Bits(undef, 8));
        ++at;
        continue;
      }
      const auto& a = kernel_.arguments[index];
      const int64_t inside = at - a.offset;
      const int64_t bytes = std::min<int64_t>(a.size - inside, first + 4 - at);
      Value v;
      if (index < kernel_.explicit_arguments && launch_.params[index].kind == ParamBinding::Kind::kBytes) {
        for (int64_t i = 0; i < bytes; ++i) parts.push_back(Value::Int(launch_.params[index].bytes[static_cast<size_t>(inside + i)], 8));
      } else {
        // Hidden arguments that a wide load takes along need no value until they are used.
        const bool hidden = index >= kernel_.explicit_arguments;
        Value part;
        if (hidden && a.value_kind.substr(0, 13) != "hidden_block_" && a.value_kind.substr(0, 13) != "hidden_group_" &&
            a.value_kind.substr(0, 17) != "hidden_remainder_" && a.value_kind.substr(0, 14) != "hidden_global_") {
          Lanes undef;
          undef.nodes = nodes_.Undef();
          part = Value::Bits(undef, static_cast<int>(bytes) * 8);
        } else {
          if (!argument_value(index, &v)) return false;
          if (v.buffer != 0) {
            if (bytes != 4 || inside % 4 != 0) return Unknown("ADDRESS_AS_DATA", "part of a pointer argument is read");
            half = v;
            half.buffer = v.buffer | (inside == 0 ? kLowHalf : kHighHalf);
            at += bytes;
            continue;
          }
          if (inside == 0 && bytes * 8 == v.width) part = v;
          else if (!Slice(v, static_cast<int>(inside) * 8, static_cast<int>(bytes) * 8, &part)) return false;
        }
        parts.push_back(std::move(part));
      }
      at += bytes;
    }
    if (half.kind == Value::Kind::kUndef) {
      if (parts.size() == 1) half = parts[0];
      else if (!Concat(parts, &half)) return false;
    }
    if (!Put(static_cast<uint16_t>(to.reg + w), std::move(half))) return false;
  }
  return true;
}

bool WaveMachine::ScalarLoad(const GcnInst& in) {
  const auto& o = in.operands;
  const int words = o[0].count;
  Value base, offset;
  if (!Read64(o[1], &base)) return false;
  if (base.buffer == 0) return Unknown("ADDRESS_NOT_FROM_ARGUMENT", "address does not come from a pointer argument");
  if (!Read32(o[2], &offset) || offset.buffer != 0) return Unmodelled64();
  if (o[2].kind == OperandKind::kImmediate) offset = Value::Int(o[2].imm, 64);
  else if (!offset.is_int() || !WidenInt(&offset, 32, false, 64)) return Unmodelled64();
  Value sum, at;
  if (!IntAdd(offset, Value::Int(in.offset, 64), 64, &sum) || !IntAdd(base, sum, 64, &at)) return false;
  if (at.buffer == kKernarg) {
    if (!at.is_uniform_const() && (at.array != 0 || at.symbolic != 0)) return Unknown("PARAM_ADDRESS", "an argument is read at an address that is not known");
    if (!KernargLoad(at.constant, words, o[0])) return false;
  } else {
    Address a;
    a.space = isa::StateSpace::kGlobal;
    a.buffer = at.buffer;
    a.value = std::move(at);
    for (int w = 0; w < words; ++w) {
      Value v;
      if (!GlobalLoad(a, 4 * w, 4, &v) || !Put(static_cast<uint16_t>(o[0].reg + w), std::move(v))) return false;
    }
  }
  for (int w = 0; w < waves_; ++w)
    if (space_.Test(wave_, w * isa::amdgcn::kWaveLanes)) ++lds_issued_[static_cast<size_t>(w)], ++scalar_pending_[static_cast<size_t>(w)];
  Pend(&pending_lds_, lds_issued_, o[0]);
  return true;
}

}  // namespace samebits::symexec
