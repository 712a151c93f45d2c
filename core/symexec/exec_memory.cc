// Loads, stores, atomics and asynchronous copies (PTX ISA 9.7.9, 9.7.13).

#include <algorithm>
#include <bit>

#include "core/symexec/machine.h"

namespace samebits::symexec {

using expr::Anchor;
using expr::Fn;
using expr::Scalar;
using isa::OperandKind;
using isa::ScalarType;
using isa::StateSpace;
using isa::ptx::Mod;
using isa::ptx::Op;

StateSpace Machine::SpaceOf(const Inst& in) const {
  for (int i = 0; i < in.mod_count; ++i) {
    switch (in.mods[i]) {
      case Mod::kGlobal: return StateSpace::kGlobal;
      case Mod::kShared: case Mod::kSharedCta: return StateSpace::kShared;
      case Mod::kLocal: return StateSpace::kLocal;
      case Mod::kParam: case Mod::kParamEntry: case Mod::kParamFunc: return StateSpace::kParam;
      case Mod::kConst: return StateSpace::kConst;
      default: break;
    }
  }
  return StateSpace::kNone;
}

bool Machine::ResolveAddress(const Inst&, const Operand& op, StateSpace space, Address* out) {
  Value v;
  if (op.kind == OperandKind::kAddress && op.symbol != isa::kNone32) {
    if (!SymbolAddress(op.symbol, op.imm, 64, &v)) return false;
    const StateSpace own = module_.symbols[op.symbol].space;
    if (space != StateSpace::kNone && space != own) return Unknown("ADDRESS_SPACE", "symbol of another state space");
    out->space = own;
    out->value = std::move(v);
    return true;
  }
  if (op.kind == OperandKind::kAddress && op.reg != isa::kNone32) {
    if (!GetRegister(op.reg, &v)) return false;
    if (op.imm != 0) {
      Value sum;
      if (!IntAdd(v, Value::Int(op.imm, v.width), v.width, &sum)) return false;
      v = std::move(sum);
    }
  } else if (op.kind == OperandKind::kAddress) {
    v = Value::Int(op.imm, 64);
  } else {
    return Unknown("OPERAND", "address form is not modelled");
  }
  if (v.buffer == kSharedSpace || v.buffer == kLocalSpace) {
    const StateSpace own = v.buffer == kSharedSpace ? StateSpace::kShared : StateSpace::kLocal;
    if (space != StateSpace::kNone && space != own) return Unknown("ADDRESS_SPACE", "address of another state space");
    out->space = own;
    v.buffer = 0;
  } else if (v.buffer != 0) {
    if (space != StateSpace::kNone && space != StateSpace::kGlobal) return Unknown("ADDRESS_SPACE", "address of another state space");
    out->space = StateSpace::kGlobal;
    out->buffer = v.buffer;
  } else {
    if (space == StateSpace::kNone || space == StateSpace::kGlobal)
      return Unknown("ADDRESS_NOT_FROM_ARGUMENT", "address does not come from a pointer argument (was it given as a scalar?)");
    out->space = space;
  }
  out->value = std::move(v);
  return true;
}

// An access traps unless its address is a multiple of its size. Buffers are taken to be aligned to 16 bytes; open terms
// are taken to keep the alignment.
bool Machine::CheckAligned(const Address& a, uint32_t bytes, MaskId mask) {
  if (a.space != StateSpace::kGlobal || !a.value.is_int() || mask == kNoLanes) return true;
  const uint32_t unit = std::min(bytes, 16u);
  if (!std::has_single_bit(unit)) return Unknown("WIDTH", "access of a size that is no power of two");
  const int zeros = std::countr_zero(unit);
  const SymbolicSpace::Entry& entry = symbolic_[a.value.symbolic];
  const int64_t* array = space_.array(a.value.array);
  const bool lanes_aligned = space_.info(a.value.array).trailing_zeros >= zeros;
  const bool blocks_aligned = entry.trailing_zeros >= zeros;
  if (lanes_aligned && blocks_aligned && a.value.constant % unit == 0) return true;
  if (!entry.terms.empty()) return true;
  for (size_t b = 0; b < (blocks_aligned ? 1 : symbolic_.blocks()); ++b) {
    const int64_t base = a.value.constant + symbolic_.At(a.value.symbolic, b);
    for (int l = 0; l < space_.lanes(); ++l) {
      if (!space_.Test(mask, l) || static_cast<uint64_t>(base + array[l]) % unit == 0) continue;
      return Unknown("MISALIGNED_ACCESS", "access of " + std::to_string(bytes) + " bytes at byte " +
                                              std::to_string(base + array[l]) + " of a buffer is misaligned");
    }
  }
  return true;
}

// Concrete addresses of the executing lanes, checked against the size of the memory.
bool Machine::LaneAddresses(const Value& v, uint32_t bytes, uint32_t size, std::string_view what,
                            std::vector<int64_t>* out) {
  Value address = v;
  if (!AsInt(&address)) return Unknown("ADDRESS_ON_DATA", std::string(what) + " address depends on loaded data");
  if (address.symbolic != 0) {
    if (symbolic_.HasTerms(address.symbolic)) return Unknown("OPEN_SIZE", std::string(what) + " address depends on an open size");
    // Blocks differ: each goes its own way.
    std::vector<uint32_t> group(blocks_.size());
    std::map<int64_t, uint32_t> seen;
    for (size_t b = 0; b < blocks_.size(); ++b)
      group[b] = seen.try_emplace(symbolic_.At(address.symbolic, b), static_cast<uint32_t>(seen.size())).first->second;
    return Split(std::move(group));
  }
  out->resize(space_.lanes());
  const int64_t* array = space_.array(address.array);
  const int64_t below_alignment = std::bit_ceil(std::min(bytes, 16u)) - 1;
  for (int l = 0; l < space_.lanes(); ++l) {
    const int64_t a = static_cast<int64_t>(static_cast<uint32_t>(array[l] + address.constant));
    (*out)[l] = a;
    if (space_.Test(exec_, l) && (a + bytes > size || (a & below_alignment) != 0))
      return Unknown("ADDRESS_BOUNDS", std::string(what) + " access of " + std::to_string(bytes) + " bytes at " +
                                           std::to_string(a) + " is misaligned or outside its " + std::to_string(size) + " bytes");
  }
  return true;
}

// Zeros where a condition of the copy that wrote the value does not hold.
bool Machine::Guarded(uint32_t guard, int bits, Scalar* value) {
  for (const Scalar& condition : shared_.guard(guard)) {
    if (bits > 64) return Unknown("WIDTH", "part of a guarded copy is read in more than eight bytes");
    Scalar operands[3] = {condition, *value, {}};
    operands[2].node = nodes_.Const(0, bits);
    if (!builder_.Build(Fn::kSelect, 0, bits, operands, 3, value)) return OutOfAnchors();
  }
  return true;
}

// Whether an open comparison is decided by ranges: 1 true, -1 false, 0 neither.
int Machine::Decided(const Scalar& condition) const {
  const expr::Node& n = nodes_[condition.node];
  if (n.fn == Fn::kNot) return -Decided(nodes_.ChildScalar(condition, 0));
  const expr::Attr attr = expr::Attr::Decode(n.attr);
  if (n.fn != Fn::kICompare || attr.from != expr::Format::kB64 || (attr.flags & expr::Attr::kSigned) == 0) return 0;
  Interval range[2];
  for (int i = 0; i < 2; ++i) {
    const Scalar operand = nodes_.ChildScalar(condition, i);
    uint64_t constant = 0;
    Value v = Value::Int(0, 64);
    if (nodes_.IsConst(operand.node, &constant)) {
      v.constant = static_cast<int64_t>(constant);
    } else if (nodes_[operand.node].fn == Fn::kInt && nodes_[operand.node].width == 64) {
      v.constant = operand.anchor[0].offset;
      v.symbolic = operand.anchor[0].symbolic;
    } else {
      return 0;
    }
    range[i] = RangeOf(v);
  }
  const Interval &a = range[0], &b = range[1];
  switch (attr.compare) {
    case expr::Compare::kLt: return a.hi < b.lo ? 1 : a.lo >= b.hi ? -1 : 0;
    case expr::Compare::kLe: return a.hi <= b.lo ? 1 : a.lo > b.hi ? -1 : 0;
    case expr::Compare::kGt: return a.lo > b.hi ? 1 : a.hi <= b.lo ? -1 : 0;
    case expr::Compare::kGe: return a.lo >= b.hi ? 1 : a.hi < b.lo ? -1 : 0;
    default: return 0;
  }
}

// The conditions under which a copy's size, a select of `bytes` and 0, is `bytes`. False where it has another form.
bool Machine::SizeConditions(Scalar size, uint32_t bytes, std::vector<Scalar>* conditions, bool* full) {
  uint64_t value = 0;
  conditions->clear();
  for (int depth = 0; depth < 8; ++depth) {
    if (nodes_.IsConst(size.node, &value)) {
      *full = value == bytes;
      return value == bytes || value == 0;
    }
    if (nodes_[size.node].fn != Fn::kSelect) return false;
    Scalar condition = nodes_.ChildScalar(size, 0);
    const Scalar yes = nodes_.ChildScalar(size, 1), no = nodes_.ChildScalar(size, 2);
    const bool straight = nodes_.IsConst(no.node, &value) && value == 0;
    if (!straight) {
      if (!nodes_.IsConst(yes.node, &value) || value != 0) return false;
      const Scalar turned = condition;
      if (!builder_.Build(Fn::kNot, 0, 1, &turned, 1, &condition)) return false;
    }
    const int decided = Decided(condition);
    if (decided < 0) {
      *full = false;
      return true;
    }
    const auto same = [&](const Scalar& c) { return expr::Same(c, condition); };
    if (decided == 0 && std::none_of(conditions->begin(), conditions->end(), same)) conditions->push_back(condition);
    size = straight ? yes : no;
  }
  return false;
}

// A copy whose size open sizes decide lane by lane: all of it, or zeros.
bool Machine::CopyGuarded(const Value& size, const Address& from, const std::vector<int64_t>& addresses, uint32_t bytes) {
  Lanes sizes;
  Value data;
  if (!ToLanes(size, 32, &sizes) || !CheckAligned(from, bytes, exec_) || !GlobalLoad(from, 0, bytes, &data)) return false;
  result_.loads.back().async = true;
  const Lanes& loaded = data.pieces[0].lanes;
  std::vector<Scalar> conditions;
  Scalar zero;
  for (int l = 0; l < space_.lanes(); ++l) {
    if (!space_.Test(exec_, l)) continue;
    bool full = false;
    if (!SizeConditions(ops_.At(sizes, l), bytes, &conditions, &full))
      return Unknown("GUARDED_ON_DATA", "copy size depends on loaded data");
    SharedMemory::Race race = SharedMemory::Race::kNone;
    const uint32_t address = static_cast<uint32_t>(addresses[l]);
    if (full) {
      race = shared_.Write(l, address, bytes, ops_.At(loaded, l), shared_.copies[l].issued, shared_.AddGuard(conditions));
    } else {
      zero.node = nodes_.Const(0, 32);
      for (uint32_t at = 0; at < bytes && race == SharedMemory::Race::kNone; at += 4)
        race = shared_.Write(l, address + at, 4, zero, shared_.copies[l].issued);
    }
    if (race != SharedMemory::Race::kNone) return Conflict(race);
  }
  return true;
}

bool Machine::FragmentsToScalar(const std::vector<SharedMemory::Fragment>& fragments, uint32_t bytes, Scalar* out) {
  if (fragments.size() == 1) {
    const auto& f = fragments[0];
    if (f.value != nullptr && f.guard == 0 && nodes_[f.value->node()].fn == Fn::kLeaf) {
      *out = f.value->Get();
      out->anchor[0].offset += f.offset;
      return true;
    }
  }
  constexpr int kMax = 16;
  if (fragments.size() > kMax) return Unknown("WIDTH", "value read back in too many pieces");
  Scalar parts[kMax];
  uint64_t attr = 0;
  int n = 0;
  for (const auto& f : fragments) {
    if (f.value == nullptr) {
      parts[n].node = nodes_.Undef();
      parts[n].slots = 0;
    } else if (f.offset == 0 && f.bytes == f.value_bytes) {
      parts[n] = f.value->Get();
    } else {
      const Scalar whole = f.value->Get();
      if (!builder_.Build(Fn::kExtract, f.offset * 8, static_cast<int>(f.bytes) * 8, &whole, 1, &parts[n])) return OutOfAnchors();
    }
    if (!Guarded(f.guard, static_cast<int>(f.bytes) * 8, &parts[n])) return false;
    if (n < 8) attr |= static_cast<uint64_t>(f.bytes * 8) << (8 * n);
    ++n;
  }
  if (n == 1) {
    *out = parts[0];
    return true;
  }
  if (n > 8) return Unknown("WIDTH", "value read back in too many pieces");
  if (!builder_.Build(Fn::kConcat, attr, static_cast<int>(bytes) * 8, parts, n, out)) return OutOfAnchors();
  return true;
}

bool Machine::SharedRead(const std::vector<int64_t>& addresses, uint32_t bytes, MaskId mask, Value* out) {
  const int count = space_.lanes();
  std::vector<Scalar> lanes;
  std::vector<SharedMemory::Fragment> fragments;
  // As long as all lanes read what was copied from one buffer, offsets are all that is kept of them.
  bool in_memory = mask == kAllLanes && moves_ == nullptr;
  const StoredScalar* first = nullptr;
  tile_offsets_.resize(count);
  if (!in_memory) lanes.resize(count);
  for (int l = 0; l < count; ++l) {
    if (!in_memory) lanes[l].node = nodes_.Undef();
    if (!space_.Test(mask, l)) continue;
    fragments.clear();
    const auto race = shared_.Read(l, static_cast<uint32_t>(addresses[l]), bytes, &fragments);
    if (race != SharedMemory::Race::kNone) return Conflict(race);
    if (in_memory) {
      const SharedMemory::Fragment& f = fragments[0];
      if (fragments.size() == 1 && f.value != nullptr && f.guard == 0 && ContinuesMemory(*f.value, &first)) {
        tile_offsets_[l] = f.value->anchor(0).offset + f.offset;
        continue;
      }
      in_memory = false;
      lanes.resize(count);
      for (int earlier = 0; earlier < l; ++earlier) {
        lanes[earlier] = first->Get();
        lanes[earlier].anchor[0].offset = tile_offsets_[earlier];
      }
    }
    if (!FragmentsToScalar(fragments, bytes, &lanes[l])) return false;
    if (moves_ != nullptr) {
      for (const auto& f : fragments)
        if (f.value != nullptr) moves_->Add(nodes_, f.value->Get(), f.writer, l, MoveLog::Route::kShared);
      moves_->Add(nodes_, lanes[l], fragments[0].writer, l, MoveLog::Route::kShared);
    }
  }
  if (in_memory) {
    *out = Value::Bits(MemoryLanes(*first, 0), static_cast<int>(bytes) * 8);
    return true;
  }
  return FromWord(ops_.Pack(lanes), static_cast<int>(bytes) * 8, out);
}

bool Machine::SharedWrite(const std::vector<int64_t>& addresses, uint32_t bytes, MaskId mask, const Value& value,
                          uint32_t async_group_of_lane) {
  absl::InlinedVector<Piece, 4> pieces;
  if (!ToPieces(value, static_cast<int>(bytes) * 8, &pieces)) return false;
  uint32_t at = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    // Pieces below the unit of shared memory join their neighbours first.
    if (pieces[i].bits % (8 * shared_.granule()) != 0) {
      Lanes joined;
      if (!ToLanes(value, static_cast<int>(bytes) * 8, &joined)) return false;
      pieces.clear();
      pieces.push_back({std::move(joined), static_cast<uint8_t>(bytes * 8)});
      break;
    }
  }
  for (const Piece& p : pieces) {
    const uint32_t n = p.bits / 8u;
    if (n % shared_.granule() != 0) return Unknown("WIDTH", "shared-memory write of less than the model's unit");
    Lanes settled = p.lanes;
    ops_.Settle(&settled);
    LaneCursor cursor(ops_, settled);
    for (int l = 0; l < space_.lanes(); ++l) {
      if (!space_.Test(mask, l)) continue;
      const auto race = shared_.Write(l, static_cast<uint32_t>(addresses[l]) + at, n, cursor.At(l),
                                      async_group_of_lane ? shared_.copies[l].issued : 0);
      if (race != SharedMemory::Race::kNone) return Conflict(race);
    }
    at += n;
  }
  return true;
}

