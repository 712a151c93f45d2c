// Integer arithmetic on lane vectors with symbolic parts.

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <functional>

#include "core/symexec/machine.h"

namespace samebits::symexec {

using expr::Attr;
using expr::Compare;
using expr::Fn;

namespace {

int64_t WrapTo(int64_t v, int width, bool is_signed) {
  if (width == 64) return v;
  const uint64_t mask = (uint64_t{1} << width) - 1;
  const uint64_t low = static_cast<uint64_t>(v) & mask;
  if (is_signed && (low >> (width - 1)) != 0) return static_cast<int64_t>(low | ~mask);
  return static_cast<int64_t>(low);
}

// Width of operands as a format: what is read from memory has no width of its own.
expr::Format PatternFormat(int width) {
  switch (width) {
    case 1: return expr::Format::kB1;
    case 8: return expr::Format::kB8;
    case 16: return expr::Format::kB16;
    case 32: return expr::Format::kB32;
    default: return expr::Format::kB64;
  }
}

bool CompareInts(Compare compare, int64_t a, int64_t b, bool is_signed) {
  const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (compare) {
    case Compare::kEq: return a == b;
    case Compare::kNe: return a != b;
    case Compare::kLt: return is_signed ? a < b : x < y;
    case Compare::kLe: return is_signed ? a <= b : x <= y;
    case Compare::kGt: return is_signed ? a > b : x > y;
    default: return is_signed ? a >= b : x >= y;
  }
}

// Lanes of p + cp where the comparison with q + cq holds.
MaskId CompareLanes(LaneSpace* space, Compare compare, const int64_t* p, int64_t cp, const int64_t* q, int64_t cq, bool is_signed) {
  const auto where = [&](auto holds) { return space->MaskWhere([&](int l) { return holds(p[l] + cp, q[l] + cq); }); };
  switch (compare) {
    case Compare::kEq: return where(std::equal_to<int64_t>());
    case Compare::kNe: return where(std::not_equal_to<int64_t>());
    case Compare::kLt: return is_signed ? where(std::less<int64_t>()) : where(std::less<uint64_t>());
    case Compare::kLe: return is_signed ? where(std::less_equal<int64_t>()) : where(std::less_equal<uint64_t>());
    case Compare::kGt: return is_signed ? where(std::greater<int64_t>()) : where(std::greater<uint64_t>());
    default: return is_signed ? where(std::greater_equal<int64_t>()) : where(std::greater_equal<uint64_t>());
  }
}

// 1: all of one range and all of the other compare so; 0: none; -1: some may.
int DecideByRange(Compare compare, __int128 x_lo, __int128 x_hi, __int128 y_lo, __int128 y_hi) {
  switch (compare) {
    case Compare::kLt: return x_hi < y_lo ? 1 : x_lo >= y_hi ? 0 : -1;
    case Compare::kLe: return x_hi <= y_lo ? 1 : x_lo > y_hi ? 0 : -1;
    case Compare::kGt: return x_lo > y_hi ? 1 : x_hi <= y_lo ? 0 : -1;
    case Compare::kGe: return x_lo >= y_hi ? 1 : x_hi < y_lo ? 0 : -1;
    case Compare::kEq: return x_hi < y_lo || x_lo > y_hi ? 0 : -1;
    default: return x_hi < y_lo || x_lo > y_hi ? 1 : -1;
  }
}

}  // namespace

Machine::Interval Machine::RangeOf(const Value& v) const {
  const auto& a = space_.info(v.array);
  const auto& s = symbolic_[v.symbolic];
  Interval r = {static_cast<__int128>(v.constant) + a.min + s.min, static_cast<__int128>(v.constant) + a.max + s.max};
  for (const auto& [id, factor] : s.terms) {
    const Atom* atom = symbolic_.atom(id);
    const __int128 lo = static_cast<__int128>(factor) * (atom == nullptr ? INT64_MIN : atom->lo);
    const __int128 hi = static_cast<__int128>(factor) * (atom == nullptr ? INT64_MAX : atom->hi);
    r.lo += std::min(lo, hi);
    r.hi += std::max(lo, hi);
  }
  return r;
}

// Wraps each lane into the type's range; only without a symbolic part.
bool Machine::WrapLanes(Value* v, int width, bool is_signed) {
  std::vector<int64_t> values(space_.lanes());
  const int64_t* array = space_.array(v->array);
  for (int l = 0; l < space_.lanes(); ++l) values[l] = WrapTo(array[l] + v->constant, width, is_signed);
  const auto o = space_.InternArray(values.data());
  v->array = o.id;
  v->constant = o.constant;
  return true;
}

// Makes the representation the actual value of the type in every lane and block.
bool Machine::Actual(Value* v, int width, bool is_signed) {
  if (width >= 64) return true;
  if (v->array == 0 && v->symbolic == 0) {
    v->constant = WrapTo(v->constant, width, is_signed);
    return true;
  }
  const __int128 lo = is_signed ? -(static_cast<__int128>(1) << (width - 1)) : 0;
  const __int128 hi = is_signed ? (static_cast<__int128>(1) << (width - 1)) - 1 : (static_cast<__int128>(1) << width) - 1;
  if (symbolic_.HasTerms(v->symbolic)) {
    Assume("no integer overflow in index arithmetic of open sizes");
    if (!launch_.grid_known && !is_signed && RangeOf(*v).lo < 0)
      Assume("open indices that are read as unsigned are not negative");
    // Constants written unsigned are negative steps.
    const auto& lanes = space_.info(v->array);
    const __int128 half = static_cast<__int128>(1) << (width - 1);
    if (v->constant + static_cast<__int128>(lanes.min) < -half || v->constant + static_cast<__int128>(lanes.max) >= half)
      return WrapLanes(v, width, true);
    return true;
  }
  const Interval r = RangeOf(*v);
  if (r.lo >= lo && r.hi <= hi) return true;
  const __int128 period = static_cast<__int128>(1) << width;
  __int128 turns = (r.lo - lo) / period;
  if ((r.lo - lo) % period < 0) --turns;
  if (r.hi - turns * period <= hi) {
    v->constant = static_cast<int64_t>(v->constant - turns * period);
    return true;
  }
  if (v->symbolic == 0) return WrapLanes(v, width, is_signed);
  const Value source = *v;
  return PerBlock(
      [&](int l, size_t b) {
        return WrapTo(space_.array(source.array)[l] + source.constant + symbolic_.At(source.symbolic, b), width,
                      is_signed);
      },
      width, v);
}

// Any function of lane and block. Separable results keep the class; otherwise blocks part by their lane profile.
bool Machine::PerBlock(const std::function<int64_t(int, size_t)>& f, int width, Value* out) {
  const int n = space_.lanes();
  const size_t blocks = blocks_.size();
  result_.steps += static_cast<uint64_t>(n) * blocks / 8;
  if (!CheckBudget()) return false;
  std::vector<int64_t> first(n), table(blocks);
  for (int l = 0; l < n; ++l) first[l] = f(l, 0);
  table[0] = first[0];
  bool separable = true;
  std::vector<int64_t> lane(n);
  std::vector<uint32_t> group(blocks, 0);
  std::unordered_map<uint64_t, uint32_t> groups;
  for (size_t b = 0; b < blocks; ++b) {
    uint64_t h = 11;
    bool same = true;
    for (int l = 0; l < n; ++l) lane[l] = f(l, b);
    table[b] = lane[0];
    for (int l = 0; l < n; ++l) {
      const int64_t relative = static_cast<int64_t>(static_cast<uint64_t>(lane[l]) - static_cast<uint64_t>(lane[0]));
      same &= relative == static_cast<int64_t>(static_cast<uint64_t>(first[l]) - static_cast<uint64_t>(first[0]));
      h = TableHash(h, static_cast<uint64_t>(relative));
    }
    separable &= same;
    group[b] = groups.emplace(h, static_cast<uint32_t>(groups.size())).first->second;
  }
  if (!separable) return Split(std::move(group));
  const auto o = space_.InternArray(first.data());
  const auto s = symbolic_.FromTable(std::move(table));
  *out = Value::Int(s.constant, width);
  out->array = o.id;
  out->symbolic = s.id;
  return true;
}

// Lane by lane and block by block on actual values.
bool Machine::Pointwise(const Value& a, const Value& b, int width, const std::function<int64_t(int64_t, int64_t)>& op,
                        Value* out) {
  if (a.array == 0 && b.array == 0) {
    if (a.symbolic == 0 && b.symbolic == 0) {
      *out = Value::Int(op(a.constant, b.constant), width);
      return true;
    }
    const auto sum = symbolic_.Map(a.symbolic, a.constant, b.symbolic, b.constant, op);
    *out = Value::Int(sum.constant, width);
    out->symbolic = sum.id;
    return true;
  }
  const int64_t *x = space_.array(a.array), *y = space_.array(b.array);
  if (a.symbolic == 0 && b.symbolic == 0) {
    std::vector<int64_t> values(space_.lanes());
    for (int l = 0; l < space_.lanes(); ++l) values[l] = op(x[l] + a.constant, y[l] + b.constant);
    const auto o = space_.InternArray(values.data());
    *out = Value::Int(o.constant, width);
    out->array = o.id;
    return true;
  }
  const Value ca = a, cb = b;
  return PerBlock(
      [&](int l, size_t block) {
        return op(space_.array(ca.array)[l] + ca.constant + symbolic_.At(ca.symbolic, block),
                  space_.array(cb.array)[l] + cb.constant + symbolic_.At(cb.symbolic, block));
      },
      width, out);
}

bool Machine::DataBinary(Fn fn, uint64_t attr, int width, const Value& a, const Value& b, Value* out) {
  Lanes x, y, z;
  if (!ToLanes(a, a.is_int() ? width : a.width, &x) || !ToLanes(b, b.is_int() ? width : b.width, &y)) return false;
  const Lanes* operands[2] = {&x, &y};
  if (!ops_.Apply(fn, attr, width, operands, &z)) return OutOfAnchors();
  *out = Value::Bits(std::move(z), width);
  return true;
}

bool Machine::DataUnary(Fn fn, uint64_t attr, int from_width, int width, const Value& a, Value* out) {
  Lanes x, z;
  if (!ToLanes(a, from_width, &x)) return false;
  const Lanes* operand = &x;
  if (!ops_.Apply(fn, attr, width, {&operand, 1}, &z)) return OutOfAnchors();
  *out = Value::Bits(std::move(z), width);
  return true;
}

bool Machine::IntAdd(const Value& a, const Value& b, int width, Value* out) {
  if (a.is_int() && b.is_int()) {
    if (a.buffer != 0 && b.buffer != 0) return Unknown("ADDRESS_SUM", "sum of two addresses");
    const auto sum = symbolic_.Add(a.symbolic, b.symbolic);
    Value r = Value::Int(static_cast<int64_t>(static_cast<uint64_t>(a.constant) + static_cast<uint64_t>(b.constant) +
                                              static_cast<uint64_t>(sum.constant)),
                         width);
    r.symbolic = sum.id;
    r.array = space_.Add(a.array, b.array);
    r.buffer = a.buffer != 0 ? a.buffer : b.buffer;
    *out = std::move(r);
    return true;
  }
  // An address plus data: the base stays, the data collects.
  if (a.buffer != 0 || b.buffer != 0) {
    if (a.buffer != 0 && b.buffer != 0) return Unknown("ADDRESS_SUM", "sum of two addresses");
    const Value& base = a.buffer != 0 ? a : b;
    Value offset = base;
    offset.buffer = 0;
    Value data;
    const Value& other = a.buffer != 0 ? b : a;
    if (!DataBinary(Fn::kIAdd, 0, width, offset, other, &data)) return false;
    data.buffer = base.buffer;
    *out = std::move(data);
    return true;
  }
  return DataBinary(Fn::kIAdd, 0, width, a, b, out);
}

bool Machine::IntNeg(const Value& a, int width, Value* out) {
  if (!a.is_int()) return DataUnary(Fn::kINeg, 0, width, width, a, out);
  if (a.buffer != 0) return Unknown("ADDRESS_AS_DATA", "an address is negated");
  const auto sum = symbolic_.Scale(a.symbolic, -1);
  Value r = Value::Int(static_cast<int64_t>(-static_cast<uint64_t>(a.constant)), width);
  r.symbolic = sum.id;
  r.array = space_.Scale(a.array, -1);
  *out = std::move(r);
  return true;
}

bool Machine::IntMul(const Value& a, const Value& b, int width, Value* out) {
  if (!a.is_int() || !b.is_int()) return DataBinary(Fn::kIMul, 0, width, a, b, out);
  if (a.buffer != 0 || b.buffer != 0) return Unknown("ADDRESS_AS_DATA", "an address is multiplied");
  const Value& factor = b.is_uniform_const() ? b : a;
  const Value& other = b.is_uniform_const() ? a : b;
  if (factor.is_uniform_const() && IsOpen(other, factor) && (factor.constant > 0xffff || factor.constant < -0xffff)) {
    const Interval r = RangeOf(other);
    const __int128 bound = static_cast<__int128>(1) << width, size = factor.constant < 0 ? -factor.constant : factor.constant;
    if (r.lo * size <= -bound || r.hi * size >= bound) return DataBinary(Fn::kIMul, 0, width, a, b, out);
  }
  if (factor.is_uniform_const()) {
    const auto sum = symbolic_.Scale(other.symbolic, factor.constant);
    Value r = Value::Int(static_cast<int64_t>(static_cast<uint64_t>(other.constant) * static_cast<uint64_t>(factor.constant)), width);
    r.symbolic = sum.id;
    r.array = space_.Scale(other.array, factor.constant);
    *out = std::move(r);
    return true;
  }
  if (symbolic_.HasTerms(a.symbolic) || symbolic_.HasTerms(b.symbolic)) {
    if (const Closed c = OpenMultiply(a, b, width, out); c != Closed::kNone) return c == Closed::kDone;
    return DataBinary(Fn::kIMul, 0, width, a, b, out);
  }
  Value x = a, y = b;
  if (!Actual(&x, width, true) || !Actual(&y, width, true)) return false;
  return Pointwise(Fn::kIMul, x, y, width, [](int64_t p, int64_t q) {
    return static_cast<int64_t>(static_cast<uint64_t>(p) * static_cast<uint64_t>(q));
  }, out);
}

// v = low + high with low in [0, 2^bits) in every lane and high a multiple of 2^bits shared by lanes.
bool Machine::Decompose(const Value& v, int bits, Value* low, Value* high) {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  if (v.array != 0 && symbolic_[v.symbolic].trailing_zeros < bits) return false;
  const int64_t c = static_cast<int64_t>(static_cast<uint64_t>(v.constant) & mask);
  if (symbolic_[v.symbolic].trailing_zeros < bits) return false;
  *low = v;
  low->symbolic = 0;
  low->constant = c;
  *high = v;
  high->array = 0;
  high->constant = v.constant - c;
  const Interval r = RangeOf(*low);
  return r.lo >= 0 && r.hi <= static_cast<__int128>(mask);
}

bool Machine::IntBitwise(Fn fn, const Value& a, const Value& b, int width, Value* out) {
  if (a.buffer != 0 || b.buffer != 0) return Unknown("ADDRESS_AS_DATA", "bits of an address are used");
  Value x = a, y = b;
  if (AsInt(&x) && AsInt(&y)) {
    if (symbolic_.HasTerms(x.symbolic) || symbolic_.HasTerms(y.symbolic)) {
      if (const Closed c = OpenBitwise(fn, x, y, width, out); c != Closed::kNone) return c == Closed::kDone;
      return DataBinary(fn, 0, width, x, y, out);
    }
    if (!Actual(&x, width, true) || !Actual(&y, width, true)) return false;
    const auto op = [fn](int64_t p, int64_t q) { return fn == Fn::kAnd ? p & q : fn == Fn::kOr ? p | q : p ^ q; };
    const bool separable = (x.array == 0 && y.array == 0) || (x.symbolic == 0 && y.symbolic == 0);
    if (!separable) {
      const int bits = std::min({symbolic_[x.symbolic].trailing_zeros, symbolic_[y.symbolic].trailing_zeros, 62});
      Value xl, xh, yl, yh, low, high;
      if (bits > 0 && Decompose(x, bits, &xl, &xh) && Decompose(y, bits, &yl, &yh))
        return Pointwise(fn, xl, yl, width, op, &low) && Pointwise(fn, xh, yh, width, op, &high) && IntAdd(low, high, width, out);
    }
    return Pointwise(fn, x, y, width, op, out);
  }
  // Data: segment by segment, so that masks cut values instead of hiding them.
  absl::InlinedVector<Piece, 4> pa, pb;
  auto pieces_of = [&](const Value& v, absl::InlinedVector<Piece, 4>* out_pieces) { return ToPieces(v, width, out_pieces); };
  if (!pieces_of(x, &pa) || !pieces_of(y, &pb)) return false;
  // Cut constants at the borders of runs of equal bits and at the other operand's pieces.
  std::vector<int> cuts = {0, width};
  for (const auto* pieces : {&pa, &pb}) {
    int at = 0;
    for (const Piece& p : *pieces) {
      cuts.push_back(at);
      at += p.bits;
    }
  }
  auto constant_cuts = [&](const Value& v, const absl::InlinedVector<Piece, 4>& other) {
    if (!v.is_uniform_const()) return;
    const uint64_t word = static_cast<uint64_t>(v.constant);
    // A flip of exactly the sign of a piece keeps the piece whole.
    std::vector<int> runs;
    int at = 0;
    for (const Piece& p : other) {
      const uint64_t part = p.bits == 64 ? word : word >> at & ((uint64_t{1} << p.bits) - 1);
      const bool sign_only = fn == Fn::kXor && part == uint64_t{1} << (p.bits - 1) && p.bits >= 16;
      if (!sign_only)
        for (int i = 1; i < p.bits; ++i)
          if ((part >> i & 1) != (part >> (i - 1) & 1)) runs.push_back(at + i);
      at += p.bits;
    }
    if (runs.size() <= 6) cuts.insert(cuts.end(), runs.begin(), runs.end());
  };
  constant_cuts(y, pa);
  constant_cuts(x, pb);
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  absl::InlinedVector<Piece, 4> result;
  Value xv, yv;
  FromPieces(pa, width, &xv);
  FromPieces(pb, width, &yv);
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    const int at = cuts[i], bits = cuts[i + 1] - at;
    Value sx, sy;
    if (!Slice(xv, at, bits, &sx) || !Slice(yv, at, bits, &sy)) return false;
    Lanes lx, ly, lz;
    if (!ToLanes(sx, bits, &lx) || !ToLanes(sy, bits, &ly)) return false;
    uint64_t cx = 0, cy = 0;
    const bool kx = ops_.ConstValue(lx, &cx), ky = ops_.ConstValue(ly, &cy);
    const uint64_t ones = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    const Lanes* pair[2] = {&lx, &ly};
    if (fn == Fn::kXor && (kx || ky) && bits >= 16 && (kx ? cx : cy) == uint64_t{1} << (bits - 1)) {
      const Lanes* one = kx ? &ly : &lx;
      if (!ops_.Apply(Fn::kSignFlip, 0, bits, {&one, 1}, &lz)) return OutOfAnchors();
    } else if (fn == Fn::kXor && (kx || ky) && (kx ? cx : cy) == ones) {
      const Lanes* one = kx ? &ly : &lx;
      if (!ops_.Apply(Fn::kNot, 0, bits, {&one, 1}, &lz)) return OutOfAnchors();
    } else if (!ops_.Apply(fn, 0, bits, pair, &lz)) {
      return OutOfAnchors();
    }
    result.push_back({std::move(lz), static_cast<uint8_t>(bits)});
  }
  if (result.size() > 8) {
    // Too finely cut to be worth it: one opaque node.
    return DataBinary(fn, 0, width, x, y, out);
  }
  FromPieces(std::move(result), width, out);
  return true;
}

