#ifndef SAMEBITS_CORE_GEMM_PROFILE_BUILD_H_
#define SAMEBITS_CORE_GEMM_PROFILE_BUILD_H_

// From a library to its arch profile: answers of the cost model for products of language models at every M, these
// products at M = 1, 2, 4, ..., and random shapes.

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "core/gemm/profile.h"
#include "core/gemm/survey.h"

namespace samebits::gemm {

struct ProfileBuildOptions {
  std::vector<GemmProblem> kinds;  // types and layouts; their sides are not read
  int64_t random_shapes = 1000;    // of each kind
  bool models = true;              // the products of ModelProducts()
  int64_t most_m = 8192;           // of these
  int64_t most_k = 200000;         // of random shapes
  double seconds = 1e9;            // no shape is begun later
  SurveyOptions survey;
};

struct BuildProgress {
  int64_t done = 0, total = 0;  // shapes
};

// `identity` says what the library is. `report` is called after every shape, from one thread at a time; where it returns
// false the build ends early, with what it has.
absl::StatusOr<ArchProfile> BuildProfile(const OpenLibrary& open, const ArchProfile& identity,
                                         const ProfileBuildOptions& options, RuleBook* book,
                                         const std::function<bool(const BuildProgress&, const SurveyedShape&)>& report);

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_PROFILE_BUILD_H_
