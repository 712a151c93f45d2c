#ifndef SAMEBITS_CORE_GEMM_PROBE_H_
#define SAMEBITS_CORE_GEMM_PROBE_H_

// Questions to a black box about its order of summation ("Taming Bitwise Behavior in GPU Kernels with Tensor Core",
// section 4): +L and -L at two places of the contracted axis, tiny values r, 2r, 4r, ... at some others, zeros
// elsewhere. A tiny value that meets an uncancelled L in an accumulator is absorbed; the others return, and their sum
// tells which. What is absorbed is what meets the pair no later than the pair meets itself.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/gemm/black_box.h"

namespace samebits::gemm {

struct Probe {
  int64_t plus = 0, minus = 0;    // places of +L and -L; equal: no pair
  std::vector<int64_t> small;     // places of r, 2r, 4r, ...; distinct, none of them plus or minus
};

struct Answer {
  bool valid = false;     // the output is a sum of tiny values of the probe
  uint64_t absorbed = 0;  // bit i: small[i] did not return
};

// Asks probes of one problem, many in a launch: each row of an operand is a probe of its own.
class Prober {
 public:
  // `box` must outlive the prober.
  Prober(BlackBox* box, const GemmProblem& problem, int most_per_launch);

  int small_per_probe() const { return static_cast<int>(a_small_.size()) * rows_per_probe_; }  // at most 64
  int probes_per_launch() const { return per_launch_; }
  int64_t launches() const { return launches_; }

  // One launch; at most probes_per_launch() probes of at most small_per_probe() tiny values.
  absl::StatusOr<std::vector<Answer>> Ask(std::span<const Probe> probes);

 private:
  void ChooseConstants();
  absl::StatusOr<std::vector<Answer>> AskRows(std::span<const Probe> probes);
  std::vector<uint64_t> VaryingRow(const Probe& probe) const;
  std::vector<uint64_t> FixedRow(const Probe& probe) const;
  Answer Read(const Probe& probe, uint64_t pattern) const;

  BlackBox* const box_;
  const GemmProblem problem_;
  int per_launch_ = 1;
  int rows_per_probe_ = 1;  // several where a launch has room for one pair only
  int64_t launches_ = 0;
  bool rows_vary_ = true;   // probes are rows of A, else of B
  bool both_vary_ = false;  // a probe takes a row of A and one of B
  // patterns for the varying operand (a) and the other (b)
  uint64_t a_plus_ = 0, a_minus_ = 0, b_large_ = 0, b_small_ = 0;
  std::vector<uint64_t> a_small_;
  double unit_ = 1;  // value of the least tiny product
};

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_PROBE_H_