bool Machine::LocalRead(const Value& address, uint32_t bytes, Value* out) {
  std::vector<int64_t> addresses;
  if (!LaneAddresses(address, bytes, local_bytes_, "local-memory", &addresses)) return false;
  std::vector<Scalar> lanes(space_.lanes());
  std::vector<SharedMemory::Fragment> fragments;
  for (int l = 0; l < space_.lanes(); ++l) {
    lanes[l].node = nodes_.Undef();
    lanes[l].slots = 0;
    if (!space_.Test(exec_, l)) continue;
    fragments.clear();
    local_->Read(l, static_cast<uint32_t>(l) * local_bytes_ + static_cast<uint32_t>(addresses[l]), bytes, &fragments);
    if (!FragmentsToScalar(fragments, bytes, &lanes[l])) return false;
  }
  *out = Value::Bits(ops_.Pack(lanes), static_cast<int>(bytes) * 8);
  return true;
}

bool Machine::LocalWrite(const Value& address, uint32_t bytes, const Value& value) {
  std::vector<int64_t> addresses;
  if (!LaneAddresses(address, bytes, local_bytes_, "local-memory", &addresses)) return false;
  Lanes data;
  if (!ToLanes(value, static_cast<int>(bytes) * 8, &data)) return false;
  for (int l = 0; l < space_.lanes(); ++l) {
    if (!space_.Test(exec_, l)) continue;
    local_->Write(l, static_cast<uint32_t>(l) * local_bytes_ + static_cast<uint32_t>(addresses[l]), bytes,
                  ops_.At(data, l), 0);
  }
  return true;
}

