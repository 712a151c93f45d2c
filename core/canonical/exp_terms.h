#ifndef SAMEBITS_CORE_CANONICAL_EXP_TERMS_H_
#define SAMEBITS_CORE_CANONICAL_EXP_TERMS_H_

// Terms of a softmax's sum, t(x) = ex2(c * (x - M)) or ex2(fma(x - M, c, k)) with M a maximum of a set S, c > 0 and k
// finite. A masked element, x = -inf, gives +0, or NaN where M is -inf or NaN. There every x in S is -inf or NaN, so
// t(x) is NaN as well, and with it every sum or product that it enters: t(-inf) adds nothing to such a sum.
// The same holds with an exponent moved aside, as AMD's compiler writes ex2: ldexp(ex2(c * (x - M) + k), n) for any n and
// finite k, or a choice of two; k leaves -inf and NaN as they are, n leaves +0 and NaN.

#include <cstdint>
#include <unordered_map>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "core/expr/node.h"

namespace samebits::canonical {

inline constexpr uint64_t kMinusInfinity = 0xff800000u;  // f32

// Not thread-safe; the node manager outlives it.
class ExpTerms {
 public:
  explicit ExpTerms(expr::NodeManager* nodes) : nodes_(*nodes) {}

  // Whether `term` is t(-inf) of a maximum M, or that times a finite factor above zero, and `sum` is another such term of
  // M or NaN wherever the term is NaN. Then `sum + term` is `sum`, if adding +0 leaves `sum` as it is.
  bool Vanishes(const expr::Scalar& term, const expr::Scalar& sum);
  // Whether it is a constant of f32 that is finite, normal and above zero.
  bool IsFactor(const expr::Scalar& s) const;
  // Whether kIsa with this attribute, of two operands, is v_ldexp_f32: of a NaN the canonical one, the sign as it was.
  bool IsScaling(uint64_t attr, int width) const;
  // Whether `max`, a multiset, has `element` among its operands. False also where it has too many to look through.
  bool IsMember(const expr::Scalar& element, const expr::Scalar& max);
  // Whether it is the constant -inf of f32.
  bool IsMinusInfinity(const expr::Scalar& s) const;

 private:
  struct Parts {
    expr::Scalar x, max;
  };
  bool Match(const expr::Scalar& term, Parts* out) const;
  bool IsScaling(expr::NodeId id) const;
  bool IsFinite(const expr::Scalar& s) const;
  bool IsFiniteChoice(const expr::Scalar& s) const;
  bool PoisonedBy(const expr::Scalar& max, const expr::Scalar& value);

  expr::NodeManager& nodes_;
  // An element's node, then per slot of it the slot of the maximum that it hangs on and the shift.
  using Member = absl::InlinedVector<uint64_t, 5>;
  std::unordered_map<expr::NodeId, absl::flat_hash_set<Member>> members_;
};

}  // namespace samebits::canonical

#endif  // SAMEBITS_CORE_CANONICAL_EXP_TERMS_H_
