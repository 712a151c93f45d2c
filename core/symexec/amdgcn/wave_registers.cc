// Registers and operands of a wave: plain data, halves of addresses and of lane masks.

#include <algorithm>
#include <bit>

#include "core/softfloat/convert.h"
#include "core/symexec/amdgcn/wave_machine.h"

namespace samebits::symexec {

using expr::Fn;
using isa::amdgcn::OperandKind;

namespace {

bool IsMask(const Value& v) { return v.is_predicate() || (v.is_bits() && v.width == 1); }

}  // namespace

bool WaveMachine::SameValues(const Value& a, const Value& b) const {
  if (a.kind != b.kind || a.buffer != b.buffer || a.array != b.array || a.symbolic != b.symbolic || a.mask != b.mask ||
      ((a.is_int() || a.buffer != 0) && a.constant != b.constant) || a.pieces.size() != b.pieces.size())
    return false;
  for (size_t i = 0; i < a.pieces.size(); ++i)
    if (a.pieces[i].bits != b.pieces[i].bits || a.pieces[i].lanes.nodes != b.pieces[i].lanes.nodes ||
        a.pieces[i].lanes.anchors != b.pieces[i].lanes.anchors)
      return false;
  return true;
}

// No operation still under way fills the register in an executing wave.
bool WaveMachine::Awaited(uint16_t reg) {
  if (!pends_[reg]) return true;
  bool pends = false;
  for (int w = 0; w < waves_; ++w) {
    const size_t at = static_cast<size_t>(reg) * static_cast<size_t>(waves_) + static_cast<size_t>(w);
    if (pending_vector_[at] <= vector_done_[w] && pending_lds_[at] <= lds_done_[w]) continue;
    pends = true;
    if (!space_.Test(wave_, w * isa::amdgcn::kWaveLanes)) continue;
    // Waits on one side of such a branch say nothing about the other.
    if (data_depth_ > 0) return Unknown("MEMORY_IN_BRANCH", "a load is waited for under a data-dependent branch");
    return Race("register " + isa::amdgcn::RegisterName(reg) + " used before the load that fills it was waited for");
  }
  pends_[reg] = pends;
  return true;
}

bool WaveMachine::Peek(uint16_t reg, Value* out) {
  if (!Awaited(reg)) return false;
  if (IsMask(registers_[reg])) {
    if (!space_.Contains(defined_[reg], exec_))
      return Unknown("UNDEFINED_VALUE", "a lane mask in " + isa::amdgcn::RegisterName(reg) + " was not written by every wave that reads it");
    *out = registers_[reg];
    return true;
  }
  return GetRegister(reg, out);
}

// The offset as data.
bool WaveMachine::Materialize(Value* v) {
  if (!v->is_int() || v->mask == 0 || v->buffer != 0) return true;
  const MaskId outside = v->mask;
  Value inside = *v, mixed;
  inside.mask = 0;
  if (!Blend(outside, Value::Int(kOutside, 32), inside, &mixed)) return false;
  *v = std::move(mixed);
  return true;
}

// One half of a known mask as a number of each wave.
bool WaveMachine::MaskToInt(const Value& v, bool high, Value* out) {
  if (!v.is_predicate()) {
    // Compilers read such a half where the result is not used.
    Lanes undef;
    undef.nodes = nodes_.Undef();
    *out = Value::Bits(undef, 32);
    return true;
  }
  std::vector<int64_t> words(space_.lanes());
  const uint64_t* mask = space_.mask(v.mask);
  for (int l = 0; l < space_.lanes(); ++l) words[l] = static_cast<int64_t>(mask[l / 64] >> (high ? 32 : 0) & 0xffffffff);
  const auto o = space_.InternArray(words.data());
  *out = Value::Int(o.constant, 32);
  out->array = o.id;
  return true;
}

// Where all executing lanes hold integers (others may hold data), the integers.
bool WaveMachine::IntegersHere(Value* v) const {
  if (!v->is_bits() || v->buffer != 0 || v->width != 32 || v->pieces.size() != 1 || v->pieces[0].lanes.uniform()) return false;
  const int first = space_.First(exec_);
  if (first < 0) return false;
  std::vector<int64_t> values(space_.lanes());
  SymbolicId symbolic = 0;
  for (int l = first; l < space_.lanes(); ++l) {
    if (!space_.Test(exec_, l)) continue;
    const expr::Scalar s = ops_.At(v->pieces[0].lanes, l);
    uint64_t constant = 0;
    SymbolicId own = 0;
    if (nodes_.IsConst(s.node, &constant)) {
      values[l] = static_cast<int64_t>(constant);
    } else if (nodes_[s.node].fn == Fn::kInt && nodes_[s.node].width == 32) {
      values[l] = s.anchor[0].offset;
      own = s.anchor[0].symbolic;
    } else {
      return false;
    }
    if (l == first) symbolic = own;
    else if (own != symbolic) return false;
  }
  for (int l = 0; l < space_.lanes(); ++l)
    if (!space_.Test(exec_, l)) values[l] = values[first];
  const auto o = space_.InternArray(values.data());
  *v = Value::Int(o.constant, 32);
  v->array = o.id;
  v->symbolic = symbolic;
  return true;
}

bool WaveMachine::ReadWords(const GcnOperand& o, int index, Value* out) {
  const uint16_t reg = static_cast<uint16_t>(o.reg + index);
  if (reg == isa::amdgcn::kMode) return Unmodelled64();
  if (!Peek(reg, out)) return false;
  if (IsMask(*out)) {
    const Value mask = *out;
    if (reg == isa::amdgcn::kScc) {
      MaskId known;
      Lanes condition;
      bool is_known;
      if (!AsPredicate(mask, &known, &condition, &is_known)) return false;
      if (!is_known) return Unknown("MASK_ON_DATA", "SCC that depends on loaded data is used as a number");
      return Blend(known, Value::Int(1, 32), Value::Int(0, 32), out);
    }
    return MaskToInt(mask, mask.constant != 0, out);
  }
  if (exec_ != kAllLanes && IntegersHere(out)) return true;
  return Materialize(out);
}

bool WaveMachine::Read32(const GcnOperand& o, Value* out) {
  if (o.kind == OperandKind::kImmediate) {
    *out = Value::Int(static_cast<int32_t>(o.imm), 32);
    return true;
  }
  if (o.kind != OperandKind::kRegister) return Unmodelled64();
  return ReadWords(o, 0, out);
}

bool WaveMachine::Join(const Value& low, const Value& high, Value* out) {
  const expr::BufferId lt = low.buffer & kTags, ht = high.buffer & kTags;
  if (lt == kLowHalf && ht == kHighHalf && (low.buffer & ~kTags) == (high.buffer & ~kTags)) {
    Value whole = high;
    whole.buffer = high.buffer & static_cast<expr::BufferId>(~kTags);
    whole.width = 64;
    if (SameValues(low, [&] { Value v = high; v.buffer = low.buffer; return v; }())) {
      *out = std::move(whole);
      return true;
    }
    if (low.is_int() && high.is_int()) {
      // Low halves agree where the two addresses differ by multiples of 2^32.
      Value a = low, b = high, minus, distance;
      a.buffer = b.buffer = 0;
      if (!IntNeg(a, 64, &minus) || !IntAdd(b, minus, 64, &distance)) return false;
      if (!symbolic_.HasTerms(distance.symbolic) && space_.info(distance.array).trailing_zeros >= 32 &&
          symbolic_[distance.symbolic].trailing_zeros >= 32 && (distance.constant & 0xffffffff) == 0) {
        *out = std::move(whole);
        return true;
      }
    }
  }
  if (lt == kLowHalf && ht == kHighHalf && (low.buffer & ~kTags) == (high.buffer & ~kTags) && low.is_bits() && high.is_bits()) {
    // Loaded data added in halves (AddCarry, AddWithCarry).
    Value prefix = high;
    prefix.buffer = low.buffer;
    prefix.pieces.resize(std::min(low.pieces.size(), high.pieces.size()));
    if (SameValues(low, prefix)) {
      absl::InlinedVector<Piece, 4> pieces(high.pieces.begin(), high.pieces.end());
      Value base = high, step;
      base.kind = Value::Kind::kInt;
      base.pieces.clear();
      base.buffer = high.buffer & static_cast<expr::BufferId>(~kTags);
      base.width = 64;
      FromPieces(std::move(pieces), 64, &step);
      return IntAdd(base, step, 64, out);
    }
  }
  return Unknown("ADDRESS_HALVES", "two registers do not hold the halves of one address");
}

bool WaveMachine::Read64(const GcnOperand& o, Value* out, bool is_f64) {
  if (o.kind == OperandKind::kImmediate) {
    int64_t bits = o.imm;
    if (o.is_float && is_f64) {
      bits = static_cast<int64_t>(std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(o.imm)))));
    } else if (is_f64 && (o.imm < -16 || o.imm > 64)) {
      bits = static_cast<int64_t>(static_cast<uint64_t>(o.imm) << 32);  // a literal is the high half
    } else if (!o.is_float) {
      bits = o.imm >= -16 && o.imm <= 64 ? o.imm : static_cast<int32_t>(o.imm);
    }
    *out = Value::Int(bits, 64);
    return true;
  }
  if (o.kind != OperandKind::kRegister || o.count != 2) return Unmodelled64();
  Value low, high;
  if (!Peek(o.reg, &low) || !Peek(static_cast<uint16_t>(o.reg + 1), &high)) return false;
  if (low.buffer != 0 || high.buffer != 0) return Join(low, high, out);
  if (!ReadWords(o, 0, &low) || !ReadWords(o, 1, &high)) return false;
  return Concat({low, high}, out);
}

