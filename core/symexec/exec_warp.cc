// Warp-wide instructions: shuffles, votes, integer reductions, warp barriers and fences (PTX ISA 9.7.9, 9.7.13).

#include <algorithm>
#include <bit>

#include "core/symexec/machine.h"

namespace samebits::symexec {

using expr::Fn;
using isa::ScalarType;
using isa::ptx::Mod;
using isa::ptx::Op;

// Every warp with an executing lane has all its lanes executing.
bool Machine::WarpsAreFull(MaskId mask) const {
  if (mask == kAllLanes) return true;
  for (int first = 0; first < space_.lanes(); first += 32) {
    const int end = std::min(first + 32, space_.lanes());
    int n = 0;
    for (int l = first; l < end; ++l) n += space_.Test(mask, l);
    if (n != 0 && n != end - first) return false;
  }
  return true;
}

// Lane l of `mask` received from lane source[l].
void Machine::LogShuffle(const Lanes& arrived, MaskId mask, const std::vector<uint16_t>& source) {
  for (int l = 0; l < space_.lanes(); ++l)
    if (source[l] != l && space_.Test(mask, l)) moves_->Add(nodes_, ops_.At(arrived, l), source[l], l, MoveLog::Route::kWarp);
}

bool Machine::ExecShfl(const Inst& in) {
  if (!CheckMods(in, {Mod::kSync, Mod::kUp, Mod::kDown, Mod::kBfly, Mod::kIdx})) return false;
  Value a, b, c, m;
  if (!Get(Op(in, 1), 32, false, &a) || !Get(Op(in, 2), 32, false, &b) || !Get(Op(in, 3), 32, false, &c)) return false;
  if (in.Has(Mod::kSync) && !Get(Op(in, 4), 32, false, &m)) return false;
  if (!AsInt(&b) || !AsInt(&c)) return Unknown("SHUFFLE_ON_DATA", "shuffle whose lane depends on loaded data");
  if (b.symbolic != 0 || c.symbolic != 0) return Unknown("SHUFFLE_ON_DATA", "shuffle whose lane depends on the block");
  if (in.Has(Mod::kSync)) {
    if (!AsInt(&m) || m.symbolic != 0) return Unknown("MEMBER_MASK", "member mask is not known");
    const uint64_t* executing = space_.mask(exec_);
    const int64_t* members_of = space_.array(m.array);
    for (int l = 0; l < space_.lanes(); ++l) {
      const int base = l & ~31, count = std::min(32, space_.lanes() - base);
      const uint32_t there = count == 32 ? ~uint32_t{0} : (uint32_t{1} << count) - 1;
      const uint32_t together = static_cast<uint32_t>(executing[base >> 6] >> (base & 63));
      if ((together >> (l & 31) & 1) == 0) continue;
      const uint32_t members = static_cast<uint32_t>(members_of[l] + m.constant);
      if ((members >> (l & 31) & 1) == 0) return Unknown("MEMBER_MASK", "a lane is not in the member mask that it names");
      if ((members & there & ~together) != 0)
        return Unknown("MEMBER_MASK", "lanes named in the member mask do not execute the instruction together");
    }
  }
  std::vector<uint16_t> source(space_.lanes());
  const int64_t *bv = space_.array(b.array), *cv = space_.array(c.array);
  uint64_t in_range[16] = {}, readable[16] = {};
  for (int l = 0; l < space_.lanes(); ++l) {
    const int lane = l & 31, base = l & ~31;
    const int bval = static_cast<int>(bv[l] + b.constant) & 31, cword = static_cast<int>(cv[l] + c.constant);
    const int cval = cword & 31, mask = cword >> 8 & 31;
    const int max_lane = (lane & mask) | (cval & ~mask), min_lane = lane & mask;
    int j = 0;
    bool p = false;
    if (in.Has(Mod::kUp)) {
      j = lane - bval;
      p = j >= max_lane;
    } else if (in.Has(Mod::kDown)) {
      j = lane + bval;
      p = j <= max_lane;
    } else if (in.Has(Mod::kBfly)) {
      j = lane ^ bval;
      p = j <= max_lane;
    } else {
      j = min_lane | (bval & ~mask & 31);
      p = j <= max_lane;
    }
    if (!p) j = lane;
    const bool exists = base + j < space_.lanes();
    source[l] = static_cast<uint16_t>(exists ? base + j : l);
    if (p) in_range[l >> 6] |= uint64_t{1} << (l & 63);
    if (exists && space_.Test(exec_, base + j)) readable[l >> 6] |= uint64_t{1} << (l & 63);
  }
  const MaskId ok = space_.InternMask(readable);
  const PermId perm = space_.InternPerm(source.data());
  Value moved;
  if (a.is_int() && a.buffer == 0 && !symbolic_.HasLaneAtoms(a.symbolic)) {
    const auto o = space_.Permute(a.array, perm);
    moved = a;
    moved.array = o.id;
    moved.constant += o.constant;
  } else {
    absl::InlinedVector<Piece, 4> pieces;
    if (!ToPieces(a, 32, &pieces)) return false;
    for (Piece& p : pieces) {
      p.lanes = ops_.Permute(p.lanes, perm);
      ops_.Settle(&p.lanes);
      if (moves_ != nullptr) LogShuffle(p.lanes, space_.And(exec_, ok), source);
    }
    FromPieces(std::move(pieces), 32, &moved);
  }
  if (space_.AndNot(exec_, ok) != kNoLanes) {
    Lanes undef;
    undef.nodes = nodes_.Undef();
    Value mixed;
    if (!Blend(ok, moved, Value::Bits(undef, 32), &mixed)) return false;
    moved = std::move(mixed);
  }
  const isa::Operand& d = Op(in, 0);
  if (d.pair_reg != isa::kNone32 && !SetRegister(d.pair_reg, Value::Predicate(space_.InternMask(in_range))))
    return false;
  if (d.kind == isa::OperandKind::kSink) return true;
  return SetRegister(d.reg, std::move(moved));
}

bool Machine::ExecVote(const Inst& in) {
  if (in.op == Op::kMatch) return Unmodelled(in);
  auto per_warp = [&](auto f) {
    std::vector<int64_t> v(space_.lanes());
    for (int first = 0; first < space_.lanes(); first += 32) {
      uint32_t bits = 0;
      for (int i = 0; i < 32 && first + i < space_.lanes(); ++i)
        if (f(first + i)) bits |= 1u << i;
      for (int i = 0; i < 32 && first + i < space_.lanes(); ++i) v[first + i] = bits;
    }
    const auto o = space_.InternArray(v.data());
    Value r = Value::Int(o.constant, 32);
    r.array = o.id;
    return r;
  };
  if (in.op == Op::kActivemask) {
    if (!WarpsAreFull(exec_)) return Unknown("MEMBER_MASK", "active mask of a diverged warp");
    return Set(Op(in, 0), per_warp([&](int l) { return space_.Test(exec_, l); }));
  }
  if (in.op == Op::kElectSync) {
    Value m;
    if (!Get(Op(in, 1), 32, false, &m)) return false;
    if (!WarpsAreFull(exec_) || !m.is_uniform_const() || static_cast<uint32_t>(m.constant) != 0xffffffffu)
      return Unknown("MEMBER_MASK", "elect in a part of a warp");
    const isa::Operand& d = Op(in, 0);
    const MaskId leaders = space_.MaskWhere([](int l) { return l % 32 == 0; });
    if (d.kind != isa::OperandKind::kRegister || d.pair_reg == isa::kNone32) {
      if (d.kind == isa::OperandKind::kSink && d.pair_reg != isa::kNone32) return SetRegister(d.pair_reg, Value::Predicate(leaders));
      return Unmodelled(in);
    }
    return SetRegister(d.reg, Value::Int(0, 32)) && SetRegister(d.pair_reg, Value::Predicate(leaders));
  }
  if (!CheckMods(in, {Mod::kSync, Mod::kAll, Mod::kAny, Mod::kUni, Mod::kBallot})) return false;
  if (!WarpsAreFull(exec_)) return Unknown("MEMBER_MASK", "vote in a diverged warp");
  if (in.Has(Mod::kSync)) {
    Value m;
    if (!Get(Op(in, 2), 32, false, &m)) return false;
    if (!AsInt(&m) || !m.is_uniform_const()) return Unknown("MEMBER_MASK", "member mask is not known");
    const uint32_t warp = space_.lanes() >= 32 ? 0xffffffffu : (1u << space_.lanes()) - 1;
    if ((static_cast<uint32_t>(m.constant) & warp) != warp) return Unknown("MEMBER_MASK", "vote of a part of a warp is not modelled");
  }
  Value p;
  MaskId known;
  Lanes condition;
  bool is_known;
  if (!Get(Op(in, 1), 1, false, &p) || !AsPredicate(p, &known, &condition, &is_known)) return false;
  if (!is_known) return Unknown("VOTE_ON_DATA", "vote on loaded data");
  const Value ballot = per_warp([&](int l) { return space_.Test(known, l); });
  if (in.Has(Mod::kBallot)) return Set(Op(in, 0), ballot);
  const MaskId result = space_.MaskWhere([&](int l) {
    const int first = l & ~31;
    const int n = std::min(32, space_.lanes() - first);
    const uint32_t full = n == 32 ? 0xffffffffu : (1u << n) - 1;
    const uint32_t bits = static_cast<uint32_t>(space_.array(ballot.array)[l] + ballot.constant);
    return in.Has(Mod::kAll) ? bits == full : in.Has(Mod::kAny) ? bits != 0 : bits == full || bits == 0;
  });
  return Set(Op(in, 0), Value::Predicate(result));
}

bool Machine::ExecRedux(const Inst& in) {
  if (!CheckMods(in, {Mod::kAdd, Mod::kMin, Mod::kMax, Mod::kAnd, Mod::kOr, Mod::kXor})) return false;
  const ScalarType type = in.type();
  if (isa::IsFloat(type)) return Unmodelled(in);
  Value m, a;
  if (!Get(Op(in, 1), 32, false, &a) || !Get(Op(in, 2), 32, false, &m)) return false;
  if (!m.is_uniform_const() || static_cast<uint32_t>(m.constant) != 0xffffffffu || !WarpsAreFull(exec_) || space_.lanes() % 32 != 0)
    return Unknown("MEMBER_MASK", "reduction over a part of a warp is not modelled");
  if (a.is_int() && symbolic_.HasLaneAtoms(a.symbolic)) return Unknown("OPEN_SIZE", "reduction of lanes' products with an open size");
  const Fn fn = in.Has(Mod::kAdd)   ? Fn::kIAdd
                : in.Has(Mod::kMin) ? Fn::kIMin
                : in.Has(Mod::kMax) ? Fn::kIMax
                : in.Has(Mod::kAnd) ? Fn::kAnd
                : in.Has(Mod::kOr)  ? Fn::kOr
                                    : Fn::kXor;
  const bool is_signed = isa::IsSigned(type);
  std::vector<uint16_t> source(space_.lanes());
  for (int step = 1; step < 32; step *= 2) {
    for (int l = 0; l < space_.lanes(); ++l) source[l] = static_cast<uint16_t>(l ^ step);
    const PermId perm = space_.InternPerm(source.data());
    Value other = a, next;
    if (a.is_int()) {
      const auto o = space_.Permute(a.array, perm);
      other.array = o.id;
      other.constant += o.constant;
    } else {
      for (Piece& p : other.pieces) {
        p.lanes = ops_.Permute(p.lanes, perm);
        if (moves_ != nullptr) LogShuffle(p.lanes, exec_, source);
      }
    }
    bool ok;
    switch (fn) {
      case Fn::kIAdd: ok = IntAdd(a, other, 32, &next); break;
      case Fn::kIMin: case Fn::kIMax: ok = IntMinMax(fn == Fn::kIMax, a, other, 32, is_signed, &next); break;
      default: ok = IntBitwise(fn, a, other, 32, &next); break;
    }
    if (!ok) return false;
    a = std::move(next);
  }
  return Set(Op(in, 0), std::move(a));
}

bool Machine::ExecSync(const Inst& in) {
  if (!Lockstep()) return Unknown("BARRIER_IN_BRANCH", "barrier under a data-dependent branch");
  if (in.op == Op::kBarWarpSync) {
    Value m;
    if (!CheckMods(in, {}) || !Get(Op(in, 0), 32, false, &m)) return false;
    if (!m.is_uniform_const()) return Unknown("MEMBER_MASK", "member mask is not known");
    const uint32_t members = static_cast<uint32_t>(m.constant);
    for (int first = 0; first < space_.lanes(); first += 32) {
      const int n = std::min(32, space_.lanes() - first);
      const uint32_t all = n == 32 ? 0xffffffffu : (1u << n) - 1;
      uint32_t active = 0;
      for (int i = 0; i < n; ++i) active |= static_cast<uint32_t>(space_.Test(exec_, first + i)) << i;
      if (active == 0) continue;
      if (active != all || (members & all) != all)
        return Unknown("MEMBER_MASK", "warp barrier of a part of a warp is not modelled");
      ++shared_.warp_epoch[first / 32];
    }
    return true;
  }
  if (in.op == Op::kFence && in.Has(Mod::kProxy)) {
    // Only the generic-to-asynchronous fence orders what the model knows; other proxies have no accesses here.
    if (!CheckMods(in, {Mod::kProxy, Mod::kAsync, Mod::kSharedCta, Mod::kGlobal})) return false;
    if (in.Has(Mod::kGlobal)) return true;  // of global memory only
    for (int l = 0; l < space_.lanes(); ++l)
      if (space_.Test(exec_, l)) ++shared_.proxy_fences[l];
    return true;
  }
  return true;  // memory fences: the model orders by barriers only, so a fence adds nothing
}

}  // namespace samebits::symexec