bool Machine::GlobalLoad(const Address& a, int64_t offset, uint32_t bytes, Value* out) {
  if (a.value.is_int()) {
    Lanes lanes;
    lanes.nodes = nodes_.Leaf(a.buffer);
    lanes.anchors.emplace_back();
    if (!PlaceAddress(a, offset, &lanes.anchors[0])) return false;
    Load load;
    load.buffer = a.buffer;
    load.address = lanes.anchors[0];
    load.mask = exec_;
    load.bytes = bytes;
    load.block_epoch = shared_.block_epoch;
    load.order = order_++;
    load.line = current_->line;
    if (load_guard_ != nullptr && data_depth_ == 0) {
      load.guarded = true;
      load.guard = *load_guard_;
    }
    result_.loads.push_back(std::move(load));
    *out = Value::Bits(std::move(lanes), static_cast<int>(bytes) * 8);
    return true;
  }
  // Address from data: a gather. The buffer must not be written by this launch (checked at the end).
  Value data = a.value;
  data.buffer = 0;
  Value shifted = data;
  if (offset != 0 && !IntAdd(data, Value::Int(offset, 64), 64, &shifted)) return false;
  Lanes index, gathered, base;
  if (!ToLanes(shifted, 64, &index)) return false;
  const Digest128& key = nodes_.buffer_key(a.buffer);
  const Lanes* operand = &index;
  if (!ops_.Apply(Fn::kGather, key.hi ^ Scramble(key.lo), static_cast<int>(bytes) * 8, {&operand, 1}, &gathered))
    return OutOfAnchors();
  Load load;
  load.buffer = a.buffer;
  load.bytes = 0;  // anywhere
  load.line = current_->line;
  result_.loads.push_back(load);
  *out = Value::Bits(std::move(gathered), static_cast<int>(bytes) * 8);
  return true;
}

