#ifndef SAMEBITS_CORE_CANONICAL_BUILDER_H_
#define SAMEBITS_CORE_CANONICAL_BUILDER_H_

// Builds the canonical node of an operation: the only way by which the executor makes nodes. Every rewrite is exact
// in bits (docs/soundness.md gives the argument of each), except where Options name an assumption.

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "core/canonical/exp_terms.h"
#include "core/canonical/rewrite.h"
#include "core/expr/node.h"

namespace samebits::canonical {

struct BuilderOptions {
  bool ignore_signed_zero = false;
  bool rewrites_enabled = true;  // false: each operation as it stands, for tests of the rewrites
};

class Builder {
 public:
  static constexpr int kMaxChildren = 40;
  Builder(expr::NodeManager* nodes, BuilderOptions options) : nodes_(*nodes), options_(options), exp_terms_(nodes) {}

  // The value of `fn(children...)`. Decisions depend on the children's nodes and on differences of anchors within
  // one (buffer, symbolic part), never on absolute offsets: the result for shifted anchors is the shifted result.
  // `out` anchors carry `source`. False: out of slots.
  bool Build(expr::Fn fn, uint64_t attr, int width, const expr::Scalar* children, int count, expr::Scalar* out);

  // The value as a store or another thread sees it: no longer open to contraction.
  expr::NodeId Settle(expr::NodeId node);

  uint64_t hits(Rewrite r) const { return hits_[static_cast<int>(r)]; }
  // Of all operations built since the last Forget: whether a product may be fused into a sum; f64 arithmetic.
  bool saw_contraction() const { return saw_contraction_; }
  bool saw_f64() const { return saw_f64_; }
  void ForgetSights() { saw_contraction_ = saw_f64_ = false; }
  expr::NodeManager& nodes() { return nodes_; }
  // Facts of a value as a float of `width` bits (constants are looked at).
  uint8_t FactsOf(expr::NodeId node, int width) const;

 private:
  using Scalar = expr::Scalar;
  bool Dispatch(expr::Fn fn, uint64_t attr, int width, Scalar* c, int count, Scalar* out);
  bool BuildUnrewritten(expr::Fn fn, uint64_t attr, int width, const Scalar* c, int count, Scalar* out);
  bool Pair(expr::Fn fn, uint64_t attr, int width, uint8_t facts, const Scalar* c, Scalar* out);
  bool BuildAdd(expr::Attr attr, int width, Scalar* a, Scalar* b, Scalar* out);
  bool BuildMul(expr::Attr attr, int width, Scalar* a, Scalar* b, Scalar* out);
  bool BuildFma(expr::Attr attr, int width, Scalar* c, Scalar* out);
  bool RoundsOnce(const expr::Attr& attr, const Scalar* c) const;
  bool AddsMinusZero(const expr::Attr& attr, const Scalar& value) const;
  bool AddsZero(const expr::Attr& attr, const Scalar& value) const;
  bool VanishesIn(const expr::Attr& attr, const Scalar* c);
  bool BuildMultiset(expr::Fn fn, uint64_t attr, int width, const Scalar& a, const Scalar& b, Scalar* out);
  bool BuildCompare(expr::Fn fn, expr::Attr attr, Scalar* c, Scalar* out);
  bool BuildSelect(int width, Scalar* c, Scalar* out);
  bool BuildExtract(uint64_t offset, int width, const Scalar& a, Scalar* out);
  bool BuildConcat(uint64_t attr, int width, Scalar* c, int count, Scalar* out);
  bool BuildNot(int width, const Scalar& a, Scalar* out);
  bool BuildSignFlip(int width, const Scalar& a, Scalar* out);
  bool BuildMatrixStep(uint64_t attr, int width, Scalar* c, Scalar* out);
  std::optional<uint64_t> IntegerStepBound(uint64_t attr, const Scalar& accumulator, int products) const;
  bool Plain(expr::Fn fn, uint64_t attr, int width, uint8_t facts, const Scalar* c, int n, Scalar* out);
  Scalar SelfOf(expr::NodeId node) const;
  void SettleScalar(Scalar* s);
  void ArithmeticOperand(Scalar* s, expr::Format f);
  void MagnitudeOperand(Scalar* s, expr::Format f);
  bool WithoutMinusInfinity(const Scalar& max, int depth, Scalar* out);
  bool DropMinusInfinity(const Scalar& x, Scalar* negated_max);
  void RecordExtreme(const Scalar* c, const Scalar& select);
  bool ExtremeOf(const Scalar& s, expr::Fn fn, Scalar* set) const;
  bool BlindRewrite(Scalar* s, int* budget);
  void Blind(Scalar* s);
  bool StripSign(Scalar* s, expr::Format f);
  bool Less(const Scalar& a, const Scalar& b) const;
  bool IsContractibleMul(expr::NodeId node) const;
  bool FloatConst(const Scalar& s, expr::Format f, double* value) const;
  void Hit(Rewrite r) { ++hits_[static_cast<int>(r)]; }
  void SetConst(uint64_t value, int width, Scalar* out);

  expr::NodeManager& nodes_;
  BuilderOptions options_;
  ExpTerms exp_terms_;
  bool saw_contraction_ = false, saw_f64_ = false;
  uint64_t hits_[kRewriteCount] = {};
  std::unordered_map<expr::NodeId, expr::NodeId> settled_;
  std::unordered_map<expr::NodeId, uint64_t> integer_bounds_;  // of integer matrix steps that cannot wrap
  // Selects that take the larger (smaller) of two values, or a NaN: node -> the min or max that they equal up to the
  // sign of zero and the payload of NaNs, with anchors as below.
  std::unordered_map<expr::NodeId, Scalar> extremes_;
  // Per maximum: it without constants, its anchors being (slot + 1 as symbolic part, shift); nullopt: nothing is left.
  std::unordered_map<expr::NodeId, std::optional<Scalar>> without_infinity_;
};

}  // namespace samebits::canonical

#endif  // SAMEBITS_CORE_CANONICAL_BUILDER_H_
