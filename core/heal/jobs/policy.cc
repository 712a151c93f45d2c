#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/heal/jobs/anchor.h"
#include "core/heal/jobs/attribution.h"
#include "core/heal/jobs/plan.h"
#include "core/heal/numerics/configuration.h"

namespace samebits::heal {
namespace {

constexpr int kFittedRows = 1024;

// Units: the anchor's; attribution of every prompt under the configuration that lacks the protection; the unskipped
// variant; the first 1 .. most layers skipped; the 1 .. most layers of least contribution skipped.
class PolicyPlan : public Plan {
 public:
  PolicyPlan(const JobSpec& spec, const ModelShape& shape, const PolicySpec& job)
      : spec_(spec), shape_(shape), job_(job), anchor_(spec, shape, job.trajectory, job.prompts),
        paper_(job.variant.rfind("paper-", 0) == 0 ? "paper-" : ""), attention_(job.variant == paper_ + "heal++"),
        unprotected_(attention_ ? "heal-base" : paper_ + "heal+"),
        unskipped_(paper_ + (attention_ ? "heal+" : "heal-full")),
        most_(job.most_skipped == 0 ? shape.layers : job.most_skipped) {}

  std::vector<std::string> Units() const override {
    std::vector<std::string> units = anchor_.Units();
    for (int i = 0; i < anchor_.prompts(); ++i) units.push_back(absl::StrCat("attribute ", unprotected_, " ", i));
    for (int group = 0; group < anchor_.groups(); ++group) {
      units.push_back(absl::StrCat("policy ", unskipped_, " ", anchor_.Range(group)));
    }
    for (const char* order : {"prefix", "contribution"}) {
      for (int k = 1; k <= most_; ++k) {
        for (int group = 0; group < anchor_.groups(); ++group) {
          units.push_back(absl::StrCat("policy ", job_.variant, " ", order, " ", k, " ", anchor_.Range(group)));
        }
      }
    }
    return units;
  }

  Capacity EngineCapacity() const override { return anchor_.EngineCapacity(); }

  absl::StatusOr<Json> Run(int64_t unit, UnitContext& context) override {
    if (unit < anchor_.groups()) return anchor_.Run(static_cast<int>(unit), context);
    if (unit < FirstMse()) {
      const std::vector<Sequence> sequences = anchor_.AllSequences(context.records);
      const AttributionRequest request{job_.trajectory.anchor, unprotected_, spec_.batching.rows,
                                       KeptRows(shape_, anchor_.prompts(), kFittedRows)};
      return MeasureAttribution(request, sequences[unit - anchor_.groups()], shape_, context);
    }
    const int candidate = static_cast<int>(unit - FirstMse()) / anchor_.groups();
    const int group = static_cast<int>(unit - FirstMse()) % anchor_.groups();
    return Measure(CandidateOf(candidate, context.records), group, context);
  }

  JobResult Summarize(const std::vector<Json>& records) const override {
    PolicyResult result;
    result.anchor = anchor_.Outcome(records);
    result.variant = job_.variant;
    result.budget = job_.budget != 0 ? job_.budget : attention_ ? 1.2 : 1.5;
    result.contribution = ContributionOf(records);
    result.contribution_order = OrderOf(result.contribution);
    result.unskipped_mse = MedianOf(0, records);
    for (int candidate = 1; candidate <= 2 * most_; ++candidate) {
      PolicyPoint& point = result.points.emplace_back();
      point.prefix = candidate <= most_;
      point.skipped = (candidate - 1) % most_ + 1;
      point.configuration = CandidateOf(candidate, records);
      point.median_mse = MedianOf(candidate, records);
      point.ratio = point.median_mse / result.unskipped_mse;
      point.within = point.median_mse <= result.budget * result.unskipped_mse;
    }
    Choose(&result);
    return result;
  }

 private:
  int64_t FirstMse() const { return anchor_.groups() + anchor_.prompts(); }