bool Machine::DataShift(Fn fn, int width, const Value& x, const Value& n, Value* out) {
  Lanes data, count, shifted;
  if (n.is_bits() && n.width != 32) return Unknown("OPERAND", "shift amount of another width");
  if (!ToLanes(x, width, &data) || !ToLanes(n, n.is_int() ? 32 : n.width, &count)) return false;
  const Lanes* operands[2] = {&data, &count};
  if (!ops_.Apply(fn, 0, width, operands, &shifted)) return OutOfAnchors();
  *out = Value::Bits(std::move(shifted), width);
  return true;
}

bool Machine::IntShift(Fn fn, const Value& a, const Value& b, int width, Value* out) {
  if (a.buffer != 0) return Unknown("ADDRESS_AS_DATA", "an address is shifted");
  Value x = a, n = b;
  const bool constant_amount = AsInt(&n) && n.is_uniform_const();
  const int64_t amount = constant_amount ? std::min<uint64_t>(static_cast<uint32_t>(n.constant), static_cast<uint64_t>(width)) : 0;
  if (AsInt(&x) && AsInt(&n)) {
    if (constant_amount && fn == Fn::kShl) {
      const bool to_short = amount + 8 == width || amount + 16 == width || (width == 64 && amount == 32);
      if (to_short && OverflowsOnPurpose(x, amount, width)) return DataShift(fn, width, x, n, out);
      if (amount >= width) {
        *out = Value::Int(0, width);
        return true;
      }
      return IntMul(x, Value::Int(static_cast<int64_t>(uint64_t{1} << amount), width), width, out);
    }
    if (symbolic_.HasTerms(x.symbolic) || symbolic_.HasTerms(n.symbolic)) {
      if (const Closed c = OpenShift(fn, x, n, width, out); c != Closed::kNone) return c == Closed::kDone;
      return DataShift(fn, width, x, n, out);
    }
    const bool is_signed = fn == Fn::kSar;
    if (!Actual(&x, width, is_signed) || !Actual(&n, 32, false)) return false;
    if (constant_amount && x.array != 0 && x.symbolic != 0 && amount < 63 && (is_signed || RangeOf(x).lo >= 0)) {
      const int bits = std::min(symbolic_[x.symbolic].trailing_zeros, 62);
      Value low, high;
      if (bits > 0 && Decompose(x, bits, &low, &high)) {
        Value lo_part, hi_part;
        auto shift = [amount](int64_t p, int64_t) { return p >> amount; };
        const Value none = Value::Int(0, 32);
        if (!Pointwise(high, none, width, shift, &hi_part)) return false;
        if (amount >= bits) {
          *out = std::move(hi_part);
          return true;
        }
        return Pointwise(low, none, width, shift, &lo_part) && IntAdd(lo_part, hi_part, width, out);
      }
    }
    return Pointwise(fn, x, n, width, [fn, width](int64_t p, int64_t q) -> int64_t {
      const uint64_t s = static_cast<uint64_t>(q);
      if (fn == Fn::kSar) return p >> (s >= static_cast<uint64_t>(width) ? width - 1 : static_cast<int>(s));
      if (s >= static_cast<uint64_t>(width)) return 0;
      const uint64_t u = width == 64 ? static_cast<uint64_t>(p) : static_cast<uint64_t>(p) & ((uint64_t{1} << width) - 1);
      return static_cast<int64_t>(fn == Fn::kShl ? u << s : u >> s);
    }, out);
  }
  if (constant_amount && fn != Fn::kSar) {
    if (amount >= width) {
      *out = Value::Int(0, width);
      return true;
    }
    if (amount == 0) {
      *out = x;
      return true;
    }
    absl::InlinedVector<Piece, 4> pieces, kept;
    Value part;
    if (fn == Fn::kShr) {
      if (!Slice(x, static_cast<int>(amount), width - static_cast<int>(amount), &part) || !ToPieces(part, part.width, &kept)) return false;
      kept.push_back({ops_.Const(0, static_cast<int>(amount)), static_cast<uint8_t>(amount)});
    } else {
      kept.push_back({ops_.Const(0, static_cast<int>(amount)), static_cast<uint8_t>(amount)});
      if (!Slice(x, 0, width - static_cast<int>(amount), &part) || !ToPieces(part, part.width, &pieces)) return false;
      for (Piece& p : pieces) kept.push_back(std::move(p));
    }
    if (kept.size() <= 8) {
      FromPieces(std::move(kept), width, out);
      return true;
    }
  }
  return DataShift(fn, width, x, n, out);
}

