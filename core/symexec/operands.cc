// Registers, operands, and the change between integers and data.

#include <algorithm>
#include <bit>

#include "core/symexec/machine.h"

namespace samebits::symexec {

using expr::Fn;
using expr::Scalar;
using isa::OperandKind;
using isa::Special;

// Some lane's warpgroup has a matrix instruction under way that `last` names for register r.
bool Machine::InFlight(const std::vector<uint32_t>& last, uint32_t r, MaskId lanes) const {
  const size_t groups = shared_.matrix.size();
  for (size_t g = 0; g < groups; ++g) {
    if (last[r * groups + g] <= shared_.matrix[g].completed) continue;
    for (int l = static_cast<int>(g) * 128; l < std::min(static_cast<int>(g + 1) * 128, space_.lanes()); ++l)
      if (space_.Test(lanes, l)) return true;
  }
  return false;
}

// Each of the warpgroups has passed a wgmma.fence since another kind of instruction wrote register r.
bool Machine::Fenced(uint32_t r, const std::vector<int>& groups) const {
  for (const int g : groups)
    if (unfenced_[r * shared_.matrix.size() + static_cast<size_t>(g)] > matrix_fences_[g]) return false;
  return true;
}

bool Machine::GetRegister(uint32_t reg, Value* out) {
  if (reg >= function_->registers.size()) return Unknown("OPERAND", "operand is missing or no register");
  const uint32_t r = first_register_ + reg;
  const Value& v = registers_[r];
  if (first_use_ != nullptr && r < first_use_->size() && (*first_use_)[r] == 0) (*first_use_)[r] = 1;
  const int width = RegisterWidth(reg);
  if (matrix_in_use_ && InFlight(in_flight_, r, exec_))
    return Race("register " + std::string(function_->registers[reg].name) +
                " read before the asynchronous matrix instruction that writes it was waited for");
  if (v.kind == Value::Kind::kUndef) {
    Lanes undef;
    undef.nodes = nodes_.Undef();
    *out = Value::Bits(undef, width);
    return true;
  }
  const MaskId missing = space_.AndNot(exec_, defined_[r]);
  if (missing == kNoLanes) {
    *out = v;
    return true;
  }
  // Some executing lanes never wrote it: those hold nothing known.
  Lanes undef, data;
  undef.nodes = nodes_.Undef();
  if (v.buffer != 0) return Unknown("UNDEFINED_ADDRESS", "address register not written in every lane that uses it");
  if (!ToLanes(v, width, &data)) return false;
  Lanes mixed;
  if (!ops_.Blend(defined_[r], data, undef, &mixed)) return OutOfAnchors();
  *out = Value::Bits(mixed, width);
  return true;
}

bool Machine::SymbolAddress(uint32_t symbol, int64_t offset, int width, Value* out) {
  const isa::Symbol& s = module_.symbols[symbol];
  if (s.kind == isa::Symbol::Kind::kFunction) return Unknown("FUNCTION_ADDRESS", "address of a function taken");
  switch (s.space) {
    case isa::StateSpace::kShared:
      *out = Value::Int(shared_base_[symbol] + offset, width);
      return true;
    case isa::StateSpace::kLocal:
      *out = Value::Int(local_base_[symbol] + offset, width);
      return true;
    default:
      return Unknown("MODULE_VARIABLE", "address of module variable '" + std::string(s.name) + "' is not modelled");
  }
}

bool Machine::SpecialRegister(Special special, int width, Value* out) {
  auto lanes = [&](auto f) {
    std::vector<int64_t> v(space_.lanes());
    for (int l = 0; l < space_.lanes(); ++l) v[l] = f(l);
    const auto o = space_.InternArray(v.data());
    *out = Value::Int(o.constant, width);
    out->array = o.id;
    return true;
  };
  auto per_block = [&](auto f) {
    std::vector<int64_t> table(blocks_.size());
    for (size_t i = 0; i < blocks_.size(); ++i) table[i] = f(blocks_[i]);
    const auto sum = symbolic_.FromTable(std::move(table));
    *out = Value::Int(sum.constant, width);
    out->symbolic = sum.id;
    return true;
  };
  const uint32_t bx = launch_.block[0], by = launch_.block[1];
  const uint32_t gx = launch_.grid[0], gy = launch_.grid[1];
  auto open_index = [&](uint32_t dimension) {
    Assume("block indices are below 65536");
    const uint32_t residues = launch_.grid[dimension];
    WordHasher h(301);
    h.Add(dimension);
    h.Add(residues);
    Atom atom;
    atom.key = h.Finish();
    atom.lo = 0;
    atom.hi = 65535 / residues;
    atom.dimensions = 1u << dimension;
    const auto index = symbolic_.FromAtom(dimension + 1, std::move(atom));
    const auto scaled = symbolic_.Scale(index.id, residues);
    std::vector<int64_t> table(blocks_.size());
    for (size_t i = 0; i < blocks_.size(); ++i)
      table[i] = dimension == 0 ? blocks_[i] % gx : dimension == 1 ? blocks_[i] / gx % gy : blocks_[i] / gx / gy;
    const auto residue = symbolic_.FromTable(std::move(table));
    const auto sum = symbolic_.Add(scaled.id, residue.id);
    *out = Value::Int(residue.constant + sum.constant, width);
    out->symbolic = sum.id;
    return true;
  };
  auto open_grid = [&] { return Unknown("GRID_UNKNOWN", "the grid's size is read, and the launch does not give it"); };
  switch (special) {
    case Special::kTidX: return lanes([&](int l) { return l % bx; });
    case Special::kTidY: return lanes([&](int l) { return l / bx % by; });
    case Special::kTidZ: return lanes([&](int l) { return l / bx / by; });
    case Special::kNtidX: *out = Value::Int(launch_.block[0], width); return true;
    case Special::kNtidY: *out = Value::Int(launch_.block[1], width); return true;
    case Special::kNtidZ: *out = Value::Int(launch_.block[2], width); return true;
    case Special::kCtaidX: return launch_.grid_known ? per_block([&](uint32_t b) { return b % gx; }) : open_index(0);
    case Special::kCtaidY: return launch_.grid_known ? per_block([&](uint32_t b) { return b / gx % gy; }) : open_index(1);
    case Special::kCtaidZ: return launch_.grid_known ? per_block([&](uint32_t b) { return b / gx / gy; }) : open_index(2);
    case Special::kNctaidX: if (!launch_.grid_known) return open_grid(); *out = Value::Int(gx, width); return true;
    case Special::kNctaidY: if (!launch_.grid_known) return open_grid(); *out = Value::Int(gy, width); return true;
    case Special::kNctaidZ:
      if (!launch_.grid_known) return open_grid();
      *out = Value::Int(launch_.grid[2], width);
      return true;
    case Special::kLaneid: return lanes([](int l) { return l % 32; });
    case Special::kWarpid: return lanes([](int l) { return l / 32; });
    case Special::kNwarpid: *out = Value::Int((space_.lanes() + 31) / 32, width); return true;
    case Special::kLanemaskEq: return lanes([](int l) { return int64_t{1} << (l % 32); });
    case Special::kLanemaskLt: return lanes([](int l) { return (int64_t{1} << (l % 32)) - 1; });
    case Special::kLanemaskLe: return lanes([](int l) { return (int64_t{2} << (l % 32)) - 1; });
    case Special::kLanemaskGt: return lanes([](int l) { return 0xffffffff & ~((int64_t{2} << (l % 32)) - 1); });
    case Special::kLanemaskGe: return lanes([](int l) { return 0xffffffff & ~((int64_t{1} << (l % 32)) - 1); });
    case Special::kDynamicSmemSize: *out = Value::Int(launch_.dynamic_shared, width); return true;
    case Special::kClock: case Special::kClockHi: case Special::kClock64: case Special::kGlobaltimer:
    case Special::kGlobaltimerLo: case Special::kGlobaltimerHi: case Special::kSmid: case Special::kNsmid:
    case Special::kGridid:
      return Unknown("MACHINE_STATE", "reads a clock or the place of execution");
    default:
      return Unknown("SPECIAL_REGISTER", "special register is not modelled");
  }
}

bool Machine::Get(const Operand& op, int width, bool, Value* out) {
  switch (op.kind) {
    case OperandKind::kRegister: {
      if (!GetRegister(op.reg, out)) return false;
      if (op.negated) {
        MaskId known;
        Lanes condition;
        bool is_known;
        if (!AsPredicate(*out, &known, &condition, &is_known)) return false;
        if (is_known) {
          *out = Value::Predicate(space_.AndNot(kAllLanes, known));
          return true;
        }
        Lanes inverse;
        const Lanes* operand = &condition;
        if (!ops_.Apply(Fn::kNot, 0, 1, {&operand, 1}, &inverse)) return OutOfAnchors();
        *out = Value::Bits(inverse, 1);
      }
      return true;
    }
    case OperandKind::kImmediate: {
      if (width == 1) {
        *out = Value::Predicate(op.imm != 0 ? kAllLanes : kNoLanes);
        return true;
      }
      if (op.is_float) {
        if (op.float_bits == width) {
          *out = Value::Int(op.imm, width);
          return true;
        }
        if (op.float_bits == 64 && width == 32) {
          *out = Value::Int(std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(op.imm))), 32);
          return true;
        }
        if (op.float_bits == 32 && width == 64) {
          *out = Value::Int(std::bit_cast<int64_t>(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(op.imm)))), 64);
          return true;
        }
        return Unknown("LITERAL", "floating-point literal of another width");
      }
      *out = Value::Int(op.imm, width);
      return true;
    }
    case OperandKind::kSpecial: return SpecialRegister(op.special, width, out);
    case OperandKind::kSymbol: return SymbolAddress(op.symbol, op.imm, width, out);
    case OperandKind::kVector: {
      std::vector<Value> parts;
      if (!GetMany(op, width / std::max<int>(1, static_cast<int>(op.count)), &parts)) return false;
      return Concat(parts, out);
    }
    default:
      return Unknown("OPERAND", "operand form is not modelled");
  }
}

