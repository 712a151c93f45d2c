// Warpgroup matrix instructions: operands from shared memory by descriptors or from registers, accumulators in flight
// (PTX ISA 9.7.15; arithmetic: core/softfloat/matrix_unit.h).

#include <algorithm>
#include <bit>

#include "core/symexec/machine.h"
#include "core/symexec/matrix_arithmetic.h"
#include "core/symexec/matrix_layout.h"

namespace samebits::symexec {

using expr::Fn;
using expr::Scalar;
using isa::ptx::Mod;
using isa::ptx::Op;

namespace {

constexpr int kWarpgroup = 128;      // lanes
constexpr int kChunk = 16;           // bytes of a row of a core matrix
constexpr int kRowsOfA = 64;

uint64_t DescriptorField(uint64_t d, int low, int bits) { return d >> low & ((uint64_t{1} << bits) - 1); }

}  // namespace

// One wgmma.mma_async at hand.
struct Machine::WgmmaForm {
  MatrixArithmetic arithmetic;
  std::vector<int> active;  // warpgroups that execute it
  int n = 0, k = 0, steps = 0;
  bool a_in_registers = false, accumulate = true;
  bool transpose_a = false, transpose_b = false;
};

// An operand in shared memory, by its 16-byte chunks. Points into shared memory: gone with the next write there.
struct Machine::SharedTile {
  struct Chunk {
    const StoredScalar* value = nullptr;  // the chunk is bytes [offset, offset + 16) of it; null: `elements` has its parts
    uint32_t offset = 0;                  // or index of the first of them
  };
  struct Element {
    const StoredScalar* value;            // null: never written
    uint32_t offset, value_bytes, guard;  // as in SharedMemory::Fragment
  };
  TileLayout layout;
  int inner = 0;                    // chunks along the contiguous direction
  int run = 0, run_log2 = 0;        // elements of a chunk
  std::vector<Chunk> chunks;
  std::vector<Element> elements;
  const StoredScalar* memory = nullptr;  // all elements are memory of its buffer and symbolic part, at `offsets`
  std::vector<int64_t> offsets;          // bytes, per chunk; with `elements`, per element of a chunk

