#ifndef SAMEBITS_CORE_GEMM_SURVEY_H_
#define SAMEBITS_CORE_GEMM_SURVEY_H_

// Many problems of one library: a descriptor for each, from rules that earlier ones gave where these reproduce fresh
// draws, else by recovery.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/gemm/black_box.h"
#include "core/gemm/recovery.h"
#include "core/gemm/rule_book.h"

namespace samebits::gemm {

struct SurveyOptions {
  uint64_t seed = 1;
  int draws = 10;                 // that a descriptor must reproduce
  int sample_side = 16;           // rows and columns of the outputs that are compared
  size_t most_candidates = 24;    // that rules may name
  int most_launches = 400;
  int threads = 0;                // 0: one per core; each has a library of its own
  bool learns = true;             // the book learns each shape at once
  int64_t first_index = 0;        // of the first problem: seeds of draws depend on it
  int most_errors = 20;           // of the library, in a row, before the survey ends with the last one
};

struct SurveyedShape {
  GemmProblem problem;
  Algorithm algorithm;
  bool supported = true;   // the library has something for the problem
  bool explained = false;  // the descriptor reproduced every draw
  bool predicted = false;  // by a rule; else it was recovered
  GemmDesc desc;
  int64_t summed_k = 0;    // less than k: a defect
  int64_t launches = 0, outputs = 0;
  double millis = 0;
  std::string reason;      // why it is not explained
  std::vector<std::string> evidence;  // of a recovery
  std::optional<Mismatch> mismatch;
  bool defect() const { return supported && explained && summed_k != problem.k; }
};

// One problem. The book learns what comes out. Errors are the library's.
absl::StatusOr<SurveyedShape> StudyShape(BlackBox* box, RuleBook* book, const GemmProblem& problem,
                                         const SurveyOptions& options);

using OpenLibrary = std::function<absl::StatusOr<std::unique_ptr<BlackBox>>()>;
// The problem of that index, or none: the survey ends. Called from one thread at a time, with ascending indices.
using NextProblem = std::function<std::optional<GemmProblem>(int64_t)>;

// Calls `report` from one thread at a time. A problem that the library answers with an error is reported as
// unexplained.
absl::Status Survey(const OpenLibrary& open, const NextProblem& next, RuleBook* book, const SurveyOptions& options,
                    const std::function<void(int64_t, const SurveyedShape&)>& report);

// A random shape: sides of all magnitudes, odd and aligned, corners of one row or column, K to `most_k`; within what
// 8-bit types allow, where `problem` has these. Types and layout stay.
GemmProblem DrawShape(GemmProblem problem, uint64_t seed, int64_t most_k = 200000);

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_SURVEY_H_