bool Machine::IntDivide(bool remainder, const Value& a, const Value& b, int width, bool is_signed, Value* out) {
  if (a.buffer != 0 || b.buffer != 0) return Unknown("ADDRESS_AS_DATA", "an address is divided");
  Value x = a, y = b;
  Attr attr;
  if (is_signed) attr.flags = Attr::kSigned;
  const Fn fn = remainder ? Fn::kIRem : Fn::kIDiv;
  if (AsInt(&x) && AsInt(&y))
    if (const Closed c = OpenDivide(remainder, x, y, width, is_signed, out); c != Closed::kNone) return c == Closed::kDone;
  if (!AsInt(&x) || !AsInt(&y) || symbolic_.HasTerms(x.symbolic) || symbolic_.HasTerms(y.symbolic))
    return DataBinary(fn, attr.Encode(), width, a, b, out);
  if (!Actual(&x, width, is_signed) || !Actual(&y, width, is_signed)) return false;
  if (const Interval r = RangeOf(y); r.lo <= 0 && r.hi >= 0) {
    const int64_t* array = space_.array(y.array);
    for (size_t b = 0; b < (y.symbolic == 0 ? 1 : blocks_.size()); ++b)
      for (int l = 0; l < space_.lanes(); ++l)
        if (array[l] + y.constant + symbolic_.At(y.symbolic, b) == 0 && space_.Test(exec_, l))
          return Unknown("DIVISION_BY_ZERO", "integer division by zero: its result is not specified");
  }
  if (y.is_uniform_const() && y.constant > 0 && x.array != 0 && x.symbolic != 0 && RangeOf(x).lo >= 0 &&
      RangeOf(x).hi <= INT64_MAX) {
    // lanes + blocks with blocks a multiple of the divisor: the parts divide apart.
    const int64_t d = y.constant;
    bool multiple = true;
    for (const int64_t t : symbolic_[x.symbolic].table) multiple &= t % d == 0;
    if (multiple) {
      Value low = x, high = x;
      const int64_t c = ((x.constant % d) + d) % d;
      low.symbolic = 0;
      low.constant = c;
      high.array = 0;
      high.constant = x.constant - c;
      if (RangeOf(low).lo >= 0) {
        Value lo_part, hi_part;
        const Value none = Value::Int(0, width);
        if (remainder) return Pointwise(low, none, width, [d](int64_t p, int64_t) { return p % d; }, out);
        return Pointwise(low, none, width, [d](int64_t p, int64_t) { return p / d; }, &lo_part) &&
               Pointwise(high, none, width, [d](int64_t p, int64_t) { return p / d; }, &hi_part) &&
               IntAdd(lo_part, hi_part, width, out);
      }
    }
  }
  const bool wide_unsigned = width == 64 && !is_signed;
  return Pointwise(x, y, width, [=](int64_t p, int64_t q) -> int64_t {
    if (q == 0) return remainder ? p : -1;
    if (wide_unsigned) {
      const uint64_t u = static_cast<uint64_t>(p), w = static_cast<uint64_t>(q);
      return static_cast<int64_t>(remainder ? u % w : u / w);
    }
    if (q == -1) return remainder ? 0 : static_cast<int64_t>(-static_cast<uint64_t>(p));
    return remainder ? p % q : p / q;
  }, out);
}

