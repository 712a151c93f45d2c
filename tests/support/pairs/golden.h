#ifndef SAMEBITS_TESTS_SUPPORT_PAIRS_GOLDEN_H_
#define SAMEBITS_TESTS_SUPPORT_PAIRS_GOLDEN_H_

// The kernels of tests/unit/core/checker/golden: compiled texts with their launches.

#include <string>
#include <vector>

#include "core/checker/checker.h"

namespace samebits::checker {

struct GoldenKernel {
  std::string name, text;
  Launch launch;
};

// Folder of the kernels below the source tree `source`.
std::string GoldenFolder(const std::string& source);

// All of them, in the order of launches.txt. Empty where the folder cannot be read.
std::vector<GoldenKernel> ReadGoldenKernels(const std::string& source);

}  // namespace samebits::checker

#endif  // SAMEBITS_TESTS_SUPPORT_PAIRS_GOLDEN_H_