bool Machine::GetMany(const Operand& op, int width, std::vector<Value>* out) {
  out->clear();
  const int n = op.kind == OperandKind::kVector ? static_cast<int>(op.count) : 1;
  for (int i = 0; i < n; ++i) {
    out->emplace_back();
    if (!Get(op.kind == OperandKind::kVector ? Element(op, i) : op, width, false, &out->back())) return false;
  }
  return true;
}

bool Machine::SetMany(const Operand& op, std::vector<Value> values) {
  if (op.kind != OperandKind::kVector) return values.size() == 1 ? Set(op, std::move(values[0])) : Unknown("OPERAND", "operand count");
  if (op.count != values.size()) return Unknown("OPERAND", "vector operand of another length");
  for (uint32_t i = 0; i < op.count; ++i)
    if (!Set(Element(op, static_cast<int>(i)), std::move(values[i]))) return false;
  return true;
}

bool Machine::Set(const Operand& op, Value value) {
  if (op.kind == OperandKind::kSink) return true;
  if (op.kind == OperandKind::kVector) {
    // A wide result into parts: mov.b64 {a, b}, x.
    int at = 0;
    for (uint32_t i = 0; i < op.count; ++i) {
      const Operand& e = Element(op, static_cast<int>(i));
      const int width = value.width / static_cast<int>(op.count);
      if (e.kind != OperandKind::kSink) {
        Value part;
        if (!Slice(value, at, width, &part) || !Set(e, std::move(part))) return false;
      }
      at += width;
    }
    return true;
  }
  if (op.kind != OperandKind::kRegister) return Unknown("OPERAND", "destination form is not modelled");
  return SetRegister(op.reg, std::move(value));
}

