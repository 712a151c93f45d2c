#ifndef SAMEBITS_CORE_GEMM_SHAPE_RECORD_H_
#define SAMEBITS_CORE_GEMM_SHAPE_RECORD_H_

// Studied shapes as lines of text, for studies that outlive a process.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/gemm/survey.h"

namespace samebits::gemm {

// One line without its end: what a profile keeps of a shape. Evidence, mismatch and time are left out.
std::string ToRecord(const SurveyedShape& shape);

// The inverse for a shape of `problem`. DATA_LOSS for other lines, and for records of other sides.
absl::StatusOr<SurveyedShape> ParseShapeRecord(std::string_view line, const GemmProblem& problem);

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_SHAPE_RECORD_H_
