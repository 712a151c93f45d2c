#ifndef SAMEBITS_CORE_GEMM_HYPOTHESIS_H_
#define SAMEBITS_CORE_GEMM_HYPOTHESIS_H_

// What may become of a list of N elements that one part of the contracted axis holds: how it is cut next, or how its
// accumulator takes it. Positions here are indices into the list.

#include <cstdint>
#include <string>
#include <vector>

#include "core/gemm/gemm_desc.h"

namespace samebits::gemm {

struct Hypothesis {
  enum class Kind : uint8_t {
    kChain,       // one accumulator: groups of `span`, but the first `count` elements are grouped apart (a short turn)
    kRounds,      // 2^count lanes that take tiles of `span` in turn, folded pairwise
    kStrided,     // KCut of that layout
    kBalanced,
    kContiguous,  // the last part may be shorter
  };
  Kind kind = Kind::kChain;
  // kRounds: ascending folds neighbours last (offsets count down), descending first.
  MergeOrder order = MergeOrder::kAscending;
  int64_t span = 1, count = 0;
  friend bool operator==(const Hypothesis&, const Hypothesis&) = default;
};

enum class Prediction : int8_t { kReturns = 0, kAbsorbed = 1, kOpen = -1 };

// Whether a tiny value at `x` is absorbed by a pair at p < q. Open where a deeper level decides. None equal.
Prediction Predict(const Hypothesis& h, int64_t n, int64_t p, int64_t q, int64_t x);

// A place at which something begins under h (a group, a part, a tile): the i-th, counted from the end where i < 0,
// wrapped into the list.
int64_t Boundary(const Hypothesis& h, int64_t n, int64_t i);

// Another place of the part that x is in (kChain: any), chosen by two numbers >= 0; x itself where there is none.
int64_t SamePart(const Hypothesis& h, int64_t n, int64_t x, int64_t turn, int64_t offset);

struct HypothesisSpace {
  bool scalar = true, matrix = true;  // chains of single products, of groups
  bool rounds = true;                 // lanes folded pairwise
  int64_t likely_group = 16;          // named first where several group lengths mean the same
  int64_t most_group = 64;
};

// All for a list of n elements, the more specific first.
std::vector<Hypothesis> Enumerate(int64_t n, const HypothesisSpace& space);

// The cuts that a hypothesis stands for, outermost first; none for kChain.
std::vector<KCut> CutsOf(const Hypothesis& h, int64_t n);

std::string ToString(const Hypothesis& h);

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_HYPOTHESIS_H_