bool Machine::SetRegister(uint32_t reg, Value value) {
  if (reg >= function_->registers.size()) return Unknown("OPERAND", "destination is missing or no register");
  const uint32_t r = first_register_ + reg;
  if (matrix_in_use_) {
    if (InFlight(matrix_sources_, r, exec_))
      return Race("register " + std::string(function_->registers[reg].name) +
                  " overwritten while an asynchronous matrix instruction may read it");
    if (InFlight(in_flight_, r, exec_))
      return Race("register " + std::string(function_->registers[reg].name) +
                  " overwritten while an asynchronous matrix instruction may write it");
  }
  if (has_wgmma_) {
    const size_t groups = shared_.matrix.size();
    const uint64_t* words = space_.mask(exec_);
    for (size_t g = 0; g < groups; ++g) {
      const uint64_t upper = 2 * g + 1 < static_cast<size_t>(space_.mask_words()) ? words[2 * g + 1] : 0;
      if ((words[2 * g] | upper) != 0) unfenced_[r * groups + g] = 1 + matrix_fences_[g];
    }
  }
  if (first_use_ != nullptr && r < first_use_->size() && (*first_use_)[r] == 0) (*first_use_)[r] = exec_ == kAllLanes ? 2 : 1;
  const int width = RegisterWidth(reg);
  if (value.kind == Value::Kind::kBits && value.width < width) {
    // A narrower result in a wider register (ld.b16 into .b32): zero-extended.
    if (value.buffer != 0) return Unknown("OPERAND", "address in a wider register");
    absl::InlinedVector<Piece, 4> pieces(value.pieces.begin(), value.pieces.end());
    pieces.push_back({ops_.Const(0, width - value.width), static_cast<uint8_t>(width - value.width)});
    FromPieces(std::move(pieces), width, &value);
  }
  if (value.kind != Value::Kind::kPredicate && value.width > width) {
    Value narrow;
    if (!Slice(value, 0, width, &narrow)) return false;
    value = std::move(narrow);
  }
  value.width = static_cast<uint8_t>(width);
  Value& old = registers_[r];
  if (log_ != nullptr) log_->push_back({r, old, defined_[r]});
  if (exec_ == kAllLanes || old.kind == Value::Kind::kUndef) {
    old = std::move(value);
    defined_[r] = exec_;
    return true;
  }
  // Lanes outside exec keep their value; lanes never written hold whatever is convenient, and `defined_` says so.
  if (space_.AndNot(defined_[r], exec_) == kNoLanes) {
    old = std::move(value);
    defined_[r] = exec_;
    return true;
  }
  Value blended;
  if (!Blend(exec_, value, old, &blended)) return false;
  old = std::move(blended);
  defined_[r] = space_.Or(defined_[r], exec_);
  return true;
}

