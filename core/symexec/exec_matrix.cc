// Matrix instructions: fragments, shared-memory descriptors, and steps of the unit's group length
// (PTX ISA 9.7.14 and 9.7.15; arithmetic: core/softfloat/matrix_unit.h).

#include <algorithm>

#include "core/expr/operation.h"
#include "core/softfloat/matrix_unit.h"
#include "core/symexec/machine.h"

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

uint64_t DescriptorField(uint64_t d, int low, int bits) { return d >> low & ((uint64_t{1} << bits) - 1); }

// Thread within its quad, register and position in it that hold element k of a row (A) or column (B) fragment.
struct FragmentPlace {
  int thread, reg, part;
};
// `per` elements of a row share a 32-bit register.
FragmentPlace PlaceOf(int k, int per) {
  const int block = 4 * per;  // k covered by one register of the quad
  return {k % block / per, k / block, k % per};
}

}  // namespace

bool Machine::MatrixStep(uint64_t unit, const Lanes& acc, const Lanes& a, const Lanes& b, Lanes* out) {
  const Lanes* operands[3] = {&acc, &a, &b};
  const int width = (unit >> 4 & 15) == static_cast<uint64_t>(softfloat::MatrixResult::kF16NearestEven) ? 16 : 32;
  if (!ops_.Apply(Fn::kMatrixStep, unit, width, operands, out)) return OutOfAnchors();
  return true;
}

// What a matrix instruction computes with, one group of products a step.
struct Machine::MatrixArithmetic {
  bool integer = false, half_acc = false;  // integer products; an f16 accumulator
  int bits = 0;                            // of an input element
  int group = 0;                           // products of a step
  uint64_t word = 0;                       // attribute of the steps
};

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

namespace {

// Byte address of element (row, k) of a tile under a wgmma matrix descriptor (PTX ISA 9.7.15.5.1): canonical layouts
// of core matrices, then the swizzle that exchanges 16-byte columns by address bits.
struct TileLayout {
  uint32_t start, leading, stride;
  int swizzle;  // bytes of the pattern: 128, 64, 32, or 16 for none
  bool transposed;
  int bytes;    // of one element

  uint32_t Address(int row, int k) const {
    uint32_t at;
    if (!transposed) {
      const uint32_t byte = static_cast<uint32_t>(k * bytes);
      if (swizzle == 16) {
        at = static_cast<uint32_t>(row / 8) * stride + byte / 16 * leading + static_cast<uint32_t>(row % 8) * 16 + byte % 16;
      } else {
        at = static_cast<uint32_t>(row / 8) * stride + static_cast<uint32_t>(row % 8) * static_cast<uint32_t>(swizzle) + byte;
      }
    } else {
      const int atom = swizzle / bytes;  // elements along the contiguous direction
      const uint32_t inner = static_cast<uint32_t>(row % atom * bytes + k % 8 * swizzle);
      const uint32_t along_row = static_cast<uint32_t>(row / atom), along_k = static_cast<uint32_t>(k / 8);
      at = inner + (swizzle == 16 ? along_row * stride + along_k * leading : along_row * leading + along_k * stride);
    }
    at += start;
    const uint32_t mask = static_cast<uint32_t>(swizzle / 16 - 1);  // 7, 3, 1, 0
    return at ^ ((at >> 7 & mask) << 4);
  }
};

}  // namespace

std::string Machine::UnfencedText(uint32_t reg) const {
  return "register " + std::string(function_->registers[reg].name) +
         " used by an asynchronous matrix instruction without wgmma.fence since it was written";
}