bool Machine::ExecLoad(const Inst& in) {
  if (!CheckMods(in, {Mod::kGlobal, Mod::kShared, Mod::kSharedCta, Mod::kLocal, Mod::kParam, Mod::kParamEntry,
                      Mod::kParamFunc, Mod::kConst, Mod::kCa, Mod::kCg, Mod::kCs, Mod::kLu, Mod::kCv, Mod::kNc,
                      Mod::kL1EvictLast, Mod::kL1EvictFirst, Mod::kL1EvictNormal, Mod::kL1EvictUnchanged,
                      Mod::kL1NoAllocate, Mod::kL2EvictLast, Mod::kL2EvictFirst, Mod::kL2EvictNormal,
                      Mod::kL2CacheHint, Mod::kL264B, Mod::kL2128B, Mod::kL2256B, Mod::kWeak, Mod::kRelaxed,
                      Mod::kVolatile, Mod::kAcquire, Mod::kCta, Mod::kGpu, Mod::kSys, Mod::kCluster}))
    return false;
  const ScalarType type = in.type();
  const uint32_t bytes = static_cast<uint32_t>(isa::BitWidth(type)) / 8;
  if (bytes == 0 || bytes > 16) return Unmodelled(in);
  const StateSpace space = SpaceOf(in);
  const Operand& source = Op(in, 1);
  const int count = in.vector;
  std::vector<Value> values(count);
  if (space == StateSpace::kParam) {
    if (source.kind != OperandKind::kAddress || source.symbol == isa::kNone32)
      return Unknown("PARAM_ADDRESS", "parameter read through a register");
    for (int i = 0; i < count; ++i) {
      const int64_t offset = source.imm + static_cast<int64_t>(i) * bytes;
      const isa::Symbol& s = module_.symbols[source.symbol];
      // A kernel's own parameters are bound to activation 0; a function's to its call.
      const bool entry_param = s.function != isa::kNone32 && module_.functions[s.function].is_entry && s.kind == isa::Symbol::Kind::kParam;
      uint32_t serial = 0;
      if (!entry_param) serial = current_serial_;
      auto it = params_.find({serial, source.symbol, offset});
      if (it != params_.end() && it->second.width == static_cast<int>(bytes) * 8) {
        values[i] = it->second;
        continue;
      }
      if (it != params_.end() && it->second.is_int() && it->second.buffer == 0 && it->second.width > static_cast<int>(bytes) * 8) {
        if (!Slice(it->second, 0, static_cast<int>(bytes) * 8, &values[i])) return false;
        continue;
      }
      // From smaller stores, or part of a larger one.
      std::vector<Value> parts;
      for (uint32_t at = 0; at < bytes;) {
        const auto piece = params_.find({serial, source.symbol, offset + at});
        if (piece == params_.end()) {
          const auto word = params_.find({serial, source.symbol, 0});
          Value cut;
          if (at == 0 && word != params_.end() && offset * 8 + static_cast<int64_t>(bytes) * 8 <= word->second.width && word->second.buffer == 0) {
            if (!Slice(word->second, static_cast<int>(offset) * 8, static_cast<int>(bytes) * 8, &cut)) return false;
            parts.push_back(std::move(cut));
            break;
          }
          return Unknown("PARAM_READ", "parameter '" + std::string(s.name) + "' is read where nothing was passed");
        }
        parts.push_back(piece->second);
        at += piece->second.width / 8u;
      }
      Value joined;
      if (!Concat(parts, &joined)) return false;
      if (joined.width != static_cast<int>(bytes) * 8) {
        Value cut;
        if (!Slice(joined, 0, static_cast<int>(bytes) * 8, &cut)) return false;
        joined = std::move(cut);
      }
      values[i] = std::move(joined);
    }
  } else {
    Address address;
    if (!ResolveAddress(in, source, space, &address)) return false;
    switch (address.space) {
      case StateSpace::kGlobal:
        if (!CheckAligned(address, bytes * static_cast<uint32_t>(count), exec_)) return false;
        for (int i = 0; i < count; ++i)
          if (!GlobalLoad(address, static_cast<int64_t>(i) * bytes, bytes, &values[i])) return false;
        break;
      case StateSpace::kShared: {
        std::vector<int64_t> addresses;
        if (!LaneAddresses(address.value, bytes * static_cast<uint32_t>(count), shared_bytes_, "shared-memory", &addresses)) return false;
        for (int i = 0; i < count; ++i) {
          if (!SharedRead(addresses, bytes, exec_, &values[i])) return false;
          for (int64_t& a : addresses) a += bytes;
        }
        break;
      }
      case StateSpace::kLocal:
        for (int i = 0; i < count; ++i) {
          Value at;
          if (!IntAdd(address.value, Value::Int(static_cast<int64_t>(i) * bytes, 64), 64, &at) || !LocalRead(at, bytes, &values[i])) return false;
        }
        break;
      default: return Unknown("STATE_SPACE", "load from this state space is not modelled");
    }
  }
  const Operand& destination = Op(in, 0);
  // Into a wider register a signed type extends its sign, others zeros.
  const int width = static_cast<int>(bytes) * 8;
  for (int i = 0; i < count; ++i) {
    const bool vector = destination.kind == OperandKind::kVector && i < static_cast<int>(destination.count);
    const Operand& d = vector ? Element(destination, i) : destination;
    if (d.kind != OperandKind::kRegister || RegisterWidth(d.reg) <= width) continue;
    if (values[i].is_int()) {
      if (!WidenInt(&values[i], width, isa::IsSigned(type), RegisterWidth(d.reg))) return false;
    } else if (isa::IsSigned(type) && values[i].is_bits()) {
      Value wide;
      if (!DataUnary(Fn::kSignExtend, bytes * 8, width, RegisterWidth(d.reg), values[i], &wide)) return false;
      values[i] = std::move(wide);
    }
  }
  return SetMany(destination, std::move(values));
}