// mask(l) ? a : b.
bool Machine::Blend(MaskId mask, const Value& a, const Value& b, Value* out) {
  if (a.is_predicate() && b.is_predicate()) {
    *out = Value::Predicate(space_.Or(space_.And(a.mask, mask), space_.AndNot(b.mask, mask)));
    return true;
  }
  if (a.is_int() && b.is_int() && a.buffer == b.buffer && a.symbolic == b.symbolic && a.mask == 0 && b.mask == 0) {
    const auto o = space_.Blend(mask, a.array, a.constant, b.array, b.constant);
    *out = a;
    out->array = o.id;
    out->constant = o.constant;
    return true;
  }
  if (a.buffer != 0 || b.buffer != 0) {
    if (a.is_int() && b.is_int()) {
      // Different bases or symbolic parts: lanes outside `mask` that never use it may hold anything.
      return Unknown("MIXED_ADDRESS", "register holds addresses with different bases in different lanes");
    }
    return Unknown("MIXED_ADDRESS", "register holds an address in some lanes and data in others");
  }
  const int width = std::max(a.width, b.width);
  absl::InlinedVector<Piece, 4> pa, pb;
  if (!ToPieces(a, width, &pa) || !ToPieces(b, width, &pb)) return false;
  for (const auto* pieces : {&pa, &pb}) {
    int bits = 0;
    for (const Piece& p : *pieces) bits += p.bits;
    if (bits < width) return Unknown("WIDTH", "a register holds values of different widths in different lanes");
  }
  // Cut both alike.
  absl::InlinedVector<Piece, 4> merged;
  int at = 0;
  size_t i = 0, j = 0;
  int used_a = 0, used_b = 0;
  Value va, vb;
  FromPieces(pa, width, &va);
  FromPieces(pb, width, &vb);
  while (at < width) {
    const int step = std::min<int>(pa[i].bits - used_a, pb[j].bits - used_b);
    Value sa, sb;
    if (!Slice(va, at, step, &sa) || !Slice(vb, at, step, &sb)) return false;
    Lanes la, lb, mixed;
    if (!ToLanes(sa, step, &la) || !ToLanes(sb, step, &lb)) return false;
    if (!ops_.Blend(mask, la, lb, &mixed)) return OutOfAnchors();
    merged.push_back({std::move(mixed), static_cast<uint8_t>(step)});
    at += step;
    if ((used_a += step) == pa[i].bits) ++i, used_a = 0;
    if ((used_b += step) == pb[j].bits) ++j, used_b = 0;
  }
  FromPieces(std::move(merged), width, out);
  return true;
}

