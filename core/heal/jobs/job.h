#ifndef SAMEBITS_CORE_HEAL_JOBS_JOB_H_
#define SAMEBITS_CORE_HEAL_JOBS_JOB_H_

// Jobs 1 to 7 over any Backend. A job is a fixed list of units in order. Running a unit gives a record, and the result
// is computed from records alone: a job that was stopped and goes on from its records gives the same result, bit for
// bit, as one that ran through (timings aside, which are measured anew only for units without a record).

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/heal/engine/engine.h"
#include "core/heal/jobs/result.h"
#include "core/heal/jobs/spec.h"

namespace samebits::heal {

// Unit index -> record: compact JSON that names its unit; doubles printed so that they read back exactly. Opaque to
// others. At most kMostRecordBytes each.
using Records = std::map<int64_t, std::string>;
inline constexpr int64_t kMostRecordBytes = 3 << 20;
inline constexpr int64_t kMostUnits = 100000;

// Called from the thread of RunJob.
class JobEvents {
 public:
  virtual ~JobEvents() = default;
  // A unit is done; its record should be kept before this returns. An error ends the job with that error.
  virtual absl::Status OnUnit(int64_t index, const std::string& record) = 0;
  // Units done, of how many; the text says what is being done. Several times a unit.
  virtual void OnProgress(int64_t /*done*/, int64_t /*total*/, const std::string& /*text*/) {}
  // Asked between passes.
  virtual bool Cancelled() { return false; }
};

// Names of the units, in order: "evaluate 0-99 bf16 fixed". Errors of Validate; RESOURCE_EXHAUSTED beyond kMostUnits.
absl::StatusOr<std::vector<std::string>> PlanJob(const JobSpec& spec, const ModelShape& shape);

// Runs the units that have no record in `done`, in order, and computes the result. Errors: those of Validate; the
// engine's; CANCELLED; FAILED_PRECONDITION where a record is of another unit or cannot be read.
absl::StatusOr<JobResult> RunJob(const JobSpec& spec, Backend& backend, const Records& done, JobEvents& events);

// The result from records of all units, without a backend. FAILED_PRECONDITION where one is missing.
absl::StatusOr<JobResult> SummarizeJob(const JobSpec& spec, const ModelShape& shape, const Records& records);

}  // namespace samebits::heal

#endif  // SAMEBITS_CORE_HEAL_JOBS_JOB_H_
