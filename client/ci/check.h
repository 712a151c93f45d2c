#ifndef SAMEBITS_CLIENT_CI_CHECK_H_
#define SAMEBITS_CLIENT_CI_CHECK_H_

// What changed between two builds, from the signatures of their kernels.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/checker/checker.h"

namespace samebits::ci {

// One kernel of a build with its signature.
struct SignedKernel {
  std::string key;     // see SetKernel
  std::string path;    // empty where the build is known by its signatures alone
  std::string digest;  // of text and launch
  absl::StatusOr<checker::Signature> signature = absl::UnknownError("not checked");
};

enum class Outcome : uint8_t { kEqual, kChanged, kNew, kGone, kUnknown };
inline constexpr int kOutcomes = 5;

// "equal", "changed", "new", "gone", "unknown".
std::string_view OutcomeName(Outcome outcome);

struct Finding {
  Outcome outcome = Outcome::kUnknown;
  std::string id;                             // the key; " (2)" and so on where the builds have several
  std::optional<size_t> baseline, candidate;  // places in the builds
  bool same_text = false;                     // text and launch are byte for byte the same
  std::string reason;                         // of changed and unknown, one line
  std::optional<checker::Difference> difference;  // of changed, where both texts are at hand
};

// Sorts by key. Kernels of one key are paired by equal text, then by equal signature; what is left is paired in order,
// so that equal numbers of kernels never count as new and gone.
//   equal    equal signatures
//   changed  different signatures, or bits that depend on the order of arrival on one side only
//   unknown  a side is not decided or cannot be read, or neither has fixed bits; the same text (`same_text`) cannot
//            have changed
std::vector<Finding> FindChanges(const std::vector<SignedKernel>& baseline, const std::vector<SignedKernel>& candidate);

using Counts = std::array<size_t, kOutcomes>;
Counts CountOutcomes(const std::vector<Finding>& findings);

}  // namespace samebits::ci

#endif  // SAMEBITS_CLIENT_CI_CHECK_H_
