#include <utility>

#include "core/heal/jobs/evaluation.h"
#include "core/heal/jobs/plan.h"

namespace samebits::heal {
namespace {

class EvaluatePlan : public Plan {
 public:
  EvaluatePlan(const JobSpec& spec, const ModelShape& shape, const EvaluateSpec& job)
      : evaluation_(spec, shape, job.trajectory, Configurations(job), job.measure_mse, job.measure_flips) {}

  std::vector<std::string> Units() const override { return evaluation_.Units(); }
  Capacity EngineCapacity() const override { return evaluation_.EngineCapacity(); }
  absl::StatusOr<Json> Run(int64_t unit, UnitContext& context) override { return evaluation_.Run(unit, context); }
  JobResult Summarize(const std::vector<Json>& records) const override { return evaluation_.Summarize(records); }

 private:
  static std::vector<EvaluatedConfiguration> Configurations(const EvaluateSpec& job) {
    std::vector<EvaluatedConfiguration> list;
    for (const std::string& configuration : job.configurations) list.push_back({configuration, job.schedules});
    return list;
  }

  Evaluation evaluation_;
};

}  // namespace

std::unique_ptr<Plan> MakeEvaluatePlan(const JobSpec& spec, const ModelShape& shape) {
  return std::make_unique<EvaluatePlan>(spec, shape, std::get<EvaluateSpec>(spec.job));
}

}  // namespace samebits::heal