// Values that are concatenations in some lane are cut there: what is stored is elements, not words.
bool Machine::SplitConcats(absl::InlinedVector<Piece, 4>* pieces) {
  absl::InlinedVector<Piece, 4> cut;
  for (Piece& p : *pieces) {
    uint64_t widths = 0;
    for (int l = 0; l < (p.lanes.uniform() ? 1 : space_.lanes()) && widths == 0; ++l) {
      const expr::Node& n = nodes_[p.lanes.uniform() ? p.lanes.nodes : space_.nodes(p.lanes.nodes & ~kMixed)[l]];
      if (n.fn == Fn::kConcat) widths = n.attr;
    }
    if (widths == 0) {
      cut.push_back(std::move(p));
      continue;
    }
    for (int at = 0, i = 0; at < p.bits && i < 8; ++i) {
      const int bits = static_cast<int>(widths >> (8 * i) & 255);
      if (bits == 0) break;
      Piece part;
      part.bits = static_cast<uint8_t>(bits);
      const Lanes* operand = &p.lanes;
      if (!ops_.Apply(Fn::kExtract, static_cast<uint64_t>(at), bits, {&operand, 1}, &part.lanes)) return OutOfAnchors();
      cut.push_back(std::move(part));
      at += bits;
    }
  }
  *pieces = std::move(cut);
  return true;
}

