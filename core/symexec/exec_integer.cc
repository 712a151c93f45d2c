// Integer, logic, shift and move instructions (PTX ISA 9.7.1, 9.7.8, 9.7.9).

#include <algorithm>
#include <bit>

#include "core/symexec/machine.h"

namespace samebits::symexec {

using expr::Attr;
using expr::Fn;
using isa::ScalarType;
using isa::ptx::Mod;
using isa::ptx::Op;

namespace {

bool IsPackedInteger(ScalarType t) {
  return t == ScalarType::kU16x2 || t == ScalarType::kS16x2 || t == ScalarType::kU8x4 || t == ScalarType::kS8x4;
}

// Value of one lop3 table at bits a, b, c.
uint64_t Lop3(uint64_t a, uint64_t b, uint64_t c, unsigned table) {
  uint64_t r = 0;
  for (int i = 0; i < 8; ++i)
    if (table >> i & 1) r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return r;
}

// A known position or length of a bit field. Eight bits count; but for fields of 64 bits devices take all, so that beyond
// 255 these stay opaque.
bool IsExtent(const Value& v, int width) {
  return v.is_uniform_const() && (width == 32 || (v.constant >= 0 && v.constant <= 255));
}

}  // namespace

// A pure function of its operands' bits, known by its spelling only: equal spelling and operands, equal result.
bool Machine::Generic(const Inst& in, int result_width, std::initializer_list<int> operand_widths) {
  if (in.has_unknown_modifier) return Unmodelled(in);
  WordHasher h(77);
  for (const char c : in.name) h.Add(static_cast<uint8_t>(c));
  nodes_.DescribeIsa(h.Finish64(), {std::string(in.name), operand_widths});
  std::vector<Lanes> lanes(operand_widths.size());
  std::vector<const Lanes*> refs;
  int i = 0;
  for (const int width : operand_widths) {
    Value v;
    if (!Get(Op(in, i + 1), width, false, &v)) return false;
    if (v.is_bits() && v.width > width) {
      Value cut;
      if (!Slice(v, 0, width, &cut)) return false;
      v = std::move(cut);
    }
    if (!ToLanes(v, width, &lanes[i])) return false;
    refs.push_back(&lanes[i]);
    ++i;
  }
  Lanes z;
  if (!ops_.Apply(Fn::kIsa, h.Finish64(), result_width, refs, &z)) return OutOfAnchors();
  return Set(Op(in, 0), Value::Bits(std::move(z), result_width));
}

bool Machine::ExecInteger(const Inst& in) {
  const ScalarType type = in.type();
  if (IsPackedInteger(type)) return Unmodelled(in);
  const int width = isa::BitWidth(type);
  const bool is_signed = isa::IsSigned(type);
  auto operand = [&](int i, Value* v) {
    if (!Get(Op(in, i), width, false, v)) return false;
    if (v->is_bits() && v->buffer == 0 && v->width > width) {
      Value cut;
      if (!Slice(*v, 0, width, &cut)) return false;
      *v = std::move(cut);
    }
    return true;
  };
  Value a, b, c, r;
  switch (in.op) {
    case Op::kAdd: case Op::kSub:
      if (in.Has(Mod::kCc) || in.Has(Mod::kSat)) return Unmodelled(in);
      if (!CheckMods(in, {}) || !operand(1, &a) || !operand(2, &b)) return false;
      if (in.op == Op::kSub) {
        if (b.buffer != 0 && a.buffer == b.buffer && a.is_int() && b.is_int()) {
          a.buffer = b.buffer = 0;  // distance within one buffer
        }
        Value n;
        if (!IntNeg(b, width, &n)) return false;
        b = std::move(n);
      }
      return IntAdd(a, b, width, &r) && Set(Op(in, 0), std::move(r));
    case Op::kMul: case Op::kMad: {
      if (!CheckMods(in, {Mod::kLo, Mod::kHi, Mod::kWide})) return false;
      if (!operand(1, &a) || !operand(2, &b)) return false;
      int result_width = width;
      Value product;
      if (in.Has(Mod::kWide)) {
        result_width = 2 * width;
        // Data widens first, so that the product is one of the wide type.
        auto widen = [&](Value* v) {
          if (AsInt(v)) return WidenInt(v, width, is_signed, result_width);
          Value wide;
          if (is_signed) {
            if (!DataUnary(Fn::kSignExtend, static_cast<uint64_t>(width), width, result_width, *v, &wide)) return false;
          } else if (!Concat({*v, Value::Int(0, width)}, &wide)) {
            return false;
          }
          *v = std::move(wide);
          return true;
        };
        if (!widen(&a) || !widen(&b) || !IntMul(a, b, result_width, &product)) return false;
      } else if (in.Has(Mod::kHi)) {
        if (!AsInt(&a) || !AsInt(&b) || symbolic_.HasTerms(a.symbolic) || symbolic_.HasTerms(b.symbolic)) {
          Attr attr;
          if (is_signed) attr.flags = Attr::kSigned;
          if (!DataBinary(Fn::kIMulHi, attr.Encode(), width, a, b, &product)) return false;
        } else {
          if (!Actual(&a, width, is_signed) || !Actual(&b, width, is_signed)) return false;
          if (!Pointwise(a, b, width, [width, is_signed](int64_t p, int64_t q) -> int64_t {
                if (width < 64) return static_cast<int64_t>(static_cast<uint64_t>(p) * static_cast<uint64_t>(q)) >> width;
                const __int128 full = is_signed ? static_cast<__int128>(p) * q
                                                : static_cast<__int128>(static_cast<unsigned __int128>(static_cast<uint64_t>(p)) * static_cast<uint64_t>(q));
                return static_cast<int64_t>(static_cast<unsigned __int128>(full) >> 64);
              }, &product))
            return false;
        }
      } else if (!IntMul(a, b, width, &product)) {
        return false;
      }
      if (in.op == Op::kMul) return Set(Op(in, 0), std::move(product));
      if (!Get(Op(in, 3), result_width, false, &c)) return false;
      return IntAdd(product, c, result_width, &r) && Set(Op(in, 0), std::move(r));
    }
    case Op::kDiv: case Op::kRem:
      if (!CheckMods(in, {}) || !operand(1, &a) || !operand(2, &b)) return false;
      return IntDivide(in.op == Op::kRem, a, b, width, is_signed, &r) && Set(Op(in, 0), std::move(r));
    case Op::kMin: case Op::kMax:
      if (!CheckMods(in, {}) || !operand(1, &a) || !operand(2, &b)) return false;
      return IntMinMax(in.op == Op::kMax, a, b, width, is_signed, &r) && Set(Op(in, 0), std::move(r));
    case Op::kNeg:
      if (!CheckMods(in, {}) || !operand(1, &a)) return false;
      return IntNeg(a, width, &r) && Set(Op(in, 0), std::move(r));
    case Op::kAbs:
      if (!CheckMods(in, {}) || !operand(1, &a)) return false;
      if (!AsInt(&a) || symbolic_.HasTerms(a.symbolic))
        return DataUnary(Fn::kIAbs, 0, width, width, a, &r) && Set(Op(in, 0), std::move(r));
      if (!Actual(&a, width, true)) return false;
      return Pointwise(a, a, width, [](int64_t p, int64_t) { return p < 0 ? -p : p; }, &r) && Set(Op(in, 0), std::move(r));
    case Op::kPopc: case Op::kClz: case Op::kBrev: case Op::kBfind: {
      if (!CheckMods(in, {}) || !operand(1, &a)) return false;
      const isa::ptx::Op op = in.op;
      const int result_width = op == Op::kBrev ? width : 32;
      if (!AsInt(&a) || symbolic_.HasTerms(a.symbolic)) return Generic(in, result_width, {width});
      if (op == Op::kBfind && is_signed) return Unmodelled(in);
      if (!Actual(&a, width, false)) return false;
      return Pointwise(a, a, result_width, [op, width](int64_t p, int64_t) -> int64_t {
               const uint64_t u = static_cast<uint64_t>(p);
               if (op == Op::kPopc) return std::popcount(u);
               if (op == Op::kClz) return std::countl_zero(u) - (64 - width);
               if (op == Op::kBfind) return u == 0 ? 0xffffffff : 63 - std::countl_zero(u);
               uint64_t reversed = 0;
               for (int i = 0; i < width; ++i) reversed |= (u >> i & 1) << (width - 1 - i);
               return static_cast<int64_t>(reversed);
             }, &r) && Set(Op(in, 0), std::move(r));
    }
    default: return Unmodelled(in);
  }
}

bool Machine::ExecBits(const Inst& in) {
  const int width = isa::BitWidth(in.type());
  Value a, b, c, r;
  auto operand = [&](int i, Value* v) {
    if (!Get(Op(in, i), width, false, v)) return false;
    if (v->is_bits() && v->buffer == 0 && v->width > width) {
      Value cut;
      if (!Slice(*v, 0, width, &cut)) return false;
      *v = std::move(cut);
    }
    return true;
  };
  switch (in.op) {
    case Op::kAnd: case Op::kOr: case Op::kXor:
      if (!CheckMods(in, {}) || !operand(1, &a) || !operand(2, &b)) return false;
      return IntBitwise(in.op == Op::kAnd ? Fn::kAnd : in.op == Op::kOr ? Fn::kOr : Fn::kXor, a, b, width, &r) &&
             Set(Op(in, 0), std::move(r));
    case Op::kNot:
      if (!CheckMods(in, {}) || !operand(1, &a)) return false;
      return IntBitwise(Fn::kXor, a, Value::Int(-1, width), width, &r) && Set(Op(in, 0), std::move(r));
    case Op::kShl: case Op::kShr: {
      if (!CheckMods(in, {}) || !operand(1, &a)) return false;
      if (!Get(Op(in, 2), 32, false, &b)) return false;
      const Fn fn = in.op == Op::kShl ? Fn::kShl : isa::IsSigned(in.type()) ? Fn::kSar : Fn::kShr;
      return IntShift(fn, a, b, width, &r) && Set(Op(in, 0), std::move(r));
    }
    case Op::kShf: {
      // Funnel: {b:a} shifted; amount c, clamped or wrapped.
      if (!CheckMods(in, {Mod::kL, Mod::kR, Mod::kClamp, Mod::kWrap})) return false;
      if (!operand(1, &a) || !operand(2, &b) || !Get(Op(in, 3), 32, false, &c)) return false;
      if (!AsInt(&c) || !c.is_uniform_const()) return Generic(in, 32, {32, 32, 32});
      const uint32_t amount = in.Has(Mod::kWrap) ? static_cast<uint32_t>(c.constant) & 31
                                                 : std::min(static_cast<uint32_t>(c.constant), 32u);
      Value pair;
      if (!Concat({a, b}, &pair)) return false;
      return Slice(pair, static_cast<int>(in.Has(Mod::kR) ? amount : 32 - amount), 32, &r) && Set(Op(in, 0), std::move(r));
    }
    case Op::kBfe: {
      if (!CheckMods(in, {}) || !operand(1, &a)) return false;
      if (!Get(Op(in, 2), 32, false, &b) || !Get(Op(in, 3), 32, false, &c)) return false;
      if (!AsInt(&b) || !AsInt(&c) || !IsExtent(b, width) || !IsExtent(c, width)) return Generic(in, width, {width, 32, 32});
      const int pos = static_cast<int>(b.constant & 255), len = static_cast<int>(c.constant & 255);
      const bool is_signed = isa::IsSigned(in.type());
      if (len == 0) return Set(Op(in, 0), Value::Int(0, width));
      if (pos >= width) {
        if (is_signed) return Generic(in, width, {width, 32, 32});
        return Set(Op(in, 0), Value::Int(0, width));
      }
      if (AsInt(&a)) {
        // Left then right: exact for both signs.
        const int top = std::min(pos + len, width);
        Value left;
        if (is_signed && OverflowsOnPurpose(a, width - top, width)) return Generic(in, width, {width, 32, 32});
        if (is_signed) {
          return IntShift(Fn::kShl, a, Value::Int(width - top, 32), width, &left) &&
                 IntShift(Fn::kSar, left, Value::Int(width - top + pos, 32), width, &r) && Set(Op(in, 0), std::move(r));
        }
        const uint64_t mask = top - pos >= 64 ? ~uint64_t{0} : (uint64_t{1} << (top - pos)) - 1;
        return IntShift(Fn::kShr, a, Value::Int(pos, 32), width, &left) &&
               IntBitwise(Fn::kAnd, left, Value::Int(static_cast<int64_t>(mask), width), width, &r) &&
               Set(Op(in, 0), std::move(r));
      }
      const int bits = std::min(len, width - pos);
      Value part;
      if (!Slice(a, pos, bits, &part)) return false;
      if (bits == width) return Set(Op(in, 0), std::move(part));
      if (is_signed) {
        return DataUnary(Fn::kSignExtend, static_cast<uint64_t>(bits), bits, width, part, &r) && Set(Op(in, 0), std::move(r));
      }
      return Concat({part, Value::Int(0, width - bits)}, &r) && Set(Op(in, 0), std::move(r));
    }
    case Op::kBfi: {
      if (!CheckMods(in, {}) || !operand(1, &a) || !operand(2, &b)) return false;
      Value pos, len;
      if (!Get(Op(in, 3), 32, false, &pos) || !Get(Op(in, 4), 32, false, &len)) return false;
      if (!AsInt(&pos) || !AsInt(&len) || !IsExtent(pos, width) || !IsExtent(len, width)) return Generic(in, width, {width, width, 32, 32});
      const int p = static_cast<int>(pos.constant & 255), n = std::min(static_cast<int>(len.constant & 255), width - p);
      if (p >= width || n <= 0) return Set(Op(in, 0), std::move(b));
      const uint64_t mask = (n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1) << p;
      Value shifted, inserted, kept;
      return IntShift(Fn::kShl, a, Value::Int(p, 32), width, &shifted) &&
             IntBitwise(Fn::kAnd, shifted, Value::Int(static_cast<int64_t>(mask), width), width, &inserted) &&
             IntBitwise(Fn::kAnd, b, Value::Int(static_cast<int64_t>(~mask), width), width, &kept) &&
             IntBitwise(Fn::kOr, inserted, kept, width, &r) && Set(Op(in, 0), std::move(r));
    }
    case Op::kLop3: {
      if (!CheckMods(in, {})) return false;
      Value table;
      if (!operand(1, &a) || !operand(2, &b) || !operand(3, &c) || !Get(Op(in, 4), 32, false, &table)) return false;
      if (!table.is_uniform_const()) return Unmodelled(in);
      const unsigned lut = static_cast<unsigned>(table.constant) & 255;
      if (AsInt(&a) && AsInt(&b) && AsInt(&c) && a.symbolic == 0 && b.symbolic == 0 && c.symbolic == 0 &&
          a.buffer == 0 && b.buffer == 0 && c.buffer == 0) {
        const int64_t *x = space_.array(a.array), *y = space_.array(b.array), *z = space_.array(c.array);
        std::vector<int64_t> values(space_.lanes());
        for (int l = 0; l < space_.lanes(); ++l)
          values[l] = static_cast<int64_t>(Lop3(static_cast<uint64_t>(x[l] + a.constant), static_cast<uint64_t>(y[l] + b.constant),
                                                static_cast<uint64_t>(z[l] + c.constant), lut));
        const auto o = space_.InternArray(values.data());
        r = Value::Int(o.constant, width);
        r.array = o.id;
        return Set(Op(in, 0), std::move(r));
      }
      // Sum of products over the table, as two-operand steps: exact bit by bit.
      Value sum = Value::Int(0, width);
      const Value ones = Value::Int(-1, width);
      const Value* sources[3] = {&a, &b, &c};
      for (int i = 0; i < 8; ++i) {
        if (!(lut >> i & 1)) continue;
        Value term = ones;
        for (int k = 0; k < 3; ++k) {
          Value factor = *sources[k];
          if (!(i >> (2 - k) & 1)) {
            Value inverse;
            if (!IntBitwise(Fn::kXor, factor, ones, width, &inverse)) return false;
            factor = std::move(inverse);
          }
          Value next;
          if (!IntBitwise(Fn::kAnd, term, factor, width, &next)) return false;
          term = std::move(next);
        }
        Value next;
        if (!IntBitwise(Fn::kOr, sum, term, width, &next)) return false;
        sum = std::move(next);
      }
      return Set(Op(in, 0), std::move(sum));
    }
    case Op::kPrmt: {
      if (in.mod_count != 0) return Generic(in, 32, {32, 32, 32});  // .f4e, .b4e, ...
      if (!CheckMods(in, {})) return false;
      if (!operand(1, &a) || !operand(2, &b) || !Get(Op(in, 3), 32, false, &c)) return false;
      if (!AsInt(&c) || !c.is_uniform_const()) return Generic(in, 32, {32, 32, 32});
      if (AsInt(&a) && AsInt(&b) && a.buffer == 0 && b.buffer == 0 && !symbolic_.HasTerms(a.symbolic) && !symbolic_.HasTerms(b.symbolic)) {
        if (!Actual(&a, 32, false) || !Actual(&b, 32, false)) return false;
        const uint32_t selectors = static_cast<uint32_t>(c.constant);
        return Pointwise(a, b, 32, [selectors](int64_t p, int64_t q) {
                 const uint64_t pair = static_cast<uint32_t>(p) | static_cast<uint64_t>(q) << 32;
                 uint32_t out = 0;
                 for (int i = 0; i < 4; ++i) {
                   const uint32_t selector = selectors >> (4 * i) & 15;
                   uint32_t byte = static_cast<uint32_t>(pair >> (8 * (selector & 7))) & 255;
                   if (selector & 8) byte = byte & 128 ? 255 : 0;
                   out |= byte << (8 * i);
                 }
                 return static_cast<int64_t>(out);
               }, &r) && Set(Op(in, 0), std::move(r));
      }
      Value pair;
      if (!Concat({a, b}, &pair)) return false;
      std::vector<Value> bytes(4);
      for (int i = 0; i < 4; ++i) {
        const unsigned selector = static_cast<unsigned>(c.constant >> (4 * i)) & 15;
        if (selector & 8) return Generic(in, 32, {32, 32, 32});
        if (!Slice(pair, static_cast<int>(selector) * 8, 8, &bytes[i])) return false;
      }
      // Bytes that were neighbours join again.
      Value joined;
      if (!Concat(bytes, &joined)) return false;
      Lanes lanes;
      if (joined.is_bits()) {
        for (int half = 0; half < 2; ++half) {
          const unsigned low = static_cast<unsigned>(c.constant >> (8 * half)) & 15;
          const unsigned high = static_cast<unsigned>(c.constant >> (8 * half + 4)) & 15;
          Value part;
          if (high == low + 1 && Slice(pair, static_cast<int>(low) * 8, 16, &part)) {
            bytes[2 * half] = part;
            bytes[2 * half + 1] = Value();
          }
        }
        std::vector<Value> parts;
        for (const Value& v : bytes)
          if (v.kind != Value::Kind::kUndef) parts.push_back(v);
        if (!Concat(parts, &joined)) return false;
      }
      return Set(Op(in, 0), std::move(joined));
    }
    default: return Unmodelled(in);
  }
}

bool Machine::ExecPredicateLogic(const Inst& in) {
  if (!CheckMods(in, {})) return false;
  Value a, b;
  MaskId ka, kb = kNoLanes;
  Lanes la, lb;
  bool ia, ib = true;
  if (!Get(Op(in, 1), 1, false, &a) || !AsPredicate(a, &ka, &la, &ia)) return false;
  if (in.op == Op::kNot) {
    Value r;
    if (ia) return Set(Op(in, 0), Value::Predicate(space_.AndNot(kAllLanes, ka)));
    return DataUnary(Fn::kNot, 0, 1, 1, a, &r) && Set(Op(in, 0), std::move(r));
  }
  if (!Get(Op(in, 2), 1, false, &b) || !AsPredicate(b, &kb, &lb, &ib)) return false;
  if (in.op != Op::kAnd && in.op != Op::kOr && in.op != Op::kXor) return Unmodelled(in);
  if (ia && ib) {
    const MaskId m = in.op == Op::kAnd ? space_.And(ka, kb) : in.op == Op::kOr ? space_.Or(ka, kb) : space_.Xor(ka, kb);
    return Set(Op(in, 0), Value::Predicate(m));
  }
  Value r;
  if (!launch_.grid_known && ia != ib && in.op != Op::kXor) {
    // Known lanes decide, the others are the other operand.
    const MaskId known = ia ? ka : kb;
    const bool is_and = in.op == Op::kAnd;
    Lanes joined;
    if (!ops_.Blend(is_and ? known : space_.AndNot(kAllLanes, known), ia ? lb : la, ops_.Const(is_and ? 0 : 1, 1), &joined))
      return OutOfAnchors();
    return Set(Op(in, 0), Value::Bits(std::move(joined), 1));
  }
  return DataBinary(in.op == Op::kAnd ? Fn::kAnd : in.op == Op::kOr ? Fn::kOr : Fn::kXor, 0, 1, a, b, &r) &&
         Set(Op(in, 0), std::move(r));
}

bool Machine::ExecMove(const Inst& in) {
  Value v;
  if (in.op == Op::kCreatepolicy) {  // a cache hint: memory instructions ignore it, and it is no data
    Lanes undef;
    undef.nodes = nodes_.Undef();
    return Set(Op(in, 0), Value::Bits(undef, 64));
  }
  if (in.op == Op::kCvta) {
    if (!CheckMods(in, {Mod::kTo, Mod::kGlobal, Mod::kShared, Mod::kLocal, Mod::kParam, Mod::kConst, Mod::kSharedCta}))
      return false;
    const int width = isa::BitWidth(in.type());
    const bool from_symbol = Op(in, 1).kind == isa::OperandKind::kSymbol;
    if (!Get(Op(in, 1), width, false, &v)) return false;
    const bool shared = in.Has(Mod::kShared) || in.Has(Mod::kSharedCta), local = in.Has(Mod::kLocal);
    if (in.Has(Mod::kParam) || in.Has(Mod::kConst)) return Unmodelled(in);
    if (shared || local) {
      const expr::BufferId space = shared ? kSharedSpace : kLocalSpace;
      if (!v.is_int()) return Unknown("ADDRESS_ON_DATA", "an address depends on loaded data");
      if (in.Has(Mod::kTo)) {
        if (v.buffer != space) return Unknown("ADDRESS_SPACE", "address of another space");
        v.buffer = 0;
      } else {
        if (v.buffer != 0) return Unknown("ADDRESS_SPACE", "address of another space");
        if (!Actual(&v, from_symbol ? width : 32, false)) return false;
        v.buffer = space;
      }
    }
    v.width = static_cast<uint8_t>(width);
    return Set(Op(in, 0), std::move(v));
  }
  if (!CheckMods(in, {})) return false;
  const ScalarType type = in.type();
  const int width = isa::BitWidth(type);
  if (type == ScalarType::kPred) {
    if (!Get(Op(in, 1), 1, false, &v)) return false;
    return Set(Op(in, 0), std::move(v));
  }
  if (matrix_in_use_ && Op(in, 1).kind == isa::OperandKind::kRegister && !Op(in, 1).negated)
    return MoveInFlight(in, width);
  if (!Get(Op(in, 1), width, isa::IsFloat(type), &v)) return false;
  return Set(Op(in, 0), std::move(v));
}

// A register that an asynchronous matrix instruction may still write is renamed by a move, not read: the assembler
// keeps both in one place, and so the destination is in flight as its source is.
bool Machine::MoveInFlight(const Inst& in, int width) {
  const size_t groups = shared_.matrix.size();
  const size_t source = (first_register_ + Op(in, 1).reg) * groups;
  const std::vector<uint32_t> flight(in_flight_.begin() + static_cast<ptrdiff_t>(source),
                                     in_flight_.begin() + static_cast<ptrdiff_t>(source + groups));
  std::fill_n(in_flight_.begin() + static_cast<ptrdiff_t>(source), groups, 0);
  Value v;
  const bool ok = Get(Op(in, 1), width, false, &v);
  std::copy(flight.begin(), flight.end(), in_flight_.begin() + static_cast<ptrdiff_t>(source));
  if (!ok || !Set(Op(in, 0), std::move(v))) return false;
  const Operand& d = Op(in, 0);
  const int parts = d.kind == isa::OperandKind::kVector ? static_cast<int>(d.count) : 1;
  for (int i = 0; i < parts; ++i) {
    const Operand& part = d.kind == isa::OperandKind::kVector ? Element(d, i) : d;
    if (part.kind != isa::OperandKind::kRegister) continue;
    for (size_t g = 0; g < groups; ++g) {
      uint32_t& own = in_flight_[(first_register_ + part.reg) * groups + g];
      own = std::max(own, flight[g]);
    }
  }
  return true;
}

}  // namespace samebits::symexec
