#ifndef SAMEBITS_CORE_GEMM_PROFILE_H_
#define SAMEBITS_CORE_GEMM_PROFILE_H_

// An arch profile: what one library does on one device, as far as it was seen. For a fixed library, device and workspace
// the descriptor depends on the shape only through the cost model's answer, so a profile holds rules by kind of answer,
// the answers for shapes that were asked, and the shapes that no rule describes. A profile says nothing of other shapes.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/gemm/black_box.h"
#include "core/gemm/rule_book.h"
#include "core/gemm/survey.h"

namespace samebits::gemm {

// Types and layout of problems.
struct ProblemKind {
  FormatId a_type = FormatId::kF16, b_type = FormatId::kF16;
  FormatId accumulate_type = FormatId::kF32, output_type = FormatId::kF16;
  Layout layout = Layout::kTN;
  GemmProblem At(int64_t m, int64_t n, int64_t k) const;
  friend auto operator<=>(const ProblemKind&, const ProblemKind&) = default;
};
ProblemKind KindOfProblem(const GemmProblem& problem);

// The cost model's answers for 1 <= m <= most_m: from each m on the algorithm of that index.
struct ProfileScan {
  int64_t n = 1, k = 1, most_m = 1;
  std::vector<std::pair<int64_t, int32_t>> runs;
  friend bool operator==(const ProfileScan&, const ProfileScan&) = default;
};

// A shape that was studied. Where `by_rule`, an entry of the profile gives its descriptor.
struct ProfileShape {
  int64_t m = 1, n = 1, k = 1;
  int32_t algorithm = 0;
  bool by_rule = true;
  bool explained = true;
  int64_t summed_k = 0;  // less than k: a defect
  GemmDesc desc;         // where not by rule: what it does, or the closest candidate
  friend bool operator==(const ProfileShape&, const ProfileShape&) = default;
};

// What the studies of one kind of problem said.
struct ProfileTally {
  int64_t shapes = 0, explained = 0, unexplained = 0, unsupported = 0, defects = 0, predicted = 0, draws = 0, outputs = 0;
  friend bool operator==(const ProfileTally&, const ProfileTally&) = default;
};

struct ProfileSection {
  ProfileTally tally;
  std::vector<ProfileShape> shapes;  // ascending by m, n, k; each once
  std::vector<ProfileScan> scans;    // ascending by n, k; each once
  friend bool operator==(const ProfileSection&, const ProfileSection&) = default;
};

struct ArchProfile {
  std::string device;   // "NVIDIA H200"
  int64_t sm = 0, multiprocessors = 0;
  std::string library;  // "cuBLASLt"
  int64_t library_version = 0;  // 130100 for 13.1.0
  std::string driver;
  int64_t workspace_bytes = 0;
  std::vector<Algorithm> algorithms;  // each once; without the workspace, which follows from the shape
  std::map<std::string, RuleEntry> entries;
  std::map<ProblemKind, ProfileSection> sections;
};

// Fills a profile; what identifies it is the caller's.
class ProfileBuilder {
 public:
  explicit ProfileBuilder(ArchProfile identity) : profile_(std::move(identity)) {}
  void AddShape(const SurveyedShape& shape, int draws);
  // answers[m - 1] for m = 1, 2, ...; the kind's types and layout, n and k are those of `problem`.
  void AddScan(const GemmProblem& problem, const std::vector<Algorithm>& answers);
  ArchProfile Build(const RuleBook& book) &&;

 private:
  int32_t IndexOf(Algorithm algorithm);
  ArchProfile profile_;
  std::map<std::string, int32_t> index_;
};

// Lines of text; equal profiles have equal texts. Parse: INVALID_ARGUMENT with the line's number.
std::string ToText(const ArchProfile& profile);
absl::StatusOr<ArchProfile> ParseArchProfile(std::string_view text);
std::string Digest(const ArchProfile& profile);  // SHA-256 of the text

struct ShapeDescription {
  GemmDesc desc;
  Algorithm algorithm;
  int64_t summed_k = 0;      // less than k: the library drops the tail
  bool studied = false;      // this very shape reproduced fresh draws; else a rule gives it
  int64_t rule_shapes = 0;   // shapes that confirmed the rule; 0 where none is used
};
// NOT_FOUND: the profile has no answer of the cost model for this shape, or no rule for the answer.
// FAILED_PRECONDITION: the shape was studied and is unexplained, or the rules that are left do not agree.
absl::StatusOr<ShapeDescription> Describe(const ArchProfile& profile, const GemmProblem& problem);
// The same where the answer is known from elsewhere.
absl::StatusOr<ShapeDescription> Describe(const ArchProfile& profile, const GemmProblem& problem,
                                          const Algorithm& algorithm);

// The fields in which two descriptors differ at this K, for people; empty where they owe the same bits.
std::vector<std::string> Differences(const GemmDesc& x, const GemmDesc& y, int64_t k);

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_PROFILE_H_
