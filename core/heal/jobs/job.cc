#include "core/heal/jobs/job.h"

#include <exception>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/heal/jobs/plan.h"

namespace samebits::heal {
namespace {

std::unique_ptr<Plan> MakePlan(const JobSpec& spec, const ModelShape& shape) {
  constexpr std::unique_ptr<Plan> (*kMakers[])(const JobSpec&, const ModelShape&) = {
      MakeEvaluatePlan, MakeAttributePlan, MakeDecomposePlan, MakeSweepPlan,
      MakeQkvPlan,      MakePolicyPlan,    MakeServeCostPlan};
  static_assert(std::size(kMakers) == std::variant_size_v<decltype(JobSpec::job)>);
  return kMakers[spec.job.index()](spec, shape);
}

struct Planned {
  std::unique_ptr<Plan> plan;
  std::vector<std::string> units;
};

absl::StatusOr<Planned> MakePlanned(const JobSpec& spec, const ModelShape& shape) {
  if (absl::Status s = Validate(spec, shape); !s.ok()) return s;
  Planned planned;
  planned.plan = MakePlan(spec, shape);
  planned.units = planned.plan->Units();
  if (static_cast<int64_t>(planned.units.size()) > kMostUnits) {
    return absl::ResourceExhaustedError(absl::StrCat("the job has ", planned.units.size(), " units, ", kMostUnits,
                                                     " are allowed: ask for fewer prompts or configurations"));
  }
  return planned;
}

absl::Status BadRecord(int64_t index, const std::string& why) {
  return absl::FailedPreconditionError(
      absl::StrCat("record ", index, " cannot be used: ", why, "; leave it out and its unit runs anew"));
}

absl::StatusOr<Json> ParseRecord(int64_t index, const std::string& text, const std::vector<std::string>& units) {
  if (index < 0 || index >= static_cast<int64_t>(units.size())) {
    return BadRecord(index, absl::StrCat("the job has ", units.size(), " units"));
  }
  if (static_cast<int64_t>(text.size()) > kMostRecordBytes) return BadRecord(index, "it is too long");
  Json record = Json::parse(text, nullptr, false);
  if (!record.is_object()) return BadRecord(index, "it is not a JSON object");
  const auto unit = record.find("unit");
  if (unit == record.end() || *unit != units[index]) {
    return BadRecord(index, absl::StrCat("it is not of unit \"", units[index], "\""));
  }
  return record;
}

absl::StatusOr<std::vector<Json>> ParseRecords(const Records& records, const std::vector<std::string>& units) {
  std::vector<Json> parsed(units.size());
  for (const auto& [index, text] : records) {
    absl::StatusOr<Json> record = ParseRecord(index, text, units);
    if (!record.ok()) return record.status();
    parsed[index] = *std::move(record);
  }
  return parsed;
}

absl::StatusOr<JobResult> Summarize(const Planned& planned, const std::vector<Json>& records) {
  try {
    return planned.plan->Summarize(records);
  } catch (const std::exception& error) {
    return absl::FailedPreconditionError(absl::StrCat("the records cannot be read: ", error.what()));
  }
}

absl::StatusOr<std::string> RunUnit(Planned& planned, int64_t index, UnitContext& context) {
  try {
    absl::StatusOr<Json> record = planned.plan->Run(index, context);
    if (!record.ok()) {
      return absl::Status(record.status().code(),
                          absl::StrCat("unit \"", planned.units[index], "\": ", record.status().message()));
    }
    (*record)["unit"] = planned.units[index];
    std::string text = record->dump(-1, ' ', false, Json::error_handler_t::replace);
    if (static_cast<int64_t>(text.size()) > kMostRecordBytes) {
      return absl::ResourceExhaustedError(absl::StrCat("the record of unit \"", planned.units[index], "\" has ",
                                                       text.size(), " bytes, ", kMostRecordBytes,
                                                       " are allowed: ask for fewer prompts or tokens"));
    }
    return text;
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat("unit \"", planned.units[index], "\": out of memory"));
  } catch (const std::exception& error) {
    return absl::FailedPreconditionError(
        absl::StrCat("unit \"", planned.units[index], "\": earlier records cannot be read: ", error.what()));
  }
}

}  // namespace

absl::StatusOr<std::vector<std::string>> PlanJob(const JobSpec& spec, const ModelShape& shape) {
  absl::StatusOr<Planned> planned = MakePlanned(spec, shape);
  if (!planned.ok()) return planned.status();
  return std::move(planned->units);
}

absl::StatusOr<JobResult> RunJob(const JobSpec& spec, Backend& backend, const Records& done, JobEvents& events) {
  absl::StatusOr<Planned> planned = MakePlanned(spec, backend.shape());
  if (!planned.ok()) return planned.status();
  absl::StatusOr<std::vector<Json>> records = ParseRecords(done, planned->units);
  if (!records.ok()) return records.status();
  Engines engines(backend, planned->plan->EngineCapacity());
  const int64_t total = static_cast<int64_t>(planned->units.size());
  int64_t finished = static_cast<int64_t>(done.size());
  for (int64_t index = 0; index < total; ++index) {
    if (!(*records)[index].is_null()) continue;
    Monitor monitor(events, finished, total, planned->units[index]);
    UnitContext context{engines, monitor, *records};
    absl::StatusOr<std::string> text = RunUnit(*planned, index, context);
    if (!text.ok()) return text.status();
    absl::StatusOr<Json> record = ParseRecord(index, *text, planned->units);
    if (!record.ok()) return record.status();
    (*records)[index] = *std::move(record);
    if (absl::Status s = events.OnUnit(index, *text); !s.ok()) return s;
    ++finished;
    events.OnProgress(finished, total, absl::StrCat(planned->units[index], ": done"));
  }
  engines.Close();
  return Summarize(*planned, *records);
}

absl::StatusOr<JobResult> SummarizeJob(const JobSpec& spec, const ModelShape& shape, const Records& records) {
  absl::StatusOr<Planned> planned = MakePlanned(spec, shape);
  if (!planned.ok()) return planned.status();
  absl::StatusOr<std::vector<Json>> parsed = ParseRecords(records, planned->units);
  if (!parsed.ok()) return parsed.status();
  for (size_t index = 0; index < parsed->size(); ++index) {
    if ((*parsed)[index].is_null()) {
      return absl::FailedPreconditionError(absl::StrCat("unit \"", planned->units[index], "\" has no record"));
    }
  }
  return Summarize(*planned, *parsed);
}

}  // namespace samebits::heal