  // Chunk of an element, and its place there.
  size_t Index(int row, int k, uint32_t* piece) const {
    const int outer = layout.transposed ? k : row, along = layout.transposed ? row : k;
    *piece = static_cast<uint32_t>(along & (run - 1));
    return static_cast<size_t>(outer) * inner + (along >> run_log2);
  }
  // Of `memory`.
  int64_t Offset(size_t chunk, uint32_t piece) const {
    if (!elements.empty()) return offsets[(chunk << run_log2) + piece];
    return offsets[chunk] + piece * static_cast<uint32_t>(layout.bytes);
  }
  // Of elements from here on; those so far get theirs.
  void CountByElement() {
    if (!elements.empty()) return;
    std::vector<int64_t> each(offsets.size() << run_log2);
    for (size_t at = 0; at < each.size(); ++at) each[at] = offsets[at >> run_log2] + static_cast<int64_t>(at & (run - 1)) * layout.bytes;
    offsets = std::move(each);
  }
};

// What a lane stands for while an operand is gathered.
struct Machine::TileRow {
  const SharedTile* tile;
  int row;
};

std::string Machine::UnfencedText(uint32_t reg) const {
  return "register " + std::string(function_->registers[reg].name) +
         " used by an asynchronous matrix instruction without wgmma.fence since it was written";
}

bool Machine::Descriptor(const Inst& in, int operand, Value* out) {
  if (!Get(Op(in, operand), 64, false, out)) return false;
  if (!AsInt(out) || out->buffer != 0 || out->symbolic != 0) return Unknown("DESCRIPTOR", "matrix descriptor is not a known number");
  return true;
}

// The operand of `rows` x k elements that the descriptor of `warpgroup` leads to. Checks and records the reads.
bool Machine::ReadTile(const Value& descriptor, bool transposed, const WgmmaForm& form, int warpgroup, int rows,
                       SharedTile* out) {
  const int first_lane = warpgroup * kWarpgroup, bits = form.arithmetic.bits;
  const int64_t* array = space_.array(descriptor.array);
  const uint64_t word = static_cast<uint64_t>(array[first_lane] + descriptor.constant);
  for (int l = first_lane; l < first_lane + kWarpgroup; ++l)
    if (static_cast<uint64_t>(array[l] + descriptor.constant) != word)
      return Unknown("DESCRIPTOR", "matrix descriptor differs within a warpgroup");
  static constexpr int kSwizzle[4] = {16, 128, 64, 32};
  TileLayout& t = out->layout;
  t.start = static_cast<uint32_t>(DescriptorField(word, 0, 14) << 4);
  t.leading = static_cast<uint32_t>(DescriptorField(word, 16, 14) << 4);
  t.stride = static_cast<uint32_t>(DescriptorField(word, 32, 14) << 4);
  t.swizzle = kSwizzle[word >> 62];
  t.transposed = transposed;
  t.bytes = bits / 8;
  if (DescriptorField(word, 49, 3) != 0) return Unknown("DESCRIPTOR", "matrix descriptor with a base offset is not modelled");

  const uint32_t element = static_cast<uint32_t>(t.bytes);
  out->run = kChunk / t.bytes;
  out->run_log2 = std::countr_zero(static_cast<uint32_t>(out->run));
  const int outer = transposed ? form.k : rows, inner = transposed ? rows : form.k;
  out->inner = inner / out->run;
  out->chunks.resize(static_cast<size_t>(outer) * out->inner);
  out->offsets.resize(out->chunks.size());
  bool in_memory = true;
  std::vector<SharedMemory::Fragment> fragments;
  for (int o = 0; o < outer; ++o) {
    for (int i = 0; i < out->inner; ++i) {
      const uint32_t address = transposed ? t.Address(i * out->run, o) : t.Address(o, i * out->run);
      if (address + kChunk > shared_bytes_) return Unknown("ADDRESS_BOUNDS", "matrix descriptor leads outside shared memory");
      fragments.clear();
      const auto race = shared_.ReadAsync(warpgroup, shared_.matrix[warpgroup].issued, address, kChunk, &fragments);
      if (race != SharedMemory::Race::kNone) return Conflict(race);
      const size_t at = static_cast<size_t>(o) * out->inner + i;
      SharedTile::Chunk& chunk = out->chunks[at];
      if (fragments.size() == 1 && fragments[0].value != nullptr && fragments[0].guard == 0) {
        chunk = {fragments[0].value, fragments[0].offset};
        if (in_memory) in_memory = ContinuesMemory(*chunk.value, &out->memory);
        if (!in_memory) continue;
        const int64_t start = chunk.value->anchor(0).offset + chunk.offset;
        if (out->elements.empty()) out->offsets[at] = start;
        else for (int e = 0; e < out->run; ++e) out->offsets[(at << out->run_log2) + e] = start + e * t.bytes;
        continue;
      }
      if (in_memory) out->CountByElement();
      chunk.offset = static_cast<uint32_t>(out->elements.size());
      size_t to = at << out->run_log2;
      for (const auto& f : fragments) {
        for (uint32_t b = 0; b < f.bytes; b += element) {
          if (b + element > f.bytes) return Unknown("WIDTH", "matrix element written in parts");
          in_memory = in_memory && f.value != nullptr && f.guard == 0 && ContinuesMemory(*f.value, &out->memory);
          if (in_memory) out->offsets[to++] = f.value->anchor(0).offset + f.offset + b;
          out->elements.push_back({f.value, f.offset + b, f.value_bytes, f.guard});
        }
      }
    }
  }
  if (!in_memory) out->memory = nullptr;
  return true;
}

// `value` is memory of the same buffer and symbolic part as `memory`, which it becomes if that is null.
bool Machine::ContinuesMemory(const StoredScalar& value, const StoredScalar** memory) const {
  if (*memory != nullptr) return value.node() == (*memory)->node() && value.anchor(0).symbolic == (*memory)->anchor(0).symbolic;
  *memory = &value;
  return nodes_[value.node()].fn == Fn::kLeaf;
}

// What all lanes have of the memory that `first` is of, at tile_offsets_. `likely`: see LaneSpace::InternArray.
Lanes Machine::MemoryLanes(const StoredScalar& first, ArrayId likely) {
  const auto interned = space_.InternArray(tile_offsets_.data(), likely);
  Lanes out;
  out.nodes = first.node();
  out.anchors.push_back({interned.id, first.anchor(0).symbolic, interned.constant});
  return out;
}

// Element k of the row of each lane, which stands in memory of one buffer: offsets are all that differs. False where it
// does not. `likely`: array of the offsets, if they are as they were before.
bool Machine::MemoryColumn(const std::vector<TileRow>& rows, int k, int bytes, ArrayId likely, Lanes* out) {
  const int lanes = space_.lanes();
  tile_offsets_.resize(lanes);
  const StoredScalar* first = nullptr;
  const SharedTile* known = nullptr;  // is memory like `first`
  for (int l = 0; l < lanes; ++l) {
    const SharedTile& tile = *rows[l].tile;
    uint32_t piece;
    const size_t at = tile.Index(rows[l].row, k, &piece);
    if (&tile != known && tile.memory != nullptr) {
      if (!ContinuesMemory(*tile.memory, &first)) return false;
      known = &tile;
    }
    if (&tile == known) {
      tile_offsets_[l] = tile.Offset(at, piece);
      continue;
    }
    const SharedTile::Chunk& chunk = tile.chunks[at];
    if (chunk.value == nullptr || !ContinuesMemory(*chunk.value, &first)) return false;
    tile_offsets_[l] = chunk.value->anchor(0).offset + chunk.offset + piece * static_cast<uint32_t>(bytes);
  }
  *out = MemoryLanes(*first, likely);
  return true;
}

// Element k of the row of each lane, whatever stands there.
bool Machine::TileColumn(const std::vector<TileRow>& rows, int k, int bits, Lanes* out) {
  std::vector<Scalar> elements(space_.lanes());
  for (int l = 0; l < space_.lanes(); ++l) {
    uint32_t piece;
    const SharedTile& tile = *rows[l].tile;
    const SharedTile::Chunk& chunk = tile.chunks[tile.Index(rows[l].row, k, &piece)];
    SharedTile::Element e = {chunk.value, chunk.offset + piece * static_cast<uint32_t>(bits / 8), 0, 0};
    if (chunk.value == nullptr) e = tile.elements[chunk.offset + piece];
    if (e.value == nullptr) {
      elements[l].node = nodes_.Undef();
    } else if (e.offset == 0 && e.value_bytes * 8 == static_cast<uint32_t>(bits)) {
      elements[l] = e.value->Get();
    } else {
      const Scalar whole = e.value->Get();
      if (!builder_.Build(Fn::kExtract, e.offset * 8, bits, &whole, 1, &elements[l])) return OutOfAnchors();
    }
    if (!Guarded(e.guard, bits, &elements[l])) return false;
  }
  *out = ops_.Pack(elements);
  return true;
}

// The rows' vectors of one group of products each.
bool Machine::TileVectors(const std::vector<TileRow>& rows, const WgmmaForm& form, std::vector<Lanes>* steps) {
  const int group = form.arithmetic.group, bits = form.arithmetic.bits;
  const SharedTile& tile = *rows[0].tile;  // all have its form
  std::vector<Lanes> elements(group);
  std::vector<const Lanes*> refs;
  for (const Lanes& e : elements) refs.push_back(&e);
  steps->resize(form.steps);
  Lanes last;
  bool in_memory = false;  // `last` is a MemoryColumn
  const bool by_chunk = std::all_of(rows.begin(), rows.end(), [](const TileRow& r) { return r.tile->elements.empty() || r.tile->memory == nullptr; });
  for (int s = 0; s < form.steps; ++s) {
    for (int i = 0; i < group; ++i) {
      const int k = s * group + i;
      if (in_memory && by_chunk && !tile.layout.transposed && k % tile.run != 0) {
        last.anchors[0].constant += tile.layout.bytes;
      } else {
        in_memory = MemoryColumn(rows, k, tile.layout.bytes, in_memory ? last.anchors[0].array : 0, &last);
        if (!in_memory && !TileColumn(rows, k, bits, &last)) return false;
      }
      elements[i] = last;
    }
    if (!ops_.Apply(Fn::kVector, static_cast<uint64_t>(bits), 0, refs, &(*steps)[s])) return OutOfAnchors();
  }
  return true;
}

// What the vectors of `tiles`, of operand A or B, depend on; the chunks' offsets go to tile_offsets_. False if the tiles
// are not memory of one buffer.
bool Machine::TileForm(const std::vector<const SharedTile*>& tiles, bool rows, const WgmmaForm& form, TileMemo::Form* out) {
  const StoredScalar* memory = nullptr;
  uint32_t by_element = 0;
  tile_offsets_.clear();
  for (const SharedTile* t : tiles) {
    by_element = by_element << 1 | (t->elements.empty() ? 0 : 1);
    if (t->memory == nullptr || !ContinuesMemory(*t->memory, &memory)) return false;
    tile_offsets_.insert(tile_offsets_.end(), t->offsets.begin(), t->offsets.end());
  }
  *out = {rows, rows ? form.transpose_a : form.transpose_b, form.n, form.k, form.arithmetic.bits, form.arithmetic.group, 0,
          by_element, memory->node(), memory->anchor(0).symbolic};
  for (const int g : form.active) out->active |= 1u << g;
  return true;
}

// Operand A: the vectors of rows g (even) and g + 8 (odd) of each output lane, two a step.
bool Machine::WgmmaRowsFromRegisters(const Inst& in, const WgmmaForm& form, std::vector<Lanes>* rows) {
  const isa::Operand& operand = Op(in, 1);
  const int bits = form.arithmetic.bits, group = form.arithmetic.group, per = 32 / bits, lanes = space_.lanes();
  std::vector<Value> a;
  if (!GetMany(operand, 32, &a)) return false;
  for (uint32_t i = 0; i < operand.count; ++i) {
    const isa::Operand& e = Element(operand, static_cast<int>(i));
    if (e.kind == isa::OperandKind::kRegister && !Fenced(first_register_ + e.reg, form.active)) return Race(UnfencedText(e.reg));
  }
  if (static_cast<int>(a.size()) != 2 * form.k / (4 * per)) return Unmodelled(in);
  rows->resize(static_cast<size_t>(2) * form.steps);
  std::vector<uint16_t> source(lanes);
  std::vector<Lanes> elements(form.k);
  std::vector<const Lanes*> refs;
  for (int h = 0; h < 2; ++h) {
    for (int kk = 0; kk < form.k; ++kk) {
      const FragmentPlace p = PlaceOf(kk, per);
      Value piece;
      Lanes e;
      if (!Slice(a[2 * p.reg + h], p.part * bits, bits, &piece) || !ToLanes(piece, bits, &e)) return false;
      for (int l = 0; l < lanes; ++l) source[l] = static_cast<uint16_t>((l & ~3) | p.thread);
      elements[kk] = ops_.Permute(e, space_.InternPerm(source.data()));
    }
    for (int s = 0; s < form.steps; ++s) {
      refs.clear();
      for (int i = 0; i < group; ++i) refs.push_back(&elements[s * group + i]);
      if (!ops_.Apply(Fn::kVector, static_cast<uint64_t>(bits), 0, refs, &(*rows)[2 * s + h])) return OutOfAnchors();
    }
  }
  return true;
}

bool Machine::WgmmaRowsFromShared(const Inst& in, const WgmmaForm& form, std::vector<Lanes>* rows) {
  Value descriptor;
  if (!Descriptor(in, 1, &descriptor)) return false;
  const int lanes = space_.lanes();
  std::vector<SharedTile> tiles(shared_.matrix.size());
  for (const int g : form.active)
    if (!ReadTile(descriptor, form.transpose_a, form, g, kRowsOfA, &tiles[g])) return false;
  std::vector<const SharedTile*> read;
  for (const int g : form.active) read.push_back(&tiles[g]);
  TileMemo::Form known;
  const bool in_memory = TileForm(read, true, form, &known);
  if (in_memory && tile_memo_.Find(known, tile_offsets_, rows)) return true;
  const std::vector<int64_t> offsets = tile_offsets_;
  // Lane l stands for row l % 64 of warpgroup l / 64.
  std::vector<TileRow> at(lanes);
  for (int l = 0; l < lanes; ++l) {
    const size_t g = static_cast<size_t>(l / kRowsOfA);
    const bool has = g < tiles.size() && !tiles[g].chunks.empty();
    at[l] = {&tiles[has ? g : static_cast<size_t>(form.active[0])], l % kRowsOfA};
  }
  std::vector<Lanes> vectors;
  if (!TileVectors(at, form, &vectors)) return false;
  rows->resize(static_cast<size_t>(2) * form.steps);
  std::vector<uint16_t> source(lanes);
  for (int h = 0; h < 2; ++h) {
    for (int l = 0; l < lanes; ++l) {
      const int g = l / kWarpgroup, warp = l / 32 % 4;
      source[l] = static_cast<uint16_t>(std::min(lanes - 1, g * kRowsOfA + warp * 16 + (l & 31) / 4 + 8 * h));
    }
    const PermId perm = space_.InternPerm(source.data());
    for (int s = 0; s < form.steps; ++s) (*rows)[2 * s + h] = ops_.Permute(vectors[s], perm);
  }
  if (in_memory) tile_memo_.Add(known, offsets, *rows);
  return true;
}

PermId Machine::ColumnPerm(int base) {
  if (column_perms_.empty()) column_perms_.resize(space_.lanes());
  PermId& known = column_perms_[base];
  if (known == 0) {
    std::vector<uint16_t> source(space_.lanes());
    for (int l = 0; l < space_.lanes(); ++l) source[l] = static_cast<uint16_t>(base + 2 * (l & 3));
    known = 1 + space_.InternPerm(source.data());
  }
  return known - 1;
}

// Operand B: vectors of columns 8j + 2 (l % 4) + parity as lane l sees them, at (2j + parity) * steps + step.
bool Machine::WgmmaColumns(const Inst& in, const WgmmaForm& form, std::vector<Lanes>* columns) {
  Value descriptor;
  if (!Descriptor(in, 2, &descriptor)) return false;
  const int lanes = space_.lanes();
  std::vector<SharedTile> tiles(form.active.size());
  bool one = true;  // all warpgroups read the same
  for (size_t i = 0; i < form.active.size(); ++i) {
    if (!ReadTile(descriptor, form.transpose_b, form, form.active[i], form.n, &tiles[i])) return false;
    one &= tiles[i].layout == tiles[0].layout;
  }
  TileMemo::Form known;
  const bool in_memory = one && TileForm({&tiles[0]}, false, form, &known);
  if (in_memory && tile_memo_.Find(known, tile_offsets_, columns)) return true;
  const std::vector<int64_t> offsets = tile_offsets_;
  columns->resize(static_cast<size_t>(form.n / 4) * form.steps);
  std::vector<TileRow> at(lanes);
  std::vector<Lanes> vectors;
  for (size_t i = 0; i < tiles.size(); ++i) {
    if (i > 0 && tiles[i].layout == tiles[0].layout) continue;
    const int g = form.active[i];
    const MaskId mine = i == 0 ? kAllLanes : space_.MaskWhere([g](int l) { return l / kWarpgroup == g; });
    // As many columns at once as there are lanes.
    for (int chunk = 0; chunk * lanes < form.n; ++chunk) {
      for (int l = 0; l < lanes; ++l) at[l] = {&tiles[i], std::min(chunk * lanes + l, form.n - 1)};
      if (!TileVectors(at, form, &vectors)) return false;
      for (int j = chunk * lanes / 8; j < std::min((chunk + 1) * lanes, form.n) / 8; ++j) {
        for (int parity = 0; parity < 2; ++parity) {
          const PermId perm = ColumnPerm(8 * j - chunk * lanes + parity);
          for (int s = 0; s < form.steps; ++s) {
            Lanes seen = ops_.Permute(vectors[s], perm);
            Lanes& slot = (*columns)[static_cast<size_t>(2 * j + parity) * form.steps + s];
            Lanes mixed;
            if (!ops_.Blend(mine, seen, slot, &mixed)) return OutOfAnchors();
            slot = std::move(mixed);
          }
        }
      }
    }
  }
  if (in_memory) tile_memo_.Add(known, offsets, *columns);
  return true;
}

bool Machine::WgmmaAccumulate(const Inst& in, const WgmmaForm& form, const std::vector<Lanes>& rows,
                              const std::vector<Lanes>& columns) {
  const size_t groups = shared_.matrix.size();
  const isa::Operand& d = Op(in, 0);
  const bool half_acc = form.arithmetic.half_acc;
  const int registers = half_acc ? form.n / 4 : form.n / 2, elements = half_acc ? 2 : 1, width = half_acc ? 16 : 32;
  if (d.kind != isa::OperandKind::kVector || static_cast<int>(d.count) != registers) return Unmodelled(in);
  matrix_in_use_ = true;
  for (const int g : form.active) shared_.matrix[g].uncommitted = true;
  for (int r = 0; r < registers; ++r) {
    const isa::Operand& reg = Element(d, r);
    if (reg.kind != isa::OperandKind::kRegister) return Unmodelled(in);
    const size_t slot = (first_register_ + reg.reg) * groups;
    // An accumulator in flight may be continued by the next matrix instruction.
    for (const int g : form.active) in_flight_[slot + g] = 0;
    if (!Fenced(first_register_ + reg.reg, form.active)) return Race(UnfencedText(reg.reg));
    Value old;
    if (form.accumulate && !GetRegister(reg.reg, &old)) return false;
    std::vector<Value> parts;
    for (int e = 0; e < elements; ++e) {
      const int i = r * elements + e;
      const int half = i / 2 % 2, column = i / 4 * 2 + i % 2;
      Lanes acc = ops_.Const(0, width);
      if (form.accumulate) {
        Value part;
        if (!Slice(old, e * width, width, &part) || !ToLanes(part, width, &acc)) return false;
      }
      for (int s = 0; s < form.steps; ++s) {
        Lanes next;
        if (!MatrixStep(form.arithmetic.word, acc, rows[2 * s + half],
                        columns[static_cast<size_t>(column) * form.steps + s], &next))
          return false;
        acc = std::move(next);
      }
      parts.push_back(Value::Bits(std::move(acc), width));
    }
    Value result;
    if (!Concat(parts, &result) || !SetRegister(reg.reg, std::move(result))) return false;
    for (const int g : form.active) {
      in_flight_[slot + g] = shared_.matrix[g].issued;
      unfenced_[slot + g] = 0;
    }
  }
  return true;
}

// scale-d, imm-scale-a, imm-scale-b, then the transposes where the type has them.
bool Machine::WgmmaScales(const Inst& in, WgmmaForm* form) {
  const bool integer = form->arithmetic.integer;
  if (in.operand_count > 3) {
    Value scale;
    if (!Get(Op(in, 3), 1, false, &scale)) return false;
    MaskId known;
    Lanes condition;
    bool is_known;
    if (!AsPredicate(scale, &known, &condition, &is_known)) return false;
    if (!is_known) return Unknown("GUARDED_ON_DATA", "matrix scale depends on loaded data");
    const MaskId on = space_.And(known, exec_);
    if (on != exec_ && on != kNoLanes) return Unknown("DIVERGED_MATRIX", "matrix scale differs between lanes");
    form->accumulate = on == exec_;
  }
  std::vector<int64_t> scalars;
  for (uint32_t i = 4; i < in.operand_count; ++i) {
    Value v;
    if (!Get(Op(in, static_cast<int>(i)), 32, false, &v)) return false;
    if (!v.is_uniform_const()) return Unmodelled(in);
    scalars.push_back(v.constant);
  }
  if (integer ? !scalars.empty() : scalars.size() < 2 || scalars[0] != 1 || scalars[1] != 1)
    return Unknown("MATRIX_SCALE", "negated matrix operand is not modelled");
  if (form->a_in_registers) {
    if (scalars.size() > 2) form->transpose_b = scalars[2] != 0;
  } else if (scalars.size() == 4) {
    form->transpose_a = scalars[2] != 0;
    form->transpose_b = scalars[3] != 0;
  } else if (scalars.size() != (integer ? 0u : 2u)) {
    return Unmodelled(in);
  }
  return true;
}

bool Machine::ExecWgmma(const Inst& in) {
  const int groups = static_cast<int>(shared_.matrix.size());
  WgmmaForm form;
  for (int g = 0; g < groups; ++g) {
    int n = 0;
    for (int l = g * kWarpgroup; l < std::min((g + 1) * kWarpgroup, space_.lanes()); ++l) n += space_.Test(exec_, l);
    if (n == 0) continue;
    if (n != kWarpgroup) return Unknown("DIVERGED_MATRIX", "warpgroup instruction in a diverged or partial warpgroup");
    form.active.push_back(g);
  }
  if (data_depth_ > 0 && !(in_ring_ && Lockstep()))
    return Unknown("STORE_ON_DATA", "warpgroup instruction under a data-dependent branch");
  switch (in.op) {
    case Op::kWgmmaFence:
      for (const int g : form.active) ++matrix_fences_[g];
      return CheckMods(in, {Mod::kSync, Mod::kAligned});
    case Op::kWgmmaCommitGroup:
      if (!CheckMods(in, {Mod::kSync, Mod::kAligned})) return false;
      for (const int g : form.active) {
        ++shared_.matrix[g].issued;
        shared_.matrix[g].uncommitted = false;
      }
      return true;
    case Op::kWgmmaWaitGroup: {
      if (!CheckMods(in, {Mod::kSync, Mod::kAligned})) return false;
      Value n;
      if (!Get(Op(in, 0), 32, false, &n)) return false;
      if (!n.is_uniform_const()) return Unmodelled(in);
      for (const int g : form.active) {
        AsyncGroups& m = shared_.matrix[g];
        const int64_t up_to = static_cast<int64_t>(m.issued) - 1 - n.constant;
        if (up_to > 0) m.CompleteUpTo(static_cast<uint32_t>(up_to), shared_.Now(g * kWarpgroup));
        if (shared_.owing() && n.constant == 0 && !m.uncommitted) shared_.PaidMatrix(static_cast<size_t>(g));
      }
      return true;
    }
    default: break;
  }
  if (!CheckMods(in, {Mod::kSync, Mod::kAligned, Mod::kSatfinite})) return false;
  if (in.m != 64 || in.type_count != 3) return Unmodelled(in);
  if (!FindArithmetic(in, true, &form.arithmetic)) return false;
  form.n = in.n;
  form.k = in.k;
  form.steps = in.k / form.arithmetic.group;
  form.a_in_registers = Op(in, 1).kind == isa::OperandKind::kVector;
  std::vector<Lanes> rows, columns;
  if (!WgmmaScales(in, &form)) return false;
  if (!(form.a_in_registers ? WgmmaRowsFromRegisters(in, form, &rows) : WgmmaRowsFromShared(in, form, &rows))) return false;
  if (!WgmmaColumns(in, form, &columns) || !WgmmaAccumulate(in, form, rows, columns)) return false;
  if (!form.a_in_registers) return true;
  const isa::Operand& a = Op(in, 1);
  for (uint32_t i = 0; i < a.count; ++i)
    if (Element(a, static_cast<int>(i)).kind == isa::OperandKind::kRegister)
      for (const int g : form.active)
        matrix_sources_[(first_register_ + Element(a, static_cast<int>(i)).reg) * static_cast<size_t>(groups) + g] =
            shared_.matrix[g].issued;
  return true;
}

}  // namespace samebits::symexec