// Data of one piece per lane. Integers become constants where they come from few literals, else `int` leaves.
bool Machine::ToLanes(const Value& v, int width, Lanes* out) {
  switch (v.kind) {
    case Value::Kind::kUndef:
      out->nodes = nodes_.Undef();
      out->anchors.clear();
      return true;
    case Value::Kind::kPredicate: {
      std::vector<uint64_t> values(space_.lanes());
      for (int l = 0; l < space_.lanes(); ++l) values[l] = space_.Test(v.mask, l);
      *out = ops_.ConstPerLane(values, 1);
      return true;
    }
    case Value::Kind::kInt: {
      if (v.buffer != 0) return Unknown("ADDRESS_AS_DATA", "an address is used as data");
      if (v.mask != 0) return Unknown("ADDRESS_AS_DATA", "a guarded offset is used as data");
      if (v.array == 0 && v.symbolic == 0) {
        *out = ops_.Const(static_cast<uint64_t>(v.constant), width);
        return true;
      }
      if (v.symbolic == 0) {
        const int64_t* array = space_.array(v.array);
        int64_t seen[4];
        int count = 0;
        bool few = true;
        std::vector<uint64_t> values(space_.lanes());
        for (int l = 0; l < space_.lanes(); ++l) {
          values[l] = static_cast<uint64_t>(array[l] + v.constant);
          int i = 0;
          while (few && i < count && seen[i] != array[l]) ++i;
          if (few && i == count) {
            if (count == 4) few = false;
            else seen[count++] = array[l];
          }
        }
        if (few) {
          *out = ops_.ConstPerLane(values, width);
          return true;
        }
      }
      Value actual = v;
      if (!Actual(&actual, width, true)) return false;
      out->nodes = nodes_.Int(width);
      out->anchors.clear();
      out->anchors.push_back(AnchorOf(actual));
      return true;
    }
    case Value::Kind::kBits: break;
  }
  if (v.buffer != 0) return Unknown("ADDRESS_AS_DATA", "an address is used as data");
  if (v.pieces.size() == 1) {
    if (v.pieces[0].bits == width) {
      *out = v.pieces[0].lanes;
      return true;
    }
    const Lanes* operand = &v.pieces[0].lanes;
    if (v.pieces[0].bits < width) return Unknown("WIDTH", "value narrower than its use");
    if (!ops_.Apply(Fn::kExtract, 0, width, {&operand, 1}, out)) return OutOfAnchors();
    return true;
  }
  std::vector<const Lanes*> operands;
  uint64_t attr = 0;
  int bits = 0;
  for (const Piece& p : v.pieces) {
    if (operands.size() == 8) return Unknown("WIDTH", "value cut into too many pieces");
    attr |= static_cast<uint64_t>(p.bits) << (8 * operands.size());
    operands.push_back(&p.lanes);
    bits += p.bits;
  }
  if (bits != width) {
    Value cut;
    if (bits < width) return Unknown("WIDTH", "value narrower than its use");
    return Slice(v, 0, width, &cut) && ToLanes(cut, width, out);
  }
  if (!ops_.Apply(Fn::kConcat, attr, width, operands, out)) return OutOfAnchors();
  return true;
}