// Some executing lane's value depends on what was never written.
bool Machine::HoldsUndef(const Lanes& v) const {
  if (v.uniform()) return (nodes_[v.nodes].facts & expr::kHoldsUndef) != 0;
  const uint32_t* ids = space_.nodes(v.nodes & ~kMixed);
  for (int l = 0; l < space_.lanes(); ++l)
    if (space_.Test(exec_, l) && (nodes_[ids[l]].facts & expr::kHoldsUndef) != 0) return true;
  return false;
}

bool Machine::GlobalStore(const Address& a, int64_t offset, uint32_t bytes, const Value& value, bool atomic) {
  if (!a.value.is_int()) return Unknown("STORE_ON_DATA", "store to an address that depends on loaded data");
  absl::InlinedVector<Piece, 4> pieces;
  if (!ToPieces(value, static_cast<int>(bytes) * 8, &pieces) || !SplitConcats(&pieces)) return false;
  bool bytewise = true;
  for (const Piece& p : pieces) bytewise &= p.bits % 8 == 0;
  if (!bytewise) {
    Lanes joined;
    if (!ToLanes(value, static_cast<int>(bytes) * 8, &joined)) return false;
    pieces.clear();
    pieces.push_back({std::move(joined), static_cast<uint8_t>(bytes * 8)});
  }
  for (const Piece& p : pieces)
    if (HoldsUndef(p.lanes))
      return Unknown("UNDEFINED_VALUE", "stores a value that depends on a register or on shared memory that was never written");
  if (guarded_store_ && HoldsUndef(store_guard_))
    return Unknown("UNDEFINED_VALUE", "stores under a condition that depends on a register that was never written");
  int64_t at = offset;
  for (Piece& p : pieces) {
    Store s;
    s.buffer = a.buffer;
    if (!PlaceAddress(a, at, &s.address)) return false;
    if ((s.address.symbolic & kMixed) != 0)
      return Unknown("OPEN_SIZE", "lanes store at several open strides of one buffer");
    s.mask = exec_;
    at += p.bits / 8;
    s.value = std::move(p);
    ops_.Settle(&s.value.lanes);
    s.guarded = guarded_store_;
    if (guarded_store_) s.guard = store_guard_;
    s.atomic = atomic;
    s.block_epoch = shared_.block_epoch;
    s.order = order_++;
    s.line = current_->line;
    result_.stores.push_back(std::move(s));
  }
  return true;
}