bool Machine::IntMinMax(bool is_max, const Value& a, const Value& b, int width, bool is_signed, Value* out) {
  if (a.buffer != 0 || b.buffer != 0) return Unknown("ADDRESS_AS_DATA", "an address is compared");
  Value x = a, y = b;
  Attr attr;
  if (is_signed) attr.flags = Attr::kSigned;
  if (AsInt(&x) && AsInt(&y))
    if (const Closed c = OpenMinMax(is_max, x, y, width, is_signed, out); c != Closed::kNone) return c == Closed::kDone;
  if (!AsInt(&x) || !AsInt(&y) || symbolic_.HasTerms(x.symbolic) || symbolic_.HasTerms(y.symbolic))
    return DataBinary(is_max ? Fn::kIMax : Fn::kIMin, attr.Encode(), width, a, b, out);
  if (!Actual(&x, width, is_signed) || !Actual(&y, width, is_signed)) return false;
  return Pointwise(x, y, width, [=](int64_t p, int64_t q) {
    const bool less = is_signed ? p < q : static_cast<uint64_t>(p) < static_cast<uint64_t>(q);
    return less == is_max ? q : p;
  }, out);
}

bool Machine::IntCompare(Compare compare, const Value& a, const Value& b, int width, bool is_signed, Value* out) {
  Value x = a, y = b;
  if (a.buffer != 0 || b.buffer != 0) {
    // An argument is compared with null, or two offsets into one buffer with each other.
    const bool null = (a.buffer == 0 && a.is_uniform_const() && a.constant == 0) ||
                      (b.buffer == 0 && b.is_uniform_const() && b.constant == 0);
    if (null && (compare == Compare::kEq || compare == Compare::kNe)) {
      Assume("pointer arguments are not null");
      *out = Value::Predicate(compare == Compare::kNe ? kAllLanes : kNoLanes);
      return true;
    }
    if (a.buffer != b.buffer || !a.is_int() || !b.is_int())
      return Unknown("ADDRESS_AS_DATA", "addresses of different buffers are compared");
    x.buffer = y.buffer = 0;
    is_signed = true;
  }
  if (!AsInt(&x) || !AsInt(&y) || symbolic_.HasTerms(x.symbolic) || symbolic_.HasTerms(y.symbolic)) {
    if (x.is_int() && y.is_int() && x.symbolic == y.symbolic && (compare == Compare::kEq || compare == Compare::kNe || is_signed)) {
      // The open parts cancel.
      if (compare != Compare::kEq && compare != Compare::kNe) Assume("no integer overflow in index arithmetic of open sizes");
      x.symbolic = y.symbolic = 0;
    } else {
      if (AsInt(&x) && AsInt(&y))
        if (const Closed c = OpenCompare(compare, x, y, width, is_signed, out); c != Closed::kNone) return c == Closed::kDone;
      Lanes lx, ly, lz;
      if (!ToLanes(x, width, &lx) || !ToLanes(y, width, &ly)) return false;
      Attr attr;
      attr.compare = compare;
      if (is_signed) attr.flags = Attr::kSigned;
      if (compare == Compare::kEq || compare == Compare::kNe) attr.flags = 0;
      attr.from = PatternFormat(width);
      const Lanes* operands[2] = {&lx, &ly};
      if (!ops_.Apply(Fn::kICompare, attr.Encode(), 1, operands, &lz)) return OutOfAnchors();
      *out = Value::Bits(std::move(lz), 1);
      return true;
    }
  }
  if (!Actual(&x, width, is_signed) || !Actual(&y, width, is_signed)) return false;
  const bool as_signed = is_signed || width < 64;
  const auto wraps = [this](const Value& v) {
    const Interval r = RangeOf(v);
    return r.lo < INT64_MIN || r.hi > INT64_MAX;
  };
  const bool ordered = as_signed && !wraps(x) && !wraps(y);  // ranges and cancelling keep the order
  const int64_t *p = space_.array(x.array), *q = space_.array(y.array);
  if (x.symbolic == y.symbolic) {
    // Equal symbolic parts cancel where order survives it.
    if (x.symbolic == 0 || ordered) {
      if (x.array == 0 && y.array == 0) {
        *out = Value::Predicate(CompareInts(compare, x.constant, y.constant, as_signed) ? kAllLanes : kNoLanes);
        return true;
      }
      const auto &lanes_x = space_.info(x.array), &lanes_y = space_.info(y.array);
      const __int128 cx = x.constant, cy = y.constant;
      const int decided = ordered ? DecideByRange(compare, cx + lanes_x.min, cx + lanes_x.max, cy + lanes_y.min, cy + lanes_y.max) : -1;
      *out = Value::Predicate(decided >= 0 ? (decided ? kAllLanes : kNoLanes)
                                           : CompareLanes(&space_, compare, p, x.constant, q, y.constant, as_signed));
      return true;
    }
  }
  if (ordered) {
    const Interval rx = RangeOf(x), ry = RangeOf(y);
    const int decided = DecideByRange(compare, rx.lo, rx.hi, ry.lo, ry.hi);
    if (decided >= 0) {
      *out = Value::Predicate(decided ? kAllLanes : kNoLanes);
      return true;
    }
  }
  // Block by block, once per distinct pair of symbolic values.
  std::vector<uint32_t> group(blocks_.size());
  std::map<std::pair<int64_t, int64_t>, MaskId> seen;
  std::unordered_map<MaskId, uint32_t> groups;
  MaskId mask = 0;
  for (size_t b = 0; b < blocks_.size(); ++b) {
    const int64_t sx = symbolic_.At(x.symbolic, b), sy = symbolic_.At(y.symbolic, b);
    auto [it, fresh] = seen.try_emplace({sx, sy}, 0);
    if (fresh) {
      it->second = CompareLanes(&space_, compare, p, x.constant + sx, q, y.constant + sy, as_signed);
      result_.steps += static_cast<uint64_t>(space_.lanes()) / 8;
    }
    mask = it->second;
    group[b] = groups.emplace(mask, static_cast<uint32_t>(groups.size())).first->second;
  }
  if (!CheckBudget()) return false;
  if (groups.size() > 1) return Split(std::move(group));
  *out = Value::Predicate(mask);
  return true;
}

// Value-preserving change of an integer's width.
bool Machine::WidenInt(Value* v, int from, bool is_signed, int to) {
  if (v->buffer != 0) {
    v->width = static_cast<uint8_t>(to);
    return true;
  }
  if (!Actual(v, from, is_signed)) return false;
  v->width = static_cast<uint8_t>(to);
  return true;
}

}  // namespace samebits::symexec
