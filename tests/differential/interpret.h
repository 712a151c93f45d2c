#ifndef SAMEBITS_TESTS_DIFFERENTIAL_INTERPRET_H_
#define SAMEBITS_TESTS_DIFFERENTIAL_INTERPRET_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "core/checker/checker.h"
#include "tests/differential/kernel.h"

namespace samebits::differential {

// Buffers after the launch of an AMDGCN kernel, by the direct interpreter. Adds results of approximate functions to
// `model`. Errors as interpreter::RunAmdgcn.
absl::StatusOr<Contents> InterpretKernel(const std::string& text, const checker::Launch& launch, const Contents& before,
                                         uint64_t* model);

}  // namespace samebits::differential

#endif  // SAMEBITS_TESTS_DIFFERENTIAL_INTERPRET_H_