bool Machine::ExecStore(const Inst& in) {
  if (!CheckMods(in, {Mod::kGlobal, Mod::kShared, Mod::kSharedCta, Mod::kLocal, Mod::kParam, Mod::kParamFunc, Mod::kWb,
                      Mod::kCg, Mod::kCs, Mod::kWt, Mod::kL1EvictLast, Mod::kL1EvictFirst, Mod::kL1EvictNormal,
                      Mod::kL1EvictUnchanged, Mod::kL1NoAllocate, Mod::kL2EvictLast, Mod::kL2EvictFirst,
                      Mod::kL2EvictNormal, Mod::kL2CacheHint, Mod::kWeak, Mod::kRelaxed, Mod::kVolatile, Mod::kRelease,
                      Mod::kCta, Mod::kGpu, Mod::kSys, Mod::kCluster}))
    return false;
  const ScalarType type = in.type();
  const uint32_t bytes = static_cast<uint32_t>(isa::BitWidth(type)) / 8;
  if (bytes == 0 || bytes > 16) return Unmodelled(in);
  std::vector<Value> values;
  if (!GetMany(Op(in, 1), static_cast<int>(bytes) * 8, &values)) return false;
  if (values.size() != in.vector) return Unknown("OPERAND", "vector operand of another length");
  for (Value& v : values) {
    if (v.width > static_cast<int>(bytes) * 8) {
      Value cut;
      if (!Slice(v, 0, static_cast<int>(bytes) * 8, &cut)) return false;
      v = std::move(cut);
    }
    v.width = static_cast<uint8_t>(bytes * 8);
  }
  const StateSpace space = SpaceOf(in);
  const Operand& target = Op(in, 0);
  if (space == StateSpace::kParam) {
    if (target.kind != OperandKind::kAddress || target.symbol == isa::kNone32) return Unknown("PARAM_ADDRESS", "parameter written through a register");
    for (size_t i = 0; i < values.size(); ++i) {
      if (!SetParam({current_serial_, target.symbol, target.imm + static_cast<int64_t>(i * bytes)}, std::move(values[i]))) return false;
    }
    return true;
  }
  if (!Lockstep()) return Unknown("STORE_ON_DATA", "store under a data-dependent branch");
  Address address;
  if (!ResolveAddress(in, target, space, &address)) return false;
  if (data_depth_ > 0 && address.space != StateSpace::kShared)
    return Unknown("STORE_ON_DATA", "store in a loop of open length");
  switch (address.space) {
    case StateSpace::kGlobal:
      if (!CheckAligned(address, bytes * static_cast<uint32_t>(values.size()), exec_)) return false;
      for (size_t i = 0; i < values.size(); ++i)
        if (!GlobalStore(address, static_cast<int64_t>(i * bytes), bytes, values[i], false)) return false;
      return true;
    case StateSpace::kShared: {
      if (guarded_store_) return Unknown("STORE_ON_DATA", "shared-memory store under a data-dependent predicate");
      std::vector<int64_t> addresses;
      if (!LaneAddresses(address.value, bytes * static_cast<uint32_t>(values.size()), shared_bytes_, "shared-memory", &addresses)) return false;
      for (const Value& v : values) {
        if (!SharedWrite(addresses, bytes, exec_, v, 0)) return false;
        for (int64_t& a : addresses) a += bytes;
      }
      return true;
    }
    case StateSpace::kLocal:
      for (size_t i = 0; i < values.size(); ++i) {
        Value at;
        if (!IntAdd(address.value, Value::Int(static_cast<int64_t>(i * bytes), 64), 64, &at) || !LocalWrite(at, bytes, values[i])) return false;
      }
      return true;
    default: return Unknown("STATE_SPACE", "store to this state space is not modelled");
  }
}

bool Machine::ExecAtomic(const Inst& in) {
  const ScalarType type = in.type(in.type_count - 1);
  if (isa::IsFloat(type) && in.Has(Mod::kAdd)) {
    Unknown("FLOAT_ATOMIC", "floating-point atomic add: the order of arrival decides the bits");
    result_.stop.kind = StopKind::kNondeterministic;
    return false;
  }
  return Unknown("ATOMIC", "atomic '" + std::string(in.name) + "' is not modelled");
}

