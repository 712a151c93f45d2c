#ifndef SAMEBITS_CORE_HEAL_JOBS_EVALUATION_H_
#define SAMEBITS_CORE_HEAL_JOBS_EVALUATION_H_

#include <string>
#include <vector>

#include "core/heal/jobs/anchor.h"

namespace samebits::heal {

struct EvaluatedConfiguration {
  std::string configuration;
  std::vector<Schedule> schedules;
};

// Units of the reproducibility job and of the sweep: the anchor's, then, for every group, configuration and schedule, a
// replay and a generation.
class Evaluation {
 public:
  Evaluation(const JobSpec& spec, const ModelShape& shape, const Trajectory& trajectory,
             std::vector<EvaluatedConfiguration> configurations, bool measure_mse, bool measure_flips);

  std::vector<std::string> Units() const;
  Capacity EngineCapacity() const { return anchor_.EngineCapacity(); }
  absl::StatusOr<Json> Run(int64_t unit, UnitContext& context);
  EvaluateResult Summarize(const std::vector<Json>& records) const;

 private:
  struct Unit {
    int group = 0, configuration = 0, schedule = 0;
  };
  int64_t UnitOf(int group, int configuration, int schedule) const;
  absl::Status MeasureMse(const Unit& unit, UnitContext& context, Json* record);
  absl::Status MeasureFlips(const Unit& unit, UnitContext& context, Json* record);
  ScheduleOutcome OutcomeOf(int configuration, int schedule, const AnchorOutcome& anchor,
                            const std::vector<Json>& records, Moments* mse) const;
  void ReadUnit(const Json& record, int group, ScheduleOutcome* outcome, Moments* mse) const;

  Anchor anchor_;
  const std::vector<EvaluatedConfiguration> configurations_;
  const bool measure_mse_, measure_flips_;
  std::vector<Unit> units_;  // after the anchor's
};

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_JOBS_EVALUATION_H_
