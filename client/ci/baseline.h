#ifndef SAMEBITS_CLIENT_CI_BASELINE_H_
#define SAMEBITS_CLIENT_CI_BASELINE_H_

// A build's signatures in a file that is kept under version control.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/ci/check.h"

namespace samebits::ci {

// What the signatures were computed under.
struct BaselineOptions {
  bool ignore_signed_zero = false, strict_contraction = false, symbolic = false;
  bool operator==(const BaselineOptions&) const = default;
};

// One kernel a line in the order of keys, so that changes read well in a version control's comparison.
std::string WriteBaseline(std::vector<SignedKernel> kernels, const BaselineOptions& options);

// INVALID_ARGUMENT where the text is no such file; FAILED_PRECONDITION where it was written by another signature
// version or under other options, with what to do. `origin` begins the message.
absl::StatusOr<std::vector<SignedKernel>> ReadBaseline(std::string_view text, const BaselineOptions& options,
                                                       std::string_view origin);

}  // namespace samebits::ci

#endif  // SAMEBITS_CLIENT_CI_BASELINE_H_
