#include "core/expr/fingerprint.h"

#include <algorithm>
#include <optional>

#include "core/expr/operation.h"
#include "core/expr/soft_format.h"
#include "core/softfloat/format.h"

namespace samebits::expr {

namespace sf = softfloat;

namespace {

class Hasher {
 public:
  Hasher(const Program& program, Sameness sameness)
      : program_(program), sameness_(sameness), forms_(program.values().size()) {}

  std::vector<uint64_t> Run() {
    std::vector<uint64_t> hashes;
    for (size_t i = 0; i < forms_.size(); ++i) {
      forms_[i] = FormOf(program_.values()[i]);
      hashes.push_back(forms_[i].hash);
    }
    return hashes;
  }

 private:
  struct Form {
    uint64_t hash = 0;
    std::optional<uint128> constant;
    uint64_t multiset = 0;  // operation of a multiset, 0: none
    uint64_t sum = 0;       // of its elements' hashes
  };

  static Form Constant(uint128 bits, int width) {
    Form f;
    f.constant = bits;
    f.hash = TableHash(TableHash(TableHash(21, static_cast<uint64_t>(bits)), static_cast<uint64_t>(bits >> 64)),
                       static_cast<uint64_t>(width));
    return f;
  }

  Form FormOf(const Program::Value& v) const {
    if (v.kind == Program::Kind::kConstant) return Constant(v.constant, v.width);
    Form f;
    const bool is_sum = v.fn == Fn::kFAdd || v.fn == Fn::kFMul;
    const uint64_t attr = sameness_ != Sameness::kBits && is_sum ? v.attr & ~Attr::kContract : v.attr;
    f.hash = TableHash(TableHash(TableHash(22, static_cast<uint64_t>(v.fn)), attr), v.width);
    if (v.kind != Program::Kind::kStep) {
      f.hash = TableHash(TableHash(f.hash, v.buffer), static_cast<uint64_t>(v.offset));
      return f;
    }
    std::vector<Form> x;
    for (int i = 0; i < v.count; ++i) x.push_back(forms_[program_.operand(v, i)]);
    if (sameness_ == Sameness::kFinite)
      if (const auto simple = Simplified(v, x)) return *simple;
    if (IsAssociative(v.fn) && v.count == 2) return Multiset(v, x, f.hash);
    if (IsCommutative(v.fn) && v.count == 2 && x[1].hash < x[0].hash) std::swap(x[0], x[1]);
    if (v.fn == Fn::kFFma && x[1].hash < x[0].hash) std::swap(x[0], x[1]);
    for (const Form& o : x) f.hash = TableHash(f.hash, o.hash);
    return f;
  }

  static Form Multiset(const Program::Value& v, const std::vector<Form>& x, uint64_t seed) {
    Form f;
    f.multiset = seed | 1;
    for (const Form& o : x) f.sum += o.multiset == f.multiset ? o.sum : Scramble(o.hash);
    f.hash = TableHash(TableHash(seed, v.width), f.sum);
    return f;
  }

  // What finite operands make of the value.
  static std::optional<Form> Simplified(const Program::Value& v, const std::vector<Form>& x) {
    if (v.fn == Fn::kSelect) {
      if (x[0].constant) return x[*x[0].constant & 1 ? 1 : 2];
      return x[1].hash == x[2].hash ? std::optional<Form>(x[1]) : std::nullopt;
    }
    if (const auto folded = Folded(v, x)) return folded;
    const sf::Format* f = SoftFormat(Attr::Decode(v.attr).to);
    if (f == nullptr) return std::nullopt;
    const auto is_zero = [&](const Form& o) {
      return o.constant && sf::IsZero(*f, static_cast<uint64_t>(*o.constant));
    };
    const auto is_one = [&](const Form& o) {
      return o.constant && static_cast<uint64_t>(*o.constant) == static_cast<uint64_t>(f->bias()) << f->fraction_bits;
    };
    const auto is_infinity = [&](const Form& o, bool negative) {
      return o.constant && static_cast<uint64_t>(*o.constant) == (f->infinity() | (negative ? f->sign_mask() : 0));
    };
    for (int i = 0; i < 2 && v.count == 2; ++i) {
      const Form &a = x[static_cast<size_t>(i)], &b = x[static_cast<size_t>(1 - i)];
      if (v.fn == Fn::kFMax && is_infinity(a, true)) return b;
      if (v.fn == Fn::kFMin && is_infinity(a, false)) return b;
      if (v.fn == Fn::kFAdd && is_zero(a)) return b;
      if (v.fn == Fn::kFAdd && (is_infinity(a, true) || is_infinity(a, false))) return a;
      if (v.fn == Fn::kFMul && is_zero(a)) return Constant(0, v.width);
      if (v.fn == Fn::kFMul && is_one(a)) return b;
    }
    if (v.fn == Fn::kFFma && (is_zero(x[0]) || is_zero(x[1]))) return x[2];
    return std::nullopt;
  }

  static std::optional<Form> Folded(const Program::Value& v, const std::vector<Form>& x) {
    if (v.fn == Fn::kGather || v.fn == Fn::kMatrixStep || v.fn == Fn::kIsa || x.size() > 4) return std::nullopt;
    uint128 bits[4];
    for (size_t i = 0; i < x.size(); ++i) {
      if (!x[i].constant) return std::nullopt;
      bits[i] = *x[i].constant;
    }
    const Computed c = Compute(v.fn, v.attr, v.width, {bits, x.size()});
    if (!c.known || c.inexact) return std::nullopt;
    return Constant(c.bits, v.width);
  }

  const Program& program_;
  const Sameness sameness_;
  std::vector<Form> forms_;
};

}  // namespace

std::vector<uint64_t> Fingerprints(const Program& program, Sameness sameness) {
  return Hasher(program, sameness).Run();
}

}  // namespace samebits::expr
