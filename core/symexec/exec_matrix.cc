// Matrix instructions of one warp: fragments, and steps of the unit's group length (PTX ISA 9.7.14; arithmetic:
// core/softfloat/matrix_unit.h).

#include <algorithm>

#include "core/expr/operation.h"
#include "core/softfloat/matrix_unit.h"
#include "core/symexec/machine.h"
#include "core/symexec/matrix_arithmetic.h"
#include "core/symexec/matrix_layout.h"

namespace samebits::symexec {

using expr::Fn;
using expr::Format;
using expr::Scalar;
using isa::ScalarType;
using isa::ptx::Mod;
using isa::ptx::Op;
using softfloat::FormatId;

namespace {

bool InputFormat(ScalarType t, FormatId* id, Format* format, int* bits) {
  switch (t) {
    case ScalarType::kF16: *id = FormatId::kF16; *format = Format::kF16; *bits = 16; return true;
    case ScalarType::kBf16: *id = FormatId::kBf16; *format = Format::kBf16; *bits = 16; return true;
    case ScalarType::kTf32: *id = FormatId::kTf32; *format = Format::kTf32; *bits = 32; return true;
    case ScalarType::kE4m3: *id = FormatId::kE4m3; *format = Format::kE4m3; *bits = 8; return true;
    case ScalarType::kE5m2: *id = FormatId::kE5m2; *format = Format::kE5m2; *bits = 8; return true;
    default: return false;
  }
}

bool IntegerFormat(ScalarType t, Format* format) {
  *format = t == ScalarType::kS8 ? Format::kS8 : Format::kU8;
  return t == ScalarType::kS8 || t == ScalarType::kU8;
}

// The arithmetic of an integer step; its group is the instruction's whole k, since it clamps there.
uint64_t IntegerWord(Format a, Format b, bool satfinite) {
  return expr::kIntegerMatrixRule | uint64_t{satfinite} << 4 | static_cast<uint64_t>(a) << 32 | static_cast<uint64_t>(b) << 40;
}

// The arithmetic of a unit as one number; equal numbers, equal results on equal operands.
uint64_t UnitWord(const softfloat::MatrixUnit& u, Format a, Format b) {
  return static_cast<uint64_t>(u.rule) | static_cast<uint64_t>(u.result) << 4 | static_cast<uint64_t>(u.fraction_bits) << 8 |
         static_cast<uint64_t>(static_cast<uint16_t>(u.zero_exponent)) << 16 | static_cast<uint64_t>(a) << 32 |
         static_cast<uint64_t>(b) << 40 | static_cast<uint64_t>(u.group) << 48;
}

}  // namespace

bool Machine::MatrixStep(uint64_t unit, const Lanes& acc, const Lanes& a, const Lanes& b, Lanes* out) {
  const Lanes* operands[3] = {&acc, &a, &b};
  const int width = (unit >> 4 & 15) == static_cast<uint64_t>(softfloat::MatrixResult::kF16NearestEven) ? 16 : 32;
  if (!ops_.Apply(Fn::kMatrixStep, unit, width, operands, out)) return OutOfAnchors();
  return true;
}

// types: result, A, B. `warpgroup`: wgmma, else mma.
bool Machine::FindArithmetic(const Inst& in, bool warpgroup, MatrixArithmetic* out) {
  Format a, b;
  out->integer = in.types[0] == ScalarType::kS32;
  out->half_acc = in.types[0] == ScalarType::kF16;
  const bool satfinite = in.Has(Mod::kSatfinite);
  if (satfinite && !out->integer) return Unmodelled(in);
  if (out->integer) {
    if (!IntegerFormat(in.types[1], &a) || !IntegerFormat(in.types[2], &b)) return Unmodelled(in);
    out->bits = 8;
    out->group = in.k;
    out->word = IntegerWord(a, b, satfinite);
    return true;
  }
  FormatId fa, fb;
  int b_bits;
  if (!InputFormat(in.types[1], &fa, &a, &out->bits) || !InputFormat(in.types[2], &fb, &b, &b_bits) || out->bits != b_bits) return Unmodelled(in);
  if (!out->half_acc && in.types[0] != ScalarType::kF32) return Unmodelled(in);
  const auto unit = softfloat::FindMatrixUnit(
      module_.sm, warpgroup ? softfloat::MatrixInstruction::kWgmma : softfloat::MatrixInstruction::kMma, fa, fb,
      out->half_acc ? FormatId::kF16 : FormatId::kF32);
  const bool sums = unit && unit->rule == softfloat::MatrixRule::kTruncatedSum;
  if (!unit || (warpgroup ? !sums : unit->rule == softfloat::MatrixRule::kFmaChain))
    return Unknown("MATRIX_UNIT", "arithmetic of '" + std::string(in.name) + "' on " + std::string(module_.target) + " is not established");
  out->group = sums ? std::min<int>(unit->group, in.k) : in.k;
  out->word = UnitWord(*unit, a, b);
  return true;
}

// mma.sync.m16n8kK with f16, bf16, tf32 and fp8 inputs.
bool Machine::ExecMma(const Inst& in) {
  if (!CheckMods(in, {Mod::kSync, Mod::kAligned, Mod::kRow, Mod::kCol, Mod::kSatfinite})) return false;
  if (in.m != 16 || in.n != 8 || in.type_count != 4) return Unmodelled(in);
  const bool satfinite = in.Has(Mod::kSatfinite);
  const int layouts = in.mod_count - (satfinite ? 1 : 0);
  if (layouts < 2 || in.mods[layouts - 2] != Mod::kRow || in.mods[layouts - 1] != Mod::kCol) return Unmodelled(in);
  if (!WarpsAreFull(exec_) || space_.lanes() % 32 != 0) return Unknown("DIVERGED_MATRIX", "matrix instruction in a diverged warp");
  if (in.types[0] != in.types[3]) return Unmodelled(in);
  MatrixArithmetic arithmetic;
  if (!FindArithmetic(in, false, &arithmetic)) return false;
  const bool half_acc = arithmetic.half_acc;
  const int bits = arithmetic.bits, group = arithmetic.group;
  const int per = 32 / bits, k = in.k;
  std::vector<Value> a, b, c;
  if (!GetMany(Op(in, 1), 32, &a) || !GetMany(Op(in, 2), 32, &b) || !GetMany(Op(in, 3), 32, &c)) return false;
  const int k_regs = k / (4 * per);
  if (k_regs < 1 || static_cast<int>(a.size()) != 2 * k_regs || static_cast<int>(b.size()) != k_regs ||
      c.size() != (half_acc ? 2u : 4u))
    return Unmodelled(in);
  const int n = space_.lanes();
  auto element = [&](const Value& v, int part, Lanes* out) {
    Value piece;
    return Slice(v, part * bits, bits, &piece) && ToLanes(piece, bits, out);
  };
  std::vector<uint16_t> source(n);
  // Rows of A (g and g + 8) and columns of B (2t and 2t + 1) as seen by each output lane.
  std::vector<Lanes> rows[2], columns[2];
  for (int h = 0; h < 2; ++h) {
    rows[h].resize(k);
    columns[h].resize(k);
    for (int kk = 0; kk < k; ++kk) {
      const FragmentPlace p = PlaceOf(kk, per);
      Lanes e;
      for (int l = 0; l < n; ++l) source[l] = static_cast<uint16_t>((l & ~3) | p.thread);
      // Registers of A alternate rows g, g + 8 within each block of k.
      if (!element(a[2 * p.reg + h], p.part, &e)) return false;
      rows[h][kk] = ops_.Permute(e, space_.InternPerm(source.data()));
      for (int l = 0; l < n; ++l) source[l] = static_cast<uint16_t>((l & ~31) | (2 * (l & 3) + h) * 4 | p.thread);
      if (!element(b[p.reg], p.part, &e)) return false;
      columns[h][kk] = ops_.Permute(e, space_.InternPerm(source.data()));
    }
  }
  const int steps = (k + group - 1) / group;
  auto vector_of = [&](const std::vector<Lanes>& elements, int first, Lanes* out) {
    std::vector<const Lanes*> refs;
    for (int i = first; i < std::min(first + group, k); ++i) refs.push_back(&elements[i]);
    if (!ops_.Apply(Fn::kVector, static_cast<uint64_t>(bits), 0, refs, out)) return OutOfAnchors();
    return true;
  };
  std::vector<Lanes> row_vectors[2], column_vectors[2];
  for (int h = 0; h < 2; ++h) {
    row_vectors[h].resize(steps);
    column_vectors[h].resize(steps);
    for (int s = 0; s < steps; ++s)
      if (!vector_of(rows[h], s * group, &row_vectors[h][s]) || !vector_of(columns[h], s * group, &column_vectors[h][s])) return false;
  }
  std::vector<Value> results(c.size());
  std::vector<Value> halves;
  for (int i = 0; i < 4; ++i) {
    Lanes acc;
    if (half_acc) {
      Value part;
      if (!Slice(c[i / 2], i % 2 * 16, 16, &part) || !ToLanes(part, 16, &acc)) return false;
    } else if (!ToLanes(c[i], 32, &acc)) {
      return false;
    }
    for (int s = 0; s < steps; ++s) {
      Lanes next;
      if (!MatrixStep(arithmetic.word, acc, row_vectors[i / 2][s], column_vectors[i % 2][s], &next)) return false;
      acc = std::move(next);
    }
    if (half_acc) halves.push_back(Value::Bits(std::move(acc), 16));
    else results[i] = Value::Bits(std::move(acc), 32);
  }
  if (half_acc)
    for (int i = 0; i < 2; ++i)
      if (!Concat({halves[2 * i], halves[2 * i + 1]}, &results[i])) return false;
  return SetMany(Op(in, 0), std::move(results));
}

bool Machine::ExecLdmatrix(const Inst& in) {
  if (!CheckMods(in, {Mod::kSync, Mod::kAligned, Mod::kTrans, Mod::kShared, Mod::kSharedCta})) return false;
  if (in.m != 8 || in.n != 8 || in.type() != ScalarType::kB16) return Unmodelled(in);
  if (!WarpsAreFull(exec_) || space_.lanes() % 32 != 0) return Unknown("DIVERGED_MATRIX", "matrix load in a diverged warp");
  const int matrices = in.xcount;
  if (matrices != 1 && matrices != 2 && matrices != 4) return Unmodelled(in);
  Address address;
  if (!ResolveAddress(in, Op(in, 1), isa::StateSpace::kShared, &address)) return false;
  std::vector<int64_t> rows;
  const MaskId saved = exec_;
  exec_ = space_.And(exec_, space_.MaskWhere([matrices](int l) { return l % 32 < 8 * matrices; }));
  const bool ok = LaneAddresses(address.value, 16, shared_bytes_, "shared-memory", &rows);
  exec_ = saved;
  if (!ok) return false;
  const bool trans = in.Has(Mod::kTrans);
  std::vector<Value> values(matrices);
  std::vector<int64_t> at(space_.lanes());
  for (int m = 0; m < matrices; ++m) {
    if (!trans) {
      for (int l = 0; l < space_.lanes(); ++l) at[l] = rows[(l & ~31) + 8 * m + (l & 31) / 4] + 4 * (l & 3);
      if (!SharedRead(at, 4, exec_, &values[m])) return false;
    } else {
      std::vector<Value> halves(2);
      for (int e = 0; e < 2; ++e) {
        for (int l = 0; l < space_.lanes(); ++l) at[l] = rows[(l & ~31) + 8 * m + 2 * (l & 3) + e] + 2 * ((l & 31) / 4);
        if (!SharedRead(at, 2, exec_, &halves[e])) return false;
      }
      if (!Concat(halves, &values[m])) return false;
    }
  }
  return SetMany(Op(in, 0), std::move(values));
}

bool Machine::ExecStmatrix(const Inst& in) {
  if (!CheckMods(in, {Mod::kSync, Mod::kAligned, Mod::kTrans, Mod::kShared, Mod::kSharedCta})) return false;
  if (in.m != 8 || in.n != 8 || in.type() != ScalarType::kB16) return Unmodelled(in);
  if (!WarpsAreFull(exec_) || space_.lanes() % 32 != 0) return Unknown("DIVERGED_MATRIX", "matrix store in a diverged warp");
  if (data_depth_ > 0) return Unknown("STORE_ON_DATA", "store under a data-dependent branch");
  const int matrices = in.xcount;
  if (matrices != 1 && matrices != 2 && matrices != 4) return Unmodelled(in);
  Address address;
  if (!ResolveAddress(in, Op(in, 0), isa::StateSpace::kShared, &address)) return false;
  std::vector<int64_t> rows;
  const MaskId saved = exec_;
  exec_ = space_.And(exec_, space_.MaskWhere([matrices](int l) { return l % 32 < 8 * matrices; }));
  const bool ok = LaneAddresses(address.value, 16, shared_bytes_, "shared-memory", &rows);
  exec_ = saved;
  if (!ok) return false;
  std::vector<Value> values;
  if (!GetMany(Op(in, 1), 32, &values)) return false;
  if (static_cast<int>(values.size()) != matrices) return Unmodelled(in);
  std::vector<int64_t> at(space_.lanes());
  for (int m = 0; m < matrices; ++m) {
    if (!in.Has(Mod::kTrans)) {
      for (int l = 0; l < space_.lanes(); ++l) at[l] = rows[(l & ~31) + 8 * m + (l & 31) / 4] + 4 * (l & 3);
      if (!SharedWrite(at, 4, exec_, values[m], 0)) return false;
    } else {
      for (int e = 0; e < 2; ++e) {
        for (int l = 0; l < space_.lanes(); ++l) at[l] = rows[(l & ~31) + 8 * m + 2 * (l & 3) + e] + 2 * ((l & 31) / 4);
        Value half;
        if (!Slice(values[m], 16 * e, 16, &half) || !SharedWrite(at, 2, exec_, half, 0)) return false;
      }
    }
  }
  return true;
}

bool Machine::ExecWmma(const Inst& in) { return Unmodelled(in); }

}  // namespace samebits::symexec
