#ifndef SAMEBITS_CORE_GEMM_RULE_BOOK_H_
#define SAMEBITS_CORE_GEMM_RULE_BOOK_H_

// What was learnt about a library: for each kind of answer of its cost model the rules that agree with every descriptor
// seen. A kind is what of the answer matters for the bits: types, layout, algorithm, stages, reduction scheme, custom
// option, split or not; where no rule explains a kind, tile and cluster join it.

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/gemm/black_box.h"
#include "core/gemm/rule.h"

namespace samebits::gemm {

// "types=f16,f16,f32,f16 layout=TN id=66 stages=35 reduction=2 custom=3 split=1"; with `fine`, tile and cluster too.
std::string KindOf(const GemmProblem& problem, const Algorithm& algorithm, bool fine = false);

struct RuleEntry {
  std::vector<GemmRule> rules;  // all that agree with what was seen; never empty
  int64_t shapes = 0;           // seen
};

// Thread-safe.
class RuleBook {
 public:
  // Descriptors that rules of this kind give (of the same kind with other types or layouts, where it is new), the
  // likeliest first, at most `most`; of different forms at problem.k.
  std::vector<GemmDesc> Candidates(const GemmProblem& problem, const Algorithm& algorithm, size_t most) const;

  // `desc` is what the library did; valid for problem.k.
  void Learn(const GemmProblem& problem, const Algorithm& algorithm, const GemmDesc& desc);

  // Rules to try, as of an earlier profile; they count as never seen.
  void Suggest(const std::string& kind, const std::vector<GemmRule>& rules);

  // Kinds that rules explain. Kinds with more than 24 rules left, of which too little was seen, are not among them.
  std::map<std::string, RuleEntry> Entries() const;

 private:
  struct Seen {
    GemmProblem problem;
    Algorithm algorithm;
    std::string form;
  };
  struct Scored {
    GemmRule rule;
    int64_t hits = 0, misses = 0;
  };
  struct Kind {
    std::vector<Scored> rules;
    std::vector<Seen> seen;
  };
  std::vector<Scored> Borrowed(const GemmProblem& problem, const std::string& core) const;
  static std::vector<GemmRule> Agreeing(const std::vector<GemmRule>& rules, const std::vector<const Seen*>& seen);

  mutable std::mutex mutex_;
  std::map<std::string, Kind> kinds_;
};

// The descriptor on which all rules agree at problem.k. FAILED_PRECONDITION where they do not agree.
absl::StatusOr<GemmDesc> Decide(const RuleEntry& entry, const GemmProblem& problem, const Algorithm& algorithm);

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_RULE_BOOK_H_
