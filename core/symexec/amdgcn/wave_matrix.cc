// Matrix instructions.

#include <algorithm>

#include "core/expr/operation.h"
#include "core/isa/amdgcn/op_table.h"
#include "core/symexec/amdgcn/wave_machine.h"

namespace samebits::symexec {

using expr::Fn;
using expr::Format;
using isa::amdgcn::kWaveLanes;
using isa::amdgcn::OperandKind;
using isa::amdgcn::Type;

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
  if (!v.uniform() || nodes_[v.nodes].slots != 0) return false;
  const auto zero = [&](expr::NodeId id) {
    uint64_t value = 1;
    return nodes_.IsConst(id, &value) && value == 0;
  };
  if (nodes_[v.nodes].fn != Fn::kVector) return zero(v.nodes);
  for (int i = 0; i < nodes_[v.nodes].children; ++i)
    if (!zero(nodes_.child(v.nodes, i).node)) return false;
  return true;
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

// The instruction's shape in registers, and how its processor groups products. False: stopped.
bool WaveMachine::MatrixFormOf(const GcnInst& in, MatrixForm* form) {
  isa::amdgcn::MfmaShape shape;
  if (!isa::amdgcn::ParseMfma(in.name, &shape)) return Unmodelled64();
  if (in.cbsz != 0 || in.abid != 0 || in.blgp != 0 || in.clamp) return Unknown("UNMODELLED_MODIFIER", "modifier of '" + std::string(in.name) + "' is not modelled");
  if (space_.lanes() % kWaveLanes != 0) return Unknown("DIVERGED_MATRIX", "matrix instruction in a partial wave");
  const int m = shape.m, k = shape.k, bits = BitsOf(shape.a);
  const auto& o = in.operands;
  const int words = o[1].count, per = words * 32 / bits, blocks = per * kWaveLanes / (k * m), results = m * m * blocks / kWaveLanes;
  if (blocks < 1 || per * kWaveLanes != k * m * blocks || (shape.blocks != 0 && shape.blocks != blocks) || (blocks > 1 && blocks * m != kWaveLanes) ||
      (m == 4 && blocks == 1) || bits != BitsOf(shape.b) || o[0].count != results || o[2].count != words ||
      (o[3].kind == OperandKind::kRegister && o[3].count != results))
    return Unmodelled64();
  form->m = m, form->k = k, form->bits = bits, form->words = words, form->per = per, form->blocks = blocks, form->results = results;
  form->group = k;
  const bool half = (shape.a == Type::kF16 || shape.a == Type::kBf16) && shape.a == shape.b && shape.result == Type::kF32;
  if (shape.result == Type::kF32 && shape.a == Type::kF32 && shape.b == Type::kF32) {
    // One fused multiply-add a product, ascending.
    expr::Attr attr;
    attr.to = Format::kF32;
    attr.round = expr::Round::kRn;
    form->group = 1;
    form->fn = Fn::kFFma;
    form->attr = attr.Encode();
  } else if (shape.result == Type::kI32) {
    if (shape.a != Type::kI8 || shape.b != Type::kI8) return Unmodelled64();
    form->fn = Fn::kMatrixStep;
    form->exact = true;
    form->group = std::min(8, k);  // any would do: sums are exact; those of groups are added in any order
    form->attr = expr::kIntegerMatrixRule | static_cast<uint64_t>(Format::kS8) << 32 | static_cast<uint64_t>(Format::kS8) << 40;
  } else if (half && module_.amdgcn->target == "gfx942") {
    form->group = std::min(8, k);
    form->fn = Fn::kMatrixStep;
    form->products_stay = shape.a == Type::kF16;
    const uint64_t format = static_cast<uint64_t>(shape.a == Type::kF16 ? Format::kF16 : Format::kBf16);
    form->attr = expr::kCdna3MatrixRule | format << 32 | format << 40 | static_cast<uint64_t>(form->group) << 48;
  } else {
    // Arithmetic that is not established: a function of the whole instruction, of this processor alone.
    form->attr = Spelled(module_.amdgcn->target + ":" + std::string(in.name));
  }
  return true;
}

// The elements of each lane's own row of A, or column of B: of one block, (i, k) is in lane i + m * (k / per), k % per of its
// registers; of several, row i of block b is whole in lane i + m * b.
bool WaveMachine::MatrixElements(const MatrixForm& form, const std::vector<Value>& registers, std::vector<Lanes>* elements) {
  const MatrixPerms& perms = PermsOf(form.m, form.blocks, form.results);
  elements->resize(static_cast<size_t>(form.k));
  for (int kk = 0; kk < form.k; ++kk) {
    const int at = kk % form.per;
    Value piece;
    Lanes e;
    if (!Slice(registers[static_cast<size_t>(at * form.bits / 32)], at * form.bits % 32, form.bits, &piece)) return false;
    piece.width = static_cast<uint8_t>(form.bits);
    if (!ToLanes(piece, form.bits, &e)) return false;
    (*elements)[static_cast<size_t>(kk)] = form.blocks > 1 ? std::move(e) : ops_.Permute(e, perms.parts[static_cast<size_t>(kk / form.per)]);
  }
  return true;
}

// Of each group of products one value for each result that sees another one, group by group.
bool WaveMachine::MatrixOperand(const MatrixForm& form, const GcnOperand& o, bool rows, std::vector<Lanes>* out) {
  const MatrixPerms& perms = PermsOf(form.m, form.blocks, form.results);
  const std::vector<PermId>& seen = rows ? perms.rows : perms.columns;
  std::vector<Value> registers(static_cast<size_t>(form.words));
  matrix_memo_.Begin(static_cast<uint64_t>(form.m) | static_cast<uint64_t>(form.k) << 16 | static_cast<uint64_t>(form.bits) << 32 |
                     static_cast<uint64_t>(form.group) << 40 | static_cast<uint64_t>(form.blocks) << 56);
  matrix_memo_.Number(static_cast<uint64_t>(form.fn) << 1 | (rows ? 1 : 0));
  for (int w = 0; w < form.words; ++w) {
    Value& v = registers[static_cast<size_t>(w)];
    if (!ReadWords(o, w, &v)) return false;
    if (v.buffer != 0) return Unknown("ADDRESS_AS_DATA", "an address is used as a number");
    // Integers go their own way each time.
    if (!v.is_bits()) matrix_memo_.Operand({kMixed, {}});
    for (const Piece& p : v.pieces) {
      matrix_memo_.Number(p.bits);
      matrix_memo_.Operand(p.lanes);
    }
  }
  if (matrix_memo_.Find(out)) return true;
  std::vector<Lanes> elements;
  if (!MatrixElements(form, registers, &elements)) return false;
  out->clear();
  for (int first = 0; first < form.k; first += form.group) {
    std::vector<const Lanes*> group;
    for (int i = first; i < std::min(first + form.group, form.k); ++i) group.push_back(&elements[static_cast<size_t>(i)]);
    Lanes vector = *group[0];
    if (form.fn != Fn::kFFma && !ops_.Apply(Fn::kVector, static_cast<uint64_t>(form.bits), 0, group, &vector)) return OutOfAnchors();
    if (seen.empty()) out->push_back(vector);
    for (const PermId perm : seen) out->push_back(ops_.Permute(vector, perm));
  }
  matrix_memo_.Add(*out);
  return true;
}

// D = A * B + C of one wave, for each of the instruction's blocks. EXEC does not matter.
bool WaveMachine::ExecMfma(const GcnInst& in) {
  MatrixForm form;
  if (!MatrixFormOf(in, &form)) return false;
  exec_ = wave_;
  const auto& o = in.operands;
  std::vector<Lanes> rows, columns, acc(static_cast<size_t>(form.results));
  if (!MatrixOperand(form, o[1], true, &rows) || !MatrixOperand(form, o[2], false, &columns)) return false;
  for (int r = 0; r < form.results; ++r) {
    Value v;
    if (o[3].kind == OperandKind::kRegister ? !ReadWords(o[3], r, &v) : !Read32(o[3], &v)) return false;
    if (v.buffer != 0 || !ToLanes(v, 32, &acc[static_cast<size_t>(r)])) return Unknown("ADDRESS_AS_DATA", "an address is used as a number");
  }
  const size_t results = acc.size(), seen = form.blocks == 1 ? 1 : results;
  for (size_t step = 0; step * results < rows.size(); ++step) {
    const Lanes* const row = &rows[step * results];
    const Lanes* const column = &columns[step * seen];
    // Products of +0 leave what a step left, which is no -0, where none underflows.
    if (form.products_stay && IsZero(*row) && IsZero(*column) &&
        std::all_of(acc.begin(), acc.end(), [&](const Lanes& v) { return IsStepResult(v); }))
      continue;
    for (size_t r = 0; r < results; ++r)
      if (!AddProducts(form, row[r], column[seen == 1 ? 0 : r], &acc[r])) return false;
  }
  for (int r = 0; r < form.results; ++r)
    if (!Put(static_cast<uint16_t>(o[0].reg + r), Value::Bits(std::move(acc[static_cast<size_t>(r)]), 32))) return false;
  return true;
}

// acc + the products of a group.
bool WaveMachine::AddProducts(const MatrixForm& form, const Lanes& row, const Lanes& column, Lanes* acc) {
  Lanes next;
  if (form.fn == Fn::kFFma) {
    const Lanes* operands[3] = {&row, &column, acc};
    if (!ops_.Apply(form.fn, form.attr, 32, operands, &next)) return OutOfAnchors();
  } else if (form.exact) {
    const Lanes none = ops_.Const(0, 32);
    const Lanes* operands[3] = {&none, &row, &column};
    Lanes step;
    if (!ops_.Apply(form.fn, form.attr, 32, operands, &step)) return OutOfAnchors();
    const Lanes* sum[2] = {acc, &step};
    if (!ops_.Apply(Fn::kIAdd, 0, 32, sum, &next)) return OutOfAnchors();
  } else {
    const Lanes* operands[3] = {acc, &row, &column};
    if (!ops_.Apply(form.fn, form.attr, 32, operands, &next)) return OutOfAnchors();
  }
  *acc = std::move(next);
  return true;
}

}  // namespace samebits::symexec