bool Machine::ToPieces(const Value& v, int width, absl::InlinedVector<Piece, 4>* out) {
  out->clear();
  if (v.is_bits() && v.buffer == 0) {
    out->assign(v.pieces.begin(), v.pieces.end());
    return true;
  }
  Lanes lanes;
  if (!ToLanes(v, width, &lanes)) return false;
  out->push_back({std::move(lanes), static_cast<uint8_t>(width)});
  return true;
}

bool Machine::FromWord(Lanes word, int width, Value* out) {
  constexpr uint64_t kTwoHalves = 16 | 16 << 8;
  const auto is_halves = [this](expr::NodeId id) {
    return nodes_[id].fn == Fn::kConcat && nodes_[id].children == 2 && nodes_[id].attr == kTwoHalves;
  };
  bool apart = false;
  if (width == 32) {
    const uint32_t* ids = word.uniform() ? &word.nodes : space_.nodes(word.nodes & ~kMixed);
    apart = std::any_of(ids, ids + (word.uniform() ? 1 : space_.lanes()), is_halves);
  }
  if (!apart) {
    *out = Value::Bits(std::move(word), width);
    return true;
  }
  absl::InlinedVector<Piece, 4> pieces(2);
  const Lanes* operand = &word;
  for (int i = 0; i < 2; ++i) {
    pieces[i].bits = 16;
    if (!ops_.Apply(Fn::kExtract, static_cast<uint64_t>(16 * i), 16, {&operand, 1}, &pieces[i].lanes)) return OutOfAnchors();
  }
  FromPieces(std::move(pieces), width, out);
  return true;
}

void Machine::FromPieces(absl::InlinedVector<Piece, 4> pieces, int width, Value* out) {
  Value v;
  v.kind = Value::Kind::kBits;
  v.width = static_cast<uint8_t>(width);
  for (Piece& p : pieces) v.pieces.push_back(std::move(p));
  *out = std::move(v);
}

bool Machine::Slice(const Value& v, int offset, int width, Value* out) {
  if (v.is_int()) {
    if (v.buffer != 0) {
      if (offset == 0 && width == v.width) {
        *out = v;
        return true;
      }
      return Unknown("ADDRESS_AS_DATA", "part of an address is used as data");
    }
    if (offset == 0) {
      if (!launch_.grid_known && symbolic_.HasTerms(v.symbolic) && width < v.width) {
        const Interval r = RangeOf(v);
        const __int128 bound = static_cast<__int128>(1) << width;
        if (r.lo < -bound / 2 || r.hi >= bound)
          return Unknown("OPEN_SIZE", "an integer that depends on open sizes is cut to fewer bits");
      }
      *out = v;
      out->width = static_cast<uint8_t>(width);
      return true;
    }
    Value shifted;
    Value amount = Value::Int(offset, 32);
    Value source = v;
    if (!Actual(&source, v.width, true)) return false;
    if (!IntShift(Fn::kSar, source, amount, v.width, &shifted)) return false;
    shifted.width = static_cast<uint8_t>(width);
    *out = std::move(shifted);
    return true;
  }
  absl::InlinedVector<Piece, 4> pieces, kept;
  if (!ToPieces(v, v.width, &pieces)) return false;
  int at = 0;
  for (Piece& p : pieces) {
    const int lo = std::max(offset, at), hi = std::min(offset + width, at + p.bits);
    if (lo < hi) {
      if (lo == at && hi == at + p.bits) {
        kept.push_back(std::move(p));
      } else {
        Piece part;
        part.bits = static_cast<uint8_t>(hi - lo);
        const Lanes* operand = &p.lanes;
        if (!ops_.Apply(Fn::kExtract, static_cast<uint64_t>(lo - at), hi - lo, {&operand, 1}, &part.lanes))
          return OutOfAnchors();
        kept.push_back(std::move(part));
      }
    }
    at += p.bits;
  }
  if (at < offset + width) {
    const int missing = offset + width - std::max(at, offset);
    kept.push_back({ops_.Const(0, missing), static_cast<uint8_t>(missing)});
  }
  FromPieces(std::move(kept), width, out);
  return true;
}