bool WaveMachine::PairToMask(const Value& low, const Value& high, Value* out) {
  if (IsMask(low) || IsMask(high)) {
    if (!SameValues(low, high)) return Unknown("LANE_MASK", "two registers do not hold the halves of one lane mask");
    if (low.is_predicate() && (low.constant != 0 || high.constant != 1))
      return Unknown("LANE_MASK", "two registers do not hold the halves of one lane mask");
    *out = low;
    out->constant = 0;
    return true;
  }
  Value x = low, y = high;
  if (!AsInt(&x) || !AsInt(&y) || x.buffer != 0 || y.buffer != 0 || x.mask != 0 || y.mask != 0)
    return Unknown("LANE_MASK", "a lane mask comes from data");
  if (x.symbolic != 0 || y.symbolic != 0) return Unknown("LANE_MASK", "a lane mask is a number that depends on the block");
  const int64_t *p = space_.array(x.array), *q = space_.array(y.array);
  *out = Value::Predicate(space_.MaskWhere([&](int l) {
    const uint64_t word = static_cast<uint64_t>(l % 64 < 32 ? p[l] + x.constant : q[l] + y.constant);
    return (word >> (l % 32) & 1) != 0;
  }));
  return true;
}

bool WaveMachine::ReadMask(const GcnOperand& o, Value* out) {
  if (o.kind == OperandKind::kImmediate) {
    const uint64_t word = static_cast<uint64_t>(o.imm);
    *out = Value::Predicate(space_.MaskWhere([&](int l) { return (word >> (l % 64) & 1) != 0; }));
    return !o.is_float || Unmodelled64();
  }
  if (o.kind != OperandKind::kRegister || o.count != 2 || o.reg % 2 != 0) return Unmodelled64();
  Value low, high;
  if (!Peek(o.reg, &low) || !Peek(static_cast<uint16_t>(o.reg + 1), &high)) return false;
  return PairToMask(low, high, out);
}