bool Machine::ExecWgmma(const Inst& in) {
  const int groups = static_cast<int>(shared_.matrix.size());
  std::vector<int> active;
  for (int g = 0; g < groups; ++g) {
    int n = 0;
    for (int l = g * 128; l < std::min((g + 1) * 128, space_.lanes()); ++l) n += space_.Test(exec_, l);
    if (n == 0) continue;
    if (n != 128) return Unknown("DIVERGED_MATRIX", "warpgroup instruction in a diverged or partial warpgroup");
    active.push_back(g);
  }
  if (data_depth_ > 0 && !(in_ring_ && Lockstep()))
    return Unknown("STORE_ON_DATA", "warpgroup instruction under a data-dependent branch");
  switch (in.op) {
    case Op::kWgmmaFence:
      for (const int g : active) ++matrix_fences_[g];
      return CheckMods(in, {Mod::kSync, Mod::kAligned});
    case Op::kWgmmaCommitGroup:
      if (!CheckMods(in, {Mod::kSync, Mod::kAligned})) return false;
      for (const int g : active) {
        ++shared_.matrix[g].issued;
        shared_.matrix[g].uncommitted = false;
      }
      return true;
    case Op::kWgmmaWaitGroup: {
      if (!CheckMods(in, {Mod::kSync, Mod::kAligned})) return false;
      Value n;
      if (!Get(Op(in, 0), 32, false, &n)) return false;
      if (!n.is_uniform_const()) return Unmodelled(in);
      for (const int g : active) {
        AsyncGroups& m = shared_.matrix[g];
        const int64_t up_to = static_cast<int64_t>(m.issued) - 1 - n.constant;
        if (up_to > 0) m.CompleteUpTo(static_cast<uint32_t>(up_to), shared_.Now(g * 128));
        if (shared_.owing() && n.constant == 0 && !m.uncommitted) shared_.PaidMatrix(static_cast<size_t>(g));
      }
      return true;
    }
    default: break;
  }
  if (!CheckMods(in, {Mod::kSync, Mod::kAligned, Mod::kSatfinite})) return false;
  if (in.m != 64 || in.type_count != 3) return Unmodelled(in);
  MatrixArithmetic arithmetic;
  if (!FindArithmetic(in, true, &arithmetic)) return false;
  const bool integer = arithmetic.integer, half_acc = arithmetic.half_acc;
  const int bits = arithmetic.bits, group = arithmetic.group;
  const int n = in.n, k = in.k, bytes = bits / 8;
  const Operand& d = Op(in, 0);
  const bool a_in_registers = Op(in, 1).kind == isa::OperandKind::kVector;
  // scale-d, imm-scale-a, imm-scale-b, then the transposes where the type has them.
  std::vector<int64_t> scalars;
  Value scale;
  bool accumulate = true;
  if (in.operand_count > 3) {
    if (!Get(Op(in, 3), 1, false, &scale)) return false;
    MaskId known;
    Lanes condition;
    bool is_known;
    if (!AsPredicate(scale, &known, &condition, &is_known)) return false;
    if (!is_known) return Unknown("GUARDED_ON_DATA", "matrix scale depends on loaded data");
    const MaskId on = space_.And(known, exec_);
    if (on != exec_ && on != kNoLanes) return Unknown("DIVERGED_MATRIX", "matrix scale differs between lanes");
    accumulate = on == exec_;
  }
  for (uint32_t i = 4; i < in.operand_count; ++i) {
    Value v;
    if (!Get(Op(in, static_cast<int>(i)), 32, false, &v)) return false;
    if (!v.is_uniform_const()) return Unmodelled(in);
    scalars.push_back(v.constant);
  }
  if (integer ? !scalars.empty() : scalars.size() < 2 || scalars[0] != 1 || scalars[1] != 1) return Unknown("MATRIX_SCALE", "negated matrix operand is not modelled");
  bool transpose_a = false, transpose_b = false;
  if (a_in_registers) {
    if (scalars.size() > 2) transpose_b = scalars[2] != 0;
  } else if (scalars.size() == 4) {
    transpose_a = scalars[2] != 0;
    transpose_b = scalars[3] != 0;
  } else if (scalars.size() != (integer ? 0u : 2u)) {
    return Unmodelled(in);
  }
  auto layout_of = [&](const Value& v, int g, bool transposed, TileLayout* t) {
    const int64_t* array = space_.array(v.array);
    const uint64_t word = static_cast<uint64_t>(array[g * 128] + v.constant);
    for (int l = g * 128; l < g * 128 + 128; ++l)
      if (static_cast<uint64_t>(array[l] + v.constant) != word) return Unknown("DESCRIPTOR", "matrix descriptor differs within a warpgroup");
    static constexpr int kSwizzle[4] = {16, 128, 64, 32};
    t->start = static_cast<uint32_t>(DescriptorField(word, 0, 14) << 4);
    t->leading = static_cast<uint32_t>(DescriptorField(word, 16, 14) << 4);
    t->stride = static_cast<uint32_t>(DescriptorField(word, 32, 14) << 4);
    t->swizzle = kSwizzle[word >> 62];
    t->transposed = transposed;
    t->bytes = bytes;
    if (DescriptorField(word, 49, 3) != 0) return Unknown("DESCRIPTOR", "matrix descriptor with a base offset is not modelled");
    return true;
  };
  auto descriptor = [&](int i, Value* v) {
    if (!Get(Op(in, i), 64, false, v)) return false;
    if (!AsInt(v) || v->buffer != 0 || v->symbolic != 0) return Unknown("DESCRIPTOR", "matrix descriptor is not a known number");
    return true;
  };
  // Elements of `rows` x k from shared memory for one warpgroup.
  std::vector<SharedMemory::Fragment> fragments;
  auto read_tile = [&](const TileLayout& t, int g, int rows, std::vector<Scalar>* out) {
    out->resize(static_cast<size_t>(rows) * k);
    const int run = 16 / bytes;  // elements of one 16-byte chunk
    const int outer = t.transposed ? k : rows, inner = t.transposed ? rows : k;
    for (int o = 0; o < outer; ++o) {
      for (int i = 0; i < inner; i += run) {
        const uint32_t address = t.transposed ? t.Address(i, o) : t.Address(o, i);
        if (address + 16 > shared_bytes_) return Unknown("ADDRESS_BOUNDS", "matrix descriptor leads outside shared memory");
        fragments.clear();
        const auto race = shared_.ReadAsync(g, shared_.matrix[g].issued, address, 16, &fragments);
        if (race != SharedMemory::Race::kNone) return Conflict(race);
        int at = 0;  // byte within the chunk
        for (const auto& f : fragments) {
          for (uint32_t b = 0; b < f.bytes; b += static_cast<uint32_t>(bytes)) {
            const int e = i + (at + static_cast<int>(b)) / bytes;
            Scalar& s = (*out)[t.transposed ? static_cast<size_t>(e) * k + o : static_cast<size_t>(o) * k + e];
            if (b + static_cast<uint32_t>(bytes) > f.bytes) return Unknown("WIDTH", "matrix element written in parts");
            if (f.value == nullptr) {
              s.node = nodes_.Undef();
              s.slots = 0;
            } else if (f.offset + b == 0 && f.value_bytes == static_cast<uint32_t>(bytes)) {
              s = *f.value;
            } else if (!builder_.Build(Fn::kExtract, (f.offset + b) * 8, bits, f.value, 1, &s)) {
              return OutOfAnchors();
            }
            if (!Guarded(f.guard, bits, &s)) return false;
          }
          at += static_cast<int>(f.bytes);
        }
      }
    }
    return true;
  };
  const int lanes = space_.lanes();
  const int steps = k / group;
  std::vector<uint16_t> source(lanes);
  // A: one lane a row, then seen by each output lane as rows g and g + 8 of its warp.
  std::vector<Lanes> row_vectors[2];
  for (auto& v : row_vectors) v.resize(steps);
  std::vector<const Lanes*> refs;
  if (a_in_registers) {
    std::vector<Value> a;
    if (!GetMany(Op(in, 1), 32, &a)) return false;
    for (uint32_t i = 0; i < Op(in, 1).count; ++i) {
      const Operand& e = Element(Op(in, 1), static_cast<int>(i));
      if (e.kind == isa::OperandKind::kRegister && !Fenced(first_register_ + e.reg, active)) return Race(UnfencedText(e.reg));
    }
    const int per = 32 / bits;
    if (static_cast<int>(a.size()) != 2 * k / (4 * per)) return Unmodelled(in);
    for (int h = 0; h < 2; ++h) {
      std::vector<Lanes> elements(k);
      for (int kk = 0; kk < k; ++kk) {
        const FragmentPlace p = PlaceOf(kk, per);
        Value piece;
        Lanes e;
        if (!Slice(a[2 * p.reg + h], p.part * bits, bits, &piece) || !ToLanes(piece, bits, &e)) return false;
        for (int l = 0; l < lanes; ++l) source[l] = static_cast<uint16_t>((l & ~3) | p.thread);
        elements[kk] = ops_.Permute(e, space_.InternPerm(source.data()));
      }
      for (int s = 0; s < steps; ++s) {
        refs.clear();
        for (int i = 0; i < group; ++i) refs.push_back(&elements[s * group + i]);
        if (!ops_.Apply(Fn::kVector, static_cast<uint64_t>(bits), 0, refs, &row_vectors[h][s])) return OutOfAnchors();
      }
    }
  } else {
    Value desc;
    if (!descriptor(1, &desc)) return false;
    std::vector<std::vector<Scalar>> tiles(groups);
    for (const int g : active) {
      TileLayout t;
      if (!layout_of(desc, g, transpose_a, &t) || !read_tile(t, g, 64, &tiles[g])) return false;
    }
    std::vector<Lanes> elements(k);
    std::vector<Scalar> column(lanes);
    for (int kk = 0; kk < k; ++kk) {
      for (int l = 0; l < lanes; ++l) {
        const int g = l / 64;  // lane l stands for row l % 64 of warpgroup l / 64
        if (g < groups && !tiles[g].empty()) column[l] = tiles[g][static_cast<size_t>(l % 64) * k + kk];
        else column[l] = tiles[active[0]][static_cast<size_t>(l % 64) * k + kk];
      }
      elements[kk] = ops_.Pack(column);
    }
    for (int s = 0; s < steps; ++s) {
      refs.clear();
      for (int i = 0; i < group; ++i) refs.push_back(&elements[s * group + i]);
      Lanes rows;
      if (!ops_.Apply(Fn::kVector, static_cast<uint64_t>(bits), 0, refs, &rows)) return OutOfAnchors();
      for (int h = 0; h < 2; ++h) {
        for (int l = 0; l < lanes; ++l) {
          const int g = l / 128, warp = l / 32 % 4;
          source[l] = static_cast<uint16_t>(std::min(lanes - 1, g * 64 + warp * 16 + (l & 31) / 4 + 8 * h));
        }
        row_vectors[h][s] = ops_.Permute(rows, space_.InternPerm(source.data()));
      }
    }
  }
  // B: one lane a column, in chunks of as many columns as there are lanes.
  Value desc_b;
  if (!descriptor(2, &desc_b)) return false;
  std::vector<Lanes> column_vectors(static_cast<size_t>(n / 4) * steps);  // (8-column block, parity) x step
  bool first = true;
  std::vector<TileLayout> layouts(groups);
  for (const int g : active)
    if (!layout_of(desc_b, g, transpose_b, &layouts[g])) return false;
  for (const int g : active) {
    const TileLayout& t = layouts[g];
    const TileLayout& t0 = layouts[active[0]];
    const bool same_as_first = t.start == t0.start && t.leading == t0.leading && t.stride == t0.stride && t.swizzle == t0.swizzle;
    std::vector<Scalar> tile;
    if (!read_tile(t, g, n, &tile)) return false;
    if (!first && same_as_first) continue;
    std::vector<Scalar> row(lanes);
    for (int chunk = 0; chunk * lanes < n; ++chunk) {
      std::vector<Lanes> elements(k);
      for (int kk = 0; kk < k; ++kk) {
        for (int l = 0; l < lanes; ++l) row[l] = tile[static_cast<size_t>(std::min(chunk * lanes + l, n - 1)) * k + kk];
        elements[kk] = ops_.Pack(row);
      }
      for (int s = 0; s < steps; ++s) {
        refs.clear();
        for (int i = 0; i < group; ++i) refs.push_back(&elements[s * group + i]);
        Lanes columns;
        if (!ops_.Apply(Fn::kVector, static_cast<uint64_t>(bits), 0, refs, &columns)) return OutOfAnchors();
        for (int j = 0; j < n / 8; ++j) {
          if (8 * j < chunk * lanes || 8 * j >= (chunk + 1) * lanes) continue;
          for (int parity = 0; parity < 2; ++parity) {
            for (int l = 0; l < lanes; ++l) source[l] = static_cast<uint16_t>(8 * j - chunk * lanes + 2 * (l & 3) + parity);
            Lanes seen = ops_.Permute(columns, space_.InternPerm(source.data()));
            Lanes& slot = column_vectors[static_cast<size_t>(2 * j + parity) * steps + s];
            if (first) {
              slot = std::move(seen);
            } else {
              Lanes mixed;
              const MaskId mine = space_.MaskWhere([g](int l) { return l / 128 == g; });
              if (!ops_.Blend(mine, seen, slot, &mixed)) return OutOfAnchors();
              slot = std::move(mixed);
            }
          }
        }
      }
    }
    first = false;
  }
  const int registers = half_acc ? n / 4 : n / 2;
  if (d.kind != isa::OperandKind::kVector || static_cast<int>(d.count) != registers) return Unmodelled(in);
  matrix_in_use_ = true;
  for (const int g : active) shared_.matrix[g].uncommitted = true;
  for (int r = 0; r < registers; ++r) {
    const Operand& reg = Element(d, r);
    if (reg.kind != isa::OperandKind::kRegister) return Unmodelled(in);
    const size_t slot = (first_register_ + reg.reg) * static_cast<size_t>(groups);
    const int elements = half_acc ? 2 : 1;
    // An accumulator in flight may be continued by the next matrix instruction.
    for (const int g : active) in_flight_[slot + g] = 0;
    if (!Fenced(first_register_ + reg.reg, active)) return Race(UnfencedText(reg.reg));
    Value old;
    if (accumulate && !GetRegister(reg.reg, &old)) return false;
    std::vector<Value> parts;
    for (int e = 0; e < elements; ++e) {
      const int i = r * elements + e;
      const int half = i / 2 % 2, column = i / 4 * 2 + i % 2;
      const int width = half_acc ? 16 : 32;
      Lanes acc = ops_.Const(0, width);
      if (accumulate) {
        Value part;
        if (!Slice(old, e * width, width, &part) || !ToLanes(part, width, &acc)) return false;
      }
      for (int s = 0; s < steps; ++s) {
        Lanes next;
        if (!MatrixStep(arithmetic.word, acc, row_vectors[half][s], column_vectors[static_cast<size_t>(column) * steps + s], &next)) return false;
        acc = std::move(next);
      }
      parts.push_back(Value::Bits(std::move(acc), width));
    }
    Value result;
    if (!Concat(parts, &result) || !SetRegister(reg.reg, std::move(result))) return false;
    for (const int g : active) {
      in_flight_[slot + g] = shared_.matrix[g].issued;
      unfenced_[slot + g] = 0;
    }
  }
  if (a_in_registers) {
    const Operand& a = Op(in, 1);
    for (uint32_t i = 0; i < a.count; ++i)
      if (Element(a, static_cast<int>(i)).kind == isa::OperandKind::kRegister)
        for (const int g : active)
          matrix_sources_[(first_register_ + Element(a, static_cast<int>(i)).reg) * static_cast<size_t>(groups) + g] =
              shared_.matrix[g].issued;
  }
  return true;
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
