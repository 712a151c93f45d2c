#include "core/gemm/shape_record.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace samebits::gemm {
namespace {

constexpr size_t kFields = 11;

absl::Status Bad() { return absl::DataLossError("a record of a studied shape is damaged"); }

}  // namespace

std::string ToRecord(const SurveyedShape& s) {
  return absl::StrJoin(std::vector<std::string>{absl::StrCat(s.problem.m), absl::StrCat(s.problem.n), absl::StrCat(s.problem.k),
                                                s.supported ? "yes" : "no", s.explained ? "yes" : "no",
                                                s.predicted ? "yes" : "no", absl::StrCat(s.summed_k), absl::StrCat(s.outputs),
                                                ToText(s.algorithm), s.supported ? ToText(s.desc) : "",
                                                absl::StrReplaceAll(s.reason, {{"\t", " "}, {"\n", " "}})},
                       "\t");
}

absl::StatusOr<SurveyedShape> ParseShapeRecord(std::string_view line, const GemmProblem& problem) {
  const std::vector<std::string> fields = absl::StrSplit(absl::string_view(line.data(), line.size()), '\t');
  SurveyedShape shape{problem};
  int64_t m = 0, n = 0, k = 0;
  if (fields.size() != kFields || !absl::SimpleAtoi(fields[0], &m) || !absl::SimpleAtoi(fields[1], &n) ||
      !absl::SimpleAtoi(fields[2], &k) || !absl::SimpleAtoi(fields[6], &shape.summed_k) ||
      !absl::SimpleAtoi(fields[7], &shape.outputs) || m != problem.m || n != problem.n || k != problem.k)
    return Bad();
  shape.supported = fields[3] == "yes";
  shape.explained = fields[4] == "yes";
  shape.predicted = fields[5] == "yes";
  absl::StatusOr<Algorithm> algorithm = ParseAlgorithm(fields[8]);
  if (!algorithm.ok()) return Bad();
  shape.algorithm = *algorithm;
  if (shape.supported) {
    absl::StatusOr<GemmDesc> desc = ParseGemmDesc(fields[9]);
    if (!desc.ok()) return Bad();
    shape.desc = *std::move(desc);
  }
  shape.reason = fields[10];
  return shape;
}

}  // namespace samebits::gemm