  // 0: the unskipped one; 1 .. most_: prefixes; most_ + 1 .. 2 most_: contribution order.
  std::string CandidateOf(int candidate, const std::vector<Json>& records) const {
    if (candidate == 0) return unskipped_;
    if (candidate <= most_) return absl::StrCat(job_.variant, ":", candidate);
    std::vector<int> layers = OrderOf(ContributionOf(records));
    layers.resize(candidate - most_);
    std::sort(layers.begin(), layers.end());
    const std::string text = absl::StrCat(job_.variant, ":@", absl::StrJoin(layers, ","));
    const absl::StatusOr<Configuration> parsed = ParseConfiguration(text);
    return parsed.ok() ? ToText(*parsed) : text;
  }

  absl::StatusOr<Json> Measure(const std::string& configuration, int group, UnitContext& context) {
    absl::StatusOr<const Hidden*> hidden = anchor_.HiddenOf(group, context);
    if (!hidden.ok()) return hidden.status();
    absl::StatusOr<Engine*> engine = context.engines.Get(configuration);
    if (!engine.ok()) return engine.status();
    const std::vector<Sequence> sequences = anchor_.SequencesOf(group, context.records);
    absl::StatusOr<std::vector<std::vector<double>>> errors =
        ReplayErrors(**engine, sequences, Schedule::kFixed, **hidden, context.monitor);
    if (!errors.ok()) return errors.status();
    std::vector<double> all;
    for (const std::vector<double>& tokens : *errors) all.insert(all.end(), tokens.begin(), tokens.end());
    return Json{{"tokens", all.size()}, {"errors", PackDoubles(all)}};
  }

  double MedianOf(int candidate, const std::vector<Json>& records) const {
    std::vector<double> all;
    for (int group = 0; group < anchor_.groups(); ++group) {
      const Json& record = records[FirstMse() + candidate * anchor_.groups() + group];
      const int64_t tokens = record.at("tokens").get<int64_t>();
      if (tokens < 1 || tokens > kMostContext * int64_t{kMostPrompts}) throw RecordError("tokens makes no sense");
      const std::vector<double> errors = UnpackDoubles(record.at("errors"), static_cast<size_t>(tokens));
      all.insert(all.end(), errors.begin(), errors.end());
    }
    return Median(std::move(all));
  }

  // c_A + c_K where attention's protection is skipped, c_M where the products' compensation is.
  const std::vector<double>& ContributionOf(const std::vector<Json>& records) const {
    if (!contribution_.empty()) return contribution_;
    std::vector<const Json*> own;
    for (int i = 0; i < anchor_.prompts(); ++i) own.push_back(&records[anchor_.groups() + i]);
    const Attribution attribution = Attribute(unprotected_, shape_, own);
    for (const LayerAttribution& layer : attribution.layers) {
      contribution_.push_back(attention_ ? layer.attention + layer.kv : layer.mlp);
    }
    return contribution_;
  }

  static std::vector<int> OrderOf(const std::vector<double>& contribution) {
    std::vector<int> order(contribution.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return contribution[a] < contribution[b]; });
    return order;
  }

  void Choose(PolicyResult* result) const {
    result->configuration = unskipped_;
    const PolicyPoint* best = nullptr;
    for (const PolicyPoint& point : result->points) {
      if (!point.within) continue;
      const bool better = best == nullptr || point.skipped > best->skipped ||
                          (point.skipped == best->skipped && point.median_mse < best->median_mse);
      if (better) best = &point;
    }
    if (best == nullptr) return;
    result->skipped = best->skipped;
    result->prefix = best->prefix;
    result->configuration = best->configuration;
  }

  const JobSpec& spec_;
  const ModelShape& shape_;
  const PolicySpec& job_;
  Anchor anchor_;
  const std::string paper_;  // before names of the appendix's variants
  const bool attention_;
  const std::string unprotected_, unskipped_;
  const int most_;
  mutable std::vector<double> contribution_;  // of the attribution's records, which never change once they are there
};

}  // namespace

std::unique_ptr<Plan> MakePolicyPlan(const JobSpec& spec, const ModelShape& shape) {
  return std::make_unique<PolicyPlan>(spec, shape, std::get<PolicySpec>(spec.job));
}

}  // namespace samebits::heal