bool Machine::Concat(const std::vector<Value>& parts, Value* out) {
  bool ints = true;
  int width = 0;
  for (const Value& p : parts) {
    ints &= p.is_uniform_const();
    width += p.width;
  }
  if (ints && width <= 64) {
    uint64_t word = 0;
    int at = 0;
    for (const Value& p : parts) {
      const uint64_t mask = p.width == 64 ? ~uint64_t{0} : (uint64_t{1} << p.width) - 1;
      word |= (static_cast<uint64_t>(p.constant) & mask) << at;
      at += p.width;
    }
    *out = Value::Int(static_cast<int64_t>(word), width);
    return true;
  }
  // Integers put together by hand stay an integer.
  bool integers = width <= 64;
  for (const Value& p : parts) integers = integers && p.is_int() && p.buffer == 0 && !symbolic_.HasTerms(p.symbolic);
  if (integers) {
    Value sum = Value::Int(0, width);
    int at = 0;
    for (const Value& p : parts) {
      Value part = p, placed, next;
      if (!WidenInt(&part, p.width, false, width) ||
          !IntMul(part, Value::Int(static_cast<int64_t>(uint64_t{1} << at), width), width, &placed) ||
          !IntAdd(sum, placed, width, &next))
        return false;
      sum = std::move(next);
      at += p.width;
    }
    *out = std::move(sum);
    return true;
  }
  absl::InlinedVector<Piece, 4> pieces, own;
  for (const Value& p : parts) {
    if (!ToPieces(p, p.width, &own)) return false;
    for (Piece& piece : own) pieces.push_back(std::move(piece));
  }
  FromPieces(std::move(pieces), width, out);
  return true;
}

// Data that turns out constant in all lanes counts as an integer.
bool Machine::AsInt(Value* v) {
  if (v->is_int()) return true;
  if (!v->is_bits() || v->buffer != 0) return false;
  uint64_t word = 0;
  int at = 0;
  for (const Piece& p : v->pieces) {
    uint64_t value;
    if (!ops_.ConstValue(p.lanes, &value)) return false;
    if (at < 64) word |= value << at;
    at += p.bits;
  }
  if (at > 64) return false;
  *v = Value::Int(static_cast<int64_t>(word), v->width);
  return true;
}

bool Machine::AsPredicate(const Value& v, MaskId* known, Lanes* condition, bool* is_known) {
  *is_known = true;
  if (v.is_predicate()) {
    *known = v.mask;
    return true;
  }
  if (v.is_int()) {
    if (!v.is_uniform_const()) return Unknown("PREDICATE", "predicate is not a truth value");
    *known = v.constant != 0 ? kAllLanes : kNoLanes;
    return true;
  }
  if (!ToLanes(v, 1, condition)) return false;
  // All lanes constant: known after all.
  bool constant = true;
  const MaskId truth = space_.MaskWhere([&](int l) {
    uint64_t value = 0;
    const expr::NodeId node = condition->uniform() ? condition->nodes : space_.nodes(condition->nodes & ~kMixed)[l];
    if (!nodes_.IsConst(node, &value)) constant &= !space_.Test(exec_, l);
    return (value & 1) != 0;
  });
  if (constant) {
    *known = truth;
    return true;
  }
  *is_known = false;
  return true;
}

}  // namespace samebits::symexec
