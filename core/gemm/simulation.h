#ifndef SAMEBITS_CORE_GEMM_SIMULATION_H_
#define SAMEBITS_CORE_GEMM_SIMULATION_H_

// The test of recovery without a GPU: random hidden descriptors, recovered from the bytes of the simulated library.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/gemm/recovery.h"
#include "core/gemm/simulated_library.h"

namespace samebits::gemm {

struct SimulationOptions {
  int64_t count = 100;
  uint64_t seed = 0;       // problem i is drawn from seed + i
  bool defects = true;     // some hidden libraries drop the tail of K
  int fresh_draws = 100;   // on which the recovered descriptor must give the hidden one's bytes
  int outputs_a_draw = 2;
  int threads = 0;         // 0: one per core
};

struct SimulatedCase {
  uint64_t seed = 0;
  HiddenGemm hidden;
  Recovery recovery;
  bool equal_bytes = false;  // on all fresh draws
  bool equal_form = false;   // plans of one digest, and the defect, if any, located
  bool recovered() const { return recovery.explained && equal_bytes && equal_form; }
};

// Calls `report` for every case, in any order, from one thread at a time. The first error of a case ends the run.
absl::Status Simulate(const SimulationOptions& options, const std::function<void(const SimulatedCase&)>& report);

// Counts by family, and launches.
class SimulationTable {
 public:
  void Add(const SimulatedCase& result);
  int64_t cases() const;
  int64_t recovered() const;
  int64_t median_launches() const;
  std::string ToString() const;

 private:
  struct Row {
    int64_t cases = 0, recovered = 0, defects = 0, located = 0;
    std::vector<int64_t> launches;
  };
  static int64_t Quantile(std::vector<int64_t> values, int percent);
  static std::string Line(const std::string& name, const Row& row);
  Row rows_[4], all_;
};

}  // namespace samebits::gemm

#endif  // SAMEBITS_CORE_GEMM_SIMULATION_H_
