// Global, buffer and LDS accesses of a wave.

#include <algorithm>

#include "core/isa/amdgcn/op_table.h"
#include "core/symexec/amdgcn/wave_machine.h"

namespace samebits::symexec {

using expr::Compare;
using expr::Fn;
using isa::amdgcn::InfoOf;
using isa::amdgcn::kWaveLanes;
using isa::amdgcn::Op;
using isa::amdgcn::OperandKind;

namespace {

struct Access {
  uint32_t bytes;  // of memory
  bool store = false, is_signed = false, high_half = false;
};

bool AccessOf(Op op, Access* out) {
  switch (op) {
    case Op::kBufferLoadUbyte: case Op::kGlobalLoadUbyte: *out = {1}; return true;
    case Op::kBufferLoadSbyte: case Op::kGlobalLoadSbyte: *out = {1, false, true}; return true;
    case Op::kBufferLoadUshort: case Op::kGlobalLoadUshort: *out = {2}; return true;
    case Op::kBufferLoadSshort: case Op::kGlobalLoadSshort: *out = {2, false, true}; return true;
    case Op::kBufferLoad1: case Op::kGlobalLoad1: *out = {4}; return true;
    case Op::kBufferLoadLds1: case Op::kGlobalLoadLds1: *out = {4}; return true;
    case Op::kBufferLoad2: case Op::kGlobalLoad2: *out = {8}; return true;
    case Op::kBufferLoad3: case Op::kGlobalLoad3: *out = {12}; return true;
    case Op::kBufferLoad4: case Op::kGlobalLoad4: *out = {16}; return true;
    case Op::kBufferStoreByte: case Op::kGlobalStoreByte: *out = {1, true}; return true;
    case Op::kBufferStoreShort: case Op::kGlobalStoreShort: *out = {2, true}; return true;
    case Op::kBufferStoreShortHi: case Op::kGlobalStoreShortHi: *out = {2, true, false, true}; return true;
    case Op::kBufferStore1: case Op::kGlobalStore1: *out = {4, true}; return true;
    case Op::kBufferStore2: case Op::kGlobalStore2: *out = {8, true}; return true;
    case Op::kBufferStore3: case Op::kGlobalStore3: *out = {12, true}; return true;
    case Op::kBufferStore4: case Op::kGlobalStore4: *out = {16, true}; return true;
    default: return false;
  }
}

}  // namespace

void WaveMachine::Pend(std::vector<uint32_t>* pending, const std::vector<uint32_t>& issued, const GcnOperand& to) {
  for (int r = 0; r < to.count; ++r) {
    pends_[static_cast<size_t>(to.reg + r)] = true;
    for (int w = 0; w < waves_; ++w)
      if (space_.Test(wave_, w * kWaveLanes))
        (*pending)[static_cast<size_t>(to.reg + r) * static_cast<size_t>(waves_) + static_cast<size_t>(w)] = issued[static_cast<size_t>(w)];
  }
}

void WaveMachine::IssueVector(const GcnOperand* to) {
  for (int w = 0; w < waves_; ++w)
    if (space_.Test(wave_, w * kWaveLanes)) ++vector_issued_[static_cast<size_t>(w)];
  if (to != nullptr) Pend(&pending_vector_, vector_issued_, *to);
}

// LDS operations of one wave take effect in the order of their issue.
void WaveMachine::IssueLds(const GcnOperand* to) {
  for (int w = 0; w < waves_; ++w) {
    if (!space_.Test(wave_, w * kWaveLanes)) continue;
    last_lds_[static_cast<size_t>(w)] = ++lds_issued_[static_cast<size_t>(w)];
    ++shared_.warp_epoch[static_cast<size_t>(w)];
  }
  if (to != nullptr) Pend(&pending_lds_, lds_issued_, *to);
}

// A dword a lane to LDS, at M0 + offset + 4 * lane. It lands at some moment up to the wait for vmcnt.
bool WaveMachine::LoadToLds(const Address& a, int64_t offset) {
  if (exec_is_data_ || guarded_store_ || data_depth_ > 0) return Unknown("GUARDED_ON_DATA", "load to LDS while loaded data decides which lanes execute");
  for (int w = 0; w < waves_; ++w)
    if (space_.Test(wave_, w * kWaveLanes) && last_lds_[static_cast<size_t>(w)] > lds_done_[static_cast<size_t>(w)])
      return Unknown("LDS_ORDER", "load to LDS while LDS operations of the wave may be under way");
  Value base, data;
  if (!Peek(isa::amdgcn::kM0, &base)) return false;
  if (!AsInt(&base) || base.symbolic != 0 || base.mask != 0 || base.buffer != 0) return Unknown("ADDRESS_ON_DATA", "M0 is not written, or depends on data or on the block");
  std::vector<int64_t> addresses(space_.lanes());
  for (int l = 0; l < space_.lanes(); ++l) {
    addresses[l] = ((space_.array(base.array)[l] + base.constant) & 0xffff) + offset + 4 * (l % kWaveLanes);
    if (space_.Test(exec_, l) && (addresses[l] < 0 || addresses[l] % 4 != 0 || addresses[l] + 4 > shared_bytes_))
      return Unknown("ADDRESS_BOUNDS", "load to LDS outside the workgroup's LDS or not aligned");
  }
  IssueVector(nullptr);
  if (exec_ == kNoLanes) return true;
  Lanes lanes;
  if (!GlobalLoad(a, 0, 4, &data)) return false;
  result_.loads.back().async = true;
  if (!ToLanes(data, 32, &lanes)) return false;
  ops_.Settle(&lanes);
  if (const auto race = lds_.Reserve(LanesOf(exec_), addresses.data(), 4, shared_); race != Lds::Race::kNone) return Conflict(race);
  for (int w = 0; w < waves_; ++w) {
    if (!space_.Test(wave_, w * kWaveLanes)) continue;
    const MaskId own = space_.And(exec_, space_.MaskWhere([&](int l) { return l / kWaveLanes == w; }));
    if (own != kNoLanes) direct_loads_[static_cast<size_t>(w)].push_back({vector_issued_[static_cast<size_t>(w)], own, addresses, lanes});
  }
  return true;
}

bool WaveMachine::Land(size_t wave) {
  auto& loads = direct_loads_[wave];
  size_t landed = 0;
  for (; landed < loads.size() && loads[landed].issued <= vector_done_[wave]; ++landed) {
    const DirectLoad& d = loads[landed];
    if (const auto race = lds_.Land(LanesOf(d.lanes), d.addresses.data(), 4, d.data, ops_, shared_); race != Lds::Race::kNone) return Conflict(race);
  }
  if (landed == 0) return true;
  loads.erase(loads.begin(), loads.begin() + static_cast<ptrdiff_t>(landed));
  ++shared_.warp_epoch[wave];  // what follows sees them in every lane of the wave
  return true;
}

// Lanes of `inside` read memory, the other executing ones zero.
bool WaveMachine::LoadWords(const Address& a, MaskId inside, uint32_t bytes, bool is_signed, const GcnOperand& to,
                            const Lanes* condition) {
  const MaskId lanes = exec_;
  inside = space_.And(inside, lanes);
  const uint32_t unit = std::min(bytes, 4u);
  for (uint32_t at = 0; at < bytes; at += unit) {
    Value v = Value::Int(0, 32);
    if (inside != kNoLanes) {
      exec_ = inside;
      const bool ok = GlobalLoad(a, at, unit, &v);
      exec_ = lanes;
      if (!ok) return false;
      if (unit < 4) {
        const Value narrow = v;
        if (is_signed ? !DataUnary(Fn::kSignExtend, unit * 8, static_cast<int>(unit) * 8, 32, narrow, &v)
                      : !Concat({narrow, Value::Int(0, 32 - static_cast<int>(unit) * 8)}, &v))
          return false;
      }
      if (condition != nullptr) {
        Lanes loaded, selected;
        const Lanes zero = ops_.Const(0, 32);
        if (!ToLanes(v, 32, &loaded)) return false;
        const Lanes* operands[3] = {condition, &loaded, &zero};
        if (!ops_.Apply(Fn::kSelect, 0, 32, operands, &selected)) return OutOfAnchors();
        v = Value::Bits(std::move(selected), 32);
      }
      if (!space_.Contains(inside, lanes)) {
        const Value loaded = v;
        if (!Blend(inside, loaded, Value::Int(0, 32), &v)) return false;
      }
    }
    if (!Put(static_cast<uint16_t>(to.reg + at / 4), std::move(v))) return false;
  }
  return true;
}

bool WaveMachine::StoreWords(const Address& a, MaskId inside, uint32_t bytes, bool high_half, const GcnOperand& from) {
  const MaskId lanes = exec_;
  inside = space_.And(inside, lanes);
  const uint32_t unit = std::min(bytes, 4u);
  for (uint32_t at = 0; at < bytes; at += unit) {
    Value word, v;
    if (!ReadWords(from, static_cast<int>(at / 4), &word)) return false;
    if (word.buffer != 0) return Unknown("ADDRESS_AS_DATA", "an address is stored");
    if (inside == kNoLanes) continue;
    v = word;
    if (unit < 4 && !Slice(word, high_half ? 16 : 0, static_cast<int>(unit) * 8, &v)) return false;
    v.width = static_cast<uint8_t>(unit * 8);
    exec_ = inside;
    const bool ok = GlobalStore(a, at, unit, v, false);
    exec_ = lanes;
    if (!ok) return false;
  }
  return true;
}

// A raw buffer: base, size in bytes, no stride, no swizzle.
bool WaveMachine::ExecBuffer(const GcnInst& in) {
  Access access;
  if (in.op == Op::kBufferAtomicAddF32 || in.op == Op::kBufferAtomicPkAddF16) {
    Unknown("FLOAT_ATOMIC", "floating-point atomic add: the order of arrival decides the bits");
    result_.stop.kind = StopKind::kNondeterministic;
    return false;
  }
  if (!AccessOf(in.op, &access)) return Unknown("ATOMIC", "atomic '" + std::string(in.name) + "' is not modelled");
  const bool to_lds = in.op == Op::kBufferLoadLds1;
  if (in.idxen) return Unknown("UNMODELLED_MODIFIER", "modifier of '" + std::string(in.name) + "' is not modelled");
  const auto& o = in.operands;
  const int first = to_lds ? 0 : 1;
  const GcnOperand &data = o[0], &address = o[first], &resource = o[first + 1], &scalar = o[first + 2];
  if (resource.kind != OperandKind::kRegister || resource.count != 4) return Unmodelled64();
  Value low, high, base;
  if (!Peek(resource.reg, &low) || !Peek(static_cast<uint16_t>(resource.reg + 1), &high)) return false;
  if (low.buffer == 0 || high.buffer == 0)
    return Unknown("ADDRESS_NOT_FROM_ARGUMENT", "a buffer descriptor's base does not come from a pointer argument");
  if (!Join(low, high, &base)) return false;
  if (base.buffer == 0 || base.buffer == kKernarg)
    return Unknown("ADDRESS_NOT_FROM_ARGUMENT", "a buffer descriptor's base does not come from a pointer argument");
  uint64_t records = 0, flags = 0;
  if (!Constant(static_cast<uint16_t>(resource.reg + 2), &records) || !Constant(static_cast<uint16_t>(resource.reg + 3), &flags)) return false;
  if (exec_ == kNoLanes) return true;
  if (flags != 0x27000) return Unknown("DESCRIPTOR", "a buffer descriptor of another kind than a raw buffer");
  Value offset = Value::Int(0, 32), extra;
  MaskId marked = kNoLanes;
  if (in.offen) {
    if (address.kind != OperandKind::kRegister || !Peek(address.reg, &offset)) return Unmodelled64();
    if (offset.is_predicate() || offset.width == 1) return Unmodelled64();
    if (offset.buffer != 0) return Unknown("ADDRESS_AS_DATA", "an address is used as an offset");
    if (exec_ != kAllLanes) IntegersHere(&offset);
    if (offset.is_int()) marked = offset.mask, offset.mask = 0;
  } else if (address.kind != OperandKind::kOff) {
    return Unmodelled64();
  }
  if (!Read32(scalar, &extra) || extra.buffer != 0) return Unmodelled64();
  if (extra.is_uniform_const() && extra.constant == 0) extra = Value::Int(0, 32);
  else if (!extra.is_int()) return Unknown("ADDRESS_ON_DATA", "a scalar offset that depends on loaded data");
  Address a;
  a.space = isa::StateSpace::kGlobal;
  a.buffer = base.buffer;
  MaskId inside = kAllLanes;
  Lanes condition;
  bool conditional = false;
  if (!AsInt(&offset)) {
    if (access.store) return Unknown("STORE_ON_DATA", "store to an address that depends on loaded data");
    if (extra.constant != 0 || extra.array != 0 || extra.symbolic != 0) return Unknown("ADDRESS_ON_DATA", "a data-dependent offset beside a scalar one");
    // Zero where the offset is not inside; an access across the end counts as outside.
    Value wide, total = offset, inside_here;
    if (in.offset != 0 && !IntAdd(offset, Value::Int(in.offset, 32), 32, &total)) return false;
    if (records < access.bytes || records > 0x80000000u) return Unknown("DESCRIPTOR", "a buffer of a size that is not modelled");
    if (!IntCompare(Compare::kLe, total, Value::Int(static_cast<int64_t>(records - access.bytes), 32), 32, false, &inside_here)) return false;
    if (!Concat({total, Value::Int(0, 32)}, &wide) || !IntAdd(base, wide, 64, &a.value)) return false;
    if (inside_here.is_predicate()) {
      inside = inside_here.mask;
    } else {
      if (!ToLanes(inside_here, 1, &condition)) return false;
      conditional = true;
    }
  } else {
    const MaskId lanes = exec_;
    exec_ = space_.AndNot(exec_, marked);
    Value total = offset, sum, within, beyond, wide;
    if (!IntAdd(total, Value::Int(in.offset, 32), 32, &sum) || !IntAdd(sum, extra, 32, &total)) return false;
    if (exec_ != kNoLanes) {
      if (records < access.bytes || records > 0x80000000u) return Unknown("DESCRIPTOR", "a buffer of a size that is not modelled");
      if (!IntCompare(Compare::kLe, total, Value::Int(static_cast<int64_t>(records - access.bytes), 32), 32, false, &within) ||
          !IntCompare(Compare::kGe, total, Value::Int(static_cast<int64_t>(records), 32), 32, false, &beyond))
        return false;
      if (!within.is_predicate() || !beyond.is_predicate()) return Unknown("ADDRESS_ON_DATA", "whether an offset is inside its buffer is not known");
      if (space_.AndNot(space_.AndNot(exec_, within.mask), beyond.mask) != kNoLanes)
        return Unknown("ADDRESS_BOUNDS", "an access crosses the end of its buffer");
      inside = space_.And(within.mask, exec_);
    } else {
      inside = kNoLanes;
    }
    exec_ = lanes;
    // Only lanes inside count: the others must not widen the range.
    wide = total;
    const bool all_inside = space_.Contains(inside, kAllLanes);
    if (!all_inside && wide.array != 0) {
      const int first = space_.First(inside);
      std::vector<int64_t> values(space_.lanes());
      const int64_t* array = space_.array(wide.array);
      for (int l = 0; l < space_.lanes(); ++l) values[l] = first < 0 ? 0 : array[space_.Test(inside, l) ? l : first];
      const auto interned = space_.InternArray(values.data());
      wide.array = interned.id;
      wide.constant += interned.constant;
    }
    if (inside != kNoLanes && (!WidenInt(&wide, 32, false, 64) || !IntAdd(base, wide, 64, &a.value))) return false;
  }
  if (access.store) {
    if (data_depth_ > 0) return Unknown("STORE_ON_DATA", "store under a data-dependent branch");
    if (!StoreWords(a, inside, access.bytes, access.high_half, data)) return false;
    IssueVector(nullptr);
    return true;
  }
  if (to_lds) {
    if (conditional || !space_.Contains(inside, exec_)) return Unknown("ADDRESS_BOUNDS", "a load to LDS outside its buffer");
    return LoadToLds(a, in.offset);
  }
  if (!LoadWords(a, inside, access.bytes, access.is_signed, data, conditional ? &condition : nullptr)) return false;
  IssueVector(&data);
  return true;
}

bool WaveMachine::ExecGlobal(const GcnInst& in) {
  Access access;
  if (in.op == Op::kGlobalAtomicAddF32 || in.op == Op::kGlobalAtomicPkAddF16 || in.op == Op::kGlobalAtomicAddF64) {
    Unknown("FLOAT_ATOMIC", "floating-point atomic add: the order of arrival decides the bits");
    result_.stop.kind = StopKind::kNondeterministic;
    return false;
  }
  if (!AccessOf(in.op, &access)) return Unknown("ATOMIC", "atomic '" + std::string(in.name) + "' is not modelled");
  const bool to_lds = in.op == Op::kGlobalLoadLds1;
  const auto& o = in.operands;
  const GcnOperand& address = access.store || to_lds ? o[0] : o[1];
  const GcnOperand& data = access.store ? o[1] : o[0];
  const GcnOperand& scalar = o[to_lds ? 1 : 2];
  if (exec_ == kNoLanes) return true;
  Value whole, sum;
  if (scalar.kind == OperandKind::kOff) {
    if (!Read64(address, &whole)) return false;
  } else {
    Value base, offset, wide;
    if (!Read64(scalar, &base) || address.count != 1 || !Read32(address, &offset) || offset.buffer != 0) return Unmodelled64();
    wide = offset;
    if (AsInt(&wide)) {
      if (!WidenInt(&wide, 32, false, 64)) return false;
    } else if (!Concat({offset, Value::Int(0, 32)}, &wide)) {
      return false;
    }
    if (!IntAdd(base, wide, 64, &whole)) return false;
  }
  if (whole.buffer == 0 || whole.buffer == kKernarg)
    return Unknown("ADDRESS_NOT_FROM_ARGUMENT", "address does not come from a pointer argument (was it given as a scalar?)");
  if (!IntAdd(whole, Value::Int(in.offset, 64), 64, &sum)) return false;
  Address a;
  a.space = isa::StateSpace::kGlobal;
  a.buffer = sum.buffer;
  a.value = std::move(sum);
  if (access.store) {
    if (data_depth_ > 0) return Unknown("STORE_ON_DATA", "store under a data-dependent branch");
    if (!StoreWords(a, kAllLanes, access.bytes, access.high_half, data)) return false;
    IssueVector(nullptr);
    return true;
  }
  if (to_lds) return LoadToLds(a, in.offset);
  if (!LoadWords(a, kAllLanes, access.bytes, access.is_signed, data)) return false;
  IssueVector(&data);
  return true;
}

bool WaveMachine::ExecLds(const GcnInst& in) {
  if (in.op == Op::kDsBpermute || in.op == Op::kDsPermute || in.op == Op::kDsSwizzle) return LdsExchange(in);
  const auto& o = in.operands;
  struct Part {
    uint32_t offset, bytes;
  };
  std::vector<Part> parts;
  bool store = false, is_signed = false, high_half = false, keep_half = false;
  const uint32_t at = static_cast<uint32_t>(in.offset);
  auto two = [&](uint32_t bytes, uint32_t stride) {
    parts = {{static_cast<uint32_t>(in.offset0) * bytes * stride, bytes}, {static_cast<uint32_t>(in.offset1) * bytes * stride, bytes}};
  };
  switch (in.op) {
    case Op::kDsReadU8: parts = {{at, 1}}; break;
    case Op::kDsReadI8: parts = {{at, 1}}, is_signed = true; break;
    case Op::kDsReadU16: parts = {{at, 2}}; break;
    case Op::kDsReadI16: parts = {{at, 2}}, is_signed = true; break;
    case Op::kDsReadU16D16: parts = {{at, 2}}, keep_half = true; break;
    case Op::kDsReadU16D16Hi: parts = {{at, 2}}, keep_half = high_half = true; break;
    case Op::kDsRead32: parts = {{at, 4}}; break;
    case Op::kDsRead64: parts = {{at, 8}}; break;
    case Op::kDsRead96: parts = {{at, 12}}; break;
    case Op::kDsRead128: parts = {{at, 16}}; break;
    case Op::kDsRead2B32: two(4, 1); break;
    case Op::kDsRead2B64: two(8, 1); break;
    case Op::kDsRead2St64B32: two(4, 64); break;
    case Op::kDsRead2St64B64: two(8, 64); break;
    case Op::kDsWriteB8: parts = {{at, 1}}, store = true; break;
    case Op::kDsWriteB16: parts = {{at, 2}}, store = true; break;
    case Op::kDsWriteB8Hi: parts = {{at, 1}}, store = high_half = true; break;
    case Op::kDsWriteB16Hi: parts = {{at, 2}}, store = high_half = true; break;
    case Op::kDsWriteB32: parts = {{at, 4}}, store = true; break;
    case Op::kDsWriteB64: parts = {{at, 8}}, store = true; break;
    case Op::kDsWriteB96: parts = {{at, 12}}, store = true; break;
    case Op::kDsWriteB128: parts = {{at, 16}}, store = true; break;
    case Op::kDsWrite2B32: two(4, 1), store = true; break;
    case Op::kDsWrite2B64: two(8, 1), store = true; break;
    case Op::kDsWrite2St64B32: two(4, 64), store = true; break;
    case Op::kDsWrite2St64B64: two(8, 64), store = true; break;
    default: return Unmodelled64();
  }
  const GcnOperand& address = store ? o[0] : o[1];
  Value base;
  if (!Read32(address, &base) || base.buffer != 0) return Unmodelled64();
  int word = 0;
  ForgetLdsAccesses();
  for (size_t p = 0; p < parts.size(); ++p) {
    Value sum;
    if (!IntAdd(base, Value::Int(parts[p].offset, 32), 32, &sum)) return false;
    const uint32_t bytes = parts[p].bytes, unit = std::min(bytes, 4u);
    LdsAccess* access = nullptr;
    if (!LdsAccessAt(sum, bytes, &access)) return false;
    for (uint32_t done = 0; done < bytes; done += unit) {
      if (store) {
        const GcnOperand& data = o[1 + p];
        Value v, part;
        if (!ReadWords(data, static_cast<int>(done / 4), &v)) return false;
        if (v.buffer != 0) return Unknown("ADDRESS_AS_DATA", "an address is stored");
        part = v;
        if (unit < 4 && !Slice(v, high_half ? 16 : 0, static_cast<int>(unit) * 8, &part)) return false;
        part.width = static_cast<uint8_t>(unit * 8);
        if (!LdsWrite(access, done, unit, part)) return false;
      } else {
        Value v;
        if (!LdsRead(access, done, unit, &v)) return false;
        if (unit < 4) {
          const Value narrow = v;
          if (keep_half) {
            Value old, kept;
            if (!Read32(o[0], &old) || old.buffer != 0 || !Slice(old, high_half ? 0 : 16, 16, &kept)) return false;
            kept.width = 16;
            if (!Concat(high_half ? std::vector<Value>{kept, narrow} : std::vector<Value>{narrow, kept}, &v)) return false;
          } else if (is_signed) {
            if (!DataUnary(Fn::kSignExtend, unit * 8, static_cast<int>(unit) * 8, 32, narrow, &v)) return false;
          } else if (!Concat({narrow, Value::Int(0, 32 - static_cast<int>(unit) * 8)}, &v)) {
            return false;
          }
        }
        if (!Put(static_cast<uint16_t>(o[0].reg + word), std::move(v))) return false;
        ++word;
      }
    }
  }
  IssueLds(store ? nullptr : &o[0]);
  return true;
}

// Through the LDS crossbar, without memory.
bool WaveMachine::LdsExchange(const GcnInst& in) {
  const auto& o = in.operands;
  if (in.op == Op::kDsPermute) return Unmodelled64();
  std::vector<int> source(space_.lanes(), -1);
  const GcnOperand& data = in.op == Op::kDsBpermute ? o[2] : o[1];
  if (in.op == Op::kDsBpermute) {
    Value address;
    if (!Read32(o[1], &address) || !AsInt(&address) || address.symbolic != 0 || address.mask != 0 || address.buffer != 0)
      return Unknown("SHUFFLE_ON_DATA", "exchange whose lane depends on loaded data or on the block");
    for (int l = 0; l < space_.lanes(); ++l)
      source[l] = l - l % kWaveLanes + static_cast<int>((space_.array(address.array)[l] + address.constant + in.offset) >> 2 & 63);
  } else {
    for (int l = 0; l < space_.lanes(); ++l) {
      const int lane = l & 31;
      const int from = (in.offset & 0x8000) != 0 ? (lane & ~3) | (in.offset >> (2 * (lane & 3)) & 3)
                                                 : ((lane & (in.offset & 31)) | (in.offset >> 5 & 31)) ^ (in.offset >> 10 & 31);
      source[l] = (l & ~31) + from;
    }
    if ((in.offset & 0x8000) != 0 && in.offset >= 0xc000) return Unmodelled64();
  }
  for (int l = 0; l < space_.lanes(); ++l)
    if (space_.Test(exec_, l) && (source[l] >= space_.lanes() || !space_.Test(exec_, source[l])))
      return Unknown("EXCHANGE_INACTIVE", "exchange with a lane that does not execute");
  if (data.kind != OperandKind::kRegister || !Awaited(data.reg)) return Unmodelled64();
  Value v = registers_[data.reg], moved;
  if (v.kind == Value::Kind::kUndef || v.is_predicate() || v.width == 1)
    return Unknown("UNDEFINED_VALUE", "exchange of a register that was never written");
  if (!Materialize(&v) || !Gather(v, defined_[data.reg], SourcesOf(std::move(source)), &moved) || !Put(o[0].reg, std::move(moved))) return false;
  for (int w = 0; w < waves_; ++w)
    if (space_.Test(wave_, w * kWaveLanes)) ++lds_issued_[static_cast<size_t>(w)];
  Pend(&pending_lds_, lds_issued_, o[0]);
  return true;
}

}  // namespace samebits::symexec