// Nothing known is in the register in the executing lanes.
void WaveMachine::Forget(uint16_t reg) {
  if (log_ != nullptr) log_->push_back({reg, registers_[reg], defined_[reg]});
  defined_[reg] = space_.AndNot(defined_[reg], exec_);
  if (defined_[reg] == kNoLanes) registers_[reg] = Value{};
}

bool WaveMachine::Put(uint16_t reg, Value v) {
  if (!Awaited(reg)) return false;
  if (reg != isa::amdgcn::kScc && !IsMask(v)) v.width = 32;
  if (log_ != nullptr) log_->push_back({reg, registers_[reg], defined_[reg]});
  Value& old = registers_[reg];
  if (exec_ == kAllLanes || old.kind == Value::Kind::kUndef || space_.Contains(exec_, defined_[reg])) {
    old = std::move(v);
    defined_[reg] = exec_;
    return true;
  }
  // Other lanes keep theirs. Contents of different kinds do not mix: a wave that goes on with the old one finds nothing.
  const bool masks = IsMask(v) && IsMask(old);
  const bool offsets = v.is_int() && old.is_int() && v.buffer == old.buffer && v.symbolic == old.symbolic;
  const bool data = !IsMask(v) && !IsMask(old) && v.buffer == 0 && old.buffer == 0;
  if (!masks && !offsets && !data) {
    old = std::move(v);
    defined_[reg] = exec_;
    return true;
  }
  Value blended;
  if (offsets && (v.mask != 0 || old.mask != 0)) {
    Value a = v, b = old;
    a.mask = b.mask = 0;
    if (!Blend(exec_, a, b, &blended)) return false;
    blended.mask = space_.Or(space_.And(v.mask, exec_), space_.AndNot(old.mask, exec_));
  } else if (data) {
    Value kept = old;
    if (!Materialize(&v) || !Materialize(&kept) || !Blend(exec_, v, kept, &blended)) return false;
  } else {
    const int64_t half = v.constant;
    if (!Blend(exec_, v, old, &blended)) return false;
    if (masks) blended.width = 1;
    if (blended.is_predicate()) blended.constant = half;
  }
  registers_[reg] = std::move(blended);
  defined_[reg] = space_.Or(defined_[reg], exec_);
  return true;
}