bool Machine::ExecCopyAsync(const Inst& in) {
  if (in.op != Op::kCpAsync && exec_ != kNoLanes) {
    if (!CheckMods(in, {})) return false;
    Value n = Value::Int(0, 32);
    if (in.op == Op::kCpAsyncWaitGroup && !Get(Op(in, 0), 32, false, &n)) return false;
    if (!n.is_uniform_const()) return Unmodelled(in);
    for (int l = 0; l < space_.lanes(); ++l) {
      if (!space_.Test(exec_, l)) continue;
      AsyncGroups& g = shared_.copies[l];
      const bool all = in.op == Op::kCpAsyncWaitAll || (in.op == Op::kCpAsyncWaitGroup && n.constant == 0 && !g.uncommitted);
      if (all && shared_.owing()) shared_.PaidCopies(l);
      if (in.op == Op::kCpAsyncCommitGroup) {
        ++g.issued;
        g.uncommitted = false;
      } else if (in.op == Op::kCpAsyncWaitAll) {
        g.CompleteUpTo(g.issued++, shared_.Now(l));
        g.uncommitted = false;
      } else {
        const int64_t up_to = static_cast<int64_t>(g.issued) - 1 - n.constant;
        if (up_to > 0) g.CompleteUpTo(static_cast<uint32_t>(up_to), shared_.Now(l));
      }
    }
    return true;
  }
  if (!CheckMods(in, {Mod::kCa, Mod::kCg, Mod::kShared, Mod::kSharedCta, Mod::kGlobal, Mod::kL2CacheHint, Mod::kL264B,
                      Mod::kL2128B, Mod::kL2256B}))
    return false;
  if (data_depth_ > 0 && !(in_ring_ && Lockstep()))
    return Unknown("STORE_ON_DATA", "asynchronous copy under a data-dependent branch");
  Value size, filled;
  if (!Get(Op(in, 2), 32, false, &size) || !size.is_uniform_const()) return Unmodelled(in);
  const uint32_t bytes = static_cast<uint32_t>(size.constant);
  if (bytes != 4 && bytes != 8 && bytes != 16) return Unmodelled(in);
  Address to, from;
  if (!ResolveAddress(in, Op(in, 0), StateSpace::kShared, &to) || !ResolveAddress(in, Op(in, 1), StateSpace::kGlobal, &from))
    return false;
  std::vector<int64_t> addresses;
  if (!LaneAddresses(to.value, bytes, shared_bytes_, "shared-memory", &addresses)) return false;
  for (int l = 0; l < space_.lanes(); ++l)
    if (space_.Test(exec_, l)) shared_.copies[l].uncommitted = true;
  const int extra = in.Has(Mod::kL2CacheHint) ? 1 : 0;
  bool partial = in.operand_count - extra > 3;
  MaskId full = exec_;
  if (partial) {
    Value source;
    if (!Get(Op(in, 3), 32, false, &source)) return false;
    if (source.is_predicate() || source.width == 1) return Unmodelled(in);  // ignore-src form
    if (!AsInt(&source)) {
      if (launch_.grid_known) return Unknown("GUARDED_ON_DATA", "copy size depends on loaded data");
      return CopyGuarded(source, from, addresses, bytes);
    }
    if (source.symbolic != 0) {
      Value is_full;
      if (!IntCompare(expr::Compare::kEq, source, Value::Int(bytes, 32), 32, false, &is_full)) return false;
      if (!is_full.is_predicate()) return Unknown("OPEN_SIZE", "copy size depends on an open size");
    }
    if (!Actual(&source, 32, false)) return false;
    const int64_t* array = space_.array(source.array);
    bool odd = source.symbolic != 0;
    full = space_.MaskWhere([&](int l) {
      const int64_t n = array[l] + source.constant;
      if (space_.Test(exec_, l) && n != 0 && n != bytes) odd = true;
      return n == bytes;
    });
    full = space_.And(full, exec_);
    if (!CheckAligned(from, bytes, odd ? exec_ : full)) return false;
    if (odd) {
      // Some lanes copy a part: element by element.
      const uint32_t unit = std::max(shared_.granule(), 2u);
      for (int l = 0; l < space_.lanes(); ++l) {
        if (!space_.Test(exec_, l)) continue;
        const int64_t n = array[l] + source.constant;
        if (source.symbolic != 0 || n < 0 || n > bytes || n % unit != 0) return Unknown("COPY_SIZE", "asynchronous copy of an odd size");
      }
      Value data;
      for (uint32_t at = 0; at < bytes; at += unit) {
        if (!GlobalLoad(from, at, unit, &data)) return false;
        result_.loads.back().async = true;
        const MaskId live = space_.And(exec_, space_.MaskWhere([&](int l) { return static_cast<int64_t>(at) < array[l] + source.constant; }));
        Value mixed;
        if (!Blend(live, data, Value::Int(0, static_cast<int>(unit) * 8), &mixed)) return false;
        if (!SharedWrite(addresses, unit, exec_, mixed, 1)) return false;
        for (int64_t& a : addresses) a += unit;
      }
      return true;
    }
  }
  if (!partial && !CheckAligned(from, bytes, exec_)) return false;
  Value data;
  if (!GlobalLoad(from, 0, bytes, &data)) return false;
  result_.loads.back().mask = full;
  result_.loads.back().async = true;
  const MaskId zero = space_.AndNot(exec_, full);
  if (full != kNoLanes) {
    LaneCursor cursor(ops_, data.pieces[0].lanes);
    for (int l = 0; l < space_.lanes(); ++l) {
      if (!space_.Test(full, l)) continue;
      const auto race = shared_.Write(l, static_cast<uint32_t>(addresses[l]), bytes, cursor.At(l), shared_.copies[l].issued);
      if (race != SharedMemory::Race::kNone) return Conflict(race);
    }
  }
  if (zero != kNoLanes) {
    // Zero fill in words, so that any later cut is a constant.
    for (uint32_t at = 0; at < bytes; at += 4) {
      std::vector<int64_t> word = addresses;
      for (int64_t& a : word) a += at;
      const MaskId saved = exec_;
      exec_ = zero;
      const bool ok = SharedWrite(word, 4, zero, Value::Int(0, 32), 1);
      exec_ = saved;
      if (!ok) return false;
    }
  }
  return true;
}

}  // namespace samebits::symexec
