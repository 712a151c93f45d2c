#ifndef SAMEBITS_CORE_GEMM_RULE_H_
#define SAMEBITS_CORE_GEMM_RULE_H_

// A descriptor as a function of K and of the number of splits that a library's cost model chose: what a library does
// for one kind of answer. Rules come from recovered descriptors (Generalise) and give descriptors (Instantiate).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/gemm/gemm_desc.h"

namespace samebits::gemm {

struct CutRule {
  CutLayout layout = CutLayout::kContiguous;
  MergeOrder order = MergeOrder::kAscending;
  // Elements; 0: an equal share of K over `parts`, rounded up to `granule`, or to `loose_granule` (where not 0) if K is
  // no multiple of `granule`.
  int64_t span = 0;
  int64_t parts = 0;  // of a share; 0: the splits
  int64_t granule = 1, loose_granule = 0;
  int64_t count = 0;  // of strided and balanced cuts; 0: the splits. Contiguous cuts have as many parts as it takes
  friend bool operator==(const CutRule&, const CutRule&) = default;
};

struct GemmRule {
  GemmDesc base;  // without cuts
  std::vector<CutRule> cuts;
  friend bool operator==(const GemmRule&, const GemmRule&) = default;
};

// Cuts that would leave one part are left out. INVALID_ARGUMENT where the result is no valid descriptor for this K.
absl::StatusOr<GemmDesc> Instantiate(const GemmRule& rule, int64_t k, int64_t splits);

// The rules of which `desc`, valid for k, may be the case; the likelier first, at most a few hundred.
std::vector<GemmRule> Generalise(const GemmDesc& desc, int64_t k, int64_t splits);

// Two descriptors of equal normal form at K have equal plans there. Cheap: independent of K's size. Not every pair of
// descriptors with equal plans has equal forms.
std::string NormalForm(const GemmDesc& desc, int64_t k);

// A descriptor's text with "cuts=" of another form: LAYOUT:SPAN:COUNT:ORDER, SPAN being a number or
// "share/PARTS/GRANULE/LOOSE" (PARTS a number or "splits"), COUNT a number, "splits" or "cover".
std::string ToText(const GemmRule& rule);
absl::StatusOr<GemmRule> ParseGemmRule(std::string_view text);

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_RULE_H_
