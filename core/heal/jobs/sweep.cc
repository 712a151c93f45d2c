#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/heal/jobs/evaluation.h"
#include "core/heal/jobs/plan.h"
#include "core/heal/numerics/configuration.h"

namespace samebits::heal {
namespace {

int BitsOf(const std::string& text) {
  const absl::StatusOr<Configuration> configuration = ParseConfiguration(text);
  if (!configuration.ok()) return -1;
  const bool plain = configuration->attention != AttentionMode::kInt16 &&
                     configuration->gemm != GemmInput::kF16Compensated;
  switch (configuration->boundary) {
    case Boundary::kTruncated: return configuration->significand_bits;
    case Boundary::kBf16: return plain ? 7 : -1;
    case Boundary::kF16: return plain ? 10 : -1;
    case Boundary::kF32: break;
  }
  if (configuration->attention != AttentionMode::kF32) return -1;
  if (configuration->gemm == GemmInput::kTf32) return 10;
  return configuration->gemm == GemmInput::kF32 ? 23 : -1;
}

class SweepPlan : public Plan {
 public:
  SweepPlan(const JobSpec& spec, const ModelShape& shape, const SweepSpec& job)
      : job_(job), evaluation_(spec, shape, job.trajectory, Configurations(job), true, true) {}

  std::vector<std::string> Units() const override { return evaluation_.Units(); }
  Capacity EngineCapacity() const override { return evaluation_.EngineCapacity(); }
  absl::StatusOr<Json> Run(int64_t unit, UnitContext& context) override { return evaluation_.Run(unit, context); }

  JobResult Summarize(const std::vector<Json>& records) const override {
    EvaluateResult evaluated = evaluation_.Summarize(records);
    SweepResult result;
    result.anchor = std::move(evaluated.anchor);
    result.tolerated_rate = std::max(0.0, job_.tolerated_rate);
    for (const ConfigurationOutcome& outcome : evaluated.configurations) {
      result.points.push_back(PointOf(outcome));
      if (job_.tolerated_rate >= 0 || outcome.configuration != job_.trajectory.anchor) continue;
      for (const ScheduleOutcome& schedule : outcome.schedules) {
        if (schedule.prompts == 0) continue;
        const double rate = static_cast<double>(schedule.flips) / static_cast<double>(schedule.prompts);
        result.tolerated_rate = std::max(result.tolerated_rate, rate);
      }
    }
    FindThreshold(&result);
    return result;
  }

 private:
  static std::vector<EvaluatedConfiguration> Configurations(const SweepSpec& job) {
    std::vector<EvaluatedConfiguration> list;
    for (int bits = job.least_bits; bits <= job.most_bits; ++bits) {
      list.push_back({absl::StrCat("trunc:", bits), {Schedule::kFixed}});
    }
    const auto add = [&list](const std::string& text) -> EvaluatedConfiguration& {
      for (EvaluatedConfiguration& other : list) {
        if (other.configuration == text) return other;
      }
      return list.emplace_back(EvaluatedConfiguration{text, {Schedule::kFixed}});
    };
    for (const std::string& baseline : job.baselines) add(baseline);
    if (job.tolerated_rate < 0) {
      add(job.trajectory.anchor).schedules = {Schedule::kFixed, Schedule::kOriginal, Schedule::kReversed};
    }
    return list;
  }

  // Under the anchor's own schedule, the same for all.
  static SweepPoint PointOf(const ConfigurationOutcome& outcome) {
    SweepPoint point{outcome.configuration, BitsOf(outcome.configuration), {}, {}};
    const ScheduleOutcome& fixed = outcome.schedules.front();
    point.mse = fixed.mse;
    if (fixed.prompts > 0) {
      std::vector<double> flips(fixed.prompts, 0.0);
      std::fill_n(flips.begin(), fixed.flips, 1.0);
      point.flip_rate = MeanAndSem(flips);
    }
    return point;
  }

  void FindThreshold(SweepResult* result) const {
    result->threshold_mse = std::numeric_limits<double>::quiet_NaN();
    const int widths = job_.most_bits - job_.least_bits + 1;
    for (int i = widths - 1; i >= 0; --i) {
      const SweepPoint& point = result->points[i];
      if (point.flip_rate.count == 0 || point.flip_rate.mean > result->tolerated_rate) return;
      result->threshold_bits = point.bits;
      result->threshold_mse = point.mse.mean;
    }
  }

  const SweepSpec& job_;
  Evaluation evaluation_;
};

}  // namespace

std::unique_ptr<Plan> MakeSweepPlan(const JobSpec& spec, const ModelShape& shape) {
  return std::make_unique<SweepPlan>(spec, shape, std::get<SweepSpec>(spec.job));
}

}  // namespace samebits::heal
