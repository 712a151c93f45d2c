// Exchange between the lanes of a wave: DPP, readlane, and matrix instructions.

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

// out[l] = v[source[l]]; where that lane never wrote v, or source[l] < 0, nothing known.
bool WaveMachine::Gather(const Value& v, MaskId defined, const std::vector<int>& source, Value* out) {
  if (v.buffer != 0) return Unknown("ADDRESS_AS_DATA", "a half of an address moves between lanes");
  std::vector<uint16_t> from(space_.lanes());
  for (int l = 0; l < space_.lanes(); ++l) from[l] = static_cast<uint16_t>(source[l] < 0 || source[l] >= space_.lanes() ? l : source[l]);
  const PermId perm = space_.InternPerm(from.data());
  Value moved;
  if (v.is_int() && !symbolic_.HasLaneAtoms(v.symbolic)) {
    const auto o = space_.Permute(v.array, perm);
    moved = v;
    moved.array = o.id;
    moved.constant += o.constant;
  } else {
    absl::InlinedVector<Piece, 4> pieces;
    if (!ToPieces(v, v.width, &pieces)) return false;
    for (Piece& p : pieces) {
      p.lanes = ops_.Permute(p.lanes, perm);
      ops_.Settle(&p.lanes);
      if (moves_ != nullptr) LogShuffle(p.lanes, exec_, from);
    }
    FromPieces(std::move(pieces), v.width, &moved);
  }
  const MaskId ok = space_.MaskWhere([&](int l) {
    return source[l] >= 0 && source[l] < space_.lanes() && space_.Test(defined, source[l]);
  });
  if (space_.AndNot(exec_, ok) != kNoLanes) {
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
  if (!DppSources(in, &plan->source)) return nullptr;
  plan->with_source = space_.MaskWhere([&](int l) { return plan->source[l] >= 0; });
  // Row and bank masks, and without bound_ctrl only lanes with a source.
  plan->writes = space_.MaskWhere([&](int l) {
    const int lane = l % kWaveLanes;
    return (in.row_mask >> (lane / 16) & 1) != 0 && (in.bank_mask >> (lane % 16 / 4) & 1) != 0 && (in.bound_ctrl || plan->source[l] >= 0);
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
  const std::vector<int>& source = plan->source;
  const MaskId write = space_.And(exec_, plan->writes), with_source = plan->with_source;
  for (int l = 0; l < space_.lanes() && (exec_ != kAllLanes || space_.lanes() % kWaveLanes != 0); ++l)
    if (space_.Test(write, l) && source[l] >= 0 && (source[l] >= space_.lanes() || !space_.Test(exec_, source[l])))
      return Unknown("DPP_INACTIVE", "DPP reads a lane that does not execute");
  if (!Awaited(o.reg)) return false;
  Value v = registers_[o.reg], moved;
  if (v.kind == Value::Kind::kUndef || v.is_predicate() || v.width == 1) return Unknown("UNDEFINED_VALUE", "DPP reads a register that was never written");
  if (!Materialize(&v) || !Gather(v, defined_[o.reg], source, &moved)) return false;
  if (space_.AndNot(exec_, with_source) == kNoLanes) {
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
    if (!v.is_int() || v.array != 0 || space_.AndNot(wave_, defined_[o[1].reg]) != kNoLanes)
      return Unknown("ADDRESS_AS_DATA", "a half of an address moves between lanes");
    return Write32(o[0], std::move(v));
  }
  return Materialize(&v) && Gather(v, defined_[o[1].reg], source, &moved) && Write32(o[0], std::move(moved));
}

namespace {

// What register r of a lane holds of the results.
struct Place {
  int block, row;
};
Place ResultPlace(int m, int lane, int r) {
  switch (m) {
    case 32: return {r / 16, r % 16 / 4 * 8 + lane / 32 * 4 + r % 4};
    case 16: return {r / 4, lane / 16 * 4 + r % 4};
    default: return {lane / 4, r};
  }
}

int BitsOf(Type t) {
  switch (t) {
    case Type::kF16: case Type::kBf16: return 16;
    case Type::kFp8: case Type::kBf8: case Type::kI8: return 8;
    default: return 32;
  }
}

uint64_t Spelled(std::string_view name) {
  WordHasher h(79);
  for (const char c : name) h.Add(static_cast<uint8_t>(c));
  return h.Finish64();
}

}  // namespace

const WaveMachine::MatrixPerms& WaveMachine::PermsOf(int m, int blocks, int results) {
  MatrixPerms& perms = matrix_perms_[{m, blocks}];
  if (!perms.rows.empty()) return perms;
  const int n = space_.lanes();
  std::vector<uint16_t> source(n);
  auto intern = [&](const auto& lane_of) {
    for (int l = 0; l < n; ++l) source[l] = static_cast<uint16_t>(l - l % kWaveLanes + lane_of(l % kWaveLanes));
    return space_.InternPerm(source.data());
  };
  for (int part = 0; part < kWaveLanes / m && blocks == 1; ++part) perms.parts.push_back(intern([&](int l) { return part * m + l % m; }));
  for (int r = 0; r < results; ++r) {
    perms.rows.push_back(intern([&](int l) {
      const Place place = ResultPlace(m, l, r);
      return (blocks == 1 ? 0 : place.block * m) + place.row;
    }));
    if (blocks > 1) perms.columns.push_back(intern([&](int l) { return ResultPlace(m, l, r).block * m + l % m; }));
  }
  return perms;
}

bool WaveMachine::IsZero(const Lanes& v) const {
  uint64_t value = 1;
  return ops_.ConstValue(v, &value) && value == 0;
}

bool WaveMachine::IsStepResult(const Lanes& v) const {
  const auto fits = [&](expr::NodeId id) {
    uint64_t value = 1;
    return nodes_[id].fn == Fn::kMatrixStep || (nodes_.IsConst(id, &value) && value == 0);
  };
  if (v.uniform()) return fits(v.nodes);
  const uint32_t* ids = space_.nodes(v.nodes & ~kMixed);
  return std::all_of(ids, ids + space_.lanes(), fits);
}

// D = A * B + C of one wave, for each of the instruction's blocks. Of one block, element (i, k) of A is in lane
// i + m * (k / per), k % per of its registers; of several, row i of block b is whole in lane i + m * b. B alike with columns
// for rows. EXEC does not matter.
bool WaveMachine::ExecMfma(const GcnInst& in) {
  isa::amdgcn::MfmaShape shape;
  if (!isa::amdgcn::ParseMfma(in.name, &shape)) return Unmodelled64();
  if (in.cbsz != 0 || in.abid != 0 || in.blgp != 0 || in.clamp) return Unknown("UNMODELLED_MODIFIER", "modifier of '" + std::string(in.name) + "' is not modelled");
  if (space_.lanes() % kWaveLanes != 0) return Unknown("DIVERGED_MATRIX", "matrix instruction in a partial wave");
  exec_ = wave_;
  const int m = shape.m, k = shape.k, bits = BitsOf(shape.a);
  const auto& o = in.operands;
  const int words = o[1].count, per = words * 32 / bits, blocks = per * kWaveLanes / (k * m), results = m * m * blocks / kWaveLanes;
  if (blocks < 1 || per * kWaveLanes != k * m * blocks || (shape.blocks != 0 && shape.blocks != blocks) || (blocks > 1 && blocks * m != kWaveLanes) ||
      (m == 4 && blocks == 1) || bits != BitsOf(shape.b) || o[0].count != results || o[2].count != words ||
      (o[3].kind == OperandKind::kRegister && o[3].count != results))
    return Unmodelled64();
  // Per k: the elements of each lane's own row of A and column of B.
  std::vector<Lanes> rows(k), columns(k);
  const MatrixPerms& perms = PermsOf(m, blocks, results);
  for (int side = 0; side < 2; ++side) {
    std::vector<Value> registers(words);
    for (int w = 0; w < words; ++w) {
      if (!ReadWords(o[1 + side], w, &registers[w])) return false;
      if (registers[w].buffer != 0) return Unknown("ADDRESS_AS_DATA", "an address is used as a number");
    }
    for (int kk = 0; kk < k; ++kk) {
      const int at = kk % per;
      Value piece;
      Lanes e;
      if (!Slice(registers[at * bits / 32], at * bits % 32, bits, &piece)) return false;
      piece.width = static_cast<uint8_t>(bits);
      if (!ToLanes(piece, bits, &e)) return false;
      (side == 0 ? rows : columns)[kk] = blocks > 1 ? std::move(e) : ops_.Permute(e, perms.parts[kk / per]);
    }
  }
  std::vector<Lanes> acc(results);
  for (int r = 0; r < results; ++r) {
    Value v;
    if (o[3].kind == OperandKind::kRegister ? !ReadWords(o[3], r, &v) : !Read32(o[3], &v)) return false;
    if (v.buffer != 0 || !ToLanes(v, 32, &acc[r])) return Unknown("ADDRESS_AS_DATA", "an address is used as a number");
  }
  const bool cdna3 = module_.amdgcn->target == "gfx942";
  const bool half = (shape.a == Type::kF16 || shape.a == Type::kBf16) && shape.a == shape.b && shape.result == Type::kF32;
  if (shape.result == Type::kF32 && shape.a == Type::kF32 && shape.b == Type::kF32) {
    // One fused multiply-add a product, ascending.
    expr::Attr attr;
    attr.to = Format::kF32;
    attr.round = expr::Round::kRn;
    for (int kk = 0; kk < k; ++kk)
      for (int r = 0; r < results; ++r) {
        const Lanes row = ops_.Permute(rows[kk], perms.rows[r]);
        Lanes column;
        if (blocks > 1) column = ops_.Permute(columns[kk], perms.columns[r]);
        const Lanes* operands[3] = {&row, blocks > 1 ? &column : &columns[kk], &acc[r]};
        Lanes next;
        if (!ops_.Apply(Fn::kFFma, attr.Encode(), 32, operands, &next)) return OutOfAnchors();
        acc[r] = std::move(next);
      }
  } else {
    int group = k;
    Fn fn = Fn::kIsa;
    uint64_t word = 0;
    if (shape.result == Type::kI32) {
      if (shape.a != Type::kI8 || shape.b != Type::kI8) return Unmodelled64();
      fn = Fn::kMatrixStep;
      group = std::min(8, k);  // any would do: sums are exact; those of groups are added in any order
      word = expr::kIntegerMatrixRule | static_cast<uint64_t>(Format::kS8) << 32 | static_cast<uint64_t>(Format::kS8) << 40;
    } else if (half && cdna3) {
      group = std::min(8, k);
      fn = Fn::kMatrixStep;
      const uint64_t format = static_cast<uint64_t>(shape.a == Type::kF16 ? Format::kF16 : Format::kBf16);
      word = expr::kCdna3MatrixRule | format << 32 | format << 40 | static_cast<uint64_t>(group) << 48;
    } else {
      // Arithmetic that is not established: a function of the whole instruction, of this processor alone.
      word = Spelled(module_.amdgcn->target + ":" + std::string(in.name));
    }
    for (int first = 0; first < k; first += group) {
      std::vector<const Lanes*> a, b;
      for (int i = first; i < std::min(first + group, k); ++i) {
        a.push_back(&rows[i]);
        b.push_back(&columns[i]);
      }
      // Eight products of +0 leave what a step left, which is no -0: products of f16 do not underflow.
      if (half && cdna3 && shape.a == Type::kF16 &&
          std::all_of(a.begin(), a.end(), [&](const Lanes* v) { return IsZero(*v); }) &&
          std::all_of(b.begin(), b.end(), [&](const Lanes* v) { return IsZero(*v); }) &&
          std::all_of(acc.begin(), acc.end(), [&](const Lanes& v) { return IsStepResult(v); }))
        continue;
      Lanes va, vb;
      if (!ops_.Apply(Fn::kVector, static_cast<uint64_t>(bits), 0, a, &va) || !ops_.Apply(Fn::kVector, static_cast<uint64_t>(bits), 0, b, &vb))
        return OutOfAnchors();
      for (int r = 0; r < results; ++r) {
        const Lanes row = ops_.Permute(va, perms.rows[r]);
        Lanes column;
        if (blocks > 1) column = ops_.Permute(vb, perms.columns[r]);
        const Lanes none = ops_.Const(0, 32);
        const bool exact = shape.result == Type::kI32;
        const Lanes* operands[3] = {exact ? &none : &acc[r], &row, blocks > 1 ? &column : &vb};
        Lanes next;
        if (!ops_.Apply(fn, word, 32, operands, &next)) return OutOfAnchors();
        if (exact) {
          const Lanes step = next;
          const Lanes* sum[2] = {&acc[r], &step};
          if (!ops_.Apply(Fn::kIAdd, 0, 32, sum, &next)) return OutOfAnchors();
        }
        acc[r] = std::move(next);
      }
    }
  }
  for (int r = 0; r < results; ++r)
    if (!Put(static_cast<uint16_t>(o[0].reg + r), Value::Bits(std::move(acc[r]), 32))) return false;
  return true;
}

}  // namespace samebits::symexec
