#ifndef SAMEBITS_CORE_GEMM_PROFILE_REPORT_H_
#define SAMEBITS_CORE_GEMM_PROFILE_REPORT_H_

// What arch profiles answer: at which batch sizes the bits of a row change, and for which shapes two profiles differ.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/gemm/profile.h"

namespace samebits::gemm {

// M values in a row that owe a row of A and B the same bits, or of which the same is not known.
struct InvarianceRun {
  int64_t first_m = 1, last_m = 1;
  bool known = false;
  GemmDesc desc;                     // where known
  int64_t summed_k = 0;              // less than k: the tail is dropped there
  int bits = -1;                     // where known: runs of one number owe the same bits; numbered from 0
  std::vector<std::string> changes;  // "cuts none -> contiguous:2048x2:ascending": from the last known run before
  std::string why;                   // it is not known
};

struct InvarianceReport {
  GemmProblem problem;  // with m = the first M
  std::vector<InvarianceRun> runs;
  int kinds_of_bits = 0;   // numbers that runs have
  int64_t unknown_m = 0;   // M values of which nothing is known
  // A row gives the same bits at every M of the range.
  bool invariant() const { return kinds_of_bits == 1 && unknown_m == 0; }
};

// For n, k, types and layout of `problem` and first_m <= M <= last_m. INVALID_ARGUMENT for ranges that are empty or hold
// more than 2^20 values.
absl::StatusOr<InvarianceReport> BatchInvariance(const ArchProfile& profile, const GemmProblem& problem, int64_t first_m,
                                                 int64_t last_m);
std::string ToText(const InvarianceReport& report);

// Shapes M x n x k, first_m <= M <= last_m, that both profiles answer.
struct ProfileDifference {
  GemmProblem problem;  // with m = first_m
  int64_t last_m = 1;
  std::vector<std::string> changes;  // fields, from the first profile to the second
};

struct ProfileComparison {
  std::vector<std::string> identity;  // "library version 130100 -> 130300"
  int64_t same = 0, changed = 0;      // shapes that both describe
  int64_t unknown = 0;                // that both list, but of which one of them does not give a descriptor
  std::vector<ProfileDifference> differences;
};

// Compares the shapes that both list: those studied, and those of scans, for the M that both scanned.
ProfileComparison Compare(const ArchProfile& before, const ArchProfile& after);
std::string ToText(const ProfileComparison& comparison);

// For people: identity, rules, coverage, validation, and the library's defects, each with the command that shows it.
std::string Summarise(const ArchProfile& profile);

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_PROFILE_REPORT_H_