bool WaveMachine::Write32(const GcnOperand& o, Value v) {
  if (o.kind != OperandKind::kRegister || o.reg == isa::amdgcn::kMode) return Unmodelled64();
  if (v.width > 32 && v.buffer == 0) {
    Value cut;
    if (!Slice(v, 0, 32, &cut)) return false;
    v = std::move(cut);
  }
  return Put(o.reg, std::move(v));
}

bool WaveMachine::WriteWords(const GcnOperand& o, int first, const Value& v) {
  for (int i = 0; i * 32 < v.width; ++i) {
    Value part;
    if (v.width == 32) part = v;
    else if (!Slice(v, i * 32, 32, &part)) return false;
    if (!Put(static_cast<uint16_t>(o.reg + first + i), std::move(part))) return false;
  }
  return true;
}

bool WaveMachine::Write64(const GcnOperand& o, Value v) {
  if (o.kind != OperandKind::kRegister || o.count != 2) return Unmodelled64();
  const uint16_t high_reg = static_cast<uint16_t>(o.reg + 1);
  if (v.buffer != 0) {
    Value high = v;
    v.buffer |= kLowHalf;
    high.buffer |= kHighHalf;
    return Put(o.reg, std::move(v)) && Put(high_reg, std::move(high));
  }
  Value low, high;
  if (!Slice(v, 0, 32, &low)) return false;
  if (v.is_int() && !symbolic_.HasTerms(v.symbolic)) {
    const Interval r = RangeOf(v);
    if (r.lo >= 0 && r.hi < (__int128{1} << 32)) high = Value::Int(0, 32);
    else if (r.lo >= -(__int128{1} << 32) && r.hi < 0) high = Value::Int(-1, 32);
  }
  if (high.kind == Value::Kind::kUndef && !Slice(v, 32, 32, &high)) return false;
  return Put(o.reg, std::move(low)) && Put(high_reg, std::move(high));
}

bool WaveMachine::WriteMask(const GcnOperand& o, Value v) {
  if (o.kind != OperandKind::kRegister || o.count != 2 || o.reg % 2 != 0) return Unmodelled64();
  if (v.is_bits() && v.buffer == 0) {
    MaskId known;
    Lanes condition;
    bool is_known;
    if (!AsPredicate(v, &known, &condition, &is_known)) return false;
    if (is_known) v = Value::Predicate(known);
  }
  Value high = v;
  if (v.is_predicate()) {
    v.constant = 0;
    high.constant = 1;
  }
  return Put(o.reg, std::move(v)) && Put(static_cast<uint16_t>(o.reg + 1), std::move(high));
}

bool WaveMachine::SetSccNonZero(const Value& v, int width) {
  Value nonzero;
  if (!IntCompare(expr::Compare::kNe, v, Value::Int(0, width), width, false, &nonzero)) return false;
  return SetScc(std::move(nonzero));
}

bool WaveMachine::Constant(uint16_t reg, uint64_t* out) {
  Value v;
  if (!Peek(reg, &v)) return false;
  if (!AsInt(&v) || v.symbolic != 0 || v.buffer != 0 || v.mask != 0)
    return Unknown("DESCRIPTOR", "part of a buffer descriptor is not a known number");
  if (v.array == 0) {
    *out = static_cast<uint64_t>(v.constant) & 0xffffffff;
    return true;
  }
  // The same in every executing lane.
  const int64_t* array = space_.array(v.array);
  bool fresh = true;
  for (int l = 0; l < space_.lanes(); ++l) {
    if (!space_.Test(exec_, l)) continue;
    const uint64_t word = static_cast<uint64_t>(array[l] + v.constant) & 0xffffffff;
    if (!fresh && word != *out) return Unknown("DESCRIPTOR", "part of a buffer descriptor differs between waves");
    *out = word;
    fresh = false;
  }
  return true;
}

}  // namespace samebits::symexec
