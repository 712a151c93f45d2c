// Integers of an open grid: affine forms over block indices and unknown scalars. What a form modulo m, shifted or
// divided is, is known where m divides the factors of all open terms; block indices are split by residues until it does.

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/symexec/machine.h"

namespace samebits::symexec {

using expr::Compare;
using expr::Fn;

namespace {

constexpr uint64_t kMaxResidues = 4096;
constexpr int64_t kGuardUnit = 16;
constexpr __int128 kLimit = static_cast<__int128>(1) << 62;

// Least k with 0 <= v < 2^k for all v up to hi.
int BitsFor(__int128 hi) {
  int k = 0;
  while (hi >> k != 0) ++k;
  return k;
}

}  // namespace

bool Machine::IsOpen(const Value& a, const Value& b) const {
  return !launch_.grid_known && a.is_int() && b.is_int() && a.buffer == 0 && b.buffer == 0 &&
         (symbolic_.HasTerms(a.symbolic) || symbolic_.HasTerms(b.symbolic));
}

// A shift that takes the upper half of an open integer out, as extensions of shorter integers are written: no index
// arithmetic, and so no part of the assumption that such does not overflow.
bool Machine::OverflowsOnPurpose(const Value& v, int64_t shift, int width) const {
  if (shift < 16 || !IsOpen(v, v)) return false;
  const Interval r = RangeOf(v);
  const __int128 bound = static_cast<__int128>(1) << std::max<int64_t>(0, width - 1 - shift);
  return r.lo < -bound || r.hi >= bound;
}

// One class a residue, where either part differs between the residues of this class.
bool Machine::SplitResidues(SymbolicId a, SymbolicId b, bool* split) {
  *split = !symbolic_[a].table.empty() || !symbolic_[b].table.empty();
  if (!*split) return true;
  std::vector<uint32_t> group(blocks_.size());
  std::iota(group.begin(), group.end(), 0);
  return Split(std::move(group));
}

// v mod m, in [0, m).
Machine::Closed Machine::OpenModulo(const Value& given, int64_t m, int width, Value* low) {
  Value v = given;
  if (!Actual(&v, width, true)) return Closed::kStop;
  std::array<uint32_t, 3> residues = launch_.grid;
  for (const auto& [id, factor] : symbolic_[v.symbolic].terms) {
    const uint64_t size = factor < 0 ? -static_cast<uint64_t>(factor) : static_cast<uint64_t>(factor);
    const uint64_t missing = static_cast<uint64_t>(m) / std::gcd(size, static_cast<uint64_t>(m));
    if (missing == 1) continue;
    if (id > 3 || missing > kMaxResidues) return Closed::kNone;
    uint32_t& r = residues[id - 1];
    r = static_cast<uint32_t>(std::lcm<uint64_t>(r, launch_.grid[id - 1] * missing));
    if (static_cast<uint64_t>(residues[0]) * residues[1] * residues[2] > kMaxResidues) return Closed::kNone;
  }
  if (residues != launch_.grid) {
    if (result_.stop.kind != StopKind::kDone) return Closed::kStop;
    Unknown("REFINE", "");
    result_.stop.kind = StopKind::kRefine;
    result_.stop.residues = residues;
    return Closed::kStop;
  }
  const auto base = symbolic_.WithoutTerms(v.symbolic);
  v.symbolic = base.id;
  const bool power = (m & (m - 1)) == 0;
  if (power) return IntBitwise(Fn::kAnd, v, Value::Int(m - 1, width), width, low) ? Closed::kDone : Closed::kStop;
  if (RangeOf(v).lo >= 0)
    return IntDivide(true, v, Value::Int(m, width), width, true, low) ? Closed::kDone : Closed::kStop;
  const bool ok = Pointwise(v, Value::Int(0, width), width, [m](int64_t p, int64_t) { return ((p % m) + m) % m; }, low);
  return ok ? Closed::kDone : Closed::kStop;
}

// floor(v / d).
Machine::Closed Machine::OpenQuotient(const Value& given, int64_t d, int width, Value* out) {
  Value v = given;
  if (!Actual(&v, width, true)) return Closed::kStop;
  const Interval r = RangeOf(v);
  const auto floor_div = [d](__int128 x) { return x >= 0 ? x / d : -((-x + d - 1) / d); };
  if (floor_div(r.lo) == floor_div(r.hi)) {
    *out = Value::Int(static_cast<int64_t>(floor_div(r.lo)), width);
    return Closed::kDone;
  }
  Value low, minus, exact;
  if (const Closed c = OpenModulo(v, d, width, &low); c != Closed::kDone) return c;
  if (!IntNeg(low, width, &minus) || !IntAdd(v, minus, width, &exact)) return Closed::kStop;
  // Every lane and residue of `exact` is a multiple of d, and so are its parts.
  std::vector<int64_t> lanes(space_.lanes());
  const int64_t* array = space_.array(exact.array);
  for (int l = 0; l < space_.lanes(); ++l) lanes[l] = array[l] / d;
  const auto divided = space_.InternArray(lanes.data());
  const auto symbolic = symbolic_.DivideExactly(exact.symbolic, d);
  *out = Value::Int(exact.constant / d + divided.constant + symbolic.constant, width);
  out->array = divided.id;
  out->symbolic = symbolic.id;
  return Closed::kDone;
}

Machine::Closed Machine::OpenBitwise(Fn fn, const Value& a, const Value& b, int width, Value* out) {
  if (!IsOpen(a, b)) return Closed::kNone;
  Value x = a, y = b;
  if (!symbolic_.HasTerms(x.symbolic)) std::swap(x, y);
  if (!Actual(&x, width, true) || !Actual(&y, width, true)) return Closed::kStop;
  const auto done = [](bool ok) { return ok ? Closed::kDone : Closed::kStop; };
  const Interval rx = RangeOf(x), ry = RangeOf(y);
  if (symbolic_.HasTerms(y.symbolic)) {
    // Apart in their bits: one in [0, 2^k), the other a multiple of 2^k.
    if (fn == Fn::kAnd) return Closed::kNone;
    for (int turn = 0; turn < 2; ++turn) {
      const Interval& r = turn == 0 ? ry : rx;
      const Value& multiple = turn == 0 ? x : y;
      if (r.lo < 0 || r.hi >= kLimit) continue;
      const int64_t unit = int64_t{1} << BitsFor(r.hi);
      bool is_multiple = multiple.array == 0 && multiple.constant % unit == 0;
      for (const auto& [id, factor] : symbolic_[multiple.symbolic].terms) is_multiple &= factor % unit == 0;
      for (const int64_t t : symbolic_[multiple.symbolic].table) is_multiple &= t % unit == 0;
      if (is_multiple) return done(IntAdd(x, y, width, out));
    }
    return Closed::kNone;
  }
  if (fn == Fn::kAnd && ry.lo >= 0 && y.is_uniform_const() && rx.lo >= 0 && rx.hi < kLimit) {
    // Bits above x's own may as well be kept: a mask of its upper bits takes away lower ones.
    const int64_t own = (int64_t{1} << BitsFor(rx.hi)) - 1;
    const int64_t inverse = ~y.constant & own;
    if (BitsFor(inverse) < BitsFor(y.constant & own)) {
      y = Value::Int(~inverse, width);
      return OpenBitwise(fn, x, y, width, out);
    }
  }
  Value low, part, minus, high;
  if (fn == Fn::kXor && y.is_uniform_const() && y.constant == -1) {
    return done(IntNeg(x, width, &minus) && IntAdd(minus, Value::Int(-1, width), width, out));
  }
  const bool negative = ry.hi < 0;
  if (negative && fn != Fn::kAnd) return Closed::kNone;
  if (!negative && (ry.lo < 0 || ry.hi >= kLimit)) return Closed::kNone;
  if (negative) {
    Value inverse;  // x & y = x - (x & ~y)
    if (ry.lo <= -kLimit) return Closed::kNone;
    if (!IntBitwise(Fn::kXor, y, Value::Int(-1, width), width, &inverse)) return Closed::kStop;
    const int64_t unit = int64_t{1} << BitsFor(RangeOf(inverse).hi);
    if (unit == 1) {
      *out = x;
      return Closed::kDone;
    }
    if (const Closed c = OpenModulo(x, unit, width, &low); c != Closed::kDone) return c;
    return done(IntBitwise(Fn::kAnd, low, inverse, width, &part) && IntNeg(part, width, &minus) &&
                IntAdd(x, minus, width, out));
  }
  const int64_t unit = int64_t{1} << BitsFor(ry.hi);
  if (const Closed c = OpenModulo(x, unit, width, &low); c != Closed::kDone) return c;
  if (!IntBitwise(fn, low, y, width, &part)) return Closed::kStop;
  if (fn == Fn::kAnd) {
    *out = std::move(part);
    return Closed::kDone;
  }
  return done(IntNeg(low, width, &minus) && IntAdd(x, minus, width, &high) && IntAdd(high, part, width, out));
}

Machine::Closed Machine::OpenShift(Fn fn, const Value& a, const Value& b, int width, Value* out) {
  if (!IsOpen(a, b) || !b.is_uniform_const() || fn == Fn::kShl) return Closed::kNone;
  const uint32_t amount = static_cast<uint32_t>(b.constant);
  Value x = a;
  if (!Actual(&x, width, true)) return Closed::kStop;
  const Interval r = RangeOf(x);
  if (fn == Fn::kShr && r.lo < 0) return Closed::kNone;
  if (amount > 61) {
    if (r.lo < -kLimit / 2 || r.hi >= kLimit / 2 || r.lo < 0) return Closed::kNone;
    *out = Value::Int(0, width);
    return Closed::kDone;
  }
  const Closed c = OpenQuotient(x, int64_t{1} << amount, width, out);
  if (c != Closed::kNone || r.lo < 0) return c;
  return OpaqueDivide(false, x, Value::Int(int64_t{1} << amount, width), width, {r.lo >> amount, r.hi >> amount}, out);
}

// A quotient or remainder without closed form, as an atom where all lanes share it.
Machine::Closed Machine::OpaqueDivide(bool remainder, const Value& x, const Value& y, int width, Interval range, Value* out) {
  expr::Attr attr;
  attr.flags = expr::Attr::kSigned;
  if (!DataBinary(remainder ? Fn::kIRem : Fn::kIDiv, attr.Encode(), width, x, y, out)) return Closed::kStop;
  return Derived(out, range) ? Closed::kDone : Closed::kStop;
}

Machine::Closed Machine::OpenDivide(bool remainder, const Value& a, const Value& b, int width, bool is_signed,
                                    Value* out) {
  if (!IsOpen(a, b)) return Closed::kNone;
  Value x = a, y = b;
  if (!Actual(&x, width, true) || !Actual(&y, width, true)) return Closed::kStop;
  const Interval rx = RangeOf(x), ry = RangeOf(y);
  if (rx.lo < 0 || ry.lo <= 0) {
    if (!is_signed || width < 32) return Closed::kNone;
    Assume("open divisors are not zero");
    const __int128 most = std::max(rx.lo < 0 ? -rx.lo : rx.lo, rx.hi < 0 ? -rx.hi : rx.hi);
    return OpaqueDivide(remainder, x, y, width, {-most, most}, out);
  }
  if (rx.hi < ry.lo) {
    *out = remainder ? x : Value::Int(0, width);
    return Closed::kDone;
  }
  if (y.is_uniform_const()) {
    const Closed c = remainder ? OpenModulo(x, y.constant, width, out) : OpenQuotient(x, y.constant, width, out);
    if (c != Closed::kNone) return c;
  }
  const Interval range = remainder ? Interval{0, std::min(rx.hi, ry.hi - 1)} : Interval{rx.lo / ry.hi, rx.hi / ry.lo};
  return OpaqueDivide(remainder, x, y, width, range, out);
}

Machine::Closed Machine::OpenMinMax(bool is_max, const Value& a, const Value& b, int width, bool is_signed, Value* out) {
  if (!IsOpen(a, b)) return Closed::kNone;
  Value x = a, y = b, minus, distance;
  if (!Actual(&x, width, true) || !Actual(&y, width, true)) return Closed::kStop;
  const Interval rx = RangeOf(x), ry = RangeOf(y);
  if (!is_signed && (rx.lo < 0 || ry.lo < 0)) return Closed::kNone;
  if (!IntNeg(y, 64, &minus) || !IntAdd(x, minus, 64, &distance)) return Closed::kStop;
  const Interval d = RangeOf(distance);
  if (d.lo >= 0 || d.hi <= 0) {
    *out = (d.lo >= 0) == is_max ? x : y;
    return Closed::kDone;
  }
  expr::Attr attr;
  attr.flags = expr::Attr::kSigned;
  if (!DataBinary(is_max ? Fn::kIMax : Fn::kIMin, attr.Encode(), width, x, y, out)) return Closed::kStop;
  const Interval range = is_max ? Interval{std::max(rx.lo, ry.lo), std::max(rx.hi, ry.hi)}
                                : Interval{std::min(rx.lo, ry.lo), std::min(rx.hi, ry.hi)};
  return Derived(out, range) ? Closed::kDone : Closed::kStop;
}

// Where lanes differ, an argument times the lanes' array is an atom too, one value a lane.
bool Machine::LaneProduct(ArrayId array, AtomId of, SymbolicId* out) {
  const Atom* base = symbolic_.atom(of);
  if (of < kFirstParamAtom || of >= kFirstDerivedAtom || base == nullptr) return false;
  Atom product;
  product.lanes = array;
  product.of = of;
  const LaneSpace::ArrayInfo& range = space_.info(array);
  const __int128 corners[4] = {static_cast<__int128>(range.min) * base->lo, static_cast<__int128>(range.min) * base->hi,
                               static_cast<__int128>(range.max) * base->lo, static_cast<__int128>(range.max) * base->hi};
  product.lo = static_cast<int64_t>(std::max<__int128>(*std::min_element(corners, corners + 4), -kLimit));
  product.hi = static_cast<int64_t>(std::min<__int128>(*std::max_element(corners, corners + 4), kLimit));
  WordHasher h(310);
  h.Add(array);
  h.Add(of);
  product.key = h.Finish();
  *out = symbolic_.FromAtom(symbolic_.Derive(std::move(product))).id;
  return true;
}

// The anchor of an integer: lane atoms become what they are in each lane.
LaneAnchor Machine::AnchorOf(const Value& v) {
  if (!symbolic_.HasLaneAtoms(v.symbolic)) return {v.array, v.symbolic, v.constant};
  const auto terms = symbolic_[v.symbolic].terms;
  SymbolicId shared = v.symbolic;
  std::vector<std::pair<const Atom*, int64_t>> own;
  for (const auto& [id, factor] : terms) {
    const Atom* atom = symbolic_.atom(id);
    if (atom == nullptr || atom->lanes == 0) continue;
    own.push_back({atom, factor});
    shared = symbolic_.Add(shared, symbolic_.Scale(symbolic_.FromAtom(id).id, -factor).id).id;
  }
  std::vector<uint32_t> ids(space_.lanes());
  for (int l = 0; l < space_.lanes(); ++l) {
    SymbolicId sum = shared;
    for (const auto& [atom, factor] : own) {
      const int64_t times = static_cast<int64_t>(static_cast<uint64_t>(factor) * static_cast<uint64_t>(space_.array(atom->lanes)[l]));
      sum = symbolic_.Add(sum, symbolic_.Scale(symbolic_.FromAtom(atom->of).id, times).id).id;
    }
    ids[l] = sum;
  }
  const bool one = std::all_of(ids.begin(), ids.end(), [&](uint32_t id) { return id == ids[0]; });
  return {v.array, one ? ids[0] : space_.InternSymbolics(ids.data()) | kMixed, v.constant};
}

// Of two or more known atoms that are no products themselves.
AtomId Machine::ProductAtom(std::vector<AtomId> factors) {
  Atom product;
  __int128 lo = 1, hi = 1;
  std::vector<Digest128> keys;
  for (const AtomId id : factors) {
    const Atom& atom = *symbolic_.atom(id);
    product.dimensions |= atom.dimensions;
    keys.push_back(atom.key);
    const __int128 corners[4] = {lo * atom.lo, lo * atom.hi, hi * atom.lo, hi * atom.hi};
    lo = std::max(*std::min_element(corners, corners + 4), -kLimit);
    hi = std::min(*std::max_element(corners, corners + 4), kLimit);
  }
  product.lo = static_cast<int64_t>(lo);
  product.hi = static_cast<int64_t>(hi);
  std::sort(factors.begin(), factors.end());
  std::sort(keys.begin(), keys.end());
  WordHasher h(302);
  for (const Digest128& k : keys) h.Add(k);
  product.key = h.Finish();
  product.factors = std::move(factors);
  return symbolic_.Derive(std::move(product));
}

// Products of atoms are atoms: (sum of f_i a_i + c + lanes) * (sum of g_j b_j + d).
Machine::Closed Machine::OpenMultiply(const Value& a, const Value& b, int width, Value* out) {
  if (!IsOpen(a, b) || (a.array != 0 && b.array != 0)) return Closed::kNone;
  if (symbolic_.HasLaneAtoms(a.symbolic) || symbolic_.HasLaneAtoms(b.symbolic)) return Closed::kNone;
  Value x = a, y = b;
  if (x.array == 0) std::swap(x, y);
  if (!Actual(&x, width, true) || !Actual(&y, width, true)) return Closed::kStop;
  bool split;
  if (!SplitResidues(x.symbolic, y.symbolic, &split)) return Closed::kStop;
  const auto left = symbolic_[x.symbolic].terms, right = symbolic_[y.symbolic].terms;
  const auto by_constant = [this](SymbolicId s, int64_t c) { return symbolic_.Scale(s, c).id; };
  SymbolicId sum = symbolic_.Add(by_constant(x.symbolic, y.constant), by_constant(y.symbolic, x.constant)).id;
  if (x.array != 0) {
    for (const auto& [id, factor] : right) {
      SymbolicId lanes;
      if (!LaneProduct(x.array, id, &lanes)) return Closed::kNone;
      sum = symbolic_.Add(sum, by_constant(lanes, factor)).id;
    }
  }
  for (const auto& [ida, fa] : left) {
    for (const auto& [idb, fb] : right) {
      std::vector<AtomId> factors;
      for (const AtomId id : {ida, idb}) {
        const Atom* atom = symbolic_.atom(id);
        if (atom == nullptr) return Closed::kNone;
        if (atom->factors.empty()) {
          factors.push_back(id);
        } else {
          factors.insert(factors.end(), atom->factors.begin(), atom->factors.end());
        }
      }
      if (factors.size() > 4) return Closed::kNone;
      const auto one = symbolic_.FromAtom(ProductAtom(std::move(factors)));
      const int64_t factor = static_cast<int64_t>(static_cast<uint64_t>(fa) * static_cast<uint64_t>(fb));
      sum = symbolic_.Add(sum, symbolic_.Scale(one.id, factor).id).id;
    }
  }
  *out = Value::Int(static_cast<int64_t>(static_cast<uint64_t>(x.constant) * static_cast<uint64_t>(y.constant)), width);
  out->symbolic = sum;
  out->array = space_.Scale(x.array, y.constant);
  return Closed::kDone;
}

// d < 0 exactly where floor(d / u) is: u divides 16 and all that open terms count, so spellings of one bound agree.
void Machine::ToGuardUnits(Value* distance) {
  const SymbolicSpace::Entry& open = symbolic_[distance->symbolic];
  if (!open.table.empty()) return;
  int64_t unit = kGuardUnit;
  for (const auto& [id, factor] : open.terms) unit = std::gcd(unit, factor);
  if (unit == 1) return;
  std::vector<int64_t> lanes(space_.lanes());
  const int64_t* array = space_.array(distance->array);
  const int shift = BitsFor(unit) - 1;
  for (int l = 0; l < space_.lanes(); ++l) lanes[l] = (array[l] + distance->constant) >> shift;
  const auto divided = space_.InternArray(lanes.data());
  distance->array = divided.id;
  distance->constant = divided.constant;
  distance->symbolic = symbolic_.DivideExactly(distance->symbolic, unit).id;
}

Machine::Closed Machine::OpenCompare(Compare compare, const Value& a, const Value& b, int width, bool is_signed,
                                     Value* out) {
  if (!IsOpen(a, b)) return Closed::kNone;
  Value x = a, y = b, minus, distance;
  if (!Actual(&x, width, true) || !Actual(&y, width, true)) return Closed::kStop;
  const bool order = compare != Compare::kEq && compare != Compare::kNe;
  if (order && !is_signed && (RangeOf(x).lo < 0 || RangeOf(y).lo < 0)) return Closed::kNone;
  if (x.symbolic == y.symbolic) return Closed::kNone;
  if (!IntNeg(y, 64, &minus) || !IntAdd(x, minus, 64, &distance)) return Closed::kStop;
  const Interval d = RangeOf(distance);
  int decided = -1;
  switch (compare) {
    case Compare::kLt: decided = d.hi < 0 ? 1 : d.lo >= 0 ? 0 : -1; break;
    case Compare::kLe: decided = d.hi <= 0 ? 1 : d.lo > 0 ? 0 : -1; break;
    case Compare::kGt: decided = d.lo > 0 ? 1 : d.hi <= 0 ? 0 : -1; break;
    case Compare::kGe: decided = d.lo >= 0 ? 1 : d.hi < 0 ? 0 : -1; break;
    case Compare::kEq: decided = d.lo > 0 || d.hi < 0 ? 0 : -1; break;
    default: decided = d.lo > 0 || d.hi < 0 ? 1 : -1; break;
  }
  if (decided >= 0) {
    *out = Value::Predicate(decided ? kAllLanes : kNoLanes);
    return Closed::kDone;
  }
  // One form for all spellings: distance < 0 or distance = 0, its first open term positive; else its contrary.
  switch (compare) {
    case Compare::kLe: distance.constant -= 1; break;
    case Compare::kGt: case Compare::kGe: {
      Value turned;
      if (!IntNeg(distance, 64, &turned)) return Closed::kStop;
      distance = std::move(turned);
      if (compare == Compare::kGe) distance.constant -= 1;
      break;
    }
    default: break;
  }
  bool contrary = compare == Compare::kNe;
  if (symbolic_[distance.symbolic].terms[0].second < 0) {
    Value turned;
    if (!IntNeg(distance, 64, &turned)) return Closed::kStop;
    distance = std::move(turned);
    if (order) {
      distance.constant -= 1;
      contrary = true;
    }
  }
  if (order) {
    // d < 0 exactly where the multiple of 16 at or below d is: vectors guarded as one and lanes guarded apart agree.
    Value low, minus, floor;
    const Closed c = OpenModulo(distance, kGuardUnit, 64, &low);
    if (c == Closed::kStop) return c;
    if (c == Closed::kDone) {
      if (!IntNeg(low, 64, &minus) || !IntAdd(distance, minus, 64, &floor)) return Closed::kStop;
      distance = std::move(floor);
    }
    ToGuardUnits(&distance);
  }
  Lanes left, right = ops_.Const(0, 64), holds;
  left.nodes = nodes_.Int(64);
  left.anchors.push_back(AnchorOf(distance));
  expr::Attr attr;
  attr.compare = order ? Compare::kLt : Compare::kEq;
  if (order) attr.flags = expr::Attr::kSigned;
  attr.from = expr::Format::kB64;
  const Lanes* operands[2] = {&left, &right};
  if (!ops_.Apply(Fn::kICompare, attr.Encode(), 1, operands, &holds)) return OutOfAnchors() ? Closed::kDone : Closed::kStop;
  if (contrary) {
    const Lanes* operand = &holds;
    Lanes inverse;
    if (!ops_.Apply(Fn::kNot, 0, 1, {&operand, 1}, &inverse)) return OutOfAnchors() ? Closed::kDone : Closed::kStop;
    holds = std::move(inverse);
  }
  *out = Value::Bits(std::move(holds), 1);
  return Closed::kDone;
}

// An opaque integer that all lanes share becomes an atom, so that addresses stay affine in it.
bool Machine::Derived(Value* v, Interval range) {
  if (!v->is_bits() || v->pieces.size() != 1) return true;
  const Lanes& lanes = v->pieces[0].lanes;
  if (!lanes.uniform()) return true;
  Atom atom;
  WordHasher h(303);
  h.Add(nodes_[lanes.nodes].digest);
  h.Add(v->width);
  for (size_t i = 0; i < lanes.anchors.size(); ++i) {
    const LaneAnchor& a = lanes.anchors[i];
    if (a.array != 0 || (a.symbolic & kMixed) != 0) return true;
    bool split;
    if (!SplitResidues(a.symbolic, 0, &split)) return false;
    h.Add(nodes_.buffer_key(nodes_.slot_buffer(lanes.nodes, static_cast<int>(i))));
    h.Add(static_cast<uint64_t>(a.constant));
    for (const auto& [id, factor] : symbolic_[a.symbolic].terms) {
      const Atom* inner = symbolic_.atom(id);
      if (inner == nullptr) return true;
      h.Add(inner->key);
      h.Add(static_cast<uint64_t>(factor));
      atom.dimensions |= inner->dimensions;
    }
  }
  atom.key = h.Finish();
  atom.lo = static_cast<int64_t>(std::max<__int128>(range.lo, -kLimit));
  atom.hi = static_cast<int64_t>(std::min<__int128>(range.hi, kLimit));
  const int width = v->width;
  const auto sum = symbolic_.FromAtom(symbolic_.Derive(std::move(atom)));
  *v = Value::Int(sum.constant, width);
  v->symbolic = sum.id;
  return true;
}

}  // namespace samebits::symexec
