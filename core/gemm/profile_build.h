#ifndef SAMEBITS_CORE_GEMM_PROFILE_BUILD_H_
#define SAMEBITS_CORE_GEMM_PROFILE_BUILD_H_

// From a library to its arch profile: answers of the cost model for products of language models at every M, these
// products at M = 1, 2, 4, ..., and random shapes.

#include <functional>
#include <map>
#include <string>
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

// Finished parts of a build: what an earlier build kept of them, by number, and who keeps those that come. All parts come
// from builds with the same options and book.
struct BuildParts {
  std::map<int64_t, std::string> done;
  std::function<void(int64_t number, std::string record)> keep;  // may be empty; from one thread at a time
};

// `identity` says what the library is. `report` is called after every shape, from one thread at a time; where it returns
// false the build ends early, with what it has. Shapes are studied in parts of some dozens: the rules of a part are those
// that the parts before gave, so that the profile depends neither on threads nor on where a build was interrupted.
// FAILED_PRECONDITION where a part that is done is of another library or device; DATA_LOSS where it cannot be read.
absl::StatusOr<ArchProfile> BuildProfile(const OpenLibrary& open, const ArchProfile& identity,
                                         const ProfileBuildOptions& options, RuleBook* book,
                                         const std::function<bool(const BuildProgress&, const SurveyedShape&)>& report,
                                         const BuildParts& parts = {});

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_PROFILE_BUILD_H_
