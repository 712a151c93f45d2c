#ifndef SAMEBITS_CORE_HEAL_JOBS_PLAN_H_
#define SAMEBITS_CORE_HEAL_JOBS_PLAN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/heal/jobs/engines.h"
#include "core/heal/jobs/job.h"
#include "core/heal/jobs/monitor.h"
#include "core/heal/jobs/records.h"

namespace samebits::heal {

// What a unit may use. `records` has one entry a unit, null where it is not done; those of lower units are all there.
struct UnitContext {
  Engines& engines;
  Monitor& monitor;
  const std::vector<Json>& records;
};

// One kind of job, planned for a validated spec. Run and Summarize throw RecordError or Json's exceptions on records
// that are not theirs.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual std::vector<std::string> Units() const = 0;
  virtual Capacity EngineCapacity() const = 0;
  virtual absl::StatusOr<Json> Run(int64_t unit, UnitContext& context) = 0;
  virtual JobResult Summarize(const std::vector<Json>& records) const = 0;
};

// `spec` and `shape` outlive the plan.
std::unique_ptr<Plan> MakeEvaluatePlan(const JobSpec& spec, const ModelShape& shape);
std::unique_ptr<Plan> MakeAttributePlan(const JobSpec& spec, const ModelShape& shape);
std::unique_ptr<Plan> MakeDecomposePlan(const JobSpec& spec, const ModelShape& shape);
std::unique_ptr<Plan> MakeSweepPlan(const JobSpec& spec, const ModelShape& shape);
std::unique_ptr<Plan> MakeQkvPlan(const JobSpec& spec, const ModelShape& shape);
std::unique_ptr<Plan> MakePolicyPlan(const JobSpec& spec, const ModelShape& shape);
std::unique_ptr<Plan> MakeServeCostPlan(const JobSpec& spec, const ModelShape& shape);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_JOBS_PLAN_H_
