#ifndef SAMEBITS_CORE_GEMM_DEFECT_REPRODUCER_H_
#define SAMEBITS_CORE_GEMM_DEFECT_REPRODUCER_H_

// A located defect of a library as a program of its own, for those who maintain the library.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/gemm/profile.h"

namespace samebits::gemm {

struct ProfileDefect {
  GemmProblem problem;
  int64_t summed_k = 0;  // elements from here on are not summed
};

// By types and layout, then by sides.
std::vector<ProfileDefect> DefectsOf(const ArchProfile& profile);

// A C++ program that needs CUDA's headers and cuBLASLt only. It sums ones that lie in the lost tail, and as many ones right
// before it, prints what came out and what is right, and ends with 1 where the tail is lost, 0 where it is not, 2 on other
// failures. UNIMPLEMENTED for other libraries and for types whose ones it has no name for.
absl::StatusOr<std::string> DefectReproducer(const ArchProfile& profile, const ProfileDefect& defect);

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_DEFECT_REPRODUCER_H_
