#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "core/heal/jobs/plan.h"
#include "core/heal/numerics/configuration.h"

namespace samebits::heal {
namespace {

constexpr int kSpareContext = 16;  // positions that a backend may use to prepare

// Units: every context, batch and round. A unit times all configurations one after another, in odd rounds backwards, so
// that drift of the clock hits all alike.
class ServeCostPlan : public Plan {
 public:
  explicit ServeCostPlan(const ServeCostSpec& job) : job_(job) {
    configurations_.push_back(job.baseline);
    for (const std::string& configuration : job.configurations) {
      if (configuration != job.baseline) configurations_.push_back(configuration);
    }
  }

  std::vector<std::string> Units() const override {
    std::vector<std::string> units;
    for (const int context : job_.contexts) {
      for (const int batch : job_.batches) {
        for (int round = 0; round < job_.rounds; ++round) {
          units.push_back(absl::StrCat("serve-cost context ", context, " batch ", batch, " round ", round + 1));
        }
      }
    }
    return units;
  }

  Capacity EngineCapacity() const override { return {}; }

  absl::StatusOr<Json> Run(int64_t unit, UnitContext& context) override {
    const int round = static_cast<int>(unit % job_.rounds);
    const int batch = job_.batches[unit / job_.rounds % job_.batches.size()];
    const int length = job_.contexts[unit / job_.rounds / job_.batches.size()];
    std::vector<Json> timings(configurations_.size());
    for (size_t i = 0; i < configurations_.size(); ++i) {
      const size_t which = round % 2 == 0 ? i : configurations_.size() - 1 - i;
      if (absl::Status s = context.monitor.Step(absl::StrCat("timing ", configurations_[which])); !s.ok()) return s;
      absl::StatusOr<Json> timing = Time(configurations_[which], batch, length, context.engines.backend());
      if (!timing.ok()) return timing.status();
      timings[which] = *std::move(timing);
    }
    Json record{{"timings", std::move(timings)}};
    absl::StatusOr<double> bandwidth = context.engines.backend().CopyBandwidth();
    if (bandwidth.ok()) record["bandwidth"] = *bandwidth;
    if (!bandwidth.ok() && !absl::IsUnimplemented(bandwidth.status())) return bandwidth.status();
    return record;
  }

  JobResult Summarize(const std::vector<Json>& records) const override {
    ServeCostResult result;
    result.baseline = job_.baseline;
    Moments bandwidth;
    for (const Json& record : records) {
      if (record.contains("bandwidth")) bandwidth.Add(record.at("bandwidth").get<double>());
    }
    result.copy_bandwidth = bandwidth.Summary();
    for (size_t c = 0; c < job_.contexts.size(); ++c) {
      for (size_t b = 0; b < job_.batches.size(); ++b) {
        const Json* first = records.data() + (c * job_.batches.size() + b) * job_.rounds;
        for (size_t which = 0; which < configurations_.size(); ++which) {
          ServeCostRow& row = result.rows.emplace_back(RowOf(which, first));
          row.context = job_.contexts[c];
          row.batch = job_.batches[b];
          row.floor_milliseconds = bandwidth.count() == 0 || row.weight_bytes == 0
                                       ? std::numeric_limits<double>::quiet_NaN()
                                       : 1000 * static_cast<double>(row.weight_bytes) / result.copy_bandwidth.mean;
        }
      }
    }
    return result;
  }

 private:
  absl::StatusOr<Json> Time(const std::string& text, int batch, int length, Backend& backend) const {
    absl::StatusOr<Configuration> configuration = ParseConfiguration(text);
    if (!configuration.ok()) return configuration.status();
    Capacity capacity;
    capacity.slots = batch;
    capacity.rows = batch;
    capacity.context = length + job_.warmup_steps + job_.steps + kSpareContext;
    absl::StatusOr<std::unique_ptr<Engine>> engine = backend.Open(*configuration, capacity);
    if (absl::IsResourceExhausted(engine.status())) return Missing(engine.status());
    if (!engine.ok()) return engine.status();
    absl::StatusOr<DecodeTiming> timing = (*engine)->TimeDecode(batch, length, job_.warmup_steps, job_.steps);
    if (absl::IsResourceExhausted(timing.status())) return Missing(timing.status());
    if (!timing.ok()) return timing.status();
    return Json{{"milliseconds", timing->milliseconds}, {"kv", timing->kv_bytes}, {"weights", timing->weight_bytes},
                {"memory", timing->memory_bytes}};
  }

  static Json Missing(const absl::Status& status) {
    return Json{{"missing", absl::StrCat("does not fit: ", status.message())}};
  }

  // Median step of a round; NaN where it is missing.
  static double StepOf(const Json& timing) {
    return timing.contains("missing") ? std::numeric_limits<double>::quiet_NaN()
                                      : Median(timing.at("milliseconds").get<std::vector<double>>());
  }

  ServeCostRow RowOf(size_t which, const Json* rounds) const {
    ServeCostRow row;
    row.configuration = configurations_[which];
    Moments steps, overheads;
    for (int round = 0; round < job_.rounds; ++round) {
      const std::vector<Json> timings = ReadList<Json>(rounds[round], "timings", configurations_.size());
      const Json& timing = timings[which];
      const double own = StepOf(timing), baseline = StepOf(timings[0]);
      if (timing.contains("missing")) {
        row.missing = timing.at("missing").get<std::string>();
        continue;
      }
      steps.Add(own);
      if (!std::isnan(baseline)) overheads.Add(own / baseline - 1);
      row.kv_bytes = timing.at("kv").get<int64_t>();
      row.weight_bytes = timing.at("weights").get<int64_t>();
      row.memory_bytes = std::max(row.memory_bytes, timing.at("memory").get<int64_t>());
    }
    row.milliseconds = steps.Summary();
    row.overhead = overheads.Summary();
    return row;
  }

  const ServeCostSpec& job_;
  std::vector<std::string> configurations_;  // the baseline first
};

}  // namespace

std::unique_ptr<Plan> MakeServeCostPlan(const JobSpec& spec, const ModelShape&) {
  return std::make_unique<ServeCostPlan>(std::get<ServeCostSpec>(spec.job));
}

}  // namespace samebits::heal
