#include "core/gemm/simulation.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "absl/strings/str_format.h"

namespace samebits::gemm {
namespace {

std::vector<uint64_t> RunPlan(const GemmDesc& desc, const Plan& plan, const std::vector<uint64_t>& a,
                              const std::vector<uint64_t>& b, int64_t rows, std::span<const Output> outputs) {
  const bool scalar = !plan.arithmetic.unit.has_value();
  const Operand x(desc.a_type, rows, plan.k, a, scalar), y(desc.b_type, rows, plan.k, b, scalar);
  return *Finish(desc, Accumulate(plan, x, y, outputs), outputs, {});
}

// Both descriptors on fresh operands; `draws` times `outputs` elements, many draws at once as rows of one product.
bool EqualBytes(const HiddenGemm& hidden, const Plan& own, const GemmDesc& desc, const Plan& recovered, int draws,
                int outputs, uint64_t seed) {
  const int64_t k = hidden.problem.k;
  for (int draw = 0; draw < draws;) {
    const int rows = std::min(8, draws - draw);
    std::vector<Output> places;
    std::vector<uint64_t> a, b;
    for (int r = 0; r < rows; ++r, ++draw) {
      const auto x = DrawPatterns(hidden.desc.a_type, k * outputs, seed + 2 * draw, draw);
      const auto y = DrawPatterns(hidden.desc.b_type, k * outputs, seed + 2 * draw + 1, draw);
      a.insert(a.end(), x.begin(), x.end());
      b.insert(b.end(), y.begin(), y.end());
      for (int i = 0; i < outputs; ++i) places.push_back({r * outputs + i, r * outputs + i});
    }
    if (RunPlan(hidden.desc, own, a, b, rows * outputs, places) != RunPlan(desc, recovered, a, b, rows * outputs, places)) {
      return false;
    }
  }
  return true;
}

absl::StatusOr<SimulatedCase> RunCase(const SimulationOptions& options, uint64_t seed) {
  SimulatedCase result;
  result.seed = seed;
  std::mt19937_64 random(seed);
  result.hidden = DrawHidden(random, options.defects);
  const HiddenGemm& hidden = result.hidden;
  SimulatedLibrary library(hidden);
  RecoveryOptions recovery_options;
  recovery_options.seed = seed + 1;
  absl::StatusOr<Recovery> recovery = Recover(&library, hidden.problem, recovery_options);
  if (!recovery.ok()) return recovery.status();
  result.recovery = *std::move(recovery);
  if (!result.recovery.explained) return result;
  const auto own = CompileDefective(hidden.desc, hidden.problem.k, hidden.summed_k, hidden.sm);
  const auto recovered =
      CompileDefective(result.recovery.desc, hidden.problem.k, result.recovery.summed_k, hidden.sm);
  if (!own.ok()) return own.status();
  if (!recovered.ok()) return recovered.status();
  result.equal_form = DigestOf(*own) == DigestOf(*recovered) && result.recovery.summed_k == hidden.summed_k;
  result.equal_bytes = EqualBytes(hidden, *own, result.recovery.desc, *recovered, options.fresh_draws,
                                  options.outputs_a_draw, random());
  return result;
}

}  // namespace

absl::Status Simulate(const SimulationOptions& options, const std::function<void(const SimulatedCase&)>& report) {
  std::atomic<int64_t> next = 0;
  std::mutex mutex;
  absl::Status failure;
  const auto work = [&] {
    for (int64_t i = next++; i < options.count; i = next++) {
      const absl::StatusOr<SimulatedCase> result = RunCase(options, options.seed + i);
      const std::lock_guard<std::mutex> lock(mutex);
      if (!result.ok()) {
        failure = result.status();
        next = options.count;
        return;
      }
      report(*result);
    }
  };
  const int threads = options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> pool;
  for (int i = 1; i < threads; ++i) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
  return failure;
}

void SimulationTable::Add(const SimulatedCase& result) {
  for (Row* row : {&rows_[static_cast<int>(result.hidden.desc.family)], &all_}) {
    const bool defect = result.hidden.summed_k != result.hidden.problem.k;
    ++row->cases;
    row->recovered += result.recovered();
    row->defects += defect;
    row->located += defect && result.recovery.summed_k == result.hidden.summed_k;
    row->launches.push_back(result.recovery.launches);
  }
}

int64_t SimulationTable::cases() const { return all_.cases; }
int64_t SimulationTable::recovered() const { return all_.recovered; }
int64_t SimulationTable::median_launches() const { return Quantile(all_.launches, 50); }

int64_t SimulationTable::Quantile(std::vector<int64_t> values, int percent) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) * percent / 100];
}

std::string SimulationTable::Line(const std::string& name, const Row& row) {
  return absl::StrFormat("%-8s %6d %9d %7d %7d %8d %6d %6d\n", name, row.cases, row.recovered, row.defects, row.located,
                         Quantile(row.launches, 50), Quantile(row.launches, 90), Quantile(row.launches, 100));
}

std::string SimulationTable::ToString() const {
  constexpr const char* kFamilies[] = {"plain", "split_k", "chained", "gemv"};
  std::string text = absl::StrFormat("%-8s %6s %9s %7s %7s %8s %6s %6s\n", "family", "hidden", "recovered", "defects", "located",
                         "launches", "90 %", "most");
  for (int family = 0; family < 4; ++family) text += Line(kFamilies[family], rows_[family]);
  return text + Line("all", all_);
}

}  // namespace samebits::gemm
