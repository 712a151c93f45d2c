// Exchange between the lanes of a wave: DPP and readlane.

#include <algorithm>

#include "core/expr/operation.h"
#include "core/isa/amdgcn/op_table.h"
#include "core/symexec/amdgcn/wave_machine.h"

namespace samebits::symexec {

using expr::Fn;
using expr::Format;
using isa::amdgcn::DppKind;
using isa::amdgcn::kWaveLanes;
using isa::amdgcn::Op;
using isa::amdgcn::OperandKind;
using isa::amdgcn::Type;

WaveMachine::LaneSources WaveMachine::SourcesOf(std::vector<int> of) {
  LaneSources s;
  std::vector<uint16_t> from(of.size());
  for (size_t l = 0; l < of.size(); ++l) from[l] = static_cast<uint16_t>(of[l] < 0 || of[l] >= space_.lanes() ? static_cast<int>(l) : of[l]);
  s.perm = space_.InternPerm(from.data());
  s.known = space_.MaskWhere([&](int l) { return of[static_cast<size_t>(l)] >= 0 && of[static_cast<size_t>(l)] < space_.lanes(); });
  s.of = std::move(of);
  return s;
}

// out[l] = v[source of l]; where that lane never wrote v, or there is none, nothing known.
bool WaveMachine::Gather(const Value& v, MaskId defined, const LaneSources& sources, Value* out) {
  if (v.buffer != 0) return Unknown("ADDRESS_AS_DATA", "a half of an address moves between lanes");
  Value moved;
  if (v.is_int() && !symbolic_.HasLaneAtoms(v.symbolic)) {
    const auto o = space_.Permute(v.array, sources.perm);
    moved = v;
    moved.array = o.id;
    moved.constant += o.constant;
  } else {
    absl::InlinedVector<Piece, 4> pieces;
    if (!ToPieces(v, v.width, &pieces)) return false;
    for (Piece& p : pieces) {
      p.lanes = ops_.Permute(p.lanes, sources.perm);
      ops_.Settle(&p.lanes);
      if (moves_ == nullptr) continue;
      const uint16_t* from = space_.perm(sources.perm);
      LogShuffle(p.lanes, exec_, {from, from + space_.lanes()});
    }
    FromPieces(std::move(pieces), v.width, &moved);
  }
  const MaskId ok = defined == kAllLanes ? sources.known : space_.MaskWhere([&](int l) {
    return space_.Test(sources.known, l) && space_.Test(defined, sources.of[static_cast<size_t>(l)]);
  });
  if (!space_.Contains(ok, exec_)) {
    Lanes undef;
    undef.nodes = nodes_.Undef();
    const Value whole = moved;
    if (!Blend(ok, whole, Value::Bits(undef, v.width), &moved)) return false;
  }
  *out = std::move(moved);
  return true;
}

// Lane that each lane reads; -1 where the control has none.
bool WaveMachine::DppSources(const GcnInst& in, std::vector<int>* source) const {
  source->resize(space_.lanes());
  const int n = in.dpp_value;
  for (int l = 0; l < space_.lanes(); ++l) {
    const int lane = l % kWaveLanes, wave = l - lane, in_row = lane % 16, row = lane - in_row;
    int from = -1;
    switch (in.dpp) {
      case DppKind::kQuadPerm: from = (lane & ~3) | (n >> (2 * (lane & 3)) & 3); break;
      case DppKind::kRowShl: from = in_row + n < 16 ? lane + n : -1; break;
      case DppKind::kRowShr: from = in_row - n >= 0 ? lane - n : -1; break;
      case DppKind::kRowRor: from = row + ((in_row - n) & 15); break;
      case DppKind::kRowMirror: from = row + 15 - in_row; break;
      case DppKind::kRowHalfMirror: from = (lane & ~7) + 7 - lane % 8; break;
      case DppKind::kRowBcast15: from = row >= 16 ? row - 1 : -1; break;
      case DppKind::kRowBcast31: from = lane >= 32 ? 31 : -1; break;
      case DppKind::kWaveShl1: from = lane < 63 ? lane + 1 : -1; break;
      case DppKind::kWaveRol1: from = (lane + 1) % 64; break;
      case DppKind::kWaveShr1: from = lane - 1; break;
      case DppKind::kWaveRor1: from = (lane + 63) % 64; break;
      case DppKind::kRowNewBcast: from = row + n; break;
      case DppKind::kNone: return false;
    }
    (*source)[l] = from < 0 ? -1 : wave + from;
  }
  return true;
}

const WaveMachine::DppPlan* WaveMachine::PlanOf(const GcnInst& in) {
  const uint32_t key = static_cast<uint32_t>(in.dpp) << 24 | static_cast<uint32_t>(in.dpp_value) << 16 |
                       static_cast<uint32_t>(in.row_mask) << 8 | static_cast<uint32_t>(in.bank_mask) << 4 | (in.bound_ctrl ? 1u : 0u);
  for (const auto& plan : dpp_plans_)
    if (plan->key == key) return plan.get();
  auto plan = std::make_unique<DppPlan>();
  plan->key = key;
  std::vector<int> source;
  if (!DppSources(in, &source)) return nullptr;
  plan->sources = SourcesOf(std::move(source));
  // Row and bank masks, and without bound_ctrl only lanes with a source.
  plan->writes = space_.MaskWhere([&](int l) {
    const int lane = l % kWaveLanes;
    return (in.row_mask >> (lane / 16) & 1) != 0 && (in.bank_mask >> (lane % 16 / 4) & 1) != 0 && (in.bound_ctrl || plan->sources.of[static_cast<size_t>(l)] >= 0);
  });
  dpp_plans_.push_back(std::move(plan));
  return dpp_plans_.back().get();
}

// Lanes that a DPP instruction writes.
bool WaveMachine::ExecDppMask(const GcnInst& in, MaskId* write) {
  const DppPlan* plan = PlanOf(in);
  if (plan == nullptr) return Unmodelled64();
  *write = space_.And(exec_, plan->writes);
  return true;
}

bool WaveMachine::DppRead(const GcnInst& in, const GcnOperand& o, Value* out) {
  const DppPlan* plan = o.kind == OperandKind::kRegister ? PlanOf(in) : nullptr;
  if (plan == nullptr) return Unmodelled64();
  const std::vector<int>& source = plan->sources.of;
  const MaskId write = space_.And(exec_, plan->writes), with_source = plan->sources.known;
  for (int l = 0; l < space_.lanes() && (exec_ != kAllLanes || space_.lanes() % kWaveLanes != 0); ++l)
    if (space_.Test(write, l) && source[l] >= 0 && (source[l] >= space_.lanes() || !space_.Test(exec_, source[l])))
      return Unknown("DPP_INACTIVE", "DPP reads a lane that does not execute");
  if (!Awaited(o.reg)) return false;
  Value v = registers_[o.reg], moved;
  if (v.kind == Value::Kind::kUndef || v.is_predicate() || v.width == 1) return Unknown("UNDEFINED_VALUE", "DPP reads a register that was never written");
  if (!Materialize(&v) || !Gather(v, defined_[o.reg], plan->sources, &moved)) return false;
  if (space_.Contains(with_source, exec_)) {
    *out = std::move(moved);
    return true;
  }
  return Blend(with_source, moved, Value::Int(0, 32), out);
}

bool WaveMachine::ExecLaneMove(const GcnInst& in) {
  const auto& o = in.operands;
  if (in.sdwa || in.dpp != DppKind::kNone) return Unmodelled64();
  std::vector<int> source(space_.lanes(), -1);
  if (in.op == Op::kVReadfirstlane) {
    if (exec_is_data_) return Unknown("GUARDED_ON_DATA", "first of the lanes that loaded data selects");
    for (int w = 0; w < waves_; ++w) {
      int first = w * kWaveLanes;  // lane 0 where none executes
      for (int l = w * kWaveLanes; l < std::min((w + 1) * kWaveLanes, space_.lanes()); ++l)
        if (space_.Test(exec_, l)) {
          first = l;
          break;
        }
      for (int l = w * kWaveLanes; l < std::min((w + 1) * kWaveLanes, space_.lanes()); ++l) source[l] = first;
    }
  } else {
    Value n;
    exec_ = wave_;
    if (!Read32(o[2], &n)) return false;
    if (!AsInt(&n) || n.symbolic != 0 || n.mask != 0 || n.buffer != 0) return Unknown("SHUFFLE_ON_DATA", "lane number that depends on data or on the block");
    for (int l = 0; l < space_.lanes(); ++l) source[l] = l - l % kWaveLanes + static_cast<int>((space_.array(n.array)[l] + n.constant) & 63);
  }
  exec_ = wave_;
  if (in.op == Op::kVWritelane) {
    Value v;
    if (!Read32(o[1], &v)) return false;
    const MaskId saved = exec_;
    exec_ = space_.And(wave_, space_.MaskWhere([&](int l) { return source[l] == l; }));
    const bool ok = exec_ == kNoLanes || Write32(o[0], std::move(v));
    exec_ = saved;
    return ok;
  }
  if (o[1].kind != OperandKind::kRegister) {
    Value v;
    return Read32(o[1], &v) && Write32(o[0], std::move(v));
  }
  if (!Awaited(o[1].reg)) return false;
  Value v = registers_[o[1].reg], moved;
  if (v.kind == Value::Kind::kUndef || v.is_predicate() || v.width == 1)
    return Unknown("UNDEFINED_VALUE", "a lane's register is read that was never written");
  if (v.buffer != 0) {
    // An address that all lanes of a wave share stays whole.
    if (!v.is_int() || v.array != 0 || !space_.Contains(defined_[o[1].reg], wave_))
      return Unknown("ADDRESS_AS_DATA", "a half of an address moves between lanes");
    return Write32(o[0], std::move(v));
  }
  return Materialize(&v) && Gather(v, defined_[o[1].reg], SourcesOf(std::move(source)), &moved) && Write32(o[0], std::move(moved));
}

}  // namespace samebits::symexec
